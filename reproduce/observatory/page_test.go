package main

import (
	"context"
	"encoding/csv"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
)

// columnsOf returns the columns of a table of the page.
func columnsOf(t *testing.T, text []byte) []string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[0]
}

// The script reads columns of the tables by their names: c is a row of the summary, and a
// one of the answers.
func TestScriptReadsColumns(t *testing.T) {
	tables := map[string][]string{"c": columnsOf(t, encode([]brief{}, 4)), "a": columnsOf(t, encode([]answer{}, 6))}
	read := map[string]int{}
	for _, m := range regexp.MustCompile(`\b([ca])\.([a-z][a-z_0-9]*)\b`).FindAllStringSubmatch(chooserScript, -1) {
		// Elements of the page and rows of rankings have these names.
		if slices.Contains([]string{"addEventListener", "reached", "slower", "score", "near", "dataset", "href", "length", "replace", "textContent"}, m[2]) || strings.HasPrefix(m[2], "add") || strings.HasPrefix(m[2], "get") {
			continue
		}
		if !slices.Contains(tables[m[1]], m[2]) {
			t.Errorf("the script reads %s, which is no column of %q", m[0], tables[m[1]])
		}
		read[m[1]]++
	}
	for _, name := range []string{"mean_square", "paper_mean_square", "coverage_50", "paper_coverage_95"} {
		if !slices.Contains(tables["c"], name) {
			t.Errorf("the summary has no column %s", name)
		}
	}
	if read["c"] < 10 || read["a"] < 10 {
		t.Errorf("the script reads %v columns: the test does not see them", read)
	}
}

// decay is x′ = −x on [0, 2], whose solution is known, and that of Euler's method, too.
func decay() *probode.Problem {
	return &probode.Problem{
		Name: "decay", X0: []float64{1}, Theta: []float64{1}, Span: [2]float64{0, 2}, Autonomous: true,
		F:  func(f []float64, _ float64, x, theta []float64) { f[0] = -theta[0] * x[0] },
		FJ: func(f, jac []float64, _ float64, x, theta []float64) { f[0], jac[0] = -theta[0]*x[0], -theta[0] },
	}
}

// A problem in closed form through a cell: the accurate solution, the size of the state, the
// error of the classical method at twenty times, its evaluations, and the rows of all rules.
func TestCellInClosedForm(t *testing.T) {
	s := subject{kind: smooth, make: decay}
	o := &observatory{rules: rules, paths: 40, seed: 3, others: 2}
	truth, err := newTruth(context.Background(), &s, o.others, o.seed)
	if err != nil {
		t.Fatal(err)
	}
	if truth.steps != 20 || len(truth.theta) != 3 || truth.theta[0][0] != 1 || truth.theta[1][0] == truth.theta[2][0] {
		t.Errorf("%d steps, parameters %v", truth.steps, truth.theta)
	}
	for i, at := range truth.times {
		for k, theta := range truth.theta {
			if want := math.Exp(-theta[0] * at); math.Abs(truth.x[k][i]-want) > 1e-10 {
				t.Errorf("x(%g) = %.12g at θ = %g, want %.12g", at, truth.x[k][i], theta[0], want)
			}
		}
	}
	if want := math.Exp(-0.1); math.Abs(truth.size[0]-want) > 1e-10 {
		t.Errorf("size of the state %g, want %g", truth.size[0], want)
	}
	c := cell{o, truth, &entrants[0], 1} // ab1, 40 steps
	rows, err := c.compute(context.Background())
	if err != nil || len(rows) != 1+len(rules) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	var square float64
	for _, at := range truth.times {
		e := (math.Pow(1-0.05, math.Round(at/0.05)) - math.Exp(-at)) / truth.size[0]
		square += e * e / float64(len(truth.times))
	}
	r := rows[0]
	if math.Abs(r.Error-math.Sqrt(square)) > 1e-9 || r.Steps != 40 || r.Evaluations != 40 || r.Jacobians != 0 || r.Size != "h 0.05" || r.Rule != "none" || !(r.Seconds > 0) {
		t.Errorf("classical solution %+v, want an error of %.6g", r, math.Sqrt(square))
	}
	for i, r := range rows[1:] {
		if r.Rule != rules[i].name || r.Status != "ok" || !(r.Alpha > 0) || r.Points+r.Excluded != 2*19 && r.Points+r.Excluded != 2*20 {
			t.Errorf("row %d: %+v", i, r)
		}
		if each, err := strconv.ParseFloat(r.Each, 64); err != nil || math.Abs(each/r.Square-1) > 1e-3 {
			t.Errorf("%s: mean square %g, of the only component %s", r.Rule, r.Square, r.Each)
		}
	}
	if gone := (&cell{o, truth, &entrant{name: "ab1"}, 0}).known(&ledger[row]{key: (*row).key, rows: rows}); gone {
		t.Error("a cell of another step is known")
	}
	if !c.known(&ledger[row]{key: (*row).key, rows: rows}) || c.known(&ledger[row]{key: (*row).key, rows: rows[:3]}) {
		t.Error("a cell is known if all of its rows are, and only then")
	}
}

// A run that is interrupted says so, and keeps what it has; the next one completes it.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(context.Background())
	stop()
	args := []string{"-quick", "-only", "cells", "-out", dir}
	if err := run(ctx, args); err == nil || !strings.Contains(err.Error(), "interrupted; "+dir+" has the results so far") {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "observatory.html")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a page of an interrupted run: %v", err)
	}
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "observatory.html"))
	if err != nil || strings.Contains(string(page), "What does the solver do to my posterior?") || !strings.Contains(string(page), `id="cells.csv"`) {
		t.Errorf("the page of cells alone: %v", err)
	}
	for _, r := range rules {
		if !strings.Contains(string(page), "<td>"+r.name+"</td>") {
			t.Errorf("the page has no rule %q", r.name)
		}
	}
}

// The answers of remedies that cannot be had are lines of the page, too.
func TestAnswerCells(t *testing.T) {
	a := unknown[answer]()
	a.Question, a.Remedy, a.Step, a.Status = "q", "r", 0.5, "fails: no noise"
	if c := a.cells(); !slices.Equal(c, []string{"q", "0.5", "r", "", "", "", "", "", "fails: no noise"}) {
		t.Errorf("a failure: %q", c)
	}
	a.Status, a.Parameter, a.Bias, a.BiasSE, a.Ratio, a.KHat, a.RHat, a.Solves, a.Seconds = "ok", "k", -0.5, 0.02, [2]float64{0.95, 1.05}, 0.8, 1.2, 3, 4
	if c := a.cells(); !slices.Equal(c, []string{"q", "0.5", "r", "!-0.50 ± 0.02", "k", "+0.95–1.05", "3", "4", "k̂ 0.80: the weights cannot be trusted; R̂ 1.20"}) {
		t.Errorf("an answer: %q", c)
	}
}

// The page can be made when only some of the answers exist, or when all computations failed.
func TestPartOfTheAnswers(t *testing.T) {
	o := &observatory{questions: questions[:2], remedies: remedies[:1]}
	a := unknown[answer]()
	a.Question, a.Remedy, a.Status, a.Step, a.Bias, a.Seconds = questions[0].name, remedies[0].name, "ok", 0.2, 0.1, 1
	for _, status := range []string{"ok", "fails: the path diverges"} {
		a.Status = status
		if text, err := o.answersPart([]answer{a}); err != nil || !strings.Contains(text, remedies[0].name) {
			t.Errorf("%q: %v", status, err)
		}
	}
}
