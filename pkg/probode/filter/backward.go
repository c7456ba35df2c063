package filter

import (
	"math"

	"github.com/probode/probode/pkg/probode/internal/vector"
)

// Suppose that the differential equation holds at the grid points t₀, …, t_n. Then the
// values of the solution at t_n, …, t₀ form a Markov chain that runs backwards in time.
// Given the solution at t_i, the solution at t_{i−1} has a Gaussian distribution. The
// backward Markov chain is used for smoothing, for draws and for the Fenrir likelihood.
//
// The error at a grid point is a linear function of independent standard normal variates
// u: see the type `block`. In each step, the normal variates before the step and the
// normal variates of the noise form one vector. An orthogonal transformation splits this
// vector into three parts:
//   - the normal variates after the step,
//   - a part that is determined by the residual of the differential equation, and
//   - a part that has no effect on the solution after the step.
//
// The transpose of the orthogonal transformation expresses the normal variates before the
// step as a linear function of the three parts. The calculation requires no matrix
// inversion.

func (b *block) link(l *link, before int) {
	n, w := len(b.z), b.w
	height := n - w + before
	if l.before != before || l.after != n-w || l.rest != before {
		*l = link{before: before, after: n - w, rest: before, a: make([]float64, before*height), drift: make([]float64, before)}
	}
	for k := range before {
		column, own := b.top[(n+k)*n:][:n], l.a[k*height:(k+1)*height]
		l.drift[k] = -vector.Dot(b.white, column) / b.growth // the residual of the truth is zero
		copy(own[copy(own, column[w:]):], b.tail[(n+k)*before:])
	}
}

// belief is the distribution of normal variates u: `mean` times κ unit^{q+1/2}, and an
// upper triangular factor of the covariance with stride len(u), whose lower part is not
// used.
type belief struct{ mean, factor []float64 }

func (b belief) resized(n int) belief {
	return belief{resize(b.mean, n), resize(b.factor, n*n)}
}

func unknown(n int) belief {
	b := belief{make([]float64, n), make([]float64, n*n)}
	for k := range n {
		b.factor[k*n+k] = 1
	}
	return b
}

// back goes from after to before a step or an event. Without after.factor it computes
// only the mean, and after.mean may hold v followed by w: see link.
func (l *link) back(dst, after belief, work *[]float64) {
	n, height := l.before, l.after+l.rest
	for k := range dst.mean {
		dst.mean[k] = l.drift[k] + vector.Dot(after.mean, l.a[k*height:])
	}
	if after.factor == nil {
		return
	}
	*work = resize(*work, n*height)
	a := *work
	copy(a, l.a[:n*height])
	for k := range n {
		own := a[k*height:][:l.after]
		for j, x := range own { // element j is not needed any more
			column := after.factor[j*l.after:][:j+1]
			own[j] = 0
			vector.AddScaled(own[:j+1], x, column)
		}
	}
	triangularize(a, height, height, n, n)
	for k := range n {
		copy(dst.factor[k*n:], a[k*height:][:k+1])
	}
}

// smooth conditions on the differential equation at all points.
func (c *chain) smooth() {
	size := 0
	for i := range c.points {
		c.points[i].smoothed = size
		size += c.points[i].rows * (c.points[i].rows + 1)
	}
	c.smoothed = make([]float64, size)
	last := len(c.points) - 1
	copy(c.belief(last).factor, unknown(c.points[last].rows).factor)
	work := make([]float64, len(c.top))
	for i := last; i > 0; i-- {
		l := c.stored(i)
		l.back(c.belief(i-1), c.belief(i), &work)
	}
}

// belief is empty before smooth.
func (c *chain) belief(i int) belief {
	if c.smoothed == nil {
		return belief{}
	}
	p := &c.points[i]
	own := c.smoothed[p.smoothed:]
	return belief{own[:p.rows:p.rows], own[p.rows:][:p.rows*p.rows]}
}

// relink starts from the distribution at the beginning of the step, which c must hold.
func (c *chain) relink(l *link, i int, h float64) {
	p, before := &c.points[i], c.rows
	c.predict(h)
	own := c.memory[p.first+len(c.z)*(1+p.rows):]
	copy(c.hjac, own)
	copy(c.white, c.residual(i))
	for j := range c.hjac { // from the step that ended at the point
		c.hjac[j] *= c.weight(h) / c.weight(p.h)
		if j%(c.m*c.w) >= c.w {
			c.hjac[j] *= p.h / h
		}
	}
	scale(c.white, math.Pow(h/p.h, float64(c.q)+0.5))
	c.disperse(p.sigma)
	c.condition(true)
	c.block.link(l, before)
}
