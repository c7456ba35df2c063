package filter

import "math"

// Given the equation up to a grid point, the solution is a Markov chain that runs
// backwards in time: at each point it is Gaussian given the solution at the next point.
// Smoothing, draws and the likelihood of Fenrir follow that chain.
//
// The error of a point is a linear function of independent standard normals u: see block.
// A step replaces those before it, and those of its noise, by an orthogonal transformation
// of them. Some of the new ones are the normals after the step, others are known from the
// residual of the equation, and the rest does not matter after the step. So the normals
// before the step are a linear function of the new ones, and no matrix has to be inverted.

// A link expresses the normals u before a step or an event in terms of those after it, v,
// of what the residual says, and of more normals w, as u = drift/s + Aᵀ(v, w). All of them
// are multiplied by s = κ unit^{q+1/2} where they are added to a mean.
type link struct {
	before, after, rest int       // lengths of u, v and w
	a                   []float64 // A, by columns
	drift               []float64
}

// link sets l to the link of the step that b has just taken.
func (b *block) link(l *link, before int) {
	n, w := len(b.z), b.w
	l.before, l.after, l.rest = before, n-w, before
	height := l.after + l.rest
	l.a, l.drift = resize(l.a, before*height), resize(l.drift, before)
	grow := b.grow()
	for k := range before {
		column := b.a[(n+k)*2*n:]
		l.drift[k] = -dot(b.white, column) / grow // the residual of the truth is zero
		copy(l.a[k*height:(k+1)*height], column[w:])
	}
}

// A belief is a distribution of the normals u of a point. Its mean is multiplied by
// κ unit^{q+1/2}. The factor of the covariance is upper triangular, with a stride of the
// length of u.
type belief struct{ mean, factor []float64 }

// unknown returns the distribution of n normals of which nothing is known.
func unknown(n int) belief {
	b := belief{make([]float64, n), make([]float64, n*n)}
	for k := range n {
		b.factor[k*n+k] = 1
	}
	return b
}

// back sets dst to the distribution before a step or an event, given the one after it. It
// uses the slices of dst, and work, where they are long enough. If after.factor is nil, it
// computes only the mean; then after.mean may have the values of w behind those of v.
func (l link) back(dst *belief, after belief, work *[]float64) {
	n, height := l.before, l.after+l.rest
	dst.mean = resize(dst.mean, n)
	for k := range n {
		dst.mean[k] = l.drift[k] + dot(after.mean, l.a[k*height:])
	}
	if after.factor == nil {
		return
	}
	*work = resize(*work, n*height)
	a := *work
	for k := range n {
		from, to := l.a[k*height:(k+1)*height], a[k*height:(k+1)*height]
		clear(to[:l.after])
		copy(to[l.after:], from[l.after:])
		for j, x := range from[:l.after] {
			add(to[:j+1], x, after.factor[j*l.after:])
		}
	}
	triangularize(a, height, height, n, n)
	dst.factor = resize(dst.factor, n*n)
	clear(dst.factor)
	for k := range n {
		copy(dst.factor[k*n:k*n+k+1], a[k*height:])
	}
}

// smooth returns the distributions at all points of c, given the equation at all of them.
func (c *chain) smooth() []belief {
	out := make([]belief, len(c.points))
	n := len(c.z)
	memory := make([]float64, len(out)*n*(n+1))
	last := len(out) - 1
	out[last] = unknown(c.points[last].rows)
	var work []float64
	for i := last; i > 0; i-- {
		own := memory[i*n*(n+1):]
		out[i-1] = belief{own[:n:n], own[n : n+n*n : n+n*n]}
		c.at(i).link.back(&out[i-1], out[i], &work)
	}
	return out
}

// recall returns to the distribution at p.
func (b *block) recall(p view) {
	b.rows = p.rows
	copy(b.z, p.z)
	copy(b.r, p.r)
}

// relink computes the link of a step of length h that ends at p and begins at the present
// distribution.
func (b *block) relink(l *link, p view, h float64) {
	before := b.rows
	b.predict(h)
	copy(b.hjac, p.hjac)
	for j := range b.hjac { // from the step that ended at p
		b.hjac[j] *= b.weight(h) / b.weight(p.h)
		if j%(b.m*b.w) >= b.w {
			b.hjac[j] *= p.h / h
		}
	}
	copy(b.white, p.white)
	scale(b.white, math.Pow(h/p.h, float64(b.q)+0.5))
	b.disperse(p.sigma)
	b.condition(true)
	b.link(l, before)
}
