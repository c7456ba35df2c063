package steplaw

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/probode/probode/pkg/probode/linalg"
	"gonum.org/v1/gonum/mat"
)

// The determinant is that of gonum, and the ratio is that of a matrix far
// from singular.
func TestEliminationLogDet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, make := range []func() *linalg.Matrix{
		func() *linalg.Matrix { return linalg.NewDense(1) }, func() *linalg.Matrix { return linalg.NewDense(2) }, func() *linalg.Matrix { return linalg.NewDense(3) },
		func() *linalg.Matrix { return linalg.NewDense(7) }, func() *linalg.Matrix { return linalg.NewBanded(2, 1, 1) }, func() *linalg.Matrix { return linalg.NewBanded(6, 2, 0) },
		func() *linalg.Matrix { return linalg.NewBanded(6, 0, 3) }, func() *linalg.Matrix { return linalg.NewBanded(30, 3, 2) },
	} {
		j := make()
		s := newElimination(j)
		for range 20 {
			full := mat.NewDense(j.D, j.D, nil)
			for i := range j.A { // what stands outside of the matrix must not matter
				j.A[i] = math.NaN()
			}
			shift := rng.NormFloat64()
			for i := range j.D {
				lo, hi := j.Columns(i)
				for k := lo; k < hi; k++ {
					v := rng.NormFloat64()
					j.Set(i, k, v)
					full.Set(i, k, -v)
				}
				full.Set(i, i, full.At(i, i)+shift)
			}
			want, _ := mat.LogDet(full)
			// Both lose the condition number times rounding.
			if !s.eliminate(shift, j) || !(math.Abs(s.logDet-want) <= 1e-13*float64(j.D)*mat.Cond(full, 2)) {
				t.Errorf("d = %d, band (%d, %d): log determinant %g: want %g", j.D, j.Lower, j.Upper, s.logDet, want)
			}
			// A pivot that is δ of its terms makes ‖G⁻¹‖ at least of the size of
			// 1/δ, but for growth factors.
			if r := s.least; !(r > 1e-3/mat.Cond(full, 2) && r <= 1) {
				t.Errorf("d = %d, band (%d, %d): ratio %g at a condition number of %g", j.D, j.Lower, j.Upper, r, mat.Cond(full, 2))
			}
		}
	}
}

// Rows whose sum is zero but for rounding, in units that differ by 10²⁴, have
// a ratio of the size of rounding; without the zero sum the same units have
// one far above it.
func TestEliminationCancellation(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, band := range []bool{false, true} {
		for _, d := range []int{2, 3, 6} {
			for _, singular := range []bool{true, false} {
				j := linalg.NewDense(d)
				if band {
					j = linalg.NewBanded(d, d-1, 1)
				}
				for k := range d { // column k
					var sum float64
					for i := range d {
						if lo, hi := j.Columns(i); k < lo || k >= hi || i == d-1 {
							continue
						}
						v := 1 + rng.Float64()
						if i == k {
							v = -7 * v
						}
						j.Set(i, k, v)
						sum += v
					}
					if j.Set(d-1, k, -sum); !singular {
						j.Set(d-1, k, float64(1+k)*sum)
					}
				}
				unit := func(i int) float64 { return math.Pow(10, float64(24*i)/float64(d-1)) }
				for i := range d {
					for k, hi := j.Columns(i); k < hi; k++ {
						j.Set(i, k, j.At(i, k)*unit(i)/unit(k))
					}
				}
				s := newElimination(j)
				ok := s.eliminate(0, j)
				if r := s.least; singular && !(r < 1e-14) || !singular && !(ok && r > 1e-6) {
					t.Errorf("d = %d, band %v, singular %v: ratio %g", d, band, singular, r)
				}
			}
		}
	}
	zero := linalg.NewDense(3)
	if s := newElimination(zero); s.eliminate(0, zero) || s.least != 0 {
		t.Error("a matrix of zeros has pivots")
	}
}
