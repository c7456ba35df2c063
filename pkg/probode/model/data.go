package model

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// WithData returns a copy of p whose measurements are replaced by those in the given
// file. The file is a data table in any format that MODELFILE.md allows for data. It is
// an error if p has several models.
//
// If there is a mistake in the file, the error is a [*source.Error].
func (p *File) WithData(file, time string) (q *File, err error) {
	defer source.Catch(&err)
	dir, base := filepath.Split(file)
	f := &files{source.Dir(dir, true)}
	before, err := p.Instances()
	if err != nil {
		return nil, err
	}
	old := append(late(before), uncovered(before)...) // which the new data may refute
	f.Warnings = slices.DeleteFunc(slices.Clone(p.Warnings), func(w string) bool { return slices.Contains(old, w) })
	f.Opened = slices.Clone(p.Files)
	if len(p.Models) != 1 {
		(&source.File{Name: text.Clip(base)}).Failf(0, "the problem has %d models: new data can be given only for a problem with one model", len(p.Models))
	}
	m := *p.Models[0]
	if time != "" {
		m.timeName = time
	}
	table := f.Read(filepath.ToSlash(base), source.MaxTable)
	if isNonmem(table) {
		table.Failf(1, "a table with doses belongs to the model: want it under the key data of the model file")
	}
	m.Data = readData(table, &m)
	c := *p
	c.Models = []*Model{&m}
	return f.finish(&c)
}

// readData reads a PEtab table, which has a column observableId, or a wide table. An
// empty cell, NA or NaN marks a missing measurement.
func readData(s *source.File, m *Model) []Observation {
	t := s.Table('#')
	if t.Has("observableId") {
		return measurementTable(t, m, len(m.conditions) > 0)
	}
	times := m.timeColumn(t)
	observables := m.observablesByID()
	found := false
	for _, c := range t.Columns {
		switch {
		case c == times || c == "conditionId":
		case observables[c] != nil:
			found = true
			for _, s := range observables[c].symbols() {
				if isPlaceholder(s, c) {
					t.Failf(1, "observable %s contains the placeholder %s: give the data as a PEtab measurement table", c, s)
				}
			}
		default:
			t.Failf(1, "column %s is not an observable: want only %s, conditionId and the IDs of observables", c, times)
		}
	}
	if !found {
		t.Failf(1, "no column of the table is an observable: want the columns %s, conditionId and one or more of %s", times, strings.Join(m.observableIDs(), ", "))
	}
	if len(m.conditions) > 0 {
		t.Need("conditionId")
	}
	var list []Observation
	for _, r := range t.Rows {
		time := m.readTime(r, times, m.start)
		condition := r.Get("conditionId")
		if len(m.conditions) > 0 {
			r.Must("conditionId")
		}
		for _, c := range t.Columns[:len(r.Cells)] {
			if o := observables[c]; o != nil && r.Get(c) != "" {
				d := Observation{Observable: c, Condition: condition, Time: time, where: t.At(r.Line)}
				d.measured(r, c)
				checkValue(d, o)
				list = append(list, d)
			}
		}
	}
	if len(list) == 0 {
		t.Failf(0, "the table has no measurements")
	}
	return list
}

func (m *Model) observableIDs() (ids []string) {
	for _, o := range m.observables {
		ids = append(ids, o.id)
	}
	return ids
}

func (m *Model) timeColumn(t *source.Table) string {
	times := m.timeName
	if times == "" || !t.Has(times) && t.Has(expr.Time) {
		times = expr.Time
	}
	t.Need(times)
	return times
}
