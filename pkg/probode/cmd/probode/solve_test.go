package main

import (
	"context"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// table runs solve and returns the header and the numbers of its table.
func table(t *testing.T, args ...string) ([]string, [][]float64) {
	t.Helper()
	var out strings.Builder
	if err := solve(context.Background(), args, &out); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	records, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	var rows [][]float64
	for _, r := range records[1:] {
		var row []float64
		for _, cell := range r {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				t.Fatalf("%q: %v", args, err)
			}
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	return records[0], rows
}

// States at the end of problems of the test set for initial value problem
// solvers, as its release 2.4 states them.
func TestSolveStiff(t *testing.T) {
	for _, c := range []struct {
		problem, method, rtol, atol, time string
		column                            int
		want, tol                         float64 // relative
	}{
		{"hires", "radau5", "1e-8", "1e-12", "321.8122", 1, 0.7371312573325668e-3, 1e-6},
		{"hires", "reference", "1e-9", "1e-14", "321.8122", 1, 0.7371312573325668e-3, 1e-9},
		{"rober", "radau5", "1e-8", "1e-16", "1e11", 1, 0.2083340149701255e-7, 1e-5},
		{"rober", "reference", "1e-7", "1e-13", "1e11", 1, 0.2083340149701255e-7, 5e-6},
		{"vdpol", "radau5", "1e-8", "1e-8", "2", 1, 0.1706167732170483e1, 1e-7},
		{"orego", "radau5", "1e-8", "1e-10", "360", 1, 0.1000814870318523e1, 1e-6},
		{"plei", "dp5", "1e-10", "1e-10", "3", 1, 0.3706139143970502, 1e-6},
	} {
		_, rows := table(t, "-problem", c.problem, "-method", c.method, "-rtol", c.rtol, "-atol", c.atol, "-times", c.time)
		if got := rows[0][c.column]; !(math.Abs(got-c.want) <= c.tol*math.Abs(c.want)) {
			t.Errorf("%s by %s: %.12g, want %.12g", c.problem, c.method, got, c.want)
		}
	}
}

// Rows are those of -times, in their order, and read back exactly; without
// -times they are the grid.
func TestSolveRows(t *testing.T) {
	header, rows := table(t, "-problem", "fhn", "-method", "rk4", "-step", "0.1", "-times", "20,0.30000000000000004,0,20,7.123")
	if strings.Join(header, " ") != "t V R" {
		t.Errorf("header %q", header)
	}
	for i, want := range []float64{20, 0.30000000000000004, 0, 20, 7.123} {
		if rows[i][0] != want {
			t.Errorf("row %d is at %v, want %v", i, rows[i][0], want)
		}
	}
	if rows[0][1] != rows[3][1] {
		t.Error("the same time twice has two states")
	}
	if _, rows = table(t, "-problem", "fhn", "-method", "rk4", "-step", "0.1"); len(rows) != 201 {
		t.Errorf("%d rows of a grid of 200 steps", len(rows))
	}
	if _, rows = table(t, "-problem", "kepler", "-span", "0,1", "-method", "gauss2", "-rtol", "1e-6"); rows[0][0] != 0 || rows[len(rows)-1][0] != 1 {
		t.Errorf("a grid from %v to %v", rows[0][0], rows[len(rows)-1][0])
	}
	// θ and the span are those of the flags: 3y(1 − y) from .1 has a closed form.
	_, rows = table(t, "-problem", "logistic", "-method", "reference", "-span", "0,3", "-times", "1,3")
	for _, r := range rows {
		if want := 1 / (1 + 9*math.Exp(-3*r[0])); math.Abs(r[1]-want) > 1e-9 {
			t.Errorf("x(%g) = %v, want %v", r[0], r[1], want)
		}
	}
}

// An event after the end of the span is not in the table, and one line says so.
func TestSolveEventAfterEnd(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string { return textFile(t, dir, name, text) }
	write("d.csv", "time,y\n1,1\n10,0.1\n")
	text := `name: doses
parameters: [{parameterId: k, nominalValue: 0.3}, {parameterId: lag, nominalValue: 1}]
odes: [{stateId: x, rightHandSide: -k*x, initialValue: 1}]
events:
  - {eventId: early, time: 2, assignments: {x: x + 1}}
  - {eventId: late, time: 11 + lag, assignments: {x: x + 1}}
observables: [{observableId: y, observableFormula: x, noiseFormula: 0.1}]
data: d.csv
`
	model := write("m.yaml", text)
	for args, want := range map[string]string{
		"":                     "warning: the solution ends at t = 10, before event late at t = 12: set a different end with -span\n",
		"-span 0,1.5":          "warning: the solution ends at t = 1.5, before event early at t = 2, the first of 2 events: set a different end with -span\n",
		"-span 0,20":           "",
		"-at lag=-5":           "",
		"-span 0,12":           "",
		"-at lag=0 -span 0,11": "",
	} {
		said := stderr(t, func() { table(t, append([]string{"-model", model}, strings.Fields(args)...)...) })
		if said != want {
			t.Errorf("%q: %q, want %q", args, said, want)
		}
	}
	// The reader of a model names an event at a fixed time, once.
	fixed := write("fixed.yaml", strings.ReplaceAll(text, "11 + lag", "12"))
	said := stderr(t, func() { table(t, "-model", fixed) })
	if !strings.HasSuffix(said, "after the last measurement at 10, so it has no effect on the likelihood\n") || strings.Count(said, "\n") != 1 {
		t.Errorf("a fixed time: %q", said)
	}
}

// Without -times, a table that has no grid ends at the end of the span, not a rounding error
// after it: 3.56 + (7.71 − 3.56) is 7.710000000000001.
func TestSolveEndsWithTheSpan(t *testing.T) {
	model := textFile(t, t.TempDir(), "m.yaml", "time: {start: 3.56}\nodes: [{stateId: x, rightHandSide: -x, initialValue: 1}]\n")
	_, rows := table(t, "-model", model, "-span", "3.56,7.71", "-method", "reference")
	if last := rows[len(rows)-1]; len(rows) != 201 || last[0] != 7.71 || math.Abs(last[1]-math.Exp(-4.15)) > 1e-9 {
		t.Errorf("%d rows, the last %v: want 201, with x(7.71) = exp(−4.15)", len(rows), last)
	}
}

// Of an event that repeats, the occurrences after the end are named, unless all of them are
// after all data and the reader of the model has said so; and so is an event that is late in
// the condition that is solved, although not in another one.
func TestSolveRepeatedEventsAfterEnd(t *testing.T) {
	dir := t.TempDir()
	model := textFile(t, dir, "m.yaml", `odes: [{stateId: x, rightHandSide: -x, initialValue: 1}]
doses:
  - {doseId: d, state: x, amount: 1, time: 2, every: 3, count: 4}
observables: [{observableId: y, observableFormula: x, noiseFormula: 0.1}]
conditions: [{conditionId: short}, {conditionId: long}]
data: |
  conditionId,time,y
  short,1,1
  long,6,1
`)
	for args, want := range map[string]string{
		"-condition short": "warning: the solution ends at t = 1, before event d_1 at t = 2, the first of 4 events: set a different end with -span\n",
		"-condition long":  "warning: the solution ends at t = 6, before event d_3 at t = 8, the first of 2 events: set a different end with -span\n",
		"-span 0,11":       "",
	} {
		if said := stderr(t, func() { table(t, append([]string{"-model", model}, strings.Fields(args)...)...) }); said != want {
			t.Errorf("%q: %q, want %q", args, said, want)
		}
	}
	alone := textFile(t, dir, "alone.yaml", `odes: [{stateId: x, rightHandSide: -x, initialValue: 1}]
doses: [{doseId: d, state: x, amount: 1, time: 2, every: 3, count: 4}]
observables: [{observableId: y, observableFormula: x, noiseFormula: 0.1}]
data: |
  time,y
  1,1
`)
	if said := stderr(t, func() { table(t, "-model", alone) }); !strings.HasSuffix(said, "event d_1 happens at 2, after the last measurement at 1, so it has no effect on the likelihood\n") || strings.Count(said, "\n") != 1 {
		t.Errorf("all occurrences are late: %q", said)
	}
}

// With -data, the warnings about a model are those about these data.
func TestWarningsWithData(t *testing.T) {
	dir := t.TempDir()
	model := textFile(t, dir, "m.yaml", `parameters: [{parameterId: k, nominalValue: 1, lowerBound: 0.1, upperBound: 10}]
odes: [{stateId: x, rightHandSide: -k * x, initialValue: 1}]
events: [{eventId: e, time: 2, assignments: {x: x + 1}}]
observables: [{observableId: y, observableFormula: x, noiseFormula: 0.1}]
data: |
  time,y
  1,0.4
`)
	longer, shorter := textFile(t, dir, "longer.csv", "time,y\n1,0.4\n3,0.5\n"), textFile(t, dir, "shorter.csv", "time,y\n0.5,0.6\n")
	for data, want := range map[string]string{
		"":      "warning: m.yaml:3: event e happens at 2, after the last measurement at 1, so it has no effect on the likelihood\n",
		longer:  "",
		shorter: "warning: m.yaml:3: event e happens at 2, after the last measurement at 0.5, so it has no effect on the likelihood\n",
	} {
		args := []string{"certify", "-model", model, "-method", "dp5", "-rtol", "1e-3", "-at", "nominal"}
		if data != "" {
			args = append(args, "-data", data)
		}
		if said := stderr(t, func() { output(t, args...) }); said != want {
			t.Errorf("-data %s: %q, want %q", data, said, want)
		}
	}
}

// A value of a parameter that the condition sets has no effect, and solve says so.
func TestSolveAtAReplacedParameter(t *testing.T) {
	model := textFile(t, t.TempDir(), "m.yaml", `parameters: [{parameterId: k, nominalValue: 1}, {parameterId: own, nominalValue: 2}, {parameterId: a, nominalValue: 3}]
odes: [{stateId: x, rightHandSide: -k * x, initialValue: a}]
conditions: [{conditionId: one, k: own}, {conditionId: two, a: 5, x: a}, {conditionId: three}]
`)
	for _, c := range []struct {
		condition, at string
		warned        bool
	}{{"one", "k=3", true}, {"one", "own=3", false}, {"two", "k=3", false}, {"two", "a=3", false}, {"three", "k=3", false}} {
		said := stderr(t, func() {
			table(t, "-model", model, "-condition", c.condition, "-span", "0,1", "-times", "1", "-at", c.at)
		})
		if strings.Contains(said, "so the value has no effect") != c.warned || strings.Count(said, "\n") > 1 {
			t.Errorf("%s, %s: %q", c.condition, c.at, said)
		}
	}
}

// The columns of an ensemble are those of the seed, and its quantiles enclose
// its median.
func TestSolvePaths(t *testing.T) {
	args := []string{"-problem", "fhn", "-method", "am1", "-step", "0.1", "-times", "5,20", "-paths", "60", "-alpha", "0.1", "-seed", "3"}
	header, rows := table(t, args...)
	if got := strings.Join(header, " "); got != "t V R V_mean V_sd V_q05 V_q50 V_q95 R_mean R_sd R_q05 R_q50 R_q95" {
		t.Errorf("header %q", got)
	}
	_, again := table(t, args...)
	for i, r := range rows {
		for k, v := range r {
			if again[i][k] != v {
				t.Fatalf("the same seed gives %v and %v", v, again[i][k])
			}
		}
		if !(r[4] > 0 && r[5] < r[6] && r[6] < r[7]) {
			t.Errorf("sd %v, quantiles %v", r[4], r[5:8])
		}
	}
}

// Calibrated paths have noise scaled by local errors, and a number scales the method's own.
func TestSolveNoise(t *testing.T) {
	args := []string{"-problem", "lotka-volterra-20", "-method", "rk4", "-step", "0.5", "-times", "5", "-paths", "60"}
	p, err := problems.Named("lotka-volterra-20")
	if err != nil {
		t.Fatal(err)
	}
	grid, err := probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.5), Scaling: probode.ScaleLocal}.Grid(t.Context(), p, nil, []float64{5})
	if err != nil {
		t.Fatal(err)
	}
	set := probode.Settings{Seed: 1, Mesh: probode.Fixed{Grid: grid}, Times: []float64{5}}
	cal, err := calibrate.Run(t.Context(), p, methods.RungeKutta{}, calibrate.Settings{Mesh: set.Mesh, Seed: 1})
	if err != nil || cal.Scaling != probode.ScaleLocal {
		t.Fatal(cal, err)
	}
	number := set
	number.Alpha, number.Mesh = 0.01, probode.Uniform(0.5)
	for i, c := range []struct {
		more []string
		by   probode.Settings
	}{{nil, cal.Settings(set)}, {[]string{"-alpha", "0.01"}, number}} {
		e, err := probode.Integrate(t.Context(), p, methods.RungeKutta{}, 60, c.by)
		if err != nil {
			t.Fatal(err)
		}
		if _, rows := table(t, append(args, c.more...)...); !(rows[0][4] > 0) || math.Abs(rows[0][4]/e.SD[0][0]-1) > 1e-6 {
			t.Errorf("%d: sd %g, want %g", i, rows[0][4], e.SD[0][0])
		}
	}
	// A method with randomness of its own keeps it.
	_, rows := table(t, "-problem", "logistic", "-method", "random:rk4", "-step", "0.5", "-times", "2", "-paths", "60")
	if !(rows[0][3] > 0) {
		t.Errorf("random steps: %v", rows)
	}
}

