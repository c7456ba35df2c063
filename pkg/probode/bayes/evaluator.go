package bayes

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
)

// An evaluator is a Posterior at work in one chain: it owns a solver for each
// experiment, with the path that was solved last, and what the model expects of
// the data there.
type evaluator struct {
	p          *Posterior
	transforms []transform
	alpha      int // index of the parameter that is α, −1 if it is known
	runs       []*run
	noise      int       // length of ξ, all experiments together
	fit        []float64 // expected values of the data, by experiment, row and column
	steps      int       // steps that the solvers have taken, the measure of work
}

// A run is one experiment in an evaluator.
type run struct {
	x      *Experiment
	solver *probode.Solver
	at     *probode.Interpolator
	z      []float64 // path
	state  []float64 // at the times of the data
	param  []int     // index in θ of each element of the problem's θ, −1 if known
	theta  []float64 // of the problem
	fit    []float64 // view of evaluator.fit
	pick   []int     // components observed, if x.Observe is nil
	laws   []law     // of the columns
}

// A law is the likelihood of one column with the values of its own parameters.
type law struct {
	Likelihood
	param []int // index in θ of each own parameter, −1 if known
	own   []float64
}

// newEvaluator checks p and returns its evaluator.
func newEvaluator(p *Posterior) (*evaluator, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	e := &evaluator{p: p, alpha: -1}
	if p.Alpha.Name != "" {
		e.alpha = p.index(p.Alpha.Name)
	}
	for k := range p.Params {
		t, err := p.Params[k].transform()
		if err != nil {
			return nil, err
		}
		e.transforms = append(e.transforms, t)
	}
	values := 0
	for i := range p.Experiments {
		r, err := p.newRun(&p.Experiments[i])
		if err != nil {
			return nil, fmt.Errorf("bayes: %s: %w", p.Experiments[i].title(i), err)
		}
		e.runs = append(e.runs, r)
		e.noise += r.solver.NoiseLen()
		values += len(r.x.Data.T) * r.x.Data.columns()
	}
	e.setFit(make([]float64, values))
	if err := e.checkObserve(); err != nil {
		return nil, err
	}
	return e, nil
}

func (p *Posterior) newRun(x *Experiment) (*run, error) {
	problem := x.Problem
	if err := problem.Validate(); err != nil {
		return nil, err
	}
	grid, err := p.grid(x)
	if err != nil {
		return nil, err
	}
	solver, err := probode.NewSolver(problem, p.Method, grid, p.Alpha.Value)
	if err != nil {
		return nil, err
	}
	if solver.Streams() {
		return nil, fmt.Errorf("%v: the method needs more randomness than ξ and does not depend on θ continuously: want another one for inference", p.Method)
	}
	at, err := solver.Interpolator(x.Data.T)
	if err != nil {
		return nil, fmt.Errorf("observations: %w", err)
	}
	d, columns := problem.Dim(), x.Data.columns()
	r := &run{x: x, solver: solver, at: at,
		z: make([]float64, solver.PathLen()), state: make([]float64, len(x.Data.T)*d),
		theta: slices.Clone(problem.Theta)}
	for k := range problem.Theta {
		r.param = append(r.param, p.index(x.param(k)))
	}
	if x.Observe == nil {
		if r.pick, err = x.pick(); err != nil {
			return nil, err
		}
	}
	for k := range columns {
		l := law{Likelihood: x.errors(k)}
		for _, v := range l.Own() {
			i := -1
			if v.Name != "" {
				i = p.index(v.Name)
			}
			l.param = append(l.param, i)
			l.own = append(l.own, v.Value)
		}
		r.laws = append(r.laws, l)
	}
	return r, nil
}

