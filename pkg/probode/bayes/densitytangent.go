package bayes

import (
	"errors"
	"fmt"
	"math"
)

// Tangents writes the derivatives of what is expected of the data at θ, without
// noise, along M directions in θ: dtheta is M×p, row-major, and
//
//	dst[i*M+m] = d/ds Expected(θ + s·dtheta[m])[i] at s = 0.
//
// They come from those of the path (see probode.Solver.SolveTangents), and from
// central differences of Observe, good to about 10⁻⁷. It is errors.ErrUnsupported for
// an accurate solver, for steps that are chosen again at every θ and not held, and
// where event times depend on θ, for there the states at the times of the data are
// not those at grid points that stay.
func (e *Density) Tangents(dst, theta, dtheta []float64) error {
	p := len(e.p.Params)
	m := len(dtheta) / p
	if len(dtheta) != m*p || len(dst) != m*len(e.fit) {
		panic(fmt.Sprintf("bayes: dst and dtheta have lengths %d and %d: want %d·M and %d·M", len(dst), len(dtheta), len(e.fit), p))
	}
	if e.fault != nil {
		return e.fault
	}
	for _, r := range e.runs {
		if e.accurate != nil || r.again != nil && !r.held {
			return errors.ErrUnsupported
		}
		for _, v := range r.x.Problem.Events {
			if v.When != nil {
				return errors.ErrUnsupported
			}
		}
	}
	e.err = nil
	e.tangents(dst, theta, dtheta, m)
	return e.err
}

// tangents sets err, as evaluate does.
func (e *Density) tangents(dst, theta, dtheta []float64, m int) {
	e.at = e.runs[0]
	defer e.recovered(theta)
	p := len(theta)
	for _, r := range e.runs {
		e.at = r
		e.bind(r, theta)
		q, d, c := len(r.theta), r.solver.Problem().Dim(), len(r.errors)
		along := make([]float64, m*q)
		for k, i := range r.param {
			for n := range m {
				if i >= 0 {
					along[n*q+k] = dtheta[n*p+i]
				}
			}
		}
		dz := make([]float64, m*len(r.z))
		*e.work += r.solver.Steps()
		if e.err = e.note(r.solver.SolveTangents(r.z, dz, r.theta, along, nil)); e.err != nil {
			return
		}
		r.at.At(r.state, r.z)
		one, dx := make([]float64, len(r.z)), make([]float64, len(r.state))
		for n := range m {
			for i := range one {
				if len(dz) > 0 {
					one[i] = dz[i*m+n]
				}
			}
			r.at.At(dx, one)
			for row := range r.x.Data.T {
				r.slope(dst[row*c*m+n:], m, row, r.state[row*d:(row+1)*d], dx[row*d:(row+1)*d], theta, dtheta[n*p:(n+1)*p])
			}
		}
		dst = dst[m*c*len(r.x.Data.T):]
	}
}

// slope writes the derivative of what is expected of a row along (dx, dtheta), with
// the given stride.
func (r *run) slope(dst []float64, stride, row int, x, dx, theta, dtheta []float64) {
	r.row0 = row
	c := len(r.errors)
	if r.x.Observe == nil {
		for k, i := range r.pick {
			dst[k*stride] = dx[i]
		}
		return
	}
	most := 0.0
	reach := func(x, dx []float64) {
		var size float64
		for _, v := range x {
			size = max(size, math.Abs(v))
		}
		for k, v := range dx {
			if v != 0 {
				most = max(most, math.Abs(v)/max(math.Abs(x[k]), 1e-3*size, 1e-300))
			}
		}
	}
	reach(x, dx)
	reach(theta, dtheta)
	if most == 0 {
		for k := range c {
			dst[k*stride] = 0
		}
		return
	}
	eps := 6e-6 / most // the cube root of the rounding
	var out [2][]float64
	for side, sign := range [2]float64{1, -1} {
		y, th := make([]float64, len(x)), make([]float64, len(theta))
		for k := range x {
			y[k] = x[k] + sign*eps*dx[k]
		}
		for k := range theta {
			th[k] = theta[k] + sign*eps*dtheta[k]
		}
		out[side] = make([]float64, c)
		r.x.Observe(out[side], r.x.Data.T[row], y, th)
	}
	for k := range c {
		dst[k*stride] = (out[0][k] - out[1][k]) / (2 * eps)
	}
}
