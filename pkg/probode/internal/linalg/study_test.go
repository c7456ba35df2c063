package linalg_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	. "github.com/probode/probode/pkg/probode/internal/linalg"
)

// The determinant is that of gonum, and the ratio is that of a matrix far
// from singular.
func TestStudyLogDet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, make := range []func() *Matrix{
		func() *Matrix { return NewDense(1) }, func() *Matrix { return NewDense(2) }, func() *Matrix { return NewDense(3) },
		func() *Matrix { return NewDense(7) }, func() *Matrix { return NewBanded(2, 1, 1) }, func() *Matrix { return NewBanded(6, 2, 0) },
		func() *Matrix { return NewBanded(6, 0, 3) }, func() *Matrix { return NewBanded(30, 3, 2) },
	} {
		j := make()
		s := NewStudy(j)
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
			if !s.Eliminate(shift, j) || !(math.Abs(s.LogDet()-want) <= 1e-13*float64(j.D)*mat.Cond(full, 2)) {
				t.Errorf("d = %d, band (%d, %d): log determinant %g: want %g", j.D, j.Lower, j.Upper, s.LogDet(), want)
			}
			// A pivot that is δ of its terms makes ‖G⁻¹‖ at least of the size of
			// 1/δ, but for growth factors.
			if r := s.Cancellation(); !(r > 1e-3/mat.Cond(full, 2) && r <= 1) {
				t.Errorf("d = %d, band (%d, %d): ratio %g at a condition number of %g", j.D, j.Lower, j.Upper, r, mat.Cond(full, 2))
			}
		}
	}
}

// Rows whose sum is zero but for rounding, in units that differ by 10²⁴, have
// a ratio of the size of rounding; without the zero sum the same units have
// one far above it.
func TestStudyCancellation(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, band := range []bool{false, true} {
		for _, d := range []int{2, 3, 6} {
			for _, singular := range []bool{true, false} {
				j := NewDense(d)
				if band {
					j = NewBanded(d, d-1, 1)
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
				s := NewStudy(j)
				ok := s.Eliminate(0, j)
				if r := s.Cancellation(); singular && !(r < 1e-14) || !singular && !(ok && r > 1e-6) {
					t.Errorf("d = %d, band %v, singular %v: ratio %g", d, band, singular, r)
				}
			}
		}
	}
	zero := NewDense(3)
	if s := NewStudy(zero); s.Eliminate(0, zero) || s.Cancellation() != 0 {
		t.Error("a matrix of zeros has pivots")
	}
}
