package petab

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// A Table writes the rows of a table one after another.
type Table struct {
	w     *csv.Writer
	cells []string
}

// NewTable returns a table whose cells are separated by tabs.
func NewTable(w io.Writer) *Table {
	c := csv.NewWriter(w)
	c.Comma = '\t'
	return &Table{w: c}
}

// Cell adds a cell to the current row.
func (t *Table) Cell(s string) { t.cells = append(t.cells, source.OneLine(s)) }

// End ends the row.
func (t *Table) End() {
	t.w.Write(t.cells) // an error is returned by Flush
	t.cells = t.cells[:0]
}

// Row writes a row.
func (t *Table) Row(cells ...string) {
	for _, c := range cells {
		t.Cell(c)
	}
	t.End()
}

// Flush writes the rows that are still in the buffer, and returns the first error that
// occurred.
func (t *Table) Flush() error {
	t.w.Flush()
	return t.w.Error()
}

// Number returns a number as text, with enough digits to recover exactly the same number.
func Number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
