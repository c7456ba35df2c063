package model

import (
	"fmt"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes"
)

// The counts have the mean and the variance that MODELFILE.md states, by sums over all
// counts, whose tails beyond 2000 are negligible; and the other errors have the densities
// that it states.
func TestErrorsOfThePage(t *testing.T) {
	for _, f := range []float64{0.3, 2, 17} {
		for _, c := range []struct {
			distribution noiseDistribution
			own          []float64
			variance     float64
		}{
			{poissonNoise, nil, f},
			{negativeBinomialNoise, []float64{0.7}, f + f*f/0.7},
			{negativeBinomialNoise, []float64{40}, f + f*f/40},
			{binomialNoise, []float64{25}, f * (1 - f/25)},
		} {
			of := c.distribution.likelihood(Lin, make([]bayes.Value, 2)).(bayes.SlopedLikelihood)
			mass, mean, square := 0.0, 0.0, 0.0
			for y := range 2000 {
				p := math.Exp(of.LogProb(float64(y), f, c.own))
				mass, mean, square = mass+p, mean+p*float64(y), square+p*float64(y)*float64(y)
			}
			if math.Abs(mass-1) > 1e-9 || math.Abs(mean-f) > 1e-8*f || math.Abs(square-mean*mean-c.variance) > 1e-7*c.variance {
				t.Errorf("%s around %v with %v: mass %v, mean %v, variance %v: want 1, %v and %v", c.distribution, f, c.own, mass, mean, square-mean*mean, f, c.variance)
			}
		}
	}
	const f, s, nu = 3.0, 0.4, 2.5
	lg := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
	for name, density := range map[noiseDistribution]func(r float64) float64{
		normalNoise:  func(r float64) float64 { return math.Exp(-r*r/(2*s*s)) / (s * math.Sqrt(2*math.Pi)) },
		laplaceNoise: func(r float64) float64 { return math.Exp(-math.Abs(r)/s) / (2 * s) },
		studentNoise: func(r float64) float64 {
			return math.Exp(lg((nu+1)/2)-lg(nu/2)) / (s * math.Sqrt(nu*math.Pi)) * math.Pow(1+r*r/(nu*s*s), -(nu+1)/2)
		},
	} {
		own := []float64{s}
		if name == studentNoise {
			own = []float64{nu, s}
		}
		for _, y := range []float64{0.5, 2.9, 3, 7} {
			for scale, g := range map[Scale][2]func(float64) float64{
				Lin:   {func(y float64) float64 { return y }, func(float64) float64 { return 1 }},
				Log:   {math.Log, func(y float64) float64 { return 1 / y }},
				Log10: {math.Log10, func(y float64) float64 { return 1 / (y * math.Ln10) }},
			} {
				want := math.Log(density(g[0](y)-g[0](f)) * g[1](y))
				if got := name.likelihood(scale, make([]bayes.Value, 2)).(bayes.SlopedLikelihood).LogProb(y, f, own); math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
					t.Errorf("%s on the scale %s: the log density of %v is %v: want %v", name, scale, y, got, want)
				}
			}
		}
	}
}