func TestSolveFaults(t *testing.T) {
	for want, args := range map[string][]string{
		"or the name of a built-in problem":                   nil,
		`-problem: no problem "x"`:                            {"-problem", "x"},
		"no step size or tolerance given: set -step or -rtol": {"-problem", "fhn", "-method", "am1"},
		"-step and -rtol: give only one of them":              {"-problem", "fhn", "-step", "0.1", "-rtol", "1e-3"},
		"-step: FitzHugh–Nagumo: the step is 30: want":        {"-problem", "fhn", "-step", "30"},
		"-times: 21 is outside the span":                      {"-problem", "fhn", "-step", "0.1", "-times", "21"},
		`-times 1,nan: "nan"`:                                 {"-problem", "fhn", "-step", "0.1", "-times", "1,nan"},
		`"k" is not a parameter`:                              {"-problem", "fhn", "-step", "0.1", "-at", "k=1"},
		"-at theta1=x: want a finite":                         {"-problem", "fhn", "-step", "0.1", "-at", "theta1=x"},
		"-span 1,0: want from,to":                             {"-problem", "fhn", "-step", "0.1", "-span", "1,0"},
		"-paths -1: want":                                     {"-problem", "fhn", "-step", "0.1", "-paths", "-1"},
		"would take":                                          {"-problem", "fhn", "-step", "0.1", "-paths", "9223372036854775807"},
		"-alpha -1: want":                                     {"-problem", "fhn", "-step", "0.1", "-paths", "2", "-alpha", "-1"},
		"-atol 1,2,3: want a number, or 2":                    {"-problem", "fhn", "-rtol", "1e-3", "-atol", "1,2,3"},
		"-step has no meaning with -method ref":               {"-problem", "fhn", "-step", "0.1", "-method", "reference"},
		"more than 1000000 steps":                             {"-problem", "rober", "-method", "rk4", "-rtol", "1e-6", "-atol", "1e-9"},
		"-problem and -model: give only one of them":          {"-problem", "fhn", "y"},
	} {
		var out strings.Builder
		err := solve(context.Background(), args, &out)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 600 {
			t.Errorf("%q: error %v, want one line with %q", args, err, want)
		}
		if out.Len() > 0 {
			t.Errorf("%q: wrote %q before it failed", args, out.String())
		}
	}
}

