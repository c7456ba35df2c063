package model

import (
	"maps"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

func (m *Model) newIndex(params []Parameter) *index {
	return &index{m: m, params: idsOf(params), observables: m.observablesByID(),
		states:      byName(m.States, func(s *equations.State) string { return s.ID }),
		amounts:     byName(m.States, func(s *equations.State) string { return s.Of }),
		constants:   byName(m.Constants, func(k *equations.Constant) string { return k.ID }),
		assignments: byName(m.Assignments, func(a *equations.Assignment) string { return a.ID })}
}

// byName has the elements of a list by their names, without those whose name is empty.
func byName[T any](list []T, name func(*T) string) map[string]*T {
	by := map[string]*T{}
	for i := range list {
		if id := name(&list[i]); id != "" {
			by[id] = &list[i]
		}
	}
	return by
}

// lower derives the equations under condition c, preequilibrated under pre if that is not
// nil.
func (ix *index) lower(c, pre *condition) *lowering {
	l := ix.lowering(pre)
	if pre != nil {
		ix.sameSizes(pre, c)
		for _, s := range pre.set {
			if k := ix.constants[s.id]; k != nil && k.Kept {
				l.set[s.id] = s.value
			}
		}
	}
	for _, s := range c.set {
		if ix.assignments[s.id] != nil && ix.amounts[s.id] == nil || slices.ContainsFunc(ix.m.inputs, func(u input) bool { return u.id == s.id }) {
			c.where.Failf("condition %s sets %s, which is determined by a formula: want a parameter or a state", c.id, s.id)
		}
		l.set[s.id] = s.value
	}

	l.lowerInputs(c.id)
	// This loop evaluates only the parameters to which the condition assigns a value.
	// Constants are evaluated by at when a formula uses them.
	for id := range l.set {
		if ix.params[id] {
			l.now[id] = l.at0(id, c.where)
		}
	}
	for i := range ix.m.Assignments {
		a := &ix.m.Assignments[i]
		l.now[a.ID] = l.at(a.Formula, a.Where, "assignment "+a.ID)
	}
	for i := range ix.m.States {
		s := &ix.m.States[i]
		l.system.states = append(l.system.states, s.ID)
		l.initial = append(l.initial, l.at0(s.ID, s.Where).Simplify())
		l.rates = append(l.rates, l.at(s.Rate, s.Where, "right-hand side of "+s.ID))
	}
	l.rates = expr.Simplified(l.rates...)
	for _, e := range slices.Concat(ix.m.periods[c.id], ix.m.Events, ix.m.given[c.id]) {
		l.events = append(l.events, l.event(e))
	}
	l.events = append(l.events, l.meetings...)
	l.findSwitches()
	return l
}

func (ix *index) lowering(pre *condition) *lowering {
	return &lowering{index: ix, set: map[string]*expr.Node{}, after: pre != nil,
		start: map[string]*expr.Node{}, open: map[string]bool{}, now: map[string]*expr.Node{}, lowered: map[string]*observable{}}
}

// sameSizes reports an error if the size of a compartment changes after preequilibration.
// No specification says whether such a change preserves amounts or concentrations.
func (ix *index) sameSizes(pre, c *condition) {
	sizes := map[string]*expr.Node{}
	for _, s := range pre.set {
		sizes[s.id] = s.value
	}
	for _, s := range c.set {
		if k := ix.constants[s.id]; k != nil && k.Size && (sizes[s.id] == nil || !sizes[s.id].Equal(s.value)) {
			c.where.Refuse("compartment that changes after preequilibration", "conditions %s and %s set the compartment %s to different sizes", pre.id, c.id, s.id)
		}
	}
}

func (l *lowering) at0(id string, from source.Where) *expr.Node {
	if n := l.start[id]; n != nil {
		return n
	}
	if l.open[id] {
		from.Failf("the initial value of %s depends on itself, through %s", id, strings.Join(slices.Sorted(maps.Keys(l.open)), ", "))
	}
	l.open[id] = true
	n := l.work0(id, from)
	delete(l.open, id)
	l.start[id] = n
	return n
}

func (l *lowering) work0(id string, from source.Where) *expr.Node {
	set, isSet := l.set[id]
	if isSet {
		if name, ok := set.Symbol(); ok && name == id {
			isSet = false // k is set to k, so it keeps its own value
		}
	}
	if s := l.index.states[id]; s != nil {
		if v, ok := l.set[s.Of]; ok && s.Of != "" {
			return expr.Call("times", l.start0(v, s.Where), l.start0(s.Volume, s.Where))
		}
		switch {
		case isSet:
			return l.start0(set, s.Where)
		case l.after:
			return expr.Sym(id) // which stands for its value in the steady state
		case s.Init == nil:
			s.Where.Failf("state %s has no initial value", id)
		}
		return l.start0(s.Init, s.Where)
	}
	if isSet {
		return l.start0(set, from)
	}
	if l.params[id] {
		return expr.Sym(id)
	}
	if k := l.constants[id]; k != nil {
		if k.Value == nil {
			k.Where.Failf("%s has no value: give one in the model, the parameter table or the conditions", id)
		}
		v := l.start0(k.Value, k.Where)
		if l.after {
			for _, name := range v.Symbols() {
				if l.index.states[name] != nil {
					k.Where.Refuse("initialAssignment after preequilibration", "the value of the constant %s depends on the state %s", id, name)
				}
			}
		}
		return v
	}
	if a := l.assignments[id]; a != nil {
		return l.start0(a.Formula, a.Where)
	}
	if id == expr.Time {
		return expr.Num(l.m.start)
	}
	if v, ok := expr.Constant(id); ok {
		return expr.Num(v)
	}
	if o := l.observables[id]; o != nil {
		from.Failf("%s is an observable: want only states, parameters and constants", id)
	}
	from.Failf("%s is not defined", id)
	return nil
}

func (l *lowering) start0(n *expr.Node, from source.Where) *expr.Node {
	by := map[string]*expr.Node{}
	for _, name := range n.Symbols() {
		by[name] = l.at0(name, from)
	}
	return n.Substitute(by)
}

// at replaces each name by an expression that holds at all times, not only at the start.
func (l *lowering) at(n *expr.Node, from source.Where, what string) *expr.Node {
	by := map[string]*expr.Node{}
	for _, name := range n.Symbols() {
		switch v := l.now[name]; {
		case v != nil:
			by[name] = v
		case name == expr.Time, l.index.states[name] != nil, l.params[name] && l.constants[name] == nil:
		case l.constants[name] != nil && (l.params[name] || l.constants[name].Value != nil || l.set[name] != nil):
			l.now[name] = l.at0(name, l.constants[name].Where)
			by[name] = l.now[name]
		case l.constants[name] != nil:
			l.constants[name].Where.Failf("%s has no value: give one in the model, the parameter table or the conditions", name)
		case l.observables[name] != nil:
			from.Failf("%s uses the observable %s: want only states, parameters and constants", what, name)
		case builtIn(name):
			v, _ := expr.Constant(name)
			by[name] = expr.Num(v)
		default:
			from.Failf("%s uses %s, which is not defined", what, name)
		}
	}
	return n.Substitute(by)
}

func (l *lowering) event(e equations.Event) equations.Event {
	jumps := make([]equations.Jump, len(e.Jumps))
	for i, j := range e.Jumps {
		jumps[i] = equations.Jump{State: j.State, Value: l.at(j.Value, e.Where, "event "+e.ID).Simplify()}
	}
	if e.Jumps = jumps; e.Trigger != nil {
		written := l.at(e.Trigger, e.Where, "trigger of event "+e.ID).Simplify()
		e.Trigger = l.equalities(written, e.Where)
		if e.Priority != nil {
			e.Priority = l.at(e.Priority, e.Where, "priority of event "+e.ID).Simplify()
		}
		if _, ok := e.Trigger.Margin(); !ok {
			e.Where.Refuse("event trigger that is not continuous", "event %s is triggered by %s: want <, <=, > or >= of continuous formulas", e.ID, written)
		}
		return e
	}
	t := l.at(e.Time, e.Where, "time of event "+e.ID).Simplify()
	for _, name := range t.Symbols() {
		if name == expr.Time || l.index.states[name] != nil {
			e.Where.Failf("the time of event %s depends on %s: use a formula that contains only parameters, or give the event a trigger instead of a time", e.ID, name)
		}
	}
	e.Time = t
	return e
}

// equalities replaces a = b and a ≠ b in a trigger by other comparisons if both sides
// change only at events. An equality that is linear in the time holds for an instant. If
// the instant is known, it is a grid point; otherwise an event without jumps finds it.
func (l *lowering) equalities(trigger *expr.Node, from source.Where) *expr.Node {
	parts := expr.Parts(trigger)
	degree, by := l.degrees(parts...), map[*expr.Node]*expr.Node{}
	now := expr.Sym(expr.Time)
	for _, part := range parts {
		op, sides := part.Operator()
		if op != "eq" && op != "neq" {
			continue
		}
		of := func(op string) *expr.Node { return expr.Call(op, sides...) }
		known := func(op string) *expr.Node { return l.atTime(degree[part], op, sides...) }
		at0, slope, linear := expr.Call("minus", sides...).Linear(expr.Time)
		v := 0.0
		if linear {
			v, _ = slope.Const()
		}
		switch {
		case l.still(part) && op == "neq":
			by[part] = expr.Call("or", of("gt"), of("lt"))
		case l.still(part):
			by[part] = expr.Call("and", of("geq"), of("leq"))
		case op == "neq":
		case known("geq") != nil:
			by[part] = expr.Call("and", known("geq"), known("leq"))
		case linear && v != 0 && l.still(at0):
			at := expr.Call("divide", at0, expr.Num(-v)).Simplify()
			l.meetings = append(l.meetings, equations.Event{ID: part.String(), Trigger: expr.Call("geq", now, at), Where: from})
			by[part] = expr.Call("and", expr.Call("geq", now, at),
				expr.Call("leq", expr.Call("minus", now, at), expr.Call("times", expr.Num(0x1p-44), expr.Call("abs", now))))
		}
	}
	return expr.Replace([]*expr.Node{trigger}, by)[0].Simplify()
}

// still reports whether n changes only at events.
func (l *lowering) still(n *expr.Node) bool {
	return !slices.ContainsFunc(n.Symbols(), func(name string) bool {
		if i := slices.Index(l.system.states, name); i >= 0 {
			v, known := l.rates[i].Const()
			return !known || v != 0
		}
		return name == expr.Time
	})
}

// autonomous reports an error if a system with preequilibration depends on time, because
// PEtab does not define the time at which preequilibration begins.
func (l *lowering) autonomous(condition string) {
	for i, r := range l.rates {
		if slices.Contains(r.Symbols(), expr.Time) {
			l.m.States[i].Where.Refuse("preequilibration that depends on the time", "the right-hand side of %s depends on time in condition %s", l.system.states[i], condition)
		}
	}
}

// restful reports an error if an event could happen after a state is at rest, or, if the
// state is that of a preequilibration, at a time that is not defined.
func (l *lowering) restful(preequilibration bool) {
	for _, e := range l.events {
		uses := map[string]bool{}
		addSymbols(uses, e.Trigger, e.Priority)
		for _, j := range e.Jumps {
			addSymbols(uses, j.Value)
		}
		if e.Trigger != nil && uses[expr.Time] || e.Trigger == nil && preequilibration {
			e.Where.Refuse("event before a steady state", "event %s", e.ID)
		}
	}
}
