package rounding

import "testing"

// The terms of the components cancel each other. A rounding error of x changes the sum of
// terms of size s by about 1e-16 s; f(x) = 3 x has only the error of x, and a jump of 1 at
// x₀ counts as 1e-8.
func TestErrors(t *testing.T) {
	dst, a, b, c := make([]float64, 4), make([]float64, 4), make([]float64, 4), make([]float64, 4)
	Errors(dst, a, b, c, []float64{1, 1, 1e-9, 0}, func(dst, x []float64) {
		dst[0], dst[1], dst[2], dst[3] = x[0]-x[1], 1e20*(x[0]-x[1]), 3*x[2], 0
		if x[0] > 1 {
			dst[3] = 1
		}
	})
	for k, size := range []float64{1, 1e20, 3e-9, 0} {
		if e := dst[k]; k < 3 && !(e > 1e-17*size && e < 1e-15*size) || k == 3 && e > 1e-7 {
			t.Errorf("component %d: %g", k, e)
		}
	}
}
