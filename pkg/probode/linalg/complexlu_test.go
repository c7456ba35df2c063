package linalg

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestComplex(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, s := range shapes() {
		for n := range max(3, 20/s.d) {
			j, full := random(s, []float64{0, 0.5, 0.9}[n%3], rng)
			re, im := rng.NormFloat64(), 2*rng.NormFloat64()
			f := NewComplexLU(j)
			if !f.Factorize(re, im, j) {
				t.Fatalf("%v: singular", s)
			}
			x, y := normals(s.d, rng), normals(s.d, rng)
			bx, by := append([]float64(nil), x...), append([]float64(nil), y...)
			f.Solve(x, y)
			c := complex(re, im)
			for i := range s.d {
				sum, size := c*complex(x[i], y[i])-complex(bx[i], by[i]), 1.
				for k := range s.d {
					v := complex(full.At(i, k), 0) * complex(x[k], y[k])
					sum -= v
					size += cmplx.Abs(v)
				}
				size = (size + cmplx.Abs(c*complex(x[i], y[i]))) * float64(s.d) * (1 + maxAbs(x) + maxAbs(y))
				if !(cmplx.Abs(sum) <= 1e-14*size) {
					t.Errorf("%v: residual %g in row %d, want at most %g", s, cmplx.Abs(sum), i, 1e-14*size)
				}
			}
		}
	}
}

// A real shift gives the complex solution the real one's digits.
func TestComplexWithRealShift(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, s := range shapes() {
		j, full := random(s, 0, rng)
		c := rng.NormFloat64()
		f, z := NewLU(j), NewComplexLU(j)
		if !f.Factorize(c, j) || !z.Factorize(c, 0, j) {
			t.Fatalf("%v: singular", s)
		}
		b := normals(s.d, rng)
		re, im := append([]float64(nil), b...), make([]float64, s.d)
		f.Solve(b)
		z.Solve(re, im)
		tol := 1e-14 * float64(s.d) * mat.Cond(shifted(c, full), 2) * maxAbs(b)
		for i := range b {
			if !(math.Abs(b[i]-re[i]) <= tol) || im[i] != 0 {
				t.Errorf("%v: x[%d] is %v and %v + %vi", s, i, b[i], re[i], im[i])
			}
		}
	}
}
