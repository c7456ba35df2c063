package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// Posterior returns the posterior of p: the parameters that are estimated, with
// their priors, and an experiment for each condition that has data. Parameters
// are linear, whatever their scale. The log-likelihood is that of Likelihood.
//
// A prior is cut off at the bounds of its parameter; without one it is uniform
// between them on the scale of the parameter, as PEtab has it.
//
// Equations are solved by Radau of order 5 without noise (Alpha is 0), on a
// grid of an error-controlled run at the nominal parameters with a relative
// tolerance of 10⁻⁶, which then is frozen. Change Method, Mesh and Alpha to ask
// what another solver would have done.
//
// Noise that is neither a number nor a parameter, such as 0.1 + 0.05 x, is a column of its own,
// without data, in Data and Observe. Data of a
// steady state are an experiment of their own, which begins there: it is found by
// an accurate solver whatever the Method, as that of preequilibration is, and has
// nothing of the error or the noise of Method.
//
// It is an error if a parameter has neither a prior nor bounds, and if one that is
// used has no nominal value.
func (p *Problem) Posterior() (*bayes.Posterior, error) {
	theta, err := p.nominal()
	if err != nil {
		return nil, err
	}
	b := &bayes.Posterior{Setup: probode.Setup{Method: methods.Radau{}, Mesh: probode.Frozen{Tolerance: relative(1e-6)}}}
	for i := range p.Params {
		q := &p.Params[i]
		if !q.Estimate {
			continue
		}
		prior, err := newScalePrior(q)
		if err != nil {
			return nil, err
		}
		b.Params = append(b.Params, bayes.Param{Name: q.ID, Prior: prior.plain()})
		b.GridAt = append(b.GridAt, theta[i])
	}
	list, err := p.Experiments()
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		q, err := p.ODE(e)
		if err != nil {
			return nil, err
		}
		// Rows are in the order of time.
		n := len(e.Rows)
		for n > 0 && math.IsInf(e.Rows[n-1].Time, 1) {
			n--
		}
		for _, part := range []struct {
			rows []Row
			ode  *probode.Problem
		}{{e.Rows[:n], q}, {e.Rows[n:], atRest(q)}} {
			if len(part.rows) == 0 {
				continue
			}
			x, err := p.experiment(e, part.rows, part.ode, b.Params, theta)
			if err != nil {
				return nil, err
			}
			b.Experiments = append(b.Experiments, *x)
		}
	}
	switch {
	case len(b.Params) == 0:
		return nil, fmt.Errorf("%s: no parameter is estimated", text.Clip(p.Name))
	case len(b.Experiments) == 0:
		return nil, fmt.Errorf("%s: no measurements: want data for a posterior", text.Clip(p.Name))
	}
	return b, nil
}

// Point returns the parameters of Posterior at θ = the values of all parameters,
// linear, as Likelihood.At has them. A value on the edge of the support of its
// prior or beyond, where many a published optimum lies and a density on an
// unbounded scale has no point, is moved inside by 10⁻⁹ of the width, on the scale
// of the parameter if that can be.
func (p *Problem) Point(theta []float64) ([]float64, error) {
	if len(theta) != len(p.Params) {
		return nil, fmt.Errorf("%d values: want %d, one for each parameter", len(theta), len(p.Params))
	}
	const edge = 1e-9
	var point []float64
	for i := range p.Params {
		q := &p.Params[i]
		if !q.Estimate {
			continue
		}
		d, err := newScalePrior(q)
		if err != nil {
			return nil, err
		}
		v := theta[i]
		if v-v != 0 {
			return nil, fmt.Errorf("parameter %s is %g: want a finite number", text.Clip(q.ID), v)
		}
		from, to := d.Quantile(0), d.Quantile(1)
		on := q.Scale
		if !(from > 0) {
			on = Lin
		}
		switch w := edge * (on.Of(to) - on.Of(from)); {
		case math.IsInf(w, 0):
		case !(v > from):
			v = on.linear(on.Of(from) + w)
		case !(v < to):
			v = on.linear(on.Of(to) - w)
		}
		point = append(point, v)
	}
	return point, nil
}

