package assess

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/internal/pieces"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// given returns draws of the reference posterior that are made of Settings.Draws, or nil if
// there are none or if they do not represent the reference posterior.
func (a *assessment) given() (*draws, error) {
	if a.s.Draws == nil {
		return nil, nil
	}
	p := a.accurate()
	p.Modes = a.modes.reference
	y, err := a.fromDraws(p)
	if err != nil {
		return nil, err
	}
	if a.s.given() {
		y.drawn = a.of(a.madeBy)
	}
	if a.stray, a.strayBy, err = a.strays(y); err != nil {
		return nil, err
	}
	a.say("solutions at the draws, %s", described(y.drawn.Setup))
	points := compare.Points{Posterior: a.p, Theta: y.all.Pooled(), Workers: a.s.Chains.Workers}
	ll, err := points.LogLikelihoods(a.ctx, y.drawn.Setup)
	if err != nil {
		return nil, err
	}
	for i, v := range slices.Concat(y.all.LogWeights...) {
		ll[i] -= v
	}
	for _, draws := range y.all.Draws {
		y.own, ll = append(y.own, ll[:len(draws)]), ll[len(draws):]
	}
	if !a.s.given() {
		return y, nil
	}
	a.say("solutions at the draws, reference")
	w := &weighting{setup: a.reference(), modes: a.modes.reference}
	if err = a.rawWeights(w, y); err != nil {
		return nil, err
	}
	a.smooth(w, y)
	if w.missed, err = a.missed(w, y); err != nil || !a.represents(w, y) || a.emptyMode(y) != nil {
		return nil, err
	}
	y.weights, y.khat = w.weights, math.Min(w.khat, w.limit)
	return y, a.weighted(y, w.raw)
}

// fromDraws takes Settings.Draws as draws of p, whose modes are known.
func (s *sampling) fromDraws(p *bayes.Posterior) (*draws, error) {
	c := *s.s.Draws
	if len(c.Names) != len(p.Params) {
		return nil, fmt.Errorf("the draws have %d parameters: want %d", len(c.Names), len(p.Params))
	}
	e, err := bayes.NewDensity(s.ctx, p)
	if err != nil {
		return nil, err
	}
	u := make([]float64, e.Dim())
	for _, theta := range c.Pooled() {
		if err := e.Unconstrain(u, theta); err != nil {
			return nil, fmt.Errorf("the draws: %w", err)
		}
	}
	d := &draws{p: p, drawn: p, all: &c}
	if c.LogWeights != nil {
		d.weights, _ = diag.Weights(c.LogWeights)
	}
	return d, s.weighted(d, c.LogWeights)
}

// strays returns the parameter whose derivative of the log density, on the unconstrained
// scale, has a mean that is farthest from zero over the draws, and by how many standard errors.
// Over draws from the density, the mean is zero, whatever the density is [Stein 1972]. The
// result is zero if there are no derivatives.
func (s *sampling) strays(y *draws) (errors float64, param string, err error) {
	bound, err := bayes.NewDensity(s.ctx, y.drawn)
	if err != nil {
		return 0, "", err
	}
	all, weights := y.all.Pooled(), slices.Concat(y.weights...)
	n, d := min(compared, len(all)), bound.Dim()
	slopes := make([][]float64, n)
	if _, err := pieces.Each(s.ctx, s.s.Chains.Workers, n, nil, func() func(int) error {
		e := bound.Clone()
		e.Bind(s.ctx)
		u := make([]float64, d)
		return func(i int) error {
			grad := make([]float64, d)
			if e.Unconstrain(u, all[i*len(all)/n]) == nil {
				if _, err := e.Gradient(grad, nil, u, nil); err == nil {
					slopes[i] = grad
				}
			}
			return s.ctx.Err()
		}
	}); err != nil {
		return 0, "", err
	}
	var at [][]float64 // the slopes where there are any
	var w []float64
	for i, grad := range slopes {
		if grad != nil {
			at, w = append(at, grad), append(w, 1)
			if weights != nil {
				w[len(w)-1] = weights[i*len(all)/n]
			}
		}
	}
	sum := floats.Sum(w)
	for k := range d {
		x := diag.Column([][][]float64{at}, k)[0]
		mean, variance := stat.Mean(x, w), 0.0
		for i, v := range x {
			variance += math.Pow(w[i]/sum*(v-mean), 2)
		}
		if z := math.Abs(mean) / math.Sqrt(variance); z > errors && !math.IsInf(z, 1) {
			errors, param = z, s.p.Params[k].Name
		}
	}
	return errors, param, nil
}

// weighted gives the draws the log weights raw; nil weights are equal.
func (s *sampling) weighted(d *draws, raw [][]float64) error {
	c := *d.all
	c.LogWeights = raw
	return s.take(d, sample.Measurement{Chains: &c, Summary: c.Summary()})
}

// drawnBy returns the setup of the solver that made Settings.Draws.
func (s *sampling) drawnBy() probode.Setup {
	if s.s.given() {
		return s.setups[s.madeBy].Setup
	}
	return s.reference()
}
