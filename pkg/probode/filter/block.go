package filter

import (
	"math"

	"github.com/probode/probode/pkg/probode/internal/vector"
)

// block is a filter for w components. The filter uses only those rows and columns of the
// Jacobian of f that belong to the w components. The differential equation is x′ = f if m
// = 1, and x″ = f if m = 2. The state consists of z₀ if m = 1, and of z₀ and z₁ if m = 2.
//
// The coordinates z are Nordsieck coordinates for steps of length `unit`. The error of z
// is κ unit^{q+1/2} Rᵀu, with independent standard normal variates u, so its covariance
// is κ² unit^{2q+1} RᵀR. The first columns of R belong to the highest derivative: see the
// field `columns`. With the columns in this order, the transition matrix and the factor
// of the noise are upper triangular. R is also upper triangular, although it may have
// fewer rows than columns.
type block struct {
	q, w, m int
	unit    float64
	root    float64   // unit^{q+1/2}
	noise   []float64 // L, see wiener
	columns []int     // the column of a factor for each coordinate of the mean, and vice versa
	z       []float64 // mean
	rows    int       // rows of R, and its stride; 0 at the start, which is exact
	r       []float64 // R

	transition
}

// A transition is a step of length h.
type transition struct {
	h, ratio float64   // the second is h/unit
	growth   float64   // ratio^{q+1/2}
	pred     []float64 // predicted mean
	hjac     []float64 // J in the coordinates of the step
	// The factor of the predicted covariance consists of two matrices: `top` holds the
	// rows for the noise of the step, with the stride len(z), and `tail` holds the rows
	// of R, with the stride `rows`. If the argument `linked` of reduce() is true, `tail`
	// is extended by the columns of an identity matrix, and `top` by columns of zeros.
	// After the step, the additional columns hold the coefficients that express the
	// normal variates u before the step in terms of the variates after the step.
	top, tail []float64
	fresh     []float64 // factor of the noise of a step with κ = 1, with the stride len(z)
	v         []float64 // factor of the residual, in its first w rows, with the stride len(z)
	turns     rotations
	full      []float64
	white     []float64 // the residual, multiplied by the inverse of the factor of its covariance
}

func newBlock(q, w, m int, noise []float64) *block {
	n := (q + 1) * w
	b := &block{q: q, w: w, m: m, noise: noise, z: make([]float64, n), r: make([]float64, n*n), columns: make([]int, n),
		transition: transition{pred: make([]float64, n), hjac: make([]float64, w*m*w), top: make([]float64, 2*n*n), tail: make([]float64, 2*n*n), fresh: make([]float64, n*n),
			v: make([]float64, n*w), turns: rotations{cos: make([]float64, n), sin: make([]float64, n)}, full: make([]float64, n), white: make([]float64, w)}}
	for p := range n {
		b.columns[p] = (q-p/w)*w + p%w
		for j := 0; p/w+j <= q; j++ {
			b.fresh[b.columns[p]*n+j*w+p%w] = noise[p/w*(q+1)+j]
		}
	}
	return b
}

func (b *block) errors(j int) []float64 { return b.r[b.columns[j]*b.rows:][:b.rows] }

func (b *block) measure(unit float64) {
	b.unit, b.root = unit, math.Pow(unit, float64(b.q)+0.5)
}

// level converts coordinate j, for steps of length `unit`, to a component of the state.
func (b *block) level(j int, unit float64) float64 {
	if j < b.w {
		return 1
	}
	return 1 / unit
}

// weight is z_m/f for steps of length h.
func (b *block) weight(h float64) float64 {
	if b.m == 1 {
		return h
	}
	return h * h / 2
}

func (b *block) predict(h float64) {
	b.h = h
	if ratio := h / b.unit; ratio != b.ratio {
		b.ratio, b.growth = ratio, math.Sqrt(ratio)
		for range b.q {
			b.growth *= ratio
		}
	}
	copy(b.pred, b.z)
	rescale(b.pred, b.w, b.ratio)
	shift(b.pred, b.q, b.w)
}

// observe writes a factor of the covariance of the residual to v, from that of the
// coordinates for steps of length h.
func (b *block) observe(factor []float64) {
	d, n := b.m*b.w, len(b.z)
	for k := range b.w {
		v := b.v[k*n : (k+1)*n]
		copy(v, factor[b.columns[d+k]*n:])
		for j, c := range b.hjac[k*d : (k+1)*d] {
			if c != 0 {
				vector.AddScaled(v, -c, factor[b.columns[j]*n:])
			}
		}
	}
}

