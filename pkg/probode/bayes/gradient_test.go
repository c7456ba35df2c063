package bayes

import (
	"math"
	"testing"
)

// Beside an expected value that is zero, or next to it as where two equal states are
// subtracted, the slope of the log density is what it is elsewhere: (y − m)/σ² of normal
// errors, (y/m − 1) of counts, whose density ends at zero. Rounding leaves 1e-11.
func TestGradientNearZero(t *testing.T) {
	for _, c := range []struct {
		l    Likelihood
		y, m float64
		want float64
		tol  float64
	}{
		{Gaussian{Sigma: Known(1)}, 0.3, 0, 0.3, 1e-9},
		{Gaussian{Sigma: Known(1)}, 0.3, 1e-17, 0.3, 1e-9},
		{Gaussian{Sigma: Known(1)}, 0.3, 1e-13, 0.3, 1e-9},
		{Poisson{}, 2, 1e-6, 2e6 - 1, 0.1}, // m is halved: ln 3 in the place of 1
	} {
		l := columnErrors{Likelihood: c.l}
		for _, v := range c.l.Own() {
			l.own, l.param, l.column = append(l.own, v.Value), append(l.param, -1), append(l.column, -1)
		}
		dst := make([]float64, 1)
		if !l.gradient(dst, c.y, c.m, 1) || math.Abs(dst[0]-c.want) > c.tol*c.want {
			t.Errorf("%T at %g: slope %g, want %g", c.l, c.m, dst[0], c.want)
		}
	}
}

// log Γ(x+y) − log Γ(x) − y log x = Σ log(1 + k/x) over k < y, for whole y, on both
// sides of where Stirling's series takes over at 16. Terms of up to 3000 are
// summed and subtracted: 1e-16 of them.
func TestLogRise(t *testing.T) {
	for _, x := range []float64{1e-3, 0.5, 3, 15.9, 16, 17, 40, 1e3, 1e8, 1e18} {
		for _, y := range []int{0, 1, 2, 10, 500} {
			var want float64
			for k := range y {
				want += math.Log1p(float64(k) / x)
			}
			if got := logRise(x, float64(y)); math.Abs(got-want) > 1e-15*(10+3000*math.Min(1, float64(y)/10)) {
				t.Errorf("x = %g, y = %d: %v, want %v", x, y, got, want)
			}
		}
	}
}
