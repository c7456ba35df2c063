package model

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode/model/expr"
)

// petab reads a problem of PEtab 1 from its YAML file.
func (f *files) petab(s *source, y *node) *Problem {
	y.mapping("the file", "format_version", "parameter_file", "problems", "extensions")
	if v := y.must("the file", "format_version"); v != "1" && v != "1.0" && v != "1.0.0" {
		s.refuse(y.lineOf("format_version"), "PEtab "+v, "want format_version 1")
	}
	if e := y.get("extensions"); e != nil && len(e.keys)+len(e.items) > 0 {
		s.refuse(e.line, "PEtab extension", "want none")
	}
	p := &Problem{Name: strings.TrimSuffix(path.Base(s.name), path.Ext(s.name))}
	parameterFiles := y.list("parameter_file")
	if len(parameterFiles) == 0 {
		s.failf(y.line, "no parameter_file")
	}
	for _, n := range parameterFiles {
		p.Params = append(p.Params, f.parameterTable(f.readTable(n.file()))...)
	}
	f.checkParams(p.Params)
	problems := y.list("problems")
	if len(problems) == 0 {
		s.failf(y.line, "no problems")
	}
	for _, q := range problems {
		q.mapping("a problem", "sbml_files", "measurement_files", "condition_files", "observable_files", "visualization_files", "mapping_files", "model_files")
		for _, k := range []string{"mapping_files", "model_files"} {
			if len(q.list(k)) > 0 {
				s.refuse(q.lineOf(k), "PEtab "+k, "want PEtab 1 with SBML")
			}
		}
		sbmls := q.list("sbml_files")
		if len(sbmls) != 1 {
			s.failf(q.line, "%d sbml_files: want one", len(sbmls))
		}
		m := f.readSBML(sbmls[0].file())
		for _, n := range q.list("observable_files") {
			m.Observables = append(m.Observables, f.observableTable(f.readTable(n.file()))...)
		}
		for _, n := range q.list("condition_files") {
			m.Conditions = append(m.Conditions, f.conditionTable(f.readTable(n.file()))...)
		}
		for _, name := range q.measurements("measurement_files") {
			m.Data = append(m.Data, f.measurementTable(f.readTable(name), m, true)...)
		}
		notInBoth(p.Params, m.Conditions)
		p.Models = append(p.Models, m)
	}
	return p
}

// notInBoth stops at a parameter that the parameter table and a condition give.
func notInBoth(params []Param, conditions []Condition) {
	in := map[string]bool{}
	for _, q := range params {
		in[q.ID] = true
	}
	for _, c := range conditions {
		for _, s := range c.Set {
			if in[s.ID] {
				c.Where.failf("condition %s sets %s, which is in the parameter table: want it in one of them", c.ID, s.ID)
			}
		}
	}
}

// file is the name of a file that a YAML file refers to.
func (n *node) file() string {
	switch {
	case n.text == "":
		n.s.failf(n.line, "a file name is empty")
	case strings.Contains(n.text, "://"):
		n.s.refuse(n.line, "file at a URL", "%s: want a file beside this one", n.text)
	}
	return n.text
}

// measurements returns the files of a key, each of which may be there once: it would
// count twice as evidence.
func (n *node) measurements(key string) []string {
	var names []string
	for _, one := range n.list(key) {
		name := path.Clean(one.file())
		if slices.Contains(names, name) {
			n.s.failf(one.line, "%s has %s twice: want each file once", key, name)
		}
		names = append(names, name)
	}
	return names
}

// extraColumns warns of columns that PEtab does not know.
func (t *table) extraColumns(known ...string) {
	is := map[string]bool{}
	for _, k := range known {
		is[k] = true
	}
	for _, c := range t.columns {
		if !is[c] {
			t.warnf(1, "column %s is not one of PEtab's and is not read", c)
		}
	}
}

