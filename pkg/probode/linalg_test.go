package probode

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestLUAgainstGonum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		d    int
		band *Band
	}{
		{1, nil}, {2, nil}, {3, nil}, {4, nil}, {7, nil}, {40, nil},
		{1, &Band{0, 0}}, {2, &Band{1, 1}}, {5, &Band{0, 0}}, {6, &Band{2, 0}}, {6, &Band{0, 3}},
		{9, &Band{1, 2}}, {30, &Band{3, 2}}, {200, &Band{4, 4}},
	} {
		for range 20 {
			j := newJacobian(c.d, c.band)
			full := mat.NewDense(c.d, c.d, nil)
			shift := rng.NormFloat64()
			for i := range j.a { // what stands outside of the matrix must not matter
				j.a[i] = math.NaN()
			}
			for r := range c.d {
				for q := max(0, r-j.low); q <= min(c.d-1, r+j.up); q++ {
					v := rng.NormFloat64()
					j.set(r, q, v)
					full.Set(r, q, -v)
				}
				full.Set(r, r, full.At(r, r)+shift)
			}
			f := newLU(j)
			if !f.factorize(shift, j) {
				t.Fatalf("d = %d, band %v: singular", c.d, c.band)
			}
			x := mat.NewVecDense(c.d, nil)
			for i := range c.d {
				x.SetVec(i, rng.NormFloat64())
			}
			var b mat.VecDense
			b.MulVec(full, x)
			got := b.RawVector().Data
			f.solve(got)
			// The error of a stable elimination is a modest multiple of the
			// condition number times rounding.
			tol := 1e-13 * float64(c.d) * mat.Cond(full, 2)
			for i := range got {
				if math.Abs(got[i]-x.AtVec(i)) > tol {
					t.Errorf("d = %d, band %v: x[%d] is %v, want %v (within %.1e)", c.d, c.band, i, got[i], x.AtVec(i), tol)
				}
			}
			prod := make([]float64, c.d)
			j.addMul(prod, -1, x.RawVector().Data)
			for i := range prod {
				prod[i] += shift * x.AtVec(i)
			}
			b.MulVec(full, x)
			for i := range prod {
				if math.Abs(prod[i]-b.AtVec(i)) > 1e-12*float64(c.d) {
					t.Errorf("d = %d, band %v: product[%d] is %v, want %v", c.d, c.band, i, prod[i], b.AtVec(i))
				}
			}
		}
	}
}

func TestLUSingular(t *testing.T) {
	for _, c := range []struct {
		d    int
		band *Band
	}{{1, nil}, {2, nil}, {3, nil}, {5, nil}, {5, &Band{1, 1}}} {
		j := newJacobian(c.d, c.band)
		for i := range c.d {
			j.set(i, i, 2)
		}
		f := newLU(j)
		if f.factorize(2, j) {
			t.Errorf("d = %d, band %v: 2I − 2I is not reported as singular", c.d, c.band)
		}
		j.set(0, 0, math.NaN())
		if f.factorize(2, j) {
			t.Errorf("d = %d, band %v: NaN is not reported", c.d, c.band)
		}
	}
}
