package model

import (
	"math"
	"path"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode/model/expr"
	"go.yaml.in/yaml/v3"
)

// modelFile reads our own format: the words of yaml2sbml with name, data and
// events added. The page MODELFILE.md beside this file describes it.
func (f *files) modelFile(s *source, y *node) *Problem {
	y.mapping("the file", "name", "time", "parameters", "odes", "assignments", "functions", "observables", "conditions", "events", "data")
	r := &modelReader{source: s, time: TimeSymbol, lambdas: map[string]*expr.Node{}}
	p := &Problem{Name: y.word("name")}
	if p.Name == "" {
		p.Name = strings.TrimSuffix(path.Base(s.name), path.Ext(s.name))
	}
	m := &Model{Name: p.Name}
	p.Models = []*Model{m}
	if t := y.get("time"); t != nil {
		t.mapping("time", "variable", "unit", "start")
		if v := t.word("variable"); v != "" {
			r.time = r.id(t.lineOf("variable"), "time variable", v)
		}
		m.TimeUnit, m.Start, m.timeName = t.word("unit"), t.number("start", 0), r.time
	}
	r.functions(y.list("functions"))
	for _, n := range y.list("parameters") {
		p.Params = append(p.Params, r.parameter(n))
	}
	f.checkParams(p.Params)
	for _, n := range y.list("odes") {
		n.mapping("an ODE", "stateId", "stateName", "rightHandSide", "initialValue", "unit")
		m.States = append(m.States, State{ID: r.name(n, "stateId"), Name: n.word("stateName"), Unit: n.word("unit"),
			Init: r.formula(n, "initialValue"), Rate: r.formula(n, "rightHandSide"), Where: s.at(n.line)})
	}
	if len(m.States) == 0 {
		s.failf(y.lineOf("odes"), "no odes: want one at least")
	}
	for _, n := range y.list("assignments") {
		n.mapping("an assignment", "assignmentId", "formula")
		m.Assignments = append(m.Assignments, Assignment{ID: r.name(n, "assignmentId"), Formula: r.formula(n, "formula"), Where: s.at(n.line)})
	}
	for _, n := range y.list("observables") {
		m.Observables = append(m.Observables, r.observable(n))
	}
	for _, n := range y.list("conditions") {
		n.mapping("a condition")
		c := Condition{ID: r.id(n.lineOf("conditionId"), "conditionId", n.must("a condition", "conditionId")), Name: n.word("conditionName"), Where: s.at(n.line)}
		for _, k := range n.keys {
			if k == "conditionId" || k == "conditionName" || n.byKey[k].null {
				continue
			}
			c.Set = append(c.Set, Setting{k, s.numberOrID(n.lineOf(k), k, n.word(k))})
		}
		m.Conditions = append(m.Conditions, c)
	}
	for _, n := range y.list("events") {
		m.Events = append(m.Events, r.events(n)...)
	}
	r.checkNames(p, m)
	m.Assignments = sortAssignments(m.Assignments)
	for _, name := range y.measurements("data") {
		m.Data = append(m.Data, f.data(name, m)...)
	}
	return p
}

// A modelReader reads the formulas of one model file.
type modelReader struct {
	*source
	time      string // what formulas call the time
	lambdas   map[string]*expr.Node
	callables []string
}

// id stops unless v can be a name in formulas.
func (r *modelReader) id(line int, what, v string) string {
	if !isID(v) || expr.Reserved(v) {
		r.failf(line, "%s is %q: want letters, digits and _, no digit first, and not a word such as inf or and", what, v)
	}
	return v
}

// name returns the ID under a key.
func (r *modelReader) name(n *node, key string) string {
	v := r.id(n.lineOf(key), key, n.must("an entry", key))
	if v == r.time || v == TimeSymbol {
		r.failf(n.lineOf(key), "%s is %s, which is the time: want another", key, v)
	}
	return v
}

// formula reads the formula under a key that may not be absent.
func (r *modelReader) formula(n *node, key string) *expr.Node {
	return r.finish(n.lineOf(key), key, r.source.formula(n.lineOf(key), key, n.must("an entry", key), r.callables...))
}

// finish puts functions in and gives the time the name that it has everywhere.
func (r *modelReader) finish(line int, key string, e *expr.Node) *expr.Node {
	e, err := e.Expand(r.lambdas)
	if err != nil {
		r.failMathOf(line, key, err)
	}
	if e.Boolean() {
		r.failf(line, "%s is a condition: want a number", key)
	}
	if r.time != TimeSymbol {
		if slices.Contains(e.Symbols(), TimeSymbol) {
			r.failf(line, "%s uses %s: the time is called %s in this file", key, TimeSymbol, r.time)
		}
		e = e.Substitute(map[string]*expr.Node{r.time: expr.Sym(TimeSymbol)})
	}
	return e
}

