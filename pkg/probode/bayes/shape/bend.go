package shape

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// bent returns x + d + c/2, which follows a curved ridge by the acceleration c of the
// predictions. It is nil if c is unknown, or not small compared with d. Coordinates with
// d = 0 do not move. Source: Transtrum & Sethna (2012), arXiv:1201.5885.
func (a *Ascent) bent(d []float64, damping float64) []float64 {
	const largest = 0.75 // of the acceleration, times half the length of the step
	if a.Bend == nil || a.U != nil || !a.fresh {
		return nil
	}
	v := a.Bend(a.X, d)
	if v == nil {
		return nil
	}
	to, low, high := slices.Clone(a.X), make([]float64, len(d)), make([]float64, len(d))
	for k := range d {
		to[k] = min(max(a.X[k]+d[k], a.Low[k]), a.High[k])
		if d[k] != 0 {
			low[k], high[k] = a.Low[k]-to[k], a.High[k]-to[k]
		}
		v[k] /= 2
	}
	c, ok := a.boxed(a.Information, v, damping, low, high)
	if !ok || a.length(c) > largest*a.length(d) {
		return nil
	}
	floats.Add(to, c)
	return to
}

// Toward moves coordinate k by h. Toward also moves the other coordinates, to minimise
// the drop in the log density that the quadratic term of the expansion predicts. Toward
// returns the new point, and the log density that the expansion predicts there. With Bend,
// Toward also takes the curvature of the ridge into account. If the derivatives
// cannot be computed, x is nil. If the log density has kinks, only coordinate k is moved.
func (a *Ascent) Toward(f Function, k int, h float64) (x []float64, value float64) {
	const least = 1e-2 // damping that does not matter where standard deviations are below 10
	if !(a.Known && a.fresh) && !a.expand(f) {
		return nil, 0
	}
	n := len(a.X)
	g, low, high := make([]float64, n), make([]float64, n), make([]float64, n)
	damping := least
	for j := range n {
		damping = max(damping, 1e-14*a.unit(j)*a.unit(j)*a.Information.At(j, j)) // rounding
		if j != k {
			g[j] = -h * a.Information.At(j, k)
			low[j], high[j] = min(0, a.Low[j]-a.X[j]), max(0, a.High[j]-a.X[j])
		}
	}
	d := make([]float64, n)
	if a.U == nil {
		if step, ok := a.boxed(a.Information, g, damping, low, high); ok {
			d = step
		}
	}
	d[k] = h
	x = slices.Clone(a.X)
	floats.Add(x, d)
	step := mat.NewVecDense(n, d)
	value = a.Value + mat.Dot(step, a.Gradient) - mat.Inner(step, a.Information, step)/2
	low, high = a.Low, a.High
	a.Low, a.High = slices.Clone(low), slices.Clone(high)
	a.Low[k], a.High[k] = x[k], x[k]
	if to := a.bent(d, damping); to != nil {
		x = to
	}
	a.Low, a.High = low, high
	return x, value
}

// Nonlinear returns the vector −Jᵀ I r″ that Ascent.Bend must return. Nonlinear may
// be called only if the last call to Expand was at x. The second derivatives r″ are
// computed from the locations at x + hd, with h = 0.1. If the density cannot be evaluated
// at x + 0.1d, h is 0.01.
func (s *Surface) Nonlinear(x, d []float64) []float64 {
	for _, h := range []float64{0.1, 0.01} {
		to := slices.Clone(x)
		floats.AddScaled(to, h, d)
		if math.IsInf(s.Value(to), 0) {
			continue
		}
		out := make([]float64, len(x))
		for i := range s.parts {
			p := &s.parts[i]
			second := s.e.Part(i).Locations(nil)
			for j := range second {
				second[j] -= p.origin[j]
				for m, k := range p.cols {
					second[j] -= h * d[k] * p.slopes[j*len(p.cols)+m]
				}
				second[j] *= 2 / (h * h)
			}
			for _, c := range p.cells {
				n := len(c.Score)
				for i := range n {
					var sum float64
					for j := range n {
						sum += c.Information[i*n+j] * second[c.At+j]
					}
					for m, k := range p.cols {
						out[k] -= sum * p.slopes[(c.At+i)*len(p.cols)+m]
					}
				}
			}
		}
		if finite(out...) {
			return out
		}
	}
	return nil
}

// Deviation returns the standard deviation of coordinate k according to the expansion, or
// NaN if the derivatives cannot be computed.
func (a *Ascent) Deviation(f Function, k int) float64 {
	const least = 1e-2 // information about each coordinate, in its unit, that is assumed
	if !(a.Known && a.fresh) && !a.expand(f) {
		return math.NaN()
	}
	n := len(a.X)
	m := mat.NewSymDense(n, nil)
	m.CopySym(a.Information)
	for j := range n {
		m.SetSym(j, j, m.At(j, j)+least/(a.unit(j)*a.unit(j)))
	}
	e, v := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	e.SetVec(k, 1)
	var chol mat.Cholesky
	if !chol.Factorize(m) {
		return 1 / math.Sqrt(m.At(k, k))
	}
	_ = chol.SolveVecTo(v, e) // a large condition number is no failure
	return math.Sqrt(v.AtVec(k))
}
