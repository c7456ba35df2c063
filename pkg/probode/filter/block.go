package filter

import "math"

// A block is the filter of w components that are coupled by the part of the Jacobian that
// the filter uses. Their equation x′ = f or x″ = f has the order m, so the state of the
// block consists of z₀ for m = 1, and of z₀ and z₁ for m = 2.
//
// The coordinates are those of steps of length unit. The covariance is κ² unit^{2q+1}
// RᵀR, where R has columns for all coordinates except z_m. After a step the equation
// holds without uncertainty, up to linearisation, so the row of z_m follows from those of
// the state: e_m = J e₀, or e_m = J (e₀, e₁).
type block struct {
	q, w, m int
	unit    float64
	noise   []float64 // L, see wiener
	z       []float64 // mean
	rows    int       // rows of r; 0 at the start, which is exact
	r       []float64 // up to q·w rows of length q·w
	jac     []float64 // J of the last linearisation, w×mw

	// These fields belong to a step of length h.
	h, ratio  float64
	pred      []float64 // predicted mean
	hjac      []float64 // J in the coordinates of the step
	a         []float64 // (2q+1)w rows in the order z_m or the residual, state, other coordinates; or their triangular factor
	count     int       // number of rows of a
	full, sum []float64
	white     []float64 // the residual, multiplied by the inverse of the factor of its covariance
}

func newBlock(q, w, m int, noise []float64) *block {
	n := (q + 1) * w
	return &block{q: q, w: w, m: m, unit: 1, noise: noise, z: make([]float64, n), r: make([]float64, q*w*q*w), jac: make([]float64, w*m*w),
		pred: make([]float64, n), hjac: make([]float64, w*m*w), a: make([]float64, (2*q+1)*w*n), full: make([]float64, n), sum: make([]float64, n), white: make([]float64, w)}
}

// level returns the factor by which coordinate j must be multiplied to get the state. The
// coordinates are those of steps of length unit.
func (b *block) level(j int, unit float64) float64 {
	if j < b.w {
		return 1
	}
	return 1 / unit
}

// weight returns the factor of f in z_m for steps of length h.
func (b *block) weight(h float64) float64 {
	if b.m == 1 {
		return h
	}
	return h * h / 2
}

// predict computes the mean at the end of a step of length h.
func (b *block) predict(h float64) {
	b.h, b.ratio = h, h/b.unit
	copy(b.pred, b.z)
	b.toStep(b.pred, 1)
	shift(b.pred, b.q, b.w)
}

// toStep converts coordinates of the block to those of the step, and multiplies them by
// c.
func (b *block) toStep(z []float64, c float64) {
	if b.ratio != 1 || c != 1 {
		rescale(z, b.w, b.ratio, c)
	}
}

// toUnit converts coordinates of the step to those of the block, and multiplies them by
// c.
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

// lift writes row i of R to dst, and inserts the elements for z_m.
func (b *block) lift(dst []float64, i int) {
	n, d := b.q*b.w, b.m*b.w
	row := b.r[i*n : (i+1)*n]
	copy(dst, row[:d])
	copy(dst[d+b.w:], row[d:])
	multiply(dst[d:d+b.w], b.jac, row[:d])
}

// multiply sets dst to the product of the row-major matrix a and x.
func multiply(dst, a, x []float64) {
	for k := range dst {
		var v float64
		for j, c := range a[k*len(x):][:len(x)] {
			v += c * x[j]
		}
		dst[k] = v
	}
}

// linearize sets the Jacobian of f with respect to the state of the block, w×mw, in the
// coordinates of steps of length h.
func (b *block) linearize(dst, jac []float64, h float64) {
	weight := b.weight(h)
	for k := range dst {
		dst[k] = weight * b.level(k%(b.m*b.w), h) * jac[k]
	}
}

// residual writes to dst the residual of the linearised equation for the coordinates e of
// the step.
func (b *block) residual(dst, e []float64) {
	w, d := b.w, b.m*b.w
	for k := range w {
		v := e[d+k]
		for j, c := range b.hjac[k*d : (k+1)*d] {
			v -= c * e[j]
		}
		dst[k] = v
	}
}

