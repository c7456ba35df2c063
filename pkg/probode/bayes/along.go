package bayes

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode"
)

const (
	// lentTolerance is the tolerance of a method whose derivatives stand in for those of
	// another, and lentSteps the largest number of its steps: a problem that needs more is
	// stiff.
	lentTolerance, lentSteps = 1e-6, 20000
	// lentError is the largest D at which its predictions count as the same.
	lentError = 0.01
)

// along sets the derivatives of the locations from those of the path, and reports
// whether there are any. The density was last evaluated at x.
func (s *Surface) along(x []float64) bool {
	d := len(x)
	if d != len(s.theta) {
		return false // there are no derivatives with respect to ξ
	}
	s.place(x)
	slopes, directions := make([]float64, d), make([]float64, d*d)
	s.e.Slopes(slopes, x)
	for k, v := range slopes {
		directions[k*d+k] = v
	}
	dst := make([]float64, len(s.e.fit)*d)
	if !s.e.along(dst, s.theta, directions) && !s.lend(dst, directions) {
		return false
	}
	for _, v := range dst {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	at := 0 // of expected values
	for i, r := range s.e.parts {
		p, c := &s.parts[i], len(r.errors)
		w := len(p.cols)
		if p.jac == nil {
			p.jac = make([]float64, len(p.base)*w)
		}
		clear(p.jac)
		jac := p.jac
		row := func(from []float64) {
			for m, k := range p.cols {
				jac[m] = from[k]
			}
			jac = jac[w:]
		}
		for range r.x.Data.T {
			for k, l := range r.errors {
				row(dst[(at+k)*d:][:d])
				for n, of := range l.param {
					switch column := l.column[n]; {
					case of >= 0:
						one := make([]float64, d)
						one[of] = slopes[of]
						row(one)
					case column >= 0:
						row(dst[(at+column)*d:][:d])
					}
				}
			}
			at += c
		}
	}
	return true
}

// lend computes along by a method that stands in, if its predictions of the data are
// the same.
func (s *Surface) lend(dst, directions []float64) bool {
	if !s.asked {
		s.asked = true
		s.lent, _ = s.e.With(probode.Setup{Method: probode.RungeKutta{Tableau: probode.DormandPrince},
			Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: lentTolerance}, MaxSteps: lentSteps}})
	}
	if s.lent == nil {
		return false
	}
	defer s.lent.Hold(s.theta)()
	if !s.lent.along(dst, s.theta, directions) {
		return false
	}
	if _, err := s.lent.LogLikelihood(s.theta, nil); err != nil {
		return false
	}
	var sum float64
	for _, o := range s.Data() {
		delta := s.lent.fit[o.At] - s.e.fit[o.At]
		sum += o.Information * delta * delta
	}
	return math.Sqrt(sum) < lentError
}

// along writes the derivatives of the expected values of the data at θ, without noise,
// along M directions in θ: dtheta is M×p, row-major, and
//
//	dst[i*M+m] = d/ds Expected(θ + s·dtheta[m])[i] at s = 0.
//
// They come from the derivatives of the path (see probode.Tangential), and from
// Experiment.ObserveSlopes or central differences of Observe, which are accurate to
// about 10⁻⁷. It reports whether there are any. There are none for an accurate solver,
// nor for steps that are chosen at every θ, unless they are held.
func (e *Density) along(dst, theta, dtheta []float64) bool {
	for _, r := range e.parts {
		if _, ok := r.now().(probode.Tangential); !ok {
			return false
		}
	}
	if e.err = e.fault; e.err == nil {
		e.tangents(dst, theta, dtheta, len(dtheta)/len(theta))
	}
	return e.err == nil
}

// tangents sets err, like evaluate. A direction counts as much work as a solution. If
// no element of the θ of a problem moves in a direction, it costs nothing for that
// problem.
func (e *Density) tangents(dst, theta, dtheta []float64, m int) {
	e.at = e.parts[0]
	defer e.recovered(theta)
	p := len(theta)
	for _, r := range e.parts {
		e.at = r
		e.bind(r, theta)
		q, d, c := len(r.theta), r.x.Problem.Dim(), len(r.errors)
		var along []float64
		var moved []int // the directions in which the θ of the problem moves
		for n := range m {
			row := make([]float64, q)
			for k, i := range r.param {
				if i >= 0 {
					row[k] = dtheta[n*p+i]
				}
			}
			if slices.ContainsFunc(row, func(v float64) bool { return v != 0 }) {
				along, moved = append(along, row...), append(moved, n)
			}
		}
		path, states := r.now().(probode.Tangential), make([]float64, len(moved)*len(r.state))
		err := path.Tangents(e.ctx, r.state, states, r.theta, along, nil)
		e.work += (1 + len(moved)) * path.Work()
		if e.err = e.note(err); e.err != nil {
			return
		}
		still, slopes := make([]float64, d), make([]float64, c*(d+p))
		for row := range r.x.Data.T {
			x, moves := r.state[row*d:(row+1)*d], moved
			if r.x.ObserveSlopes != nil {
				clear(slopes)
				r.x.ObserveSlopes(slopes, r.x.Data.T[row], x, theta)
			}
			for n := range m {
				dx := still
				if len(moves) > 0 && moves[0] == n {
					k := len(moved) - len(moves)
					dx, moves = states[k*len(r.state)+row*d:][:d], moves[1:]
				}
				to := dst[row*c*m+n:]
				if r.x.ObserveSlopes == nil {
					r.slope(to, m, row, x, dx, theta, dtheta[n*p:(n+1)*p])
					continue
				}
				for k := range c {
					from := slopes[k*(d+p):][:d+p]
					to[k*m] = floats.Dot(from[:d], dx) + floats.Dot(from[d:], dtheta[n*p:(n+1)*p])
				}
			}
		}
		dst = dst[m*c*len(r.x.Data.T):]
	}
}

// slope writes the derivatives of the expected values of a row along (dx, dtheta), with
// the given stride.
func (r *Part) slope(dst []float64, stride, row int, x, dx, theta, dtheta []float64) {
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
	eps := 6e-6 / most // the cube root of the rounding error
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
