package bayes

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/literal"
	"github.com/probode/probode/pkg/probode"
)

// A Model consists of the parameters θ with their priors, and of the experiments whose
// data are used to infer θ. The fields of the model refer to parameters by name.
type Model struct {
	// Params are the parameters θ, in the same order as in the draws. For a model without
	// unknown parameters, Params must be empty but not nil.
	Params []Param

	// Experiments are the data sets, each with the differential equation that models it.
	// Two experiments that use the same parameter name share that parameter.
	Experiments []Experiment
}

// A Posterior consists of a Model, the Setup that solves its equations, and the settings
// of the inference. To obtain a different Posterior, copy the Posterior and change a
// field of the copy.
type Posterior struct {
	Model
	probode.Setup

	// AlphaParam, if not empty, is the name of the parameter that is used as the noise
	// scale α. If AlphaParam is set, Setup.Alpha is ignored.
	AlphaParam string

	// GridAt is the θ at which a Frozen mesh chooses the grids. ScaleLocal uses local
	// errors measured at GridAt. The elements of GridAt are in the order of Params. The
	// same grids and local errors are used for all θ and ξ. If GridAt is nil, the nominal
	// values of the problems are used.
	GridAt []float64

	// Integral, if not nil, replaces the likelihood of the path.
	Integral Integral

	// Modes are the modes of the deterministic posterior, found by modes.Find. If Modes
	// is not nil, the chains start near the given modes, and no new search is made.
	Modes *Modes
}

// SolvedBy returns a copy of p that uses the Setup s. If s has no method or no mesh, the
// method or mesh of p is used. Alpha and Scaling always come from s, even if they are
// zero.
func (p *Posterior) SolvedBy(s probode.Setup) *Posterior {
	q := *p
	q.Setup = s.Or(p.Setup)
	return &q
}

// A Param is an unknown number with its prior.
type Param struct {
	Name  string
	Prior Distribution

	// If Natural is true, proposals are made on the parameter's own scale, and proposals
	// outside the support are rejected. If Natural is false, which is the default, a
	// parameter with bounds is transformed to an unconstrained scale. With one bound, the
	// transformed value is the logarithm of the distance from the bound. With two bounds,
	// the transformed value is the logit of the relative position between the bounds. If
	// both bounds are positive, the relative position may be measured on a logarithmic
	// scale. The program uses the scale, natural or logarithmic, on which the median of
	// the prior is nearer to the middle of the range. The choice of scale does not change
	// the distribution of the draws.
	Natural bool

	// If MayBeUnused is true, it is no error if nothing depends on the parameter. The
	// posterior of such a parameter is its prior. In a model with an Observe every
	// parameter may be unused, because Observe refers to parameters by index.
	MayBeUnused bool
}

// An Experiment is a data set with the differential equation that models it.
type Experiment struct {
	// Name is used in error messages; it may be empty.
	Name string

	Problem *probode.Problem

	// Params[k] is the name of element k of Problem.Theta. If the model has a parameter
	// with the name Params[k], element k has the value of that parameter. Otherwise
	// element k keeps its known value from Problem.Theta. If Params is nil,
	// Problem.ParamName gives the names. The name "-" marks an element that has no effect
	// on the solution. To infer initial values, see probode.Problem.UnknownStart.
	Params []string

	// Data are the observations. The observation times need not be grid points. Between
	// grid points the path is interpolated, and the interpolation error is smaller than
	// the error of the method (see probode.Interpolator). NaN marks a missing value.
	// Missing values do not contribute to the likelihood. Predict returns draws of the
	// missing values, too.
	Data *Data

	// Observe computes the expected value of each column of the data, and writes it to
	// dst. The arguments of Observe are the time t, the state x, and the parameters theta
	// of the model in the order of Posterior.Params. Observe must be a pure function. If
	// Observe is nil, each column contains observations of the state component with the
	// same name. If no column has the name of a component, there must be as many columns
	// as components, and column k contains observations of component k. If the columns or
	// the components have no names, column k contains observations of component k, and
	// there may be fewer columns than components.
	Observe func(dst []float64, t float64, x, theta []float64)

	// ObserveSlopes, if not nil, writes the derivatives of Observe to dst. All elements
	// of dst are zero before the call. Row k holds the derivatives of column k with
	// respect to the components of x, followed by those with respect to theta. If
	// ObserveSlopes is nil, the derivatives are computed by finite differences of
	// Observe.
	ObserveSlopes func(dst []float64, t float64, x, theta []float64)

	// Errors holds the distributions of the observations given their expected values.
	// There is one distribution for each column of the data, or a single one for all
	// columns.
	Errors []Likelihood
}

func (x *Experiment) title(i int) string {
	if x.Name != "" {
		return fmt.Sprintf("experiment %q", x.Name)
	}
	return fmt.Sprintf("experiment %d", i+1)
}

