package model

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// WriteYAML writes p, for example a PEtab problem, as a model file with a table of data.
// WriteYAML writes the files to the folder dir, and creates the folder if necessary. The
// returned path of the model file begins with dir.
//
// It is an error if a model file cannot express something in p: several models; an event
// that happens after a measurement at the same time; a constant whose initial value
// depends on the state; a condition that sets a concentration in a compartment whose size
// changes, or a name that a formula defines; in a problem with preequilibrations, a
// condition that sets a species with a constant amount; or a name that has a special
// meaning.
func (p *File) WriteYAML(dir string) (name string, err error) {
	if len(p.Models) != 1 {
		return "", fmt.Errorf("model: %s has %d models: a model file has exactly one", p.Name, len(p.Models))
	}
	w := &yamlWriter{m: p.Models[0], params: slices.Clone(p.Params), derived: p.derived}
	text, err := w.file(p.Name)
	if err != nil {
		return "", fmt.Errorf("model: %w", err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "model.yaml"), text, 0o666); err != nil {
		return "", err
	}
	if len(w.m.Data) > 0 {
		if err := os.WriteFile(filepath.Join(dir, "measurements.tsv"), w.m.dataRows(), 0o666); err != nil {
			return "", err
		}
	}
	// Check that Load can read the file, so that an error is reported now and not when
	// the file is used.
	name = filepath.Join(dir, "model.yaml")
	if _, err := Load(name); err != nil {
		return "", fmt.Errorf("model: %s cannot be written as a model file: %w", p.Name, err)
	}
	return name, nil
}

type yamlWriter struct {
	m           *Model
	params      []Parameter
	derived     []equations.Assignment
	assignments []equations.Assignment
	events      []equations.Event
}

// mapping is written on one line.
type mapping struct{ yaml.Node }

func (e *mapping) add(key, value string) {
	if value == "" {
		return
	}
	e.Kind, e.Style = yaml.MappingNode, yaml.FlowStyle
	v := &yaml.Node{Kind: yaml.ScalarNode, Value: value}
	if _, err := strconv.ParseFloat(value, 64); err != nil {
		v.Tag = "!!str" // quotes null, which can be a name
	}
	e.Content = append(e.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, v)
}

func (e *mapping) number(key string, v float64) {
	if !math.IsNaN(v) {
		e.add(key, numberText(v))
	}
}

func (e *mapping) formula(key string, n *expr.Node) {
	if n != nil {
		e.add(key, n.String())
	}
}

