package bayes

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/literal"
	"github.com/probode/probode/pkg/probode"
)

// A Model is the parameters θ with their priors, and the experiments whose data they
// explain. The parts refer to parameters by name.
type Model struct {
	// Params are the parameters θ, in the order in which draws hold them; an empty list
	// that is not nil is a model without unknowns.
	Params []Param

	// Experiments are the data sets with the equations behind them. They
	// share the parameters whose names they share.
	Experiments []Experiment
}

// A Posterior is a Model, the Setup that solves its equations, and what belongs to
// their inference. It is plain data: copy it and change a field to have another one.
type Posterior struct {
	Model
	probode.Setup

	// AlphaParam, if not empty, is the name of the parameter that is the noise scale
	// α, with a prior of its own; Setup.Alpha then has no meaning.
	AlphaParam string

	// GridAt is the θ at which the grids of a Frozen mesh are made and the local
	// errors of ScaleLocal are measured, in the order of Params: once, for all θ and
	// ξ. Nil stands for the nominal values of the problems.
	GridAt []float64

	// Modes, if not nil, are those of the deterministic posterior, as FindModes
	// returns them: chains start around them, and they are not looked for again.
	Modes *Modes
}

// SolvedBy returns p solved by s, with the method and the mesh of p where s has none. A
// zero α and a zero Scaling are those of s.
func (p *Posterior) SolvedBy(s probode.Setup) *Posterior {
	q := *p
	q.Setup = s.Or(p.Setup)
	return &q
}

// A Param is an unknown number with its prior.
type Param struct {
	Name  string
	Prior Distribution

	// Natural has proposals made on the parameter's own scale and rejected
	// outside of the support. As a rule it is false: a parameter with a
	// bounded support is moved on the scale of its logarithm or logit, where
	// there are no walls to run into. The distribution of the draws is the same.
	Natural bool
}

// A Value is a number that a part of the model needs: a known one, or the
// parameter with the given name. In a [Likelihood] the name can also be that of
// another column of the data: the number is then what Observe writes there, such
// as a standard deviation that depends on the state. A column for nothing else
// has no observations: all of its data are NaN.
type Value struct {
	Name  string // of a parameter or column; empty for a known number
	Value float64
}

// Known returns a Value that is known.
func Known(v float64) Value { return Value{Value: v} }

// Unknown returns the Value that is the parameter with the given name.
func Unknown(name string) Value { return Value{Name: name} }

func (v Value) String() string {
	if v.Name != "" {
		return v.Name
	}
	return fmt.Sprintf("%g", v.Value)
}

// An Experiment is a data set and the equation that is to explain it.
type Experiment struct {
	// Name appears in errors; it may be empty.
	Name string

	Problem *probode.Problem

	// Params are the names of the model's parameters that make up the θ of
	// Problem, in its order; nil stands for Problem.ParamName. An element
	// that no Param is named after is known: it stays at its value in
	// Problem.Theta. To have initial values among the parameters, see
	// probode.Problem.UnknownStart.
	Params []string

	// Data are the observations. Their times need not be on the solver's
	// grid: between its points the path is interpolated with an error below
	// the method's own, see probode.Interpolator. A value that is NaN is
	// missing from the likelihood, and predicted like the others.
	Data *Data

	// Observe writes into dst what each column of the data should be at time
	// t in the state x, for the parameters theta of the model in the order of
	// Posterior.Params. It must be a pure function. Nil stands for the
	// components of the state after which the columns are named. Columns
	// none of which is named after a state stand for the states in order,
	// one for each; columns or states without names for the first ones.
	Observe func(dst []float64, t float64, x, theta []float64)

	// ObserveSlopes, if not nil, writes the derivatives of Observe into dst, which is
	// zero on entry: a row for each column of the data, with the derivatives in the
	// components of x and behind them those in the elements of theta. Without it
	// derivatives take differences of Observe.
	ObserveSlopes func(dst []float64, t float64, x, theta []float64)

	// Errors are the distributions of the observations, one for each column of the
	// data, or one for all.
	Errors []Likelihood
}

