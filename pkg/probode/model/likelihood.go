package model

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// LikelihoodSettings says how a Likelihood solves its models. The zero value
// gives log-likelihoods with an error below 10⁻⁷.
type LikelihoodSettings struct {
	// Tolerance is that of the steps of error-controlled runs. The zero value
	// means as small as it takes: from a Relative of 10⁻⁷ on it is divided by
	// 16, by experiment, until the log-likelihood changes by less than 10⁻⁷ in
	// all.
	Tolerance probode.Tolerance

	// Method is the solver; nil means Radau of order 5, as stiff models are
	// the rule.
	Method probode.Method

	// MaxStep bounds the steps. The zero value means 1/128 of the span where
	// f depends on the time, so that a pulse in it does not fall between two
	// steps, and no bound elsewhere; +Inf means none at all, as other solvers
	// have it.
	MaxStep float64

	// StepSize, if positive, has equal steps of at most this size between one
	// time of the data and the next, with Tolerance and MaxStep zero. Steady
	// states are found as without it.
	StepSize float64

	// Workers is the number of experiments that are solved at a time; zero
	// means one for each processor. It changes no result.
	Workers int

	// Progress, if not nil, is called with the number of experiments that are
	// done. Calls do not overlap.
	Progress func(done, total int)
}

// A Likelihood computes the log-likelihood of the data of a problem, with all
// constants and without priors, and its gradient. Any number of goroutines may
// use it.
type Likelihood struct {
	p       *Problem
	set     LikelihoodSettings
	free    []int // components of Params that are estimated
	parts   []*part
	aim     float64 // for the error of one part
	expands bool    // an expansion on the scales is wanted beside gradients
}

// A part is an experiment with its data.
type part struct {
	*compiled
	times    []float64 // of the rows, finite, increasing
	at       []int     // of each row its time, -1 for the steady state
	formulas []formula // of each row
	free     []int     // parameters with a derivative
	along    []int     // those of free, by number, on which states depend
}

// A Value is a log-likelihood at a θ.
type Value struct {
	LogLikelihood float64

	// Error estimates the error that solving the equations has left in
	// LogLikelihood: how much it changed with the last reduction of the
	// tolerance by 16. NaN if LikelihoodSettings has a Tolerance or a StepSize.
	Error float64

	// Gradient are the derivatives for the linear values of all parameters
	// that are estimated, and ScaleGradient those for their values on the
	// scale of the parameter, both in the order of Likelihood.Estimated; nil
	// unless asked for.
	Gradient, ScaleGradient []float64

	// Experiments are in the order of Problem.Experiments.
	Experiments []ExperimentValue
}

// An ExperimentValue is what one experiment adds to a log-likelihood.
type ExperimentValue struct {
	Model, Condition, Preequilibration string
	LogLikelihood                      float64
	Tolerance                          probode.Tolerance // of the last run
	Error                              float64           // as in Value
	Observables                        []ObservableValue

	// Simulated are the formulas of the rows, in the order of Experiment.Rows, and Noise
	// the standard deviations or scales of their distributions.
	Simulated, Noise []float64

	gradient []float64    // by free parameter
	near     *shape.Point // the expansion in the values of these on their scales, if Likelihood.expands
}

// An ObservableValue is what one observable of an experiment adds to a
// log-likelihood, in the order of their first rows.
type ObservableValue struct {
	Observable    string
	Points        int
	LogLikelihood float64
}