func (w *yamlWriter) file(name string) ([]byte, error) {
	m := w.m
	if len(m.periods) > 0 || len(m.given) > 0 || len(m.steady) > 0 || slices.ContainsFunc(m.inputs, func(u input) bool { return !expr.IsID(u.id) }) {
		return nil, fmt.Errorf("%s has an experiment with several periods, a table of doses or a dose at steady state, which cannot be written", name)
	}
	if err := w.constants(); err != nil {
		return nil, err
	}
	root := &yaml.Node{Kind: yaml.MappingNode}
	set := func(key string, v *yaml.Node) {
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, v)
	}
	list := func(key string, n int, of func(i int, e *mapping)) {
		if n == 0 {
			return
		}
		items := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range n {
			e := new(mapping)
			of(i, e)
			items.Content = append(items.Content, &e.Node)
		}
		set(key, items)
	}
	scale := func(s Scale) string {
		if s == Lin {
			return ""
		}
		return string(s)
	}
	set("name", &yaml.Node{Kind: yaml.ScalarNode, Value: name})
	if time := new(mapping); m.TimeUnit != "" || m.start != 0 {
		time.add("unit", m.TimeUnit)
		time.number("start", m.start)
		set("time", &time.Node)
	}
	list("parameters", len(w.params), func(i int, e *mapping) {
		q := &w.params[i]
		e.add("parameterId", q.ID)
		e.add("parameterName", q.name)
		e.number("nominalValue", q.Nominal)
		if !q.Estimate {
			e.add("estimate", "0")
			return
		}
		e.number("lowerBound", q.Lower)
		e.number("upperBound", q.Upper)
		e.add("parameterScale", scale(q.Scale))
		e.add("objectivePriorType", q.Prior.Type)
		e.add("objectivePriorParameters", q.Prior.text())
		e.add("initializationPriorType", q.start.Type)
		e.add("initializationPriorParameters", q.start.text())
		e.add("estimate", "1")
	})
	list("odes", len(m.States), func(i int, e *mapping) {
		s := &m.States[i]
		e.add("stateId", s.ID)
		e.add("stateName", s.Name)
		e.formula("rightHandSide", s.Rate)
		e.formula("initialValue", s.Init)
		e.add("unit", s.Unit)
	})
	list("assignments", len(w.assignments), func(i int, e *mapping) {
		e.add("assignmentId", w.assignments[i].ID)
		e.formula("formula", w.assignments[i].Formula)
	})
	list("events", len(w.events), func(i int, e *mapping) {
		v := &w.events[i]
		jumps := new(mapping)
		for _, j := range v.Jumps {
			jumps.formula(j.State, j.Value)
		}
		e.add("eventId", v.ID)
		e.formula("time", v.Time)
		e.formula("trigger", v.Trigger)
		e.formula("priority", v.Priority)
		if v.Trigger != nil && v.Early == equations.Late {
			e.add("atStart", "1")
		}
		e.Content = append(e.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "assignments"}, &jumps.Node)
	})
	if len(m.inputs) > 0 {
		inputs := &yaml.Node{Kind: yaml.MappingNode}
		for i := range m.inputs {
			e := new(mapping)
			file, kind := m.inputs[i].table()
			e.add("file", file)
			e.add("interpolation", kind)
			inputs.Content = append(inputs.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: m.inputs[i].id}, &e.Node)
		}
		set("inputs", inputs)
	}
	if w.derived != nil {
		e := new(mapping)
		for _, q := range w.derived {
			e.formula(q.ID, q.Formula)
		}
		set("derived", &e.Node)
	}
	list("observables", len(m.observables), func(i int, e *mapping) {
		o := &m.observables[i]
		e.add("observableId", o.id)
		e.add("observableName", o.name)
		e.formula("observableFormula", o.formula)
		e.add("observableTransformation", scale(o.scale))
		e.formula("noiseFormula", o.noise)
		e.formula("degreesOfFreedom", o.freedom)
		e.formula("lowerLimit", o.limit)
		e.formula("upperLimit", o.upper)
		if o.increase {
			e.add("increase", "1")
		}
		if o.distribution != normalNoise {
			e.add("noiseDistribution", string(o.distribution))
		}
	})
	conditions := m.conditions
	if len(conditions) == 0 {
		conditions = []condition{{id: onlyCondition}} // which the table of measurements names
	}
	list("conditions", len(conditions), func(i int, e *mapping) {
		c := &conditions[i]
		e.add("conditionId", c.id)
		e.add("conditionName", c.name)
		for _, s := range c.set {
			e.add(s.id, settingText(s.value))
		}
	})
	if len(m.Data) > 0 {
		set("data", &yaml.Node{Kind: yaml.ScalarNode, Value: "measurements.tsv"})
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := enc.Encode(root)
	return b.Bytes(), err
}

