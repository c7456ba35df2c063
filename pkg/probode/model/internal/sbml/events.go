package sbml

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/tree"
)

// An event is one of the file. When its trigger becomes true, the event is triggered; the
// execution, which makes its jumps, follows after the delay, in its turn. The jumps use
// values at the first of these times, or with `late` at the second. If the trigger becomes
// false before the execution, the execution is cancelled, unless the event is persistent.
type event struct {
	equations.Event   // its trigger, but with the jumps of the execution
	late, persistent  bool
	delay             *expr.Node // may be nil
	volumes           []*expr.Node
	sets, uses, waits map[string]bool // the states that it sets, and those on which its values and its trigger depend
	met               map[string]bool // the states that events set which can happen at the same time
}

// events makes events of equations from those of the file. Most of them are executed when
// they are triggered. For the others, additional states keep what is pending: a number
// that is 1 while an execution is pending, the time of the execution, and the values that
// it will set. An event with the highest priority sets these states at the trigger, a
// second one is the execution, and a third one cancels it. So the times of executions are
// found, and differentiated, like those of all events.
func (s *reader) events() {
	var list []*event
	alike := false
	for _, e := range s.root.List("listOfEvents") {
		if ev := s.event(e); ev != nil {
			list = append(list, ev)
			alike = alike || ev.Priority != nil
		}
	}
	s.defineRates()
	for i, a := range list {
		a.depends(s)
		for _, b := range list[:i] {
			if a.Time != nil && b.Time != nil && !a.Time.Equal(b.Time) {
				continue
			}
			for _, pair := range [2][2]*event{{a, b}, {b, a}} {
				for id := range pair[1].sets {
					pair[0].met[id] = true
				}
			}
		}
	}
	if len(list) == 1 {
		list[0].Priority, alike = nil, false
	}
	for _, e := range list {
		if alike && meet(e.met, e.waits) { // it can become true again before the execution
			maps.Copy(e.met, e.sets)
		}
		e.put(s, alike || meet(e.met, e.sets, e.uses))
	}
}

func meet(met map[string]bool, with ...map[string]bool) bool {
	for _, m := range with {
		for id := range m {
			if met[id] {
				return true
			}
		}
	}
	return false
}

// states returns the states on which formulas depend, and the time.
func (s *reader) states(of ...*expr.Node) map[string]bool {
	found, seen := map[string]bool{}, map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		if name == expr.Time || slices.ContainsFunc(s.out.States, func(x equations.State) bool { return x.ID == name }) {
			found[name] = true
		}
		if i := slices.IndexFunc(s.out.Assignments, func(a equations.Assignment) bool { return a.ID == name }); i >= 0 {
			for _, n := range s.out.Assignments[i].Formula.Symbols() {
				visit(n)
			}
		}
	}
	for _, n := range of {
		for _, name := range n.Symbols() {
			visit(name)
		}
	}
	return found
}