// scatter returns the covariance of the residual in a step from a known state, with κ = 1
// and divided by h^{2q+1}, as a w×w matrix in dst.
func (b *block) scatter(dst []float64) {
	w, n, d := b.w, b.q+1, b.m*b.w
	clear(dst[:w*w])
	own := b.full[:w]
	for j := range n { // the residual is the sum of independent terms, w for each j
		for c := range w {
			for k := range w {
				own[k] = 0
				for i := range b.m {
					own[k] -= b.noise[i*n+j] * b.hjac[k*d+i*w+c]
				}
			}
			own[c] += b.noise[b.m*n+j]
			for k, v := range own {
				add(dst[k*w:(k+1)*w], v, own)
			}
		}
	}
}

// disperse computes the factor of the predicted covariance, with noise that is multiplied
// by sigma.
func (b *block) disperse(sigma float64) {
	q, w, d := b.q, b.w, b.m*b.w
	n := (q + 1) * w
	grow := b.grow()
	for i := range b.rows {
		b.lift(b.full, i)
		b.toStep(b.full, 1/grow)
		shift(b.full, q, w)
		row := b.a[i*n : (i+1)*n]
		copy(row, b.full[d:d+w])
		copy(row[w:], b.full[:d])
		copy(row[w+d:], b.full[d+w:])
	}
	b.count = b.rows + n
	noise := b.a[b.rows*n : b.count*n]
	clear(noise)
	for i := range q + 1 {
		at := i * w // where z_i begins in a row
		if i == b.m {
			at = 0
		} else if i < b.m {
			at += w
		}
		for j := range q + 1 - i {
			v := sigma * b.noise[i*(q+1)+j]
			for k := range w {
				noise[(j*w+k)*n+at+k] = v
			}
		}
	}
}

// condition computes the covariance after the step, given that the residual is zero. The
// factor of the joint covariance of the residual and of the other coordinates at the end
// of the step remains in a.
func (b *block) condition() {
	q, w, d := b.q, b.w, b.m*b.w
	n := (q + 1) * w
	for i := range b.count {
		row := b.a[i*n : (i+1)*n]
		state := row[w : w+d]
		for k := range w {
			v := row[k]
			for j, c := range b.hjac[k*d:][:len(state)] {
				v -= c * state[j]
			}
			row[k] = v
		}
	}
	triangularize(b.a, b.count, n, b.sum)
	for k, v := range b.hjac { // from the coordinates of the step
		if b.jac[k] = v / b.ratio; b.m == 2 && k%d < w {
			b.jac[k] /= b.ratio
		}
	}
	b.rows = q * w
	grow, back := b.grow(), math.Pow(b.ratio, -float64(b.m+1))
	for i := range b.rows {
		row := b.r[i*q*w : (i+1)*q*w]
		clear(row[:i])
		copy(row[i:], b.a[(w+i)*n+w+i:(w+i+1)*n])
		if b.ratio != 1 {
			rescale(row[:d], w, 1/b.ratio, grow)
			rescale(row[d:], w, 1/b.ratio, grow*back)
		}
	}
}

// correct replaces e, in the coordinates of the step, by its conditional mean given that
// the residual is zero. The field white holds the residual of e.
func (b *block) correct(e []float64) {
	w, d := b.w, b.m*b.w
	n := (b.q + 1) * w
	own := b.full[:w]
	multiply(own, b.hjac, e[:d])
	for k, r := range b.white {
		e[d+k] -= r + own[k]
	}
	solveTransposed(b.a, n, w, b.white, 0)
	for i, y := range b.white {
		add(e[:d], -y, b.a[i*n+w:i*n+w+d])
		add(e[d+w:], -y, b.a[i*n+w+d:(i+1)*n])
	}
	multiply(own, b.hjac, e[:d])
	add(e[d:d+w], 1, own)
}

// update computes the mean after the step from the argument f, the value of f at the
// predicted mean.
func (b *block) update(f []float64) {
	b.innovation(b.white, f)
	b.correct(b.pred)
	copy(b.z, b.pred)
	b.toUnit(b.z, 1)
}

// innovation writes the residual of the prediction to dst.
func (b *block) innovation(dst, f []float64) {
	d, weight := b.m*b.w, b.weight(b.h)
	for k := range b.w {
		dst[k] = b.pred[d+k] - weight*f[k]
	}
}

// move adds c times a direction to z. The argument row holds all components of the
// direction except those for z_m, which follow from the others by the linearised
// equation.
func (b *block) move(z []float64, c float64, row []float64) {
	d := b.m * b.w
	add(z[:d], c, row)
	add(z[d+b.w:], c, row[d:])
	multiply(b.full[:b.w], b.jac, row[:d])
	add(z[d:d+b.w], c, b.full[:b.w])
}
