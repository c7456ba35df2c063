// Package marginal contains likelihoods that integrate over the uncertain solution of the
// differential equation. A Gaussian filter computes them by the Fenrir or the DALTON
// method (see filter.Marginal).
package marginal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/filter"
)

// Fenrir and DALTON are likelihoods of posteriors whose Method is a filter.EK. The noise
// scale α of the posterior is the diffusion κ² > 0 of the prior process for the solution:
// a known number, or a parameter. The observation times must be grid points, as with
// probode.Through and probode.Frozen.
//
// With Fenrir, the measurement errors must be Gaussian or log-normal. With DALTON,
// observations can have any distribution with a smooth log density, such as the Poisson
// distribution. If the errors are neither Gaussian nor log-normal, the integral over the
// solution is approximated by Laplace's method. The filter linearises expected values
// that are not linear in the state. If the errors are log-normal, the filter linearises
// the logarithms of the expected values.
//
// To evaluate the log likelihood, Fenrir needs one forward and one backward pass of the
// filter, and DALTON needs two forward passes. Laplace's method alternates DALTON's
// forward pass over the data with a backward pass until the mode is found. A gradient
// requires 2p evaluations of the log likelihood for p parameters.
const (
	Fenrir likelihood = "fenrir"
	DALTON likelihood = "dalton"
)

type likelihood string

var _ bayes.Integral = Fenrir

func (l likelihood) String() string { return string(l) }

// Bind returns the path of experiment i.
func (l likelihood) Bind(ctx context.Context, d *bayes.Density, i int) (probode.Path, error) {
	post := d.Posterior()
	ek, ok := post.Method.(filter.EK)
	g := d.Part(i).Grid()
	switch {
	case !ok:
		return nil, fmt.Errorf("%v: the method is %v: want ek0, ek1 or ckf", l, post.Method)
	case post.AlphaParam == "" && post.Alpha == 0:
		return nil, fmt.Errorf("%v: α (the diffusion κ²) is 0: want a number > 0 (such as a calibrated value) or a parameter with a prior", l)
	case g != nil && g.Solver().Scaling() == probode.ScaleLocal:
		return nil, fmt.Errorf("%v: the noise is scaled by local errors (ScaleLocal): want ScaleStep, so that α is the diffusion κ²", l)
	}
	p := &path{dalton: l == DALTON, of: d, number: i, x: &post.Experiments[i], method: ek, diffusion: slices.Index(post.Names(), post.AlphaParam)}
	for k := range p.x.Data.Y[0] {
		of := p.x.Errors[min(k, len(p.x.Errors)-1)]
		_, gaussian := of.(bayes.Gaussian)
		_, logarithm := of.(bayes.LogNormal)
		sloped := smooth(p.x, k)
		if !gaussian && !logarithm && (l == Fenrir || sloped == nil) {
			return nil, fmt.Errorf("%v: column %d has errors of type %T: want bayes.Gaussian or bayes.LogNormal, or DALTON if the log density of the errors is smooth", l, k+1, of)
		}
		p.logarithm, p.laplace = append(p.logarithm, logarithm), append(p.laplace, sloped)
		for _, y := range p.x.Data.Y {
			if !math.IsNaN(y[k]) {
				p.values++
			}
		}
	}
	p.own()
	theta := slices.Clone(p.x.Problem.Theta)
	if post.GridAt != nil {
		theta = p.part.Theta(post.GridAt)
	}
	return p, p.follow(ctx, theta)
}

type path struct {
	dalton    bool
	of        *bayes.Density // of the posterior without the integral
	number    int            // of the experiment
	x         *bayes.Experiment
	part      *bayes.Part // of the experiment
	values    int         // number of values that are not missing
	method    filter.EK
	diffusion int // index of the parameter that is κ², −1 if it is known
	filter    *filter.Marginal
	grid      *probode.Grid // of the filter
	events    []float64     // times of the events on grid that depend on θ
	predict   []float64

	logarithm []bool                   // columns with log-normal errors, which are predicted on the log scale
	laplace   []bayes.SlopedLikelihood // of columns that need Laplace's method; nil for others
}

func (p *path) own() {
	p.part = p.of.Part(p.number)
	p.predict = make([]float64, 2*len(p.x.Data.T)*len(p.x.Data.Y[0]))
}

func (p *path) NoiseLen() int { return 0 }
func (p *path) Work() int     { return p.filter.Work() }

