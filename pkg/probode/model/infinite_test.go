package model

import (
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/catalog"
)

// The rate has an infinite derivative at the start, as a Hill function with an exponent
// below 1 has. Solutions: x′ = 2 y^p with y′ = 1 gives x = 2 t^{p+1}/(p+1), and x′ = p − √x
// gives t = −2 √x − 2 p ln(1 − √x/p), which is solved by bisection.
func TestInfiniteDerivatives(t *testing.T) {
	root := func(t, p float64) float64 {
		low, high := 0.0, p
		for range 100 {
			if u := (low + high) / 2; -2*u-2*p*math.Log1p(-u/p) < t {
				low = u
			} else {
				high = u
			}
		}
		return low * low
	}
	for _, c := range []struct {
		odes string
		x    func(t, p float64) float64
	}{
		{"  - {stateId: x, rightHandSide: 2 * y^p, initialValue: 0}\n  - {stateId: y, rightHandSide: \"1\", initialValue: 0}\n",
			func(t, p float64) float64 { return 2 * math.Pow(t, p+1) / (p + 1) }},
		{"  - {stateId: x, rightHandSide: p - sqrt(x), initialValue: 0}\n", root},
	} {
		m, err := Parse("m", []byte("parameters:\n  - {parameterId: p, nominalValue: 0.6, lowerBound: 0.1, upperBound: 3}\nodes:\n"+c.odes+
			"observables:\n  - {observableId: ox, observableFormula: x, noiseFormula: 0.5}\ndata: |\n  time,ox\n  0.7,0.9\n  2,0.1\n"))
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"", "radau3", "bdf", "dp5", "auto"} {
			var set LikelihoodSettings
			if method != "" {
				if set.Method, err = catalog.Parse(method); err != nil {
					t.Fatal(err)
				}
				set.Tolerance = probode.Tolerance{Relative: 1e-8}
			}
			l, err := m.LogLikelihood(set)
			if err != nil {
				t.Fatal(err)
			}
			const p, h = 0.6, 1e-5
			v, err := l.At(t.Context(), []float64{p}, true)
			if err != nil {
				t.Errorf("%s%s: %v", c.odes, method, err)
				continue
			}
			value, slope := 0.0, 0.0
			for i, at := range []float64{0.7, 2} {
				z := ([]float64{0.9, 0.1}[i] - c.x(at, p)) / 0.5
				value -= z*z/2 + math.Log(0.5*math.Sqrt(2*math.Pi))
				slope += z / 0.5 * (c.x(at, p+h) - c.x(at, p-h)) / (2 * h)
			}
			if math.Abs(v.LogLikelihood-value) > 1e-4 || math.Abs(v.Gradient[0]-slope) > 1e-4*math.Abs(slope) {
				t.Errorf("%s%s: log-likelihood %.9g and slope %.9g: want %.9g and %.9g", c.odes, method, v.LogLikelihood, v.Gradient[0], value, slope)
			}
		}
	}
}
