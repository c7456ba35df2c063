package source

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// A Table is a TSV or CSV file whose header names the columns. Each row contains its line
// number in the file.
type Table struct {
	*File
	Columns []string
	Rows    []Row

	index map[string]int
}

// A Row holds the cells of one table row and its line number in the file.
type Row struct {
	Line  int
	Cells []string // fewer than columns if the line ends early

	t *Table
}

// The limits are far above the sizes of tables that occur in practice.
const (
	maxColumns = 10000
	maxCells   = 1 << 23
)

// Table reads a table whose cells are separated by tabs, or by commas if the header has
// commas and no tab. Table removes blanks around cells, and skips empty rows. Lines that
// begin with the character in the argument `comment` are skipped; if `comment` is 0, the
// table has no comments.
func (s *File) Table(comment rune) *Table {
	s.utf8()
	t := &Table{File: s, index: map[string]int{}}

	header, rest, _ := bytes.Cut(s.Text, []byte("\n"))
	for comment != 0 && len(rest) > 0 && (len(bytes.TrimSpace(header)) == 0 || rune(header[0]) == comment) {
		header, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
	// The CSV reader accepts \r\n as the end of a line. If lines ended with \r alone, as in
	// old spreadsheets, the whole file would be one long header.
	if i := bytes.IndexByte(header, '\r'); i >= 0 && i < len(header)-1 {
		s.Failf(1, "lines end with a carriage return alone: want \\n or \\r\\n")
	}
	r := csv.NewReader(bytes.NewReader(s.Text))
	r.FieldsPerRecord = -1
	r.Comment = comment
	if bytes.IndexByte(header, '\t') >= 0 || bytes.IndexByte(header, ',') < 0 {
		// PEtab does not define quotes in tables. Other programs read the tables with
		// pandas, which follows the CSV rules for quotes.
		r.Comma = '\t'
	}
	total := 0
	for {
		cells, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			if pe := (*csv.ParseError)(nil); errors.As(err, &pe) {
				s.Failf(pe.StartLine, "cannot read this row of the table: %v", pe.Err)
			}
			s.Failf(0, "%v", err)
		}
		line, _ := r.FieldPos(0)
		empty := true
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
			empty = empty && cells[i] == ""
		}
		if empty {
			continue
		}
		if t.Columns == nil {
			t.header(line, cells)
			continue
		}
		// Spreadsheet programs often write empty cells after the last column.
		for len(cells) > len(t.Columns) && cells[len(cells)-1] == "" {
			cells = cells[:len(cells)-1]
		}
		if len(cells) > len(t.Columns) {
			s.Failf(line, "%d cells: the header has %d columns", len(cells), len(t.Columns))
		}
		// Short rows stay short, because padding them with empty cells would use a lot of
		// memory in a table with many columns.
		if total += len(cells); total > maxCells {
			s.Failf(line, "the table has too many cells: want at most %d", maxCells)
		}
		t.Rows = append(t.Rows, Row{t: t, Line: line, Cells: cells})
	}
	if t.Columns == nil {
		s.Failf(0, "empty: want a table with a header")
	}
	return t
}

func (t *Table) header(line int, cells []string) {
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) > maxColumns {
		t.Failf(line, "%d columns: want at most %d", len(cells), maxColumns)
	}
	for i, c := range cells {
		if c == "" {
			t.Failf(line, "column %d has no name", i+1)
		}
		if _, twice := t.index[c]; twice {
			t.Failf(line, "column %s appears twice", c)
		}
		t.index[c] = i
	}
	t.Columns = slices.Clone(cells)
}

// Has reports whether the table has a column with the given name.
func (t *Table) Has(column string) bool {
	_, ok := t.index[column]
	return ok
}

// Need reports an error unless the table has all of the given columns.
func (t *Table) Need(columns ...string) {
	for _, c := range columns {
		if !t.Has(c) {
			has := "the table has " + strings.Join(t.Columns, ", ")
			if len(t.Columns) == 1 && strings.Contains(has, ";") {
				has += " (the columns seem to be separated by semicolons; use commas or tabs)"
			}
			t.Failf(1, "there is no column %s: want %s; %s", c, strings.Join(columns, ", "), has)
		}
	}
}

// Table returns the table of the row.
func (r Row) Table() *Table { return r.t }

// Get returns the text of a cell. The result is "" if the cell is empty, if it contains a
// word that pandas reads as a missing value and that is no ID, or if there is no such
// column.
func (r Row) Get(column string) string {
	i, ok := r.t.index[column]
	if !ok || i >= len(r.Cells) {
		return ""
	}
	c := r.Cells[i]
	switch c {
	case "NaN", "nan", "NA", "N/A", "NULL", "null", "<NA>":
		if !r.t.Names.IDs[c] {
			return ""
		}
	}
	return c
}

// Must returns the text of a cell, and reports an error if the cell is empty.
func (r Row) Must(column string) string {
	c := r.Get(column)
	if c == "" {
		r.t.Failf(r.Line, "%s is empty", column)
	}
	return c
}

// Number returns the number in a cell. It is an error if the cell is empty or does not
// contain a finite number.
func (r Row) Number(column string) float64 {
	c := r.Must(column)
	v, err := ParseNumber(c)
	if err != nil || math.IsInf(v, 0) {
		r.t.Failf(r.Line, "%s is %q: want a finite number", column, c)
	}
	return v
}

// ParseNumber reads a decimal number. ParseNumber rejects hexadecimal numbers and numbers
// with underscores, because programs in other languages may not read them as numbers.
func ParseNumber(s string) (float64, error) {
	if strings.ContainsAny(s, "_xXpP") {
		return 0, strconv.ErrSyntax
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && math.IsInf(v, 0) { // a finite number beyond the range
		return v, err
	}
	if math.IsNaN(v) {
		return v, strconv.ErrSyntax
	}
	return v, err
}

// ExtraColumns warns about columns that PEtab does not define. The argument `known` lists
// the columns that PEtab defines.
func (t *Table) ExtraColumns(known ...string) {
	for _, c := range t.Columns {
		if !slices.Contains(known, c) {
			t.Warnf(1, "column %s is not part of PEtab and is ignored", c)
		}
	}
}

// NumberOr returns the finite number in a cell, or NaN if the cell is empty.
func (r Row) NumberOr(column string) float64 {
	if r.Get(column) == "" {
		return math.NaN()
	}
	return r.Number(column)
}

// ID returns the text of a cell, and reports an error if this text is not an ID.
func (r Row) ID(column string) string {
	id := r.Must(column)
	if !expr.IsID(id) {
		r.t.Failf(r.Line, "%s is %q: want letters, digits and _; the first character must not be a digit", column, id)
	}
	return id
}

// TSV returns rows as text, with tabs between the cells. Line breaks within a cell are
// replaced by spaces.
func TSV(rows [][]string) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b) // to memory, where writing cannot fail
	w.Comma = '\t'
	for _, row := range rows {
		line := make([]string, len(row))
		for i, cell := range row {
			line[i] = oneLine(cell)
		}
		w.Write(line)
	}
	w.Flush()
	return b.Bytes()
}
