package diag

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// A Marginal describes the draws of one parameter.
type Marginal struct {
	Name               string
	Mean, SD           float64 // of all chains pooled
	Q025, Median, Q975 float64 // the 2.5, 50 and 97.5 % quantiles
	MCSE, MCSESD       float64 // standard errors of Mean and SD, as estimates for the target
	BulkESS, TailESS   float64
	RHat               float64
	TailIndex          float64 // k̂ if HeavyTails is true of draws without weights, otherwise 0
}

// A Summary describes the draws of all parameters.
type Summary []Marginal

// Summarize returns means, standard deviations, quantiles and diagnostics of every
// parameter. Element draws[c][k][i] is parameter i of draw k of chain c; all chains have
// the same length. A value that cannot be computed is NaN.
//
// If logWeights is not nil, logWeights[c][k] is the logarithm of the weight of draw k of
// chain c, up to a constant. With weights, the mean, the standard deviation and the
// quantiles are those of the weighted draws. Let S be the number of draws, and let the
// weights w sum to 1. For each draw k, let uₖ = S wₖ (xₖ − mean) and
// vₖ = S wₖ ((xₖ − mean)²/sd − sd)/2. MCSE is the standard error of the average of all
// uₖ. MCSESD is the standard error of the average of all vₖ. Both formulas follow from
// the delta method. Both standard errors account for the weights and for the
// autocorrelation of the draws. Each effective sample size is the effective sample size
// of the unweighted draws times Kish's factor. R̂ ignores the weights, because it measures
// only how well the chains have mixed.
//
// If progress is not nil, Summarize calls it from several goroutines, once for each
// parameter that is done.
func Summarize(names []string, draws [][][]float64, logWeights [][]float64, progress func()) Summary {
	weights, kish := Weights(logWeights)
	out := make(Summary, len(names))
	for _, c := range draws {
		if len(c) != len(draws[0]) {
			panic("diag: the chains have different lengths") // here, where the caller can recover
		}
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(names)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(names); i = int(next.Add(1)) - 1 {
				out[i] = summarize(names[i], Column(draws, i), weights, kish)
				if progress != nil {
					progress()
				}
			}
		})
	}
	all.Wait()
	return out
}

func summarize(name string, x, weights [][]float64, kish float64) Marginal {
	nan := math.NaN()
	m := Marginal{Name: name, Mean: nan, SD: nan, Q025: nan, Median: nan, Q975: nan, MCSE: nan, MCSESD: nan,
		BulkESS: nan, TailESS: nan, RHat: nan}
	all := slices.Concat(x...)
	if len(all) == 0 || !vector.Finite(all) {
		return m
	}
	if weights == nil {
		m.Mean, m.SD = stat.MeanStdDev(all, nil)
	}
	slices.Sort(all) // once for everything that needs it
	if usable(x) {
		r := rank(x, all)
		m.BulkESS, m.RHat = kish*ess(r.scores), r.rHat()
		m.TailESS = kish * tailsESS(x, all)
	}
	switch {
	case weights == nil:
		m.MCSE, m.MCSESD = MCSEMean(x), MCSESD(x)
		m.Q025, m.Median, m.Q975 = Quantile(all, 0.025), Quantile(all, 0.5), Quantile(all, 0.975)
		if usable(x) && dominated(all) {
			if k := tailsIndex(all, m.BulkESS); tooHeavy(k, len(all)) {
				m.TailIndex = k
			}
		}
	case kish > 0:
		m.weigh(x, weights)
	}
	return m
}

// Column returns the draws of parameter i in the layout that the diagnostics expect:
// element [c][k] is draw k of chain c.
func Column(draws [][][]float64, i int) [][]float64 {
	out := make([][]float64, len(draws))
	for j, chain := range draws {
		out[j] = make([]float64, len(chain))
		for k, x := range chain {
			out[j][k] = x[i]
		}
	}
	return out
}

// Weights returns the weights w = exp(logWeights), scaled so that their sum is 1, and Kish's
// factor 1/(S Σ wₖ²). The product of Kish's factor and S, the number of draws, is the number
// of unweighted draws that are as informative as the S weighted draws. Without log weights,
// Weights returns nil and 1; the factor is NaN if the weights cannot be normalised.
func Weights(logWeights [][]float64) (w [][]float64, kish float64) {
	if logWeights == nil {
		return nil, 1
	}
	all := slices.Concat(logWeights...)
	if len(all) == 0 {
		return logWeights, math.NaN()
	}
	largest := slices.Max(all)
	var sum float64
	for _, v := range all {
		sum += math.Exp(v - largest)
	}
	var squares float64
	w = transform(logWeights, func(v float64) float64 {
		p := math.Exp(v-largest) / sum
		squares += p * p
		return p
	})
	return w, 1 / (float64(len(all)) * squares)
}

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

	// The probability assigned to each sorted draw is the sum of the weights before it
	// plus half of its own weight. These probabilities are rescaled so that the first is
	// 0 and the last is 1. With equal weights the result is the same as that of Quantile.
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
	rows := [][]string{{"", "mean", "sd", "2.5%", "50%", "97.5%", "mcse", "bulk ESS", "tail ESS", "R̂"}}
	for _, m := range s {
		rows = append(rows, []string{text.Printable(m.Name), m.format(m.Mean), m.format(m.SD), m.format(m.Q025), m.format(m.Median), m.format(m.Q975),
			fmt.Sprintf("%.2g", m.MCSE), fmt.Sprintf("%.0f", m.BulkESS), fmt.Sprintf("%.0f", m.TailESS), fmt.Sprintf("%.3f", m.RHat)})
	}
	return text.Table(rows, text.First)
}

// format shows three digits of the standard deviation, or of that of a normal
// distribution with the same Q025 and Q975 if this is less than half of it: heavy tails
// could show all quantiles as 0.
func (m Marginal) format(v float64) string {
	width := m.SD
	if central := (m.Q975 - m.Q025) / (2 * 1.96); central > 0 && 2*central < width {
		width = central
	}
	if !(width > 1e-5 && width < 1e6 && math.Abs(v) < 1e6) {
		return fmt.Sprintf("%.4g", v)
	}
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(width)))), v)
}