// parameterTable reads a table of parameters.
func (f *files) parameterTable(t *table) []Param {
	t.need("parameterId", "parameterScale", "lowerBound", "upperBound", "estimate")
	t.extraColumns("parameterId", "parameterName", "parameterScale", "lowerBound", "upperBound", "nominalValue", "estimate",
		"objectivePriorType", "objectivePriorParameters", "initializationPriorType", "initializationPriorParameters", "priorType", "priorParameters")
	var list []Param
	for _, r := range t.rows {
		p := Param{ID: r.must("parameterId"), Name: r.get("parameterName"), Where: t.at(r.line),
			Lower: r.numberOr("lowerBound"), Upper: r.numberOr("upperBound"), Nominal: r.numberOr("nominalValue"),
			Scale: t.scale(r.line, "parameterScale", r.must("parameterScale"))}
		switch e := r.must("estimate"); e {
		case "1", "1.0", "true", "True", "TRUE":
			p.Estimate = true
		case "0", "0.0", "false", "False", "FALSE":
		default:
			t.failf(r.line, "estimate is %q: want 1 or 0", e)
		}
		for _, old := range []string{"priorType", "priorParameters"} {
			if r.get(old) != "" {
				t.failf(r.line, "column %s is of a draft of PEtab: want objectivePriorType and objectivePriorParameters", old)
			}
		}
		p.Prior = t.prior(r.line, r.get("objectivePriorType"), r.get("objectivePriorParameters"), &p, true)
		p.Start = t.prior(r.line, r.get("initializationPriorType"), r.get("initializationPriorParameters"), &p, true)
		list = append(list, p)
	}
	return list
}

// numberOr returns the finite number of a cell, NaN if it is empty.
func (r row) numberOr(column string) float64 {
	if r.get(column) == "" {
		return math.NaN()
	}
	return r.number(column)
}

func (s *source) scale(line int, what, v string) Scale {
	switch sc := Scale(v); sc {
	case Lin, Log, Log10:
		return sc
	case "":
		return Lin
	}
	s.failf(line, "%s is %q: want lin, log or log10", what, v)
	return ""
}

// checkParams stops at parameters that cannot be estimated or used.
func (f *files) checkParams(list []Param) {
	first := map[string]Where{}
	for _, p := range list {
		w := p.Where
		if !isID(p.ID) {
			w.failf("parameter id %q: want letters, digits and _, no digit first", p.ID)
		}
		if p.ID == TimeSymbol || expr.Reserved(p.ID) {
			w.failf("parameter id %s has a meaning of its own in formulas: want another", p.ID)
		}
		if at, twice := first[p.ID]; twice {
			w.failf("parameter %s appears twice: first in line %d of %s", p.ID, at.Line, at.File)
		}
		first[p.ID] = w
		if !p.Estimate {
			if math.IsNaN(p.Nominal) {
				w.failf("parameter %s is not estimated and has no nominalValue", p.ID)
			}
			continue
		}
		switch {
		case math.IsNaN(p.Lower) || math.IsNaN(p.Upper):
			if p.Prior.Type == "" {
				w.failf("parameter %s is estimated and lacks a bound: want lowerBound and upperBound, or a prior", p.ID)
			}
		case !(p.Lower < p.Upper):
			w.failf("parameter %s has the bounds %v and %v: want the lower one first", p.ID, p.Lower, p.Upper)
		case p.Scale != Lin && p.Lower < 0:
			w.failf("parameter %s has the lower bound %v on a logarithmic scale: want it positive", p.ID, p.Lower)
		}
		if p.Nominal < p.Lower || p.Nominal > p.Upper || p.Scale != Lin && p.Nominal <= 0 {
			f.warnings = append(f.warnings, fmt.Sprintf("%s:%d: the nominal value %v of %s is not one that can be estimated", w.File, w.Line, p.Nominal, p.ID))
		}
	}
}

// observableTable reads a table of observables.
func (f *files) observableTable(t *table) []Observable {
	t.need("observableId", "observableFormula", "noiseFormula")
	t.extraColumns("observableId", "observableName", "observableFormula", "noiseFormula", "observableTransformation", "noiseDistribution")
	var list []Observable
	for _, r := range t.rows {
		list = append(list, Observable{ID: r.id("observableId"), Name: r.get("observableName"), Where: t.at(r.line),
			Formula:      t.formula(r.line, "observableFormula", r.must("observableFormula")),
			Noise:        t.formula(r.line, "noiseFormula", r.must("noiseFormula")),
			Scale:        t.scale(r.line, "observableTransformation", r.get("observableTransformation")),
			Distribution: t.distribution(r.line, r.get("noiseDistribution"), Normal, Laplace)})
	}
	return list
}

// formula parses a formula.
func (s *source) formula(line int, what, text string, functions ...string) *expr.Node {
	n, err := expr.Parse(text, functions...)
	if err != nil {
		s.failMathOf(line, what, err)
	}
	if n.Boolean() {
		s.failf(line, "%s %q is a condition: want a number", what, text)
	}
	return n
}

// id returns a cell that is an ID.
func (r row) id(column string) string {
	id := r.must(column)
	if !isID(id) {
		r.t.failf(r.line, "%s is %q: want letters, digits and _, no digit first", column, id)
	}
	return id
}

