package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// Posterior returns the posterior of p: the estimated parameters with their priors, and
// an experiment for each condition that has data. In the posterior all parameters are on
// the linear scale, even if their Scale is logarithmic. The log-likelihood of the
// posterior is defined as in LogLikelihood.
//
// A prior is truncated at the bounds of its parameter. As in PEtab, a parameter for which
// the file gives no prior has a uniform prior between its bounds, on the scale of the
// parameter.
//
// The Setup of the posterior is catalog.Default(), without solver noise. To see the effect
// of another solver, change Method, Mesh and Alpha.
//
// Observe computes an additional column for each noise formula that is neither a number
// nor a parameter, such as 0.1 + 0.05 x. All data in an additional column are NaN.
// Measurements at a steady state form a separate experiment, which begins in that state.
// All steady states, including those of preequilibration, are computed by an accurate
// solver, so they contain neither the error nor the noise of Method.
//
// It is an error if no parameter is estimated, or if there are no data. It is also an
// error if an estimated parameter has neither a prior nor bounds, or if another parameter
// that the model uses has no nominal value. In GridAt, an estimated parameter without a
// nominal value has the median of its prior.
func (p *File) Posterior() (*bayes.Posterior, error) {
	theta := p.Nominal()
	b := &bayes.Posterior{Setup: catalog.Default()}
	for _, i := range p.estimated() {
		prior, err := newScalePrior(&p.Params[i])
		if err != nil {
			return nil, err
		}
		if math.IsNaN(theta[i]) {
			theta[i] = prior.Quantile(0.5)
		}
		b.Params = append(b.Params, bayes.Param{Name: p.Params[i].ID, Prior: prior.plain()})
		b.GridAt = append(b.GridAt, theta[i])
	}
	if err := p.complete(theta); err != nil {
		return nil, err
	}
	list, err := p.Instances()
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		c, err := p.compile(e)
		if err != nil {
			return nil, err
		}
		x, _ := p.observed(c, theta, p.estimated(), false)
		b.Experiments = append(b.Experiments, x...)
	}
	switch {
	case len(b.Params) == 0:
		return nil, fmt.Errorf("%s: no parameter is estimated", text.Clip(p.Name))
	case len(b.Experiments) == 0:
		return nil, fmt.Errorf("%s has no measurements: a posterior requires data", text.Clip(p.Name))
	}
	return b, nil
}

func (p *File) estimated() (list []int) {
	for i, q := range p.Params {
		if q.Estimate {
			list = append(list, i)
		}
	}
	return list
}

// Point converts theta to a point of the posterior. A point consists of the values of the
// estimated parameters. As in LogLikelihood.At, theta contains the values of all
// parameters on the linear scale. Many published optima lie on the edge of the support of
// a prior. Many samplers work on an unbounded scale, on which the edge of the support is
// infinitely far away. If the support has a finite width, a value on the edge or outside
// the support is moved inside. The distance of a moved value from the edge is 10⁻⁹ times
// the width of the support. If the lower edge of the support is positive, distances are
// measured on the scale of the parameter; otherwise they are measured on the linear
// scale.
func (p *File) Point(theta []float64) ([]float64, error) { return p.inside(theta, 0, 1e-9) }

// Start converts theta to a point of the posterior at which a search can begin. If the
// distance between a value and an edge of the support is less than one percent of the
// width of the support, Start increases this distance to one percent. On an unbounded
// scale, the density is almost constant near the edge of the support, so a search that
// begins near the edge may make no progress.
func (p *File) Start(theta []float64) ([]float64, error) { return p.inside(theta, 0.01, 0.01) }

// inside returns the estimated elements of theta. A value outside a support of finite
// width, or nearer than `near` to an edge of it, is moved to the distance `edge`; both
// are fractions of the width.
func (p *File) inside(theta []float64, near, edge float64) ([]float64, error) {
	if len(theta) != len(p.Params) {
		return nil, fmt.Errorf("found %d values: want %d, one for each parameter", len(theta), len(p.Params))
	}
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
		low, high := on.of(from), on.of(to)
		if w := high - low; !math.IsInf(w, 0) {
			switch at := on.of(max(v, from)); {
			case at <= low+near*w:
				v = on.linear(low + edge*w)
			case at >= high-near*w:
				v = on.linear(high - edge*w)
			}
		}
		point = append(point, v)
	}
	return point, nil
}

