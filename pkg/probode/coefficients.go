package probode

import (
	"math"
	"math/big"
)

// The coefficients of the Adams methods integrate the polynomial through past
// values of f over one step. They are computed in exact rational arithmetic
// and rounded once, so that none is typed in.

// AdamsBashforthCoefficients returns β₀, …, β_{s−1} of the s-step
// Adams–Bashforth method
//
//	z_{i+1} = zᵢ + h Σ_{j=0}^{s−1} β_j f_{i−j},
//
// each correctly rounded. It panics if s < 1. [HNW93, §III.1]
func AdamsBashforthCoefficients(s int) []float64 {
	if s < 1 {
		panic("probode: Adams–Bashforth needs at least one step")
	}
	return roundAll(adams(s, 0))
}

// AdamsMoultonCoefficients returns β₋₁ and β₀, …, β_{s−1} of the s-step
// Adams–Moulton method
//
//	z_{i+1} = zᵢ + h (β₋₁ f_{i+1} + Σ_{j=0}^{s−1} β_j f_{i−j}),
//
// each correctly rounded; s = 0 is backward Euler. It panics if s < 0.
// [HNW93, §III.1; T18, equation 7]
func AdamsMoultonCoefficients(s int) (next float64, past []float64) {
	if s < 0 {
		panic("probode: negative number of steps")
	}
	b := roundAll(adams(s+1, 1))
	return b[0], b[1:]
}

// adams returns ∫₀¹ ℓ_j(τ) dτ, j = 0, …, n−1, for the Lagrange polynomials
// ℓ_j of the n nodes first, first−1, …, in units of the step counted from the
// current time: first = 0 for an explicit and 1 for an implicit method.
func adams(n, first int) []*big.Rat {
	out := make([]*big.Rat, n)
	for j := range out {
		// p holds the coefficients of Π_{k≠j} (τ − τ_k)/(τ_j − τ_k).
		p := []*big.Rat{big.NewRat(1, 1)}
		for k := range n {
			if k == j {
				continue
			}
			root := big.NewRat(int64(first-k), 1)
			scale := big.NewRat(1, int64(k-j)) // τ_j − τ_k = k − j
			q := make([]*big.Rat, len(p)+1)
			for i := range q {
				q[i] = new(big.Rat)
			}
			for i, c := range p {
				q[i+1].Add(q[i+1], c)
				q[i].Sub(q[i], new(big.Rat).Mul(root, c))
			}
			for _, c := range q {
				c.Mul(c, scale)
			}
			p = q
		}
		sum := new(big.Rat)
		for i, c := range p {
			sum.Add(sum, new(big.Rat).Mul(c, big.NewRat(1, int64(i+1))))
		}
		out[j] = sum
	}
	return out
}

func roundAll(r []*big.Rat) []float64 {
	out := make([]float64, len(r))
	for i, v := range r {
		out[i], _ = v.Float64()
	}
	return out
}

// Adams coefficients on grids whose steps differ. They integrate the
// interpolating polynomial of f over one step, as the classical ones do, and
// depend on the ratios of the steps alone [HNW93, §III.5]. A grid has its own
// computed once; where a step and those before are equal they are the
// classical ones to the last bit.

// An adamsTable holds the coefficients of one formula on a grid.
type adamsTable struct {
	g       *Grid
	n       int       // number of past values
	first   int       // 0 for an explicit and 1 for an implicit formula
	uniform []float64 // the classical ones
	rows    []float64 // those of each step, if any step differs from its neighbours
	scratch []float64
	nodes   []float64
}

// newAdamsTable returns the table of the formula with n past values, explicit
// or implicit; the coefficient of f_{i+1}, if any, comes first.
func newAdamsTable(g *Grid, n int, implicit bool) *adamsTable {
	c := &adamsTable{g: g, n: n}
	if implicit {
		c.first = 1
	}
	c.uniform = roundAll(adams(n+c.first, c.first))
	c.scratch = make([]float64, len(c.uniform))
	c.nodes = make([]float64, len(c.uniform))
	if g.h > 0 || n+c.first <= 1 {
		return c
	}
	steps := len(g.t) - 1
	differ := false
	for j := range g.seg {
		for i := g.seg[j].from; i < g.seg[j].to; i++ {
			differ = differ || !c.even(i, g.seg[j].from)
		}
	}
	if differ {
		width := len(c.uniform)
		c.rows = make([]float64, steps*width)
		for j := range g.seg {
			for i := g.seg[j].from; i < g.seg[j].to; i++ {
				row := c.uniform // of a step in which the method starts: the noise behind an event uses it
				if i-g.seg[j].from >= n-1 {
					row = c.compute(i)
				}
				copy(c.rows[i*width:], row)
			}
		}
	}
	return c
}

// even reports whether step i and those before it that matter, back to grid
// point first, are equal.
func (c *adamsTable) even(i, first int) bool {
	h := c.time(i+1) - c.time(i)
	for j := max(first, i-c.n+1); j < i; j++ {
		if math.Abs(c.time(j+1)-c.time(j)-h) > 1e-9*h {
			return false
		}
	}
	return true
}

// time is that of grid point i in units that are those of its segment: where
// the grid moves with θ, the coefficients are not to depend on where it is.
func (c *adamsTable) time(i int) float64 {
	if !c.g.moving {
		return c.g.t[i]
	}
	s := &c.g.seg[c.g.segment(i)]
	return s.frac[i-s.from]
}

// at returns the coefficients for step i.
func (c *adamsTable) at(i int) []float64 {
	switch width := len(c.uniform); {
	case c.g.h > 0 || width <= 1:
		return c.uniform
	case (i+1)*width <= len(c.rows):
		return c.rows[i*width : (i+1)*width]
	case c.rows == nil && i < len(c.g.t)-1 && len(c.g.seg) > 0:
		return c.uniform
	}
	return c.compute(i) // the grid grows
}

// compute returns the coefficients for step i: ∫₀¹ ℓ_j(τ) dτ for the Lagrange
// polynomials of the nodes τ_j = (t_j − tᵢ)/h, by Gauss's rule of three points,
// which is exact for the degrees of at most five that occur.
func (c *adamsTable) compute(i int) []float64 {
	if c.even(i, 0) {
		return c.uniform
	}
	t, h := c.time(i), c.time(i+1)-c.time(i)
	for j := range c.nodes {
		c.nodes[j] = (c.time(i+c.first-j) - t) / h
	}
	root := math.Sqrt(3. / 5)
	for j := range c.scratch {
		var sum float64
		for _, q := range [3][2]float64{{0.5 - root/2, 5. / 18}, {0.5, 8. / 18}, {0.5 + root/2, 5. / 18}} {
			l := q[1]
			for k, node := range c.nodes {
				if k != j {
					l *= (q[0] - node) / (c.nodes[j] - node)
				}
			}
			sum += l
		}
		c.scratch[j] = sum
	}
	return c.scratch
}