// Likelihood returns the log-likelihood of the data of p. It is an error if p
// has none.
func (p *Problem) Likelihood(s LikelihoodSettings) (*Likelihood, error) {
	switch {
	case s.Tolerance.Relative != 0 && !(s.Tolerance.Relative >= 1e-15 && s.Tolerance.Relative < 1):
		return nil, fmt.Errorf("the relative tolerance is %g: want a number in [1e-15, 1), or 0", s.Tolerance.Relative)
	case !(s.MaxStep >= 0):
		return nil, fmt.Errorf("the longest step is %g: want a number ≥ 0", s.MaxStep)
	case !(s.StepSize >= 0) || math.IsInf(s.StepSize, 1):
		return nil, fmt.Errorf("the step size is %g: want a finite number ≥ 0", s.StepSize)
	case s.StepSize > 0 && (s.Tolerance.Relative != 0 || s.Tolerance.Absolute != nil || s.MaxStep != 0):
		return nil, fmt.Errorf("a step size and a tolerance or a longest step: want only one of equal steps and error control")
	case s.Workers < 0:
		return nil, fmt.Errorf("%d workers: want a number ≥ 0", s.Workers)
	}
	if s.Method == nil {
		s.Method = methods.Radau{}
	}
	if s.Workers == 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	l := &Likelihood{p: p, set: s}
	for i, q := range p.Params {
		if q.Estimate {
			l.free = append(l.free, i)
		}
	}
	list, err := p.Experiments()
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(e *Experiment) bool { return len(e.Rows) == 0 })
	l.parts = make([]*part, len(list))
	if err := l.each(context.Background(), func(_ context.Context, i int) (err error) {
		l.parts[i], err = p.part(list[i], l.free)
		return err
	}, nil); err != nil {
		return nil, err
	}
	if len(l.parts) == 0 {
		return nil, fmt.Errorf("%s: no measurements: want data for a likelihood", text.Clip(p.Name))
	}
	l.aim = 1e-7 / float64(len(l.parts))
	return l, nil
}

func (p *Problem) part(e *Experiment, free []int) (*part, error) {
	c, err := p.compile(e)
	if err != nil {
		return nil, err
	}
	q := &part{compiled: c, free: free}
	for i, j := range free {
		if c.moves[j] {
			q.along = append(q.along, i)
		}
	}
	inputs := append(append([]string{expr.Time}, e.States...), c.params...)
	ids := make([]string, len(free))
	for i, j := range free {
		ids[i] = c.params[j]
	}
	made := map[[3]*expr.Node]formula{}
	for i := range e.Rows {
		r := &e.Rows[i]
		key := [3]*expr.Node{r.Formula, r.Noise, r.Freedom}
		f, ok := made[key]
		if !ok {
			if f, err = newFormula(r, inputs, e.States, ids); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", c.title, text.Clip(r.Observable), err)
			}
			made[key] = f
		}
		q.formulas = append(q.formulas, f)
		switch n := len(q.times); {
		case math.IsInf(r.Time, 1):
			q.at = append(q.at, -1)
			continue
		case n == 0 || r.Time > q.times[n-1]:
			q.times = append(q.times, r.Time)
		}
		q.at = append(q.at, len(q.times)-1)
	}
	return q, nil
}

// Estimated returns the parameters that are estimated, to which gradients
// belong.
func (l *Likelihood) Estimated() []Param {
	list := make([]Param, len(l.free))
	for i, j := range l.free {
		list[i] = l.p.Params[j]
	}
	return list
}

// Nominal returns the nominal values of all parameters: what At takes. NaN
// stands for a parameter that has none.
func (l *Likelihood) Nominal() []float64 {
	theta := make([]float64, len(l.p.Params))
	for i, q := range l.p.Params {
		theta[i] = q.Nominal
	}
	return theta
}

// At returns the log-likelihood at the values of all parameters, which are
// linear and in the order of Problem.Params, with its gradient if that is asked
// for.
//
// The gradient is that of the numerical solution on a grid that stays, so its
// error is about that of the solution. Where an event or a switch depends on
// parameters it includes what the state jumps by; at a measurement at the very
// time of one, the derivative is that from behind it.
//
// The error is an *ImpossibleError where the model gives a measurement no
// density, and that of the solver where it fails.
func (l *Likelihood) At(ctx context.Context, theta []float64, gradient bool) (*Value, error) {
	if len(theta) != len(l.p.Params) {
		return nil, fmt.Errorf("%d values: want %d, one for each parameter", len(theta), len(l.p.Params))
	}
	theta = slices.Clone(theta)
	if err := l.p.complete(theta); err != nil {
		return nil, err
	}
	v := &Value{Experiments: make([]ExperimentValue, len(l.parts))}
	if err := l.each(ctx, func(ctx context.Context, i int) (err error) {
		v.Experiments[i], err = l.experiment(ctx, l.parts[i], theta, gradient)
		return err
	}, l.set.Progress); err != nil {
		return nil, err
	}
	if gradient {
		v.Gradient = make([]float64, len(l.free))
		v.ScaleGradient = make([]float64, len(l.free))
	}
	for i := range v.Experiments {
		e := &v.Experiments[i]
		v.LogLikelihood += e.LogLikelihood
		v.Error += e.Error
		for j, g := range e.gradient {
			v.Gradient[j] += g
		}
	}
	for i, g := range v.Gradient {
		v.ScaleGradient[i] = g * l.p.Params[l.free[i]].Scale.slope(theta[l.free[i]])
	}
	return v, nil
}

