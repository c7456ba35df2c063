package model

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
)

const pond = `parameters:
  - {parameterId: k, nominalValue: 0.7, lowerBound: 0.1, upperBound: 10}
inputs:
  warmth: {file: warmth.csv, interpolation: KIND}
odes:
  - {stateId: x, rightHandSide: k * (warmth - x), initialValue: 1}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: 0.5}
conditions:
  - {conditionId: a}
  - {conditionId: b}
data: y.csv
`

var pondTables = map[string]string{
	"warmth.csv": "time,conditionId,warmth\n0,a,4\n0,b,1\n2,a,7\n3,b,\n5,a,-1\n6,b,3\n",
	"y.csv":      "time,conditionId,y\n1,a,2\n4,a,3\n7,a,1\n7,b,2\n",
}

// The state is x(t) = e^(−kt) + k ∫₀ᵗ e^(−k(t−s)) u(s) ds with an input u, by Simpson's
// rule between the knots, whose error is below 1e-10. The log-likelihood is right to its
// stated error of 1e-7, and its gradient, of both kinds, to 1e-5 of central differences.
func TestInputsAgainstQuadrature(t *testing.T) {
	// The natural spline through (0, 4), (2, 7), (5, −1): its second derivative M at the
	// middle knot solves (2 + 3) M/3 = (−1 − 7)/3 − (7 − 4)/2.
	const m = (-8./3 - 1.5) * 3 / 5
	inputs := map[string]func(t float64) float64{
		"constant": func(t float64) float64 {
			return map[bool]float64{true: map[bool]float64{true: 4, false: 7}[t < 2], false: -1}[t < 5]
		},
		"linear": func(t float64) float64 {
			if t < 2 {
				return 4 + 1.5*t
			}
			return 7 - 8./3*(min(t, 5)-2)
		},
		"spline": func(t float64) float64 {
			if t < 2 {
				return m*t*t*t/12 + (2-t)*2 + t*(3.5-m/3)
			}
			t = min(t, 5)
			return m*math.Pow(5-t, 3)/18 + (5-t)*(7./3-m/2) - (t-2)/3
		},
	}
	for kind, u := range inputs {
		p, err := loadMap(t, merged(pondTables, "m.yaml", pond), "m.yaml", "KIND", kind)
		if err != nil {
			t.Fatal(err)
		}
		if kind != "constant" && (len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "the table of input warmth ends at 5, before the measurement at 7")) {
			t.Errorf("%s: warnings %q", kind, p.Warnings)
		}
		x := func(k, end float64, u func(t float64) float64, knots ...float64) float64 {
			sum, from := 0., 0.
			for _, to := range append(knots, end) {
				const n = 200
				if to = min(to, end); to > from {
					h := (to - from) / n
					for i := range n {
						a := from + h*(float64(i)+1e-13)
						f := func(s float64) float64 { return math.Exp(-k*(end-s)) * u(s) }
						sum += h / 6 * (f(a) + 4*f(a+h/2) + f(a+h*(1-1e-12)))
					}
					from = to
				}
			}
			return math.Exp(-k*end) + k*sum
		}
		ofB := func(t float64) float64 { return 1 + 2*min(t, 6)/6 }
		if kind == "constant" {
			ofB = func(t float64) float64 { return map[bool]float64{true: 1, false: 3}[t < 6] }
		}
		want := func(k float64) (sum float64) {
			for _, d := range []struct{ t, y float64 }{{1, 2}, {4, 3}, {7, 1}} {
				r := (d.y - x(k, d.t, u, 2, 5)) / 0.5
				sum -= r*r/2 + math.Log(0.5*math.Sqrt(2*math.Pi))
			}
			r := (2 - x(k, 7, ofB, 6)) / 0.5
			return sum - r*r/2 - math.Log(0.5*math.Sqrt(2*math.Pi))
		}
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.At(context.Background(), []float64{0.7}, true)
		if err != nil {
			t.Fatal(err)
		}
		slope := (want(0.7+1e-5) - want(0.7-1e-5)) / 2e-5
		if math.Abs(v.LogLikelihood-want(0.7)) > 2e-7 || math.Abs(v.Gradient[0]-slope) > 1e-5*math.Abs(slope) {
			t.Errorf("%s: log-likelihood %v, gradient %v: want %v, %v", kind, v.LogLikelihood, v.Gradient[0], want(0.7), slope)
		}
		post, err := p.Posterior()
		if err != nil {
			t.Fatal(err)
		}
		d, err := bayes.NewDensity(context.Background(), post)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, 1)
		if _, err := d.LikelihoodGradient(got, nil, []float64{0.7}, nil); err != nil || math.Abs(got[0]-slope) > 1e-4*math.Abs(slope) {
			t.Errorf("%s: gradient of the density %v, %v: want %v", kind, got[0], err, slope)
		}
	}
}

