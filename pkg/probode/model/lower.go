package model

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// An index finds the object with a given ID.
type index struct {
	m           *Model
	params      map[string]bool
	states      map[string]*equations.State
	amounts     map[string]*equations.State // by State.Of
	constants   map[string]*equations.Constant
	assignments map[string]*equations.Assignment
	observables map[string]*Observable
}

func (m *Model) newIndex(params map[string]bool) *index {
	ix := &index{m: m, params: params, states: map[string]*equations.State{}, amounts: map[string]*equations.State{},
		constants: map[string]*equations.Constant{}, assignments: map[string]*equations.Assignment{}, observables: map[string]*Observable{}}
	for i := range m.States {
		s := &m.States[i]
		ix.states[s.ID] = s
		if s.Of != "" {
			ix.amounts[s.Of] = s
		}
	}
	for i := range m.Constants {
		ix.constants[m.Constants[i].ID] = &m.Constants[i]
	}
	for i := range m.Assignments {
		ix.assignments[m.Assignments[i].ID] = &m.Assignments[i]
	}
	for i := range m.Observables {
		ix.observables[m.Observables[i].ID] = &m.Observables[i]
	}
	return ix
}

// lowering contains the equations of a model at one condition while lower derives them.
type lowering struct {
	*index
	System
	set         map[string]*expr.Node // settings of the condition
	after       bool                  // preequilibration came before
	start       map[string]*expr.Node // by ID: its value at the start, as a formula of parameters (and steady states)
	open        map[string]bool       // IDs whose value at the start is being worked out
	now         map[string]*expr.Node // by ID: its formula at any time
	rows        map[string]*Row       // by observable and its parameters
	steadyAsked bool
}

// lower derives the equations of the model at condition c. pre, if not nil, is the
// condition of the preequilibration that comes first.
func (ix *index) lower(c, pre *Condition) *lowering {
	l := &lowering{index: ix, set: map[string]*expr.Node{}, after: pre != nil,
		start: map[string]*expr.Node{}, open: map[string]bool{}, now: map[string]*expr.Node{}, rows: map[string]*Row{}}
	if pre != nil {
		ix.sameSizes(pre, c)
		for _, s := range pre.Set {
			if k := ix.constants[s.ID]; k != nil && k.Kept {
				l.set[s.ID] = s.Value
			}
		}
	}
	for _, s := range c.Set {
		if ix.assignments[s.ID] != nil && ix.amounts[s.ID] == nil {
			c.Where.Failf("condition %s sets %s, which an assignment rule determines", c.ID, s.ID)
		}
		l.set[s.ID] = s.Value
	}

	// This loop is only for parameters that the condition sets: at evaluates constants
	// when a formula uses them.
	for id := range l.set {
		if ix.params[id] {
			l.now[id] = l.at0(id, c.Where)
		}
	}
	for i := range ix.m.Assignments {
		a := &ix.m.Assignments[i]
		l.now[a.ID] = l.at(a.Formula, a.Where, "assignment "+a.ID)
	}
	for i := range ix.m.States {
		s := &ix.m.States[i]
		l.States = append(l.States, s.ID)
		l.Initial = append(l.Initial, l.at0(s.ID, s.Where).Simplify())
		l.Rates = append(l.Rates, l.at(s.Rate, s.Where, "right-hand side of "+s.ID))
	}
	l.Rates = expr.Simplified(l.Rates...)
	for _, e := range ix.m.Events {
		l.Events = append(l.Events, l.event(e))
	}
	if a, b := equations.Entangled(l.Events); l.m.Unordered && a != nil {
		b.Where.Refuse("events at the same time that depend on each other", "the order of %s and %s is not defined", a.ID, b.ID)
	}
	l.switches()
	return l
}

// sameSizes refuses a compartment whose size changes after preequilibration, because no
// specification says whether amounts or concentrations then stay the same.
func (ix *index) sameSizes(pre, c *Condition) {
	sizes := map[string]*expr.Node{}
	for _, s := range pre.Set {
		sizes[s.ID] = s.Value
	}
	for _, s := range c.Set {
		if k := ix.constants[s.ID]; k != nil && k.Size && (sizes[s.ID] == nil || !sizes[s.ID].Equal(s.Value)) {
			c.Where.Refuse("compartment that changes after preequilibration", "conditions %s and %s set %s to different sizes", pre.ID, c.ID, s.ID)
		}
	}
}

// at0 returns the value of an ID at the start.
func (l *lowering) at0(id string, from source.Where) *expr.Node {
	if n := l.start[id]; n != nil {
		return n
	}
	if l.open[id] {
		from.Failf("the initial value of %s depends on itself, by way of %s", id, l.cycle())
	}
	l.open[id] = true
	n := l.work0(id, from)
	delete(l.open, id)
	l.start[id] = n
	return n
}

func (l *lowering) cycle() string {
	var ids []string
	for id := range l.open {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	return strings.Join(ids, ", ")
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
			k.Where.Failf("%s has no value: want one in the model, the parameter table or the conditions", id)
		}
		v := l.start0(k.Value, k.Where)
		if l.after {
			for _, name := range v.Symbols() {
				if l.index.states[name] != nil {
					k.Where.Refuse("initialAssignment after preequilibration", "%s, a constant, has an initial value that depends on the state %s", id, name)
				}
			}
		}
		return v
	}
	if a := l.assignments[id]; a != nil {
		return l.start0(a.Formula, a.Where)
	}
	if id == expr.Time {
		return expr.Num(l.m.Start)
	}
	if v, ok := expr.Constant(id); ok {
		return expr.Num(v)
	}
	if o := l.observables[id]; o != nil {
		from.Failf("%s is an observable: want states, parameters and constants", id)
	}
	from.Failf("%s is not defined", id)
	return nil
}

