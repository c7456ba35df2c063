package filter

import (
	"errors"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// The filter begins with the exact derivatives of the solution up to order q, without
// uncertainty. These derivatives are computed one after another. Each Taylor polynomial
// of x(t) determines the Taylor polynomial of f(t, x(t)) of the same degree. Integrating
// a Taylor polynomial of f gives the next Taylor polynomial of x. The Taylor coefficients
// of f(t, x(t)) are found by interpolation at Chebyshev points in an interval that
// contains the start. F may therefore be any smooth function. The interval is shortened
// until the last coefficients of the interpolation polynomial contain only rounding
// errors.

var errTaylor = errors.New("the function F has no Taylor series at this point: F must be smooth after the start and after each event")

type taylor struct {
	p     *probode.Problem
	q     int
	n     int          // number of Chebyshev points
	sides [2]chebyshev // points on both sides of the start, and points after it
	z, x  []float64
	g     []float64 // f at the points
}

// chebyshev has points in [−1, 1] or [0, 1], and weights that give the first coefficients
// of the polynomial from the values.
type chebyshev struct {
	points  []float64
	weights [][]float64
	tail    [2][]float64 // weights for the last two coefficients in Chebyshev's basis
}

func newTaylor(p *probode.Problem, q int) *taylor {
	d, n := p.Dim(), q+13
	return &taylor{p: p, q: q, n: n,
		z: make([]float64, (q+1)*d), x: make([]float64, d), g: make([]float64, n*d)}
}

func newChebyshev(n, q int, after bool) chebyshev {
	c := chebyshev{points: make([]float64, n), weights: make([][]float64, q)}
	for k := range c.weights {
		c.weights[k] = make([]float64, n)
	}
	a, b := 0., 1. // Chebyshev's variable is a + b s
	if after {
		a, b = -1, 2
	}
	cosines := make([]float64, 4*n)
	for k := range cosines {
		cosines[k] = math.Cos(math.Pi * float64(k) / float64(2*n))
	}
	value := func(m, j int) float64 { return cosines[m*(2*j+1)%(4*n)] }
	for j := range c.points {
		c.points[j] = (value(1, j) - a) / b
	}
	now, next := make([]float64, q), make([]float64, q) // Chebyshev's polynomials as polynomials in s
	now[0], next[0] = 1, a
	if q > 1 {
		next[1] = b
	}
	for m := range n {
		for k, v := range now {
			for j := range n {
				c.weights[k][j] += v * value(m, j) * 2 / float64(n)
			}
		}
		if m == 0 {
			for j := range n {
				c.weights[0][j] /= 2
			}
		}
		after := make([]float64, q)
		for k := range after {
			after[k] = 2*a*next[k] - now[k]
			if k > 0 {
				after[k] += 2 * b * next[k-1]
			}
		}
		now, next = next, after
	}
	for i := range c.tail {
		c.tail[i] = make([]float64, n)
		for j := range n {
			c.tail[i][j] = value(n-2+i, j) * 2 / float64(n)
		}
	}
	return c
}

// at stores the series in z, as Nordsieck coordinates for steps of length h.
func (s *taylor) at(z []float64, h, t float64, x, theta []float64) error {
	d := len(x)
	best := math.Inf(1)
	for side := range s.sides {
		if side == 0 && !s.p.Autonomous {
			continue // an event, or the end of the span, may come just before t
		}
		if s.sides[side].points == nil {
			s.sides[side] = newChebyshev(s.n, s.q, side == 1)
		}
		tau := max(8*h, (s.p.Span[1]-s.p.Span[0])/100) // h may be tiny, and steps grow later
		for range 40 {
			if worst := s.try(&s.sides[side], tau, h, t, x, theta); worst < best {
				best = worst
				copy(z, s.z)
				rescale(z, d, h/tau)
			}
			if best < 1e-13 {
				return nil
			}
			tau /= 2
		}
	}
	if !(best < 1e-6) {
		return errTaylor
	}
	return nil
}

// try interpolates on an interval of length tau, and returns the estimated relative error
// of a step of length h, by the last two Chebyshev coefficients of f.
func (s *taylor) try(c *chebyshev, tau, h, t float64, x, theta []float64) float64 {
	d := len(x)
	clear(s.z)
	copy(s.z, x)
	for k := range s.q {
		for j, u := range c.points {
			for i := range d {
				v := s.z[k*d+i]
				for m := k - 1; m >= 0; m-- {
					v = v*u + s.z[m*d+i]
				}
				s.x[i] = v
			}
			s.p.F(s.g[j*d:(j+1)*d], t+u*tau, s.x, theta)
		}
		next := s.z[(k+1)*d : (k+2)*d]
		for j, w := range c.weights[k] {
			vector.AddScaled(next, w*tau/float64(k+1), s.g[j*d:(j+1)*d])
		}
	}
	worst, grow := 0., max(1, math.Pow(h/tau, float64(s.q)))
	for i := range d {
		var size, last, other float64
		for j := range c.points {
			g := s.g[j*d+i]
			size = max(size, math.Abs(g))
			last += g * c.tail[0][j]
			other += g * c.tail[1][j]
		}
		if math.IsNaN(last+other) || math.IsInf(size, 0) {
			return math.Inf(1)
		}
		if all := math.Abs(x[i]) + max(h, tau)*size; all > 0 {
			worst = max(worst, tau*max(math.Abs(last), math.Abs(other))*grow/all)
		}
	}
	return worst
}
