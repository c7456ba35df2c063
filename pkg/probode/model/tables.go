package model

import (
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/sbml"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

func (f *files) petab(s *source.File, y *source.Node) *File {
	y.Mapping("the file")
	switch v := y.Must("the file", "format_version"); v {
	case "1", "1.0", "1.0.0":
	case "2", "2.0", "2.0.0":
		return f.petab2(s, y)
	default:
		s.Refuse(y.LineOf("format_version"), "PEtab "+v, "want format_version 1 or 2")
	}
	y.Mapping("the file", "format_version", "parameter_file", "problems", "extensions") // other versions have other keys
	if e := y.Get("extensions"); e != nil && len(e.Keys)+len(e.Items) > 0 {
		s.Refuse(e.Line, "PEtab extension", "want none")
	}
	p := &File{Name: problemName(s)}
	parameters, problems := petabTables(y, "parameter_file"), y.List("problems")
	if len(parameters) == 0 {
		s.Failf(y.Line, "the problem has no parameter_file")
	}
	if len(problems) == 0 {
		s.Failf(y.Line, "the list of problems is empty")
	}
	for _, t := range parameters {
		p.Params = append(p.Params, parameterTable(t)...)
	}
	f.checkParams(p.Params)
	for _, q := range problems {
		q.Mapping("a problem", "sbml_files", "measurement_files", "condition_files", "observable_files", "visualization_files", "mapping_files", "model_files")
		for _, k := range []string{"mapping_files", "model_files"} {
			if len(q.List(k)) > 0 {
				s.Refuse(q.LineOf(k), "PEtab "+k, "want PEtab 1 with SBML")
			}
		}
		sbmls := q.List("sbml_files")
		if len(sbmls) != 1 {
			s.Failf(q.Line, "%d sbml_files: want one", len(sbmls))
		}
		observables, conditions, measurements := petabTables(q, "observable_files"), petabTables(q, "condition_files"), petabTables(q, "measurement_files")
		m := &Model{Equations: *sbml.Read(f.Files, sbmls[0].FileName(), 0)}
		ids := m.ids()
		for _, t := range observables {
			t.Names.IDs = ids
			m.observables = append(m.observables, observableTable(t)...)
		}
		for _, t := range conditions {
			m.conditions = append(m.conditions, conditionTable(t)...)
		}
		for _, t := range measurements {
			m.Data = append(m.Data, measurementTable(t, m, true)...)
		}
		notInBoth(p.Params, m.conditions)
		p.Models = append(p.Models, m)
	}
	return p
}

func problemName(s *source.File) string {
	return strings.TrimSuffix(path.Base(s.Name), path.Ext(s.Name))
}

func petabTables(n *source.Node, key string) (list []*source.Table) {
	for _, name := range n.FileNames(key, n.List(key)) {
		list = append(list, n.File.Read(name, source.MaxTable).Table(0))
	}
	return list
}

// ids returns the IDs of the equations.
func (m *Model) ids() map[string]bool {
	ids := map[string]bool{}
	for _, s := range m.States {
		ids[s.ID] = true
	}
	for _, c := range m.Constants {
		ids[c.ID] = true
	}
	for _, a := range m.Assignments {
		ids[a.ID] = true
	}
	return ids
}

func (f *files) sbml(name string) *File {
	m := &Model{Equations: *sbml.Read(f.Files, name, 0)}
	p := &File{Name: m.Name, Models: []*Model{m}}
	for _, k := range m.Constants {
		if v, ok := constOf(k.Value); ok && v-v == 0 {
			p.Params = append(p.Params, Parameter{ID: k.ID, Nominal: v, Lower: math.NaN(), Upper: math.NaN(), Scale: Lin, where: k.Where})
		}
	}
	return p
}

// notInBoth refuses a parameter in the parameter table that a condition sets.
func notInBoth(params []Parameter, conditions []condition) {
	in := idsOf(params)
	for _, c := range conditions {
		for _, s := range c.set {
			if in[s.id] {
				c.where.Failf("condition %s sets %s, which is also in the parameter table: give its value in only one of the two", c.id, s.id)
			}
		}
	}
}

func parameterTable(t *source.Table) []Parameter {
	t.Need("parameterId", "parameterScale", "lowerBound", "upperBound", "estimate")
	t.ExtraColumns("parameterId", "parameterName", "parameterScale", "lowerBound", "upperBound", "nominalValue", "estimate",
		"objectivePriorType", "objectivePriorParameters", "initializationPriorType", "initializationPriorParameters", "priorType", "priorParameters")
	var list []Parameter
	for _, r := range t.Rows {
		p := Parameter{ID: r.Must("parameterId"), name: r.Get("parameterName"), where: t.At(r.Line),
			Lower: r.NumberOr("lowerBound"), Upper: r.NumberOr("upperBound"), Nominal: r.NumberOr("nominalValue"),
			Scale: readScale(t.File, r.Line, "parameterScale", r.Must("parameterScale"))}
		switch e := r.Must("estimate"); e {
		case "1", "1.0", "true", "True", "TRUE":
			p.Estimate = true
		case "0", "0.0", "false", "False", "FALSE":
		default:
			t.Failf(r.Line, "estimate is %q: want 1 or 0", e)
		}
		for _, old := range []string{"priorType", "priorParameters"} {
			if r.Get(old) != "" {
				t.Failf(r.Line, "column %s is from a draft of PEtab: use objectivePriorType and objectivePriorParameters", old)
			}
		}
		p.Prior = readPrior(t.File, r.Line, r.Get("objectivePriorType"), r.Get("objectivePriorParameters"), &p, true)
		p.start = readPrior(t.File, r.Line, r.Get("initializationPriorType"), r.Get("initializationPriorParameters"), &p, true)
		list = append(list, p)
	}
	return list
}

func readScale(s *source.File, line int, what, v string) Scale {
	switch sc := Scale(v); sc {
	case Lin, Log, Log10:
		return sc
	case "":
		return Lin
	}
	s.Failf(line, "%s is %q: want lin, log or log10", what, v)
	return ""
}

// checkParams refuses parameters that cannot be used, and warns about nominal values
// outside the bounds or, on a logarithmic scale, not positive.
func (f *files) checkParams(list []Parameter) {
	first := map[string]source.Where{}
	for _, p := range list {
		w := p.where
		if !expr.IsName(p.ID) {
			w.Failf("parameter id %q: want letters, digits and _; the first character must not be a digit", p.ID)
		}
		if p.ID == expr.Time || expr.Reserved(p.ID) {
			w.Failf("parameter id %s has a special meaning in formulas: use another id", p.ID)
		}
		if at, twice := first[p.ID]; twice {
			w.Failf("parameter %s appears twice, first on line %d of %s", p.ID, at.Line, at.File)
		}
		first[p.ID] = w
		if !p.Estimate {
			if math.IsNaN(p.Nominal) {
				w.Failf("parameter %s is not estimated and has no nominalValue", p.ID)
			}
			continue
		}
		switch {
		case math.IsNaN(p.Lower) || math.IsNaN(p.Upper):
			if p.Prior.Type == "" {
				w.Failf("parameter %s is estimated but lacks a bound: give lowerBound and upperBound, or a prior", p.ID)
			}
		case !(p.Lower < p.Upper):
			w.Failf("parameter %s has the bounds %v and %v: want a lower bound less than the upper bound", p.ID, p.Lower, p.Upper)
		case p.Scale != Lin && (p.Lower < 0 || p.Lower == 0 && p.Prior.Type == ""):
			w.Failf("parameter %s has the lower bound %v and a logarithmic scale: want a positive bound", p.ID, p.Lower)
		}
		if p.Nominal < p.Lower || p.Nominal > p.Upper || p.Scale != Lin && p.Nominal <= 0 {
			f.Warnings = append(f.Warnings, fmt.Sprintf("%s:%d: parameter %s has the nominal value %v: want a value within the bounds, and a positive value if the scale is logarithmic", w.File, w.Line, p.ID, p.Nominal))
		}
	}
}

func observableTable(t *source.Table) []observable {
	t.Need("observableId", "observableFormula", "noiseFormula")
	t.ExtraColumns("observableId", "observableName", "observableFormula", "noiseFormula", "observableTransformation", "noiseDistribution")
	var list []observable
	for _, r := range t.Rows {
		list = append(list, observable{id: r.ID("observableId"), name: r.Get("observableName"), where: t.At(r.Line),
			formula:      t.Formula(r.Line, "observableFormula", r.Must("observableFormula")),
			noise:        t.Formula(r.Line, "noiseFormula", r.Must("noiseFormula")),
			scale:        readScale(t.File, r.Line, "observableTransformation", r.Get("observableTransformation")),
			distribution: readDistribution(t.File, r.Line, r.Get("noiseDistribution"), normalNoise, laplaceNoise)})
	}
	return list
}

func conditionTable(t *source.Table) []condition {
	t.Need("conditionId")
	var list []condition
	for _, r := range t.Rows {
		c := condition{id: r.Must("conditionId"), name: r.Get("conditionName"), where: t.At(r.Line)}
		for _, col := range t.Columns[:len(r.Cells)] {
			if col == "conditionId" || col == "conditionName" {
				continue
			}
			if v := r.Get(col); v != "" {
				c.set = append(c.set, setting{col, t.NumberOrID(r.Line, col, v)})
			}
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		t.Failf(0, "no conditions: want one row at least")
	}
	return list
}

func measurementTable(t *source.Table, m *Model, conditions bool) []Observation {
	t.Need("observableId", "measurement", "time")
	if conditions {
		t.Need("simulationConditionId")
	}
	t.ExtraColumns("observableId", "simulationConditionId", "preequilibrationConditionId", "measurement", "time",
		"observableParameters", "noiseParameters", "measurementType", "censoringBounds", "datasetId", "replicateId", "observableTransformation", "noiseDistribution")
	byID := m.observablesByID()
	var list []Observation
	for _, r := range t.Rows {
		d, o := m.petabRow(r, byID)
		d.Condition, d.Preequilibration = r.Get("simulationConditionId"), r.Get("preequilibrationConditionId")
		if conditions {
			r.Must("simulationConditionId")
		}
		// Drafts of PEtab had the columns observableTransformation and noiseDistribution
		// in the table of measurements. A value in a column from a draft must not
		// contradict the table of observables.
		if v := r.Get("observableTransformation"); v != "" && Scale(v) != o.scale {
			t.Failf(r.Line, "observableTransformation is %s in the table of measurements but %s in the table of observables", v, o.scale)
		}
		if v := r.Get("noiseDistribution"); v != "" && noiseDistribution(v) != o.distribution {
			t.Failf(r.Line, "noiseDistribution is %s in the table of measurements but %s in the table of observables", v, o.distribution)
		}
		list = append(list, d)
	}
	return list
}

// petabRow reads what the measurements of all versions of PEtab have.
func (m *Model) petabRow(r source.Row, byID map[string]*observable) (Observation, *observable) {
	t := r.Table()
	d := Observation{Observable: r.Must("observableId"), dataset: r.Get("datasetId"), replicate: r.Get("replicateId"), where: t.At(r.Line)}
	d.measured(r, "measurement")
	o := byID[d.Observable]
	if o == nil {
		t.Failf(r.Line, "observable %s is not defined", d.Observable)
	}
	d.Time = m.readTime(r, "time", m.start)
	checkValue(d, o)
	d.observableParams = readOverrides(t.File, r.Line, "observableParameters", r.Get("observableParameters"))
	d.noiseParams = readOverrides(t.File, r.Line, "noiseParameters", r.Get("noiseParameters"))
	return d, o
}

func readOverrides(s *source.File, line int, what, text string) []*expr.Node {
	if text == "" {
		return nil
	}
	var list []*expr.Node
	for _, v := range strings.Split(text, ";") {
		list = append(list, s.NumberOrID(line, what, strings.TrimSpace(v)))
	}
	return list
}
