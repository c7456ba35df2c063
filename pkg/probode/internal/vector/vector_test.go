package vector

import (
	"math"
	"testing"
)

func TestVector(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		x      []float64
		most   float64
		finite bool
	}{{nil, 0, true}, {[]float64{-3, 2}, 3, true}, {[]float64{1, -inf}, inf, false}, {[]float64{nan, 1}, nan, false}, {[]float64{-math.MaxFloat64}, math.MaxFloat64, true}} {
		if got := MaxAbs(c.x); got != c.most && !(math.IsNaN(got) && math.IsNaN(c.most)) {
			t.Errorf("MaxAbs(%v) = %g, want %g", c.x, got, c.most)
		}
		if Finite(c.x) != c.finite {
			t.Errorf("Finite(%v) = %t", c.x, !c.finite)
		}
	}
	if got := Dot([]float64{1, -2}, []float64{3, 4, 5}); got != -5 {
		t.Errorf("Dot is %g: want -5", got)
	}
	sum := []float64{1, 2}
	if AddScaled(sum, -2, []float64{3, 4, 5}); sum[0] != -5 || sum[1] != -6 {
		t.Errorf("AddScaled gives %g: want -5 and -6", sum)
	}
}
