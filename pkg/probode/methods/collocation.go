package methods

import (
	"fmt"
	"sync"

	"gonum.org/v1/gonum/mat"
)

// A collocation holds the coefficients of an implicit Runge–Kutta method that collocates
// at the nodes c. With zᵢ = Yᵢ − x the stage equations are
//
//	zᵢ = h Σⱼ aᵢⱼ f(t + cⱼh, x + zⱼ),   x₁ = x + Σᵢ dᵢ zᵢ,   d = bᵀA⁻¹
//
// [HW96, §IV.8]. The formula for x₁ does not contain f, because f amplifies errors of z
// in proportion to the stiffness.
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
// lᵀr = 1. The matrix of the stage equations is I − hA⊗J. The product of (hA)⁻¹⊗I and
// I − hA⊗J is block diagonal in the basis of the modes. The product has a block
// (λ/h) I − J for each λ. Of each complex conjugate pair, only one mode is stored.
type mode struct {
	re, im      float64
	left, right []complex128
}

// newCollocation returns the method with nodes c. The argument `gamma` is used in the error
// estimate; zero stands for the real eigenvalue of A⁻¹.
func newCollocation(gamma float64, modes []mode, a [][]float64, b, c []float64) *collocation {
	n := len(c)
	k := &collocation{stages: n, a: a, b: b, c: c, modes: modes, gamma: gamma, d: make([]float64, n), e: make([]float64, n)}
	full := mat.NewDense(n, n, nil)
	for i := range a {
		full.SetRow(i, a[i])
	}
	var inv mat.Dense
	if err := inv.Inverse(full); err != nil {
		panic(fmt.Sprintf("methods: the matrix A of a collocation method cannot be inverted: %v", err))
	}
	for _, m := range modes {
		if m.im == 0 && gamma == 0 {
			k.gamma = m.re
		}
	}
	for j := range n {
		for i := range n {
			k.d[j] += b[i] * inv.At(i, j)
			// l is the value at 0 of the Lagrange polynomial of node i.
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

// The coefficients below are those of the methods of Gauss [HW96, table IV.5.2] and Radau
// IIA [HW96, tables IV.5.5, IV.5.6].
var (
	gauss1 = sync.OnceValue(func() *collocation {
		k := newCollocation(2, gauss1Modes, [][]float64{{0.5}}, []float64{1}, []float64{0.5})
		k.d[0] = 2
		return k
	})
	gauss2 = sync.OnceValue(func() *collocation {
		k := newCollocation(2*sqrt3, gauss2Modes, [][]float64{{0.25, 0.25 - sqrt3/6}, {0.25 + sqrt3/6, 0.25}},
			[]float64{0.5, 0.5}, []float64{0.5 - sqrt3/6, 0.5 + sqrt3/6})
		k.d[0], k.d[1] = -sqrt3, sqrt3
		return k
	})
	radau2 = sync.OnceValue(func() *collocation {
		k := newCollocation(sqrt6, radau2Modes, [][]float64{{5. / 12, -1. / 12}, {0.75, 0.25}},
			[]float64{0.75, 0.25}, []float64{1. / 3, 1})
		k.d[0], k.d[1] = 0, 1
		return k
	})
	radau3 = sync.OnceValue(func() *collocation {
		k := newCollocation(0, radau3Modes, [][]float64{
			{(88 - 7*sqrt6) / 360, (296 - 169*sqrt6) / 1800, (-2 + 3*sqrt6) / 225},
			{(296 + 169*sqrt6) / 1800, (88 + 7*sqrt6) / 360, (-2 - 3*sqrt6) / 225},
			{(16 - sqrt6) / 36, (16 + sqrt6) / 36, 1. / 9}},
			[]float64{(16 - sqrt6) / 36, (16 + sqrt6) / 36, 1. / 9},
			[]float64{(4 - sqrt6) / 10, (4 + sqrt6) / 10, 1})
		k.d[0], k.d[1], k.d[2] = 0, 0, 1
		return k
	})
)

// The modes of these methods are stored as constants, because code that computes
// eigenvectors would make the playground program 2.5 % larger.
var (
	gauss1Modes = []mode{
		{re: 2, im: 0,
			left:  []complex128{1},
			right: []complex128{1}},
	}
	gauss2Modes = []mode{
		{re: 3.0000000000000004, im: 1.7320508075688772,
			left:  []complex128{complex(0, 1.9318516525781368), 0.5176380902050415},
			right: []complex128{complex(0, -0.25881904510252074), 0.9659258262890684}},
	}
	radau2Modes = []mode{
		{re: 2, im: 1.4142135623730947,
			left:  []complex128{complex(0, -1.6770509831248421), complex(-0.5270462766947299, 0.18633899812498245)},
			right: []complex128{complex(-0.10540925533894596, 0.29814239699997197), -0.9486832980505138}},
	}
	radau3Modes = []mode{
		{re: 2.6810828736277506, im: 3.050430199247408,
			left:  []complex128{complex(2.297505183598039, 0.2764848745290702), complex(0.18016359866792608, -1.4140735657756374), complex(-0.2620528430183778, 0.3277088735980009)},
			right: []complex128{complex(0.12845806217830086, -0.02730865475132095), complex(-0.18563595103095723, 0.3482489043965754), -0.9094035176468616}},
		{re: 3.6378342527445033, im: 0,
			left:  []complex128{4.325579890063161, 0.33919925181580335, 0.5417705399358775},
			right: []complex128{0.09123239487089267, 0.24171793270710587, 0.9660481826150932}},
	}
)
