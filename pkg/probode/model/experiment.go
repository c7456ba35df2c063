package model

import (
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// An Instance, called an experiment for short, is a model under one condition. If the
// data require it, the model is first preequilibrated under another condition.
//
// The expressions of an Instance may contain the time ([expr.Time]), the IDs of the
// states of the system, and the IDs of the parameters of the file.
type Instance struct {
	model            *Model
	Condition        string
	preequilibration string // "" if there is none

	// If pre is not nil, the system pre runs from its initial values to its steady state
	// before the other system starts. The system pre does not depend on time and has no
	// events. Instances with the same preequilibration share one pointer.
	pre *system
	system
	hybrid *system // see branches; nil if it would equal system
	rows   []row   // sorted by time; rows at the same time are in the order of the file
}

// A system is the initial value problem of a model under one condition. The system starts
// at the start time of the model.
type system struct {
	states []string

	// The field initial contains formulas for the values at the start. After
	// preequilibration, a state in these formulas stands for its value in the steady
	// state.
	initial []*expr.Node
	rates   []*expr.Node
	events  []equations.Event // Time contains parameters only, Jumps also time and states

	// The field switches holds the times, as formulas of parameters, at which a condition
	// in the right-hand sides changes; no step should cross such a time.
	switches []*expr.Node
}

// A row is a measurement with its own formulas.
type row struct {
	observable string
	time       float64 // +Inf: at the steady state
	value      float64

	// The fields formula, noise, freedom and limit have the same meaning as in the type
	// observable, but contain only the time, states and parameters.
	formula, noise, freedom *expr.Node
	limit                   *expr.Node
	scale                   Scale
	distribution            noiseDistribution

	index int // index of the measurement in the data of the model
}

// Instances returns the models of p for every pair of preequilibration and condition in
// the data, in the order in which the pairs first appear. For a model without data it
// returns one Instance for each condition; for a model with neither data nor conditions,
// it returns one Instance whose Condition is "".
func (p *File) Instances() (list []*Instance, err error) {
	defer source.Catch(&err)
	params := map[string]bool{}
	for _, q := range p.Params {
		params[q.ID] = true
	}
	for _, m := range p.Models {
		list = append(list, m.experiments(params)...)
	}
	return list, nil
}

func (m *Model) experiments(params map[string]bool) []*Instance {
	type pair struct{ pre, cond string }
	var order []pair
	rows := map[pair][]int{}
	for i := range m.Data {
		d := &m.Data[i]
		k := pair{d.Preequilibration, d.Condition}
		if _, ok := rows[k]; !ok {
			order = append(order, k)
		}
		rows[k] = append(rows[k], i)
	}
	if len(m.Data) == 0 {
		for _, c := range m.conditions {
			order = append(order, pair{"", c.id})
		}
		if len(order) == 0 {
			order = append(order, pair{})
		}
	}
	ix := m.newIndex(params)
	systems := map[string]*lowering{}
	var list []*Instance
	for _, k := range order {
		e := &Instance{model: m, Condition: k.cond, preequilibration: k.pre}
		var l *lowering
		if k.pre == "" {
			if l = systems[k.cond]; l == nil {
				l = ix.lower(m.condition(k.cond), nil)
				systems[k.cond] = l
			}
		} else {
			pre := systems[k.pre]
			if pre == nil {
				pre = ix.lower(m.condition(k.pre), nil)
				systems[k.pre] = pre
			}
			pre.steady(k.pre)
			pre.autonomous(k.pre)
			e.pre = &pre.system
			l = ix.lower(m.condition(k.cond), m.condition(k.pre))
		}
		e.system = l.system
		for _, i := range rows[k] {
			e.rows = append(e.rows, l.row(i))
			if math.IsInf(m.Data[i].Time, 1) {
				l.steady(k.cond)
				l.timeless(e.rows[len(e.rows)-1], &m.Data[i])
			}
		}
		slices.SortStableFunc(e.rows, func(a, b row) int {
			switch {
			case a.time < b.time:
				return -1
			case a.time > b.time:
				return 1
			}
			return 0
		})
		e.addIncreases(l)
		e.hybrid = e.branches(l)
		list = append(list, e)
	}
	return list
}

// The method condition() returns the condition with the given ID; the ID "" stands for a
// condition that changes nothing in the model.
func (m *Model) condition(id string) *condition {
	for i := range m.conditions {
		if m.conditions[i].id == id {
			return &m.conditions[i]
		}
	}
	return &condition{id: id}
}
