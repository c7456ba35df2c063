package main

import (
	"encoding/csv"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The posterior of m, with prior N(0, 2²) and data 1.2, 0.8 and 1.4 of sd 1, is N(mean,
// sd²) with 1/sd² = 1/4 + 3 and mean = 3.4 sd². New data have the variance sd² + 1, after
// the data, too. Quantiles of 4000 draws, of which at least 2000 are effective, are right
// to 0.15 sd with probability 1 − 1e-6 each; those of 1000 predictions to 0.25 sd.
func TestDerivedAndPredicted(t *testing.T) {
	dir := t.TempDir()
	model, run := filepath.Join(dir, "m.yaml"), filepath.Join(dir, "run")
	const text = `parameters:
  - {parameterId: m, objectivePriorType: normal, objectivePriorParameters: 0;2}
derived: {above: 3 + 2*half, odds: exp(m), root: sqrt(m)}
assignments:
  - {assignmentId: half, formula: m / 2}
odes:
  - {stateId: x, rightHandSide: 0*x, initialValue: m}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: cos(x - m)}
data: |
  time,y
  1,1.2
  2,0.8
  2,1.4
`
	if err := os.WriteFile(model, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	runCommand(t, sampleVerb, "-model", model, "-dir", run, "-draws", "1000", "-quiet")
	table, new := filepath.Join(dir, "table.csv"), filepath.Join(dir, "new.csv")
	shown := runCommand(t, summary, run, "-model", model, "-out", table)
	if !strings.Contains(shown, "\nabove ") || !strings.Contains(shown, "\nprior ") {
		t.Errorf("the derived quantity or the prior is missing:\n%s", shown)
	}
	runCommand(t, summary, run, "-model", model, "-times", "50,2", "-out", new)
	read := func(file string) [][]string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows[1:]
	}
	near := func(what, cell string, want, off float64) {
		t.Helper()
		if v, err := strconv.ParseFloat(cell, 64); err != nil || !(math.Abs(v-want) <= off) {
			t.Errorf("%s is %s: want %v up to %v", what, cell, want, off)
		}
	}
	sd := 1 / math.Sqrt(1./4+3)
	mean := 3.4 * sd * sd
	rows := read(table)
	if len(rows) != 4 || rows[1][0] != "above" || rows[2][0] != "odds" {
		t.Fatalf("%q", rows)
	}
	for i, z := range []float64{-1.96, 0, 1.96} {
		near("above", rows[1][3+i], 3+mean+z*sd, 0.15*sd)
		near("odds", rows[2][3+i], math.Exp(mean+z*sd), 0.15*sd*math.Exp(mean+z*sd))
		if rows[3][10+i] != "NaN" {
			t.Errorf("a quantile of the prior of the root of a number of any sign is %s: want NaN", rows[3][10+i])
		}
		near("the prior of above", rows[1][10+i], 3+2*z, 0.3)
	}
	rows = read(new)
	if len(rows) != 2 || rows[0][1] != "2" || rows[1][1] != "50" {
		t.Fatalf("%q", rows)
	}
	for _, row := range rows {
		for i, z := range []float64{-1.96, 0, 1.96} {
			near("new data", row[3+i], mean+z*math.Hypot(sd, 1), 0.25*math.Hypot(sd, 1))
			near("expected data", row[6+i], mean+z*sd, 0.25*sd)
		}
	}
	for _, args := range [][]string{
		{run, "-model", model, "-times", "1"},
		{run, "-times", "1", "-out", new},
		{run, "-model", model, "-times", "-1", "-out", new},
		{run, "-model", filepath.Join(dir, "other.yaml"), "-out", table},
	} {
		other := strings.ReplaceAll(strings.ReplaceAll(text, "parameterId: m", "parameterId: n"), "value: m", "value: n")
		other = strings.ReplaceAll(strings.ReplaceAll(other, "formula: m", "formula: n"), "Value: m", "Value: n")
		if err := os.WriteFile(filepath.Join(dir, "other.yaml"), []byte(strings.ReplaceAll(other, "exp(m)", "exp(n)")), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := summary(t.Context(), args, io.Discard); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v: want an error of one line", args, err)
		}
	}
}
