package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// A shape is that of a test matrix; low < 0 stands for a dense one.
type shape struct{ d, low, up int }

func (s shape) String() string {
	if s.low < 0 {
		return fmt.Sprintf("d=%d", s.d)
	}
	return fmt.Sprintf("d=%d band (%d, %d)", s.d, s.low, s.up)
}

func (s shape) matrix() *Matrix {
	if s.low < 0 {
		return NewDense(s.d)
	}
	return NewBanded(s.d, s.low, s.up)
}

func shapes() []shape {
	all := []shape{{40, -1, 0}, {41, -1, 0}, {70, -1, 0}, {130, -1, 0}, {200, 2, 2}, {200, 4, 4}, {30, 3, 2}, {30, 1, 5}, {9, 8, 8}}
	for d := 1; d <= 11; d++ {
		all = append(all, shape{d, -1, 0})
		for low := range min(d, 4) {
			for up := range min(d, 4) {
				all = append(all, shape{d, low, up})
			}
		}
	}
	return all
}

// random returns a matrix of the shape with normal elements, of which the
// given share is zero, and the same as a dense one of gonum. What lies in the
// corners of a band's storage is not a number.
func random(s shape, zeros float64, rng *rand.Rand) (*Matrix, *mat.Dense) {
	m, full := s.matrix(), mat.NewDense(s.d, s.d, nil)
	for i := range m.A {
		m.A[i] = math.NaN()
	}
	for i := range s.d {
		for j := max(0, i-m.Lower); j <= min(s.d-1, i+m.Upper); j++ {
			v := 0.
			if i == j || rng.Float64() >= zeros {
				v = rng.NormFloat64()
			}
			m.Set(i, j, v)
			full.Set(i, j, v)
		}
	}
	return m, full
}

func shifted(c float64, full *mat.Dense) *mat.Dense {
	d, _ := full.Dims()
	g := mat.NewDense(d, d, nil)
	g.Scale(-1, full)
	for i := range d {
		g.Set(i, i, g.At(i, i)+c)
	}
	return g
}