// Every prior in the table of MODELFILE.md has the density that its row states, in the value
// on the linear scale, and the truncated ones are divided by their mass. The last column
// writes the density of the value u = g(k), on the scale g, with arguments a and b.
func TestPriorsOfThePage(t *testing.T) {
	lg := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
	normal := func(u, a, b float64) float64 { return math.Exp(-(u-a)*(u-a)/(2*b*b)) / (b * math.Sqrt(2*math.Pi)) }
	double := func(u, a, b float64) float64 { return math.Exp(-math.Abs(u-a)/b) / (2 * b) }
	const a, b = 1.5, 2.5
	none, both := [2]float64{math.NaN(), math.NaN()}, [2]float64{0.5, 6}
	for _, c := range []struct {
		prior  string
		one    bool
		scale  Scale // of the parameter
		on     Scale // of the prior
		bounds [2]float64
		q      func(u float64) float64
	}{
		{"uniform", false, Lin, Lin, none, func(u float64) float64 { return 1 / (b - a) }},
		{"normal", false, Lin, Lin, none, func(u float64) float64 { return normal(u, a, b) }},
		{"normal", false, Log10, Lin, both, func(u float64) float64 { return normal(u, a, b) }},
		{"laplace", false, Lin, Lin, both, func(u float64) float64 { return double(u, a, b) }},
		{"cauchy", false, Lin, Lin, none, func(u float64) float64 { return 1 / (math.Pi * b * (1 + (u-a)*(u-a)/(b*b))) }},
		{"logNormal", false, Lin, Log, none, func(u float64) float64 { return normal(u, a, b) }},
		{"logNormal", false, Log10, Log, both, func(u float64) float64 { return normal(u, a, b) }},
		{"logLaplace", false, Lin, Log, none, func(u float64) float64 { return double(u, a, b) }},
		{"parameterScaleUniform", false, Log10, Log10, none, func(u float64) float64 { return 1 / (b - a) }},
		{"parameterScaleNormal", false, Log, Log, none, func(u float64) float64 { return normal(u, a, b) }},
		{"parameterScaleNormal", false, Lin, Lin, both, func(u float64) float64 { return normal(u, a, b) }},
		{"parameterScaleLaplace", false, Log10, Log10, both, func(u float64) float64 { return double(u, a, b) }},
		{"halfNormal", true, Lin, Lin, none, func(u float64) float64 { return 2 * normal(u, 0, a) }},
		{"halfCauchy", true, Lin, Lin, none, func(u float64) float64 { return 2 / (math.Pi * a * (1 + u*u/(a*a))) }},
		{"logUniform", false, Lin, Log, none, func(u float64) float64 { return 1 / (math.Log(b) - math.Log(a)) }},
		{"rayleigh", true, Lin, Lin, both, func(u float64) float64 { return u / (a * a) * math.Exp(-u*u/(2*a*a)) }},
		{"exponential", true, Lin, Lin, both, func(u float64) float64 { return a * math.Exp(-a*u) }},
		{"gamma", false, Log, Lin, none, func(u float64) float64 { return math.Exp(a*math.Log(b) - lg(a) + (a-1)*math.Log(u) - b*u) }},
		{"inverseGamma", false, Lin, Lin, both, func(u float64) float64 { return math.Exp(a*math.Log(b) - lg(a) - (a+1)*math.Log(u) - b/u) }},
		{"beta", false, Lin, Lin, none, func(u float64) float64 {
			return math.Exp(lg(a+b) - lg(a) - lg(b) + (a-1)*math.Log(u) + (b-1)*math.Log1p(-u))
		}},
	} {
		arguments := fmt.Sprintf("%v; %v", a, b)
		if c.one {
			arguments = fmt.Sprint(a)
		}
		bounds := ""
		if c.bounds == both {
			bounds = fmt.Sprintf(", lowerBound: %v, upperBound: %v", both[0], both[1])
		}
		p, err := Parse("m", fmt.Appendf(nil, "parameters:\n  - {parameterId: k, parameterScale: %s, objectivePriorType: %s, objectivePriorParameters: %s%s}\nodes:\n  - {stateId: x, rightHandSide: -k, initialValue: 1}\n", c.scale, c.prior, arguments, bounds))
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.Params[0].Distribution()
		if err != nil {
			t.Fatal(err)
		}
		g := map[Scale]func(float64) float64{Lin: func(v float64) float64 { return v }, Log: math.Log, Log10: math.Log10}[c.on]
		slope := map[Scale]func(float64) float64{Lin: func(float64) float64 { return 1 }, Log: func(v float64) float64 { return 1 / v }, Log10: func(v float64) float64 { return 1 / (v * math.Ln10) }}[c.on]
		mass := 1.0
		if c.bounds == both { // the midpoint rule, on 20,000 intervals, is right to about 1e-8
			const n = 20000
			from, to := g(both[0]), g(both[1])
			mass = 0
			for i := range n {
				mass += c.q(from+(to-from)*(float64(i)+0.5)/n) * (to - from) / n
			}
		}
		for _, v := range []float64{0.1, 0.7, 1.7, 2.2, 3, 5, 50, 200} {
			want := math.Log(c.q(g(v)) * slope(v) / mass)
			inside := !(v < c.bounds[0] || v > c.bounds[1])
			switch c.prior {
			case "uniform", "parameterScaleUniform":
				inside = inside && g(v) >= a && g(v) <= b
			case "logUniform":
				inside = v >= a && v <= b
			case "beta":
				inside = inside && v < 1
			}
			if !inside {
				want = math.Inf(-1)
			}
			if got := d.LogProb(v); !(math.Abs(got-want) <= 1e-6*(1+math.Abs(want)) || got == want) {
				t.Errorf("%s(%s) on the scale %s%s: the log density of %v is %v: want %v", c.prior, arguments, c.scale, bounds, v, got, want)
			}
		}
	}
}
