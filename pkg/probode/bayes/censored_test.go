package bayes_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes"
)

// LogCDF is the logarithm of the integral of the density, by the trapezoidal rule of the
// test of the information, whose error is below 1e-8.
func TestLogCDF(t *testing.T) {
	for _, c := range []struct {
		of  bayes.Cumulative
		own []float64
	}{
		{bayes.Gaussian{}, []float64{0.7}},
		{bayes.LogNormal{}, []float64{0.7}},
		{bayes.Laplace{}, []float64{0.7}},
		{bayes.StudentT{}, []float64{3.5, 0.7}},
	} {
		const m = 2.1
		for _, limit := range []float64{0.4, 1.7, m, 2.6} {
			var want float64
			numbers(limit, 1)(func(y, weight float64) { // half of the rule lies below the limit
				if y < limit {
					want += weight * math.Exp(c.of.LogProb(y, m, c.own))
				}
			})
			want += 0.5 * 0.01 * math.Exp(c.of.LogProb(limit, m, c.own)) // the end of the rule
			got := math.Exp(c.of.LogTail(nil, limit, m, c.own, false))
			if !(math.Abs(got-want) < 1e-5) {
				t.Errorf("%T: P(Y ≤ %g) = %.8f: want %.8f", c.of, limit, got, want)
			}
		}
	}
	// log Φ(−40) = −804.6084420137538 in 40-digit arithmetic. The two formulas meet at −30.
	one := []float64{1}
	if got := (bayes.Gaussian{}).LogTail(nil, -40, 0, one, false); math.Abs(got+804.6084420137538) > 1e-9 {
		t.Errorf("log Φ(−40) = %.13g", got)
	}
	const h = 1e-9
	jump := (bayes.Gaussian{}).LogTail(nil, -30+h, 0, one, false) - (bayes.Gaussian{}).LogTail(nil, -30-h, 0, one, false)
	if math.Abs(jump-2*h*30.03) > 1e-10 {
		t.Errorf("log Φ jumps by %g at −30", jump)
	}
}

// Draws below the limit are the limit, with the probability that LogProb states: with
// 20,000 draws the fraction is within 4.5 standard deviations, except with probability
// 7e-6 for each distribution.
func TestCensoredDraws(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		of  bayes.Cumulative
		own []float64
	}{
		{bayes.Gaussian{}, []float64{0.7}},
		{bayes.LogNormal{}, []float64{0.7}},
		{bayes.Laplace{}, []float64{0.7}},
		{bayes.StudentT{}, []float64{3.5, 0.7}},
	} {
		of := bayes.Censored{Of: c.of, Limit: 1.7}
		const n = 20000
		below := 0
		for range n {
			if y := of.Rand(2.1, c.own, rng); y == of.Limit {
				below++
			} else if y < of.Limit {
				t.Fatalf("%T: a draw of %g below the limit", c.of, y)
			}
		}
		p := math.Exp(of.LogProb(0, 2.1, c.own))
		if z := (float64(below) - n*p) / math.Sqrt(n*p*(1-p)); !(math.Abs(z) < 4.5) {
			t.Errorf("%T: %d of %d draws at the limit: want %.0f", c.of, below, n, n*p)
		}
		if lp := of.LogProb(1, 2.1, []float64{-1, -1}); !math.IsInf(lp, -1) {
			t.Errorf("%T: log probability %g for a negative scale: want −Inf", c.of, lp)
		}
	}
}
