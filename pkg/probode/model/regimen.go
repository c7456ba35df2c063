package model

import (
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// A steadyDose has been repeated for so long before the start that the states repeat, too.
type steadyDose struct {
	id                      string
	state                   int
	amount, every, duration *expr.Node // duration is nil for a dose at once
	where                   source.Where
}

func (m *Model) steadyDose(condition string) *steadyDose {
	if s := m.steady[condition]; s != nil {
		return s
	}
	return m.steady[""]
}

// addSteady adds a dose that must begin at the start of the model.
func (m *Model) addSteady(s *steadyDose, condition string, time *expr.Node) {
	if t, ok := time.Const(); !ok || t != m.start {
		s.where.Failf("dose %s at steady state begins at %v: want the start of the model, %v", s.id, time, m.start)
	}
	if m.steadyDose(condition) != nil {
		s.where.Failf("dose %s is the second one at steady state: want one", s.id)
	}
	if s.duration != nil {
		d, known := s.duration.Const()
		e, both := s.every.Const()
		if !known || !both || d > e {
			s.where.Failf("dose %s at steady state lasts %v, with the interval %v: want numbers, and a duration of at most the interval", s.id, s.duration, s.every)
		}
	}
	if m.steady == nil {
		m.steady = map[string]*steadyDose{}
	}
	m.steady[condition] = s
}

func (r *modelReader) steadyState(n *source.Node, m *Model, s *steadyDose, time *expr.Node) {
	if n.Get("every") == nil {
		r.Failf(n.Line, "dose %s at steady state has no interval: want the key every", s.id)
	}
	if s.every = r.formula(n, "every"); n.Get("duration") != nil {
		s.duration = r.formula(n, "duration")
	}
	r.fixed = append(r.fixed, fixed{"interval of dose " + s.id, s.every, r.At(n.LineOf("every"))})
	m.addSteady(s, "", time)
}

// repeat returns the system of one interval of a dose at steady state, without other
// doses and events, and the length of the interval.
func (ix *index) repeat(s *steadyDose, c *condition, params []Parameter) (*system, *expr.Node) {
	m := *ix.m
	m.States, m.Events, m.given = slices.Clone(m.States), nil, nil
	for i := range m.States {
		if base := m.States[i].Base; base != nil {
			m.States[i].Rate = base
		}
	}
	plain := m.newIndex(params).lower(c, nil)
	plain.autonomous(c.id)
	state := &m.States[s.state]
	if s.duration == nil {
		sum := expr.Call("plus", expr.Sym(state.ID), s.amount)
		m.Events = []equations.Event{{ID: s.id, Time: expr.Num(m.start), Jumps: []equations.Jump{{State: state.ID, Value: sum}}, Early: equations.AtStart, Where: s.where}}
	} else {
		during := expr.Call("lt", expr.Sym(expr.Time), expr.Call("plus", expr.Num(m.start), s.duration))
		state.Rate = expr.Call("plus", state.Rate, expr.Call("piecewise", expr.Call("divide", s.amount, s.duration), during, expr.Num(0)))
	}
	l := m.newIndex(params).lower(c, nil)
	return &l.system, l.at(s.every, s.where, "interval of dose "+s.id).Simplify()
}

// timeAfterDose is the name of the time since the last dose, or since the start before the
// first one.
const timeAfterDose = "timeAfterDose"

// addTimeAfterDose defines timeAfterDose if doses are given. The argument `given` holds
// the times of the doses in a table for each condition.
func (r *modelReader) addTimeAfterDose(m *Model, given map[string][]float64) {
	used := map[string]bool{}
	if m.uses(used); !used[timeAfterDose] || len(r.doses)+len(given) == 0 {
		return
	}
	now, last := expr.Sym(expr.Time), []*expr.Node{expr.Num(m.start)}
	for _, t := range r.doses {
		last = append(last, expr.Call("piecewise", t, expr.Call("geq", now, t), expr.Num(m.start)))
	}
	if len(given) > 0 {
		u := input{id: "time of the last dose", of: map[string]*probode.Input{"": constantInput([]float64{m.start}, []float64{m.start})}}
		for c, times := range given {
			slices.Sort(times)
			times = slices.Compact(append([]float64{m.start}, times...))
			u.of[c] = constantInput(times, times)
		}
		m.inputs, last = append(m.inputs, u), append(last, expr.Sym(u.id))
	}
	m.Assignments = append(m.Assignments, equations.Assignment{ID: timeAfterDose, Formula: expr.Call("minus", now, expr.Call("max", last...))})
}

func constantInput(times, values []float64) *probode.Input {
	return &probode.Input{Times: times, Values: values, Constant: true}
}