// A place has the index of the expected value of a row in the list of all experiments,
// and the sources of the parameters of its distribution.
type place struct {
	at  int           // position of its expected value
	own []paramSource // parameters of its distribution
}

// A paramSource is a known constant or one of the expected values.
type paramSource struct {
	value float64
	at    int // position among the expected values; −1 if the value is known
}

// observed converts an experiment: data at finite times, then those at the steady state,
// each if there are any. The parameters in `free` are unknown, and the others have their
// values in theta. With `likelihood`, each unknown parameter of a distribution has a
// column with its value, and Params names only parameters on which the states depend.
func (p *File) observed(c *compiledInstance, theta []float64, free []int, likelihood bool) (list []bayes.Experiment, places []place) {
	// Rows are sorted by time. The time of a steady state is +Inf, so rows at the steady
	// state are last.
	rows := c.e.rows
	n := len(rows)
	for n > 0 && math.IsInf(rows[n-1].time, 1) {
		n--
	}
	first := 0
	for _, part := range []struct {
		rows []row
		ode  *probode.Problem
	}{{rows[:n], c.ode}, {rows[n:], c.end.atRest(c.ode.Span[1] - c.ode.Span[0])}} {
		if len(part.rows) == 0 {
			continue
		}
		q := *part.ode
		q.Theta = theta
		w := &writer{e: c.e, separate: likelihood, x: bayes.Experiment{Name: c.e.Condition, Problem: &q, Data: &bayes.Data{}}, known: map[string]*expr.Node{}}
		// The name "-" means that the states do not depend on the parameter. If the
		// condition replaces a parameter with a number or another parameter, the states
		// do not depend on the replaced parameter.
		w.x.Params = make([]string, len(p.Params))
		for i, v := range p.Params {
			moves, unknown := slices.Contains(c.moves, i), slices.Contains(free, i)
			switch {
			case moves && unknown || !likelihood && (moves || unknown):
				w.x.Params[i] = v.ID
			case !moves:
				w.x.Params[i] = "-"
			}
		}
		for i, v := range p.Params {
			if !slices.Contains(free, i) {
				w.known[v.ID] = expr.Num(theta[i])
				continue
			}
			w.params = append(w.params, v.ID)
		}
		placed := w.rows(part.rows)
		for k := range placed {
			placed[k].at += first
			for i := range placed[k].own {
				if o := &placed[k].own[i]; o.at >= 0 {
					o.at += first
				}
			}
		}
		w.observe()
		list, places = append(list, w.x), append(places, placed...)
		first += len(w.x.Data.T) * len(w.columns)
	}
	return list, places
}

type writer struct {
	e        *Instance
	separate bool
	known    map[string]*expr.Node // values of the parameters that are not free
	params   []string              // the free parameters
	columns  []column
	x        bayes.Experiment
}

// A column is shared by measurements with the same formula and noise, or holds a
// parameter of a distribution.
type column struct {
	row     *row // nil for a parameter
	formula *expr.Node
}

// like reports whether c has the formula and the noise of r.
func (c *column) like(r *row) bool {
	return c.row != nil && c.row.id == r.id && slices.EqualFunc(c.row.formulas(), r.formulas(), (*expr.Node).Equal)
}

func (w *writer) add(name string, c column, errors bayes.Likelihood) {
	w.columns, w.x.Errors = append(w.columns, c), append(w.x.Errors, errors)
	w.x.Data.Names = append(w.x.Data.Names, name)
	for k := range w.x.Data.Y {
		w.x.Data.Y[k] = append(w.x.Data.Y[k], math.NaN())
	}
}

