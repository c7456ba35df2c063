package model

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// In the model x′ = −k x, y′ = r where x < c, and 0.05 elsewhere, a dose adds 4 to x at t =
// 1. For two values of c, x is below c from the time τ on, before the dose or after it. The
// log-likelihood and its gradient equal the closed form, wherever the condition is written:
// in a right-hand side, in an assignment, negated, and twice.
func TestJumpOfRate(t *testing.T) {
	const text = `parameters:
  - {parameterId: k, nominalValue: 1.1, lowerBound: 0.1, upperBound: 10}
  - {parameterId: c, nominalValue: C, lowerBound: 1, upperBound: 9}
  - {parameterId: r, nominalValue: 1.4, lowerBound: 0, upperBound: 5}
odes:
  - {stateId: x, rightHandSide: -k * x, initialValue: 10}
  - {stateId: y, rightHandSide: "RATE", initialValue: 0}
events:
  - {eventId: dose, time: 1, assignments: {x: x + 4}}
observables:
  - {observableId: oy, observableFormula: y, noiseFormula: 0.1}
data: |
  time,oy
  0.7,0.1
  2.5,1.9
`
	times, data := []float64{0.7, 2.5}, []float64{0.1, 1.9}
	// y(t) is 0.05 t + (r − 0.05) × the time below c.
	y := func(at, k, c, r float64) float64 {
		below := 0.0
		if tau := math.Log(10/c) / k; tau < 1 {
			below += min(at, 1) - min(at, tau) // until the dose, which lifts x above c
		}
		if again := 1 + math.Log((10*math.Exp(-k)+4)/c)/k; at > again {
			below += at - again
		}
		return 0.05*at + (r-0.05)*below
	}
	ll := func(theta [3]float64) (sum float64) {
		for n, at := range times {
			u := (data[n] - y(at, theta[0], theta[1], theta[2])) / 0.1
			sum -= u*u/2 + math.Log(0.1) + math.Log(2*math.Pi)/2
		}
		return sum
	}
	for _, c := range []float64{6, 2.5} {
		for _, rate := range []string{"piecewise(r, x < c, 0.05)", "piecewise(0.05, x >= c, r)", "piecewise(0.05, not(x < c), r)",
			"piecewise(r, x < c, 0.02) + piecewise(0.03, c <= x, 0)"} {
			p, err := Parse("m", []byte(strings.NewReplacer("C,", fmt.Sprint(c, ","), "RATE", rate).Replace(text)))
			if err != nil {
				t.Fatal(err)
			}
			l, err := p.LogLikelihood(LikelihoodSettings{})
			if err != nil {
				t.Fatal(err)
			}
			at := [3]float64{1.1, c, 1.4}
			v, err := l.At(t.Context(), at[:], true)
			if err != nil {
				t.Fatal(err)
			}
			if want := ll(at); !(math.Abs(v.LogLikelihood-want) <= v.Error+1e-8) {
				t.Errorf("c = %g, %s: log-likelihood %.10g ± %.1g, want %.10g", c, rate, v.LogLikelihood, v.Error, want)
			}
			for j := range at {
				const h = 1e-5
				up, down := at, at
				up[j] += h
				down[j] -= h
				// The error of the central difference is about h² times a third derivative of
				// up to 10⁴, and that of the gradient about 10⁻⁶ of it.
				if want := (ll(up) - ll(down)) / (2 * h); !(math.Abs(v.Gradient[j]-want) <= 1e-5*(1+math.Abs(want))) {
					t.Errorf("c = %g, %s: component %d of the gradient is %g, want %g", c, rate, j, v.Gradient[j], want)
				}
			}
		}
	}
}
