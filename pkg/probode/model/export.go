package model

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/sbml"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// WritePEtab writes p as a PEtab 1 problem into the folder dir, which it creates if
// necessary. The problem consists of a YAML file, a model in SBML, and the tables of
// parameters, observables, conditions and measurements. The returned path of the YAML
// file begins with dir.
//
// It is an error if p contains something that PEtab cannot express: a start time other
// than 0; a distribution or a prior that is not in PEtab; an estimated parameter that a
// condition sets, or that lacks a bound; a condition that sets a concentration in a
// compartment whose size changes; simultaneous events that depend on each other; or an
// ID, such as NA, that stands for a missing value in tables.
func (p *File) WritePEtab(dir string) (name string, err error) {
	write := func(name string, data []byte) {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o666)
		}
	}
	inTable, err := p.tableParams()
	if err != nil {
		return "", err
	}
	list, err := p.Instances()
	if err != nil {
		return "", err
	}
	for _, m := range p.Models {
		if m.start != 0 {
			return "", fmt.Errorf("model: the start time of %s is %v: PEtab supports only 0", m.Name, m.start)
		}
		for _, o := range m.observables {
			if o.increase || o.limit != nil {
				return "", fmt.Errorf("model: observable %s has the key “increase” or “lowerLimit”, which PEtab does not support", o.id)
			}
			if o.distribution != normalNoise && o.distribution != laplaceNoise {
				return "", fmt.Errorf("model: the distribution of %s is %s: PEtab supports only normal and laplace", o.id, o.distribution)
			}
		}
	}
	known := map[string]*expr.Node{} // what is not estimated
	for _, q := range p.Params {
		if !q.Estimate && !math.IsNaN(q.Nominal) {
			known[q.ID] = expr.Num(q.Nominal)
		}
	}
	for _, e := range list {
		events := slices.Clone(e.events)
		for i := range events {
			if at := events[i].Time; at != nil {
				events[i].Time = at.Substitute(known).Simplify()
			}
		}
		if a, b := equations.Entangled(events); a != nil {
			return "", fmt.Errorf("model: events %s and %s happen at the same time and depend on each other: PEtab cannot express their order", a.ID, b.ID)
		}
	}
	if err := p.checkIDs(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	var y strings.Builder
	y.WriteString("format_version: 1\nparameter_file: parameters.tsv\nproblems:\n")
	write("parameters.tsv", parameterRows(p.Params, inTable))
	for i, m := range p.Models {
		suffix := p.suffix(i)
		conditions, err := m.conditionRows()
		if err != nil {
			return "", err
		}
		write("model"+suffix+".xml", sbml.Write(&m.Equations, m.modelParams(p.Params)))
		write("observables"+suffix+".tsv", m.observableRows())
		write("conditions"+suffix+".tsv", conditions)
		write("measurements"+suffix+".tsv", m.dataRows("measurement", nil))
		fmt.Fprintf(&y, "- sbml_files: [model%s.xml]\n  observable_files: [observables%[1]s.tsv]\n  condition_files: [conditions%[1]s.tsv]\n  measurement_files: [measurements%[1]s.tsv]\n", suffix)
	}
	write("problem.yaml", []byte(y.String()))
	return filepath.Join(dir, "problem.yaml"), err
}

func (p *File) checkIDs() error {
	var ids []string
	for _, q := range p.Params {
		ids = append(ids, q.ID)
	}
	for _, m := range p.Models {
		ids = append(ids, m.observableIDs()...)
		for _, c := range m.conditions {
			ids = append(ids, c.id)
		}
	}
	for _, id := range ids {
		switch id {
		case "NA", "NULL", "null", "None":
			return fmt.Errorf("model: the name %s means “missing value” in a PEtab table: use another name", id)
		}
	}
	return nil
}