// A file is written whole or not at all.
func TestSolveFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.csv")
	if err := solve(context.Background(), []string{"-problem", "fhn", "-step", "0.1", "-times", "1", "-out", name}, &strings.Builder{}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(name); err != nil || !strings.HasPrefix(string(b), "t,V,R\n1,") {
		t.Errorf("file %q, error %v", b, err)
	}
}

// An event that the state triggers is found without a fixed grid, and needs one for noise.
func TestSolveTrigger(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(file, []byte(`odes: [{stateId: A, rightHandSide: -A, initialValue: 4}]
events: [{eventId: e, trigger: A < 1, assignments: {A: 3}}]`), 0o666); err != nil {
		t.Fatal(err)
	}
	want := 3 * 4 * math.Exp(-2) // the event is at ln 4
	for _, args := range [][]string{nil, {"-rtol", "1e-8", "-method", "dp5"}, {"-method", "reference"}} {
		_, rows := table(t, append([]string{"-model", file, "-span", "0,2", "-times", "2"}, args...)...)
		if got := rows[0][1]; math.Abs(got-want) > 1e-5 {
			t.Errorf("%q: %.10g, want %.10g", args, got, want)
		}
	}
	err := solve(context.Background(), []string{"-model", file, "-span", "0,2", "-step", "0.1"}, &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "event e has a trigger") {
		t.Errorf("equal steps: %v", err)
	}
}

