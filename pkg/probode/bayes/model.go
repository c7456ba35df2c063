package bayes

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode"
)

// A Posterior is a model with its data: parameters θ with their priors, one or
// more experiments, and the method, step and noise scale that solve their
// equations. The parts refer to parameters by name.
type Posterior struct {
	// Params are the parameters θ, in the order in which draws hold them.
	Params []Param

	// Experiments are the data sets with the equations behind them. They
	// share the parameters whose names they share.
	Experiments []Experiment

	Method probode.Method

	// Step is h. Each experiment is solved with the largest step up to h
	// that divides its span.
	Step float64

	// Alpha is the noise scale α ≥ 0 of the solver: known, as calibrated by
	// CalibrateAlpha, or a parameter with a prior of its own.
	Alpha Value

	mode *Mode // of the deterministic posterior, if it has been found
}

// A Param is an unknown number with its prior.
type Param struct {
	Name  string
	Prior Distribution

	// Natural has proposals made on the parameter's own scale and rejected
	// outside of the support. As a rule it is false: a parameter with a
	// bounded support is moved on the scale of its logarithm or logit, where
	// there are no walls to run into. The law of the draws is the same.
	Natural bool
}

// A Value is a number that a part of the model needs: a known one, or the
// parameter with the given name.
type Value struct {
	Name  string // of a parameter; empty for a known number
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

	// Observe writes into dst what each column of the data should be at the
	// state x, for the parameters theta of the model in the order of
	// Posterior.Params. It must be a pure function. Nil stands for the
	// components of the state after which the columns are named, or for the
	// first ones if there is a column without a namesake.
	Observe func(dst, x, theta []float64)

	// Errors are the laws of the observations, one for each column of the
	// data, or one for all.
	Errors []Likelihood
}

func (x *Experiment) title(i int) string {
	if x.Name != "" {
		return fmt.Sprintf("experiment %q", x.Name)
	}
	return fmt.Sprintf("experiment %d", i+1)
}

// index returns the position of the parameter with the given name, −1 if there
// is none.
func (p *Posterior) index(name string) int {
	return slices.IndexFunc(p.Params, func(q Param) bool { return q.Name == name })
}

// errMissing is returned for a Posterior that lacks a part.
var errMissing = errors.New("bayes: want Params, Experiments and Method in a Posterior")

// validate reports the first thing that is wrong with the model, leaving to
// newEvaluator what needs a solver.
func (p *Posterior) validate() error {
	if len(p.Params) == 0 || len(p.Experiments) == 0 || p.Method == nil {
		return errMissing
	}
	if am, ok := p.Method.(probode.AdamsMoulton); ok && am.Exact != nil {
		return fmt.Errorf("bayes: %v: the exact law needs more randomness than ξ and does not depend on θ continuously: use the Gaussian law (Exact: nil) for inference", p.Method)
	}
	used := make([]bool, len(p.Params))
	use := func(what string, v Value) error {
		if v.Name == "" {
			return nil
		}
		i := p.index(v.Name)
		if i < 0 {
			return fmt.Errorf("bayes: %s: no parameter %q: the model has %s", what, v.Name, strings.Join(p.names(), ", "))
		}
		used[i] = true
		return nil
	}
	for i, q := range p.Params {
		switch {
		case q.Name == "":
			return fmt.Errorf("bayes: parameter %d has no name", i+1)
		case p.index(q.Name) != i:
			return fmt.Errorf("bayes: two parameters are named %q", q.Name)
		case q.Prior == nil:
			return fmt.Errorf("bayes: parameter %q has no Prior", q.Name)
		}
	}
	if err := use("Alpha", p.Alpha); err != nil {
		return err
	}
	if v := p.Alpha; v.Name == "" && (!(v.Value >= 0) || math.IsInf(v.Value, 1)) {
		return fmt.Errorf("bayes: Alpha is %g: want a finite number ≥ 0", v.Value)
	}
	for i := range p.Experiments {
		x := &p.Experiments[i]
		title := x.title(i)
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
			if j := p.index(x.param(k)); j >= 0 {
				used[j] = true
			} else if x.Params != nil && x.Params[k] != "" && x.Params[k] != x.Problem.ParamName(k) {
				// A name that was typed in and fits nothing is a mistake.
				return fmt.Errorf("bayes: %s: no parameter %q: the model has %s", title, x.Params[k], strings.Join(p.names(), ", "))
			}
		}
		columns := x.Data.columns()
		if n := len(x.Errors); n != 1 && n != columns {
			return fmt.Errorf("bayes: %s: %d Errors for %d columns of data: want one for each, or one for all", title, n, columns)
		}
		if x.Observe == nil && columns > x.Problem.Dim() {
			return fmt.Errorf("bayes: %s: the data has %d columns and the state %d components: say in Observe what is observed", title, columns, x.Problem.Dim())
		}
		for k := range columns {
			law := x.errors(k)
			for _, v := range law.Own() {
				if err := use(fmt.Sprintf("%s, errors of column %d", title, k+1), v); err != nil {
					return err
				}
			}
			c, ok := law.(checked)
			if !ok {
				continue
			}
			if err := c.check(); err != nil {
				return fmt.Errorf("bayes: %s, errors of column %d: %w", title, k+1, err)
			}
			for n, row := range x.Data.Y {
				if y := row[k]; !math.IsNaN(y) && math.IsInf(law.LogProb(y, 1, halves[:len(law.Own())]), -1) {
					return fmt.Errorf("bayes: %s: the value %g at t = %g, column %d, is impossible under %T: want %s", title, y, x.Data.T[n], k+1, law, c.support())
				}
			}
		}
		if x.Observe != nil {
			for k := range used {
				used[k] = true // for all that can be told
			}
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return fmt.Errorf("bayes: parameter %q is used by nothing: the equations have %s", p.Params[i].Name, strings.Join(p.problemParams(), ", "))
	}
	return nil
}

// halves are values that any law takes as its own parameters.
var halves = []float64{0.5, 0.5, 0.5, 0.5}

func (p *Posterior) names() []string {
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

func (x *Experiment) errors(column int) Likelihood {
	if len(x.Errors) == 1 {
		return x.Errors[0]
	}
	return x.Errors[column]
}

// describe returns what can be said of the model in words, as keys and values:
// enough to tell two runs apart. What functions do cannot be told.
func (p *Posterior) describe() [][2]string {
	law := func(v any) string {
		return strings.ReplaceAll(strings.TrimPrefix(fmt.Sprintf("%T%+v", v, v), "distuv."), " Src:<nil>", "")
	}
	out := [][2]string{
		{"method", p.Method.String()},
		{"step", fmt.Sprintf("%g", p.Step)},
		{"alpha", p.Alpha.String()},
	}
	for _, q := range p.Params {
		out = append(out, [2]string{"prior " + q.Name, law(q.Prior)})
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
		var laws []string
		for _, e := range x.Errors {
			laws = append(laws, law(e))
		}
		out = append(out,
			[2]string{key("model"), fmt.Sprintf("%s on [%g, %g]", x.Problem.Name, x.Problem.Span[0], x.Problem.Span[1])},
			[2]string{key("errors"), strings.Join(laws, ", ")},
			[2]string{key("data"), fmt.Sprintf("%d rows of %d, hash %016x", len(x.Data.T), x.Data.columns(), h.Sum64())})
	}
	return out
}
