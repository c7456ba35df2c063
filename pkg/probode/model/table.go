package model

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A table is a TSV or CSV file with a header: cells by the name of their
// column, each row with its line.
type table struct {
	*source
	columns []string
	index   map[string]int
	rows    []row
}

type row struct {
	t     *table
	line  int
	cells []string
}

// More than any table needs.
const (
	maxColumns = 10000
	maxCells   = 1 << 23
)

// readTable reads a table whose cells are parted by tabs, or by commas if the
// header has no tab. Cells lose surrounding blanks; rows that are empty
// throughout are left out.
func (f *files) readTable(name string) *table { return f.read(name, maxTable).table(0) }

// table reads a table; lines that begin with the rune comment, if it is not 0,
// are left out.
func (s *source) table(comment rune) *table {
	s.utf8()
	t := &table{source: s, index: map[string]int{}}

	header, rest, _ := bytes.Cut(s.text, []byte("\n"))
	for comment != 0 && len(rest) > 0 && (len(bytes.TrimSpace(header)) == 0 || rune(header[0]) == comment) {
		header, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
	// The reader takes \r\n as \n but not a lone \r, the line end of old
	// spreadsheets, which would make one long header.
	if i := bytes.IndexByte(header, '\r'); i >= 0 && i < len(header)-1 {
		s.failf(1, "lines end with a carriage return alone: want \\n or \\r\\n")
	}
	r := csv.NewReader(bytes.NewReader(s.text))
	r.FieldsPerRecord = -1
	r.Comment = comment
	if bytes.IndexByte(header, '\t') >= 0 || bytes.IndexByte(header, ',') < 0 {
		// PEtab's tables know no quoting rules of their own; pandas, which
		// reads them elsewhere, understands quotes as CSV does.
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
				s.failf(pe.StartLine, "a table row that cannot be read: %v", pe.Err)
			}
			s.failf(0, "%v", err)
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
		if t.columns == nil {
			t.header(line, cells)
			continue
		}
		// Spreadsheets leave empty cells behind the last column.
		for len(cells) > len(t.columns) && cells[len(cells)-1] == "" {
			cells = cells[:len(cells)-1]
		}
		if len(cells) > len(t.columns) {
			s.failf(line, "%d cells: the header has %d columns", len(cells), len(t.columns))
		}
		// Rows that end early are not filled up: a header of many columns
		// would make them large.
		if total += len(cells); total > maxCells {
			s.failf(line, "more than %d cells: want a smaller table", maxCells)
		}
		t.rows = append(t.rows, row{t: t, line: line, cells: cells})
	}
	if t.columns == nil {
		s.failf(0, "empty: want a table with a header")
	}
	return t
}

func (t *table) header(line int, cells []string) {
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) > maxColumns {
		t.failf(line, "%d columns: want at most %d", len(cells), maxColumns)
	}
	for i, c := range cells {
		if c == "" {
			t.failf(line, "column %d has no name", i+1)
		}
		if _, twice := t.index[c]; twice {
			t.failf(line, "column %s appears twice", c)
		}
		t.index[c] = i
	}
	t.columns = slices.Clone(cells)
}

// has says whether there is such a column.
func (t *table) has(column string) bool {
	_, ok := t.index[column]
	return ok
}

// need stops unless all of the columns exist.
func (t *table) need(columns ...string) {
	for _, c := range columns {
		if !t.has(c) {
			has := "it has " + strings.Join(t.columns, ", ")
			if len(t.columns) == 1 && strings.Contains(has, ";") {
				has += ", which seem to be parted by semicolons: want commas or tabs"
			}
			t.failf(1, "no column %s: want %s: %s", c, strings.Join(columns, ", "), has)
		}
	}
}

// get returns a cell, "" if it is empty, not a number in the words of pandas
// (a missing value), or if there is no such column.
func (r row) get(column string) string {
	i, ok := r.t.index[column]
	if !ok || i >= len(r.cells) {
		return ""
	}
	switch c := r.cells[i]; c {
	case "NaN", "nan", "NA", "N/A", "NULL", "null", "<NA>":
		return ""
	default:
		return c
	}
}

// must returns a cell that may not be empty.
func (r row) must(column string) string {
	c := r.get(column)
	if c == "" {
		r.t.failf(r.line, "%s is empty", column)
	}
	return c
}

// number returns a finite number of a cell that may not be empty.
func (r row) number(column string) float64 {
	c := r.must(column)
	v, err := parseNumber(c)
	if err != nil || math.IsInf(v, 0) {
		r.t.failf(r.line, "%s is %q: want a finite number", column, c)
	}
	return v
}

// parseNumber reads a decimal number: a hexadecimal one, or one with
// underscores, is a word that Go alone takes for a number.
func parseNumber(s string) (float64, error) {
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