func relative(r float64) probode.Tolerance { return probode.Tolerance{Relative: r} }

// given says whether the tolerance or the step is the caller's.
func (l *Likelihood) given() bool {
	return l.set.Tolerance.Relative != 0 || l.set.Tolerance.Absolute != nil || l.set.StepSize > 0
}

func (l *Likelihood) run(t probode.Tolerance) run {
	return run{l.set.Method, t, l.set.MaxStep, l.set.StepSize}
}

// experiment returns what a part adds, at the tolerance that was asked for or
// at those that it takes.
func (l *Likelihood) experiment(ctx context.Context, q *part, theta []float64, gradient bool) (ExperimentValue, error) {
	const (
		first, factor = 1e-7, 16
		least         = 1e-14
	)
	var scales []float64
	if l.expands && gradient {
		for _, j := range l.free {
			scales = append(scales, l.p.Params[j].Scale.slope(theta[j]))
		}
	}
	if l.given() {
		v, err := q.value(ctx, l.run(l.set.Tolerance), theta, gradient, scales)
		v.Error = math.NaN()
		return v, err
	}
	last, err := q.value(ctx, l.run(relative(first)), theta, false, nil)
	if err != nil {
		return last, err
	}
	last.Error = math.Inf(1)
	for tol := first / factor; tol >= least; tol /= factor {
		now, err := q.value(ctx, l.run(relative(tol)), theta, false, nil)
		if err != nil {
			if isCancel(err) || math.IsInf(last.Error, 1) {
				return now, err
			}
			break // the tolerance cannot be met
		}
		now.Error = math.Abs(now.LogLikelihood - last.LogLikelihood)
		if now.Error > last.Error {
			break // rounding
		}
		if last = now; last.Error <= l.aim {
			break
		}
	}
	if gradient {
		e := last.Error
		last, err = q.value(ctx, l.run(last.Tolerance), theta, true, scales)
		last.Error = e
	}
	return last, err
}

// value returns what a part adds at a tolerance. scales are the derivatives of the free
// parameters for their values on the scales, nil if no expansion on these is wanted.
func (q *part) value(ctx context.Context, r run, theta []float64, gradient bool, scales []float64) (ExperimentValue, error) {
	d := q.d
	v := ExperimentValue{Model: q.e.Model.Name, Condition: q.e.Condition, Preequilibration: q.e.Preequilibration,
		Tolerance: r.Tolerance, Simulated: make([]float64, len(q.e.Rows)), Noise: make([]float64, len(q.e.Rows))}
	var along []float64 // directions in θ
	m := 0
	if gradient {
		m = len(q.along)
		along = make([]float64, m*q.n)
		for i, j := range q.along {
			along[i*q.n+q.free[j]] = 1
		}
		v.gradient = make([]float64, len(q.free))
	}
	at := theta
	if q.pre != nil {
		x, dx, err := r.steady(ctx, q.pre, theta, along, nil)
		if err != nil {
			return v, err
		}
		at = append(slices.Clone(theta), x...)
		along = extend(along, dx, q.n, d, m)
	}
	var x, dx, end, dend []float64
	var err error
	if len(q.times) > 0 {
		if x, dx, err = r.solve(ctx, q.ode, at, along, q.when, q.times); err != nil {
			return v, err
		}
	}
	if slices.Contains(q.at, -1) {
		if end, dend, err = r.steady(ctx, q.ode, at, along, q.when); err != nil {
			return v, err
		}
	}

	var values, score [3]float64
	slopes, partial := make([]float64, len(values)*(d+len(q.free))), make([]float64, d+len(q.free))
	in := make([]float64, 1+d+q.n)
	copy(in[1+d:], theta)
	for i := range q.e.Rows {
		row, state, slope, time := &q.e.Rows[i], end, dend, 0.
		if k := q.at[i]; k >= 0 {
			state, time = x[k*d:(k+1)*d], row.Time
			if gradient {
				slope = dx[k*d*m : (k+1)*d*m]
			}
		}
		in[0] = time
		copy(in[1:], state)
		formula := &q.formulas[i]
		n := formula.value.outputs
		formula.value.eval1(values[:n], in)
		f, own := values[0], values[1:n]
		if what := row.impossible(f, own); what != "" {
			return v, &ImpossibleError{q.e.Model.Name, q.e.Condition, row.Observable, row.Time, what}
		}
		v.Simulated[i], v.Noise[i] = f, row.spread(f, own)
		v.add(row.Observable, formula.of.LogProb(row.Value, f, own))
		if !gradient {
			continue
		}
		formula.of.Slope(score[:n], row.Value, f, own)
		width := d + len(q.free)
		slopes := slopes[:n*width]
		formula.slope().eval1(slopes, in)
		clear(partial)
		for k, s := range score[:n] {
			floats.AddScaled(partial, s, slopes[k*width:][:width])
		}
		floats.Add(v.gradient, partial[d:])
		for k, c := range partial[:d] {
			if c != 0 {
				for b, j := range q.along {
					v.gradient[j] += c * slope[k*m+b]
				}
			}
		}
		if scales != nil {
			if v.near == nil {
				v.near = flat(len(q.free))
			}
			totals := make([][]float64, n)
			for k := range totals {
				totals[k] = q.total(slopes[k*width:][:width], slope, scales)
			}
			expand(v.near, row, formula.of, f, own, totals)
		}
	}
	return v, nil
}

