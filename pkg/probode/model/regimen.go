package model

import (
	"bytes"
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
	jumps                   []equations.Jump
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
	if len(s.jumps) > 0 {
		m.Events = []equations.Event{{ID: s.id, Time: expr.Num(m.start), Jumps: s.jumps, Early: equations.AtStart, Where: s.where}}
	}
	if s.duration != nil {
		during := expr.Call("lt", expr.Sym(expr.Time), expr.Call("plus", expr.Num(m.start), s.duration))
		state.Rate = expr.Call("plus", state.Rate, expr.Call("piecewise", expr.Call("divide", s.amount, s.duration), during, expr.Num(0)))
	}
	l := m.newIndex(params).lower(c, nil)
	return &l.system, l.at(s.every, s.where, "interval of dose "+s.id).Simplify()
}

const (
	timeAfterDose = "timeAfterDose"  // the time since the last dose, or since the start before the first one
	lastDose      = "timeOfLastDose" // the state that keeps the time of the last dose, or the start
)

// onDose returns what every dose does at its time.
func (r *modelReader) onDose() []equations.Jump {
	if !bytes.Contains(r.Text, []byte(timeAfterDose)) {
		return nil
	}
	r.timed = true
	return []equations.Jump{{State: lastDose, Value: expr.Sym(expr.Time)}}
}

// addTimeAfterDose defines timeAfterDose if doses set the time of the last one.
func (r *modelReader) addTimeAfterDose(m *Model) {
	if !r.timed {
		return
	}
	m.States = append(m.States, equations.State{ID: lastDose, Init: expr.Num(m.start), Rate: expr.Num(0), Hidden: true})
	m.Assignments = append(m.Assignments, equations.Assignment{ID: timeAfterDose, Formula: expr.Call("minus", expr.Sym(expr.Time), expr.Sym(lastDose))})
}

func constantInput(times, values []float64) *probode.Input {
	return &probode.Input{Times: times, Values: values, Constant: true}
}
