package methods

import (
	"fmt"
	"sync"

	"gonum.org/v1/gonum/mat"
)

// A collocation holds the coefficients of an implicit Runge–Kutta method that
// collocates at the nodes c. With zᵢ = Yᵢ − x the equations of the stages are
//
//	zᵢ = h Σⱼ aᵢⱼ f(t + cⱼh, x + zⱼ),   x₁ = x + Σᵢ dᵢ zᵢ,   d = bᵀA⁻¹
//
// [HW96, §IV.8]. Unlike a formula for x₁ that contains f, this one does not amplify
// errors of z in proportion to the stiffness.
type collocation struct {
	stages int
	a      [][]float64
	c, b   []float64
	d      []float64
	modes  []mode
	gamma  float64   // used in the filter of the error estimate
	e      []float64 // weights of z/h in the error estimate; the weight of f(t, x) is 1
}

// A mode is an eigenvalue λ of A⁻¹ with its left and right eigenvectors, scaled so that
// lᵀr = 1. The matrix of the stage equations, I − hA⊗J, is block diagonal in these
// modes, with a block (λ/h) I − J for each λ. One mode of a conjugate pair is enough.
type mode struct {
	re, im      float64
	left, right []complex128
}

// newCollocation returns the method with nodes c. The error estimate uses gamma; zero
// stands for the real eigenvalue.
func newCollocation(gamma float64, a [][]float64, b, c []float64) *collocation {
	n := len(c)
	k := &collocation{stages: n, a: a, b: b, c: c, gamma: gamma, d: make([]float64, n), e: make([]float64, n)}
	full := mat.NewDense(n, n, nil)
	for i := range a {
		full.SetRow(i, a[i])
	}
	var inv mat.Dense
	if err := inv.Inverse(full); err != nil {
		panic(fmt.Sprintf("methods: the matrix A of a collocation method: %v", err))
	}
	var eigen mat.Eigen
	if !eigen.Factorize(&inv, mat.EigenBoth) {
		panic("methods: the eigenvalues of A⁻¹ of a collocation method were not found")
	}
	var left, right mat.CDense
	eigen.LeftVectorsTo(&left)
	eigen.VectorsTo(&right)
	for j, v := range eigen.Values(nil) {
		if imag(v) < 0 {
			continue
		}
		m := mode{re: real(v), im: imag(v), left: make([]complex128, n), right: make([]complex128, n)}
		var dot complex128
		for i := range n {
			l := left.At(i, j)
			m.left[i], m.right[i] = complex(real(l), -imag(l)), right.At(i, j)
			dot += m.left[i] * m.right[i]
		}
		for i := range n {
			m.left[i] /= dot
		}
		if k.modes = append(k.modes, m); m.im == 0 && k.gamma == 0 {
			k.gamma = m.re
		}
	}
	for j := range n {
		for i := range n {
			k.d[j] += b[i] * inv.At(i, j)
			// l is ℓᵢ(0), where ℓᵢ is the Lagrange polynomial of node i.
			l := 1.
			for m := range n {
				if m != i {
					l *= c[m] / (c[m] - c[i])
				}
			}
			k.e[j] -= l * inv.At(i, j)
		}
	}
	return k
}

const (
	sqrt3 = 1.7320508075688772935274463415058723669
	sqrt6 = 2.4494897427831780981972840747058913920
)

// These are the methods of Gauss [HW96, table IV.5.2] and Radau IIA [HW96, tables IV.5.5,
// IV.5.6].
var (
	gauss1 = sync.OnceValue(func() *collocation {
		k := newCollocation(2, [][]float64{{0.5}}, []float64{1}, []float64{0.5})
		k.d[0] = 2
		return k
	})
	gauss2 = sync.OnceValue(func() *collocation {
		k := newCollocation(2*sqrt3, [][]float64{{0.25, 0.25 - sqrt3/6}, {0.25 + sqrt3/6, 0.25}},
			[]float64{0.5, 0.5}, []float64{0.5 - sqrt3/6, 0.5 + sqrt3/6})
		k.d[0], k.d[1] = -sqrt3, sqrt3
		return k
	})
	radau2 = sync.OnceValue(func() *collocation {
		k := newCollocation(sqrt6, [][]float64{{5. / 12, -1. / 12}, {0.75, 0.25}},
			[]float64{0.75, 0.25}, []float64{1. / 3, 1})
		k.d[0], k.d[1] = 0, 1
		return k
	})
	radau3 = sync.OnceValue(func() *collocation {
		k := newCollocation(0, [][]float64{
			{(88 - 7*sqrt6) / 360, (296 - 169*sqrt6) / 1800, (-2 + 3*sqrt6) / 225},
			{(296 + 169*sqrt6) / 1800, (88 + 7*sqrt6) / 360, (-2 - 3*sqrt6) / 225},
			{(16 - sqrt6) / 36, (16 + sqrt6) / 36, 1. / 9}},
			[]float64{(16 - sqrt6) / 36, (16 + sqrt6) / 36, 1. / 9},
			[]float64{(4 - sqrt6) / 10, (4 + sqrt6) / 10, 1})
		k.d[0], k.d[1], k.d[2] = 0, 0, 1
		return k
	})
)