// A span of a model begins where the model starts: x' = x with x(3) = 2 has the solution
// 2 exp(t − 3). Another beginning is refused, because there the state is not known.
// A pulse that likelihood finds is found by solve too: its integral is 0.5 √π, up to
// e⁻³⁰⁰.
func TestSolvePulse(t *testing.T) {
	name := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(name, []byte(`odes: [{stateId: x, rightHandSide: "exp(-((time - 50.3) / 0.5)^2)", initialValue: 1}]`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"radau5", "bdf", "dp5", "auto", "reference"} {
		_, rows := table(t, "-model", name, "-span", "0,100", "-times", "100", "-method", method, "-rtol", "1e-4")
		if got, want := rows[0][1], 1+0.5*math.Sqrt(math.Pi); math.Abs(got-want) > 0.01 { // a hundred local errors
			t.Errorf("%s: %.6g: want %.6g", method, got, want)
		}
	}
}

// Every method under error control solves a model whose rate jumps at a threshold as
// accurately as likelihood does, and no method crosses the jump with wrong values from
// earlier steps. The closed forms: x reaches 1 at t = 1/k, z falls to 0.5 at ln(2)/k, and
// u + v, which grows by 2 per time, reaches 3 at t = 1.
func TestSolveJumpOfRate(t *testing.T) {
	name := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(name, []byte(`parameters: [{parameterId: k, nominalValue: 1, lowerBound: 0.1, upperBound: 10}]
odes:
  - {stateId: x, rightHandSide: "k * piecewise(1, x < 1, 0.1)", initialValue: 0}
  - {stateId: z, rightHandSide: "-k * piecewise(1, z > 0.5, 0.1) * z", initialValue: 1}
  - {stateId: u, rightHandSide: "piecewise(1, u + v < 3, 0.2)", initialValue: 0.5}
  - {stateId: v, rightHandSide: 1, initialValue: 0.5}
observables: [{observableId: o, observableFormula: x, noiseFormula: 1}]
data: |
  time,o
  4,1.3`), 0o666); err != nil {
		t.Fatal(err)
	}
	want := []float64{4, 1.3, 0.5 * math.Exp(-0.1*(4-math.Ln2)), 2.1, 4.5}
	for _, method := range []string{"", "dp5", "bdf", "radau5", "auto", "ab3", "am2", "ek0", "ek1", "ckf", "ek1,5", "reference"} {
		args := []string{"-model", name, "-times", "4"}
		if method != "" {
			args = append(args, "-method", method, "-rtol", "1e-5")
		}
		_, rows := table(t, args...)
		for k, v := range want {
			// Local errors of 1e-5 add up over the steps.
			if math.Abs(rows[0][k]-v) > 3e-4*(1+v) {
				t.Errorf("%s: column %d is %.9g: want %.9g", method, k, rows[0][k], v)
			}
		}
	}
	for _, args := range [][]string{{"-method", "ek1", "-step", "0.1"}, {"-method", "ab2", "-step", "0.1"}, {"-method", "dp5", "-rtol", "1e-3", "-paths", "3"}} {
		err := solve(context.Background(), append([]string{"-model", name, "-times", "4"}, args...), &strings.Builder{})
		if err == nil || !strings.Contains(err.Error(), "f jumps at times that depend on the state") {
			t.Errorf("%v: error %v", args, err)
		}
	}
}

func TestSolveSpanOfModelThatStartsLate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "late.yaml")
	if err := os.WriteFile(file, []byte("time: {start: 3}\nodes:\n  - {stateId: x, rightHandSide: x, initialValue: 2}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, how := range [][]string{nil, {"-method", "reference"}, {"-method", "rk4", "-step", "0.001"}} {
		_, rows := table(t, append(how, "-model", file, "-span", "3,5", "-times", "3,4,5")...)
		for i, from := range []float64{0, 1, 2} {
			if want := 2 * math.Exp(from); math.Abs(rows[i][1]-want) > 1e-4*want { // a hundred times the tolerance
				t.Errorf("%q: x(%g) is %g: want %g", how, 3+from, rows[i][1], want)
			}
		}
	}
	for _, span := range []string{"0,5", "2,5", "4,5"} {
		err := solve(context.Background(), []string{"-model", file, "-span", span}, &strings.Builder{})
		if want := "-span " + span + ": the model starts at 3: want 3,to with to > 3"; err == nil || err.Error() != want {
			t.Errorf("error %v: want %q", err, want)
		}
	}
}