// functions reads what formulas may call.
func (r *modelReader) functions(list []*node) {
	for _, n := range list {
		n.mapping("a function", "functionId", "arguments", "formula")
		id := r.id(n.lineOf("functionId"), "functionId", n.must("a function", "functionId"))
		if slices.Contains(r.callables, id) {
			r.failf(n.line, "function %s appears twice", id)
		}
		r.callables = append(r.callables, id)
	}
	for _, n := range list {
		var args []string
		if a := n.get("arguments"); a != nil && a.kind == yaml.SequenceNode {
			for _, v := range a.items {
				args = append(args, v.text)
			}
		} else {
			args = strings.FieldsFunc(n.word("arguments"), func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
		}
		for _, a := range args {
			r.id(n.lineOf("arguments"), "an argument", a)
		}
		body := r.source.formula(n.lineOf("formula"), "formula", n.must("a function", "formula"), r.callables...)
		l, err := expr.Lambda(args, body)
		if err != nil {
			r.failf(n.lineOf("arguments"), "%v", err)
		}
		r.lambdas[n.word("functionId")] = l
	}
}

// parameter reads a parameter. It is estimated if the file says so or, where it
// says nothing, if it has bounds or a prior.
func (r *modelReader) parameter(n *node) Param {
	n.mapping("a parameter", "parameterId", "parameterName", "nominalValue", "parameterScale", "lowerBound", "upperBound", "estimate",
		"objectivePriorType", "objectivePriorParameters", "initializationPriorType", "initializationPriorParameters")
	nan := math.NaN()
	p := Param{ID: r.name(n, "parameterId"), Name: n.word("parameterName"), Where: r.at(n.line),
		Nominal: n.number("nominalValue", nan), Lower: n.number("lowerBound", nan), Upper: n.number("upperBound", nan),
		Scale: r.scale(n.lineOf("parameterScale"), "parameterScale", n.word("parameterScale"))}
	p.Prior = r.prior(n.line, n.word("objectivePriorType"), n.word("objectivePriorParameters"), &p, false)
	p.Start = r.prior(n.line, n.word("initializationPriorType"), n.word("initializationPriorParameters"), &p, true)
	switch e := n.word("estimate"); e {
	case "":
		p.Estimate = !math.IsNaN(p.Lower) || !math.IsNaN(p.Upper) || p.Prior.Type != ""
	case "1", "true":
		p.Estimate = true
	case "0", "false":
	default:
		r.failf(n.lineOf("estimate"), "estimate is %q: want 1 or 0", e)
	}
	return p
}

// observable reads an observable.
func (r *modelReader) observable(n *node) Observable {
	n.mapping("an observable", "observableId", "observableName", "observableFormula", "observableTransformation",
		"noiseFormula", "degreesOfFreedom", "noiseDistribution")
	o := Observable{ID: r.name(n, "observableId"), Name: n.word("observableName"), Formula: r.formula(n, "observableFormula"),
		Scale: r.scale(n.lineOf("observableTransformation"), "observableTransformation", n.word("observableTransformation")),
		Distribution: r.distribution(n.lineOf("noiseDistribution"), n.word("noiseDistribution"),
			Normal, Laplace, Student, Poisson, NegativeBinomial), Where: r.at(n.line)}
	number := func(key string, wanted bool) *expr.Node {
		if !wanted {
			if n.get(key) != nil {
				r.failf(n.lineOf(key), "observable %s has a %s, which the distribution %s does not have", o.ID, key, o.Distribution)
			}
			return nil
		}
		return r.formula(n, key)
	}
	o.Noise = number("noiseFormula", o.Distribution != Poisson)
	o.Freedom = number("degreesOfFreedom", o.Distribution == Student)
	if o.Distribution.counts() && o.Scale != Lin {
		r.failf(n.lineOf("observableTransformation"), "observable %s has counts on the scale %s: want lin", o.ID, o.Scale)
	}
	return o
}

// maxEvents bounds count of an event.
const maxEvents = 10000

// events reads an event, once for each time that it happens.
func (r *modelReader) events(n *node) []Event {
	n.mapping("an event", "eventId", "time", "every", "count", "assignments")
	id := r.name(n, "eventId")
	at := r.formula(n, "time")
	list := n.get("assignments")
	if list == nil {
		r.failf(n.line, "event %s has no assignments", id)
	}
	list.mapping("assignments")
	var jumps []Jump
	for _, k := range list.keys {
		jumps = append(jumps, Jump{k, r.formula(list, k)})
	}
	count := 1
	var every *expr.Node
	if n.get("every") != nil || n.get("count") != nil {
		every = r.formula(n, "every")
		if v, ok := every.Const(); ok && !(v > 0) {
			r.failf(n.lineOf("every"), "every is %v: want a positive number or a formula of parameters", v)
		}
		c := n.number("count", math.NaN())
		if !(c >= 1 && c <= maxEvents) || c != math.Trunc(c) {
			r.failf(n.lineOf("count"), "count is %q: want a whole number from 1 to %d", n.word("count"), maxEvents)
		}
		count = int(c)
	}
	events := make([]Event, count)
	for i := range events {
		e := Event{ID: id, Time: at, Jumps: jumps, Early: AtStart, Where: r.at(n.line)}
		if count > 1 {
			e.ID += "_" + itoa(i+1)
		}
		if i > 0 {
			e.Time = expr.Call("plus", at, expr.Call("times", expr.Num(float64(i)), every))
		}
		events[i] = e
	}
	return events
}

// checkNames stops at an ID that means two things, and at an event that sets
// what is no state.
func (r *modelReader) checkNames(p *Problem, m *Model) {
	seen := map[string]Where{}
	name := func(id string, w Where) {
		if at, twice := seen[id]; twice {
			w.failf("%s appears twice: first in line %d", id, at.Line)
		}
		if slices.Contains(r.callables, id) {
			w.failf("%s is a function, too: want another name", id)
		}
		seen[id] = w
	}
	for _, q := range p.Params {
		name(q.ID, q.Where)
	}
	states := map[string]bool{}
	for _, x := range m.States {
		name(x.ID, x.Where)
		states[x.ID] = true
	}
	for _, a := range m.Assignments {
		name(a.ID, a.Where)
	}
	for _, o := range m.Observables {
		name(o.ID, o.Where)
	}
	for _, e := range m.Events {
		name(e.ID, e.Where)
		for _, j := range e.Jumps {
			if !states[j.State] {
				e.Where.failf("event %s sets %s, which is no state", e.ID, j.State)
			}
		}
	}
}