func (p *path) Clone() probode.Path {
	c := *p
	c.of = p.of.Clone()
	c.own()
	var err error
	if c.filter, err = p.on(p.grid); err != nil {
		panic("marginal: " + err.Error()) // p was made with the same arguments
	}
	return &c
}

// eventTimes returns those that depend on θ.
func (p *path) eventTimes(theta []float64) (times []float64) {
	events := p.x.Problem.Events
	for k := range events {
		if when := events[k].When; when != nil {
			times = append(times, when(theta))
		}
	}
	return times
}

func (p *path) on(grid *probode.Grid) (*filter.Marginal, error) {
	return filter.NewMarginal(p.x.Problem, p.method, grid, p.x.Data.T, len(p.x.Data.Y[0]), p.dalton)
}

// follow builds a new grid if the time of an event has changed: its points must be the
// times of data.
func (p *path) follow(ctx context.Context, theta []float64) error {
	times := p.eventTimes(theta)
	if p.filter != nil && slices.Equal(times, p.events) {
		return nil
	}
	grid, err := probode.Setup{Method: p.method, Mesh: p.of.Posterior().Mesh}.Grid(ctx, p.x.Problem, theta, p.x.Data.T)
	if err != nil {
		return err
	}
	of, err := p.on(grid)
	if err != nil {
		return err
	}
	p.grid, p.filter, p.events = grid, of, times
	return nil
}

func (p *path) States(ctx context.Context, dst, theta, _ []float64) error {
	alpha := p.of.Posterior().Alpha
	if p.diffusion >= 0 {
		alpha = theta[p.diffusion]
	}
	own := slices.Clone(p.part.Theta(theta))
	if err := p.follow(ctx, own); err != nil {
		return err
	}
	var e *expansion
	var settled func(x []float64) bool
	if slices.ContainsFunc(p.laplace, func(of bayes.SlopedLikelihood) bool { return of != nil }) {
		values := len(p.predict) / 2
		e = &expansion{mean: make([]float64, values), sd: make([]float64, values), left: 100}
		settled = func(x []float64) bool { return p.settled(e, x, theta) }
	}
	factor, err := p.filter.Predict(ctx, p.predict, own, alpha, func(n int, x []float64, r *filter.Row) {
		p.look(n, x, r, theta, e)
	}, settled)
	if err != nil {
		return err
	}
	if e != nil {
		if factor += e.rest; math.IsNaN(factor) {
			return errMode
		}
	}
	c := len(p.x.Data.Y[0])
	for n := range p.x.Data.T {
		row := dst[n*(2*c+1) : (n+1)*(2*c+1)]
		for k := range c {
			row[k], row[c+k] = p.predict[2*(n*c+k)], p.predict[2*(n*c+k)+1]
			if p.logarithm[k] {
				row[k] = math.Exp(row[k])
			}
		}
		row[2*c] = factor / float64(max(p.values, 1))
	}
	return nil
}

// look linearises the model of the data at time n near x. e is nil if all errors are
// Gaussian or log-normal.
func (p *path) look(n int, x []float64, r *filter.Row, theta []float64, e *expansion) {
	at := x
	if e != nil {
		at = e.at(n, x)
	}
	mean, slopes, own := p.part.Linear(n, at, theta)
	copy(r.Y, p.x.Data.Y[n])
	d := len(x)
	known := p.x.Data.T[n] == p.x.Problem.Span[0] // no step has been made
	for k, m := range mean {
		copy(r.Slopes[k*d:(k+1)*d], slopes[k*(d+len(theta)):])
		r.Mean[k] = m
		if of := p.laplace[k]; of != nil {
			r.SD[k] = e.expand(n*len(mean)+k, of, r.Y[k], m, own[k], known)
		} else {
			r.SD[k] = own[k][0]
		}
		if p.logarithm[k] {
			r.Y[k], r.Mean[k] = math.Log(r.Y[k]), math.Log(m)
			for j := range d {
				if r.Slopes[k*d+j] /= m; !(m > 0) { // a missing value has the median 0
					r.Slopes[k*d+j] = 0
				}
			}
		}
		for j, v := range x {
			r.Mean[k] += r.Slopes[k*d+j] * (v - at[j])
		}
	}
}

var errMode = errors.New("the mode of the solution given the data was not found: try a smaller step or a smaller diffusion")

// Tangents takes central differences.
func (p *path) Tangents(ctx context.Context, dst, ddst, theta, dtheta, xi []float64) error {
	return probode.Differences(dst, ddst, theta, dtheta, func(dst, theta []float64) error { return p.States(ctx, dst, theta, xi) })
}
