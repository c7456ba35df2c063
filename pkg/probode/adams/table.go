package adams

import (
	"math"

	"github.com/probode/probode/pkg/probode"
)

// This file computes Adams coefficients on nonuniform grids. As on a uniform grid, each
// coefficient is the integral of a Lagrange polynomial over one step. The coefficients
// depend only on the lengths of the steps [HNW93, §III.5]. If all steps that a formula
// covers have the same length, the formula has exactly the classical coefficients.

type table struct {
	n       int       // number of past values
	first   int       // 0 for an explicit and 1 for an implicit formula
	uniform []float64 // classical coefficients
	even    bool      // all steps use the classical coefficients

	// Paths on one grid take the same steps again and again, so the coefficients are stored
	// by the lengths of the steps. The table is empty in an error-controlled run, where the
	// same lengths seldom come back.
	known   []coefficients
	scratch coefficients
}

type coefficients struct {
	lengths, values [6]float64
}

// newTable is for paths on the grid g, which may be nil. An implicit formula begins with
// the coefficient of f_{i+1}.
func newTable(g *probode.Grid, n int, implicit bool) *table {
	c := &table{n: n}
	if implicit {
		c.first = 1
	}
	c.uniform = adams(n+c.first, c.first)
	c.even = len(c.uniform) == 1
	if g == nil || c.even {
		return c
	}
	if _, c.even = g.Uniform(); !c.even {
		size := 1
		for size < min(2*g.Steps(), 1<<16) {
			size *= 2
		}
		c.known = make([]coefficients, size)
	}
	return c
}

// at returns the classical coefficients for a starting step.
func (c *table) at(m *history, i int, end float64) []float64 {
	if c.even || i < c.n-1 {
		return c.uniform
	}
	var lengths [6]float64
	t := m.t[i&7]
	h := end - t
	lengths[0] = h
	near, same := 1e-9*h+4*0x1p-52*math.Abs(end), true // lengths that differ by rounding are equal
	for j := 1; j < c.n; j++ {
		before := m.t[(i-j)&7]
		lengths[j] = t - before
		same = same && math.Abs(lengths[j]-h) <= near
		t = before
	}
	if same {
		return c.uniform
	}
	to := &c.scratch
	if len(c.known) > 0 {
		hash := (math.Float64bits(lengths[0])*0x9e3779b97f4a7c15 ^ math.Float64bits(lengths[1])) * 0xbf58476d1ce4e5b9
		to = &c.known[hash>>32&uint64(len(c.known)-1)]
	}
	if to.lengths != lengths {
		c.compute(to, &lengths)
	}
	return to.values[:len(c.uniform)]
}

// compute integrates the Lagrange polynomials of the nodes (t_j − tᵢ)/h by three-point
// Gauss, exact up to degree five.
func (c *table) compute(to *coefficients, lengths *[6]float64) {
	to.lengths = *lengths
	var all [6]float64
	nodes, back := all[:len(c.uniform)], 0.0
	for j := range nodes {
		switch {
		case j < c.first:
			nodes[j] = 1
		case j > c.first:
			back += lengths[j-c.first]
			nodes[j] = -back / lengths[0]
		}
	}
	root := math.Sqrt(3. / 5)
	for j := range nodes {
		var sum float64
		for _, q := range [3][2]float64{{0.5 - root/2, 5. / 18}, {0.5, 8. / 18}, {0.5 + root/2, 5. / 18}} {
			l := q[1]
			for k, node := range nodes {
				if k != j {
					l *= (q[0] - node) / (nodes[j] - node)
				}
			}
			sum += l
		}
		to.values[j] = sum
	}
}
