package main

import (
	"embed"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// The folder `expected` contains the results of a full run with seed 1. The file
// tolerances.csv in the folder `expected` states how far the results of another run may
// be from the expected results, and why.
//
//go:embed expected
var expectedFiles embed.FS

type rule struct {
	column, measure  string
	mayDiverge       bool // a comparison with NaN on one side is false
	tolerance, quick float64
}

func (s *study) check() error {
	spec, err := expected("tolerances")
	if err != nil {
		return err
	}
	differ, compared := 0, 0
	for _, e := range s.only {
		if e.name == "fig2" && s.dataFile != "" {
			fmt.Println("check: fig2 is not compared, because it was made with different data")
			continue
		}
		for _, name := range e.tables {
			rules := spec.where(name)
			if len(rules.rows) == 0 {
				continue // computed from the others, or used for figures only
			}
			got, err := s.load(name)
			if err != nil {
				return err
			}
			want, err := expected(name)
			if err != nil {
				return err
			}
			lines := compare(got, want, rules, s.quick)
			for _, l := range lines {
				fmt.Println(l)
			}
			differ += len(lines)
			compared += len(got.rows)
		}
	}
	if differ > 0 {
		return fmt.Errorf("check: %d rows differ from reproduce/expected by more than reproduce/expected/tolerances.csv allows", differ)
	}
	fmt.Printf("check: %d rows agree with reproduce/expected\n", compared)
	return nil
}

// update wants a full run. It keeps every fourth row of fig2_draws, which only figures
// use.
func (s *study) update() error {
	for _, e := range s.only {
		for _, name := range e.tables {
			t, err := s.load(name)
			if err != nil {
				return err
			}
			if name == "fig2_draws" {
				kept := t.rows[:0]
				for i, r := range t.rows {
					if i%4 == 3 {
						kept = append(kept, r)
					}
				}
				t.rows = kept
			}
			t.name = name
			to := *s
			to.out = filepath.Join("reproduce", "expected")
			if err := to.save(t); err != nil {
				return err
			}
		}
	}
	return nil
}

func expected(name string) (*table, error) {
	b, err := expectedFiles.ReadFile("expected/" + name + ".csv")
	if err != nil {
		return nil, err
	}
	return parseTable(name+".csv", b)
}

// compare returns a message for each row that differs or, unless `quick`, is missing.
func compare(got, want, rules *table, quick bool) []string {
	if !slices.Equal(got.header, want.header) {
		return []string{fmt.Sprintf("%s: header %v, expected %v", got.name, got.header, want.header)}
	}
	var keys []int
	var checks []rule
	for _, r := range rules.rows {
		column, measure := r[1], r[2]
		if measure == "key" {
			keys = append(keys, got.column(column))
			continue
		}
		measure, mayDiverge := strings.CutSuffix(measure, "?")
		checks = append(checks, rule{column, measure, mayDiverge, number(r[3]), number(r[4])})
	}
	key := func(row []string) string {
		var parts []string
		for _, k := range keys {
			parts = append(parts, row[k])
		}
		return strings.Join(parts, ", ")
	}
	rows := make(map[string][]string)
	for _, r := range want.rows {
		rows[key(r)] = r
	}
	var lines []string
	for _, r := range got.rows {
		k := key(r)
		w, ok := rows[k]
		if !ok {
			lines = append(lines, fmt.Sprintf("%s: %s: not expected", got.name, k))
			continue
		}
		delete(rows, k)
		for _, c := range checks {
			g, e := number(r[got.column(c.column)]), number(w[got.column(c.column)])
			if math.IsNaN(g) && math.IsNaN(e) || c.mayDiverge && (math.IsNaN(g) || math.IsNaN(e)) {
				continue
			}
			tol := c.tolerance
			if quick {
				tol = c.quick
			}
			most := tol * c.unit(got, r, w)
			if !(math.Abs(g-e) <= most) {
				lines = append(lines, fmt.Sprintf("%s: %s: %s is %.6g, expected %.6g ± %.2g", got.name, k, c.column, g, e, most))
			}
		}
	}
	if !quick {
		for _, r := range want.rows {
			if _, missing := rows[key(r)]; missing {
				lines = append(lines, fmt.Sprintf("%s: %s: missing", got.name, key(r)))
			}
		}
	}
	return lines
}

func (c rule) unit(t *table, got, want []string) float64 {
	v := func(row []string, column string) float64 { return number(row[t.column(column)]) }
	both := func(f func(row []string) float64) float64 { return math.Hypot(f(got), f(want)) }
	measure, of, _ := strings.Cut(c.measure, ":")
	switch measure {
	case "absolute":
		return 1
	case "relative": // to the expected value
		return math.Abs(v(want, c.column))
	case "column": // another column of the expected row
		return v(want, of)
	case "se": // the standard errors of both, in another column
		return both(func(r []string) float64 { return v(r, of) })
	case "mcse": // sd/√ess of both
		return both(func(r []string) float64 { return v(r, "sd") / math.Sqrt(v(r, "ess")) })
	case "points": // the number of grid points
		return 20 / v(want, "h")
	}
	panic("tolerances.csv: unknown measure " + c.measure)
}
