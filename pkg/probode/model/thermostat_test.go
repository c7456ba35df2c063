package model

import (
	"context"
	"fmt"
	"math"
	"testing"
)

// A thermostat switches its heater on whenever x falls below low, and off whenever x rises
// above high: x′ = heat − k x, where events that the state triggers set heat to power or to
// 0. Between two switches the closed form is x(t+h) = x e^{−kh} + (heat/k)(1 − e^{−kh}), and
// a threshold c is reached after h = ln((x − heat/k)/(c − heat/k))/k. The log-likelihood and
// its gradient are compared with those of the closed form; the differences of the latter,
// with h = 1e-5, are right to about 1e-8, and the log-likelihood is accurate to 1e-7.
func TestThermostat(t *testing.T) {
	times, data := []float64{0, 0.7, 1.9, 2.4, 4, 6.3, 9, 12.5}, []float64{5, 3, 2.6, 3.3, 2.9, 3.1, 2.8, 3.2}
	const low, high, start, sd = 2, 4, 5, 0.4
	closed := func(k, power float64) (sum float64) {
		x, heat, now := float64(start), 0.0, 0.0
		for i, at := range times {
			for {
				c, next := float64(low), power
				if heat > 0 {
					c, next = high, 0
				}
				h := math.Log((x-heat/k)/(c-heat/k)) / k
				if !(now+h < at) {
					break
				}
				x, heat, now = c, next, now+h
			}
			x = x*math.Exp(-k*(at-now)) - heat/k*math.Expm1(-k*(at-now))
			now = at
			z := (data[i] - x) / sd
			sum -= z*z/2 + math.Log(sd*math.Sqrt(2*math.Pi))
		}
		return sum
	}
	text := `parameters:
  - {parameterId: k, nominalValue: 0.8, lowerBound: 0.1, upperBound: 10}
  - {parameterId: power, nominalValue: 5, lowerBound: 1, upperBound: 100}
  - {parameterId: heat, nominalValue: 0}
odes:
  - {stateId: x, rightHandSide: heat - k * x, initialValue: 5}
events:
  - {eventId: up, trigger: "x < 2", assignments: {heat: power}}
  - {eventId: down, trigger: "x > 4 && heat > 0", assignments: {heat: 0}}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: 0.4}
data: |
  time,y
`
	for i, at := range times {
		text += fmt.Sprintf("  %v,%v\n", at, data[i])
	}
	p, err := Parse("m", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.LogLikelihood(LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range [][2]float64{{0.8, 5}, {0.5, 9}, {1.1, 4.9}, {0.3, 3}} {
		theta := []float64{at[0], at[1]}
		v, err := l.At(context.Background(), theta, true)
		if err != nil {
			t.Fatal(err)
		}
		if want := closed(at[0], at[1]); math.Abs(v.LogLikelihood-want) > 1e-7 {
			t.Errorf("at %v the log-likelihood is %.9f: want %.9f", at, v.LogLikelihood, want)
		}
		const h = 1e-5
		for i, want := range []float64{(closed(at[0]+h, at[1]) - closed(at[0]-h, at[1])) / (2 * h), (closed(at[0], at[1]+h) - closed(at[0], at[1]-h)) / (2 * h)} {
			if math.Abs(v.Gradient[i]-want) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("at %v the derivative %d is %.8f: want %.8f", at, i, v.Gradient[i], want)
			}
		}
	}
}
