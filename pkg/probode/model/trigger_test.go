package model

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/methods"
)

// In this model A = 4·exp(−k·t), and each event adds 1 + t to N.
const triggered = `name: triggered
parameters:
  - {parameterId: k, lowerBound: 0.1, upperBound: 2, nominalValue: 0.7}
  - {parameterId: T, lowerBound: 0.1, upperBound: 9, nominalValue: 2.5}
odes:
  - {stateId: A, rightHandSide: -k*A, initialValue: 4}
  - {stateId: N, rightHandSide: 0*A, initialValue: 0*T}
assignments:
  - {assignmentId: half, formula: A/2}
observables:
  - {observableId: y, observableFormula: N, noiseFormula: 1}
events:
  - {eventId: e, trigger: "CONDITION", assignments: {N: N + 1 + time}}
data: d.csv
`

// Events happen where their conditions become true, the gradient of the likelihood is that
// of the closed form, and files that are written mean the same.
func TestTriggersOfModels(t *testing.T) {
	falls := func(k, to float64) float64 { return 1 + math.Log(4/to)/k } // N if the event happens when A falls to a value
	for _, c := range []struct {
		condition string
		want      func(k, T float64) float64 // N at the end
	}{
		{"A < 1", func(k, T float64) float64 { return falls(k, 1) }},
		{"half <= T/4", func(k, T float64) float64 { return falls(k, T/2) }},
		{"!(A*T > 2)", func(k, T float64) float64 { return falls(k, 2/T) }},
		{"A < 1 && time > T", func(k, T float64) float64 { return 1 + T }},
		{"A < 1 || time > T", func(k, T float64) float64 { return falls(k, 1) }},
		{"A < 1 && time < T", func(k, T float64) float64 { return falls(k, 1) }},
		{"time >= T && time < 8", func(k, T float64) float64 { return 1 + T }},
		{"time + piecewise(0, time < T, 5) >= 4", func(k, T float64) float64 { return 1 + T }},
		{"time + piecewise(0, A > 1, 5) >= 4", func(k, T float64) float64 { return falls(k, 1) }},
		{"T*time >= 4", func(k, T float64) float64 { return 1 + 4/T }},
		{"time^2 >= T", func(k, T float64) float64 { return 1 + math.Sqrt(T) }},
		{"max(A, T) < 3", func(k, T float64) float64 { return falls(k, 3) }},
		{"A > 1", func(k, T float64) float64 { return 0 }},
		{`A > 1", atStart: "1`, func(k, T float64) float64 { return 1 }},
		{`T > 1", atStart: "1`, func(k, T float64) float64 { return 1 }},
		{"N < 0", func(k, T float64) float64 { return 0 }},
	} {
		p, err := loadMap(t, map[string]string{"m.yaml": triggered, "d.csv": "time,y\n9,0\n"}, "m.yaml", "CONDITION", c.condition)
		if err != nil {
			t.Errorf("%s: %v", c.condition, err)
			continue
		}
		at := func(k, T float64) float64 { return -c.want(k, T)*c.want(k, T)/2 - math.Log(2*math.Pi)/2 }
		const h = 1e-3 // with an error of h⁴
		slope := func(along func(h float64) float64) float64 {
			return (8*(along(h)-along(-h)) - (along(2*h) - along(-2*h))) / (12 * h)
		}
		want := []float64{slope(func(h float64) float64 { return at(0.7+h, 2.5) }), slope(func(h float64) float64 { return at(0.7, 2.5+h) })}
		v := evaluate(t, p)
		if v == nil {
			continue
		}
		if math.Abs(v.LogLikelihood-at(0.7, 2.5)) > 1e-7 || math.Abs(v.Gradient[0]-want[0]) > 1e-6 || math.Abs(v.Gradient[1]-want[1]) > 1e-6 {
			t.Errorf("%s: %v, %v: want %v, %v", c.condition, v.LogLikelihood, v.Gradient, at(0.7, 2.5), want)
		}
		name, err := p.WriteYAML(t.TempDir())
		if err != nil {
			t.Errorf("%s: %v", c.condition, err)
			continue
		}
		q, err := Load(name)
		if err != nil {
			t.Errorf("%s: %v", c.condition, err)
		} else if w := evaluate(t, q); w != nil && math.Abs(w.LogLikelihood-v.LogLikelihood) > 1e-7 {
			t.Errorf("%s: %v as YAML, want %v", c.condition, w.LogLikelihood, v.LogLikelihood)
		}
	}
}

