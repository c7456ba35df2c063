package adams

import (
	"math"

	"github.com/probode/probode/pkg/probode"
)

// This file computes Adams coefficients on nonuniform grids. As on a uniform grid, each
// coefficient is the integral of a Lagrange polynomial over one step. The coefficients
// depend only on the ratios of the step sizes [HNW93, §III.5]. The coefficients are
// computed once for each grid. If all steps that a formula covers have the same length,
// the formula has exactly the classical coefficients.

// A table holds the coefficients of one formula on a grid.
type table struct {
	g       *probode.Grid
	n       int       // number of past values
	first   int       // 0 for an explicit and 1 for an implicit formula
	uniform []float64 // classical coefficients
	even    bool      // all steps use the classical coefficients
	rows    []float64 // coefficients of each step, if they differ and the grid does not grow
	scratch []float64
	nodes   []float64
}

// newTable returns the table of coefficients of the explicit or implicit formula with n
// past values of f. In the implicit formula the coefficient of f_{i+1} comes first.
func newTable(g *probode.Grid, n int, implicit bool) *table {
	c := &table{g: g, n: n}
	if implicit {
		c.first = 1
	}
	c.uniform = adams(n+c.first, c.first)
	c.scratch = make([]float64, len(c.uniform))
	c.nodes = make([]float64, len(c.uniform))
	if _, uniform := g.Uniform(); uniform || len(c.uniform) == 1 {
		c.even = true
		return c
	}
	if g.Grows() {
		return c
	}
	segments := segments(g)
	c.even = true
	for _, s := range segments {
		for i := s.from; i < s.to; i++ {
			c.even = c.even && c.evenAt(i, s.from)
		}
	}
	if c.even {
		return c
	}
	width := len(c.uniform)
	c.rows = make([]float64, g.Steps()*width)
	for _, s := range segments {
		for i := s.from; i < s.to; i++ {
			row := c.uniform // for a starting step: the noise right after an event uses them
			if i-s.from >= n-1 {
				row = c.compute(i)
			}
			copy(c.rows[i*width:], row)
		}
	}
	return c
}

// A segment is a part of a grid between two events, given by its first and last point.
type segment struct{ from, to int }

func segments(g *probode.Grid) (list []segment) {
	for i := 0; i < g.Steps(); {
		from, to := g.Segment(i)
		if from > i { // step i is an event
			i = from
			continue
		}
		list = append(list, segment{from, to})
		i = to
	}
	return list
}

// evenAt reports whether the formula for step i covers only steps of the same length. The
// steps before the grid point with the index `first` are ignored.
func (c *table) evenAt(i, first int) bool {
	h := c.g.Place(i+1) - c.g.Place(i)
	for j := max(first, i-c.n+1); j < i; j++ {
		if math.Abs(c.g.Place(j+1)-c.g.Place(j)-h) > 1e-9*h {
			return false
		}
	}
	return true
}

// The method at() returns the coefficients for step i.
func (c *table) at(i int) []float64 {
	switch {
	case c.even:
		return c.uniform
	case c.rows == nil: // the grid grows
		return c.compute(i)
	}
	width := len(c.uniform)
	return c.rows[i*width : (i+1)*width]
}

// The method compute() returns the coefficients for step i: the integrals ∫₀¹ ℓ_j(τ) dτ,
// where ℓ_j are the Lagrange polynomials of the nodes τ_j = (t_j − tᵢ)/h. The method
// compute() uses the three-point Gauss rule, which is exact because the degree of ℓ_j is
// at most five.
func (c *table) compute(i int) []float64 {
	if c.evenAt(i, 0) {
		return c.uniform
	}
	t, h := c.g.Place(i), c.g.Place(i+1)-c.g.Place(i)
	for j := range c.nodes {
		c.nodes[j] = (c.g.Place(i+c.first-j) - t) / h
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
