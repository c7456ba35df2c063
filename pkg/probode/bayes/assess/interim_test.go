package assess

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Looks that go on until they decide are wrong no more often than is stated. The
// true bias is at the threshold itself, and its estimates are means of 1, 2, 4 and 8
// batches, the first of which has a standard error of a fifth of the threshold, as
// where chains are gone on with. Of 4000 such runs at 95 % the verdict is Matters in at
// most 2.5 % and Negligible in as many: more than 135 of 4000, 3.5 standard deviations
// above 100, with a probability below 5e-4. With 1.96 standard errors at every look it
// would be 5 %, 200 of 4000, each.
func TestLooksShareTheError(t *testing.T) {
	const runs, threshold, se = 4000, 0.1, 0.02
	count := func(z float64) (matters, negligible int) {
		rng := rand.New(rand.NewPCG(1, 0x6c6f6f6b73))
		for range runs {
			sum, n := 0.0, 0
			for _, size := range []int{1, 2, 4, 8} {
				for ; n < size; n++ {
					sum += threshold + se*rng.NormFloat64()
				}
				e := Shift{Bias: sum / float64(n), BiasSE: se / math.Sqrt(float64(n)), Ratio: 1, RatioSE: 1e-6}
				if v := e.judge(threshold, z); v == Matters {
					matters++
					break
				} else if v == Negligible {
					negligible++
					break
				}
			}
		}
		return matters, negligible
	}
	r := &Report{Confidence: 0.95, Looks: mostLooks}
	m, n := count(r.standardErrors())
	t.Logf("%d matter and %d are negligible of %d", m, n, runs)
	if m > 135 || n > 135 {
		t.Errorf("%d matter and %d are negligible of %d, want at most 100 each", m, n, runs)
	}
	if m, n := count(distuv.UnitNormal.Quantile(0.975)); m < 150 || n < 150 {
		t.Errorf("without sharing %d and %d: the test cannot fail", m, n)
	}
	one := &Report{Confidence: 0.95, Looks: 1}
	if z := one.standardErrors(); math.Abs(z-1.96) > 1e-3 {
		t.Errorf("%.3f standard errors at one look", z)
	}
}
