package model

import (
	"github.com/probode/probode/pkg/probode/model/expr"
)

// data reads a file of measurements beside a model file: PEtab's table if it
// has a column observableId, else a wide one with a column time, a column for
// each observable, and conditionId if there are conditions. An empty cell, NA or NaN is a
// measurement that was not made; lines that begin with # are comments.
func (f *files) data(name string, m *Model) []Measurement {
	t := f.read(name, maxTable).table('#')
	if t.has("observableId") {
		return f.measurementTable(t, m.Observables, len(m.Conditions) > 0)
	}
	t.need("time")
	observables := map[string]*Observable{}
	for i := range m.Observables {
		observables[m.Observables[i].ID] = &m.Observables[i]
	}
	found := false
	for _, c := range t.columns {
		switch {
		case c == "time" || c == "conditionId":
		case observables[c] != nil:
			found = true
			for _, e := range []*expr.Node{observables[c].Formula, observables[c].Noise} {
				for _, s := range e.Symbols() {
					if isPlaceholder(s, c) {
						t.failf(1, "observable %s has %s: want the data as a PEtab measurement table", c, s)
					}
				}
			}
		default:
			t.failf(1, "column %s is no observable: want time, conditionId and observables", c)
		}
	}
	if !found {
		t.failf(1, "no column of an observable: want time, conditionId and observables")
	}
	if len(m.Conditions) > 0 {
		t.need("conditionId")
	}
	var list []Measurement
	for _, r := range t.rows {
		time := t.time(r.line, r.must("time"))
		condition := r.get("conditionId")
		if len(m.Conditions) > 0 {
			r.must("conditionId")
		}
		for _, c := range t.columns[:len(r.cells)] {
			if o := observables[c]; o != nil && r.get(c) != "" {
				d := Measurement{Observable: c, Condition: condition, Time: time, Value: r.number(c), Where: t.at(r.line)}
				checkValue(d, o)
				list = append(list, d)
			}
		}
	}
	if len(list) == 0 {
		t.failf(0, "no measurements")
	}
	return list
}
