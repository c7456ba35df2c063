package moments

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Far from zero, where the difference of mean squares would lose all digits, and
// however the vectors are split.
func TestAgainstGonum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n, d, far = 1000, 3, 1e8
	x := mat.NewDense(n, d, nil)
	for i := range n {
		for k := range d {
			x.Set(i, k, far+float64(k+1)*rng.NormFloat64())
		}
	}
	var cov mat.SymDense
	stat.CovarianceMatrix(&cov, x, nil)
	matrix := NewMatrix(d)
	for i := range n {
		matrix.Add(x.RawRowView(i))
	}
	for _, parts := range []int{1, 2, 7, n} {
		total := NewVector(d)
		for p := range parts {
			part := NewVector(d)
			for i := p * n / parts; i < (p+1)*n/parts; i++ {
				part.Add(x.RawRowView(i))
			}
			total.Merge(&part)
		}
		empty := NewVector(d)
		total.Merge(&empty)
		sd := total.SD()
		for k := range d {
			mean := stat.Mean(mat.Col(nil, k, x), nil)
			// A mean near 1e8 is known to 1e-8, and deviations of 1 from it.
			if total.N != n || math.Abs(total.Mean[k]-mean) > 1e-7 || math.Abs(sd[k]/math.Sqrt(cov.At(k, k))-1) > 1e-7 {
				t.Errorf("%d parts, element %d: %d, %v, %v; want %d, %v, %v", parts, k, total.N, total.Mean[k], sd[k], n, mean, math.Sqrt(cov.At(k, k)))
			}
			for j := range d {
				if got := matrix.Scatter[k*d+j] / (n - 1); math.Abs(got-cov.At(k, j)) > 1e-6 {
					t.Errorf("covariance %d, %d is %v, want %v", k, j, got, cov.At(k, j))
				}
			}
		}
	}
	matrix.Clear()
	if matrix.N != 0 || matrix.Mean[1] != 0 || matrix.Scatter[1] != 0 {
		t.Error("cleared moments are not empty")
	}
	one := NewVector(1)
	one.Add([]float64{3})
	if sd := one.SD(); !math.IsNaN(sd[0]) || one.Mean[0] != 3 {
		t.Errorf("of one number: mean %v, sd %v", one.Mean, sd)
	}
}

func TestAddDoesNotAllocate(t *testing.T) {
	v, m, x := NewVector(3), NewMatrix(3), []float64{1, 2, 3}
	if n := testing.AllocsPerRun(100, func() { v.Add(x); m.Add(x) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
