package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/probode/probode/pkg/probode/bayes"
)

// For each distribution and each scale that it allows: densities integrate to one, slopes
// equal differences, the information is the mean square of the slopes over draws, and the
// density without its kink is smooth.
func TestDistributions(t *testing.T) {
	const m = 1.7
	rng := rand.New(rand.NewPCG(6, 1))
	for distribution, own := range map[noiseDistribution][]float64{normalNoise: {0.2}, laplaceNoise: {0.2}, studentNoise: {4, 0.2}, poissonNoise: nil, negativeBinomialNoise: {1.5}, binomialNoise: {9}} {
		scales := []Scale{Lin, Log, Log10}
		if distribution.counts() {
			scales = scales[:1]
		}
		for _, scale := range scales {
			of := distribution.likelihood(scale, make([]bayes.Value, 2)).(bayes.SlopedLikelihood)
			density := func(y float64) float64 { return math.Exp(of.LogProb(y, m, own)) }
			mass := 0.
			if distribution.counts() {
				for y := range 400 {
					mass += density(float64(y))
				}
			} else {
				// Integrate over u, where g(y) = g(m) ± 0.2 sinh u, in two parts that
				// meet at the kink. The tails of Student's t distribution beyond u = 14
				// have less than 10⁻¹⁰ of its mass.
				for _, sign := range []float64{-1, 1} {
					for k := range 70 {
						mass += quad.Fixed(func(u float64) float64 {
							y := scale.linear(scale.of(m) + sign*0.2*math.Sinh(u))
							if dy := scale.slope(y) * 0.2 * math.Cosh(u); density(y) > 0 && dy < math.MaxFloat64 {
								return density(y) * dy
							}
							return 0
						}, float64(k)/5, float64(k+1)/5, 20, nil, 0)
					}
				}
			}
			if math.Abs(mass-1) > 1e-9 {
				t.Errorf("%s, %s: integral %.12g", distribution, scale, mass)
			}
			n := 1 + len(own)
			slope := func(y float64) []float64 {
				g := make([]float64, n)
				of.Slope(g, y, m, own)
				return g
			}
			for _, y := range []float64{1, 2, 3} {
				for i, got := range slope(y) {
					at := append([]float64{m}, own...)
					const h = 1e-5
					at[i] += h
					up := of.LogProb(y, at[0], at[1:])
					at[i] -= 2 * h
					if want := (up - of.LogProb(y, at[0], at[1:])) / (2 * h); math.Abs(got-want) > 1e-7*(1+math.Abs(want)) {
						t.Errorf("%s, %s at %v: slope %d is %v: want %v", distribution, scale, y, i, got, want)
					}
				}
			}
			// A deviation of five standard errors occurs once in two million cases.
			info := make([]float64, n*n)
			if !of.(bayes.Informer).Information(info, m, own) {
				t.Fatalf("%s, %s: no information", distribution, scale)
			}
			const draws = 20000
			sum, square := make([]float64, n*n), make([]float64, n*n)
			for range draws {
				g := slope(of.Rand(m, own, rng))
				for k := range sum {
					v := g[k/n] * g[k%n]
					sum[k] += v
					square[k] += v * v
				}
			}
			for k, v := range info {
				at := sum[k] / draws
				if se := math.Sqrt((square[k]/draws - at*at) / draws); math.Abs(v-at) > 5*se+1e-12 {
					t.Errorf("%s, %s: information %d is %v, draws say %v ± %v", distribution, scale, k, v, at, se)
				}
			}
			by, is := of.(bayes.Kinked)
			for _, at := range []float64{1.9, 2, 2.3} {
				if !is {
					break
				}
				r, slope, weight, ok := by.Kink(2, at, own)
				if ok != (distribution == laplaceNoise) {
					t.Errorf("%s, %s: kink %v", distribution, scale, ok)
				}
				const h = 1e-6
				up, _, _, _ := by.Kink(2, at+h, own)
				down, _, _, _ := by.Kink(2, at-h, own)
				smooth := of.LogProb(2, at, own) + weight*math.Abs(r)
				if want := of.LogProb(2, 2, own); ok && (weight != 5 || math.Abs(smooth-want) > 1e-12 || math.Abs((up-down)/(2*h)-slope) > 1e-8) {
					t.Errorf("%s, %v: r %v, slope %v, weight %v, and %v without it: want %v", scale, at, r, slope, weight, smooth, want)
				}
			}
			if distribution.counts() || scale == Lin {
				continue
			}
			if !math.IsInf(of.LogProb(-1, m, own), -1) || !math.IsInf(of.LogProb(1, -m, own), -1) || !math.IsNaN(of.Rand(-m, own, rng)) ||
				of.(bayes.Informer).Information(info, -m, own) {
				t.Errorf("%s, %s: a density of negative numbers", distribution, scale)
			}
		}
	}
}
