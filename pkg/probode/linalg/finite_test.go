package linalg

import (
	"math"
	"testing"
)

// A matrix with an element that is not finite has no factors, wherever the element is.
func TestNotFinite(t *testing.T) {
	for _, s := range shapes() {
		for _, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
			for i := range s.d {
				for _, j := range []int{0, i - 1, i, i + 1, s.d - 1} {
					m := s.matrix()
					if lo, hi := m.Columns(i); j < lo || j >= hi {
						continue
					}
					if m.Set(i, j, v); NewLU(m).Factorize(2, m) {
						t.Fatalf("%v: factors with %g at (%d, %d)", s, v, i, j)
					}
					if NewComplexLU(m).Factorize(2, 1, m) {
						t.Fatalf("%v: complex factors with %g at (%d, %d)", s, v, i, j)
					}
				}
			}
		}
	}
}
