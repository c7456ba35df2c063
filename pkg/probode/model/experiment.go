package model

import (
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// An Instance is a model at one condition, called an experiment for short.
// Preequilibration at another condition comes first if the data ask for it.
//
// Its expressions may contain the time ([expr.Time]), the IDs of the states of System,
// and the IDs of the parameters of the file.
type Instance struct {
	Model            *Model
	Condition        string
	Preequilibration string // "" if there is none

	// Pre, if not nil, is run from its initial values to its steady state before System
	// starts. It does not depend on the time and has no events. Instances with the same
	// Pre share one pointer.
	Pre *System
	System
	Rows []Row // by time; rows at the same time are in the order of the file
}

// A System is the initial value problem of a model at one condition. It starts at
// Model.Start.
type System struct {
	States []string

	// Initial contains formulas for the values at the start. After preequilibration, a
	// state in these formulas stands for its value in the steady state.
	Initial []*expr.Node
	Rates   []*expr.Node
	Events  []equations.Event // Time contains parameters only, Jumps also time and states

	// Switches are the times, as formulas of parameters, at which a condition in the
	// right-hand sides changes; no step should cross such a time. Unlocated contains the
	// conditions that depend on states, or nonlinearly on the time. The times at which
	// they change cannot be known before a solve.
	Switches  []*expr.Node
	Unlocated []*expr.Node
}

// A Row is a measurement with its own formulas.
type Row struct {
	Observable string
	Time       float64 // +Inf: at the steady state
	Value      float64

	// Formula, Noise and Freedom have the same meaning as in Observable, but contain only
	// time, states and parameters.
	Formula, Noise, Freedom *expr.Node
	Scale                   Scale
	Distribution            NoiseDistribution

	Index int // of the measurement in Model.Data
}

// formulas returns the formula of the row and the formulas of its distribution.
func (r *Row) formulas() []*expr.Node {
	return append([]*expr.Node{r.Formula}, numbers(r.Freedom, r.Noise)...)
}

// Instances writes out the models of p for every pair of preequilibration and condition
// in the data, in the order in which the pairs first appear. For a model without data it
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
		for _, c := range m.Conditions {
			order = append(order, pair{"", c.ID})
		}
		if len(order) == 0 {
			order = append(order, pair{})
		}
	}
	ix := m.newIndex(params)
	systems := map[string]*lowering{}
	var list []*Instance
	for _, k := range order {
		e := &Instance{Model: m, Condition: k.cond, Preequilibration: k.pre}
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
			e.Pre = &pre.System
			l = ix.lower(m.condition(k.cond), m.condition(k.pre))
		}
		e.System = l.System
		for _, i := range rows[k] {
			e.Rows = append(e.Rows, l.row(i))
			if math.IsInf(m.Data[i].Time, 1) {
				l.steady(k.cond)
				l.timeless(e.Rows[len(e.Rows)-1], &m.Data[i])
			}
		}
		slices.SortStableFunc(e.Rows, func(a, b Row) int {
			switch {
			case a.Time < b.Time:
				return -1
			case a.Time > b.Time:
				return 1
			}
			return 0
		})
		list = append(list, e)
	}
	return list
}

// condition returns the condition with the given ID; "" stands for the model without
// changes.
func (m *Model) condition(id string) *Condition {
	for i := range m.Conditions {
		if m.Conditions[i].ID == id {
			return &m.Conditions[i]
		}
	}
	return &Condition{ID: id}
}
