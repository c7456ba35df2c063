package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/model/expr"
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
// Noise that depends on the time, or on the state by more than the value of its own
// observable, is a column of its own, without data, in Data and Observe. Data of a
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
		b.Params = append(b.Params, bayes.Param{Name: q.ID, Prior: prior})
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
			if math.IsNaN(data.Y[n-1][k]) && c.row != nil && c.row.Observable == r.Observable && c.row.Formula.Equal(r.Formula) && c.row.Noise.Equal(r.Noise) {
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
			errors, noise, err := p.errors(r, noiseOf+name, theta, params)
			if err != nil {
				return nil, err
			}
			at = len(columns)
			add(name, r.Formula, column{r, errors})
			if noise != nil {
				add(noiseOf+name, noise, column{nil, noNoise{}})
			}
		}
		data.Y[n-1][at] = r.Value
	}
	x := &bayes.Experiment{Name: e.Condition, Problem: q, Data: data}
	for _, c := range columns {
		x.Errors = append(x.Errors, c.errors)
	}
	// Observe has the parameters that are estimated: the others are numbers.
	known := map[string]*expr.Node{}
	inputs := append([]string{TimeSymbol}, e.States...)
	for i, v := range p.Params {
		if !v.Estimate {
			known[v.ID] = expr.Num(theta[i])
		}
	}
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

// noiseOf begins the name of a column that is the noise of another one.
const noiseOf = "noise of "

// errors returns the distribution of a row's measurement: of package bayes
// where its noise is a number or a parameter, else a Noise. Where its noise is more
// than a function of the value of the observable and parameters, it is returned,
// too, to be the column of the given name.
func (p *Problem) errors(r *Row, name string, theta []float64, params []bayes.Param) (bayes.Likelihood, *expr.Node, error) {
	known := map[string]*expr.Node{}
	for i, v := range p.Params {
		if !v.Estimate {
			known[v.ID] = expr.Num(theta[i])
		}
	}
	// The noise over the value of the observable and parameters.
	noise := replace(r.Noise, r.Formula, expr.Sym(valueSymbol)).Substitute(known).Simplify()
	n := &Noise{Scale: r.Scale, Distribution: r.Distribution, Formula: noise.String()}
	isParam := func(s string) bool {
		return slices.ContainsFunc(params, func(q bayes.Param) bool { return q.Name == s })
	}
	var column *expr.Node
	if slices.ContainsFunc(noise.Symbols(), func(s string) bool { return s != valueSymbol && !isParam(s) }) {
		noise, column = expr.Sym(name), r.Noise
	}
	inputs := []string{valueSymbol}
	value := bayes.Value{}
	for _, s := range noise.Symbols() {
		if s == valueSymbol {
			n.uses = true
			continue
		}
		inputs = append(inputs, s)
		n.own = append(n.own, bayes.Unknown(s))
	}
	if v, ok := noise.Const(); ok {
		value = bayes.Known(v)
	} else if s, ok := noise.Symbol(); ok && s != valueSymbol {
		value = bayes.Unknown(s)
	}
	if value != (bayes.Value{}) && r.Distribution == Normal && r.Scale == Lin {
		return bayes.Gaussian{Sigma: value}, column, nil
	}
	if value != (bayes.Value{}) && r.Distribution == Normal && r.Scale == Log {
		return bayes.LogNormal{Sigma: value}, column, nil
	}
	var err error
	if n.sigma, err = newProgram(inputs, []*expr.Node{noise}); err != nil {
		return nil, nil, err
	}
	n.slope = sync.OnceValue(func() *program {
		var slopes []*expr.Node
		for _, s := range inputs {
			slopes = append(slopes, noise.Diff(s))
		}
		p, err := newProgram(inputs, slopes)
		if err != nil {
			panic(fmt.Sprintf("model: %v", err)) // the formula itself could be compiled
		}
		return p
	})
	return n, column, nil
}

// valueSymbol stands for the value of an observable in its noise; it is no name
// that a model can have.
const valueSymbol = "value of the observable"