func normals(n int, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

func maxAbs(x []float64) (m float64) {
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// Elimination with partial pivoting leaves a residual of a modest multiple of
// ε‖A‖‖x‖. The direct paths give up 7 bits at most. The limit is the larger of
// the two for matrices whose growth of elements is small, as random ones'.
func TestResidual(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range shapes() {
		for n := range max(4, 200/s.d) {
			j, full := random(s, []float64{0, 0.5, 0.8, 0.97}[n%4], rng)
			c := 3 * rng.NormFloat64()
			g := shifted(c, full)
			f := NewLU(j)
			if !f.Factorize(c, j) {
				if math.Abs(mat.Det(g)) > 1e-9 {
					t.Fatalf("%v: called singular, with the determinant %g", s, mat.Det(g))
				}
				continue
			}
			b := normals(s.d, rng)
			x := append([]float64(nil), b...)
			f.Solve(x)
			var back mat.VecDense
			back.MulVec(g, mat.NewVecDense(s.d, append([]float64(nil), x...)))
			for i := range b {
				back.SetVec(i, back.AtVec(i)-b[i])
			}
			scale := float64(s.d) * mat.Norm(g, math.Inf(1)) * maxAbs(x)
			if s.low < 0 && s.d < 5 {
				// An inverse leaves a residual that is larger by its condition.
				scale *= mat.Cond(g, 2)
			}
			if r := maxAbs(back.RawVector().Data); !(r <= 1e-14*scale) {
				t.Errorf("%v: residual %g, want at most %g", s, r, 1e-14*scale)
			}
			y := normals(s.d, rng)
			got := append([]float64(nil), y...)
			j.AddMul(got, c, x)
			back.MulVec(full, mat.NewVecDense(s.d, x))
			for i := range got {
				want := y[i] + c*back.AtVec(i)
				if !(math.Abs(got[i]-want) <= 1e-14*float64(s.d)*(1+math.Abs(c)*maxAbs(x)*4)) {
					t.Errorf("%v: y + cJx is %v in row %d, want %v", s, got[i], i, want)
				}
			}
		}
	}
}

// What three and four dimensions lose against elimination is bounded where a
// determinant cancels: x is compared with the solution in twice the digits,
// obtained by refinement with residuals from fused products.
func TestSmallCancellation(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var direct, eliminated int
	for _, d := range []int{3, 4} {
		for range 20000 {
			j := NewDense(d)
			// Rows of very different sizes, as of reaction rates, and a sum of
			// rows that is nearly conserved.
			for i := range d {
				size := math.Exp(8 * rng.NormFloat64())
				for k := range d {
					j.Set(i, k, size*rng.NormFloat64())
				}
			}
			if rng.IntN(2) == 0 {
				for k := range d {
					var sum float64
					for i := range d - 1 {
						sum += j.At(i, k)
					}
					j.Set(d-1, k, -sum)
				}
			}
			c := math.Exp(8 * rng.NormFloat64())
			f, plain := NewLU(j), NewLU(j)
			if !f.Factorize(c, j) || !plain.factorizeDense(c, j) {
				continue
			}
			if f.direct {
				direct++
			} else {
				eliminated++
			}
			b := normals(d, rng)
			exact := append([]float64(nil), b...)
			plain.direct = false
			plain.Solve(exact)
			got, byRows := append([]float64(nil), b...), append([]float64(nil), exact...)
			f.Solve(got)
			settled := false
			for range 30 {
				r := residual(c, j, exact, b)
				plain.Solve(r)
				for i := range exact {
					exact[i] += r[i]
				}
				if settled = maxAbs(r) <= 1e-15*maxAbs(exact); settled {
					break
				}
			}
			if !settled {
				continue // too close to singular for either
			}
			errDirect, errRows := 0., 0.
			for i := range exact {
				errDirect = max(errDirect, math.Abs(got[i]-exact[i]))
				errRows = max(errRows, math.Abs(byRows[i]-exact[i]))
			}
			// 2⁷ is what may be lost; a bound relative to the largest component
			// of x also holds for elimination where that loses nothing.
			if limit := 128*errRows + 4e-14*maxAbs(exact); errDirect > limit {
				t.Errorf("d = %d, c = %g, J = %v: error %g, elimination %g, largest component %g", d, c, j.A, errDirect, errRows, maxAbs(exact))
			}
		}
	}
	if direct < 5000 || eliminated < 1000 {
		t.Errorf("%d direct and %d eliminated: both paths should be tried", direct, eliminated)
	}
}

// residual returns b − (cI − J)x with products exact to twice the digits.
func residual(c float64, j *Matrix, x, b []float64) []float64 {
	r := make([]float64, len(b))
	for i := range b {
		hi, lo := b[i], 0.
		add := func(v float64) {
			s := hi + v
			w := s - hi
			lo += (hi - (s - w)) + (v - w)
			hi = s
		}
		product := func(a, v float64) {
			p := a * v
			add(p)
			lo += math.FMA(a, v, -p)
		}
		product(-c, x[i])
		for k := range x {
			product(j.At(i, k), x[k])
		}
		r[i] = hi + lo
	}
	return r
}

// What is known to be zero is left out, and nothing else changes, except that the rows of
// large matrices are eliminated in another order.
func TestSparseIsDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	sparse := 0
	for _, d := range []int{5, 8, 40, 63, 64, 65, 70, 130} {
		for n := range 40 {
			j, _ := random(shape{d, -1, 0}, 1-float64(n%10+1)/float64(2*d), rng)
			c := 0.3 * rng.NormFloat64() // small: rows are exchanged
			f, g := NewLU(j), NewLU(j)
			ok := g.factorizeDense(c, j)
			if f.Factorize(c, j) != ok {
				t.Fatalf("d = %d: one says that the matrix is singular", d)
			}
			if !ok || !f.sparse {
				continue
			}
			sparse++
			for i, v := range g.a {
				if f.order == nil && f.a[i] != v {
					t.Fatalf("d = %d: factor (%d, %d) is %v, want %v", d, i/d, i%d, f.a[i], v)
				}
			}
			x := normals(d, rng)
			y := append([]float64(nil), x...)
			f.Solve(x)
			g.Solve(y)
			for i := range x {
				if !(math.Abs(x[i]-y[i]) <= 1e-9*maxAbs(y)) {
					t.Fatalf("d = %d: x[%d] is %v, want %v", d, i, x[i], y[i])
				}
			}
		}
	}
	if sparse < 100 {
		t.Errorf("%d sparse matrices: want more", sparse)
	}
}

// The elimination of the last matrix is repeated if the pattern and the pivots are the same,
// and nothing depends on it: the factors and solutions are those of a new LU, bit for bit.
func TestRepeatedElimination(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	repeated, again := 0, 0
	for _, d := range []int{5, 12, 40, 64, 70, 130} {
		j, _ := random(shape{d, -1, 0}, 1-1.5/float64(d), rng)
		full, _ := random(shape{d, -1, 0}, 0, rng)
		f, zero := NewLU(j), 0
		for n := range 60 {
			switch at := rng.IntN(d * d); {
			case n%10 == 3: // another pattern
				j.A[at] = rng.NormFloat64()
			case n%10 == 5:
				j.A[zero] = 0
			case n%10 == 7: // no pattern
				f.Factorize(1, full)
			default:
				for i, v := range j.A {
					if j.A[i] = v * (1 + 0.03*rng.NormFloat64()); v != 0 {
						zero = i
					}
				}
			}
			known := f.known
			g := NewLU(j)
			ok := g.Factorize(0.3, j)
			if f.Factorize(0.3, j) != ok || f.sparse != g.sparse {
				t.Fatalf("d = %d, matrix %d: one LU says that it is singular or not sparse", d, n)
			}
			if !ok {
				continue
			}
			if known && f.sparse {
				if repeated++; !f.known {
					again++
				}
			}
			x := normals(d, rng)
			y := append([]float64(nil), x...)
			f.Solve(x)
			g.Solve(y)
			if !slices.Equal(f.a, g.a) || !slices.Equal(f.piv, g.piv) || !slices.Equal(x, y) {
				t.Fatalf("d = %d, matrix %d: the factors or the solutions differ", d, n)
			}
		}
	}
	if repeated < 100 || again < 10 {
		t.Errorf("%d eliminations are repeated, %d of them with another pivot: want more", repeated, again)
	}
}

// Four columns at a time give the factors of the textbook, bit for bit.
func TestDenseIsTextbook(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	for d := 1; d <= 13; d++ {
		for n := range 40 {
			j, _ := random(shape{d, -1, 0}, float64(n%4)/4, rng)
			const c = 0.3
			f := NewLU(j)
			ok := f.factorizeDense(c, j)
			a, piv := textbook(c, j)
			if ok != (a != nil) || ok && (!slices.Equal(f.a, a) || !slices.Equal(f.piv, piv)) {
				t.Fatalf("d = %d, matrix %d: the factors are %v, want %v", d, n, f.a, a)
			}
		}
	}
}

// textbook returns nil for a singular matrix.
func textbook(c float64, j *Matrix) (a []float64, piv []int) {
	d := j.D
	for i, v := range j.A {
		if a = append(a, -v); i%(d+1) == 0 {
			a[i] += c
		}
	}
	for k := range d {
		p := k
		for i := k + 1; i < d; i++ {
			if math.Abs(a[i*d+k]) > math.Abs(a[p*d+k]) {
				p = i
			}
		}
		if piv = append(piv, p); a[p*d+k] == 0 {
			return nil, nil
		}
		for q := range d {
			a[k*d+q], a[p*d+q] = a[p*d+q], a[k*d+q]
		}
		a[k*d+k] = 1 / a[k*d+k]
		for i := k + 1; i < d; i++ {
			a[i*d+k] *= a[k*d+k]
			for q := k + 1; q < d; q++ {
				a[i*d+q] -= a[i*d+k] * a[k*d+q]
			}
		}
	}
	return a, piv
}

// Two dimensions keep their arithmetic: results that have been published
// depend on its last bits.
func TestTwoDimensionsBitForBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	j := NewDense(2)
	f := NewLU(j)
	for range 1000 {
		copy(j.A, normals(4, rng))
		c, x := 5*rng.NormFloat64(), normals(2, rng)
		a, b := c-j.A[0], -j.A[1]
		p, q := -j.A[2], c-j.A[3]
		inv := 1 / (a*q - b*p)
		want := [2]float64{(q*inv)*x[0] + (-b*inv)*x[1], (-p*inv)*x[0] + (a*inv)*x[1]}
		if !f.Factorize(c, j) {
			t.Fatal("singular")
		}
		f.Solve(x)
		if want != [2]float64(x) {
			t.Fatalf("got %v, want %v", x, want)
		}
	}
}

