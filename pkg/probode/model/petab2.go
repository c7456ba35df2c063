package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/sbml"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// A petab2 has the tables of a problem of PEtab 2. An experiment becomes a condition, with
// the settings of its first period; what changes in a later period is set by an event.
type petab2 struct {
	*files
	params      map[string]bool
	aliases     map[string]*expr.Node // the mapping table
	conditions  map[string][]change
	experiments []*timeline
}

// A change is a row of the table of conditions.
type change struct {
	setting
	where source.Where
}

// A timeline is an experiment, with its periods in the order of their times.
type timeline struct {
	id      string
	periods []period
	where   source.Where
}

// The time of a period is −∞ for a preequilibration.
type period struct {
	time       float64
	conditions []string
	changes    []change
	where      source.Where
}

func (f *files) petab2(s *source.File, y *source.Node) *File {
	y.Mapping("the file", "format_version", "id", "parameter_files", "model_files", "measurement_files", "condition_files", "experiment_files", "observable_files", "mapping_files", "extensions")
	if e := y.Get("extensions"); e != nil {
		e.Mapping("extensions")
		for _, k := range e.Keys {
			e.ByKey[k].Mapping("extension " + k)
			if e.ByKey[k].Flag("required") {
				s.Refuse(e.ByKey[k].Line, "PEtab extension", "%s is required", k)
			}
			s.Warnf(e.ByKey[k].Line, "extension %s is ignored", k)
		}
	}
	p := &File{Name: problemName(s)}
	r := &petab2{files: f, aliases: map[string]*expr.Node{}, conditions: map[string][]change{}}
	for _, t := range petabTables(y, "mapping_files") {
		r.mapping(t)
	}
	for _, t := range petabTables(y, "parameter_files") {
		p.Params = append(p.Params, r.parameters(t)...)
	}
	f.checkParams(p.Params)
	r.params = idsOf(p.Params)
	for _, t := range petabTables(y, "condition_files") {
		r.conditionTable(t)
	}
	for _, t := range petabTables(y, "experiment_files") {
		r.experimentTable(t)
	}
	for _, e := range r.experiments {
		e.check(r.params)
	}
	models := y.Get("model_files")
	if models == nil || models.Kind != yaml.MappingNode || len(models.Keys) == 0 {
		s.Failf(y.LineOf("model_files"), "model_files is not a mapping of models: want at least one")
	}
	rows, observables := map[string][]source.Row{}, petabTables(y, "observable_files")
	for _, t := range petabTables(y, "measurement_files") {
		t.Need("observableId", "experimentId", "measurement", "time")
		t.ExtraColumns(append(petab1Columns(t), "observableId", "experimentId", "modelId", "measurement", "time", "observableParameters", "noiseParameters",
			"measurementType", "censoringBounds", "datasetId", "replicateId")...)
		for _, row := range t.Rows {
			id := row.Get("modelId")
			if id == "" && len(models.Keys) == 1 {
				id = models.Keys[0]
			}
			if models.ByKey[id] == nil {
				t.Failf(row.Line, "modelId is %q: want %s", id, strings.Join(models.Keys, " or "))
			}
			rows[id] = append(rows[id], row)
		}
	}
	for _, id := range models.Keys {
		n := models.ByKey[id]
		n.Mapping("model "+id, "location", "language")
		if l := n.Must("model "+id, "language"); l != "sbml" {
			s.Refuse(n.LineOf("language"), "PEtab model in "+l, "want sbml")
		}
		n.Must("model "+id, "location")
		p.Models = append(p.Models, r.models(n.ByKey["location"].FileName(), observables, rows[id], len(models.Keys) == 1)...)
	}
	return p
}

// petab1Columns reports an error if a table has a column of PEtab 1, which would change the
// meaning of the problem.
func petab1Columns(t *source.Table) []string {
	for _, c := range []string{"parameterScale", "objectivePriorType", "objectivePriorParameters", "initializationPriorType", "initializationPriorParameters",
		"observableTransformation", "simulationConditionId", "preequilibrationConditionId"} {
		if t.Has(c) {
			t.Failf(1, "column %s is one of PEtab 1, but format_version is 2", c)
		}
	}
	return nil
}

