package probode

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// A derivative of f can be infinite at a point, as that of x^½ is at x = 0, and the
// formula of a derivative can be undefined there. Often the point is the initial state,
// which the solution leaves at once. Such derivatives are replaced by difference quotients
// over a short distance. Newton's method converges with them. They do not matter to the
// derivative of a path if neither the state nor θ moves in their direction. Solver.exists
// finds out whether they matter by changing the distance.

// replacement tells a Solver that derivatives of f were replaced.
type replacement struct {
	t     float64 // where; NaN if none was replaced
	short bool    // use a shorter distance
}

// distance returns the distance for difference quotients that replace a
// derivative at time t, relative to the size of the variable.
func (p *Problem) distance(t float64) float64 {
	h := cbrtEps
	if r := p.replaced; r != nil {
		if r.t = t; r.short {
			h /= 16
		}
	}
	return h
}

// replaceX replaces the elements of the Jacobian m that are not finite, unless f is not
// finite either. It reports whether there were any.
func (p *Problem) replaceX(m *linalg.Matrix, f []float64, t float64, x, theta []float64) bool {
	if vector.Finite(m.A) || !vector.Finite(f) {
		return false
	}
	quotients, diff, distance := p.NewJacobian(), newDifferencer(p), p.distance(t)
	for _, side := range [2]float64{1, -1} { // f may be undefined on one side
		diff.scale = side * distance / sqrtEps
		diff.jacobian(quotients, t, x, theta, false)
		for i, v := range m.A {
			if v-v != 0 {
				m.A[i] = quotients.A[i]
			}
		}
	}
	return true
}

// replaceTheta does the same for ∂f/∂θ in row-major order.
func (p *Problem) replaceTheta(slopes []float64, t float64, x, theta []float64) {
	n := len(theta)
	if vector.Finite(slopes) {
		return
	}
	distance, at := p.distance(t), slices.Clone(theta)
	f, beside := make([]float64, len(x)), make([]float64, len(x))
	p.F(f, t, x, theta)
	for j, v := range theta {
		for _, side := range [2]float64{1, -1} {
			at[j] = v + side*distance*cmp.Or(math.Abs(v), 1)
			p.F(beside, t, x, at)
			for i := range f {
				if w := &slopes[i*n+j]; *w-*w != 0 {
					*w = (beside[i] - f[i]) / (at[j] - v)
				}
			}
		}
		at[j] = v
	}
}

// exists computes derivatives of a path with the function compute, and
// returns an error if they do not exist. The slices `to` hold the derivatives.
func (s *Solver) exists(compute func() error, to ...[]float64) error {
	r := s.inside.replaced
	r.t = math.NaN()
	if err := compute(); err != nil {
		return err
	}
	if at := r.t; at == at {
		var first [][]float64
		for _, v := range to {
			first = append(first, slices.Clone(v))
		}
		r.short = true
		err := compute()
		if r.short = false; err != nil {
			return err
		}
		for k, list := range to {
			small := 1e-9 * vector.MaxAbs(list)
			for i, v := range list {
				if w := first[k][i]; !(math.Abs(v-w) <= 1e-3*max(math.Abs(v), math.Abs(w))+small) {
					return fmt.Errorf("%s, %v: the derivative of the solution with respect to the parameters does not exist: a derivative of f is infinite at t = %g", s.p.Title(), s.m, at)
				}
			}
		}
	}
	for _, list := range to {
		if !vector.Finite(list) {
			return fmt.Errorf("%s, %v: a derivative of the solution with respect to the parameters is NaN or infinite", s.p.Title(), s.m)
		}
	}
	return nil
}
