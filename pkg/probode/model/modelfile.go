package model

import (
	"math"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

func (f *files) modelFile(s *source.File, y *source.Node) *File {
	y.Mapping("the file", "name", "time", "parameters", "odes", "assignments", "functions", "observables", "conditions", "events", "doses", "inputs", "indices", "derived", "data")
	r := &modelReader{File: s, time: expr.Time, lambdas: map[string]*expr.Node{}}
	p := &File{Name: y.Word("name")}
	if p.Name == "" {
		p.Name = strings.TrimSuffix(path.Base(s.Name), path.Ext(s.Name))
	}
	m := &Model{Equations: equations.Equations{Name: p.Name}}
	p.Models = []*Model{m}
	if t := y.Get("time"); t != nil {
		t.Mapping("time", "variable", "unit", "start", "origin")
		if v := t.Word("variable"); v != "" {
			r.time = r.id(t.LineOf("variable"), "time variable", v)
		}
		m.TimeUnit, m.start, m.timeName = t.Word("unit"), t.Number("start", 0), r.time
		m.clock = readClock(t)
		r.clock = m.clock
	}
	r.indices(y)
	r.functions(y.List("functions"))
	for _, n := range y.List("parameters") {
		if q, layered := r.parameter(n); !layered {
			p.Params = append(p.Params, q)
		}
	}
	for _, n := range y.List("odes") {
		n.Mapping("an ODE", "stateId", "stateName", "rightHandSide", "initialValue", "unit")
		m.States = append(m.States, equations.State{ID: r.name(n, "stateId"), Name: n.Word("stateName"), Unit: n.Word("unit"),
			Init: r.formula(n, "initialValue"), Rate: r.formula(n, "rightHandSide"), Where: s.At(n.Line)})
	}
	if len(m.States) == 0 {
		s.Failf(y.LineOf("odes"), "no odes: want at least one")
	}
	for _, n := range y.List("assignments") {
		n.Mapping("an assignment", "assignmentId", "formula")
		m.Assignments = append(m.Assignments, equations.Assignment{ID: r.name(n, "assignmentId"), Formula: r.formula(n, "formula"), Where: s.At(n.Line)})
	}
	for _, n := range y.List("observables") {
		m.observables = append(m.observables, r.observable(n))
	}
	for _, n := range y.List("conditions") {
		n.Mapping("a condition")
		c := condition{id: r.id(n.LineOf("conditionId"), "conditionId", n.Must("a condition", "conditionId")), name: n.Word("conditionName"), where: s.At(n.Line)}
		for _, k := range n.Keys {
			if k == "conditionId" || k == "conditionName" || n.ByKey[k].Null {
				continue
			}
			c.set = append(c.set, setting{k, s.NumberOrID(n.LineOf(k), k, n.Word(k))})
		}
		m.conditions = append(m.conditions, c)
	}
	r.inputs(y, m)
	for _, key := range y.Keys { // in the order in which the file lists them, which matters for events at the same time
		switch key {
		case "events":
			for _, n := range y.List(key) {
				m.Events = append(m.Events, r.events(n)...)
			}
		case "doses":
			infused := map[int][]*expr.Node{}
			for _, n := range y.List(key) {
				r.dose(n, m, infused)
			}
			for i, rates := range infused { // a sum of their own, which stays the same until one begins or ends
				m.States[i].Base = m.States[i].Rate
				m.States[i].Rate = expr.Call("plus", m.States[i].Rate, expr.Call("plus", rates...))
			}
		}
	}
	tables := y.Tables("data")
	for i, table := range tables {
		if isNonmem(table) {
			r.nonmem(table.Table('#'), p, m)
			tables[i] = nil
		}
	}
	r.derivedFrom(y, p)
	r.setByEvents(p, m)
	r.addTimeAfterDose(m)
	r.addLayers(p, m)
	f.checkParams(p.Params)
	r.checkNames(p, m)
	m.checkUnits()
	m.Assignments = equations.Sort(m.Assignments)
	r.checkFixed(m)
	for _, table := range tables {
		if table != nil {
			m.Data = append(m.Data, readData(table, m)...)
		}
	}
	return p
}

func (r *modelReader) functions(list []*source.Node) {
	for _, n := range list {
		n.Mapping("a function", "functionId", "arguments", "formula")
		id := r.id(n.LineOf("functionId"), "functionId", n.Must("a function", "functionId"))
		if slices.Contains(r.callables, id) {
			r.Failf(n.Line, "function %s appears twice", id)
		}
		if expr.IsFunction(id) {
			r.Failf(n.LineOf("functionId"), "functionId is %s, which is a function of every formula: use another name", id)
		}
		r.callables = append(r.callables, id)
	}
	for _, n := range list {
		var args []string
		if a := n.Get("arguments"); a != nil && a.Kind == yaml.SequenceNode {
			for _, v := range a.Items {
				args = append(args, v.Text)
			}
		} else {
			args = strings.FieldsFunc(n.Word("arguments"), func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
		}
		for _, a := range args {
			r.id(n.LineOf("arguments"), "an argument", a)
		}
		body := r.File.Formula(n.LineOf("formula"), "formula", n.Must("a function", "formula"), r.callables...)
		l, err := expr.Lambda(args, body)
		if err != nil {
			r.Failf(n.LineOf("arguments"), "%v", err)
		}
		r.lambdas[n.Word("functionId")] = l
	}
}

// parameter reads a parameter: estimated if the key "estimate" is 1 or, without this key,
// if it has a bound or a prior. addLayers adds a layered one to the model later.
func (r *modelReader) parameter(n *source.Node) (p Parameter, layered bool) {
	n.Mapping("a parameter", "parameterId", "parameterName", "nominalValue", "parameterScale", "lowerBound", "upperBound", "estimate",
		"objectivePriorType", "objectivePriorParameters", "initializationPriorType", "initializationPriorParameters", "perCondition")
	nan := math.NaN()
	p = Parameter{ID: r.name(n, "parameterId"), name: n.Word("parameterName"), where: r.At(n.Line),
		Nominal: n.Number("nominalValue", nan), Lower: n.Number("lowerBound", nan), Upper: n.Number("upperBound", nan),
		Scale: readScale(r.File, n.LineOf("parameterScale"), "parameterScale", n.Word("parameterScale"))}
	p.start = readPrior(r.File, n.Line, n.Word("initializationPriorType"), n.Word("initializationPriorParameters"), &p, true)
	p.Estimate = n.Flag("estimate")
	if n.Word("estimate") == "" {
		p.Estimate = !math.IsNaN(p.Lower) || !math.IsNaN(p.Upper) || n.Word("objectivePriorType") != ""
	}
	layered = r.layer(n, &p)
	return p, layered
}

func (r *modelReader) observable(n *source.Node) observable {
	n.Mapping("an observable", "observableId", "observableName", "observableFormula", "observableTransformation",
		"increase", "lowerLimit", "upperLimit", "noiseFormula", "degreesOfFreedom", "noiseDistribution")
	o := observable{id: r.name(n, "observableId"), name: n.Word("observableName"), formula: r.formula(n, "observableFormula"),
		scale: readScale(r.File, n.LineOf("observableTransformation"), "observableTransformation", n.Word("observableTransformation")),
		distribution: readDistribution(r.File, n.LineOf("noiseDistribution"), n.Word("noiseDistribution"),
			normalNoise, laplaceNoise, studentNoise, poissonNoise, negativeBinomialNoise, binomialNoise), where: r.At(n.Line)}
	number := func(key string, wanted bool) *expr.Node {
		if !wanted {
			if n.Get(key) != nil {
				r.Failf(n.LineOf(key), "observable %s has a %s, which the distribution %s does not use", o.id, key, o.distribution)
			}
			return nil
		}
		return r.formula(n, key)
	}
	o.noise = number("noiseFormula", o.distribution != poissonNoise)
	o.freedom = number("degreesOfFreedom", o.distribution == studentNoise)
	o.increase = n.Flag("increase")
	o.limit, o.upper = r.limit(n, "lowerLimit", &o), r.limit(n, "upperLimit", &o)
	if o.limit != nil && o.upper != nil {
		if low, high := n.Number("lowerLimit", 0), n.Number("upperLimit", 0); !(low < high) {
			r.Failf(n.LineOf("upperLimit"), "upperLimit is %v, but lowerLimit is %v: want a larger upperLimit", high, low)
		}
	}
	if o.distribution.counts() && o.scale != Lin {
		r.Failf(n.LineOf("observableTransformation"), "observable %s has a discrete distribution, but its scale is %s: want lin", o.id, o.scale)
	}
	return o
}

func (r *modelReader) limit(n *source.Node, key string, o *observable) *expr.Node {
	v := n.Number(key, math.NaN())
	switch {
	case math.IsNaN(v):
		return nil
	case o.distribution.counts():
		r.Failf(n.LineOf(key), "observable %s has a discrete distribution, but %s requires a continuous distribution", o.id, key)
	case o.scale != Lin && !(v > 0):
		r.Failf(n.LineOf(key), "%s is %v, but the scale of %s is %s: want a limit > 0", key, v, o.id, o.scale)
	}
	return expr.Num(v)
}

// checkNames reports an ID with two meanings, and an event that sets an ID that is not a
// state.
func (r *modelReader) checkNames(p *File, m *Model) {
	seen := map[string]source.Where{}
	name := func(id string, w source.Where) {
		if at, twice := seen[id]; twice {
			w.Failf("%s appears twice, first on line %d", id, at.Line)
		}
		if slices.Contains(r.callables, id) {
			w.Failf("%s is also the name of a function: use another name", id)
		}
		if r.Names.Ranges[id] > 0 {
			w.Failf("%s is also the name of an index: use another name", id)
		}
		seen[id] = w
	}
	for _, q := range p.Params {
		name(q.ID, q.where)
	}
	states := map[string]bool{}
	for _, x := range m.States {
		name(x.ID, x.Where)
		states[x.ID] = true
	}
	for _, a := range m.Assignments {
		name(a.ID, a.Where)
	}
	for _, u := range m.inputs {
		name(u.id, u.where)
	}
	for _, o := range m.observables {
		name(o.id, o.where)
	}
	for _, q := range p.derived {
		name(q.ID, q.Where)
	}
	for _, e := range m.Events {
		name(e.ID, e.Where)
		for _, j := range e.Jumps {
			if !states[j.State] {
				e.Where.Failf("event %s sets %s, which is not a state", e.ID, j.State)
			}
		}
	}
}