func (r *petab2) mapping(t *source.Table) {
	t.Need("petabEntityId", "modelEntityId")
	t.ExtraColumns("petabEntityId", "modelEntityId", "name")
	for _, row := range t.Rows {
		id, of := row.ID("petabEntityId"), row.Get("modelEntityId")
		if of != "" && of != id {
			r.aliases[id] = expr.Sym(of)
		}
	}
}

func (r *petab2) target(id string) string {
	if n := r.aliases[id]; n != nil {
		id, _ = n.Symbol()
	}
	return id
}

func (r *petab2) parameters(t *source.Table) []Parameter {
	t.Need("parameterId", "lowerBound", "upperBound", "nominalValue", "estimate")
	t.ExtraColumns(append(petab1Columns(t), "parameterId", "parameterName", "lowerBound", "upperBound", "nominalValue", "estimate", "priorDistribution", "priorParameters")...)
	var list []Parameter
	for _, row := range t.Rows {
		p := Parameter{ID: row.Must("parameterId"), name: row.Get("parameterName"), where: t.At(row.Line),
			Lower: math.NaN(), Upper: math.NaN(), Nominal: row.NumberOr("nominalValue"), Scale: Lin}
		if r.aliases[p.ID] != nil {
			t.Refuse(row.Line, "PEtab mapping of a parameter", "want the ID of the model, %s", r.target(p.ID))
		}
		if row.Get("lowerBound") != "-inf" {
			p.Lower = row.NumberOr("lowerBound")
		}
		if row.Get("upperBound") != "inf" {
			p.Upper = row.NumberOr("upperBound")
		}
		switch e := row.Must("estimate"); e {
		case "true":
			p.Estimate = true
		case "false":
		default:
			t.Failf(row.Line, "estimate is %q: want true or false", e)
		}
		p.Prior = petab2Prior(t.File, row.Line, row.Get("priorDistribution"), row.Get("priorParameters"))
		list = append(list, p)
	}
	return list
}

// petab2Priors has the priors of PEtab 2 with their parameters, and those of families that
// are the same.
var petab2Priors = []struct {
	name, form, family string
	to                 func(a, b float64) (float64, float64)
}{
	{"cauchy", "location;scale", "cauchy", same},
	{"chisquare", "degrees of freedom", "gamma", func(a, _ float64) (float64, float64) { return a / 2, 0.5 }},
	{"exponential", "scale", "exponential", func(a, _ float64) (float64, float64) { return 1 / a, 0 }},
	{"gamma", "shape;scale", "gamma", func(a, b float64) (float64, float64) { return a, 1 / b }},
	{"laplace", "location;scale", "laplace", same},
	{"log-laplace", "location;scale", "logLaplace", same},
	{"log-normal", "mean;sd", "logNormal", same},
	{"log-uniform", "from;to", "logUniform", same},
	{"normal", "mean;sd", "normal", same},
	{"rayleigh", "scale", "rayleigh", same},
	{"uniform", "from;to", "uniform", same},
}

func same(a, b float64) (float64, float64) { return a, b }

func petab2Prior(s *source.File, line int, name, params string) Prior {
	if name == "" {
		if params != "" {
			s.Failf(line, "a prior has the parameters %q, but no priorDistribution", params)
		}
		return Prior{}
	}
	var names []string
	for _, k := range petab2Priors {
		if names = append(names, k.name); k.name != name {
			continue
		}
		of := familyNamed(k.family)
		f := family{name: name, form: k.form, check: func(a, b float64) bool {
			a, b = k.to(a, b)
			return of.check(a, b) && !math.IsInf(a, 0) && !math.IsInf(b, 0)
		}}
		q, err := f.prior(strings.Split(params, ";"))
		if err != nil {
			s.Failf(line, "prior %s: %v", name, err)
		}
		q.Type = of.name
		q.A, q.B = k.to(q.A, q.B)
		return q
	}
	s.Failf(line, "priorDistribution is %q: want one of %s", name, strings.Join(names, ", "))
	return Prior{}
}