// constants writes constants as parameters and assignments, or refuses what a model file
// cannot express.
func (w *yamlWriter) constants() error {
	m := w.m
	w.assignments = slices.Clone(m.Assignments)
	fixed := idsOf(w.params) // names whose value does not change during an experiment
	for i := range m.Constants {
		fixed[m.Constants[i].ID] = true
	}
	for _, e := range m.Events {
		if e.Trigger != nil {
			w.events = append(w.events, e)
			continue
		}
		at, ok := e.Time.Const()
		switch {
		case e.After:
			return fmt.Errorf("event %s and a measurement happen at the same time, and the event is applied after the measurement", e.ID)
		case e.Early == equations.AtStart || ok && at > m.start || ok && at == m.start && e.Early == equations.Late:
		case e.Early == equations.Missed: // an event before the start does not happen
			e.Time = expr.Call("piecewise", e.Time, expr.Call("gt", e.Time, expr.Num(m.start)), expr.Num(m.start-1))
		default: // a late event happens at the start
			e.Time = expr.Call("max", expr.Num(m.start), e.Time)
		}
		w.events = append(w.events, e)
	}
	preequilibrated := slices.ContainsFunc(m.Data, func(d Observation) bool { return d.Preequilibration != "" })
	for i := range m.Constants {
		k := &m.Constants[i]
		if slices.ContainsFunc(w.params, func(q Parameter) bool { return q.ID == k.ID }) {
			continue
		}
		setBy := 0
		for _, c := range m.conditions {
			if slices.ContainsFunc(c.set, func(s setting) bool { return s.id == k.ID }) {
				setBy++
			}
		}
		if k.Kept && preequilibrated && setBy > 0 {
			return fmt.Errorf("%s is set by a condition and keeps its value after preequilibration: a model file cannot express this", k.ID)
		}
		nominal := math.NaN()
		switch v, number := constOf(k.Value); {
		case number:
			nominal = v
		case k.Value == nil && setBy == len(m.conditions):
			nominal = 0 // never used
		case k.Value == nil:
			return fmt.Errorf("%s has no default value, and some conditions do not set it", k.ID)
		}
		if !math.IsNaN(nominal) {
			w.params = append(w.params, Parameter{ID: k.ID, Nominal: nominal})
			continue
		}
		for _, s := range k.Value.Symbols() {
			if !fixed[s] && !builtIn(s) || s == expr.Time {
				return fmt.Errorf("the value of the constant %s depends on %s", k.ID, s)
			}
		}
		if setBy > 0 {
			return fmt.Errorf("%s is set both by a formula and by a condition", k.ID)
		}
		w.assignments = append(w.assignments, equations.Assignment{ID: k.ID, Formula: k.Value})
	}
	for _, s := range m.States {
		for _, c := range m.conditions {
			if s.Of != "" && slices.ContainsFunc(c.set, func(v setting) bool { return v.id == s.Of }) {
				return fmt.Errorf("condition %s sets the concentration %s in a compartment whose size changes", c.id, s.Of)
			}
		}
	}
	return nil
}

func constOf(n *expr.Node) (float64, bool) {
	if n == nil {
		return math.NaN(), false
	}
	return n.Const()
}

// dataRows returns the table of measurements, without optional columns that would be
// empty.
func (m *Model) dataRows() []byte {
	type col struct {
		name string
		get  func(i int) string
		all  bool
	}
	cols := []col{
		{"observableId", func(i int) string { return m.Data[i].Observable }, true},
		{"preequilibrationConditionId", func(i int) string { return m.Data[i].Preequilibration }, false},
		{"simulationConditionId", func(i int) string {
			if c := m.Data[i].Condition; c != "" {
				return c
			}
			return onlyCondition
		}, true},
		{"measurement", func(i int) string { return numberText(m.Data[i].Value) }, true},
		{"time", func(i int) string {
			if math.IsInf(m.Data[i].Time, 1) {
				return "inf"
			}
			return numberText(m.Data[i].Time)
		}, true},
		{"observableParameters", func(i int) string { return overrideText(m.Data[i].observableParams) }, false},
		{"noiseParameters", func(i int) string { return overrideText(m.Data[i].noiseParams) }, false},
		{"measurementType", func(i int) string {
			if m.Data[i].within != nil {
				return "interval-censored"
			}
			return ""
		}, false},
		{"censoringBounds", func(i int) string {
			if w := m.Data[i].within; w != nil {
				return numberText(w[0]) + ";" + numberText(w[1])
			}
			return ""
		}, false},
		{"datasetId", func(i int) string { return m.Data[i].dataset }, false},
		{"replicateId", func(i int) string { return m.Data[i].replicate }, false},
	}
	cols = slices.DeleteFunc(cols, func(c col) bool {
		for i := range m.Data {
			if c.get(i) != "" {
				return false
			}
		}
		return !c.all
	})
	rows := make([][]string, 1+len(m.Data))
	for _, c := range cols {
		rows[0] = append(rows[0], c.name)
		for i := range m.Data {
			rows[1+i] = append(rows[1+i], c.get(i))
		}
	}
	return source.TSV(rows)
}

// onlyCondition is the ID of the only condition in the table of a model without
// conditions.
const onlyCondition = "condition1"

func overrideText(list []*expr.Node) string {
	var out []string
	for _, n := range list {
		out = append(out, settingText(n))
	}
	return strings.Join(out, ";")
}

func settingText(n *expr.Node) string {
	if v, ok := n.Const(); ok {
		return numberText(v)
	}
	if id, ok := n.Symbol(); ok {
		return id
	}
	return n.String()
}

func numberText(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func (q Prior) text() string {
	if q.Type == "" {
		return ""
	}
	if f := familyNamed(q.Type); f.one() {
		return numberText(q.A)
	}
	return numberText(q.A) + ";" + numberText(q.B)
}