// experiment returns an experiment as package bayes has it. A column holds the
// rows of one formula with one kind of noise; of several at one time each is in
// a column of its own.
func (p *Problem) experiment(e *Experiment, rows []Row, q *probode.Problem, params []bayes.Param, theta []float64) (*bayes.Experiment, error) {
	type column struct {
		row    *Row // nil for noise
		errors bayes.Likelihood
	}
	// Observe has the parameters that are estimated: the others are numbers.
	known := map[string]*expr.Node{}
	for i, v := range p.Params {
		if !v.Estimate {
			known[v.ID] = expr.Num(theta[i])
		}
	}
	var columns []column
	var formulas []*expr.Node
	data := &bayes.Data{}
	add := func(name string, formula *expr.Node, c column) {
		columns, formulas = append(columns, c), append(formulas, formula)
		data.Names = append(data.Names, name)
		for k := range data.Y {
			data.Y[k] = append(data.Y[k], math.NaN())
		}
	}
	for i := range rows {
		r := &rows[i]
		t := r.Time
		if math.IsInf(t, 1) {
			t = q.Span[0] // which is at rest
		}
		n := len(data.T)
		if n == 0 || t > data.T[n-1] {
			data.T, data.Y = append(data.T, t), append(data.Y, nanRow(len(columns)))
			n++
		}
		at := -1
		for k, c := range columns {
			if math.IsNaN(data.Y[n-1][k]) && c.row != nil && c.row.Observable == r.Observable && slices.EqualFunc(c.row.formulas(), r.formulas(), (*expr.Node).Equal) {
				at = k
				break
			}
		}
		if at < 0 {
			name, same := r.Observable, 0
			for _, c := range columns {
				if c.row != nil && c.row.Observable == r.Observable {
					same++
				}
			}
			if same > 0 {
				name = fmt.Sprintf("%s_%d", name, same+1)
			}
			errors, numbers, of := p.errors(r, name, known, params)
			at = len(columns)
			add(name, r.Formula, column{r, errors})
			for i, number := range numbers {
				add(number, of[i], column{nil, noNoise{}})
			}
		}
		data.Y[n-1][at] = r.Value
	}
	x := &bayes.Experiment{Name: e.Condition, Problem: q, Data: data}
	for _, c := range columns {
		x.Errors = append(x.Errors, c.errors)
	}
	inputs := append([]string{expr.Time}, e.States...)
	for _, v := range params {
		inputs = append(inputs, v.Name)
	}
	for i, f := range formulas {
		formulas[i] = f.Substitute(known).Simplify()
	}
	f, err := newProgram(inputs, formulas)
	if err != nil {
		return nil, err
	}
	n := len(params)
	x.Observe = func(dst []float64, t float64, x, theta []float64) { f.eval(dst, t, x, theta[:n]) }
	return x, nil
}

func nanRow(n int) []float64 {
	row := make([]float64, n)
	for i := range row {
		row[i] = math.NaN()
	}
	return row
}

// noNoise is the distribution of a column that has no measurements: it stays what
// it is expected to be.
type noNoise struct{}

func (noNoise) Own() []bayes.Value                                { return nil }
func (noNoise) LogProb(_, _ float64, _ []float64) float64         { return math.NaN() }
func (noNoise) Rand(m float64, _ []float64, _ *rand.Rand) float64 { return m }

// noiseOf begins the name of a column that is the noise of another one, and freedomOf that
// of its degrees of freedom.
const (
	noiseOf   = "noise of "
	freedomOf = "degrees of freedom of "
)

// errors returns the distribution of the measurements of a row in the column of the given
// name. What is not known of its numbers, and no parameter either, is a column of its own:
// columns are their names, and formulas what they hold.
func (p *Problem) errors(r *Row, name string, known map[string]*expr.Node, params []bayes.Param) (of bayes.Likelihood, columns []string, formulas []*expr.Node) {
	number := func(n *expr.Node, column string) bayes.Value {
		n = n.Substitute(known).Simplify()
		if v, ok := n.Const(); ok {
			return bayes.Known(v)
		}
		if s, ok := n.Symbol(); ok && slices.ContainsFunc(params, func(q bayes.Param) bool { return q.Name == s }) {
			return bayes.Unknown(s)
		}
		columns, formulas = append(columns, column), append(formulas, n)
		return bayes.Unknown(column)
	}
	var own []bayes.Value
	if r.Freedom != nil {
		own = append(own, number(r.Freedom, freedomOf+name))
	}
	if r.Noise != nil {
		own = append(own, number(r.Noise, noiseOf+name))
	}
	return r.Distribution.likelihood(r.Scale, own), columns, formulas
}