// WriteSimulations writes the simulated values in v to the folder that WritePEtab has
// created. There is a separate PEtab table of simulations for each model. The argument v
// must be an Evaluation of p.
func (p *File) WriteSimulations(dir string, v *Evaluation) error {
	list, err := p.Instances()
	if err != nil {
		return err
	}
	if len(list) != len(v.Instances) {
		panic(fmt.Sprintf("model: WriteSimulations got %d experiments: want %d, the number of experiments in the problem", len(v.Instances), len(list)))
	}
	for i, m := range p.Models {
		values := make([]float64, len(m.Data))
		for k, e := range list {
			if e.model != m {
				continue
			}
			for n, r := range e.rows {
				values[r.index] = v.Instances[k].Simulated[n]
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "simulations"+p.suffix(i)+".tsv"), m.dataRows("simulation", values), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// suffix returns a suffix for the file names of model i. Different models have different
// suffixes.
func (p *File) suffix(i int) string {
	if len(p.Models) == 1 {
		return ""
	}
	return fmt.Sprintf("_%d", i+1)
}

// dataRows returns the table of measurements. If the argument `values` is not nil, the
// table contains these values in place of the measured values. Optional columns that would
// be empty are omitted.
func (m *Model) dataRows(column string, values []float64) []byte {
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
		{column, func(i int) string {
			if values != nil {
				return numberText(values[i])
			}
			return numberText(m.Data[i].Value)
		}, true},
		{"time", func(i int) string {
			if math.IsInf(m.Data[i].Time, 1) {
				return "inf"
			}
			return numberText(m.Data[i].Time)
		}, true},
		{"observableParameters", func(i int) string { return overrideText(m.Data[i].observableParams) }, false},
		{"noiseParameters", func(i int) string { return overrideText(m.Data[i].noiseParams) }, false},
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

// onlyCondition is the ID of the only condition in the PEtab tables of a model without
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
	id, _ := n.Symbol()
	return id
}

// tableParams returns the parameters that belong in the parameter table. A parameter
// belongs in this table if no condition sets it.
func (p *File) tableParams() (map[string]bool, error) {
	in := idsOf(p.Params)
	for _, m := range p.Models {
		for _, c := range m.conditions {
			for _, s := range c.set {
				delete(in, s.id)
			}
		}
	}
	for _, q := range p.Params {
		switch {
		case !q.Estimate:
		case !in[q.ID]:
			return nil, fmt.Errorf("model: parameter %s is estimated, yet a condition sets it: PEtab cannot express that", q.ID)
		case math.IsNaN(q.Lower) || math.IsNaN(q.Upper):
			return nil, fmt.Errorf("model: parameter %s is estimated but lacks a bound: PEtab requires two bounds", q.ID)
		case q.Prior.Type != "" && !familyNamed(q.Prior.Type).petab:
			return nil, fmt.Errorf("model: parameter %s has the prior %s, which PEtab does not support", q.ID, q.Prior.Type)
		}
	}
	return in, nil
}

func (m *Model) modelParams(params []Parameter) (list []sbml.Parameter) {
	bare := *m
	bare.observables, bare.Data = nil, nil
	used := map[string]bool{}
	bare.uses(used)
	for _, c := range m.conditions {
		for _, s := range c.set {
			used[s.id] = true
		}
	}
	for _, q := range params {
		if !used[q.ID] {
			continue
		}
		to := sbml.Parameter{ID: q.ID, Name: q.name}
		if !math.IsNaN(q.Nominal) {
			to.Value = expr.Num(q.Nominal)
		}
		list = append(list, to)
	}
	return list
}

func parameterRows(params []Parameter, in map[string]bool) []byte {
	rows := [][]string{{"parameterId", "parameterName", "parameterScale", "lowerBound", "upperBound", "nominalValue", "estimate",
		"objectivePriorType", "objectivePriorParameters", "initializationPriorType", "initializationPriorParameters"}}
	for _, q := range params {
		if !in[q.ID] {
			continue
		}
		estimate := "0"
		if q.Estimate {
			estimate = "1"
		}
		rows = append(rows, []string{q.ID, q.name, string(q.Scale), optional(q.Lower), optional(q.Upper), optional(q.Nominal), estimate,
			q.Prior.Type, q.Prior.text(), q.start.Type, q.start.text()})
	}
	return source.TSV(rows)
}

// numberText returns a number as text, with enough digits to recover exactly the same
// number.
func numberText(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func optional(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return numberText(v)
}

func (q Prior) text() string {
	if q.Type == "" {
		return ""
	}
	if f := familyNamed(q.Type); f.one() {
		return numberText(q.A)
	}
	return numberText(q.A) + ";" + numberText(q.B)
}

func (m *Model) observableRows() []byte {
	rows := [][]string{{"observableId", "observableName", "observableFormula", "observableTransformation", "noiseFormula", "noiseDistribution"}}
	for _, o := range m.observables {
		rows = append(rows, []string{o.id, o.name, o.formula.String(), string(o.scale), o.noise.String(), string(o.distribution)})
	}
	return source.TSV(rows)
}

func (m *Model) conditionRows() ([]byte, error) {
	amounts := map[string]bool{}
	for _, s := range m.States {
		if s.Of != "" {
			amounts[s.Of] = true
		}
	}
	var columns []string
	for _, c := range m.conditions {
		for _, s := range c.set {
			if amounts[s.id] {
				return nil, fmt.Errorf("model: condition %s sets the concentration %s in a compartment whose size changes: PEtab cannot express that", c.id, s.id)
			}
			if !slices.Contains(columns, s.id) {
				columns = append(columns, s.id)
			}
		}
	}
	rows := [][]string{append([]string{"conditionId", "conditionName"}, columns...)}
	for _, c := range m.conditions {
		row := []string{c.id, c.name}
		for _, id := range columns {
			row = append(row, c.text(id))
		}
		rows = append(rows, row)
	}
	if len(m.conditions) == 0 {
		rows = append(rows, []string{onlyCondition, ""})
	}
	return source.TSV(rows), nil
}

func (c *condition) text(id string) string {
	for _, s := range c.set {
		if s.id == id {
			return settingText(s.value)
		}
	}
	return ""
}