func TestSingular(t *testing.T) {
	for _, s := range shapes() {
		j := s.matrix()
		for i := range s.d {
			j.Set(i, i, 2)
		}
		f, z := NewLU(j), NewComplexLU(j)
		if f.Factorize(2, j) || z.Factorize(2, 0, j) {
			t.Errorf("%v: 2I − 2I is not reported as singular", s)
		}
		for _, bad := range []float64{math.NaN(), math.Inf(1)} {
			for i := range s.d {
				for q := max(0, i-j.Lower); q <= i; q += 1 + s.d/20 {
					old := j.At(i, q)
					j.Set(i, q, bad)
					if f.Factorize(1, j) || z.Factorize(1, 1, j) {
						t.Errorf("%v: %g at (%d, %d) is not reported", s, bad, i, q)
					}
					j.Set(i, q, old)
				}
			}
		}
		if !f.Factorize(1, j) || !z.Factorize(1, 1, j) {
			t.Errorf("%v: I − 2I is called singular", s)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, s := range []shape{{3, -1, 0}, {4, -1, 0}, {40, -1, 0}, {50, 2, 2}, {50, 3, 1}} {
		j, _ := random(s, 0.5, rng)
		f, z := NewLU(j), NewComplexLU(j)
		x, y := normals(s.d, rng), normals(s.d, rng)
		if n := testing.AllocsPerRun(20, func() {
			f.Factorize(3, j)
			f.Solve(x)
			j.AddMul(y, 0.1, x)
			z.Factorize(3, 1, j)
			z.Solve(x, y)
		}); n != 0 {
			t.Errorf("%v: %v allocations", s, n)
		}
	}
}

func TestPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"NewDense(0)":        func() { NewDense(0) },
		"NewBanded(3, 3, 0)": func() { NewBanded(3, 3, 0) },
		"Set":                func() { NewBanded(4, 1, 1).Set(0, 2, 1) },
		"Factorize":          func() { NewLU(NewDense(3)).Factorize(1, NewDense(4)) },
		"complex Factorize":  func() { NewComplexLU(NewDense(3)).Factorize(1, 0, NewBanded(3, 2, 2)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", name)
				}
			}()
			f()
		}()
	}
}