func (r *petab2) conditionTable(t *source.Table) {
	t.Need("conditionId", "targetId", "targetValue")
	t.ExtraColumns("conditionId", "targetId", "targetValue", "conditionName")
	for _, row := range t.Rows {
		id, to := row.ID("conditionId"), r.target(row.ID("targetId"))
		if r.params[to] {
			t.Failf(row.Line, "condition %s sets %s, which is also in the parameter table: give its value in only one of the two", id, to)
		}
		if slices.ContainsFunc(r.conditions[id], func(c change) bool { return c.id == to }) {
			t.Failf(row.Line, "condition %s sets %s twice", id, to)
		}
		value := t.Formula(row.Line, "targetValue", row.Must("targetValue")).Substitute(r.aliases)
		r.conditions[id] = append(r.conditions[id], change{setting{to, value}, t.At(row.Line)})
	}
}

func (r *petab2) experimentTable(t *source.Table) {
	t.Need("experimentId", "time", "conditionId")
	t.ExtraColumns("experimentId", "time", "conditionId", "experimentName")
	for _, row := range t.Rows {
		id, text := row.ID("experimentId"), row.Must("time")
		at, err := source.ParseNumber(text)
		if err != nil || math.IsInf(at, 1) {
			t.Failf(row.Line, "time is %q: want a finite number or -inf", text)
		}
		i := slices.IndexFunc(r.experiments, func(e *timeline) bool { return e.id == id })
		if i < 0 {
			i = len(r.experiments)
			r.experiments = append(r.experiments, &timeline{id: id, where: t.At(row.Line)})
		}
		e := r.experiments[i]
		k, found := slices.BinarySearchFunc(e.periods, at, func(q period, at float64) int { return cmp.Compare(q.time, at) })
		if !found {
			e.periods = slices.Insert(e.periods, k, period{time: at, where: t.At(row.Line)})
		}
		c := row.Get("conditionId")
		if c == "" {
			continue
		}
		changes := r.conditions[c]
		if changes == nil {
			t.Failf(row.Line, "condition %s is not defined", c)
		}
		q := &e.periods[k]
		for _, one := range changes {
			if slices.ContainsFunc(q.changes, func(o change) bool { return o.id == one.id }) {
				t.Failf(row.Line, "experiment %s sets %s twice at time %v", id, one.id, at)
			}
		}
		q.conditions, q.changes = append(q.conditions, c), append(q.changes, changes...)
	}
}

// start returns the time at which the model starts after a possible preequilibration.
func (e *timeline) start() float64 {
	for _, q := range e.periods {
		if !math.IsInf(q.time, -1) {
			return q.time
		}
	}
	return 0
}

// check puts the time into the values of the first period, which may not use anything that
// the model has yet to compute.
func (e *timeline) check(params map[string]bool) {
	q := &e.periods[0]
	q.changes = slices.Clone(q.changes)
	for i := range q.changes {
		c := &q.changes[i]
		if !math.IsInf(q.time, -1) {
			c.value = c.value.Substitute(map[string]*expr.Node{expr.Time: expr.Num(q.time)})
		}
		for _, name := range c.value.Symbols() {
			if !params[name] {
				c.where.Failf("experiment %s begins with %s = %s, which contains %s: want numbers and IDs of the parameter table", e.id, c.id, c.value, name)
			}
		}
	}
}

// preequilibration returns the name of the first condition, or "" if the experiment begins
// without preequilibration.
func (e *timeline) preequilibration() string {
	if !math.IsInf(e.periods[0].time, -1) {
		return ""
	}
	return cmp.Or(strings.Join(e.periods[0].conditions, " and "), "no condition")
}

// later returns the periods that begin with an event. The period after a preequilibration
// can do without: if it changes no more than values that are known in advance, it starts
// the model again, with fewer states.
func (e *timeline) later(eq *equations.Equations, params map[string]bool) []period {
	later := e.periods[1:]
	if e.preequilibration() == "" || len(later) == 0 || len(eq.Events) > 0 {
		return later
	}
	for _, c := range later[0].changes {
		if slices.ContainsFunc(eq.Constants, func(k equations.Constant) bool { return k.ID == c.id && k.Size }) ||
			slices.ContainsFunc(eq.States, func(s equations.State) bool { return s.Volume != nil && slices.Contains(s.Volume.Symbols(), c.id) }) ||
			slices.ContainsFunc(c.value.Symbols(), func(name string) bool { return !params[name] }) {
			return later
		}
	}
	return later[1:]
}