// Observation returns Observe, or the function that stands for it if it is nil.
func (x *Experiment) Observation() (func(dst []float64, t float64, state, theta []float64), error) {
	if x.Observe != nil {
		return x.Observe, nil
	}
	pick, err := x.pick()
	if err != nil {
		return nil, err
	}
	return func(dst []float64, _ float64, state, _ []float64) {
		for k, i := range pick {
			dst[k] = state[i]
		}
	}, nil
}

// Title names the experiment, number i of its model, in messages.
func (x *Experiment) Title(i int) string {
	if x.Name != "" {
		return fmt.Sprintf("experiment %q", x.Name)
	}
	return fmt.Sprintf("experiment %d", i+1)
}

// Format writes out the parameters theta with their names.
func (p *Posterior) Format(theta []float64) string {
	out := ""
	for k, v := range theta {
		if k > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%s = %.4g", p.Params[k].Name, v)
	}
	return out
}

// index returns the position of the parameter with the given name, −1 if there
// is none.
func (p *Posterior) index(name string) int {
	return slices.IndexFunc(p.Params, func(q Param) bool { return q.Name == name })
}

// errMissing is returned for a Posterior that lacks a part.
var errMissing = errors.New("bayes: want Params, Experiments, Method and Mesh in a Posterior")

// validate reports the first thing that is wrong with the model, leaving to
// newDensity what needs a solver.
func (p *Posterior) validate() error {
	if p == nil {
		return errors.New("bayes: the Posterior is nil")
	}
	if p.Params == nil || len(p.Experiments) == 0 || p.Mesh == nil || p.Method == nil && p.NeedsMethod() {
		return errMissing
	}
	if p.Method != nil {
		if err := checkMethod(p.Method); err != nil {
			return err
		}
	}
	if p.GridAt != nil && len(p.GridAt) != len(p.Params) {
		return fmt.Errorf("bayes: GridAt has %d parameters: want %d", len(p.GridAt), len(p.Params))
	}
	use := func(what string, v Value) error {
		if v.Name == "" {
			return nil
		}
		if p.index(v.Name) < 0 {
			return fmt.Errorf("bayes: %s: no parameter %q: the model has %s", what, v.Name, strings.Join(p.Names(), ", "))
		}
		return nil
	}
	lows := make([]float64, len(p.Params)) // lower ends of the supports
	for i, q := range p.Params {
		switch {
		case q.Name == "":
			return fmt.Errorf("bayes: parameter %d has no name", i+1)
		case p.index(q.Name) != i:
			return fmt.Errorf("bayes: two parameters are named %q", q.Name)
		case q.Prior == nil:
			return fmt.Errorf("bayes: parameter %q has no Prior", q.Name)
		}
		t, err := q.support()
		if err != nil {
			return err
		}
		lows[i] = t.lo
	}
	// positive reports a parameter with values that its use has no room for.
	positive := func(v Value, what string) error {
		i := p.index(v.Name)
		if v.Name == "" || lows[i] >= 0 {
			return nil
		}
		low := fmt.Sprintf("%.4g", lows[i])
		if math.IsInf(lows[i], -1) {
			low = "−∞"
		}
		return fmt.Errorf("bayes: the prior of %q reaches down to %s: it is %s: use Positive, HalfNormal, Truncated or another distribution of positive numbers", v.Name, low, what)
	}
	alpha := Value{Name: p.AlphaParam}
	if err := use("AlphaParam", alpha); err != nil {
		return err
	}
	if err := positive(alpha, "α, which cannot be negative"); err != nil {
		return err
	}
	if !(p.Alpha >= 0) || math.IsInf(p.Alpha, 1) {
		return fmt.Errorf("bayes: Alpha is %g: want a finite number ≥ 0", p.Alpha)
	}
	for i := range p.Experiments {
		x := &p.Experiments[i]
		title := x.Title(i)
		if x.Problem == nil || x.Data == nil || len(x.Errors) == 0 {
			return fmt.Errorf("bayes: %s: want Problem, Data and Errors", title)
		}
		if err := x.Data.validate(); err != nil {
			return fmt.Errorf("bayes: %s: %w", title, err)
		}
		if n := len(x.Problem.Theta); x.Params != nil && len(x.Params) != n {
			return fmt.Errorf("bayes: %s: %d Params for the %d of %s", title, len(x.Params), n, x.Problem.Name)
		}
		for k := range x.Problem.Theta {
			if p.index(x.param(k)) < 0 && x.Params != nil && x.Params[k] != "" && x.Params[k] != x.Problem.ParamName(k) {
				// A name that was typed in and fits nothing is a mistake.
				return fmt.Errorf("bayes: %s: no parameter %q: the model has %s", title, x.Params[k], strings.Join(p.Names(), ", "))
			}
		}
		columns := x.Data.columns()
		if columns == 0 {
			return fmt.Errorf("bayes: %s: data: the rows are empty: want a value for each column", title)
		}
		if n := len(x.Data.Names); n != 0 && n != columns {
			return fmt.Errorf("bayes: %s: data: %d names for %d columns: want one for each, or none", title, n, columns)
		}
		if n := len(x.Errors); n != 1 && n != columns {
			return fmt.Errorf("bayes: %s: %d Errors for %d columns of data: want one for each, or one for all", title, n, columns)
		}
		if x.Observe == nil {
			if _, err := x.pick(); err != nil {
				return fmt.Errorf("bayes: %s: %w", title, err)
			}
		}
		for k := range columns {
			of := x.errors(k)
			if of == nil {
				return fmt.Errorf("bayes: %s: the distribution in Errors of column %d is nil", title, k+1)
			}
			about, described := description(of)
			for i, v := range of.Own() {
				if p.columnOf(x, v) >= 0 {
					continue // what is not positive there shows in the likelihood
				}
				if err := use(fmt.Sprintf("%s, errors of column %d", title, k+1), v); err != nil {
					return err
				}
				if !described {
					continue
				}
				name := strings.TrimPrefix(fmt.Sprintf("%T", of), "bayes.")
				if v.Name == "" && (!(v.Value > 0) || math.IsInf(v.Value, 1)) {
					return fmt.Errorf("bayes: %s, errors of column %d: %s: %s is %g: want a finite number > 0", title, k+1, name, about.Own[i].Name, v.Value)
				}
				if err := positive(v, fmt.Sprintf("%s of %s, which wants positive numbers", about.Own[i].Name, name)); err != nil {
					return err
				}
			}
			if !described {
				continue
			}
			for n, row := range x.Data.Y {
				possible := func(y, m float64) bool { return !math.IsInf(of.LogProb(y, m, halves[:len(about.Own)]), -1) }
				if y := row[k]; !math.IsNaN(y) && !possible(y, 1) && !possible(y, y) {
					return fmt.Errorf("bayes: %s: the value %g at t = %g, column %d, is impossible under %T: want %s", title, y, x.Data.T[n], k+1, of, about.Y)
				}
			}
		}
	}
	return nil
}