func (b *block) whiten(r []float64) {
	n := len(b.z)
	for k := range r {
		v := b.v[k*n : (k+1)*n]
		if r[k] -= vector.Dot(r[:k], v); v[k] == 0 {
			r[k] = 0 // this part of the residual is certain
		} else {
			r[k] /= v[k]
		}
	}
}

// likeliest returns the maximum-likelihood κ² h^{2q+1} for a known state at the beginning
// [S19], and overwrites r.
func (b *block) likeliest(r []float64) float64 {
	n := len(b.z)
	b.observe(b.fresh)
	triangularize(b.v, n, n, b.w, b.w)
	b.whiten(r)
	return vector.Dot(r, r) / float64(b.w)
}

func (b *block) disperse(sigma float64) {
	n, own := len(b.z), b.w*b.rows // the columns of z_l, which follow those of z_{l+1}, have own elements
	copy(b.top, b.fresh)
	if sigma != 1 {
		scale(b.top[:n*n], sigma)
	}
	copy(b.tail, b.r[:n*b.rows])
	if b.ratio != 1 {
		level := 1 / b.growth
		for l := range b.q + 1 {
			scale(b.tail[(b.q-l)*own:][:own], level)
			level *= b.ratio
		}
	}
	for i := b.q; i > 0; i-- { // z_l += z_{l+1} for l = q−1 … q−i
		above := b.tail[own:][:i*own]
		for k, x := range b.tail[:len(above)] {
			above[k] += x
		}
	}
}

// reduce also transforms the additional columns of top and tail if `linked`.
func (b *block) reduce(linked bool) {
	n, rows := len(b.z), b.rows
	if linked {
		clear(b.top[n*n : n*(n+rows)])
		clear(b.tail[n*rows : (n+rows)*rows])
		for k := range rows {
			b.tail[(n+k)*rows+k] = 1
		}
	}
	for c := range n {
		below := min(c+1, rows) // the rows of the tail that are not zero in this column
		end := n
		if linked {
			end += below
		}
		reflect(b.top, n, b.tail, rows, c, 0, below, end)
	}
}

// condition leaves in `top` the factor of the joint covariance of the residual and the
// coordinates.
func (b *block) condition(linked bool) {
	w, d, n := b.w, b.m*b.w, len(b.z)
	columns := n
	if linked {
		columns += b.rows
	}
	b.reduce(linked)
	b.observe(b.top)
	// Apart from the rows that contain the residual, the factor remains upper triangular.
	for k := range w {
		b.turns.collect(b.v[k*n:(k+1)*n], k)
		for j := k + 1; j < w; j++ {
			b.turns.apply(b.v[j*n:(j+1)*n], n)
		}
		for c := range columns {
			b.turns.apply(b.top[c*n:(c+1)*n], c+k)
		}
	}
	b.settle(w)
	for k := range w { // the equation holds without rounding errors
		own := b.errors(d + k)
		clear(own)
		for j, c := range b.hjac[k*d : (k+1)*d] {
			if b.ratio != 1 {
				c *= math.Pow(b.ratio, float64(j/w-b.m))
			}
			if c != 0 {
				vector.AddScaled(own, c, b.errors(j))
			}
		}
	}
}

func (b *block) settle(first int) {
	n := len(b.z)
	b.rows = n - first
	level := b.growth
	for p, c := range b.columns { // from z₀ to z_q
		if p >= b.w && b.ratio != 1 && p%b.w == 0 {
			level /= b.ratio
		}
		own := b.errors(p)
		copy(own, b.top[c*n+first:])
		if level != 1 {
			scale(own, level)
		}
	}
}

// correct conditions e, coordinates for steps of length h whose residual is in `white`,
// on a zero residual.
func (b *block) correct(e []float64) {
	w, d, n := b.w, b.m*b.w, len(b.z)
	for k, r := range b.white {
		e[d+k] -= r + vector.Dot(b.hjac[k*d:(k+1)*d], e)
	}
	b.whiten(b.white)
	for p, c := range b.columns {
		if p < d || p >= d+w {
			e[p] -= vector.Dot(b.white, b.top[c*n:])
		}
	}
	for k := range w {
		e[d+k] += vector.Dot(b.hjac[k*d:(k+1)*d], e)
	}
}

func (b *block) update(f []float64) {
	b.innovation(b.white, f)
	b.correct(b.pred)
	b.arrive()
}

func (b *block) arrive() {
	copy(b.z, b.pred)
	rescale(b.z, b.w, 1/b.ratio)
}

func (b *block) innovation(dst, f []float64) {
	d, weight := b.m*b.w, b.weight(b.h)
	for k := range b.w {
		dst[k] = b.pred[d+k] - weight*f[k]
	}
}
