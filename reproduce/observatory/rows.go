package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/probode/probode/reproduce/internal/shell"
)

// The results as a table: one row for each rule of a cell, and a row of the rule "none" for
// the classical method. A later run does not compute the rows of a file again.

// A row holds the numbers of a rule in a cell. Missing numbers are NaN.
type row struct {
	problem, kind, method, size, rule, status string
	dimension                                 int

	steps, evaluations, jacobians int
	seconds, error                float64 // of the classical solution; the error is relative to the size of the components

	alpha, se, seTime, fit, calibration, took float64

	points, excluded, failed int
	meanSquare, lo, hi       float64 // mean square of the standardised error at other θ
	inside                   [4]float64
	within                   [2]float64
	crps, plain              float64
	energy, energy0          float64
	wide                     float64 // share of points that are too wide
	component                string  // mean square by component, with semicolons
}

// fields lists the columns and the places of their values.
func (r *row) fields() (names []string, at []any) {
	add := func(name string, p any) { names, at = append(names, name), append(at, p) }
	add("problem", &r.problem)
	add("kind", &r.kind)
	add("dimension", &r.dimension)
	add("method", &r.method)
	add("size", &r.size)
	add("rule", &r.rule)
	add("status", &r.status)
	add("steps", &r.steps)
	add("evaluations", &r.evaluations)
	add("jacobians", &r.jacobians)
	add("seconds", &r.seconds)
	add("error", &r.error)
	add("alpha", &r.alpha)
	add("alpha_se", &r.se)
	add("alpha_se_time", &r.seTime)
	add("fit_mean_square", &r.fit)
	add("calibration_seconds", &r.calibration)
	add("seconds_in_all", &r.took)
	add("points", &r.points)
	add("excluded", &r.excluded)
	add("thetas_failed", &r.failed)
	add("mean_square", &r.meanSquare)
	add("mean_square_lo", &r.lo)
	add("mean_square_hi", &r.hi)
	for i, l := range levels {
		add(fmt.Sprintf("coverage_%.0f", 100*l), &r.inside[i])
	}
	add("within_1sd", &r.within[0])
	add("within_2sd", &r.within[1])
	add("crps", &r.crps)
	add("crps_without_spread", &r.plain)
	add("energy_score", &r.energy)
	add("energy_score_without_spread", &r.energy0)
	add("share_too_wide", &r.wide)
	add("mean_square_by_component", &r.component)
	return names, at
}

// nan sets all numbers of the calibration to NaN.
func nan(r line) {
	_, at := r.fields()
	for _, p := range at {
		if f, ok := p.(*float64); ok {
			*f = math.NaN()
		}
	}
}

// take copies the numbers of a verdict.
func (r *row) take(v *verdict, failed int) {
	n := float64(v.points)
	r.points, r.excluded, r.failed = v.points, v.excluded, failed
	r.meanSquare, r.lo, r.hi = v.meanSquare()
	for i := range r.inside {
		r.inside[i] = v.inside[i] / n
	}
	for i := range r.within {
		r.within[i] = v.within[i] / n
	}
	r.crps, r.plain = v.crps/n, v.plain/n
	r.energy, r.energy0 = v.energy/n, v.energy0/n
	r.wide = float64(v.wide) / n
	var parts []string
	for _, s := range v.byComponent() {
		parts = append(parts, strconv.FormatFloat(s, 'g', 4, 64))
	}
	r.component = strings.Join(parts, ";")
}

// components returns the mean squares by component that are known.
func (r *row) components() []float64 {
	var out []float64
	for _, s := range strings.Split(r.component, ";") {
		if v, err := strconv.ParseFloat(s, 64); err == nil && !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

// judged reports whether the row has a verdict.
func (r *row) judged() bool { return r.status == "ok" && r.rule != "none" && r.points > 0 }

// A line is a row of a table that can be written and read.
type line interface {
	fields() (names []string, at []any)
}

// record writes a line as text.
func record(r line) []string {
	var out []string
	_, at := r.fields()
	for _, p := range at {
		switch p := p.(type) {
		case *string:
			out = append(out, *p)
		case *int:
			out = append(out, strconv.Itoa(*p))
		case *float64:
			out = append(out, strconv.FormatFloat(*p, 'g', 6, 64))
		}
	}
	return out
}

// parse reads a line from text.
func parse(r line, record []string) error {
	names, at := r.fields()
	if len(record) != len(at) {
		return fmt.Errorf("%d columns: want %d", len(record), len(at))
	}
	for i, p := range at {
		var err error
		switch p := p.(type) {
		case *string:
			*p = record[i]
		case *int:
			*p, err = strconv.Atoi(record[i])
		case *float64:
			*p, err = strconv.ParseFloat(record[i], 64)
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", names[i], err)
		}
	}
	return nil
}

// load reads the rows of a file, none if it does not exist. It refuses a file with other
// columns.
func load[T any, P interface {
	*T
	line
}](path string) ([]T, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: remove it to begin again", path, err)
	}
	names, _ := P(new(T)).fields()
	if len(records) == 0 || !slices.Equal(records[0], names) {
		return nil, fmt.Errorf("%s: the columns are not those of this version: remove it to begin again", path)
	}
	rows := make([]T, len(records)-1)
	for i := range rows {
		if err := parse(P(&rows[i]), records[i+1]); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w: remove it to begin again", path, i+2, err)
		}
	}
	return rows, nil
}

// save writes all rows; after an error the file is unchanged.
func save[T any, P interface {
	*T
	line
}](path string, rows []T) error {
	text, err := table[T, P](rows)
	if err != nil {
		return err
	}
	return shell.WriteFile(path, text)
}

// table returns the rows as CSV.
func table[T any, P interface {
	*T
	line
}](rows []T) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	names, _ := P(new(T)).fields()
	w.Write(names) // to memory; an error is in Error
	for i := range rows {
		w.Write(record(P(&rows[i])))
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func oneLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}
