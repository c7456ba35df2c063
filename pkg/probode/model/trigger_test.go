package model

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
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
		for what, write := range map[string]func(dir string) (string, error){"PEtab": p.WritePEtab, "YAML": p.WriteYAML} {
			name, err := write(t.TempDir())
			if err != nil {
				t.Errorf("%s: %v", c.condition, err)
				continue
			}
			q, err := Load(name)
			if err != nil {
				t.Errorf("%s: %v", c.condition, err)
			} else if w := evaluate(t, q); w != nil && math.Abs(w.LogLikelihood-v.LogLikelihood) > 1e-7 {
				t.Errorf("%s: %v as %s, want %v", c.condition, w.LogLikelihood, what, v.LogLikelihood)
			}
		}
	}
}

func evaluate(t *testing.T, p *File) *Evaluation {
	t.Helper()
	l, err := p.LogLikelihood(LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := l.At(context.Background(), l.Nominal(), true)
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
		_, err = l.At(context.Background(), l.Nominal(), false)
	}
	if err == nil || !strings.Contains(err.Error(), "event e has a trigger") {
		t.Errorf("equal steps: %v", err)
	}
	if s := p.Models[0].LaTeX(); !strings.Contains(s, `A < 1`) {
		t.Errorf("no trigger in the equations: %s", fmt.Sprint(s))
	}
}
