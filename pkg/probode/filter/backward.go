package filter

import (
	"math"

	"github.com/probode/probode/pkg/probode/internal/vector"
)

// Given the equation up to a grid point, the solution is a Markov chain that runs
// backwards in time: at each point it is Gaussian given the solution at the next point.
// Smoothing, draws and the likelihood of Fenrir follow that chain.
//
// The error at a grid point is a linear function of independent standard normal variates
// u: see block. A step replaces the variates before it, together with the variates of its
// noise, by an orthogonal transformation of all of them. Some of the new variates are the
// normal variates after the step, some are known from the residual of the equation, and
// the rest have no effect after the step. So the normal variates before the step are a
// linear function of the new ones, and no matrix has to be inverted.

// A link expresses the normal variates u before a step or an event as u = drift/s + Aᵀ(v,
// w), where v are the normal variates after it, w are further normal variates, and drift
// follows from the residual and, for DALTON, from data. The variates are multiplied by s
// = κ unit^{q+1/2} where they are added to a mean.
type link struct {
	before, after, rest int       // lengths of u, v and w
	a                   []float64 // A, by columns
	drift               []float64
}

// The method link() sets l to the link of the step that b has just taken.
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

// A belief is a distribution of the normal variates u at a grid point. Its mean is
// multiplied by κ unit^{q+1/2}. The factor of the covariance is upper triangular, with a
// stride of the length of u; the elements below the diagonal have no meaning.
type belief struct{ mean, factor []float64 }

// The method resized() returns a belief about n normal variates that uses the slices of b
// where they are long enough.
func (b belief) resized(n int) belief {
	return belief{resize(b.mean, n), resize(b.factor, n*n)}
}

// The function unknown() returns the distribution of n normal variates of which nothing
// is known.
func unknown(n int) belief {
	b := belief{make([]float64, n), make([]float64, n*n)}
	for k := range n {
		b.factor[k*n+k] = 1
	}
	return b
}

// The method back() writes the distribution before a step or an event to dst, given the
// distribution after it. If after.factor is nil, it computes only the mean; then
// after.mean may hold the values of v followed by the values of w.
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
			add(own[:j+1], x, column)
		}
	}
	triangularize(a, height, height, n, n)
	for k := range n {
		copy(dst.factor[k*n:], a[k*height:][:k+1])
	}
}

// The method smooth() computes the distributions of the normal variates at all points of
// c, given the equation at all of them.
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

// The method belief() returns the distribution of the normal variates at point i that
// smooth has computed. It is empty if the distributions are not smoothed.
func (c *chain) belief(i int) belief {
	if c.smoothed == nil {
		return belief{}
	}
	p := &c.points[i]
	own := c.smoothed[p.smoothed:]
	return belief{own[:p.rows:p.rows], own[p.rows:][:p.rows*p.rows]}
}

// relink computes the link of a step of length h that ends at point i and begins at the
// current distribution.
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
