package bayes

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode"
)

// validate leaves to NewDensity what needs a solver. It returns the transforms of the
// supports of the priors.
func (p *Posterior) validate() ([]transform, error) {
	if p.Params == nil || len(p.Experiments) == 0 || p.Mesh == nil {
		return nil, errors.New("bayes: a Posterior needs Params, Experiments and a Mesh")
	}
	if p.Method != nil {
		if err := checkMethod(p.Method); err != nil {
			return nil, err
		}
	}
	if p.GridAt != nil && len(p.GridAt) != len(p.Params) {
		return nil, fmt.Errorf("bayes: GridAt has %d parameters: want %d", len(p.GridAt), len(p.Params))
	}
	v := validator{p: p}
	if err := v.params(); err != nil {
		return nil, err
	}
	if err := v.alpha(); err != nil {
		return nil, err
	}
	for i := range p.Experiments {
		x := &p.Experiments[i]
		if err := v.experiment(x); err != nil {
			return nil, fmt.Errorf("bayes: %s: %w", x.title(i), err)
		}
	}
	return v.supports, v.used()
}

type validator struct {
	p        *Posterior
	supports []transform // of the parameters
}

func (v *validator) params() error {
	for i, q := range v.p.Params {
		switch {
		case q.Name == "":
			return fmt.Errorf("bayes: parameter %d has no name", i+1)
		case v.p.index(q.Name) != i:
			return fmt.Errorf("bayes: two parameters are named %q", q.Name)
		case q.Prior == nil:
			return fmt.Errorf("bayes: parameter %q has no Prior", q.Name)
		}
		t, err := q.support()
		if err != nil {
			return err
		}
		v.supports = append(v.supports, t)
	}
	return nil
}

// used returns an error if a parameter is used by nothing, for example because its name is
// misspelt. Observe refers to parameters by index, so it may use each of them.
func (v *validator) used() error {
	if slices.ContainsFunc(v.p.Experiments, func(x Experiment) bool { return x.Observe != nil }) {
		return nil
	}
	named := v.p.named()
	for _, q := range v.p.Params {
		if !q.MayBeUnused && !named[q.Name] {
			return fmt.Errorf("bayes: parameter %q is not used: want one of the parameters of the equations (%s) or of the likelihoods", q.Name, strings.Join(v.p.problemParams(), ", "))
		}
	}
	return nil
}

func (v *validator) known(name string) error {
	if name == "" || v.p.index(name) >= 0 {
		return nil
	}
	return fmt.Errorf("no parameter %q: the model has %s", name, strings.Join(v.p.Names(), ", "))
}

func (v *validator) positive(name, what string) error {
	i := v.p.index(name)
	if name == "" || v.supports[i].lo >= 0 {
		return nil
	}
	low := fmt.Sprintf("%.4g", v.supports[i].lo)
	if math.IsInf(v.supports[i].lo, -1) {
		low = "−∞"
	}
	return fmt.Errorf("the prior of %q extends down to %s, but the parameter is %s: want one of positive numbers, such as one truncated at 0", name, low, what)
}

func (v *validator) alpha() error {
	p := v.p
	if err := v.known(p.AlphaParam); err != nil {
		return fmt.Errorf("bayes: AlphaParam: %w", err)
	}
	if err := v.positive(p.AlphaParam, "α, which cannot be negative"); err != nil {
		return fmt.Errorf("bayes: %w", err)
	}
	if !(p.Alpha >= 0) || math.IsInf(p.Alpha, 1) {
		return fmt.Errorf("bayes: Alpha is %g: want a finite number ≥ 0", p.Alpha)
	}
	return nil
}

func (v *validator) experiment(x *Experiment) error {
	if x.Problem == nil || x.Data == nil || len(x.Errors) == 0 {
		return errors.New("want Problem, Data and Errors")
	}
	if err := x.Data.validate(); err != nil {
		return err
	}
	if n := len(x.Problem.Theta); x.Params != nil && len(x.Params) != n {
		return fmt.Errorf("the length of Params is %d: want %d, one element for each parameter of %s", len(x.Params), n, x.Problem.Name)
	}
	for k := range x.Params {
		// A name in Params that belongs to no parameter of the model is a mistake.
		if name := x.Params[k]; name != x.Problem.ParamName(k) && name != "-" {
			if err := v.known(name); err != nil {
				return err
			}
		}
	}
	columns := x.Data.columns()
	if columns == 0 {
		return errors.New("data: the rows are empty: want a value for each column")
	}
	if n := len(x.Data.Names); n != 0 && n != columns {
		return fmt.Errorf("data: the number of names is %d and the number of columns is %d: want one name for each column, or no names", n, columns)
	}
	if n := len(x.Errors); n != 1 && n != columns {
		return fmt.Errorf("the length of Errors is %d and the number of columns is %d: want one element for each column, or a single element for all columns", n, columns)
	}
	for k := range columns {
		if err := v.column(x, k); err != nil {
			return fmt.Errorf("errors of column %d: %w", k+1, err)
		}
	}
	return nil
}

