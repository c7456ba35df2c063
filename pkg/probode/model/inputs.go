package model

import (
	"fmt"
	"maps"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// An input is a function of time that a table gives, either one for all conditions or one
// for each.
type input struct {
	id    string
	of    map[string]*probode.Input // by condition; "" is that of all others
	where source.Where
}

// in returns the input under a condition, or nil if there is none.
func (u *input) in(condition string) *probode.Input {
	if f := u.of[condition]; f != nil {
		return f
	}
	return u.of[""]
}

func (r *modelReader) inputs(y *source.Node, m *Model) {
	list := y.Get("inputs")
	if list == nil {
		return
	}
	list.Mapping("inputs")
	for _, id := range list.Keys {
		n := list.ByKey[id]
		n.Mapping("input "+id, "file", "column", "interpolation")
		r.notTime(n.Line, "an input", id)
		u := input{id: id, of: map[string]*probode.Input{}, where: r.At(n.Line)}
		tables := n.Tables("file")
		if len(tables) != 1 {
			r.Failf(n.Line, "input %s has %d files: want one", id, len(tables))
		}
		kind := n.Word("interpolation")
		if !slices.Contains([]string{"linear", "constant", "spline", ""}, kind) {
			r.Failf(n.LineOf("interpolation"), "interpolation is %q: want linear, constant or spline", kind)
		}
		u.read(tables[0].Table('#'), m, n.Word("column"), kind)
		m.inputs = append(m.inputs, u)
	}
}

// read reads the knots. A row whose cell is empty has none.
func (u *input) read(t *source.Table, m *Model, column, kind string) {
	times := m.timeColumn(t)
	if column == "" {
		if column = u.id; !t.Has(column) {
			rest := slices.DeleteFunc(slices.Clone(t.Columns), func(c string) bool { return c == times || c == "conditionId" })
			if len(rest) != 1 {
				t.Need(column)
			}
			column = rest[0]
		}
	}
	t.Need(column)
	for _, row := range t.Rows {
		if row.Get(column) == "" {
			continue
		}
		c := row.Get("conditionId")
		if c != "" && !slices.ContainsFunc(m.conditions, func(d condition) bool { return d.id == c }) {
			t.Failf(row.Line, "condition %s is not defined", c)
		}
		f := u.of[c]
		if f == nil {
			f = &probode.Input{Constant: kind == "constant"}
			u.of[c] = f
		}
		at, isDate := m.clock.number(t.File, row.Line, times, row.Must(times))
		if !isDate {
			at = row.Number(times)
		}
		if n := len(f.Times); n > 0 && !(at > f.Times[n-1]) {
			t.Failf(row.Line, "%s is %s: want times that increase", times, row.Get(times))
		}
		f.Times, f.Values = append(f.Times, at), append(f.Values, row.Number(column))
	}
	if len(u.of) == 0 {
		t.Failf(0, "the column %s has no numbers", column)
	}
	for c, f := range u.of {
		if f.Constant {
			f.Times[0] = min(f.Times[0], m.start) // the first value holds before its time, too
		}
		if kind == "spline" {
			if len(f.Times) < 2 {
				t.Failf(0, "input %s has one row: want at least two for a spline", u.id)
			}
			u.of[c] = probode.Spline(f.Times, f.Values)
		}
	}
}

// lowerInputs puts the inputs of condition c in the place of their names. Their knots are
// switches, so that no step crosses them.
func (l *lowering) lowerInputs(c string) {
	for i := range l.m.inputs {
		u := &l.m.inputs[i]
		f := u.in(c)
		if f == nil {
			u.where.Failf("input %s has no rows for condition %s", u.id, c)
		}
		l.start[u.id] = expr.Num(f.At(l.m.start))
		l.now[u.id] = expr.CurveAt(u.id, f, expr.Sym(expr.Time))
	}
}

// knots returns the times of the knots of all inputs in the expressions.
func knots(list ...*expr.Node) (times []float64) {
	for _, c := range expr.Curves(list...) {
		if u, ok := c.(*probode.Input); ok {
			times = append(times, u.Times...)
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// uncovered warns about inputs whose tables begin after the start or end before the last
// measurement.
func uncovered(list []*Instance) (warnings []string) {
	seen := map[source.Where]bool{}
	for _, e := range list {
		for i := range e.model.inputs {
			u := &e.model.inputs[i]
			f := u.in(e.Condition)
			if f.Constant || seen[u.where] || len(e.rows) == 0 {
				continue
			}
			warn := func(format string, args ...any) {
				seen[u.where] = true
				warnings = append(warnings, fmt.Sprintf("%s:%d: the table of input %s ", u.where.File, u.where.Line, u.id)+fmt.Sprintf(format, args...))
			}
			if first := f.Times[0]; first > e.model.start {
				warn("begins at %v, after the start at %v: the input has its first value before", first, e.model.start)
			}
			if last, end := f.Times[len(f.Times)-1], e.rows[len(e.rows)-1].time; end > last {
				warn("ends at %v, before the measurement at %v: the input keeps its last value", last, end)
			}
		}
	}
	return warnings
}

// table returns the table from which the input can be read again.
func (u *input) table() (csv, kind string) {
	rows := [][]string{{expr.Time, "conditionId", u.id}}
	kind = "linear"
	for _, c := range slices.Sorted(maps.Keys(u.of)) {
		f := u.of[c]
		switch {
		case f.Constant:
			kind = "constant"
		case f.Slopes != nil:
			kind = "spline"
		}
		for i, t := range f.Times {
			rows = append(rows, []string{numberText(t), c, numberText(f.Values[i])})
		}
	}
	return string(source.TSV(rows)), kind
}
