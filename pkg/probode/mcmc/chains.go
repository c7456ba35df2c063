package mcmc

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/gonum/stat"
)

// Chains holds the draws of a run. Chains of another origin can be put in by
// hand: the methods need Names and Draws only.
type Chains struct {
	// Names are the names of the parameters.
	Names []string

	// Draws[c][k][i] is parameter i of draw k of chain c. All chains have
	// the same number of draws.
	Draws [][][]float64

	// Stats and BurnIn hold, for each chain, the counts of the iterations
	// after burn-in and of those of burn-in. They count every iteration,
	// kept or not; after an interrupted run, also the few by which a chain
	// was ahead of the shortest.
	Stats, BurnIn []Stats

	// Generated[c][k] are the quantities that the kernel told beside the
	// draw, with the names Quantities: see Settings.Generated. Both are nil
	// if there are none.
	Generated  [][][]float64
	Quantities []string

	// LogWeights[c][k], if not nil, is the logarithm of the weight of draw k
	// of chain c, up to a constant, for draws that stand for another law
	// than the one they were drawn from; KHat is then the shape of the tail
	// of the weights.
	LogWeights [][]float64
	KHat       float64

	// Notes say in plain words what is to be known of the run, such as where
	// its chains began.
	Notes []string

	// Capped says that the run was to reach Settings.MinESS and came to
	// Settings.MaxDraws first.
	Capped bool
}

// Parameter returns the draws of parameter i: element [c][k] is draw k of chain
// c, the form that the diagnostics of this package take.
func (c *Chains) Parameter(i int) [][]float64 {
	out := make([][]float64, len(c.Draws))
	for j, chain := range c.Draws {
		out[j] = make([]float64, len(chain))
		for k, x := range chain {
			out[j][k] = x[i]
		}
	}
	return out
}

// Pooled returns the draws of all chains, one chain after the other: element
// [k][i] is parameter i of draw k. The draws are shared, not copied.
func (c *Chains) Pooled() [][]float64 { return slices.Concat(c.Draws...) }

// minBulkESS returns the smallest bulk ESS of all parameters, NaN if one is NaN.
func (c *Chains) minBulkESS() float64 {
	least := math.Inf(1)
	for i := range c.Names {
		least = math.Min(least, BulkESS(c.Parameter(i)))
	}
	return least
}

// A Marginal describes the draws of one parameter.
type Marginal struct {
	Name               string
	Mean, SD           float64 // of all chains pooled
	Q025, Median, Q975 float64 // the quantiles of 2.5, 50 and 97.5 %
	MCSE               float64 // standard error of Mean, as an estimate of the target's mean
	BulkESS, TailESS   float64
	RHat               float64
}

// A Summary describes the draws of all parameters.
type Summary []Marginal

// Summary returns means, standard deviations, quantiles and diagnostics of every
// parameter. What cannot be computed is NaN.
func (c *Chains) Summary() Summary {
	out := make(Summary, len(c.Names))
	for i, name := range c.Names {
		x := c.Parameter(i)
		m := Marginal{
			Name: name,
			Mean: math.NaN(), SD: math.NaN(), Q025: math.NaN(), Median: math.NaN(), Q975: math.NaN(),
			MCSE:    MCSEMean(x),
			BulkESS: BulkESS(x),
			TailESS: TailESS(x),
			RHat:    RHat(x),
		}
		if all := slices.Concat(x...); finite(all) {
			m.Mean, m.SD = stat.MeanStdDev(all, nil)
			slices.Sort(all)
			m.Q025, m.Median, m.Q975 = quantile(all, 0.025), quantile(all, 0.5), quantile(all, 0.975)
		}
		out[i] = m
	}
	return out
}

// String returns the summary as a table for a terminal.
func (s Summary) String() string {
	width := 0
	for _, m := range s {
		width = max(width, utf8.RuneCountInString(m.Name))
	}
	var b strings.Builder
	// The hat of R̂ is a combining character, which takes no room.
	fmt.Fprintf(&b, "%-*s %10s %10s %10s %10s %10s %10s %8s %8s %8s\n", width, "",
		"mean", "sd", "2.5%", "50%", "97.5%", "mcse", "bulk ESS", "tail ESS", "R̂")
	for _, m := range s {
		fmt.Fprintf(&b, "%-*s %10s %10s %10s %10s %10s %10.2g %8.0f %8.0f %7.3f\n", width, m.Name,
			m.format(m.Mean), m.format(m.SD), m.format(m.Q025), m.format(m.Median), m.format(m.Q975), m.MCSE, m.BulkESS, m.TailESS, m.RHat)
	}
	return b.String()
}

// format writes a value of the parameter with the decimals that give its standard
// deviation three significant digits: further ones would tell nothing.
func (m Marginal) format(v float64) string {
	if !(m.SD > 1e-5 && m.SD < 1e6 && math.Abs(v) < 1e6) {
		return fmt.Sprintf("%.4g", v)
	}
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(m.SD)))), v)
}

// String returns the summary as a table, followed by the counts and, if there is
// cause, a word of caution.
func (c *Chains) String() string {
	var b strings.Builder
	summary := c.Summary()
	b.WriteString(summary.String())

	draws := 0
	if len(c.Draws) > 0 {
		draws = len(c.Draws[0])
	}
	fmt.Fprintf(&b, "%d chains of %d draws", len(c.Draws), draws)
	if len(c.Stats) > 0 {
		var sum Stats
		var rates, latent []float64
		for _, s := range c.Stats {
			sum = sum.plus(1, s)
			rates = append(rates, s.Rate())
			latent = append(latent, s.Latent.Rate())
		}
		fmt.Fprintf(&b, "; accepted %.2f (%.2f to %.2f)", sum.Rate(), slices.Min(rates), slices.Max(rates))
		if sum.Latent.Proposed > 0 {
			fmt.Fprintf(&b, ", of the latent moves %.2f (%.2f to %.2f)", sum.Latent.Rate(), slices.Min(latent), slices.Max(latent))
		}
		if failed := sum.Failed + sum.Latent.Failed; failed > 0 {
			fmt.Fprintf(&b, "; failed %d of %d evaluations", failed, sum.Proposed+sum.Latent.Proposed)
		}
	}
	b.WriteByte('\n')

	// The bounds are those of Vehtari et al. (2021): below an effective
	// sample size of 100 a chain the diagnostics themselves are not to be
	// trusted.
	var mixed, few []string
	for _, m := range summary {
		if !(m.RHat <= 1.01) {
			mixed = append(mixed, m.Name)
		}
		if least := float64(100 * len(c.Draws)); !(m.BulkESS >= least && m.TailESS >= least) {
			few = append(few, m.Name)
		}
	}
	if mixed != nil {
		fmt.Fprintf(&b, "caution: R̂ is not below 1.01: no sign that the chains have mixed in %s\n", strings.Join(mixed, ", "))
	}
	if few != nil {
		fmt.Fprintf(&b, "caution: ESS is below 100 a chain: run longer for %s\n", strings.Join(few, ", "))
	}
	if c.Capped {
		b.WriteString("caution: the run ended at its largest number of draws, short of the ESS asked for\n")
	}
	return b.String()
}