// event returns nil for an event that never happens. The event has a time that is known in
// advance for a trigger such as time >= 5.
func (s *reader) event(e *tree.Element) *event {
	id := e.Get("id")
	if id == "" {
		id = "in line " + strconv.Itoa(e.Line)
	}
	trigger := e.First("trigger")
	if trigger == nil {
		s.Failf(e.Line, "event %s has no trigger", id)
	}
	initial := s.flag(trigger, "initialValue", true)
	ev := &event{persistent: s.flag(trigger, "persistent", true), late: !s.flag(e, "useValuesFromTriggerTime", true),
		sets: map[string]bool{}, met: map[string]bool{}}
	ev.ID, ev.Where, ev.Trigger = id, s.At(e.Line), s.mathOf(trigger, nil)
	if d := e.First("delay"); d != nil {
		ev.delay = s.mathOf(d, nil)
		switch v, ok := ev.delay.Const(); {
		case ok && v == 0:
			ev.delay = nil
		case ok && !(v > 0):
			s.Failf(d.Line, "the delay of event %s is %v: want a number ≥ 0", id, v)
		}
	}
	if p := e.First("priority"); p != nil {
		ev.Priority = s.mathOf(p, nil)
	}
	if !initial {
		ev.Early = equations.Late
	}
	at, rising, ok := s.triggerTime(ev.Trigger)
	switch {
	case !ok, !rising && !initial: // it happens at the start if the trigger is true there
	case !rising:
		s.Warnf(e.Line, "event %s never happens, because its trigger changes only from true to false", id)
		return nil
	default:
		op, _ := ev.Trigger.Operator()
		if ev.Time, ev.After = at, op == "gt" || op == "lt"; initial && ev.After || !initial && op == "eq" {
			ev.Early = equations.AtStart
		}
	}
	for _, a := range e.List("listOfEventAssignments") {
		v, value := a.Get("variable"), s.mathOf(a, nil)
		i := slices.IndexFunc(s.out.States, func(x equations.State) bool { return x.ID == v || x.Of == v })
		if i < 0 {
			s.Failf(a.Line, "event %s sets %s, which is not a state", id, v)
		}
		x := s.out.States[i]
		if ev.sets[x.ID] {
			s.Failf(a.Line, "event %s sets %s twice", id, v)
		}
		ev.sets[x.ID] = true
		ev.Jumps, ev.volumes = append(ev.Jumps, equations.Jump{State: x.ID, Value: value}), append(ev.volumes, x.Volume)
	}
	return ev
}

func (e *event) depends(s *reader) {
	var values []*expr.Node
	for _, j := range e.Jumps {
		values = append(values, j.Value)
	}
	if e.uses, e.waits = s.states(values...), s.states(e.Trigger); !e.persistent {
		maps.Copy(e.uses, e.waits)
	}
}

// pendingMost is the largest number of executions of an event that can be pending at the
// same time. One more makes the state NaN, so that the solution ends with an error.
const pendingMost = 4

