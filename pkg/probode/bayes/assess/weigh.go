package assess

import (
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/internal/estimate"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// A weighting gives the draws of the reference posterior the weights with which they
// represent the posterior of a setup.
type weighting struct {
	setup probode.Setup
	modes *bayes.Modes // of its posterior, or nil
	raw   [][]float64  // log weights; those of earlier draws are kept when draws are added

	weights     [][]float64 // smoothed, with sum 1
	kish        float64     // Kish's factor, by which the weights reduce the effective number of draws
	khat, limit float64     // k̂ of the weights, and the largest k̂ that can be trusted
	missed      float64     // share of the posterior of the setup that the draws do not reach
	seconds     float64

	differences [measures][]estimate.Difference
	estimates   [measures][]CenterSpread
}

// weigh computes the weights of all draws that have none, and the estimates from them.
func (s *sampling) weigh(w *weighting, y *draws) error {
	s.say("solutions at the draws, %s", described(w.setup))
	begin := time.Now()
	defer func() { w.seconds += time.Since(begin).Seconds() }()
	if err := s.rawWeights(w, y); err != nil {
		return err
	}
	s.smooth(w, y)
	for by := range measures {
		widen := by.Widen(math.Min(math.Max(w.khat, y.khat), w.limit))
		w.differences[by], w.estimates[by] = nil, nil
		for _, q := range s.quantities {
			d, own := by.Weighed(y.all.Parameter(q.param), y.weights, w.weights, belong(y.modeOf, q.part))
			d.CenterSE, d.RatioSE = d.CenterSE*widen, d.RatioSE*widen
			own.CenterSE, own.SpreadSE = own.CenterSE*widen, own.SpreadSE*widen
			w.differences[by] = append(w.differences[by], d)
			w.estimates[by] = append(w.estimates[by], CenterSpread(own))
		}
	}
	var err error
	w.missed, err = s.missed(w, y)
	return err
}

// smooth computes the weights and k̂ from the log weights.
func (s *sampling) smooth(w *weighting, y *draws) {
	all := slices.Concat(w.raw...)
	smooth, khat := diag.ParetoSmooth(all)
	w.khat, w.limit = khat, diag.KHatLimit(s.effective(y))
	if slices.Max(all)-slices.Min(all) < 0.1 {
		w.khat = math.Inf(-1) // nearly equal weights have no tail that k̂ could describe
	}
	w.weights, w.kish = diag.Weights(slices.Collect(slices.Chunk(smooth, len(w.raw[0]))))
}

// rawWeights computes the log weight of each draw of y that has none.
func (s *sampling) rawWeights(w *weighting, y *draws) error {
	if w.raw == nil {
		w.raw = make([][]float64, len(y.all.Draws))
	}
	from := len(w.raw[0])
	if from == len(y.all.Draws[0]) {
		return nil
	}
	points := compare.Points{Posterior: y.p, Workers: s.s.Chains.Workers}
	for _, draws := range y.all.Draws {
		points.Theta = append(points.Theta, draws[from:]...)
	}
	to, err := points.LogLikelihoods(s.ctx, w.setup)
	if err != nil {
		return err
	}
	for c := range y.all.Draws {
		for k := range y.all.Draws[c][from:] {
			log := to[k] - y.logLikelihood(c, from+k)
			w.raw[c] = append(w.raw[c], nanOr(log, math.Inf(-1)))
		}
		to = to[len(y.all.Draws[c])-from:]
	}
	return nil
}

// logLikelihood returns the log likelihood of draw k of chain c with the solver of the draws.
func (d *draws) logLikelihood(c, k int) float64 {
	if d.own != nil {
		return d.own[c][k]
	}
	first := slices.IndexFunc(d.all.Quantities, func(name string) bool { return strings.HasPrefix(name, "log_lik.") })
	if first < 0 { // all values are missing
		return 0
	}
	return floats.Sum(d.all.Generated[c][k][first:])
}

// represents reports whether the weighted draws represent the posterior of the setup: the
// weights can be trusted where there are draws, and there is next to no mass elsewhere.
func (s *sampling) represents(w *weighting, y *draws) bool {
	return w.khat <= w.limit && s.effective(y)*w.kish >= fewest && w.missed < mostMissed
}