// rows gives each of several rows at one time with the same formula a column of its own.
func (w *writer) rows(rows []row) []place {
	data := w.x.Data
	at := make([][2]int, len(rows)) // indices of the time and of the column
	for i := range rows {
		r := &rows[i]
		t := r.time
		if math.IsInf(t, 1) {
			t = w.x.Problem.Span[0] // the problem is at rest there
		}
		n := len(data.T)
		if n == 0 || t > data.T[n-1] {
			data.T, data.Y = append(data.T, t), append(data.Y, nanRow(len(w.columns)))
			n++
		}
		k := -1
		for j, c := range w.columns {
			if math.IsNaN(data.Y[n-1][j]) && c.like(r) {
				k = j
				break
			}
		}
		if k < 0 {
			k = w.column(r)
		}
		at[i] = [2]int{n - 1, k}
		data.Y[n-1][k] = r.value
	}
	places := make([]place, len(rows))
	for i, a := range at {
		row := a[0] * len(w.columns)
		places[i].at = row + a[1]
		for _, v := range w.x.Errors[a[1]].Own() {
			o := paramSource{value: v.Value, at: -1}
			if k := slices.Index(data.Names, v.Name); v.Name != "" && k >= 0 {
				o.at = row + k
			}
			places[i].own = append(places[i].own, o)
		}
	}
	for i, a := range at {
		if in := rows[i].within; in != nil {
			of, ok := w.x.Errors[a[1]].(bayes.Interval)
			if !ok {
				of = bayes.Interval{Of: w.x.Errors[a[1]].(bayes.Cumulative), From: bayes.Value{At: map[float64]float64{}}, To: bayes.Value{At: map[float64]float64{}}}
				w.x.Errors[a[1]] = of
			}
			t := data.T[a[0]]
			of.From.At[t], of.To.At[t] = in[0], in[1]
		}
	}
	return places
}

// column also adds columns for the parameters of the distribution (see errors). Columns
// with the same formula and noise have the same name and the same distribution.
func (w *writer) column(r *row) int {
	k, different := len(w.columns), map[string]bool{}
	for j, c := range w.columns {
		name := w.x.Data.Names[j]
		if c.like(r) {
			w.add(name, c, w.x.Errors[j])
			return k
		}
		if c.row != nil && c.row.id == r.id {
			different[name] = true
		}
	}
	name := r.id
	if n := len(different); n > 0 {
		name = fmt.Sprintf("%s_%d", name, n+1)
	}
	errors, names, formulas := w.errors(r, name)
	w.add(name, column{r, r.formula}, errors)
	for i, number := range names {
		w.add(number, column{nil, formulas[i]}, noNoise{})
	}
	return k
}

func (w *writer) observe() {
	inputs := append(append([]string{expr.Time}, w.e.states...), w.params...)
	formulas := make([]*expr.Node, len(w.columns))
	for i, c := range w.columns {
		formulas[i] = c.formula.Substitute(w.known).Simplify()
	}
	f := newProgram(inputs, formulas)
	// The argument `theta` may have one more element after the parameters: the noise scale
	// of the solver.
	n, d := len(w.params), len(w.e.states)
	slopes := derivatives(inputs, formulas, inputs[1:])
	w.x.Observe = func(dst []float64, t float64, x, theta []float64) { f.eval(dst, t, x, theta) }
	w.x.ObserveSlopes = func(dst []float64, t float64, x, theta []float64) {
		if len(theta) == n {
			slopes().eval(nil, dst, t, x, theta)
			return
		}
		own, wide := make([]float64, len(formulas)*(d+n)), d+len(theta)
		slopes().eval(nil, own, t, x, theta)
		for k := range formulas {
			copy(dst[k*wide:], own[k*(d+n):(k+1)*(d+n)])
		}
	}
}

// noNoise is the distribution of a column without measurements; a draw is the expected
// value.
type noNoise struct{}

func (noNoise) Own() []bayes.Value                                { return nil }
func (noNoise) LogProb(_, _ float64, _ []float64) float64         { return math.NaN() }
func (noNoise) Rand(m float64, _ []float64, _ *rand.Rand) float64 { return m }

// If a column holds the noise of another column, its name begins with noiseOf. If a
// column holds the degrees of freedom, its name begins with freedomOf.
const (
	noiseOf   = "noise of "
	freedomOf = "degrees of freedom of "
)

// errors returns the distribution in a row, and the columns that its parameters need:
// none if known, and one for a parameter of the model only if w.separate is true.
func (w *writer) errors(r *row, name string) (of bayes.Likelihood, columns []string, formulas []*expr.Node) {
	number := func(n *expr.Node, column string) bayes.Value {
		n = n.Substitute(w.known).Simplify()
		if v, ok := n.Const(); ok {
			return bayes.Known(v)
		}
		if s, ok := n.Symbol(); ok && !w.separate && slices.Contains(w.params, s) {
			return bayes.Unknown(s)
		}
		columns, formulas = append(columns, column), append(formulas, n)
		return bayes.Unknown(column)
	}
	var own []bayes.Value
	if r.freedom != nil {
		own = append(own, number(r.freedom, freedomOf+name))
	}
	if r.noise != nil {
		own = append(own, number(r.noise, noiseOf+name))
	}
	return r.likelihood(own), columns, formulas
}
