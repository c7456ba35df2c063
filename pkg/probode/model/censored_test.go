package model

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// With a limit of quantification, a value above it contributes its density and a value at
// or below it the probability of all values up to the limit, on every scale and for every
// continuous distribution, and whatever number up to the limit the table contains. The
// data are those of x = 5 exp(−k t), and the formula of each distribution is written here
// for a number of its own: g(y) − g(x), where g is the scale. The slope of g at
// the value above the limit belongs to the density. Tolerances: 1e-7 is the accuracy of the
// log-likelihood, and 1e-5 that of its gradient.
func TestLimitOnEveryScale(t *testing.T) {
	const k, s, limit, above = 0.9, 0.6, 1.5, 2.5
	student := func(r, s float64) distuv.StudentsT { return distuv.StudentsT{Mu: 0, Sigma: s, Nu: 3} }
	for _, c := range []struct {
		distribution string
		density, cdf func(r, s float64) float64
	}{
		{"normal", func(r, s float64) float64 { return distuv.Normal{Sigma: s}.Prob(r) }, func(r, s float64) float64 { return distuv.Normal{Sigma: s}.CDF(r) }},
		{"laplace", func(r, s float64) float64 { return math.Exp(-math.Abs(r)/s) / (2 * s) }, func(r, s float64) float64 {
			if r < 0 {
				return math.Exp(r/s) / 2
			}
			return 1 - math.Exp(-r/s)/2
		}},
		{"student", func(r, s float64) float64 { return student(r, s).Prob(r) }, func(r, s float64) float64 { return student(r, s).CDF(r) }},
	} {
		for _, scale := range []struct {
			name     string
			g, slope func(y float64) float64
		}{
			{"lin", func(y float64) float64 { return y }, func(float64) float64 { return 1 }},
			{"log", math.Log, func(y float64) float64 { return 1 / y }},
			{"log10", math.Log10, func(y float64) float64 { return 1 / (y * math.Ln10) }},
		} {
			logLikelihood := func(k, s float64) (sum float64) {
				for _, at := range []float64{1, 3} {
					x := 5 * math.Exp(-k*at)
					if at == 1 {
						sum += math.Log(c.density(scale.g(above)-scale.g(x), s) * scale.slope(above))
					} else {
						sum += math.Log(c.cdf(scale.g(limit)-scale.g(x), s))
					}
				}
				return sum
			}
			for _, below := range []float64{limit, limit / 2, 0, -1} {
				freedom := ""
				if c.distribution == "student" {
					freedom = ", degreesOfFreedom: 3"
				}
				p, err := Parse("m", fmt.Appendf(nil, `parameters:
  - {parameterId: k, nominalValue: %v, lowerBound: 0.1, upperBound: 10}
  - {parameterId: s, nominalValue: %v, lowerBound: 0.1, upperBound: 10}
odes:
  - {stateId: x, rightHandSide: -k * x, initialValue: 5}
observables:
  - {observableId: y, observableFormula: x, observableTransformation: %s, noiseDistribution: %s, noiseFormula: s, lowerLimit: %v%s}
data: |
  time,y
  1,%v
  3,%v
`, k, s, scale.name, c.distribution, limit, freedom, above, below))
				if err != nil {
					t.Fatal(err)
				}
				l, err := p.LogLikelihood(LikelihoodSettings{})
				if err != nil {
					t.Fatal(err)
				}
				v, err := l.At(context.Background(), l.p.Nominal(), true)
				if err != nil {
					t.Fatalf("%s on the scale %s, with %v: %v", c.distribution, scale.name, below, err)
				}
				if want := logLikelihood(k, s); math.Abs(v.LogLikelihood-want) > 1e-7 {
					t.Errorf("%s on the scale %s, with %v below the limit: %.9f: want %.9f", c.distribution, scale.name, below, v.LogLikelihood, want)
				}
				const h = 1e-5 // the error of the differences is of the order of h²
				for i, want := range []float64{(logLikelihood(k+h, s) - logLikelihood(k-h, s)) / (2 * h), (logLikelihood(k, s+h) - logLikelihood(k, s-h)) / (2 * h)} {
					if math.Abs(v.Gradient[i]-want) > 1e-5 {
						t.Errorf("%s on the scale %s, with %v below the limit: derivative %d is %.9f: want %.9f", c.distribution, scale.name, below, i, v.Gradient[i], want)
					}
				}
			}
		}
	}
}