// replace replaces a formula within n wherever it occurs.
func replace(n, formula, by *expr.Node) *expr.Node {
	done := map[*expr.Node]*expr.Node{}
	var walk func(n *expr.Node, depth int) *expr.Node
	walk = func(n *expr.Node, depth int) *expr.Node {
		if m := done[n]; m != nil {
			return m
		}
		m := n
		switch args := n.Args(); {
		case n.Equal(formula):
			m = by
		case len(args) > 0 && depth < maxDepth && n.Op() != "lambda" && n.Op() != "call":
			changed := false
			to := make([]*expr.Node, len(args))
			for i, a := range args {
				to[i] = walk(a, depth+1)
				changed = changed || to[i] != a
			}
			if changed {
				m = expr.Call(n.Op(), to...)
			}
		}
		done[n] = m
		return m
	}
	return walk(n, 0)
}

// A Noise is the distribution of a measurement around the value m of its
// observable, of which the standard deviation or Laplace scale on Scale is a
// formula over m and parameters. Posterior makes it.
type Noise struct {
	Scale        Scale
	Distribution Distribution
	Formula      string

	own   []bayes.Value
	uses  bool            // m
	sigma *program        // of m and own
	slope func() *program // its derivatives for them
}

// Own returns the parameters of the formula.
func (n *Noise) Own() []bayes.Value { return n.own }

// Describe says what the distribution wants where its noise is a number or one
// parameter; of a formula nothing is known.
func (n *Noise) Describe() bayes.Description {
	about := bayes.Description{Of: n, Y: "a number"}
	if n.Scale != Lin {
		about.Y = "a number > 0"
	}
	switch {
	case len(n.own) == 1 && n.Formula == n.own[0].Name:
		about.Own = []bayes.OwnNumber{{Name: "the noise", Spread: 1}}
	case len(n.own) > 0 || n.uses:
		about.Of = nil
	}
	return about
}

// Information writes Fisher's information on m and the numbers of Own. With s the
// noise and dg the derivative of Scale at m it is, of a normal distribution,
//
//	(dg, 0)(dg, 0)ᵀ/s² + 2 ∇s ∇sᵀ/s²,
//
// and of Laplace's the same with 1 for the 2.
func (n *Noise) Information(dst []float64, m float64, own []float64) bool {
	s := n.at(m, own)
	if s != s {
		return false
	}
	slope := make([]float64, 1+len(n.own))
	n.slope().eval1(slope, append([]float64{m}, own[:len(n.own)]...))
	twice := 2.
	if n.Distribution == Laplace {
		twice = 1
	}
	for i, a := range slope {
		for j, b := range slope {
			dst[i*len(slope)+j] = twice * a * b / (s * s)
		}
	}
	dg := 1 / n.Scale.slope(m)
	dst[0] += dg * dg / (s * s)
	return true
}

// Kink is that of Laplace errors, −|g(y) − g(m)|/s, with g as Scale says.
func (n *Noise) Kink(y, m float64, own []float64) (r, slope, weight float64, ok bool) {
	s := n.at(m, own)
	if n.Distribution != Laplace || s != s {
		return 0, 0, 0, false
	}
	row := Row{Value: y, Scale: n.Scale}
	r, slope = row.residual(m)
	return r, -slope, 1 / s, true
}

// at returns σ, NaN where there is none.
func (n *Noise) at(m float64, own []float64) float64 {
	var room [8]float64
	var s [1]float64
	in := append(append(room[:0], m), own[:len(n.own)]...)
	n.sigma.eval1(s[:], in)
	if !(s[0] > 0) || math.IsInf(s[0], 1) || n.Scale != Lin && !(m > 0) {
		return math.NaN()
	}
	return s[0]
}

// LogProb returns the log density of y, −Inf where m or σ make none.
func (n *Noise) LogProb(y, m float64, own []float64) float64 {
	s := n.at(m, own)
	if s != s || n.Scale != Lin && !(y > 0) {
		return math.Inf(-1)
	}
	r := Row{Value: y, Scale: n.Scale, Distribution: n.Distribution}
	l, _, _ := r.logDensity(m, s)
	return l
}

// Rand returns a draw of y, NaN where m or σ make no distribution.
func (n *Noise) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	s := n.at(m, own)
	if s != s {
		return s
	}
	z := rng.NormFloat64()
	if n.Distribution == Laplace {
		z = rng.ExpFloat64()
		if rng.Uint64()&1 == 0 {
			z = -z
		}
	}
	return n.Scale.linear(n.Scale.Of(m) + s*z)
}
