package methods

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
	c, d   []float64
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

const (
	sqrt3 = 1.7320508075688772935274463415058723669
	sqrt6 = 2.4494897427831780981972840747058913920
)

// The coefficients below are those of the methods of Gauss [HW96, table IV.5.2] and Radau
// IIA [HW96, tables IV.5.5, IV.5.6]. The weights e are −Σᵢ ℓᵢ(0) (A⁻¹)ᵢⱼ, where ℓᵢ is the
// Lagrange polynomial of node i. The modes and e are constants, because code that computes
// eigenvectors would make the playground program 2.5 % larger.
var (
	gauss1 = &collocation{
		stages: 1,
		a:      [][]float64{{0.5}},
		c:      []float64{0.5},
		d:      []float64{2},
		modes: []mode{
			{re: 2, im: 0,
				left:  []complex128{1},
				right: []complex128{1}},
		},
	}
	gauss2 = &collocation{
		stages: 2,
		a:      [][]float64{{0.25, 0.25 - sqrt3/6}, {0.25 + sqrt3/6, 0.25}},
		c:      []float64{0.5 - sqrt3/6, 0.5 + sqrt3/6},
		d:      []float64{-sqrt3, sqrt3},
		modes: []mode{
			{re: 3.0000000000000004, im: 1.7320508075688772,
				left:  []complex128{complex(0, 1.9318516525781368), 0.5176380902050415},
				right: []complex128{complex(0, -0.25881904510252074), 0.9659258262890684}},
		},
	}
	radau2 = &collocation{
		stages: 2,
		a:      [][]float64{{5. / 12, -1. / 12}, {0.75, 0.25}},
		c:      []float64{1. / 3, 1},
		d:      []float64{0, 1},
		modes: []mode{
			{re: 2, im: 1.4142135623730947,
				left:  []complex128{complex(0, -1.6770509831248421), complex(-0.5270462766947299, 0.18633899812498245)},
				right: []complex128{complex(-0.10540925533894596, 0.29814239699997197), -0.9486832980505138}},
		},
		gamma: sqrt6,
		e:     []float64{-4.499999999999999, 0.5},
	}
	radau3 = &collocation{
		stages: 3,
		a: [][]float64{
			{(88 - 7*sqrt6) / 360, (296 - 169*sqrt6) / 1800, (-2 + 3*sqrt6) / 225},
			{(296 + 169*sqrt6) / 1800, (88 + 7*sqrt6) / 360, (-2 - 3*sqrt6) / 225},
			{(16 - sqrt6) / 36, (16 + sqrt6) / 36, 1. / 9}},
		c: []float64{(4 - sqrt6) / 10, (4 + sqrt6) / 10, 1},
		d: []float64{0, 0, 1},
		modes: []mode{
			{re: 2.6810828736277506, im: 3.050430199247408,
				left:  []complex128{complex(2.297505183598039, 0.2764848745290702), complex(0.18016359866792608, -1.4140735657756374), complex(-0.2620528430183778, 0.3277088735980009)},
				right: []complex128{complex(0.12845806217830086, -0.02730865475132095), complex(-0.18563595103095723, 0.3482489043965754), -0.9094035176468616}},
			{re: 3.6378342527445033, im: 0,
				left:  []complex128{4.325579890063161, 0.33919925181580335, 0.5417705399358775},
				right: []complex128{0.09123239487089267, 0.24171793270710587, 0.9660481826150932}},
		},
		gamma: 3.6378342527445033, // the real mode, whose factors serve the filter
		e:     []float64{-10.048809399827416, 1.3821427331607494, -0.3333333333333335},
	}
)
