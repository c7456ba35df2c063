package steplaw

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
)

// A division is a box in ζ, with a width of about 1 in each coordinate if the Gaussian
// approximation is reasonable. Densities are relative to e^top.
type division struct {
	s          *Law
	lo, hi     []float64 // the box
	top        float64
	nodes, wts []float64 // Gauss rule on (0, 1)
	leaves     []cell
	total      float64
	rounding   float64 // largest rounding error of u at a root
	zeta       []float64
	marks      []mark
}

type cell struct {
	lo, width [2]float64 // for d = 1 the second elements are 0 and 1
	mass      float64    // ∫ over the cell, in ζ, of density / e^top
}

// A mark is an ellipse around a peak that a coarse rule might miss: cells that meet it
// are split down to `width`.
type mark struct {
	at, half [2]float64    // the centre, and half of the size in each coordinate
	axes     [2][2]float64 // rows are vectors a with |a·(ζ − at)| ≤ reach in the ellipse
	width    float64
}

// reach is the size of a mark in standard deviations of the peak.
const reach = 8

const (
	gaussPoints = 6
	maxCells    = 1 << 18
	cellTol     = 1e-10
	coarsest    = 1e-4 // largest rounding error of u
)

func (s *Law) divided() (*division, error) {
	if s.cells != nil {
		return s.cells, nil
	}
	if err := s.normalizable(); err != nil {
		return nil, err
	}
	if s.d > 2 {
		return nil, fmt.Errorf("%s: the state has %d components: want 1 or 2 for quadrature; with more components, estimate the moments from random draws", s.problem.Title(), s.d)
	}
	c := &division{s: s, lo: make([]float64, 2), hi: []float64{0, 1}, top: math.Inf(-1),
		nodes: make([]float64, gaussPoints), wts: make([]float64, gaussPoints), zeta: make([]float64, s.d)}
	quad.Legendre{}.FixedLocations(c.nodes, c.wts, 0, 1)
	if err := c.findBox(); err != nil {
		return nil, s.fail(err)
	}
	if err := c.divide(); err != nil {
		return nil, s.fail(err)
	}
	s.cells = c
	return c, nil
}

func (c *division) at(zeta [2]float64) float64 {
	return math.Exp(c.log(zeta) - c.top)
}

func (c *division) log(zeta [2]float64) float64 {
	copy(c.zeta, zeta[:])
	return c.s.logRelative(c.zeta)
}

func (c *division) findBox() error {
	s, d := c.s, c.s.d
	for k := range d {
		c.lo[k], c.hi[k] = math.Inf(1), math.Inf(-1)
	}
	include := func(at, half [2]float64) {
		for k := range d {
			c.lo[k], c.hi[k] = min(c.lo[k], at[k]-half[k]), max(c.hi[k], at[k]+half[k])
		}
	}
	include([2]float64{}, [2]float64{1, 1})
	c.top = c.log([2]float64{})
	var zeta [2]float64
	for _, z := range s.Roots() {
		s.standardize(zeta[:d], z)
		c.top = max(c.top, c.log(zeta))
		c.rounding = max(c.rounding, s.target.rounding(z))
		c.markRoot(zeta, z)
	}
	if !(c.rounding <= coarsest) {
		return fmt.Errorf("the exact distribution has a mode that is too narrow for floating-point numbers: want a larger step or more noise")
	}
	for _, m := range c.marks {
		include(m.at, m.half)
	}
	// The slice `near` holds points around the mean. A point at which the density is high
	// belongs in the box, even if no root was found there.
	var near [][2]float64
	var level []float64
	for _, z := range s.around() {
		s.standardize(zeta[:d], z)
		v := c.log(zeta)
		c.top = max(c.top, v)
		near, level = append(near, zeta), append(level, v)
	}
	for n, at := range near {
		if level[n] > c.top-edge {
			include(at, [2]float64{})
		}
	}
	// The box is enlarged until the density on all its sides is negligible.
	width := max(c.hi[0]-c.lo[0], c.hi[1]-c.lo[1])
	for range 400 {
		grown := false
		for k := range d {
			for _, upper := range []bool{false, true} {
				if c.sideLevel(k, upper) <= c.top-edge {
					continue
				}
				grown = true
				by := (c.hi[k] - c.lo[k]) / 8
				if upper {
					c.hi[k] += by
				} else {
					c.lo[k] -= by
				}
			}
		}
		if !grown {
			return nil
		}
		if max(c.hi[0]-c.lo[0], c.hi[1]-c.lo[1]) > 1e12*width {
			break
		}
	}
	return ErrImproper
}

// The log density on the sides of the box must be at least `edge` below its maximum.
const edge = 50

// sideLevel also updates `top`.
func (c *division) sideLevel(k int, upper bool) float64 {
	var zeta [2]float64
	zeta[k] = c.lo[k]
	if upper {
		zeta[k] = c.hi[k]
	}
	level, n := math.Inf(-1), 256
	if c.s.d == 1 {
		n = 0
	}
	for m := range n + 1 {
		if n > 0 {
			o := 1 - k
			zeta[o] = c.lo[o] + (c.hi[o]-c.lo[o])*float64(m)/float64(n)
		}
		level = max(level, c.log(zeta))
	}
	c.top = max(c.top, level)
	return level
}

