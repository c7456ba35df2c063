package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// Observables returns a function at(), which computes the observed quantities of an
// experiment of p from time, state, and θ. The vector θ is the same as in the problem
// that the method ODE returns. at writes one value to dst for each element of `names`. A
// formula that occurs in several rows of data is computed only once. The function
// allocates no memory, and any number of goroutines may call it at the same time. Each
// name is the ID of an observable. If the rows of an observable have different
// parameters, the observable has several formulas: the second formula is named ID_2, the
// third ID_3, and so on. Only the rows of the data give values for placeholders, such as
// observableParameter1_id. Observables without data in the experiment follow those with
// data, except for those whose formulas contain placeholders. If the model has no
// observables, at() computes its assignments.
func (p *File) Observables(e *Instance) (names []string, at func(dst []float64, t float64, x, theta []float64), err error) {
	formulas := []*expr.Node{}
	count := map[string]int{}
	add := func(id string, n *expr.Node) {
		if count[id]++; count[id] > 1 {
			id = fmt.Sprintf("%s_%d", id, count[id])
		}
		names, formulas = append(names, id), append(formulas, n)
	}
	for i := range e.rows {
		r := &e.rows[i]
		if !slices.ContainsFunc(formulas, r.formula.Equal) || count[r.id] == 0 {
			add(r.id, r.formula)
		}
	}
	if err := p.unmeasured(e, count, add); err != nil {
		return nil, nil, err
	}
	inputs := append(append([]string{expr.Time}, e.states...), p.paramNames()...)
	f, n := newProgram(inputs, formulas), len(p.Params)
	return names, func(dst []float64, t float64, x, theta []float64) { f.eval(dst, t, x, theta[:n]) }, nil
}

// unmeasured calls add with the formula of each observable that has neither data nor
// placeholders. It makes a measurement of each, because only formulas of measurements are
// lowered.
func (p *File) unmeasured(e *Instance, measured map[string]int, add func(id string, n *expr.Node)) (err error) {
	defer source.Catch(&err)
	m := *e.model
	m.Data, m.observables = nil, slices.Clone(m.observables)
	if len(m.observables) == 0 {
		for _, a := range m.Assignments {
			m.observables = append(m.observables, observable{id: a.ID, formula: expr.Sym(a.ID), where: a.Where})
		}
	}
	for i := range m.observables {
		o := &m.observables[i]
		o.increase = false // there is no previous measurement
		if measured[o.id] == 0 && !slices.ContainsFunc(o.symbols(), func(s string) bool { return isPlaceholder(s, o.id) }) {
			m.Data = append(m.Data, Observation{Observable: o.id, Condition: e.Condition, Time: math.SmallestNonzeroFloat64, Value: 1, where: o.where})
		}
	}
	if len(m.Data) == 0 {
		return nil
	}
	for _, r := range m.experiments(p.Params)[0].rows {
		add(r.id, r.formula)
	}
	return nil
}
