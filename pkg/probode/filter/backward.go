package filter

import "math"

// Given the equation up to a grid point, the solution is a Markov chain that runs
// backwards in time: at each point it is Gaussian given the solution at the next point.
// Smoothing, draws and the likelihood of Fenrir follow that chain.

// A backward is the distribution of the error e at a grid point, given the coordinates at
// the next one. Errors are differences from the means of the filter.
type backward struct {
	*block
	n   int       // number of coordinates of the next point that are used
	a   []float64 // triangular factor of the joint covariance, with n+len(z) columns
	sum []float64
	y   []float64
	// rest is the number of rows of the factor of the conditional covariance, given the
	// next point. These rows of a begin at row n and must be multiplied by grow.
	rest int
	grow float64
	step bool
}

// The method before prepares k for the point that precedes c.points[i] and has the
// distribution p.
func (k *backward) before(c *chain, p *point, i int) {
	next := &c.points[i]
	n, w, q, d := len(c.z), c.w, c.q, c.m*c.w
	rows := len(p.rows) / n
	k.block, k.n, k.grow, k.step = c.block, n, 1, next.jump == nil
	noise := n
	if !k.step {
		k.n, noise = d, 0
	} else {
		c.h, c.ratio = next.h, next.h/c.unit
		k.grow = c.block.grow()
	}
	columns := k.n + n
	k.a = resize(k.a, (rows+noise)*columns)
	clear(k.a)
	for r := range rows {
		row, e := k.a[r*columns:(r+1)*columns], p.rows[r*n:(r+1)*n]
		copy(row[k.n:], e)
		if k.step {
			rescale(row[k.n:], w, 1, 1/k.grow)
			copy(row[:n], e)
			c.toStep(row[:n], 1/k.grow)
			shift(row[:n], q, w)
			continue
		}
		multiply(row[:d], next.jump, e[:d])
	}
	for j := range noise {
		for i := 0; i+j/w <= q; i++ {
			k.a[(rows+j)*columns+i*w+j%w] = next.sigma * c.noise[i*(q+1)+j/w]
		}
	}
	k.sum, k.y = resize(k.sum, columns), resize(k.y, n)
	triangularize(k.a, rows+noise, columns, k.sum)
	k.rest = max(0, min(rows+noise, columns)-k.n)
	clearBelow(k.a, min(rows+noise, columns), columns)
}

// mean writes to dst the conditional mean of the error, given the error e of the next
// point, which is the difference from the prediction of the filter there. If e is a row
// of the factor of a covariance, so is dst.
func (k *backward) mean(dst, e []float64) {
	y := k.y[:k.n]
	copy(y, e)
	if k.step {
		k.toStep(y, 1)
	}
	k.whiten(dst, y)
}

// whiten does the work of the method mean for an error y in the coordinates of the step.
// It overwrites y.
func (k *backward) whiten(dst, y []float64) {
	columns := k.n + len(k.z)
	least := 0.0
	if !k.step { // a state that is known before an event is known after it, up to rounding
		least = 1e-12
	}
	solveTransposed(k.a, columns, k.n, y, least)
	clear(dst)
	for i, v := range y {
		add(dst, v, k.a[i*columns+k.n:(i+1)*columns])
	}
}

// pull replaces the coordinates z of the next point by the conditional mean of the
// coordinates of p. The argument next is the mean of the filter at the next point; it
// matters only after an event.
func (k *backward) pull(z []float64, p *point, next []float64) {
	y := k.y[:k.n]
	if k.step {
		pred := append([]float64(nil), p.z...)
		k.toStep(pred, 1)
		shift(pred, k.q, k.w)
		copy(y, z)
		k.toStep(y, 1)
		add(y, -1, pred)
	} else {
		copy(y, z)
		add(y, -1, next[:k.n])
	}
	k.whiten(z, y)
	add(z, 1, p.z)
}

// pullRows returns the factor of the covariance at the point, from the factor at the next
// one.
func (k *backward) pullRows(rows []float64) []float64 {
	n := len(k.z)
	columns := k.n + n
	count := len(rows) / n
	out := make([]float64, (count+k.rest)*n)
	for r := range count {
		k.mean(out[r*n:(r+1)*n], rows[r*n:(r+1)*n])
	}
	for r := range k.rest {
		row := out[(count+r)*n : (count+r+1)*n]
		copy(row, k.a[(k.n+r)*columns+k.n:(k.n+r+1)*columns])
		rescale(row, k.w, 1, k.grow)
	}
	return compress(out, n, k.sum)
}

// draw adds to z a draw of the part of the error that the next point does not determine;
// root is κ unit^{q+1/2}.
func (k *backward) draw(z []float64, root float64, normal func() float64) {
	columns := k.n + len(k.z)
	for r := range k.rest {
		add(z, root*k.grow*normal(), k.a[(k.n+r)*columns+k.n:(k.n+r+1)*columns])
	}
}

// compress returns a factor, with at most n rows, of the covariance whose factor is rows.
func compress(rows []float64, n int, sum []float64) []float64 {
	count := len(rows) / n
	triangularize(rows, count, n, sum)
	clearBelow(rows, min(count, n), n)
	return rows[:min(count, n)*n]
}

// smooth replaces the distributions of c by those given the equation at all grid points.
func (c *chain) smooth() {
	var k backward
	last := len(c.points) - 1
	z, rows := c.points[last].z, c.points[last].rows
	for i := last; i > 0; i-- {
		before, p := &c.points[i-1], &c.points[i]
		k.before(c, before, i)
		smoothed := append([]float64(nil), z...)
		k.pull(smoothed, before, p.z)
		p.z, z = z, smoothed
		p.rows, rows = rows, k.pullRows(rows)
	}
	c.points[0].z, c.points[0].rows = z, rows
}

// scale returns κ unit^{q+1/2}, by which the rows of points must be multiplied.
func (b *block) scale(kappa float64) float64 {
	return kappa * math.Pow(b.unit, float64(b.q)+0.5)
}

// resize returns a slice of n elements, which is v if v is long enough.
func resize(v []float64, n int) []float64 {
	if cap(v) < n {
		return make([]float64, n)
	}
	return v[:n]
}