// models returns a model for each time at which experiments with measurements begin.
func (r *petab2) models(file string, observables []*source.Table, rows []source.Row, only bool) (list []*Model) {
	byID, measured := map[string]*timeline{}, map[string]bool{}
	for _, e := range r.experiments {
		byID[e.id] = e
	}
	byStart := map[float64][]source.Row{}
	var starts []float64
	for _, row := range rows {
		at, id := 0., row.Get("experimentId")
		if id != "" {
			e := byID[id]
			if e == nil {
				row.Table().Failf(row.Line, "experiment %s is not defined", id)
			}
			at = e.start()
		}
		if byStart[at] == nil {
			starts = append(starts, at)
		}
		byStart[at], measured[id] = append(byStart[at], row), true
	}
	if starts == nil {
		starts = []float64{0}
	}
	once := *r.Files // whose warnings are not repeated
	once.Warnings = nil
	eq := sbml.Read(&once, file, 0)
	for _, at := range starts {
		var used []*timeline
		var set []string
		for _, e := range r.experiments {
			if e.start() != at || !measured[e.id] && (!only || e.preequilibration() != "") {
				continue
			}
			used = append(used, e)
			for _, q := range e.later(eq, r.params) {
				for _, c := range q.changes {
					set = append(set, c.id)
				}
			}
		}
		files := &once
		if len(list) == 0 {
			files = r.Files
		}
		m := &Model{Equations: *sbml.Read(files, file, at, set...), start: at, periods: map[string][]equations.Event{}}
		ids := m.ids()
		for _, t := range observables {
			t.Names.IDs = ids
			m.observables = append(m.observables, r.observables(t, func(id string) bool {
				return only || slices.ContainsFunc(rows, func(row source.Row) bool { return row.Get("observableId") == id })
			})...)
		}
		for _, e := range used {
			r.define(m, e, set)
		}
		for _, e := range used {
			r.experiment(m, e, eq)
		}
		known := m.observablesByID()
		for _, row := range byStart[at] {
			d, _ := m.petabRow(row, known)
			if d.Condition = row.Get("experimentId"); d.Condition != "" {
				d.Preequilibration = byID[d.Condition].preequilibration()
			}
			m.Data = append(m.Data, d)
		}
		list = append(list, m)
	}
	return list
}

// observables replaces the placeholders of the formulas by those of PEtab 1.
func (r *petab2) observables(t *source.Table, used func(id string) bool) (list []observable) {
	t.Need("observableId", "observableFormula", "noiseFormula")
	known := append(petab1Columns(t), "observableId", "observableName", "observableFormula", "noiseFormula", "noiseDistribution", "observablePlaceholders", "noisePlaceholders")
	t.ExtraColumns(known...)
	for _, row := range t.Rows {
		o := observable{id: row.ID("observableId"), name: row.Get("observableName"), where: t.At(row.Line), scale: Lin}
		if !used(o.id) {
			continue
		}
		o.formula = t.Formula(row.Line, "observableFormula", row.Must("observableFormula"))
		o.noise = t.Formula(row.Line, "noiseFormula", row.Must("noiseFormula"))
		kind := cmp.Or(row.Get("noiseDistribution"), string(normalNoise))
		if strings.HasPrefix(kind, "log-") {
			o.scale = Log
		}
		switch strings.TrimPrefix(kind, "log-") {
		case "normal":
			o.distribution = normalNoise
		case "laplace":
			o.distribution = laplaceNoise
		default:
			t.Failf(row.Line, "noiseDistribution is %q: want normal, log-normal, laplace or log-laplace", kind)
		}
		symbols, by := o.symbols(), map[string]*expr.Node{}
		for _, k := range []struct{ column, prefix string }{{"observablePlaceholders", "observableParameter"}, {"noisePlaceholders", "noiseParameter"}} {
			for i, name := range strings.Split(row.Get(k.column), ";") {
				switch name = strings.TrimSpace(name); {
				case name == "" && i == 0 && row.Get(k.column) == "":
					continue
				case !expr.IsID(name), by[name] != nil, r.params[name], t.Names.IDs[name]:
					t.Failf(row.Line, "%s has the name %q: want a name that nothing else has", k.column, name)
				case !slices.Contains(symbols, name):
					t.Failf(row.Line, "%s has %s, which the formulas of %s do not contain", k.column, name, o.id)
				}
				by[name] = expr.Sym(placeholder(k.prefix, i+1, o.id))
			}
		}
		o.formula, o.noise = o.formula.Substitute(by).Substitute(r.aliases), o.noise.Substitute(by).Substitute(r.aliases)
		list = append(list, o)
	}
	return list
}