func (v *validator) column(x *Experiment, k int) error {
	of := x.errors(k)
	if err := law(of, x.Data.T); err != nil {
		return err
	}
	about, described := description(of)
	for i, own := range of.Own() {
		if v.p.columnOf(x, own) >= 0 {
			continue // a value that is not positive shows in the likelihood
		}
		if err := v.known(own.Name); err != nil {
			return err
		}
		if !described || about.Own[i].Any {
			continue
		}
		name := strings.TrimPrefix(fmt.Sprintf("%T", of), "bayes.")
		for _, at := range own.known(x.Data, k) {
			if !(at > 0) || math.IsInf(at, 1) {
				return fmt.Errorf("%s: %s is %g: want a finite number > 0", name, about.Own[i].Name, at)
			}
			if about.Own[i].Whole && at != math.Trunc(at) {
				return fmt.Errorf("%s: %s is %g: want a whole number", name, about.Own[i].Name, at)
			}
		}
		if err := v.positive(own.Name, fmt.Sprintf("%s of %s, which must be positive", about.Own[i].Name, name)); err != nil {
			return err
		}
	}
	if !described {
		return nil
	}
	// Try a small and a large value for the unknown parameters of the likelihood.
	numbers := make([]float64, len(about.Own))
	possible := func(t, y, m, unknown float64) bool {
		for i, own := range of.Own() {
			if numbers[i] = unknown; own.Name == "" {
				numbers[i] = own.at(t)
			}
		}
		return !math.IsInf(of.LogProb(y, m, numbers), -1)
	}
	for n, row := range x.Data.Y {
		t, y := x.Data.T[n], row[k]
		if many := 1 + 2*math.Abs(y); !math.IsNaN(y) && !possible(t, y, 1, 0.5) && !possible(t, y, y, 0.5) && !possible(t, y, 1, many) && !possible(t, y, y, many) {
			return fmt.Errorf("the value %g at t = %g is impossible under %T: want %s", y, t, of, about.Y)
		}
	}
	return nil
}

// law returns an error if `of`, or a distribution inside it, is nil or has wrong limits.
func law(of Likelihood, times []float64) error {
	switch of := of.(type) {
	case nil:
		return errors.New("the distribution is nil")
	case Censored:
		if of.Upper != nil && !(*of.Upper > of.Limit) {
			return fmt.Errorf("the limits are %g and %g: want an upper limit above the lower one", of.Limit, *of.Upper)
		}
		return law(of.Of, times)
	case Interval:
		if of.From.Name+of.To.Name != "" {
			return errors.New("a bound of the interval is a parameter or a column: want known numbers")
		}
		for _, t := range times {
			from, to := of.From.at(t), of.To.at(t)
			if known := math.IsNaN(from) && math.IsNaN(to); !known && !(from < to) {
				return fmt.Errorf("the interval at t = %g is [%g, %g]: want From < To", t, from, to)
			}
		}
		return law(of.Of, times)
	}
	return nil
}

// known returns the numbers for the data of column k that are not parameters.
func (v Value) known(data *Data, k int) (list []float64) {
	switch {
	case v.Name != "":
		return nil
	case v.At == nil:
		return []float64{v.Value}
	}
	for n, row := range data.Y {
		if !math.IsNaN(row[k]) {
			list = append(list, v.at(data.T[n]))
		}
	}
	return list
}

// checkMethod makes an error of the panic about an invalid field, because a user may have
// entered the method.
func checkMethod(m probode.Method) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("bayes: Method: %s", strings.TrimPrefix(fmt.Sprint(r), "probode: "))
		}
	}()
	_ = m.String()
	return nil
}
