package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
)

// The quick form gives a table and a page; a second run computes nothing again
// and gives the same bytes; a table that lost its end is completed with the same
// numbers, but for times; other settings do not mix.
func TestQuick(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	args := []string{"-quick", "-out", dir}
	if err := run(ctx, args); err != nil {
		t.Fatal(err)
	}
	table, page := filepath.Join(dir, "cells.csv"), filepath.Join(dir, "observatory.html")
	first, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := decode[row](first)
	if err != nil {
		t.Fatal(err)
	}
	judged := 0
	for i := range rows {
		r := &rows[i]
		if !r.judged() {
			continue
		}
		judged++
		if r.Method == "interrogation" && strings.Contains(r.Rule, "local") {
			t.Errorf("%s was judged with %q, without local errors", r.cell(), r.Rule)
		}
		if !(r.Square > 0) || !(r.Band[0] <= r.Square && r.Square <= r.Band[1]) || !(r.CRPS > 0) || r.Coverage[0] > r.Coverage[3] || r.Within[0] > r.Within[1] {
			t.Errorf("a row that cannot be: %+v", *r)
		}
	}
	if judged < 20 {
		t.Errorf("%d verdicts in %d rows", judged, len(rows))
	}
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"What should I use", "data:image/png", "log, local", "SIR"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if err := run(ctx, append(args, "-workers", "3")); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(table); err != nil || string(again) != string(first) {
		t.Errorf("a second run changed the table: %v", err)
	}
	if err := os.WriteFile(table, encode(rows[:len(rows)/2], 6), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(ctx, append(args, "-workers", "3")); err != nil {
		t.Fatal(err)
	}
	second, _ := os.ReadFile(table)
	again, err := decode[row](second)
	if err != nil || len(again) != len(rows) {
		t.Fatalf("completed: %d rows, want %d: %v", len(again), len(rows), err)
	}
	for i := range rows {
		for _, r := range []*row{&rows[i], &again[i]} {
			r.Seconds, r.Calibration = 0, 0
		}
		if a, b := record(&rows[i], 6), record(&again[i], 6); !reflect.DeepEqual(a, b) {
			t.Errorf("row %d: %v, completed %v", i, a, b)
		}
	}
	// Each table by itself refuses other settings.
	for _, other := range [][]string{{"-seed", "2"}, {"-paths", "65"}, {"-paths", "65", "-only", "page"}} {
		for _, gone := range []string{"", "cells.csv"} {
			os.Remove(filepath.Join(dir, gone)) // dir itself is not empty
			if err := run(ctx, append(args, other...)); err == nil || !strings.Contains(err.Error(), "choose another folder with -out") {
				t.Errorf("%v in the same folder, without %q: %v", other, gone, err)
			}
		}
		if err := os.WriteFile(table, second, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBadFlags(t *testing.T) {
	out := t.TempDir()
	for want, args := range map[string][]string{
		`-only is "all": want cells, answers or page`:          {"-only", "all"},
		"-paths is 39: want a number from 40 to 1000000":       {"-paths", "39"},
		"-paths is 1000000000000: want a number from 40 to":    {"-paths", "1000000000000"},
		"-workers is -1: want a number from 0 to 4096":         {"-workers", "-1"},
		"-workers is 1000000000: want a number from 0 to 4096": {"-workers", "1000000000"},
		`unexpected argument "page": want -only`:               {"page"},
	} {
		err := run(context.Background(), append(args, "-quick", "-out", filepath.Join(out, "new")))
		if args[0] == "page" {
			err = run(context.Background(), args)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
	if left, _ := os.ReadDir(out); len(left) > 0 {
		t.Errorf("written: %v", left)
	}
}

// A truth that is drawn as the paths are has nominal coverage, a mean square of
// one, and the CRPS of a Gaussian, σ/√π [Gneiting & Raftery 2007]. 3000 points in
// ensembles of 100 paths, so that an ensemble's own scatter is some √(1/200) of its
// mean square: sds of the mean square √2/√3000 = .026, of coverage at most .009, of
// the CRPS .008·σ. At 5 of them, false alarms 1e-6.
func TestVerdictIsCalibrated(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const d, times, ensembles, paths = 2, 15, 100, 100
	v := newVerdict(d)
	sd := []float64{1, 3}
	for range ensembles {
		e := &probode.Ensemble{T: make([]float64, times), Deterministic: [][]float64{make([]float64, times), make([]float64, times)}, SD: [][]float64{make([]float64, times), make([]float64, times)}}
		x := make([]float64, d*times)
		for range paths {
			p := make([]float64, d*times)
			for i := range p {
				p[i] = sd[i%d] * rng.NormFloat64()
				e.SD[i%d][i/d] += p[i] * p[i] / (paths - 1)
			}
			e.Paths = append(e.Paths, p)
		}
		for i := range x {
			x[i] = sd[i%d] * rng.NormFloat64()
			e.SD[i%d][i/d] = math.Sqrt(e.SD[i%d][i/d])
		}
		v.add(e, x, make([]float64, len(x)), sd, 0)
	}
	n := float64(v.points)
	if v.points != d*times*ensembles {
		t.Fatalf("%d points", v.points)
	}
	// The variance here is about zero, with one more degree of freedom.
	if m, band := v.meanSquare(); math.Abs(m-1) > 0.13 || band[0] > 1 || band[1] < 1 {
		t.Errorf("mean square %.3f (%.3f), want 1", m, band)
	}
	for j, l := range levels {
		if got := v.inside[j] / n; math.Abs(got-l) > 0.045 {
			t.Errorf("coverage %.3f, want %.2f", got, l)
		}
	}
	if got, want := v.crps/n, 1/math.Sqrt(math.Pi); math.Abs(got-want) > 0.04 {
		t.Errorf("CRPS %.3f, want %.3f", got, want)
	}
	if got := v.crps / v.plain; math.Abs(got-math.Sqrt2/2) > 0.05 { // of E|X| = √(2/π)
		t.Errorf("CRPS %.3f of that without spread, want .707", got)
	}
}

// What a spread of zero, an error of zero, an error that is not known and a path that
// failed do: the first is a mean square of infinity, which a mean over cells takes for
// a thousand and the page for bad and not for missing, the others do not count.
func TestVerdictOfBadCells(t *testing.T) {
	e := &probode.Ensemble{T: []float64{1, 2}, Deterministic: [][]float64{{0, 0}, {1, 1}, {1, 1}}, SD: [][]float64{{0, 0}, {1, 1}, {1, 1}}}
	for i := range 12 {
		z := float64(i%3) - 1
		e.Paths = append(e.Paths, []float64{0, 1 + z, 1 + z, 0, 1 + z, 1 + z})
	}
	e.Paths = append(e.Paths, nil)
	x := []float64{0.1, 1, 1.5, 0.1, 1, 1.5}
	v := newVerdict(3)
	v.add(e, x, []float64{0, 0, 0.1, 0, 0, 0}, []float64{1, 1, 1}, 0)
	if v.points != 3 || v.excluded != 3 || v.n[0] != 2 || v.n[1] != 0 || v.n[2] != 1 {
		t.Errorf("%d points, %d excluded, by component %v: want 3, 3 and [2 0 1]", v.points, v.excluded, v.n)
	}
	classical := row{solved: solved{Problem: "p", Method: "m", Size: "h 1", Status: "ok", Kind: smooth}, Rule: "none"}
	r := classical
	r.Rule = recommended
	v.fill(&r)
	if !math.IsInf(r.Square, 1) || len(r.components()) != 2 {
		t.Errorf("mean square %g, by component %v", r.Square, r.components())
	}
	r.Alpha, r.SE, r.SETime = 1, 0.1, math.NaN()
	if s := stand([]row{classical, r}, recommended); s.arithmetic != 1000 || s.near != 0 || s.cells != 1 {
		t.Errorf("standing %+v", s)
	}
	if b := summary([]row{classical, r}); len(b) != 1 || !math.IsInf(b[0].Spread.Square, 1) {
		t.Errorf("the summary has no bad cell: %+v", b)
	}
}

// The CRPS of draws in the form of its definition.
func TestCRPS(t *testing.T) {
	x := []float64{-1, 0.5, 2}
	want := (1.7+0.2+1.3)/3 - (1.5+3+1.5)/(3*2)
	if got := crps(x, 0.7); math.Abs(got-want) > 1e-14 {
		t.Errorf("CRPS %g, want %g", got, want)
	}
}

// A table survives being written and read, with what is missing. A row with the key of
// another takes its place, and arrange sorts the rows and removes those without a place.
func TestLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cells.csv")
	l, err := open(path, (*row).key)
	if err != nil || len(l.rows) != 0 {
		t.Fatalf("%v, %v", l, err)
	}
	r := unknown[row]()
	r.Problem, r.Status, r.Each, r.Alpha, r.Points, r.Coverage[2] = "a, b", "fails: \"x\"", "1;NaN;3", 0.1, 7, 0.5
	other, gone := r, r
	other.Problem, gone.Problem = "c", "d"
	if err := errors.Join(l.add(gone, other), l.add(r), l.add(other)); err != nil || len(l.rows) != 3 {
		t.Fatalf("%d rows, %v", len(l.rows), err)
	}
	problems := []string{"a, b", "c"}
	if err := l.arrange(func(r *row) []float64 {
		return []float64{named(problems, func(s *string) string { return *s }, r.Problem)}
	}); err != nil {
		t.Fatal(err)
	}
	got, err := open(path, (*row).key)
	if err != nil || len(got.rows) != 2 || !reflect.DeepEqual(record(&got.rows[0], 6), record(&r, 6)) || got.rows[1].Problem != "c" {
		t.Errorf("%+v, %v", got.rows, err)
	}
	if found := got.find(r.key()); found == nil || !math.IsNaN(found.SE) || found.Coverage[2] != 0.5 || got.find("nothing") != nil {
		t.Errorf("found %+v", found)
	}
	if c := got.rows[0].components(); !reflect.DeepEqual(c, []float64{1, 3}) {
		t.Errorf("components %v", c)
	}
	for _, text := range []string{"", "a,b\n1,2\n", strings.Replace(string(encode(got.rows, 6)), ",0.1,", ",x,", 1)} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := open(path, (*row).key); err == nil || !strings.Contains(err.Error(), "remove it to begin again") {
			t.Errorf("%q was read: %v", text, err)
		}
	}
}

// Every entrant and subject can be made, and names do not occur twice.
func TestLists(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range entrants {
		if e.method() == nil || seen[e.name] {
			t.Errorf("method %s", e.name)
		}
		seen[e.name] = true
		if e.tols != nil && len(e.tols) != 3 {
			t.Errorf("%s: %d tolerances, want 3", e.name, len(e.tols))
		}
	}
	for i := range subjects {
		p := subjects[i].problem()
		if err := p.Validate(); err != nil || seen[p.Name] {
			t.Errorf("%s: %v", p.Name, err)
		}
		seen[p.Name] = true
	}
	names := []string{}
	for _, r := range rules {
		if seen[r.name] {
			t.Errorf("rule %s is there twice", r.name)
		}
		seen[r.name] = true
		names = append(names, r.name)
	}
	if !strings.Contains(strings.Join(names, "|"), recommended) {
		t.Errorf("no rule %q", recommended)
	}
}

// Every subject has an accurate solution, and a step at which the trapezoidal
// rule is good to 10 %.
func TestTruths(t *testing.T) {
	for i := range subjects {
		truth, err := newTruth(context.Background(), &subjects[i], 0, 1)
		if err != nil {
			t.Error(err)
			continue
		}
		for k, e := range truth.err[0] {
			if !(e < 1e-6*truth.size[k%len(truth.size)]) {
				t.Errorf("%s: the accurate solution has an error of %.2g in a state of size %.2g", truth.p.Name, e, truth.size[k%len(truth.size)])
				break
			}
		}
		t.Log(truth.p.Name, truth.steps)
	}
}

// A method that keeps its last solution is measured as if it did not: block evaluates f in
// every sweep over its 40 steps.
func TestCost(t *testing.T) {
	of, err := newTruth(context.Background(), &subjects[0], 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := cell{&observatory{}, of, &entrant{name: "block", blind: true}, 1}
	mesh, _ := c.mesh()
	var r row
	if err := c.cost(&r, c.entrant.method(), mesh); err != nil || r.Steps != 40 || r.Evaluations < 2*r.Steps {
		t.Errorf("%d evaluations in %d steps: %v", r.Evaluations, r.Steps, err)
	}
}
