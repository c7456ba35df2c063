package methods

import (
	"cmp"
	"math"

	"github.com/probode/probode/pkg/probode"
)

// This file solves the equations of steps that need to be no more accurate than the
// tolerance: see probode.Step.Permitted. As in CVODE, the Jacobian and the factors of
// earlier steps are used again while Newton's method converges with them [Brown, Byrne &
// Hindmarsh 1989, SIAM J. Sci. Stat. Comput. 10, 1038].

// A keptJacobian says for which equation the Jacobian and the factors of an implicit were
// computed. The zero value means that they cannot be used again.
type keptJacobian struct {
	inv  float64 // see inv
	rate float64 // rate of convergence with these factors; 0 if it is not known
	age  int     // the number of steps since the Jacobian was evaluated
}

// inv returns a measure of 1/h: all factors of a method are those of cI − J with c in
// proportion to it.
func (s *implicit) inv() float64 { return s.table.modes[0].re / s.h }

// approach solves the equation s.eq to a small fraction of the permitted error, and
// reports whether it could. The iteration starts at s.initial. If necessary, f and the
// Jacobian are evaluated at (t, x).
func (s *implicit) approach(t float64, x, permitted []float64) bool {
	const (
		old   = 20  // steps after which the Jacobian is evaluated again
		slow  = 0.3 // rate of convergence above which the Jacobian is evaluated again
		drift = 0.3 // relative change of γh above which the matrix is factorised again
	)
	e, known := &s.kept, s.eq.known
	for fresh := e.inv == 0 || e.age >= old || e.rate > slow; ; fresh = true {
		if fresh {
			if s.center(t, x, s.eq.theta) != nil {
				return false
			}
		} else if inv := s.inv(); math.Abs(inv/e.inv-1) > drift {
			if e.inv, e.rate = inv, 0; !s.factorize() {
				e.inv = 0
				return false
			}
		}
		copy(s.z, s.initial)
		s.eq.known = known && fresh
		if s.iterateKept(permitted) {
			e.age++
			return true
		}
		if fresh {
			return false
		}
	}
}

// center evaluates f and J at (t, x) and factorises the matrices.
func (s *implicit) center(t float64, x, theta []float64) error {
	s.kept = keptJacobian{}
	s.eval.Evaluate(s.f0, s.jac, t, x, theta)
	if !s.factorize() && !(s.eval.Repair(s.f0, s.jac, t, x, theta) && s.factorize()) {
		return probode.ErrSingular
	}
	s.kept.inv = s.inv()
	return nil
}

// stale returns the factor by which solutions with the kept factors are multiplied. If γ
// and h have changed since the factors were computed, the factors are those of c′I − J for
// another c′; if nothing is known about J, the best factor of (cI − J)⁻¹ is 2c′/(c + c′).
func (s *implicit) stale() float64 { return 2 * s.kept.inv / (s.inv() + s.kept.inv) }

// iterateKept solves the equation by simplified Newton iteration from z, and reports
// whether its remaining error is a small fraction of the permitted one. With the fraction
// that CVODE uses, 0.1, the log-likelihoods of published models had up to ten times the
// error that they have if the equations are solved up to rounding errors, and cost the
// same. Unlike CVODE, it measures the rate of convergence in every step: with a Jacobian
// that has become much too large, as near a pole, every correction is small.
func (s *implicit) iterateKept(permitted []float64) bool {
	const (
		most     = 7
		fraction = 0.01
		forget   = 0.3 // the rate, from 1 at first, falls at most to this fraction in an iteration
	)
	e, stale, before := &s.kept, s.stale(), 0.
	for m := range most {
		s.eq.residual(s, s.r, s.z)
		s.solve(s.u, s.r)
		size := 0.
		for j := range s.table.stages {
			z, u := s.stage(s.z, j), s.stage(s.u, j)
			for k, v := range u {
				v *= stale
				z[k] += v
				if r := math.Abs(v) / permitted[k]; !(r <= size) {
					size = r
				}
			}
		}
		if m > 0 {
			e.rate = max(forget*cmp.Or(e.rate, 1), size/before)
		}
		switch {
		case size == 0 || m > 0 && size < before/2 && size*e.rate <= fraction:
			return true
		case size-size != 0 || m > 0 && !(size < before/2):
			return false
		}
		before = size
	}
	return false
}