func (x *Experiment) errors(column int) Likelihood {
	if len(x.Errors) == 1 {
		return x.Errors[0]
	}
	return x.Errors[column]
}

// Format returns the parameters theta as text, each with its name.
func (p *Posterior) Format(theta []float64) string {
	var all []string
	for k, v := range theta {
		all = append(all, fmt.Sprintf("%s = %.4g", p.Params[k].Name, v))
	}
	return strings.Join(all, ", ")
}

func (p *Posterior) index(name string) int {
	return slices.IndexFunc(p.Params, func(q Param) bool { return q.Name == name })
}

func (x *Experiment) pick() ([]int, error) {
	columns, d := x.Data.columns(), x.Problem.Dim()
	if columns > d {
		return nil, fmt.Errorf("the data have %d columns and the state has %d components: set Observe to a function that computes the observed quantities", columns, d)
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
	// The program does not guess which state belongs to which column. A wrong guess
	// could, for example, pair the observed number of infected people with the computed
	// number of susceptible people.
	return nil, fmt.Errorf("the column %q of the data is none of the states %s: use the name of a state in Data.Names, or set Observe to a function that computes the observed quantities", stranger, strings.Join(x.Problem.States, ", "))
}

func (p *Posterior) named() map[string]bool {
	names := map[string]bool{p.AlphaParam: true}
	for _, name := range p.problemParams() {
		names[name] = true
	}
	for i := range p.Experiments {
		x := &p.Experiments[i]
		for k := range x.Data.columns() {
			for _, v := range x.errors(k).Own() {
				names[v.Name] = true
			}
		}
	}
	return names
}

// Held lists the elements of θ that are not parameters of the model, with their values.
// Elements that are not parameters are fixed at their nominal values. If all elements of
// θ are parameters of the model, Held returns "".
func (p *Posterior) Held() string {
	var all []string
	where := map[string][]string{} // the experiments in which an element has its value
	for i := range p.Experiments {
		x := &p.Experiments[i]
		for k, v := range x.Problem.Theta {
			if name := x.param(k); name == "-" || p.index(name) >= 0 {
				continue
			}
			text := fmt.Sprintf("%s = %g", x.Problem.ParamName(k), v)
			if where[text] == nil {
				all = append(all, text)
			}
			where[text] = append(where[text], x.title(i))
		}
	}
	if all == nil {
		return ""
	}
	for i, text := range all {
		if in := where[text]; len(in) < len(p.Experiments) {
			all[i] = fmt.Sprintf("%s (%s)", text, strings.Join(in, ", "))
		}
	}
	return "held at their nominal values: " + strings.Join(all, ", ")
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
	known := map[string]bool{}
	for i := range p.Experiments {
		x := &p.Experiments[i]
		for k := range x.Problem.Theta {
			if n := x.param(k); !known[n] {
				known[n], names = true, append(names, n)
			}
		}
	}
	return names
}

func (x *Experiment) param(k int) string {
	if x.Params != nil {
		return x.Params[k]
	}
	return x.Problem.ParamName(k)
}

// Describe returns a description of the model as key–value pairs. If two runs have
// different descriptions, their models are different. Two models with the same
// description can differ in their functions, such as Problem.F.
func (p *Posterior) Describe() [][2]string {
	step := p.Mesh.String()
	if h, ok := p.Mesh.(probode.Uniform); ok {
		step = fmt.Sprintf("%g", float64(h))
	}
	var out [][2]string
	if p.Method != nil {
		out = append(out, [2]string{"method", p.Method.String()})
	}
	out = append(out, [2]string{"step", step}, [2]string{"alpha", Value{Name: p.AlphaParam, Value: p.Alpha}.String()})
	if p.Scaling != probode.ScaleDefault {
		out = append(out, [2]string{"noise", p.Scaling.String()})
	}
	if p.Integral != nil {
		out = append(out, [2]string{"likelihood", p.Integral.String()})
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
			errors = append(errors, literal.NonZero(e))
		}
		out = append(out,
			[2]string{key("model"), fmt.Sprintf("%s on [%g, %g]", x.Problem.Name, x.Problem.Span[0], x.Problem.Span[1])},
			[2]string{key("errors"), strings.Join(errors, ", ")},
			[2]string{key("data"), fmt.Sprintf("%d rows of %d, hash %016x", len(x.Data.T), x.Data.columns(), h.Sum64())})
	}
	return out
}

// at returns the θ of the grid of Frozen.
func (p *Posterior) at(x *Experiment) []float64 {
	theta := slices.Clone(x.Problem.Theta)
	for k := range theta {
		if i := p.index(x.param(k)); i >= 0 && p.GridAt != nil {
			theta[k] = p.GridAt[i]
		}
	}
	return theta
}
