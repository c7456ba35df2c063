package nb

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"

	"github.com/probode/probode/internal/plainfile"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/reference"
)

// Reference returns the reference solution of a problem for its nominal parameters: its
// error is negligible. The times of the solution are spaced dt apart. An error ends the cell.
func Reference(p *probode.Problem, dt float64) *reference.Solution {
	grid := Must(probode.UniformGrid(p, nil, dt))
	times := slices.Compact(slices.Clone(grid.Times())) // at an event there are two
	return Must(reference.Solve(Context(), p, times, reference.Settings{}))
}

// CSV is a table with a header.
type CSV struct {
	Header []string
	Rows   [][]string
}

// OpenCSV reads a table. An error ends the cell.
func OpenCSV(file string) CSV {
	f := Must(plainfile.Open(file))
	defer f.Close()
	rows := Must(csv.NewReader(f).ReadAll())
	if len(rows) == 0 {
		fail(file + " is empty: want a header")
	}
	return CSV{rows[0], rows[1:]}
}

// Where returns the rows that have the given values in the given columns: Where("method",
// "AM0", "h", "0.1").
func (t CSV) Where(pairs ...string) CSV {
	if len(pairs)%2 != 0 {
		panic("nb: the last column has no value: want pairs of a column and a value")
	}
	out := CSV{Header: t.Header}
	for _, r := range t.Rows {
		all := true
		for i := 0; i < len(pairs); i += 2 {
			all = all && r[t.column(pairs[i])] == pairs[i+1]
		}
		if all {
			out.Rows = append(out.Rows, r)
		}
	}
	return out
}

// Starting returns the rows that begin with the given cells.
func (t CSV) Starting(cells ...string) CSV {
	out := CSV{Header: t.Header}
	for _, r := range t.Rows {
		if len(cells) <= len(r) && slices.Equal(r[:len(cells)], cells) {
			out.Rows = append(out.Rows, r)
		}
	}
	return out
}

// Column returns the cells of a column.
func (t CSV) Column(name string) []string {
	k := t.column(name)
	var out []string
	for _, r := range t.Rows {
		out = append(out, r[k])
	}
	return out
}

// Floats returns a column of numbers. If a value is not a number, the notebook's cell
// ends with an error.
func (t CSV) Floats(name string) []float64 {
	var out []float64
	for _, s := range t.Column(name) {
		out = append(out, Must(strconv.ParseFloat(s, 64)))
	}
	return out
}

func (t CSV) column(name string) int {
	k := slices.Index(t.Header, name)
	if k < 0 {
		panic(fmt.Sprintf("nb: the table has no column %q: want one of %q", name, t.Header))
	}
	return k
}