// The columns of a model are the time, the states, what -paths adds, and the observables of
// the classical solution, which is x = a exp(−t). The condition is the first one in the data,
// or in a model without data, and one that the model does not have is named.
func TestSolveColumnsAndConditionOfModel(t *testing.T) {
	const text = `parameters:
  - {parameterId: a, nominalValue: 1}
odes:
  - {stateId: x, rightHandSide: -x, initialValue: a}
observables:
  - {observableId: y, observableFormula: 10 * x + t, noiseFormula: 1}
conditions:
  - {conditionId: one, a: 3}
  - {conditionId: two, a: 5}
time: {variable: t}
`
	dir := t.TempDir()
	bare, measured := filepath.Join(dir, "bare.yaml"), filepath.Join(dir, "measured.yaml")
	alone := filepath.Join(dir, "alone.yaml")
	for name, content := range map[string]string{bare: text, measured: text + "data: |\n  conditionId,t,y\n  two,1,2\n  one,1,3\n",
		alone: "odes:\n  - {stateId: x, rightHandSide: -x, initialValue: 1}\n"} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   string
		header string
		a      float64
	}{
		{"-model " + bare, "t x y", 3},
		{"-model " + measured, "t x y", 5},
		{"-model " + measured + " -condition one", "t x y", 3},
		{"-model " + bare + " -condition two -paths 4 -alpha 1 -method heun3 -step 0.01", "t x x_mean x_sd x_q05 x_q50 x_q95 y", 5},
	} {
		header, rows := table(t, append(strings.Fields(c.args), "-times", "0.5")...)
		if strings.Join(header, " ") != c.header {
			t.Errorf("%s: the header is %q: want %q", c.args, header, c.header)
		}
		// The tolerance of radau5 is 1e-6, and the error of heun3 with 50 steps is smaller.
		x, y := rows[0][1], rows[0][len(rows[0])-1]
		if math.Abs(x-c.a*math.Exp(-0.5)) > 1e-5 || math.Abs(y-10*x-0.5) > 1e-12 {
			t.Errorf("%s: x is %v, and y is %v: want %v and 10 x + 0.5", c.args, x, y, c.a*math.Exp(-0.5))
		}
	}
	for args, want := range map[string]string{
		"-model " + bare + " -condition three":    "-condition three: the data have one, two",
		"-model " + alone + " -condition control": "-condition control: the model has no conditions",
	} {
		if err := solve(context.Background(), strings.Fields(args), &strings.Builder{}); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
}

