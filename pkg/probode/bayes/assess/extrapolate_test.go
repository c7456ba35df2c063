package assess_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes/assess"
)

// What follows the order exactly is extrapolated to its limit, without noise to
// the digits that the ladder has.
func TestExtrapolateExact(t *testing.T) {
	h := []float64{1, 0.5, 0.25, 0.125}
	for _, order := range []int{1, 2, 4} {
		var y []float64
		for _, x := range h {
			y = append(y, 3+0.7*math.Pow(x, float64(order)))
		}
		e := assess.Extrapolate(h, y, make([]float64, 4), order)
		// The nearest value of the ladder is off by 0.7/8^p.
		near := 0.7 * math.Pow(0.125, float64(order))
		if math.Abs(e.Value-3) > 0.01*near+1e-6 || e.SE > near {
			t.Errorf("order %d: %g ± %g, want 3; the smallest step has %g", order, e.Value, e.SE, y[3])
		}
	}
	for _, c := range [][]float64{{1}, {1, 1}} {
		if e := assess.Extrapolate(c, make([]float64, len(c)), make([]float64, len(c)), 2); !math.IsNaN(e.Value) {
			t.Errorf("steps %v: %+v, want NaN", c, e)
		}
	}
}

// Stated errors hold: for random smooth errors of the order with random noise, 95 %
// intervals hold the limit in nearly that share. With 200 trials a true .95 falls
// below .88 in 5 of 10⁵ runs; too wide would be a mean squared z below a fifth.
func TestExtrapolateCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	h := []float64{1, 0.5, 0.25, 0.125}
	for _, order := range []int{1, 2, 4} {
		for _, noise := range []float64{0.001, 0.03, 0.3} {
			const trials = 200
			inside, square := 0, 0.0
			for range trials {
				a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
				var y, se []float64
				for _, x := range h {
					se = append(se, noise)
					y = append(y, a+math.Pow(x, float64(order))*(b+c*x/2)+noise*rng.NormFloat64())
				}
				e := assess.Extrapolate(h, y, se, order)
				z := (e.Value - a) / e.SE
				square += z * z / trials
				if math.Abs(z) < 1.96 {
					inside++
				}
			}
			if share := float64(inside) / trials; share < 0.88 || square < 0.2 {
				t.Errorf("order %d, noise %g: %.3f inside, mean squared z %.2f", order, noise, share, square)
			}
		}
	}
}