// checkMethod reports a method that cannot be, such as one of too many steps.
// What can be package probode knows; it takes such a method for a programmer's
// fault, but here it may well come from the user of a program.
func checkMethod(m probode.Method) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("bayes: Method: %s", strings.TrimPrefix(fmt.Sprint(r), "probode: "))
		}
	}()
	_ = m.String()
	return nil
}

// pick returns the component of the state that each column of the data is, for
// an experiment without Observe.
func (x *Experiment) pick() ([]int, error) {
	columns, d := x.Data.columns(), x.Problem.Dim()
	if columns > d {
		return nil, fmt.Errorf("the data has %d columns and the state %d components: say in Observe what is observed", columns, d)
	}
	inOrder, named := make([]int, columns), make([]int, columns)
	for k := range columns {
		inOrder[k] = k
	}
	if len(x.Data.Names) == 0 || len(x.Problem.States) == 0 {
		return inOrder, nil
	}
	stranger, namesakes := "", 0
	for k, name := range x.Data.Names {
		if named[k] = slices.Index(x.Problem.States, name); named[k] >= 0 {
			namesakes++
		} else if stranger == "" {
			stranger = name
		}
	}
	switch {
	case namesakes == columns:
		return named, nil
	case namesakes == 0 && columns == d:
		return inOrder, nil
	}
	// To take what comes first would fit infectious people to the susceptible.
	return nil, fmt.Errorf("the column %q of the data is none of the states %s: name it in Data.Names after the state that it is, or say in Observe what is observed", stranger, strings.Join(x.Problem.States, ", "))
}

