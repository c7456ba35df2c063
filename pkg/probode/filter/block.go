package filter

import "math"

// A block is the filter of w components of the state that the Jacobian couples. These are
// all components if the filter uses the full Jacobian. If it uses the diagonal, or no
// Jacobian, each component has a block of its own.
//
// The coordinates are those of steps of length unit. The covariance is
// κ² unit^{2q+1} RᵀR, with the rows of R in the coordinates z₀, z₂, …, z_q. After a step
// the equation x′ = f holds without uncertainty, up to linearisation, so the row of z₁
// is a multiple of that of z₀: e₁ = unit J e₀.
type block struct {
	q, w  int
	unit  float64
	noise []float64 // L, see wiener
	z     []float64 // mean
	rows  int       // rows of r; 0 at the start, which is exact
	r     []float64 // up to q·w rows of length q·w
	jac   []float64 // J of the last linearisation, w×w

	// These belong to a step of length h.
	h, ratio  float64
	pred      []float64 // predicted mean
	hjac      []float64 // h J
	m         []float64 // (2q+1)w rows, and their triangular factor
	full, sum []float64
	white     []float64 // the residual, multiplied by the inverse of the factor of its covariance
}

func newBlock(q, w int, unit float64, noise []float64) *block {
	n := (q + 1) * w
	return &block{q: q, w: w, unit: unit, noise: noise, z: make([]float64, n), r: make([]float64, q*w*q*w), jac: make([]float64, w*w),
		pred: make([]float64, n), hjac: make([]float64, w*w), m: make([]float64, (2*q+1)*w*n), full: make([]float64, n), sum: make([]float64, n), white: make([]float64, w)}
}

// predict computes the mean at the end of a step of length h.
func (b *block) predict(h float64) {
	b.h, b.ratio = h, h/b.unit
	copy(b.pred, b.z)
	b.toStep(b.pred, 1)
	shift(b.pred, b.q, b.w)
}

// toStep changes coordinates to those of the step, and multiplies them by c.
func (b *block) toStep(z []float64, c float64) {
	if b.ratio != 1 || c != 1 {
		rescale(z, b.w, b.ratio, c)
	}
}

// toUnit changes coordinates of the step to those of the block.
func (b *block) toUnit(z []float64, c float64) {
	if b.ratio != 1 || c != 1 {
		rescale(z, b.w, 1/b.ratio, c)
	}
}

// grow returns ratio^{q+1/2}, the factor by which the noise of the step exceeds that of a
// step of length unit.
func (b *block) grow() float64 {
	if b.ratio == 1 {
		return 1
	}
	return math.Pow(b.ratio, float64(b.q)+0.5)
}

// lift writes row i of R to dst in all coordinates.
func (b *block) lift(dst []float64, i int) {
	w := b.w
	n := b.q * w
	row := b.r[i*n : (i+1)*n]
	copy(dst, row[:w])
	copy(dst[2*w:], row[w:])
	for k := range w {
		var v float64
		for j := range w {
			v += b.jac[k*w+j] * row[j]
		}
		dst[w+k] = b.unit * v
	}
}

// linearize sets the Jacobian of the step, w×w, at the predicted mean.
func (b *block) linearize(jac []float64) {
	for k, v := range jac {
		b.hjac[k] = b.h * v
	}
}

// residual writes h(x′ − f) for the coordinates e of the step to dst, with f = J e₀.
func (b *block) residual(dst, e []float64) {
	w := b.w
	for k := range w {
		v := e[w+k]
		for j, c := range b.hjac[k*w : (k+1)*w] {
			v -= c * e[j]
		}
		dst[k] = v
	}
}

// scatter returns the covariance of the residual in a step from a known state, with κ = 1
// and divided by h^{2q+1}, as a w×w matrix in dst.
func (b *block) scatter(dst []float64) {
	w, n := b.w, b.q+1
	var q00, q01, q11 float64
	for j := range n {
		q00 += b.noise[j] * b.noise[j]
		q01 += b.noise[j] * b.noise[n+j]
		q11 += b.noise[n+j] * b.noise[n+j]
	}
	for i := range w {
		for j := range w {
			v := -q01 * (b.hjac[i*w+j] + b.hjac[j*w+i])
			if i == j {
				v += q11
			}
			for k := range w {
				v += q00 * b.hjac[i*w+k] * b.hjac[j*w+k]
			}
			dst[i*w+j] = v
		}
	}
}

// condition computes the covariance after the step, given that the residual is zero. The
// noise of the step is multiplied by sigma. The factor of the joint covariance of the
// residual and of z₀, z₂, …, z_q at the end of the step remains in m.
func (b *block) condition(sigma float64) {
	q, w := b.q, b.w
	n := (q + 1) * w
	at := 0
	put := func() {
		row := b.m[at : at+n]
		b.residual(row, b.full)
		copy(row[w:2*w], b.full[:w])
		copy(row[2*w:], b.full[2*w:])
		at += n
	}
	grow := b.grow()
	for i := range b.rows {
		b.lift(b.full, i)
		b.toStep(b.full, 1/grow)
		shift(b.full, q, w)
		put()
	}
	for j := range q + 1 {
		for k := range w {
			clear(b.full)
			for i := 0; i+j <= q; i++ {
				b.full[i*w+k] = sigma * b.noise[i*(q+1)+j]
			}
			put()
		}
	}
	triangularize(b.m, at/n, n, b.sum)
	for k := range b.jac {
		b.jac[k] = b.hjac[k] / b.h
	}
	b.rows = q * w
	for i := range b.rows {
		row := b.r[i*q*w : (i+1)*q*w]
		clear(row[:i])
		copy(row[i:], b.m[(w+i)*n+w+i:(w+i+1)*n])
		if b.ratio != 1 {
			rescale(row[:w], w, 1, grow)
			rescale(row[w:], w, 1/b.ratio, grow/(b.ratio*b.ratio))
		}
	}
}

// correct moves the coordinates e of the step to their conditional mean, given that their
// residual, which is in white, is zero.
func (b *block) correct(e []float64) {
	w := b.w
	n := (b.q + 1) * w
	for k := range w {
		e[w+k] -= b.white[k]
		for j, c := range b.hjac[k*w : (k+1)*w] {
			e[w+k] -= c * e[j]
		}
	}
	solveTransposed(b.m, n, w, b.white, 0)
	for i, y := range b.white {
		add(e[:w], -y, b.m[i*n+w:i*n+2*w])
		add(e[2*w:], -y, b.m[i*n+2*w:(i+1)*n])
	}
	for k := range w {
		for j, c := range b.hjac[k*w : (k+1)*w] {
			e[w+k] += c * e[j]
		}
	}
}

// update moves the mean, given f at the predicted mean.
func (b *block) update(f []float64) {
	w := b.w
	for k := range w {
		b.white[k] = b.pred[w+k] - b.h*f[k]
	}
	b.correct(b.pred)
	copy(b.z, b.pred)
	b.toUnit(b.z, 1)
}

// move moves the coordinates z by c times a row without z₁, along which x′ = f holds.
func (b *block) move(z []float64, c float64, row []float64) {
	w := b.w
	add(z[:w], c, row)
	add(z[2*w:], c, row[w:])
	for k := range w {
		for j := range w {
			z[w+k] += c * b.unit * b.jac[k*w+j] * row[j]
		}
	}
}
