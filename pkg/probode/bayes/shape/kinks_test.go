package shape

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// One coordinate with next to no curvature and no gradient: the minimum is the weighted
// median, which sorting gives.
func TestWeightedMedian(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 2*r.IntN(20) + 1
		type point struct{ y, w float64 }
		var list []point
		p := &Point{X: []float64{0}, Gradient: mat.NewVecDense(1, nil), Curvature: mat.NewSymDense(1, []float64{1e-9}), Information: mat.NewSymDense(1, nil)}
		var total float64
		for range n {
			q := point{r.NormFloat64(), 0.1 + r.Float64()}
			list = append(list, q)
			total += q.w
			p.U, p.J = append(p.U, q.w*q.y), append(p.J, []float64{-q.w})
		}
		slices.SortFunc(list, func(a, b point) int {
			if a.y < b.y {
				return -1
			}
			return 1
		})
		sum, want := 0.0, 0.0
		for _, q := range list {
			if sum += q.w; sum >= total/2 {
				want = q.y
				break
			}
		}
		got, _, ok := p.bentStep(0, []float64{math.Inf(-1)}, []float64{math.Inf(1)})
		// The curvature moves no vertex unless the weights nearly balance.
		if !ok || math.Abs(got[0]-want) > 1e-6 {
			t.Fatalf("%d points: %v, want %v", n, got[0], want)
		}
	}
}

// The step ends at the minimum of the convex approximation, however degenerate: with kinks
// that coincide, and with more kinks through one point than there are coordinates. No
// other point within the walls is lower, near or far.
func TestStepIsMinimum(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for try := range 2000 {
		n, k := 1+r.IntN(6), r.IntN(30)
		root := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				root.Set(i, j, r.NormFloat64())
			}
		}
		h := mat.NewSymDense(n, nil)
		h.SymOuterK(math.Pow(10, -6*r.Float64()), root)
		for i := range n {
			h.SetSym(i, i, h.At(i, i)+1e-6)
		}
		p := &Point{X: make([]float64, n), Gradient: mat.NewVecDense(n, nil), Curvature: h, Information: mat.NewSymDense(n, nil)}
		for i := range n {
			p.Gradient.SetVec(i, r.NormFloat64()/10)
		}
		for i := range k {
			row := make([]float64, n)
			for j := range row {
				row[j] = r.NormFloat64()
			}
			u := 3 * r.NormFloat64()
			if i%3 == 2 {
				u, row = p.U[i-1], p.J[i-1]
			} else if try%4 < 2 {
				u = 0
				for j := range row {
					u -= row[j] * 0.3
				}
			}
			p.U, p.J = append(p.U, u), append(p.J, row)
		}
		at := func(d []float64) float64 {
			x := mat.NewVecDense(n, d)
			f := mat.Inner(x, h, x)/2 - mat.Dot(x, p.Gradient)
			for i, u := range p.U {
				f += math.Abs(u + mat.Dot(x, mat.NewVecDense(n, p.J[i])))
			}
			return f
		}
		low, high := slices.Repeat([]float64{math.Inf(-1)}, n), slices.Repeat([]float64{math.Inf(1)}, n)
		if try%2 == 1 {
			for i := range n {
				low[i], high[i] = -r.ExpFloat64(), r.ExpFloat64()
			}
			low[0], high[n-1] = 0, math.Inf(1)
		}
		got, gain, ok := p.bentStep(0, low, high)
		if !ok {
			t.Fatalf("%d: failed", try)
		}
		for i, v := range got {
			if v < low[i] || v > high[i] {
				t.Errorf("%d: %v beyond %v or %v", try, v, low[i], high[i])
			}
		}
		f := at(got)
		if fell := at(make([]float64, n)) - f; math.Abs(fell-gain) > 1e-9*(1+math.Abs(fell)) || gain < -1e-8 {
			t.Errorf("%d: gain %v, want %v", try, gain, fell)
		}
		other := make([]float64, n)
		for m := range 200 {
			radius := math.Pow(10, -float64(m%6))
			for i := range other {
				other[i] = min(max(got[i]+radius*r.NormFloat64(), low[i]), high[i])
			}
			if lower := f - at(other); lower > 1e-7 {
				t.Errorf("%d: lower by %v at a distance of %v", try, lower, radius)
			}
		}
	}
}
