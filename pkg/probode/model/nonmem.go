package model

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// isNonmem reports whether a table has NONMEM's columns: TIME, and DV or AMT.
func isNonmem(s *source.File) bool {
	if !bytes.Contains(s.Text, []byte("TIME")) {
		return false
	}
	t := s.Table('#')
	return t.Has("TIME") && (t.Has("DV") || t.Has("AMT"))
}

// A record is a row of a NONMEM table.
type record struct {
	source.Row
	condition string
	time      float64
}

// get returns the text of a cell, in which a dot stands for nothing.
func (r record) get(column string) string {
	if v := r.Get(column); v != "." {
		return v
	}
	return ""
}

func (r record) number(column string) float64 {
	if r.get(column) == "" {
		return 0
	}
	return r.Number(column)
}

func (r record) fail(format string, args ...any) { r.Table().Failf(r.Line, format, args...) }

// among returns the index that a cell gives, as a number from 1 on or as a name.
func (r record) among(column string, names []string) int {
	text := r.get(column)
	k, err := strconv.Atoi(text)
	if err != nil {
		k = 1 + slices.Index(names, text)
	}
	if k < 1 || k > len(names) {
		r.fail("%s is %q: want a number from 1 to %d, or one of %v", column, text, len(names), names)
	}
	return k - 1
}

var nonmemColumns = []string{"ID", "TIME", "DV", "DVID", "AMT", "RATE", "EVID", "MDV", "CMT", "II", "ADDL", "SS", "CENS"}

// nonmem reads doses, measurements and covariates. A column with the ID of a parameter
// sets the parameter in each condition.
func (r *modelReader) nonmem(t *source.Table, p *File, m *Model) {
	var covariates []string
	for _, c := range t.Columns {
		switch {
		case slices.Contains(nonmemColumns, c):
		case slices.ContainsFunc(p.Params, func(q Parameter) bool { return q.ID == c }) && t.Has("ID"):
			covariates = append(covariates, c)
		default:
			t.Warnf(1, "column %s is neither a column of NONMEM nor a parameter, and is ignored", c)
		}
	}
	last := map[string]float64{}
	d := &doseTable{r: r, m: m, infused: map[int]map[string][]infusion{}}
	for _, row := range t.Rows {
		one := record{Row: row, time: m.readTime(row, "TIME", m.start)}
		if t.Has("ID") {
			one.condition = m.conditionOf(one, covariates)
		}
		if before, ok := last[one.condition]; ok && one.time < before {
			one.fail("TIME is %s, before that of an earlier row of the same ID: want times that do not decrease", one.get("TIME"))
		}
		last[one.condition] = one.time
		dose := one.number("AMT") != 0
		if one.get("EVID") != "" {
			switch v := one.number("EVID"); v {
			case 0, 2:
				if dose {
					one.fail("AMT is %s in a row with EVID %v: want 0, or EVID 1", one.get("AMT"), v)
				}
			case 1:
				dose = true
			default:
				one.fail("EVID is %v: want 0, 1 or 2 (resets are not supported)", v)
			}
		}
		switch {
		case dose:
			if one.number("MDV") == 0 && one.number("DV") != 0 {
				one.fail("DV is %s in the row of a dose: want a row of its own, or MDV 1", one.get("DV"))
			}
			d.dose(one)
		case one.number("EVID") == 0 && one.number("MDV") == 0:
			d.measurement(one)
		}
	}
	if r.given {
		t.Failf(0, "a second table with doses: want one")
	}
	r.given = d.given
	d.infusions()
}

// conditionOf returns the condition of a record, whose ID is that of a condition, or a
// number.
func (m *Model) conditionOf(r record, covariates []string) string {
	id := r.Must("ID")
	if !expr.IsID(id) {
		id = "ID" + id
	}
	if !expr.IsID(id) {
		r.fail("ID is %q: want a whole number or a name", r.Get("ID"))
	}
	i := slices.IndexFunc(m.conditions, func(c condition) bool { return c.id == id })
	if i < 0 {
		i = len(m.conditions)
		m.conditions = append(m.conditions, condition{id: id, where: r.Table().At(r.Line)})
	}
	c := &m.conditions[i]
	for _, name := range covariates {
		v := expr.Num(r.Number(name))
		k := slices.IndexFunc(c.set, func(s setting) bool { return s.id == name })
		if k < 0 {
			c.set = append(c.set, setting{name, v})
		} else if !c.set[k].value.Equal(v) {
			r.fail("%s is %v, but %v before, for the same ID: want one value, or an input", name, v, c.set[k].value)
		}
	}
	return id
}

type infusion struct{ from, to, rate float64 }

type doseTable struct {
	r       *modelReader
	m       *Model
	given   bool
	infused map[int]map[string][]infusion // by state and condition
}