// markRoot uses that the density near a root is about proportional to that of
// N(root, (AᵀA)⁻¹), with A = ∂u/∂ζ = (JS)⁻¹Γ(root)L.
func (c *division) markRoot(zeta [2]float64, z []float64) {
	s, d := c.s, c.s.d
	f, unit := make([]float64, d), make([]float64, d)
	s.eval.FJ(f, s.moving, s.target.t, z, s.target.theta)
	a := mat.NewDense(d, d, nil)
	for k := range d {
		clear(unit)
		unit[k] = 1
		v, w := make([]float64, d), make([]float64, d)
		s.target.offset(v, unit)
		for j, x := range v {
			w[j] = s.inv * x
		}
		s.moving.AddMul(w, -1, v)
		s.target.negJ.Solve(w)
		for j, x := range w {
			a.Set(j, k, -x/s.target.scale[j])
		}
	}
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDFull) {
		return
	}
	var right mat.Dense
	svd.VTo(&right)
	values := svd.Values(nil)
	// The lengths of the principal axes are limited to 30. The axes computed from A may
	// be far too long, for example near a multiple root.
	const longest = 30
	m := mark{at: zeta, width: 2 * min(1/values[0], longest)}
	for k := range d {
		value := max(values[k], 1./longest)
		for j := range d {
			m.axes[k][j] = value * right.At(j, k)
			m.half[j] = math.Hypot(m.half[j], reach*right.At(j, k)/value)
		}
	}
	c.marks = append(c.marks, m)
}

func (c *division) divide() error {
	d := c.s.d
	n := [2]int{64, 1}
	if d == 2 {
		n = [2]int{16, 16}
	}
	var active []cell
	for i := range n[0] {
		for j := range n[1] {
			q := cell{}
			for k, m := range [2]int{i, j} {
				q.width[k] = (c.hi[k] - c.lo[k]) / float64(n[k])
				q.lo[k] = c.lo[k] + float64(m)*q.width[k]
			}
			c.integrate(&q)
			c.total += q.mass
			active = append(active, q)
		}
	}
	for len(active) > 0 {
		var next []cell
		var settled float64
		for _, q := range active {
			parts := c.split(q)
			var sum float64
			for n := range parts {
				c.integrate(&parts[n])
				sum += parts[n].mass
			}
			off := math.Abs(sum - q.mass)
			if c.marked(q) || !(off <= max(cellTol*c.total, c.rounding*q.mass)) {
				next = append(next, parts...)
			} else {
				c.leaves = append(c.leaves, parts...)
			}
			settled += sum - q.mass
		}
		c.total += settled
		active = next
		if len(active)+len(c.leaves) > maxCells {
			return fmt.Errorf("quadrature of the exact distribution did not converge with %d cells: the density has features too narrow to resolve", maxCells)
		}
	}
	c.total = 0
	for _, q := range c.leaves {
		c.total += q.mass
	}
	if !(c.total > 0) || math.IsInf(c.total, 1) {
		return fmt.Errorf("quadrature of the exact distribution gives an integral of %g: want a finite number > 0", c.total)
	}
	return nil
}

func (c *division) marked(q cell) bool {
	for _, m := range c.marks {
		var away, size float64 // of the centre of the cell and of half of the cell, in sd
		wide := false
		for k := range c.s.d {
			var at, half float64
			for j, a := range m.axes[k][:c.s.d] {
				at += a * (q.lo[j] + q.width[j]/2 - m.at[j])
				half += math.Abs(a) * q.width[j] / 2
			}
			away, size = math.Hypot(away, at), math.Hypot(size, half)
			wide = wide || q.width[k] > m.width
		}
		if wide && away <= reach+size {
			return true
		}
	}
	return false
}

func (c *division) split(q cell) []cell {
	parts := []cell{q}
	for k := range c.s.d {
		for n := range parts {
			parts[n].width[k] /= 2
			other := parts[n]
			other.lo[k] += other.width[k]
			parts = append(parts, other)
		}
	}
	return parts
}

func (c *division) integrate(q *cell) {
	q.mass = 0
	c.eachIn(q, func(v, weight float64) { q.mass += v * weight })
}

// eachIn calls do for every node, with its state in s.target.z.
func (c *division) eachIn(q *cell, do func(v, weight float64)) {
	for i, x := range c.nodes {
		at := [2]float64{q.lo[0] + x*q.width[0]}
		w := c.wts[i] * q.width[0]
		if c.s.d == 1 {
			do(c.at(at), w)
			continue
		}
		for j, y := range c.nodes {
			at[1] = q.lo[1] + y*q.width[1]
			do(c.at(at), w*c.wts[j]*q.width[1])
		}
	}
}

func (c *division) each(do func(z []float64, weight float64)) {
	for n := range c.leaves {
		c.eachIn(&c.leaves[n], func(v, weight float64) { do(c.s.target.z, v*weight/c.total) })
	}
}