// start0 replaces the names in a formula by their values at the start.
func (l *lowering) start0(n *expr.Node, from source.Where) *expr.Node {
	by := map[string]*expr.Node{}
	for _, name := range n.Symbols() {
		by[name] = l.at0(name, from)
	}
	return n.Substitute(by)
}

// at replaces the names in a formula by expressions in time, states and parameters. The
// result is valid at all times.
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
			l.constants[name].Where.Failf("%s has no value: want one in the model, the parameter table or the conditions", name)
		case l.observables[name] != nil:
			from.Failf("%s uses the observable %s: want states, parameters and constants", what, name)
		case builtIn(name):
			v, _ := expr.Constant(name)
			by[name] = expr.Num(v)
		default:
			from.Failf("%s uses %s, which is not defined", what, name)
		}
	}
	return n.Substitute(by)
}

// event writes out an event.
func (l *lowering) event(e equations.Event) equations.Event {
	t := l.at(e.Time, e.Where, "time of event "+e.ID).Simplify()
	for _, name := range t.Symbols() {
		if name == expr.Time || l.index.states[name] != nil {
			e.Where.Refuse("event that depends on the state", "the time of event %s depends on %s", e.ID, name)
		}
	}
	jumps := make([]equations.Jump, len(e.Jumps))
	for i, j := range e.Jumps {
		jumps[i] = equations.Jump{State: j.State, Value: l.at(j.Value, e.Where, "event "+e.ID).Simplify()}
	}
	e.Time, e.Jumps = t, jumps
	return e
}

// row writes out a measurement. Rows of one observable with the same parameters share
// their formulas.
func (l *lowering) row(index int) Row {
	d := &l.m.Data[index]
	key := d.Observable
	for _, n := range d.ObservableParams {
		key += ";" + n.String()
	}
	key += "|"
	for _, n := range d.NoiseParams {
		key += ";" + n.String()
	}
	r := l.rows[key]
	if r == nil {
		o := l.observables[d.Observable]
		if o == nil {
			d.Where.Failf("%s is not an observable", d.Observable)
		}
		by := map[string]*expr.Node{}
		placeholders(by, "observableParameter", o.ID, d.ObservableParams)
		placeholders(by, "noiseParameter", o.ID, d.NoiseParams)
		l.placeholdersFit(d, o, by)
		r = &Row{Observable: o.ID, Scale: o.Scale, Distribution: o.Distribution,
			Formula: l.at(o.Formula.Substitute(by), o.Where, "formula of "+o.ID).Simplify()}
		// In the formula of the noise, the ID of the observable stands for its formula, unless
		// the model uses that ID for something else.
		if !l.isModels(o.ID) {
			by[o.ID] = o.Formula.Substitute(by)
		}
		number := func(n *expr.Node, what string) *expr.Node {
			if n == nil {
				return nil
			}
			n = l.at(n.Substitute(by), o.Where, what+" of "+o.ID).Simplify()
			if v, ok := n.Const(); ok && !(v > 0 && v <= math.MaxFloat64) {
				d.Where.Failf("the %s of %s is %v: want a positive number", what, o.ID, v)
			}
			return n
		}
		r.Noise, r.Freedom = number(o.Noise, "noise"), number(o.Freedom, "number of degrees of freedom")
		l.rows[key] = r
	}
	row := *r
	row.Time, row.Value, row.Index = d.Time, d.Value, index
	return row
}

func (l *lowering) isModels(id string) bool {
	return l.index.states[id] != nil || l.constants[id] != nil || l.assignments[id] != nil || l.params[id]
}

// placeholders adds the values of observableParameter1_id and so on.
func placeholders(by map[string]*expr.Node, prefix, id string, values []*expr.Node) {
	for i, v := range values {
		by[placeholder(prefix, i+1, id)] = v
	}
}

// placeholdersFit fails unless a row has values for exactly the placeholders in its
// formulas.
func (l *lowering) placeholdersFit(d *Observation, o *Observable, by map[string]*expr.Node) {
	asked := map[string]bool{}
	for _, name := range o.symbols() {
		if isPlaceholder(name, o.ID) {
			asked[name] = true
			if by[name] == nil {
				d.Where.Failf("no value for %s: want one in the row", name)
			}
		}
	}
	for name := range by {
		if !asked[name] {
			d.Where.Failf("the row gives %s, which the formulas of %s do not have", name, o.ID)
		}
	}
}

// autonomous refuses preequilibration of a system that depends on the time, because PEtab
// does not define the time at which preequilibration begins.
func (l *lowering) autonomous(condition string) {
	for i, r := range l.Rates {
		if slices.Contains(r.Symbols(), expr.Time) {
			l.m.States[i].Where.Refuse("preequilibration that depends on the time", "the right-hand side of %s depends on it at condition %s", l.States[i], condition)
		}
	}
}

// timeless fails if an observable depends on the time and is measured at the steady
// state.
func (l *lowering) timeless(r Row, d *Observation) {
	for _, n := range r.formulas() {
		if slices.Contains(n.Symbols(), expr.Time) {
			d.Where.Failf("%s is measured at time inf, yet its formula depends on the time", r.Observable)
		}
	}
}

// steady refuses events in a system that has to reach a steady state.
func (l *lowering) steady(condition string) {
	if l.steadyAsked {
		return
	}
	l.steadyAsked = true
	if len(l.Events) > 0 {
		l.Events[0].Where.Refuse("event before a steady state", "event %s", l.Events[0].ID)
	}
}
