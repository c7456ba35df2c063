package model

import (
	"math"
	"slices"
	"strconv"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

const maxEvents = 10000

func (r *modelReader) times(n *source.Node) []*expr.Node {
	var at *expr.Node
	count := 1
	if t, isDate := r.clock.number(r.File, n.LineOf("time"), "time", n.Word("time")); isDate {
		at = expr.Num(t)
	} else {
		at = r.formula(n, "time")
	}
	var every *expr.Node
	if n.Get("every") != nil || n.Get("count") != nil {
		every = r.formula(n, "every")
		if v, ok := every.Const(); ok && !(v > 0) {
			r.Failf(n.LineOf("every"), "the interval in the key “every” is %v: want a positive number or a formula that contains only parameters", v)
		}
		if n.Get("count") == nil {
			r.Failf(n.LineOf("every"), "the key “every” stands without “count”: want the number of times, from 1 to %d", maxEvents)
		}
		c := n.Number("count", math.NaN())
		if !(c >= 1 && c <= maxEvents) || c != math.Trunc(c) {
			r.Failf(n.LineOf("count"), "the number in the key “count” is %q: want a whole number from 1 to %d", n.Word("count"), maxEvents)
		}
		count = int(c)
	}
	times := make([]*expr.Node, count)
	for i := range times {
		if times[i] = at; i > 0 {
			times[i] = expr.Call("plus", at, expr.Call("times", expr.Num(float64(i)), every))
		}
	}
	return times
}

// numbered appends the number of the event to the ID if there are several times.
func (r *modelReader) numbered(n *source.Node, id string, times []*expr.Node, jumps ...equations.Jump) []equations.Event {
	events := make([]equations.Event, len(times))
	for i, t := range times {
		events[i] = equations.Event{ID: id, Time: t, Jumps: jumps, Early: equations.AtStart, Where: r.At(n.Line)}
		if len(times) > 1 {
			events[i].ID += "_" + strconv.Itoa(i+1)
		}
	}
	return events
}

func (r *modelReader) events(n *source.Node) []equations.Event {
	n.Mapping("an event", "eventId", "time", "every", "count", "trigger", "priority", "atStart", "assignments")
	id := r.name(n, "eventId")
	list := n.Get("assignments")
	if list == nil {
		r.Failf(n.Line, "event %s has no assignments", id)
	}
	list.Mapping("assignments")
	var jumps []equations.Jump
	for _, k := range list.Keys {
		jumps = append(jumps, equations.Jump{State: k, Value: r.formula(list, k)})
	}
	if n.Get("trigger") == nil {
		if n.Get("priority") != nil {
			r.Failf(n.LineOf("priority"), "event %s has a priority and no trigger: events at the same time happen in the order of the file", id)
		}
		return r.numbered(n, id, r.times(n), jumps...)
	}
	for _, k := range []string{"time", "every", "count"} {
		if n.Get(k) != nil {
			r.Failf(n.LineOf(k), "event %s has both a trigger and the key %s: give only one of the two", id, k)
		}
	}
	e := equations.Event{ID: id, Trigger: r.condition(n, "trigger"), Jumps: jumps, Where: r.At(n.Line)}
	if n.Get("priority") != nil {
		e.Priority = r.formula(n, "priority")
	}
	if n.Flag("atStart") {
		e.Early = equations.Late
	}
	return []equations.Event{e}
}

// dose reads a dose. A dose without a duration is an event that adds the amount to the
// state. The rate of an infusion, amount/duration while it lasts, is appended to
// `infused` for the state.
func (r *modelReader) dose(n *source.Node, m *Model, infused map[int][]*expr.Node) {
	n.Mapping("a dose", "doseId", "state", "amount", "duration", "time", "every", "count", "steadyState")
	id, state := r.name(n, "doseId"), n.Must("a dose", "state")
	amount, times := r.formula(n, "amount"), r.times(n)
	i := slices.IndexFunc(m.States, func(s equations.State) bool { return s.ID == state })
	if i < 0 {
		r.Failf(n.LineOf("state"), "dose %s goes into %s, which is not a state", id, state)
	}
	add := func(amount *expr.Node) equations.Jump {
		return equations.Jump{State: state, Value: expr.Call("plus", expr.Sym(state), amount)}
	}
	jumps := r.onDose()
	if n.Get("duration") == nil {
		jumps = append(jumps, add(amount))
	}
	if n.Flag("steadyState") {
		r.steadyState(n, m, &steadyDose{id: id, state: i, amount: amount, jumps: jumps, where: r.At(n.Line)}, times[0])
	}
	if n.Get("duration") == nil {
		m.Events = append(m.Events, r.numbered(n, id, times, jumps...)...)
		return
	}
	duration, now := r.formula(n, "duration"), expr.Sym(expr.Time)
	if v, ok := duration.Const(); ok && !(v > 0 && v <= math.MaxFloat64) {
		r.Failf(n.LineOf("duration"), "the time in the key “duration” is %v: want a positive number or a formula that contains only parameters", v)
	}
	r.fixed = append(r.fixed, fixed{"duration of dose " + id, duration, r.At(n.LineOf("duration"))}, fixed{"time of dose " + id, times[len(times)-1], r.At(n.LineOf("time"))})
	// Rounding of the times changes the length of an infusion. The rate is the amount
	// divided by the rounded length, so that the whole amount is given; max keeps t + d − t
	// from being simplified to d. If rounding is a large part of the length, the dose is
	// given at once.
	const short = 0x1p-32 // of the time
	none := expr.Num(0)
	for k, t := range times {
		end := expr.Call("plus", t, duration)
		during := expr.Call("and", expr.Call("geq", now, t), expr.Call("lt", now, end))
		atOnce := expr.Call("leq", duration, expr.Call("times", expr.Num(short), expr.Call("abs", t)))
		rate := expr.Call("piecewise", none, atOnce, expr.Call("divide", amount, expr.Call("minus", expr.Call("max", end, t), t))).Simplify()
		infused[i] = append(infused[i], expr.Call("piecewise", rate, during, none))
		given, at := expr.Call("piecewise", amount, atOnce, none).Simplify(), slices.Clip(jumps)
		if v, ok := given.Const(); !ok || v != 0 {
			at = append(at, add(given))
		}
		if len(at) > 0 {
			m.Events = append(m.Events, r.numbered(n, id+"_"+strconv.Itoa(k+1), []*expr.Node{t}, at...)...)
		}
	}
}

// checkFixed reports an error if a formula in r.fixed depends on the time or on a state.
// Times of events are checked elsewhere.
func (r *modelReader) checkFixed(m *Model) {
	varies := map[string]bool{expr.Time: true}
	for _, s := range m.States {
		varies[s.ID] = true
	}
	for _, u := range m.inputs {
		varies[u.id] = true
	}
	for _, a := range m.Assignments { // sorted: each follows those that it uses
		varies[a.ID] = slices.ContainsFunc(a.Formula.Symbols(), func(id string) bool { return varies[id] })
	}
	for _, f := range r.fixed {
		for _, id := range f.formula.Symbols() {
			if varies[id] {
				f.where.Failf("the %s depends on %s: want a formula that contains only parameters", f.what, id)
			}
		}
	}
}

// setByEvents turns each parameter that an event sets into a state with derivative zero.
func (r *modelReader) setByEvents(p *File, m *Model) {
	for _, e := range m.Events {
		for _, j := range e.Jumps {
			i := slices.IndexFunc(p.Params, func(q Parameter) bool { return q.ID == j.State })
			if i < 0 {
				continue
			}
			q := p.Params[i]
			if q.Estimate {
				e.Where.Failf("event %s sets the estimated parameter %s: add a state with right-hand side 0 and this parameter as its initial value, and let the event set that state", e.ID, q.ID)
			}
			if math.IsNaN(q.Nominal) {
				q.where.Failf("parameter %s is not estimated and has no nominalValue", q.ID)
			}
			m.States = append(m.States, equations.State{ID: q.ID, Name: q.name, Init: expr.Num(q.Nominal), Rate: expr.Num(0), Where: q.where})
			p.Params = slices.Delete(p.Params, i, i+1)
		}
	}
}