// put adds e to the equations. The argument `ordered` says that its turn among the events
// at the same time matters, so that its time is left to a trigger.
func (e *event) put(s *reader, ordered bool) {
	cancelled := !e.persistent && (e.delay != nil || meet(e.met, e.waits))
	var stored []int // the jumps whose values are those at the trigger, and may be others at the execution
	for k, j := range e.Jumps {
		if moving := s.states(j.Value); !e.late && (e.delay != nil && len(moving) > 0 || meet(e.met, moving)) {
			stored = append(stored, k)
		}
	}
	at, fixed := e.Time, e.delay != nil && len(s.states(e.delay)) == 0
	if v, known := constantOf(at); !known || v <= s.start {
		fixed = false // whether it happens depends on the time of the trigger, which may be before the start
	}
	if e.Time != nil && (ordered || e.delay != nil && !fixed) {
		if e.Time, e.After = nil, false; e.Early == equations.AtStart {
			e.Early = equations.Missed
		}
	}
	put := func(ev equations.Event) {
		if ev.Time != nil {
			ev.Trigger = nil
		}
		s.out.Events = append(s.out.Events, ev)
	}
	keep := func(what string) string {
		id := s.unused(e.ID + "_" + what)
		s.state(equations.State{ID: id, Init: expr.Num(0), Rate: expr.Num(0), Where: e.Where, Hidden: true})
		return id
	}
	// held returns the jumps at the trigger, which change states only if `free`, and those
	// of the execution.
	held := func(free *expr.Node) (first, then []equations.Jump) {
		then = slices.Clone(e.Jumps)
		for _, k := range stored {
			id := keep(then[k].State)
			first = append(first, equations.Jump{State: id, Value: chosen(then[k].Value, free, id)})
			then[k].Value = expr.Sym(id)
		}
		for k, v := range e.volumes {
			if v != nil { // the size just before the execution makes an amount of the concentration
				then[k].Value = expr.Call("times", then[k].Value, v)
			}
		}
		return first, then
	}
	first, execution := e.Event, e.Event
	switch {
	case e.delay == nil && stored == nil && !cancelled:
		_, execution.Jumps = held(nil)
		put(execution)
		return
	case fixed && !ordered:
		first.Jumps, execution.Jumps = held(nil)
		if first.Jumps != nil {
			put(first)
		}
		execution.Time = expr.Call("plus", at, e.delay)
		put(execution)
		return
	}
	first.Priority, first.Jumps = expr.Num(math.Inf(1)), nil
	var rest []equations.Event
	var full []*expr.Node // the conditions that places are taken
	slots := pendingMost
	if e.delay == nil && !meet(e.met, e.waits) {
		slots = 1
	}
	for n := range slots {
		pending := keep("pending")
		is := expr.Call("gt", expr.Sym(pending), expr.Num(0.5))
		free := expr.Call("and", append(slices.Clone(full), expr.Call("not", is))...)
		full = append(full, is)
		set := chosen(expr.Num(1), free, pending)
		if n == slots-1 {
			set = expr.Call("piecewise", expr.Num(math.NaN()), expr.Call("and", full...), set)
		}
		jumps, then := held(free)
		first.Jumps = append(append(first.Jumps, jumps...), equations.Jump{State: pending, Value: set})
		for k, j := range then {
			then[k].Value = chosen(j.Value, is, j.State) // it may be cancelled at its time
		}
		over := equations.Jump{State: pending, Value: expr.Call("min", expr.Sym(pending), expr.Num(0))} // NaN stays NaN
		ev := equations.Event{ID: e.ID, Trigger: is, Priority: e.Priority, Jumps: append(then, over), Where: e.Where}
		if e.delay != nil {
			due, now := keep("due"), expr.Sym(expr.Time)
			first.Jumps = append(first.Jumps, equations.Jump{State: due, Value: chosen(expr.Call("plus", now, e.delay), free, due)})
			ev.Trigger = expr.Call("and", is, expr.Call("geq", now, expr.Sym(due)))
		}
		if n > 0 {
			ev.ID = fmt.Sprintf("%s, pending execution %d of at most %d,", e.ID, n+1, slots)
		}
		rest = append(rest, ev)
		if cancelled {
			rest = append(rest, equations.Event{ID: e.ID, Trigger: expr.Call("and", is, expr.Call("not", e.Trigger)), Priority: first.Priority,
				Jumps: []equations.Jump{over}, Where: e.Where})
		}
	}
	put(first)
	s.out.Events = append(s.out.Events, rest...)
}

func chosen(value, when *expr.Node, otherwise string) *expr.Node {
	if when == nil {
		return value
	}
	return expr.Call("piecewise", value, when, expr.Sym(otherwise))
}

func constantOf(n *expr.Node) (float64, bool) {
	if n == nil {
		return 0, false
	}
	return n.Const()
}

// triggerTime knows the time of a comparison of linear functions of time with constant
// coefficients. A rising trigger becomes true, an equality for an instant.
func (s *reader) triggerTime(trigger *expr.Node) (at *expr.Node, rising, ok bool) {
	op, args := trigger.Operator()
	sign := 1.0
	switch op {
	case "gt", "geq", "eq":
	case "lt", "leq":
		sign = -1
	default:
		return nil, false, false
	}
	a, b, ok := expr.Call("minus", args[0], args[1]).Linear(expr.Time)
	if !ok {
		return nil, false, false
	}
	slope, known := b.Const()
	if !known || slope == 0 || slices.ContainsFunc(a.Symbols(), func(name string) bool {
		return !slices.ContainsFunc(s.out.Constants, func(c equations.Constant) bool { return c.ID == name })
	}) {
		return nil, false, false
	}
	return expr.Call("divide", a, expr.Num(-slope)).Simplify(), op == "eq" || sign*slope > 0, true
}