func evaluate(t *testing.T, p *File) *Evaluation {
	t.Helper()
	l, err := p.LogLikelihood(LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := l.At(context.Background(), l.p.Nominal(), true)
	if err != nil {
		t.Error(err)
	}
	return v
}

// Noise needs a grid, which a trigger does not have.
func TestTriggersHaveNoNoise(t *testing.T) {
	p, err := loadMap(t, map[string]string{"m.yaml": triggered, "d.csv": "time,y\n9,0\n"}, "m.yaml", "CONDITION", "A < 1")
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.LogLikelihood(LikelihoodSettings{StepSize: 0.1})
	if err == nil {
		_, err = l.At(context.Background(), l.p.Nominal(), false)
	}
	if err == nil || !strings.Contains(err.Error(), "event e has a trigger") {
		t.Errorf("equal steps: %v", err)
	}
	if s := p.Models[0].LaTeX(); !strings.Contains(s, `A < 1`) {
		t.Errorf("no trigger in the equations: %s", fmt.Sprint(s))
	}
}

// Whether events happen at the start, in which order, and again, is worked out by hand: x
// starts at 1, event i sets it to 3 at the start, and it falls below 2 at t = 1 + ln 1.5 and
// below 0.5 at t = 1 + ln 6. At the start f and g happen, in the order of the file: n = 2·10.
// Then e and f: n = 31. The condition of g has become false at t = 1.2, so g happens again,
// and h after it: n = 2·31 + 1000. Windows of the time that are a million times shorter than
// a step, w, are not missed, and happen once.
func TestTriggersAtTheStartAndTogether(t *testing.T) {
	p, err := Parse("m", []byte(`time: {start: 1}
parameters:
  - {parameterId: a, nominalValue: 4}
odes:
  - {stateId: x, rightHandSide: -x, initialValue: 1}
  - {stateId: n, rightHandSide: 0, initialValue: 0}
  - {stateId: m, rightHandSide: 0, initialValue: 0}
events:
  - {eventId: e, trigger: "x < 2", assignments: {n: n + 1}}
  - {eventId: f, trigger: "x < 2", atStart: 1, assignments: {n: n + 10}}
  - {eventId: g, trigger: "x < 0.5 || time < 1.2", atStart: 1, assignments: {n: 2 * n}}
  - {eventId: h, trigger: "x < 0.5", assignments: {n: n + 1000}}
  - {eventId: i, time: 1, assignments: {x: 3}}
  - {eventId: w, trigger: "time > a / 2 && 2 * time < a + 1e-6 && x < 5", assignments: {m: m + 1}}
  - {eventId: v, trigger: "time > a && time < a + 1e-9 && x > 5", assignments: {m: m + 100}}
observables:
  - {observableId: yn, observableFormula: n, noiseFormula: 1}
  - {observableId: ym, observableFormula: m, noiseFormula: 1}
data: |
  time,yn,ym
  1,20,0
  1.3,20,0
  1.5,31,0
  2.5,31,1
  2.9,1062,1
  9,1062,1
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []LikelihoodSettings{{}, {Tolerance: probode.Tolerance{Relative: 1e-2}}, {Tolerance: probode.Tolerance{Relative: 1e-6}, Method: methods.RungeKutta{Tableau: methods.DormandPrince}}} {
		l, err := p.LogLikelihood(s)
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.At(t.Context(), l.p.Nominal(), false)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range experiments(t, p)[0].rows {
			if got := v.Instances[0].Simulated[i]; math.Abs(got-r.value) > 1e-9 { // rounding of numbers up to 1000
				t.Errorf("%+v: %s(%v) is %v: want %v", s.Tolerance, r.id, r.time, got, r.value)
			}
		}
	}
}

// A condition such as time > 1 is false at 1 itself, so a measurement at 1 comes before the
// event; time >= 1 is true there.
func TestMeasurementAtATriggerOfTime(t *testing.T) {
	for condition, want := range map[string]float64{
		"time > 1": 1, "1 < time": 1, "2*time - 2 > 0": 1, "!(time <= 1)": 1, "time > 1 && x < 5": 1, "T < time": 1, "T*time > 1": 1, "1 < T*time": 1, "-T*time < -1": 1,
		"time >= 1": 9, "1 <= time": 9, "2*time - 2 >= 0": 9, "!(time < 1)": 9, "time >= 1 && x < 5": 9, "T <= time": 9, "T*time >= 1": 9, "1 <= T*time": 9,
	} {
		got := simulated(t, `parameters: [{parameterId: k, nominalValue: 1, lowerBound: 0.1, upperBound: 10}, {parameterId: T, nominalValue: 1}]
odes: [{stateId: x, rightHandSide: k - x, initialValue: 1}]
events: [{eventId: e, trigger: "`+condition+`", assignments: {x: 9}}]
observables: [{observableId: y, observableFormula: x, noiseFormula: 1}]
data: |
  time,y
  1,1
  1.5,1
`)
		if after := 1 + 8*math.Exp(-0.5); math.Abs(got[0]-want) > 1e-6 || math.Abs(got[1]-after) > 1e-5 {
			t.Errorf("%s: %v: want %v, %v", condition, got, want, after)
		}
	}
}