func (d *doseTable) dose(r record) {
	var states []string
	for _, s := range d.m.States {
		states = append(states, s.ID)
	}
	state := 0
	if r.get("CMT") != "" {
		state = r.among("CMT", states)
	}
	amount, rate, every, more := r.number("AMT"), r.number("RATE"), r.number("II"), r.number("ADDL")
	switch {
	case !(amount > 0):
		r.fail("AMT is %v: want a number > 0 for a dose", amount)
	case !(rate >= 0):
		r.fail("RATE is %v: want a number ≥ 0 (rates and durations that are parameters are not supported)", rate)
	case !(more >= 0 && more < maxEvents) || more != float64(int(more)):
		r.fail("ADDL is %v: want a whole number from 0 to %d", more, maxEvents-1)
	case !(every > 0) && (more > 0 || r.number("SS") != 0):
		r.fail("II is %v: want the interval of the doses, a number > 0", every)
	}
	id, where := fmt.Sprintf("dose in line %d", r.Line), r.Table().At(r.Line)
	jumps := d.r.onDose()
	if rate == 0 {
		jumps = append(jumps, equations.Jump{State: states[state], Value: expr.Call("plus", expr.Sym(states[state]), expr.Num(amount))})
	}
	d.given = true
	switch v := r.number("SS"); v {
	case 0:
	case 1:
		s := &steadyDose{id: id, state: state, amount: expr.Num(amount), every: expr.Num(every), jumps: jumps, where: where}
		if rate > 0 {
			s.duration = expr.Num(amount / rate)
		}
		d.m.addSteady(s, r.condition, expr.Num(r.time))
	default:
		r.fail("SS is %v: want 0 or 1", v)
	}
	before := d.measured(r)
	for k := range int(more) + 1 {
		at := r.time + float64(k)*every
		if rate > 0 {
			if d.infused[state] == nil {
				d.infused[state] = map[string][]infusion{}
			}
			end := at + amount/rate
			if !(end > at) {
				r.fail("RATE is %v: want an infusion that lasts longer than a rounding error", rate)
			}
			d.infused[state][r.condition] = append(d.infused[state][r.condition], infusion{at, end, amount / (end - at)})
		}
		if len(jumps) == 0 {
			continue
		}
		if d.m.given == nil {
			d.m.given = map[string][]equations.Event{}
		}
		d.m.given[r.condition] = append(d.m.given[r.condition], equations.Event{ID: id, Time: expr.Num(at), Early: equations.AtStart,
			After: before && k == 0, Jumps: jumps, Where: where})
	}
}

// measured reports whether a measurement of the same condition and time comes before the
// record, which is then a dose after the measurement.
func (d *doseTable) measured(r record) bool {
	return slices.ContainsFunc(d.m.Data, func(o Observation) bool { return o.Condition == r.condition && o.Time == r.time })
}

func (d *doseTable) measurement(r record) {
	names := d.m.observableIDs()
	k := 0
	if r.get("DVID") != "" {
		k = r.among("DVID", names)
	} else if len(names) != 1 {
		r.fail("the model has %d observables: want a column DVID that says which one is measured", len(names))
	}
	if r.get("DV") == "" {
		r.fail("DV is empty: want a number, or MDV 1")
	}
	if v := r.number("CENS"); v != 0 {
		r.fail("CENS is %v: want 0, and in DV an interval such as ..%s", v, r.get("DV"))
	}
	for _, e := range d.m.given[r.condition] {
		if at, _ := e.Time.Const(); e.After && at == r.time {
			r.fail("measurements at TIME %v both before and after a dose: want them on one side", r.time)
		}
	}
	o := Observation{Observable: names[k], Condition: r.condition, Time: r.time, where: r.Table().At(r.Line)}
	o.measured(r.Row, "DV")
	checkValue(o, &d.m.observables[k])
	d.m.Data = append(d.m.Data, o)
}

// infusions adds the infusions as inputs.
func (d *doseTable) infusions() {
	m := d.m
	for _, state := range slices.Sorted(maps.Keys(d.infused)) {
		s := &m.States[state]
		u := input{id: "infusion into " + s.ID, of: map[string]*probode.Input{"": constantInput([]float64{m.start}, []float64{0})}}
		for c, list := range d.infused[state] {
			times := []float64{m.start}
			for _, one := range list {
				times = append(times, one.from, one.to)
			}
			slices.Sort(times)
			times = slices.Compact(times)
			rates := make([]float64, len(times))
			for i, t := range times {
				for _, one := range list {
					if one.from <= t && t < one.to {
						rates[i] += one.rate
					}
				}
			}
			u.of[c] = constantInput(times, rates)
		}
		if s.Base == nil {
			s.Base = s.Rate
		}
		s.Rate = expr.Call("plus", s.Rate, expr.Sym(u.id))
		m.inputs = append(m.inputs, u)
	}
}