// BenchmarkSolve is one product, factorisation and solve. "full" has no zeros;
// Lorenz's Jacobian has four elements a row.
func BenchmarkSolve(b *testing.B) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, c := range []struct {
		name  string
		s     shape
		zeros float64
	}{
		{"d=1", shape{1, -1, 0}, 0}, {"d=2", shape{2, -1, 0}, 0}, {"d=3", shape{3, -1, 0}, 0},
		{"d=4", shape{4, -1, 0}, 0}, {"d=5", shape{5, -1, 0}, 0}, {"d=40/lorenz", shape{40, -1, 0}, 1}, {"d=40/full", shape{40, -1, 0}, 0},
		{"d=200/1,1", shape{200, 1, 1}, 0}, {"d=200/2,2", shape{200, 2, 2}, 0}, {"d=200/4,4", shape{200, 4, 4}, 0},
	} {
		j, _ := random(c.s, c.zeros, rng)
		if c.zeros == 1 {
			for i := range c.s.d {
				for _, k := range []int{1, -1, -2} {
					j.Set(i, (i+k+c.s.d)%c.s.d, rng.NormFloat64())
				}
			}
		}
		x, y := normals(c.s.d, rng), make([]float64, c.s.d)
		b.Run(c.name+"/real", func(b *testing.B) {
			f := NewLU(j)
			for b.Loop() {
				copy(y, x)
				j.AddMul(y, 0.1, x)
				if !f.Factorize(20, j) {
					b.Fatal("singular")
				}
				f.Solve(y)
			}
		})
		b.Run(c.name+"/complex", func(b *testing.B) {
			f, z := NewComplexLU(j), make([]float64, c.s.d)
			for b.Loop() {
				copy(y, x)
				if !f.Factorize(20, 10, j) {
					b.Fatal("singular")
				}
				f.Solve(y, z)
			}
		})
	}
}
