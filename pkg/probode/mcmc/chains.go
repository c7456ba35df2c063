package mcmc

import (
	"cmp"
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

	// Meta is what Settings.Meta said of the run, as far as it was read from
	// files: see Read.
	Meta []Field

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
	MCSE, MCSESD       float64 // standard errors of Mean and SD, as estimates of the target's
	BulkESS, TailESS   float64
	RHat               float64
}

// A Summary describes the draws of all parameters.
type Summary []Marginal

// Summary returns means, standard deviations, quantiles and diagnostics of every
// parameter. What cannot be computed is NaN.
//
// Where there are weights, w of sum 1, mean, standard deviation and quantiles are
// those of the weighted draws. MCSE is the standard error of Σ wₖ xₖ by the delta
// method, that of the mean of the S terms S wₖ (xₖ − mean), and MCSESD that of the
// terms S wₖ ((xₖ − mean)²/sd − sd)/2: in them the weights and the correlation of
// the draws are counted together. The effective sample sizes
// are those of the draws times the factor of Kish, 1/(S Σ wₖ²). R̂ is that of the
// draws as they were drawn: it tells how these have mixed, and k̂ the rest.
func (c *Chains) Summary() Summary {
	weights, kish := c.weights()
	out := make(Summary, len(c.Names))
	for i, name := range c.Names {
		x := c.Parameter(i)
		m := Marginal{
			Name: name,
			Mean: math.NaN(), SD: math.NaN(), Q025: math.NaN(), Median: math.NaN(), Q975: math.NaN(),
			MCSE: math.NaN(), MCSESD: math.NaN(),
			BulkESS: kish * BulkESS(x),
			TailESS: kish * TailESS(x),
			RHat:    RHat(x),
		}
		all := slices.Concat(x...)
		switch {
		case !finite(all):
		case weights == nil:
			m.MCSE, m.MCSESD = MCSEMean(x), MCSESD(x)
			m.Mean, m.SD = stat.MeanStdDev(all, nil)
			slices.Sort(all)
			m.Q025, m.Median, m.Q975 = Quantile(all, 0.025), Quantile(all, 0.5), Quantile(all, 0.975)
		case kish > 0:
			m.weigh(x, weights)
		}
		out[i] = m
	}
	return out
}

// weights returns the weights of the draws, of sum 1, and the factor of Kish: nil
// and 1 if there are none, NaN for a factor if they cannot be normalised.
func (c *Chains) weights() (w [][]float64, kish float64) {
	if c.LogWeights == nil {
		return nil, 1
	}
	all := slices.Concat(c.LogWeights...)
	if len(all) == 0 {
		return c.LogWeights, math.NaN()
	}
	largest := slices.Max(all)
	var sum float64
	for _, v := range all {
		sum += math.Exp(v - largest)
	}
	var squares float64
	w = transform(c.LogWeights, func(v float64) float64 {
		p := math.Exp(v-largest) / sum
		squares += p * p
		return p
	})
	return w, 1 / (float64(len(all)) * squares)
}

