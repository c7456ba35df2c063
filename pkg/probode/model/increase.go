package model

import (
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// A measured increase, such as the number of cases since the last report, is the
// difference f(t) − f(s) of two values of a formula f. Here t is the time of the
// measurement, and s is the time of the previous measurement. For the first measurement,
// s is the start time. An additional state stores f(s). Just after each measurement, an
// event sets the additional state to the current value of f. Between measurements, the
// additional state is constant. If the model has events, an event at the start also sets
// the additional state. At the start, all events of the model happen before the event
// that stores f(s), so that a dose at the start does not count as part of the first
// increase.

func (l *lowering) increase(id string, formula *expr.Node, d *Observation) *expr.Node {
	if math.IsInf(d.Time, 1) {
		d.where.Failf("observable %s is an increase since the previous measurement, so it cannot be measured at time inf", id)
	}
	for _, c := range l.increases {
		if c.of == id && c.formula.Equal(formula) {
			return expr.Call("minus", formula, l.now[c.state])
		}
	}
	name := "previous_" + id
	for l.isModels(name) || slices.ContainsFunc(l.increases, func(c increase) bool { return c.state == name }) {
		name += "_"
	}
	l.increases = append(l.increases, increase{id, name, formula})
	l.now[name] = expr.Sym(name)
	return expr.Call("minus", formula, l.now[name])
}

// addIncreases adds the states and events for increases. The rows of e must be sorted by
// time.
func (e *Instance) addIncreases(l *lowering) {
	for _, c := range l.increases {
		var times []float64
		for _, r := range e.rows {
			if r.id == c.of && (times == nil || r.time > times[len(times)-1]) {
				times = append(times, r.time)
			}
		}
		start := map[string]*expr.Node{expr.Time: expr.Num(e.model.start)}
		for i, id := range l.system.states {
			start[id] = l.system.initial[i]
		}
		e.states = append(slices.Clip(e.states), c.state)
		e.initial = append(slices.Clip(e.initial), c.formula.Substitute(start).Simplify())
		e.rates = append(slices.Clip(e.rates), expr.Num(0))
		set := func(t float64, after bool) {
			e.events = append(slices.Clip(e.events), equations.Event{ID: c.state, Time: expr.Num(t), Early: equations.AtStart, After: after,
				Jumps: []equations.Jump{{State: c.state, Value: c.formula}}})
		}
		if len(e.events) > 0 {
			set(e.model.start, false)
		}
		for _, t := range times {
			if t > e.model.start {
				set(t, true)
			}
		}
	}
}