// Without -times, a time at which the state jumps has two rows: one with the state just
// before the jump, and one with the state just after it. Each dose adds 100 to the state.
func TestSolveShowsJumps(t *testing.T) {
	_, rows := table(t, "-model", "../../model/testdata/pk.yaml", "-condition", "low")
	doses := 0
	for i, row := range rows[1:] {
		if before := rows[i]; row[0] == before[0] {
			doses++
			if rise := row[1] - before[1]; math.Abs(rise-100) > 1e-12*100 { // a sum with rounding errors
				t.Errorf("at t = %g the dose adds %v: want 100", row[0], rise)
			}
		}
	}
	if doses != 4 {
		t.Errorf("%d times appear twice: want the times of 4 doses", doses)
	}
}

// A model in SBML: x′ = −k x from 1, and two units after x has fallen to e⁻¹, y becomes x at
// that time. The states that keep this value are not shown.
func TestSolveSBML(t *testing.T) {
	formula := func(s string) string { return `<math xmlns="http://www.w3.org/1998/Math/MathML">` + s + "</math>" }
	file := textFile(t, t.TempDir(), "m.xml", `<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1"><model id="m">
		<listOfParameters><parameter id="k" value="1" constant="true"/><parameter id="x" value="1" constant="false"/><parameter id="y" value="0" constant="false"/><parameter id="z" constant="false"/></listOfParameters>
		<listOfRules><rateRule variable="x">`+formula("<apply><times/><apply><minus/><ci>k</ci></apply><ci>x</ci></apply>")+`</rateRule>
		<assignmentRule variable="z">`+formula("<apply><plus/><ci>x</ci><ci>y</ci></apply>")+`</assignmentRule></listOfRules>
		<listOfEvents><event useValuesFromTriggerTime="true"><trigger persistent="true" initialValue="true">`+formula("<apply><lt/><ci>x</ci><apply><exp/><cn>-1</cn></apply></apply>")+`</trigger>
		<delay>`+formula("<cn>2</cn>")+`</delay><listOfEventAssignments><eventAssignment variable="y">`+formula("<ci>x</ci>")+`</eventAssignment></listOfEventAssignments></event></listOfEvents></model></sbml>`)
	header, rows := table(t, file, "-at", "k=0.5", "-span", "0,5", "-times", "3.9,5")
	if strings.Join(header, " ") != "t x y z" {
		t.Errorf("header %q", header)
	}
	for i, want := range [][]float64{{3.9, math.Exp(-1.95), 0, math.Exp(-1.95)}, {5, math.Exp(-2.5), math.Exp(-1), math.Exp(-2.5) + math.Exp(-1)}} {
		for k, v := range want {
			if math.Abs(rows[i][k]-v) > 1e-6 {
				t.Errorf("%s(%v) is %v: want %v", header[k], want[0], rows[i][k], v)
			}
		}
	}
}
