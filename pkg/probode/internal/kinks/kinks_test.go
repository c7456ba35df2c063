package kinks

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func at(m *Model, d []float64) float64 {
	x := mat.NewVecDense(len(d), d)
	f := mat.Inner(x, m.H, x) / 2
	for i, v := range d {
		f += m.G[i] * v
	}
	for i, u := range m.U {
		for j, v := range m.J[i] {
			u += v * d[j]
		}
		f += math.Abs(u)
	}
	return f
}

// With H next to nothing and no g it is a least absolute deviation, of one coordinate
// the weighted median, which sorting gives.
func TestWeightedMedian(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 2*r.IntN(20) + 1
		type point struct{ y, w float64 }
		var list []point
		m := &Model{H: mat.NewSymDense(1, []float64{1e-9}), G: []float64{0}}
		var total float64
		for range n {
			p := point{r.NormFloat64(), 0.1 + r.Float64()}
			list = append(list, p)
			total += p.w
			m.U, m.J = append(m.U, p.w*p.y), append(m.J, []float64{-p.w})
		}
		slices.SortFunc(list, func(a, b point) int {
			if a.y < b.y {
				return -1
			}
			return 1
		})
		sum, want := 0.0, 0.0
		for _, p := range list {
			if sum += p.w; sum >= total/2 {
				want = p.y
				break
			}
		}
		got, ok := m.Minimise()
		// H moves no vertex but where the weights nearly balance; products of 1e-13
		// with multipliers no nearer to their ends than 1e-3 leave 1e-10.
		if !ok || math.Abs(got.D[0]-want) > 1e-8 {
			t.Fatalf("%d points: %v, want %v", n, got.D[0], want)
		}
	}
}

// The minimum has the conditions of optimality, whatever is degenerate or at a bound.
func TestConditions(t *testing.T) {
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
		m := &Model{H: h, G: make([]float64, n)}
		for i := range n {
			m.G[i] = r.NormFloat64() / 10
			if try%2 == 1 {
				m.Lower, m.Upper = append(m.Lower, -r.ExpFloat64()), append(m.Upper, r.ExpFloat64())
				if i == 0 {
					m.Lower[0] = 0
				} else if i == 1 {
					m.Upper[1] = math.Inf(1)
				}
			}
		}
		for i := range k {
			row := make([]float64, n)
			for j := range row {
				row[j] = r.NormFloat64()
			}
			u := 3 * r.NormFloat64()
			if i%3 == 2 { // kinks that are the same, and more than n through one point
				u, row = m.U[i-1], m.J[i-1]
			} else if try%4 < 2 {
				u = 0
				for j := range row {
					u -= row[j] * 0.3
				}
			}
			m.U, m.J = append(m.U, u), append(m.J, row)
		}
		got, ok := m.Minimise()
		if !ok {
			t.Fatalf("%d: failed", try)
		}
		if f := at(m, make([]float64, n)) - at(m, got.D); math.Abs(f-got.Gain) > 1e-9*(1+math.Abs(f)) || got.Gain < -1e-9 {
			t.Errorf("%d: gain %v: want %v", try, got.Gain, f)
		}
		rest := mat.NewVecDense(n, nil)
		rest.MulVec(h, mat.NewVecDense(n, got.D))
		for i, row := range m.J {
			u := m.U[i]
			for j, v := range row {
				rest.SetVec(j, rest.AtVec(j)+got.Lambda[i]*v)
				u += v * got.D[j]
			}
			// Products of variables are 1e-13: of both no more than their root is left.
			if l := got.Lambda[i]; math.Abs(l) > 1+1e-12 || min(math.Abs(u), 1-l*math.Copysign(1, u)) > 1e-6 {
				t.Errorf("%d: λ = %v at u = %v", try, l, u)
			}
		}
		for j := range n {
			v := m.G[j] + rest.AtVec(j)
			b := m.bounds(j)
			low, high := got.D[j]-b[0] < 1e-6, b[1]-got.D[j] < 1e-6
			if got.D[j] < b[0] || got.D[j] > b[1] || v > 1e-6 && !low || v < -1e-6 && !high {
				t.Errorf("%d: derivative %v at %v within %v", try, v, got.D[j], b)
			}
		}
	}
}