// total returns the derivatives of a formula in the free parameters on their scales, from its
// partial derivatives in states and parameters, and from the derivatives of the states.
func (q *part) total(partial, states, scales []float64) []float64 {
	out := slices.Clone(partial[q.d:])
	for k := range q.d {
		if c := partial[k]; c != 0 {
			for b, j := range q.along {
				out[j] += c * states[k*len(q.along)+b]
			}
		}
	}
	floats.Mul(out, scales)
	return out
}

// flat returns the expansion of a constant in n parameters.
func flat(n int) *shape.Point {
	return &shape.Point{Gradient: mat.NewVecDense(n, nil), Information: mat.NewSymDense(n, nil), Curvature: mat.NewSymDense(n, nil)}
}

// expand adds the log density of a row to an expansion. derivatives are those of m and of the
// numbers of its distribution. For Laplace errors r/s is a kink, in whose derivative s stays:
// what s does is in the gradient and the curvature.
func expand(p *shape.Point, r *Row, of bayes.Differentiable, m float64, own []float64, derivatives [][]float64) {
	n := len(derivatives)
	score, info := make([]float64, n), make([]float64, n*n)
	of.Slope(score, r.Value, m, own)
	of.(bayes.Informer).Information(info, m, own)
	first := 0
	if r.Distribution == Laplace {
		d, slope, weight, _ := of.(bayes.Kinked).Kink(r.Value, m, own)
		first = 1
		location := slices.Clone(derivatives[0])
		floats.Scale(slope*weight, location)
		p.U, p.J = append(p.U, d*weight), append(p.J, location)
	}
	for i, x := range derivatives {
		if i >= first {
			p.Gradient.AddScaledVec(p.Gradient, score[i], mat.NewVecDense(len(x), x))
		}
		for j, y := range derivatives[:i+1] {
			v := info[i*n+j]
			for k, to := range []*mat.SymDense{p.Curvature, p.Information} {
				switch {
				case v == 0 || k == 0 && j < first:
				case i == j:
					to.SymRankOne(to, v, mat.NewVecDense(len(x), x))
				default:
					to.RankTwo(to, v, mat.NewVecDense(len(x), x), mat.NewVecDense(len(y), y))
				}
			}
		}
	}
}

func (v *ExperimentValue) add(observable string, density float64) {
	v.LogLikelihood += density
	for i := range v.Observables {
		if o := &v.Observables[i]; o.Observable == observable {
			o.Points++
			o.LogLikelihood += density
			return
		}
	}
	v.Observables = append(v.Observables, ObservableValue{observable, 1, density})
}