// grid returns the grid that an experiment is solved on.
func (p *Posterior) grid(x *Experiment) (*probode.Grid, error) {
	if g, ok := p.grids[x]; ok {
		return g, nil
	}
	problem := x.Problem
	theta := slices.Clone(problem.Theta)
	for k := range theta {
		if i := p.index(x.param(k)); i >= 0 && p.GridAt != nil {
			theta[k] = p.GridAt[i]
		}
	}
	if p.Mesh != nil {
		return p.Mesh.Grid(context.Background(), problem, p.Method, theta, x.Data.T)
	}
	h, length := p.StepSize, problem.Span[1]-problem.Span[0]
	if !(h > 0) || h > length*(1+1e-9) {
		return nil, fmt.Errorf("step is %g: want a number > 0, at most the span, %g", h, length)
	}
	if len(problem.Events) > 0 {
		// Between events there are few points to interpolate.
		return probode.GridThrough(problem, theta, x.Data.T, h)
	}
	// The largest step that divides the span.
	return probode.UniformGrid(problem, theta, length/math.Ceil(length/h*(1-1e-12)))
}

// withGrids returns p with its grids made, so that all chains share them.
func (p *Posterior) withGrids() (*Posterior, error) {
	q := *p
	q.grids = make(map[*Experiment]*probode.Grid)
	for i := range p.Experiments {
		x := &p.Experiments[i]
		g, err := p.grid(x)
		if err != nil {
			return nil, fmt.Errorf("bayes: %s: %w", x.title(i), err)
		}
		q.grids[x] = g
	}
	return &q, nil
}

// setFit makes fit the place for what is expected of the data. Kernels swap it
// for another one to keep what belongs to the position of their chain.
func (e *evaluator) setFit(fit []float64) {
	e.fit = fit
	for _, r := range e.runs {
		n := len(r.x.Data.T) * r.x.Data.columns()
		r.fit, fit = fit[:n:n], fit[n:]
	}
}

// constrain writes the parameters at the unconstrained u to theta and returns
// the log prior density of u, with the Jacobian of the transformation.
func (e *evaluator) constrain(theta, u []float64) float64 {
	var lp float64
	for k, t := range e.transforms {
		var jacobian float64
		theta[k], jacobian = t.to(u[k])
		lp += jacobian + e.p.Params[k].Prior.LogProb(theta[k])
	}
	if math.IsNaN(lp) || math.IsInf(lp, 1) {
		// NaN is −∞ + ∞ far out in the tail. +∞ is the density at an end of the
		// support to which θ was rounded, for u > 37.4 to the upper one: a chain
		// that got there would never leave. What is cut off with that is the
		// mass within 1e-16 of the end, see Distribution.LogProb.
		return math.Inf(-1)
	}
	return lp
}

// unconstrain is the inverse of constrain.
func (e *evaluator) unconstrain(u, theta []float64) error {
	for k, t := range e.transforms {
		u[k] = t.from(theta[k])
		if math.IsNaN(u[k]) || math.IsInf(u[k], 0) {
			return fmt.Errorf("bayes: %s = %g is not inside the support of its prior, (%g, %g)", e.p.Params[k].Name, theta[k], t.lo, t.hi)
		}
	}
	return nil
}

// logLikelihood solves for (θ, ξ), leaves in fit what is expected of the data,
// and returns log p(Y | Z(θ, ξ)). xi nil stands for ξ = 0. The error is that of
// a failed solve.
func (e *evaluator) logLikelihood(theta, xi []float64) (float64, error) {
	var sum float64
	for _, r := range e.runs {
		var err error
		if xi, err = e.solve(r, theta, xi); err != nil {
			return math.Inf(-1), err
		}
		sum += r.logLikelihood(theta)
	}
	return sum, nil
}

// solve brings a run to its states at the times of the data, with the noise at
// the head of xi, and returns what is left of xi for the runs behind it.
func (e *evaluator) solve(r *run, theta, xi []float64) (rest []float64, err error) {
	e.bind(r, theta)
	var noise []float64
	if xi != nil {
		n := r.solver.NoiseLen()
		noise, xi = xi[:n], xi[n:]
	}
	e.steps += r.solver.Steps()
	if err := r.solver.Solve(r.z, r.theta, noise); err != nil {
		return nil, err
	}
	r.at.At(r.state, r.z)
	return xi, nil
}

