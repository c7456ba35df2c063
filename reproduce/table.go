package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/probode/probode/internal/shell"
)

// A table is a CSV file from which figures are made. Only fig1 also needs paths, from the
// seed.
type table struct {
	name   string
	header []string
	rows   [][]string
}

// add rounds to 8 digits, because later ones may differ between platforms. Missing values
// are NaN.
func (t *table) add(cells ...any) {
	if len(cells) != len(t.header) {
		panic(fmt.Sprintf("%s: a row has %d cells: want %d", t.name, len(cells), len(t.header)))
	}
	row := make([]string, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case string:
			row[i] = c
		case int:
			row[i] = strconv.Itoa(c)
		case float64:
			row[i] = strconv.FormatFloat(c, 'g', 8, 64)
			if math.IsInf(c, 0) {
				row[i] = "NaN"
			}
		default:
			panic(fmt.Sprintf("%s: cell of type %T", t.name, c))
		}
	}
	t.rows = append(t.rows, row)
}

func (t *table) column(name string) int {
	for i, h := range t.header {
		if h == name {
			return i
		}
	}
	panic(fmt.Sprintf("%s has no column %q", t.name, name))
}

func (t *table) where(key ...string) *table {
	out := &table{name: t.name, header: t.header}
	for _, row := range t.rows {
		match := true
		for i, k := range key {
			match = match && row[i] == k
		}
		if match {
			out.rows = append(out.rows, row)
		}
	}
	return out
}

func (t *table) floats(name string) []float64 {
	c := t.column(name)
	out := make([]float64, len(t.rows))
	for i, row := range t.rows {
		out[i] = number(row[c])
	}
	return out
}

func (t *table) distinct(name string) []string {
	c := t.column(name)
	var out []string
	seen := make(map[string]bool)
	for _, row := range t.rows {
		if !seen[row[c]] {
			seen[row[c]] = true
			out = append(out, row[c])
		}
	}
	return out
}

func number(cell string) float64 {
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

func cell(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }

func (s *study) save(t *table) error {
	return shell.WriteCSV(filepath.Join(s.out, t.name+".csv"), t.header, t.rows)
}

func (s *study) load(name string) (*table, error) {
	return readTable(filepath.Join(s.out, name+".csv"))
}

func readTable(path string) (*table, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseTable(filepath.Base(path), b)
}

func parseTable(name string, b []byte) (*table, error) {
	r := csv.NewReader(bytes.NewReader(b))
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s is empty", name)
	}
	return &table{name: name, header: rows[0], rows: rows[1:]}, nil
}