// define adds what only observables use and experiments set.
func (r *petab2) define(m *Model, e *timeline, set []string) {
	ids := m.ids()
	for _, q := range e.periods {
		for _, c := range q.changes {
			if ids[c.id] || !slices.ContainsFunc(m.observables, func(o observable) bool { return slices.Contains(o.symbols(), c.id) }) {
				continue
			}
			ids[c.id] = true
			if slices.Contains(set, c.id) {
				m.States = slices.Insert(m.States, 0, equations.State{ID: c.id, Rate: expr.Num(0), Where: c.where})
			} else {
				m.Constants = append(m.Constants, equations.Constant{ID: c.id, Where: c.where})
			}
		}
	}
}

// experiment adds the condition of an experiment and of its preequilibration, and the
// events of later periods. Constants keep what the preequilibration set.
func (r *petab2) experiment(m *Model, e *timeline, eq *equations.Equations) {
	c := condition{id: e.id, where: e.where}
	later := e.later(eq, r.params)
	settings := func(changes []change) (set []setting) {
		for _, one := range changes {
			set = append(set, one.setting)
		}
		return set
	}
	if c.set = settings(e.periods[0].changes); e.preequilibration() != "" {
		pre := condition{id: e.preequilibration(), set: c.set, where: e.periods[0].where}
		if m.condition(pre.id).where == (source.Where{}) {
			m.conditions = append(m.conditions, pre)
		}
		c.set = slices.DeleteFunc(slices.Clone(c.set), func(s setting) bool {
			return !slices.ContainsFunc(m.Constants, func(k equations.Constant) bool { return k.ID == s.id })
		})
		if len(later) < len(e.periods)-1 {
			again := settings(e.periods[1].changes)
			c.set = append(slices.DeleteFunc(c.set, func(s setting) bool {
				return slices.ContainsFunc(again, func(t setting) bool { return t.id == s.id })
			}), again...)
		}
	}
	m.conditions = append(m.conditions, c)
	for _, q := range later {
		if jumps := m.jumps(q); jumps != nil {
			m.periods[e.id] = append(m.periods[e.id], equations.Event{ID: fmt.Sprintf("%s at %v", e.id, q.time),
				Time: expr.Num(q.time), Early: equations.AtStart, Jumps: jumps, Where: q.where})
		}
	}
}

// jumps returns what changes at the start of a period. A new size of a compartment changes
// no concentration, unlike an event of SBML, which changes no amount.
func (m *Model) jumps(q period) (jumps []equations.Jump) {
	to, set := map[string]*expr.Node{}, map[string]bool{}
	for _, c := range q.changes {
		to[c.id] = c.value
	}
	for _, s := range m.States {
		if v := to[s.ID]; v != nil {
			jumps = append(jumps, equations.Jump{State: s.ID, Value: v})
			set[s.ID] = true
		}
		if s.Of == "" {
			continue
		}
		size := s.Volume.Substitute(to)
		if v := to[s.Of]; v != nil {
			jumps = append(jumps, equations.Jump{State: s.ID, Value: expr.Call("times", v, size)})
			set[s.Of] = true
		} else if !size.Equal(s.Volume) {
			jumps = append(jumps, equations.Jump{State: s.ID, Value: expr.Call("times", expr.Sym(s.Of), size)})
		}
	}
	for _, c := range q.changes {
		if !set[c.id] {
			c.where.Failf("%s is set at time %v, and is not a parameter or a state of the model", c.id, q.time)
		}
	}
	return jumps
}