// bind tells a run its part of θ.
func (e *evaluator) bind(r *run, theta []float64) {
	for k, i := range r.param {
		if i >= 0 {
			r.theta[k] = theta[i]
		}
	}
	for _, l := range r.laws {
		for k, i := range l.param {
			if i >= 0 {
				l.own[k] = theta[i]
			}
		}
	}
	if e.alpha >= 0 {
		r.solver.SetAlpha(theta[e.alpha])
	}
}

// logLikelihood returns the log probability of the data given the states at
// their times, of a run that is bound to theta.
func (r *run) logLikelihood(theta []float64) float64 {
	var sum float64
	for n := range r.x.Data.T {
		sum += r.row(n, theta)
	}
	return sum
}

// row returns the log probability of row n of the data given the state at its
// time, and writes what is expected of it to fit.
func (r *run) row(n int, theta []float64) float64 {
	d, c := r.solver.Problem().Dim(), len(r.laws)
	state, fit := r.state[n*d:(n+1)*d], r.fit[n*c:(n+1)*c]
	if r.x.Observe != nil {
		r.x.Observe(fit, r.x.Data.T[n], state, theta)
	} else {
		for k, i := range r.pick {
			fit[k] = state[i]
		}
	}
	var sum float64
	for k, y := range r.x.Data.Y[n] {
		if !math.IsNaN(y) {
			sum += r.laws[k].LogProb(y, fit[k], r.laws[k].own)
		}
	}
	return sum
}

// failure says why the posterior density at (θ, ξ) is not a positive number: in
// the words of a failed solve, or with the first value of the data whose log
// probability is not finite. It is nil where nothing is wrong.
func (e *evaluator) failure(theta, xi []float64) error {
	for i, r := range e.runs {
		var err error
		if xi, err = e.solve(r, theta, xi); err != nil {
			return fmt.Errorf("%s: %w", r.x.title(i), err)
		}
		r.logLikelihood(theta)
		c := len(r.laws)
		for n, row := range r.x.Data.Y {
			for k, y := range row {
				if math.IsNaN(y) {
					continue
				}
				m := r.fit[n*c+k]
				if lp := r.laws[k].LogProb(y, m, r.laws[k].own); math.IsNaN(lp) || math.IsInf(lp, 0) {
					return fmt.Errorf("%s: the value %.6g at t = %g, column %d, has the log probability %g where %.4g is expected", r.x.title(i), y, r.x.Data.T[n], k+1, lp, m)
				}
			}
		}
	}
	return nil
}

// likelihoodOf returns the log probability of the data given what fit expects of
// them.
func (e *evaluator) likelihoodOf(fit, theta []float64) float64 {
	var sum float64
	for _, r := range e.runs {
		e.bind(r, theta)
		c := len(r.laws)
		for n, row := range r.x.Data.Y {
			for k, y := range row {
				if !math.IsNaN(y) {
					sum += r.laws[k].LogProb(y, fit[n*c+k], r.laws[k].own)
				}
			}
		}
		fit = fit[len(r.x.Data.Y)*c:]
	}
	return sum
}

// observed returns the number of values of the data that are not missing.
func (e *evaluator) observed() int {
	n := 0
	for _, r := range e.runs {
		for _, row := range r.x.Data.Y {
			for _, y := range row {
				if !math.IsNaN(y) {
					n++
				}
			}
		}
	}
	return n
}

// pointwise writes the log probability of each value of the data that is not
// missing, given what fit expects of it.
func (e *evaluator) pointwise(dst, fit, theta []float64) {
	at := 0
	for _, r := range e.runs {
		e.bind(r, theta)
		c := len(r.laws)
		for n, row := range r.x.Data.Y {
			for k, y := range row {
				if !math.IsNaN(y) {
					dst[at] = r.laws[k].LogProb(y, fit[n*c+k], r.laws[k].own)
					at++
				}
			}
		}
		fit = fit[len(r.x.Data.Y)*c:]
	}
}