// weigh computes what is said of the weighted draws x.
func (m *Marginal) weigh(x, weights [][]float64) {
	type weighted struct{ x, w float64 }
	var all []weighted
	var center, squares float64
	for c := range x {
		for k, v := range x[c] {
			if w := weights[c][k]; w > 0 {
				all = append(all, weighted{v, w})
				center += w * v
				squares += w * w
			}
		}
	}
	var variance float64
	for _, a := range all {
		variance += a.w * (a.x - center) * (a.x - center)
	}
	m.Mean, m.SD = center, math.Sqrt(variance/(1-squares))

	root := math.Sqrt(variance)
	terms, squared := make([][]float64, len(x)), make([][]float64, len(x))
	size := float64(len(x) * len(x[0]))
	for c := range x {
		for k, v := range x[c] {
			w, d := size*weights[c][k], v-center
			terms[c] = append(terms[c], w*d)
			squared[c] = append(squared[c], w*(d*d/root-root)/2)
		}
	}
	m.MCSE, m.MCSESD = MCSEMean(terms), MCSEMean(squared)

	// A sorted draw stands at the weight before it and half its own, on a
	// scale on which the first stands at 0 and the last at 1. With equal
	// weights this is Quantile.
	slices.SortFunc(all, func(a, b weighted) int { return cmp.Compare(a.x, b.x) })
	first, last := all[0].w/2, all[len(all)-1].w/2
	at := func(p float64) float64 {
		want := first + p*(1-first-last)
		sum := first
		for k := 1; k < len(all); k++ {
			step := (all[k-1].w + all[k].w) / 2
			if sum+step >= want {
				return all[k-1].x + math.Max(0, want-sum)/step*(all[k].x-all[k-1].x)
			}
			sum += step
		}
		return all[len(all)-1].x
	}
	m.Q025, m.Median, m.Q975 = at(0.025), at(0.5), at(0.975)
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

// String returns the summary as a table, followed by the counts, the notes and, if
// there is cause, words of caution: see Warnings.
func (c *Chains) String() string {
	var b strings.Builder
	summary := c.Summary()
	b.WriteString(summary.String())

	fmt.Fprintf(&b, "%d chains of %d draws", len(c.Draws), c.length())
	var sum Stats
	var rates, latent []float64
	for _, s := range c.Stats {
		sum = sum.plus(1, s)
		rates = append(rates, s.Rate())
		latent = append(latent, s.Latent.Rate())
	}
	if sum.Proposed > 0 {
		fmt.Fprintf(&b, "; accepted %.2f (%.2f to %.2f)", sum.Rate(), slices.Min(rates), slices.Max(rates))
		if sum.Latent.Proposed > 0 {
			fmt.Fprintf(&b, ", of the latent moves %.2f (%.2f to %.2f)", sum.Latent.Rate(), slices.Min(latent), slices.Max(latent))
		}
		if failed := sum.Failed + sum.Latent.Failed; failed > 0 {
			fmt.Fprintf(&b, "; failed %d of %d evaluations", failed, sum.Proposed+sum.Latent.Proposed)
		}
	}
	b.WriteByte('\n')
	if c.LogWeights != nil {
		_, kish := c.weights()
		verdict := "not reliable: use a smaller coarse step"
		switch {
		case c.KHat < 0.5:
			verdict = "good"
		case c.KHat < 0.7:
			verdict = "usable"
		}
		fmt.Fprintf(&b, "weighted draws, worth %.2f of as many unweighted; k̂ %.2f, %s\n", kish, c.KHat, verdict)
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, w := range c.warnings(summary) {
		fmt.Fprintf(&b, "caution: %s\n", w)
	}
	return b.String()
}

// length returns the number of draws of a chain.
func (c *Chains) length() int {
	if len(c.Draws) == 0 {
		return 0
	}
	return len(c.Draws[0])
}

// Warnings says in plain words why the draws may not be trusted: for each cause
// what is seen, what it means, and what to try. Nil means that nothing was seen,
// not that nothing is wrong. Chains are counted from 1. It looks for
//
//   - chains that never moved, or accept less than one move in a hundred;
//   - a chain at a far lower log density than another, in a mode of its own:
//     nine tenths of its draws of the quantity "lp__", if that was generated, lie
//     below nine tenths of those of the best chain;
//   - one chain, of three or more, whose mean of a parameter is more than a
//     standard deviation away from the others', which agree;
//   - more than 1 % of evaluations that failed;
//   - a parameter of which more than 5 % of the draws lie closer to an end of
//     their range than a hundredth of its distance from the median;
//   - R̂ above 1.01, and effective sample sizes below 100 a chain (Vehtari et al.
//     2021), below which the diagnostics themselves are not to be trusted;
//   - k̂ of weights not below 0.7; and a run that ended short of the ESS asked for.
func (c *Chains) Warnings() []string { return c.warnings(c.Summary()) }

func (c *Chains) warnings(summary Summary) []string {
	var out []string
	warn := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	if c.length() == 0 {
		warn("there are no draws: the run ended before its burn-in did; let it run longer or make the burn-in shorter")
		return out
	}

	stuck := make([]bool, len(c.Draws))
	for j, chain := range c.Draws {
		moved := len(chain) < 2 || slices.ContainsFunc(chain, func(x []float64) bool { return !slices.Equal(x, chain[0]) })
		counted := j < len(c.Stats) && c.Stats[j].Proposed > 0
		switch {
		case !moved || counted && c.Stats[j].Accepted == 0:
			stuck[j] = true
			warn("chain %d never moved: its steps are too long, or almost every evaluation around it fails; start it at the mode, make the burn-in longer, or let the first steps be smaller", j+1)
		case counted && c.Stats[j].Rate() < 0.01:
			stuck[j] = true
			warn("chain %d accepted %.2g %% of its moves: its steps are too long for where it is, as on a narrow ridge; make the burn-in longer, start at the mode, or take parameters that depend less on each other", j+1, 100*c.Stats[j].Rate())
		}
	}

	elsewhere := c.warnModes(warn)
	c.warnApart(warn, stuck, elsewhere)

	var sum Stats
	for _, s := range c.Stats {
		sum = sum.plus(1, s)
	}
	failed, tried := sum.Failed+sum.Latent.Failed, sum.Proposed+sum.Latent.Proposed
	if share := float64(failed) / float64(tried); share > 0.01 {
		warn("%.2g %% of evaluations failed: the draws keep to where the equations could be solved, which may be less than the posterior; take a smaller step, a method for stiff problems, or a prior that leaves out what cannot be", 100*share)
	}

	for i, name := range c.Names {
		if out != nil {
			break // draws of a chain that is elsewhere pile up, too
		}
		if end, share := pileUp(slices.Concat(c.Parameter(i)...)); share > 0.05 {
			warn("%.0f %% of the draws of %s pile up at %.4g, the end of their range: the data push it against the edge of its prior, or do not tell it from there; ask whether the edge is meant, take a more informative prior, or fix the parameter", 100*share, name, end)
		}
	}

	var mixed, few, unknown []string
	var worst float64
	least := math.Inf(1)
	for _, m := range summary {
		switch {
		case math.IsNaN(m.RHat):
			unknown = append(unknown, m.Name)
			continue
		case m.RHat > 1.01:
			mixed = append(mixed, m.Name)
			worst = math.Max(worst, m.RHat)
		}
		if bound := float64(100 * len(c.Draws)); !(m.BulkESS >= bound && m.TailESS >= bound) {
			few = append(few, m.Name)
			least = math.Min(least, math.Min(m.BulkESS, m.TailESS))
		}
	}
	if unknown != nil {
		warn("R̂ cannot be computed for %s: draws that are all equal, not finite, or fewer than four a chain tell nothing", list(unknown))
	}
	if mixed != nil {
		warn("R̂ is up to %.3f and should be below 1.01: no sign that the chains have mixed in %s; run longer, with a longer burn-in, and if that does not help take parameters that depend less on each other or more informative priors", worst, list(mixed))
	}
	if few != nil {
		what := "as few as " + fmt.Sprintf("%.0f", least)
		if math.IsNaN(least) {
			what = "not to be computed for a tail"
		}
		warn("ESS is below 100 a chain, %s: means and quantiles are uncertain, and so are R̂ and ESS; run longer for %s", what, list(few))
	}
	if c.LogWeights != nil && !(c.KHat < 0.7) {
		warn("k̂ of the weights is %.2g, not below 0.7: a few draws bear all the weight and results are not reliable; take a smaller coarse step, so that the two posteriors are closer", c.KHat)
	}
	if c.Capped {
		warn("the run ended at its largest number of draws, short of the ESS asked for: allow more, or make the burn-in longer")
	}
	return out
}

// warnModes warns of chains at a far lower log density and tells which they are.
func (c *Chains) warnModes(warn func(string, ...any)) []bool {
	elsewhere := make([]bool, len(c.Draws))
	lp := slices.Index(c.Quantities, "lp__")
	if lp < 0 || len(c.Generated) != len(c.Draws) || c.length() < 20 {
		return elsewhere
	}
	sorted := make([][]float64, len(c.Generated))
	best := 0
	for j, chain := range c.Generated {
		for _, q := range chain {
			sorted[j] = append(sorted[j], q[lp])
		}
		if !finite(sorted[j]) {
			return elsewhere
		}
		slices.Sort(sorted[j])
		if Quantile(sorted[j], 0.5) > Quantile(sorted[best], 0.5) {
			best = j
		}
	}
	for j := range sorted {
		if Quantile(sorted[j], 0.9) < Quantile(sorted[best], 0.1) {
			elsewhere[j] = true
			warn("chain %d sits at a log density %.3g below that of chain %d: it is in another mode, or has not arrived; start at the mode, make the burn-in longer, or take a prior that leaves out the lesser mode", j+1, Quantile(sorted[best], 0.5)-Quantile(sorted[j], 0.5), best+1)
		}
	}
	return elsewhere
}

// warnApart warns of chains, other than those already spoken of, that do not
// agree with the rest.
func (c *Chains) warnApart(warn func(string, ...any), spoken ...[]bool) {
	if len(c.Draws) < 3 {
		return
	}
	for j := range c.Draws {
		if slices.ContainsFunc(spoken, func(s []bool) bool { return s[j] }) {
			continue
		}
		var names []string
		var farthest, here, there float64
		for i, name := range c.Names {
			x := c.Parameter(i)
			others := slices.Delete(slices.Clone(x), j, j+1)
			if !usable(x) || !(RHat(others) < 1.05) {
				continue
			}
			m, sd := stat.MeanStdDev(slices.Concat(others...), nil)
			if away := math.Abs(mean(x[j])-m) / sd; away > 1 {
				names = append(names, name)
				if away > farthest {
					farthest, here, there = away, mean(x[j]), m
				}
			}
		}
		if names != nil {
			warn("chain %d is apart from the others, which agree, in %s: its mean is up to %.2g of their standard deviations away (%.4g, theirs %.4g); it is in another mode or has not arrived: compare the log densities, start at the mode, or make the burn-in longer", j+1, list(names), farthest, here, there)
		}
	}
}

// pileUp returns an end of the range of x and the share of x that lies closer to
// it than a hundredth of its distance from the median. Of a uniform law it is
// 0.5 %, of an exponential one 0.7 %; of a density that grows like the inverse of
// the distance as far as can be seen it is tens of per cent. Draws that are all
// equal do not pile up.
func pileUp(x []float64) (end, share float64) {
	if !finite(x) || len(x) < 100 {
		return 0, 0
	}
	x = slices.Clone(x)
	slices.Sort(x)
	median := Quantile(x, 0.5)
	for _, e := range []float64{x[0], x[len(x)-1]} {
		n := 0
		for _, v := range x {
			if math.Abs(v-e) <= 0.01*math.Abs(median-e) {
				n++
			}
		}
		if s := float64(n) / float64(len(x)); s > share && x[0] < x[len(x)-1] {
			end, share = e, s
		}
	}
	return end, share
}

// list joins names, of very many the first.
func list(names []string) string {
	const most = 6
	if len(names) > most+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