// named reports whether the parameter with the given name is an element of some
// problem's θ, of a distribution of errors, or α.
func (p *Posterior) named(name string) bool {
	if p.AlphaParam == name || slices.Contains(p.problemParams(), name) {
		return true
	}
	for i := range p.Experiments {
		x := &p.Experiments[i]
		for k := range x.Data.columns() {
			if slices.ContainsFunc(x.errors(k).Own(), func(v Value) bool { return v.Name == name }) {
				return true
			}
		}
	}
	return false
}

// Held says in words which elements of the problems' θ are no parameters of the
// model, and so stay at their nominal values; "" if all are.
func (p *Posterior) Held() string {
	var all []string
	for i := range p.Experiments {
		x := &p.Experiments[i]
		where := ""
		if len(p.Experiments) > 1 {
			where = fmt.Sprintf(" (%s)", x.Title(i))
		}
		for k, v := range x.Problem.Theta {
			if p.index(x.param(k)) < 0 {
				all = append(all, fmt.Sprintf("%s = %g%s", x.Problem.ParamName(k), v, where))
			}
		}
	}
	if all == nil {
		return ""
	}
	return "held at their nominal values: " + strings.Join(all, ", ")
}

// halves are values that any distribution takes as its own parameters.
var halves = []float64{0.5, 0.5, 0.5, 0.5}

// valueText writes out a prior or a likelihood.
func valueText(v any) string {
	return strings.ReplaceAll(strings.TrimPrefix(literal.Of(v), "distuv."), ", Src: nil", "")
}

// Names returns the names of the parameters.
func (p *Posterior) Names() []string {
	var names []string
	for _, q := range p.Params {
		names = append(names, q.Name)
	}
	return names
}

func (p *Posterior) problemParams() []string {
	var names []string
	for i := range p.Experiments {
		x := &p.Experiments[i]
		for k := range x.Problem.Theta {
			if n := x.param(k); !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// param returns the name of the model's parameter that is element k of the
// problem's θ.
func (x *Experiment) param(k int) string {
	if x.Params != nil {
		return x.Params[k]
	}
	return x.Problem.ParamName(k)
}

// alpha is the noise scale: known, or a parameter.
func (p *Posterior) alpha() Value {
	if p.AlphaParam != "" {
		return Unknown(p.AlphaParam)
	}
	return Known(p.Alpha)
}

// step says in words how the steps are chosen; equal ones by their size alone.
func (p *Posterior) step() string {
	if h, ok := p.Mesh.(probode.Uniform); ok {
		return fmt.Sprintf("%g", float64(h))
	}
	return p.Mesh.String()
}

// Describe returns what can be said of the model in words, as keys and values:
// enough to tell two runs apart. What functions do cannot be told.
func (p *Posterior) Describe() [][2]string {
	out := [][2]string{
		{"method", p.Method.String()},
		{"step", p.step()},
		{"alpha", p.alpha().String()},
	}
	if p.Scaling != probode.ScaleDefault {
		out = append(out, [2]string{"noise", p.Scaling.String()})
	}
	for _, q := range p.Params {
		out = append(out, [2]string{"prior " + q.Name, valueText(q.Prior)})
	}
	for i := range p.Experiments {
		x := &p.Experiments[i]
		h := fnv.New64a()
		for n, t := range x.Data.T {
			fmt.Fprint(h, t, x.Data.Y[n])
		}
		key := func(what string) string {
			if len(p.Experiments) == 1 {
				return what
			}
			return fmt.Sprintf("%s %d", what, i+1)
		}
		var errors []string
		for _, e := range x.Errors {
			errors = append(errors, valueText(e))
		}
		out = append(out,
			[2]string{key("model"), fmt.Sprintf("%s on [%g, %g]", x.Problem.Name, x.Problem.Span[0], x.Problem.Span[1])},
			[2]string{key("errors"), strings.Join(errors, ", ")},
			[2]string{key("data"), fmt.Sprintf("%d rows of %d, hash %016x", len(x.Data.T), x.Data.columns(), h.Sum64())})
	}
	return out
}
