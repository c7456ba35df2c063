package assess

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/internal/estimate"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// No chains are run for the reference posterior p. Instead, draws θᵢ are made from p_h,
// the posterior of the solver with step h. The draws are given the weights
//
//	wᵢ ∝ p(Y | x(θᵢ)) / p(Y | Z_h(θᵢ)),
//
// where x is the accurate solution and Z_h is the solution with the step h. With these
// weights the draws represent p. Reweighting costs less than another chain, and it is
// more precise: the difference between two means over the same draws,
//
//	bias = mean θᵢ − mean wᵢθᵢ   (mean wᵢ = 1),
//
// has a Monte Carlo error that tends to zero as the bias tends to zero. The difference
// between the means of two chains is subject to the Monte Carlo errors of both chains,
// which would hide a small bias.

// weigh solves accurately at draws in d.few without a weight, and estimates reference
// posterior and effects. k̂ is infinite if there are no weights.
func (s *sampling) weigh(d *draws) error {
	begin := time.Now()
	defer func() { s.weighing += time.Since(begin).Seconds() }()
	d.khat, d.limit = math.Inf(1), diag.KHatLimit(s.effective(d))
	if err := s.rawWeights(d); err != nil {
		return err
	}
	smooth, khat := diag.ParetoSmooth(slices.Concat(d.raw...))
	log := make([][]float64, len(d.raw))
	for c := range d.raw {
		log[c], smooth = smooth[:len(d.raw[c])], smooth[len(d.raw[c]):]
	}
	d.khat, d.weights = khat, normalised(log)
	if all := slices.Concat(d.raw...); slices.Max(all)-slices.Min(all) < 0.1 {
		d.limit = math.Inf(1) // nearly equal weights have no tail that k̂ could describe
	}
	for by := range measures {
		d.shifts[by], d.accurate[by] = nil, nil
		for j, q := range s.quantities {
			difference, accurate := by.Weighed(d.few.Parameter(q.param), d.weights, belong(d.modeOfFew, q.part), d.center[by][j], d.log[by][j], estimate.Value(d.estimates[by][j]))
			d.shifts[by], d.accurate[by] = append(d.shifts[by], difference), append(d.accurate[by], CenterSpread(accurate))
		}
	}
	var err error
	d.missed, err = s.missed(d)
	return err
}

func (s *sampling) rawWeights(d *draws) error {
	from := 0
	if d.raw != nil {
		from = len(d.raw[0])
	} else {
		d.raw = make([][]float64, len(d.few.Draws))
	}
	rest := *d.few
	rest.Draws, rest.Generated = nil, nil
	for c := range d.few.Draws {
		rest.Draws, rest.Generated = append(rest.Draws, d.few.Draws[c][from:]), append(rest.Generated, d.few.Generated[c][from:])
	}
	if len(rest.Draws[0]) == 0 {
		return nil
	}
	w, err := sample.Reweight(s.ctx, d.p, &rest, d.to, s.s.Chains.Workers)
	if err != nil {
		return err
	}
	var values []int // indices of the log likelihoods among the generated quantities
	for i, name := range rest.Quantities {
		if strings.HasPrefix(name, "log_lik.") {
			values = append(values, i)
		}
	}
	for c := range w.Draws {
		for k, g := range w.Generated[c] {
			log := 0.0
			for _, i := range values {
				log += g[i] - rest.Generated[c][k][i]
			}
			if math.IsNaN(log) {
				log = math.Inf(-1)
			}
			d.raw[c] = append(d.raw[c], log)
		}
	}
	return nil
}

// normalised gives the weights the mean 1.
func normalised(log [][]float64) [][]float64 {
	all := slices.Concat(log...)
	top := slices.Max(all)
	var sum float64
	out := make([][]float64, len(log))
	for i, c := range log {
		for _, v := range c {
			w := math.Exp(v - top)
			out[i] = append(out[i], w)
			sum += w
		}
	}
	for _, c := range out {
		for k := range c {
			c[k] *= float64(len(all)) / sum
		}
	}
	return out
}

// effective returns the smallest effective sample size of the unweighted draws.
func (s *sampling) effective(d *draws) float64 {
	least := math.Inf(1)
	for _, k := range s.assessed {
		least = math.Min(least, nanOr(diag.BulkESS(d.few.Parameter(k)), 0))
	}
	return least
}

func (d *draws) whole() bool { return d.weights != nil && d.missed < mostMissed }

// kish returns Kish's effective sample size per weighted draw [Kish].
func (d *draws) kish() float64 {
	var n, squares float64
	for _, w := range slices.Concat(d.weights...) {
		n++
		squares += w * w
	}
	return n / squares
}

// usable checks k̂ and the effective sample size; it knows nothing of regions without
// draws.
func (s *sampling) usable(d *draws) bool {
	return d.weights != nil && d.khat <= d.limit && s.effective(d)*d.kish() >= fewest
}

// tails replaces draws with almost no weight, for example in a phantom mode, by the
// weighted median, so that only the tails of the reference posterior matter.
func (d *draws) tails(k int) [][]float64 {
	const least = 0.01 // of the mean weight
	x := d.few.Parameter(k)
	middle := estimate.Quantile(slices.Concat(x...), slices.Concat(d.weights...), 0.5)
	for c := range x {
		for n := range x[c] {
			if d.weights[c][n] < least {
				x[c][n] = middle
			}
		}
	}
	return x
}

// unsolved returns up to n draws at which the reference failed, and their fraction.
func (d *draws) unsolved(n int) (some [][]float64, share float64) {
	all, failed := 0, 0
	for c, raw := range d.raw {
		for k, w := range raw {
			all++
			if math.IsInf(w, -1) {
				failed++
				if len(some) < n {
					some = append(some, d.few.Draws[c][k])
				}
			}
		}
	}
	return some, float64(failed) / math.Max(float64(all), 1)
}

func nanOr(v, other float64) float64 {
	if math.IsNaN(v) {
		return other
	}
	return v
}
