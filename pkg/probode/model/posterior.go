package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

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
// It is an error if the data have a steady state, or noise that depends on the
// state by more than the value of its own observable, if a parameter has
// neither a prior nor bounds, and if one that is used has no nominal value.
func (p *Problem) Posterior() (*bayes.Posterior, error) {
	theta, err := p.nominal()
	if err != nil {
		return nil, err
	}
	b := &bayes.Posterior{Method: methods.Radau{}, Mesh: probode.Frozen{Tolerance: relative(1e-6)}}
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
		if len(e.Rows) == 0 {
			continue
		}
		x, err := p.experiment(e, b.Params, theta)
		if err != nil {
			return nil, err
		}
		b.Experiments = append(b.Experiments, *x)
	}
	switch {
	case len(b.Params) == 0:
		return nil, fmt.Errorf("%s: no parameter is estimated", text.Clip(p.Name))
	case len(b.Experiments) == 0:
		return nil, fmt.Errorf("%s: no measurements: want data for a posterior", text.Clip(p.Name))
	}
	return b, nil
}

// experiment returns an experiment as package bayes has it. A column holds the
// rows of one formula with one kind of noise; of several at one time each is in
// a column of its own.
func (p *Problem) experiment(e *Experiment, params []bayes.Param, theta []float64) (*bayes.Experiment, error) {
	q, err := p.ODE(e)
	if err != nil {
		return nil, err
	}
	type column struct {
		row    *Row
		errors bayes.Likelihood
	}
	var columns []column
	data := &bayes.Data{}
	for i := range e.Rows {
		r := &e.Rows[i]
		where := e.Model.Data[r.Index].Where
		if math.IsInf(r.Time, 1) {
			return nil, refusal(where, "steady-state data in a posterior", "%s is measured at time inf", r.Observable)
		}
		n := len(data.T)
		if n == 0 || r.Time > data.T[n-1] {
			data.T, data.Y = append(data.T, r.Time), append(data.Y, nanRow(len(columns)))
			n++
		}
		at := -1
		for k, c := range columns {
			if math.IsNaN(data.Y[n-1][k]) && c.row.Observable == r.Observable && c.row.Formula.Equal(r.Formula) && c.row.Noise.Equal(r.Noise) {
				at = k
				break
			}
		}
		if at < 0 {
			errors, err := p.errors(r, e, theta, params)
			if err != nil {
				return nil, err
			}
			at = len(columns)
			name, same := r.Observable, 0
			for _, c := range columns {
				if c.row.Observable == r.Observable {
					same++
				}
			}
			if same > 0 {
				name = fmt.Sprintf("%s_%d", name, same+1)
			}
			columns = append(columns, column{r, errors})
			data.Names = append(data.Names, name)
			for k := range data.Y {
				data.Y[k] = append(data.Y[k], math.NaN())
			}
		}
		data.Y[n-1][at] = r.Value
	}
	x := &bayes.Experiment{Name: e.Condition, Problem: q, Data: data}
	formulas := make([]*expr.Node, len(columns))
	for i, c := range columns {
		formulas[i] = c.row.Formula
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

// refusal is the error of what a posterior cannot have.
func refusal(w Where, feature, format string, args ...any) (err error) {
	defer catch(&err)
	w.refuse(feature, format, args...)
	return nil
}

// errors returns the distribution of a row's measurement: of package bayes
// where its noise is a number or a parameter, else a Noise.
func (p *Problem) errors(r *Row, e *Experiment, theta []float64, params []bayes.Param) (bayes.Likelihood, error) {
	known := map[string]*expr.Node{}
	for i, v := range p.Params {
		if !v.Estimate {
			known[v.ID] = expr.Num(theta[i])
		}
	}
	// The noise over the value of the observable and parameters.
	noise := replace(r.Noise, r.Formula, expr.Sym(valueSymbol)).Substitute(known).Simplify()
	n := &Noise{Scale: r.Scale, Distribution: r.Distribution, Formula: noise.String()}
	inputs := []string{valueSymbol}
	value := bayes.Value{}
	for _, s := range noise.Symbols() {
		switch {
		case s == valueSymbol:
			n.uses = true
		case slices.ContainsFunc(params, func(q bayes.Param) bool { return q.Name == s }):
			inputs = append(inputs, s)
			n.own = append(n.own, bayes.Unknown(s))
		default:
			return nil, refusal(e.Model.Data[r.Index].Where, "noise that depends on the state or the time, in a posterior", "that of %s depends on %s", r.Observable, s)
		}
	}
	if v, ok := noise.Const(); ok {
		value = bayes.Known(v)
	} else if s, ok := noise.Symbol(); ok && s != valueSymbol {
		value = bayes.Unknown(s)
	}
	if value != (bayes.Value{}) && r.Distribution == Normal && r.Scale == Lin {
		return bayes.Gaussian{Sigma: value}, nil
	}
	if value != (bayes.Value{}) && r.Distribution == Normal && r.Scale == Log {
		return bayes.LogNormal{Sigma: value}, nil
	}
	var err error
	n.sigma, err = newProgram(inputs, []*expr.Node{noise})
	return n, err
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
	uses  bool     // m
	sigma *program // of m and own
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
	return n.Scale.linear(n.Scale.on(m) + s*z)
}

// A ScalePrior is a distribution of the value on a scale, cut off outside of
// [Min, Max], which are linear, as a distribution of the linear value:
//
//	log p(θ) = log q(g(θ)) + log g′(θ) − log(Q(g(Max)) − Q(g(Min))).
type ScalePrior struct {
	Of interface {
		bayes.Distribution
		CDF(x float64) float64
	}
	On       Scale
	Min, Max float64 // ±Inf where it is not cut off; ≥ 0 for Log and Log10
}

func newScalePrior(q *Param) (ScalePrior, error) {
	d := ScalePrior{On: Lin, Min: q.Lower, Max: q.Upper}
	if math.IsNaN(d.Min) {
		d.Min = math.Inf(-1)
	}
	if math.IsNaN(d.Max) {
		d.Max = math.Inf(1)
	}
	a, b := q.Prior.A, q.Prior.B
	kind := q.Prior.Type
	switch kind {
	case "":
		if math.IsInf(d.Min, 0) || math.IsInf(d.Max, 0) || q.Scale != Lin && !(d.Min > 0) {
			return d, fmt.Errorf("parameter %s has neither a prior nor bounds, finite and > 0 on a logarithmic scale: want one of them for a posterior", text.Clip(q.ID))
		}
		kind, a, b, d.On = "uniform", q.Scale.on(d.Min), q.Scale.on(d.Max), q.Scale
	case "parameterScaleUniform", "parameterScaleNormal", "parameterScaleLaplace":
		d.On = q.Scale
	case "logNormal", "logLaplace":
		d.On = Log
	}
	if d.On != Lin || q.Scale != Lin {
		d.Min = max(d.Min, 0)
	}
	switch kind {
	case "uniform", "parameterScaleUniform":
		d.Of = distuv.Uniform{Min: a, Max: b}
	case "normal", "parameterScaleNormal", "logNormal":
		d.Of = distuv.Normal{Mu: a, Sigma: b}
	case "laplace", "parameterScaleLaplace", "logLaplace":
		d.Of = laplace{distuv.Laplace{Mu: a, Scale: b}}
	default:
		return d, fmt.Errorf("parameter %s: prior %s is not known", text.Clip(q.ID), text.Clip(kind))
	}
	if low, high := d.Quantile(0), d.Quantile(1); !(low < high) || !(d.mass() > 0) {
		return d, fmt.Errorf("parameter %s: nothing of its prior is between its bounds, %g and %g", text.Clip(q.ID), q.Lower, q.Upper)
	}
	return d, nil
}

// laplace has the quantiles of 0 and 1, which gonum's panics at or gets wrong
// by rounding.
type laplace struct{ distuv.Laplace }

func (l laplace) Quantile(p float64) float64 {
	switch p {
	case 0:
		return math.Inf(-1)
	case 1:
		return math.Inf(1)
	}
	return l.Laplace.Quantile(p)
}

func (d ScalePrior) mass() float64 { return d.Of.CDF(d.On.on(d.Max)) - d.Of.CDF(d.On.on(d.Min)) }

// LogProb returns the log density of the linear value x.
func (d ScalePrior) LogProb(x float64) float64 {
	if !(x >= d.Min && x <= d.Max) || d.On != Lin && !(x > 0) {
		return math.Inf(-1)
	}
	return d.Of.LogProb(d.On.on(x)) - math.Log(d.On.slope(x)) - math.Log(d.mass())
}

// Quantile returns the linear value below which the probability p lies.
func (d ScalePrior) Quantile(p float64) float64 {
	switch p {
	case 0:
		return max(d.Min, d.On.linear(d.Of.Quantile(0)))
	case 1:
		return min(d.Max, d.On.linear(d.Of.Quantile(1)))
	}
	a, b := d.Of.CDF(d.On.on(d.Min)), d.Of.CDF(d.On.on(d.Max))
	return min(max(d.On.linear(d.Of.Quantile(a+p*(b-a))), d.Min), d.Max)
}