func merged(files map[string]string, more ...string) map[string]string {
	out := map[string]string{}
	for name, text := range files {
		out[name] = text
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

// With a year of daily values, every step ends at a row at the latest. With the default
// method each step takes seven evaluations of f, and no row takes more: the first step
// after it is as long as the one before it. The smooth function through the values takes
// 130 steps.
func TestYearOfDailyInputs(t *testing.T) {
	var rows strings.Builder
	for i := range 366 {
		rows.WriteString(strings.Join([]string{numberText(float64(i)), numberText(8 * math.Sin(2*math.Pi*float64(i)/365))}, ",") + "\n")
	}
	const season = `inputs:
  warmth: {file: w.csv, interpolation: KIND}
parameters:
  - {parameterId: beta, nominalValue: 0.25, lowerBound: 0.01, upperBound: 10}
odes:
  - {stateId: S, rightHandSide: 0.01 - beta*(1 + 0.02*warmth)*S*I - 0.01*S, initialValue: 0.9}
  - {stateId: I, rightHandSide: beta*(1 + 0.02*warmth)*S*I - 0.16*I, initialValue: 0.01}
`
	smooth := strings.Replace(season, "inputs:\n  warmth: {file: w.csv, interpolation: KIND}\n", "assignments:\n  - {assignmentId: warmth, formula: 8*sin(2*pi*time/365)}\n", 1)
	calls := func(model, kind string) int {
		p, err := loadMap(t, map[string]string{"m.yaml": model, "w.csv": "time,warmth\n" + rows.String()}, "m.yaml", "KIND", kind)
		if err != nil {
			t.Fatal(err)
		}
		list, err := p.ODEs()
		if err != nil {
			t.Fatal(err)
		}
		q := *list[0]
		q.Span[1] = 365
		n, f, fj := 0, q.F, q.FJ
		q.F = func(dst []float64, t float64, x, theta []float64) { n++; f(dst, t, x, theta) }
		q.FJ = func(dst, jac []float64, t float64, x, theta []float64) { n++; fj(dst, jac, t, x, theta) }
		mesh := probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}}
		path, err := probode.Setup{Method: methods.Auto{}, Mesh: mesh}.Bind(context.Background(), &q, q.Theta, []float64{365})
		if err != nil {
			t.Fatal(err)
		}
		n = 0
		if err := path.States(context.Background(), make([]float64, 2), q.Theta, nil); err != nil {
			t.Fatal(err)
		}
		return n
	}
	base := calls(smooth, "")
	for _, kind := range []string{"constant", "linear", "spline"} {
		if n := calls(season, kind); n > 365*15/2 || n < 365*6 || base < 800 {
			t.Errorf("%s: %d evaluations of f, with the smooth function %d: want at most 7 and a half for each row", kind, n, base)
		}
	}
}

