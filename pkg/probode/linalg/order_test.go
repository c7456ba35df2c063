package linalg

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// The first states of the network react with all others, so elimination in the given order
// fills the whole matrix. In an order of minimum degree nothing is filled in but the block
// of the hubs. The solutions are those of dense elimination, and do not depend on what was
// factorised before.
func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, hubs := range []int{1, 3} {
		for _, d := range []int{65, 200} {
			j := NewDense(d)
			for i := range d {
				for k := range hubs {
					j.Set(i, k, rng.NormFloat64())
					j.Set(k, i, rng.NormFloat64())
				}
				j.Set(i, i, -float64(d))
			}
			f, g, other := NewLU(j), NewLU(j), NewLU(j)
			if !other.Factorize(1, NewDense(d)) || !f.Factorize(1, j) || !other.Factorize(1, j) || !g.factorizeDense(1, j) {
				t.Fatal("singular")
			}
			filled := 0
			for _, v := range f.rows {
				filled += bits.OnesCount64(v)
			}
			if most := d + 2*hubs*d; filled > most {
				t.Errorf("d = %d, %d hubs: the factors have %d elements, want at most %d", d, hubs, filled, most)
			}
			x := normals(d, rng)
			y, z := append([]float64(nil), x...), append([]float64(nil), x...)
			f.Solve(x)
			g.Solve(y)
			other.Solve(z)
			for i, v := range x {
				if !(math.Abs(v-y[i]) <= 1e-13*maxAbs(y)) || v != z[i] {
					t.Fatalf("d = %d: x[%d] is %v, want %v, and %v after another matrix", d, i, v, y[i], z[i])
				}
			}
			testPairs(t, j, rng)
		}
	}
}

// The complex equations of a large sparse matrix are real ones of twice the dimension.
func testPairs(t *testing.T, j *Matrix, rng *rand.Rand) {
	d, f := j.D, NewComplexLU(j)
	if !f.Factorize(1, 2, j) {
		t.Fatal("singular")
	}
	if d == 200 && !f.sparse {
		t.Errorf("d = %d: the matrix is solved as a dense one", d)
	}
	re, im := normals(d, rng), normals(d, rng)
	x, y := append([]float64(nil), re...), append([]float64(nil), im...)
	f.Solve(x, y)
	for i := range d {
		r, s := x[i]-2*y[i]-re[i], y[i]+2*x[i]-im[i]
		for k, v := range j.A[i*d : (i+1)*d] {
			r -= v * x[k]
			s -= v * y[k]
		}
		if !(math.Abs(r)+math.Abs(s) <= 1e-11) {
			t.Fatalf("d = %d: the residual of row %d is %g + %gi", d, i, r, s)
		}
	}
}
