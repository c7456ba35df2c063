package assess

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/bayes/sample"
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
	if err != nil || !a.s.given() {
		return y, err
	}
	y.drawn = a.of(a.madeBy)
	a.say("solutions at the draws, reference")
	w := &weighting{setup: a.reference(), modes: a.modes.reference}
	if w.raw, err = a.logLikelihoods(w.setup); err != nil {
		return nil, err
	}
	for c := range w.raw {
		for k := range w.raw[c] {
			w.raw[c][k] = nanOr(w.raw[c][k]-y.own[c][k], math.Inf(-1))
		}
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
	by := p.Setup
	if s.s.given() {
		by = s.setups[s.madeBy].Setup
	}
	s.say("solutions at the draws, %s", described(by))
	if d.own, err = s.logLikelihoods(by); err != nil {
		return nil, err
	}
	if c.LogWeights == nil {
		return d, s.take(d, sample.Measurement{Chains: &c, Summary: c.Summary()})
	}
	for i, w := range c.LogWeights {
		for k, v := range w {
			d.own[i][k] -= v
		}
	}
	d.weights, _ = diag.Weights(c.LogWeights)
	return d, s.weighted(d, c.LogWeights)
}

// weighted gives the draws the log weights raw.
func (s *sampling) weighted(d *draws, raw [][]float64) error {
	c := *d.all
	c.LogWeights = raw
	return s.take(d, sample.Measurement{Chains: &c, Summary: c.Summary()})
}

// logLikelihoods returns the log likelihood of each of Settings.Draws with the solver by.
func (s *sampling) logLikelihoods(by probode.Setup) (all [][]float64, err error) {
	points := compare.Points{Posterior: s.p, Theta: s.s.Draws.Pooled(), Workers: s.s.Chains.Workers}
	ll, err := points.LogLikelihoods(s.ctx, by)
	if err != nil {
		return nil, err
	}
	for _, draws := range s.s.Draws.Draws {
		all, ll = append(all, ll[:len(draws)]), ll[len(draws):]
	}
	return all, nil
}