// conditionTable reads a table of conditions; empty cells set nothing.
func (f *files) conditionTable(t *table) []Condition {
	t.need("conditionId")
	var list []Condition
	for _, r := range t.rows {
		c := Condition{ID: r.must("conditionId"), Name: r.get("conditionName"), Where: t.at(r.line)}
		for _, col := range t.columns[:len(r.cells)] {
			if col == "conditionId" || col == "conditionName" {
				continue
			}
			if v := r.get(col); v != "" {
				c.Set = append(c.Set, Setting{col, t.numberOrID(r.line, col, v)})
			}
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		t.failf(0, "no conditions: want one row at least")
	}
	return list
}

// numberOrID reads a finite number or an ID.
func (s *source) numberOrID(line int, what, v string) *expr.Node {
	if x, err := parseNumber(v); err == nil && !math.IsInf(x, 0) {
		return expr.Num(x)
	}
	if !isID(v) || expr.Reserved(v) {
		s.failf(line, "%s is %q: want a finite number or the ID of a parameter", what, v)
	}
	return expr.Sym(v)
}

// measurementTable reads a table of measurements. Conditions are named in it
// unless the problem has none.
func (f *files) measurementTable(t *table, m *Model, conditions bool) []Measurement {
	t.need("observableId", "measurement", "time")
	if conditions {
		t.need("simulationConditionId")
	}
	for _, c := range t.columns {
		switch c {
		case "observableId", "simulationConditionId", "preequilibrationConditionId", "measurement", "time",
			"observableParameters", "noiseParameters", "datasetId", "replicateId", "observableTransformation", "noiseDistribution":
		default:
			t.warnf(1, "column %s is not one of PEtab's and is not read", c)
		}
	}
	byID := map[string]*Observable{}
	for i := range m.Observables {
		byID[m.Observables[i].ID] = &m.Observables[i]
	}
	var list []Measurement
	for _, r := range t.rows {
		d := Measurement{Observable: r.must("observableId"), Condition: r.get("simulationConditionId"),
			Preequilibration: r.get("preequilibrationConditionId"), Dataset: r.get("datasetId"), Replicate: r.get("replicateId"),
			Value: r.number("measurement"), Where: t.at(r.line)}
		if conditions {
			r.must("simulationConditionId")
		}
		o := byID[d.Observable]
		if o == nil {
			t.failf(r.line, "observable %s is not defined", d.Observable)
		}
		d.Time = t.time(r.line, r.must("time"), m.Start)
		checkValue(d, o)
		// Drafts of PEtab had these columns here. They may repeat what the
		// table of observables says, not contradict it.
		if v := r.get("observableTransformation"); v != "" && Scale(v) != o.Scale {
			t.failf(r.line, "observableTransformation is %s here and %s in the table of observables", v, o.Scale)
		}
		if v := r.get("noiseDistribution"); v != "" && Distribution(v) != o.Distribution {
			t.failf(r.line, "noiseDistribution is %s here and %s in the table of observables", v, o.Distribution)
		}
		d.ObservableParams = t.overrides(r.line, "observableParameters", r.get("observableParameters"))
		d.NoiseParams = t.overrides(r.line, "noiseParameters", r.get("noiseParameters"))
		list = append(list, d)
	}
	return list
}

// time reads the time of a measurement: not before the start, or inf for the steady state.
func (s *source) time(line int, text string, start float64) float64 {
	v, err := parseNumber(text)
	if err != nil || v < start {
		s.failf(line, "time is %q: want a number ≥ %v, where the model starts, or inf", text, start)
	}
	return v
}

// overrides reads numbers and IDs with ; between them.
func (s *source) overrides(line int, what, text string) []*expr.Node {
	if text == "" {
		return nil
	}
	var list []*expr.Node
	for _, v := range strings.Split(text, ";") {
		list = append(list, s.numberOrID(line, what, strings.TrimSpace(v)))
	}
	return list
}

var placeholderRE = regexp.MustCompile(`^(observable|noise)Parameter[1-9][0-9]*_`)

// isPlaceholder says whether a name stands for what the rows of an observable
// give; that of another observable is a name like any other.
func isPlaceholder(name, observable string) bool {
	at := placeholderRE.FindStringIndex(name)
	return at != nil && name[at[1]:] == observable
}

// placeholder is the name that the n-th parameter of a row has in a formula.
func placeholder(prefix string, n int, id string) string { return prefix + itoa(n) + "_" + id }