func TestMistakesInInputs(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"KIND", "cubic", `interpolation is "cubic": want linear, constant or spline`},
		{"{file: warmth.csv, interpolation: KIND}", "{}", "input warmth has 0 files: want one"},
		{"interpolation: KIND", "column: rain", "there is no column rain"},
		{"2,a,7", "0,a,7", "time is 0: want times that increase"},
		{"2,a,7", "2,a,<7", `warmth is "<7": want a finite number`},
		{"2,a,7", "-inf,a,7", `time is "-inf": want a finite number`},
		{"2,a,7", "2,c,7", "condition c is not defined"},
		{"2,a,7", "inf,a,7", `time is "inf": want a finite number`},
		{"0,b,1\n2,a,7\n3,b,\n5,a,-1\n6,b,3\n", "", "input warmth has no rows for condition b"},
		{"  - {conditionId: a}", "  - {conditionId: a, warmth: 3}", "condition a sets warmth, which is determined by a formula"},
		{"stateId: x", "stateId: warmth", "warmth appears twice"},
	} {
		_, err := loadMap(t, merged(pondTables, "m.yaml", pond), "m.yaml", c.old, c.new, "KIND", "linear")
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v: want %s", c.new, err, c.want)
		}
	}
	if p, err := loadMap(t, merged(pondTables, "m.yaml", pond, "y.csv", "time,conditionId,y\n1,a,2\n", "warmth.csv", "time,warmth\n0.5,1\n2,3\n"), "m.yaml", "KIND", "linear"); err != nil || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "m.yaml:4: the table of input warmth begins at 0.5, after the start at 0: the input has its first value before") {
		t.Error(p, err)
	}
}

// A file whose tables and doses have dates is the same as one with numbers, and so is a
// file that WriteYAML has written.
func TestDates(t *testing.T) {
	value := func(p *File, err error) float64 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		l, err := p.LogLikelihood(LikelihoodSettings{Tolerance: probode.Tolerance{Relative: 1e-6}})
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.At(context.Background(), p.Nominal(), false)
		if err != nil {
			t.Fatal(err)
		}
		return v.LogLikelihood
	}
	model := strings.Replace(pond, "conditions:", "doses:\n  - {doseId: d, state: x, amount: 2, time: 2.25}\nconditions:", 1)
	files := merged(pondTables, "m.yaml", model)
	p, err := loadMap(t, files, "m.yaml", "KIND", "linear")
	want := value(p, err)
	origin := "time: {origin: 2020-02-27 12:00, unit: d}\n" + strings.Replace(model, "time: 2.25", "time: 2020-02-29 18:00", 1)
	dated := merged(files, "m.yaml", origin, "y.csv", "time,conditionId,y\n2020-02-28T12:00:00Z,a,2\n2020-03-02 12:00,a,3\n7,a,1\n7,b,2\n")
	if got := value(loadMap(t, dated, "m.yaml", "KIND", "linear")); got != want {
		t.Errorf("with dates the log-likelihood is %v: want %v", got, want)
	}
	for _, kind := range []string{"constant", "linear", "spline"} {
		p, err := loadMap(t, files, "m.yaml", "KIND", kind)
		want := value(p, err)
		name, err := p.WriteYAML(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if got := value(Load(name)); got != want {
			t.Errorf("%s: the written file has the log-likelihood %v: want %v", kind, got, want)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{"2020-02-27 12:00, unit: d", "27.2.2020, unit: d", `origin is "27.2.2020": want a date`},
		{"unit: d", "unit: mg", `the unit of the time is "mg": want s, min, h, d or week`},
		{"time: {origin: 2020-02-27 12:00, unit: d}", "", "time is the date 2020-02-29 18:00: want a number, or an origin of the time in the model file"},
		{"2020-02-28T12:00:00Z", "2020-02-08", `time is "2020-02-08": want inf, or a number ≥ 0`},
	} {
		if _, err := loadMap(t, dated, "m.yaml", c.old, c.new, "KIND", "linear"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: want %s", c.new, err, c.want)
		}
	}
}
