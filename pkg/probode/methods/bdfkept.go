package methods

import (
	"cmp"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// This file solves the equations of steps that need to be no more accurate than the
// tolerance: see probode.Step.Permitted. As in CVODE, the Jacobian and the factors of
// earlier steps are used again while Newton's method converges with them [Brown, Byrne &
// Hindmarsh 1989, SIAM J. Sci. Stat. Comput. 10, 1038].

// A keptJacobian says for which equation the Jacobian and the factors of a bdf were
// computed. The zero value means that there are none.
type keptJacobian struct {
	inv  float64 // 1/γh of the factors
	rate float64 // rate of convergence with these factors; 0 if it is not known
	age  int     // the number of steps since the Jacobian was evaluated
}

// inv returns 1/γh of the current step.
func (b *bdf) inv() float64 { return b.table.modes[0].re / b.h }

// approach solves the equation of the step s to a small fraction of the tolerance, and
// reports whether it could. The iteration starts at Z_{i+1} = y.
func (b *bdf) approach(y []float64, s *probode.Step) bool {
	const (
		old   = 20  // steps after which the Jacobian is evaluated again
		slow  = 0.3 // rate of convergence above which the Jacobian is evaluated again
		drift = 0.3 // relative change of γh above which the matrix is factorised again
	)
	e := &b.kept
	for fresh := e.inv == 0 || e.age >= old || e.rate > slow; ; fresh = true {
		if fresh {
			if b.center(y, s.Theta) != nil {
				return false
			}
		} else if inv := b.inv(); math.Abs(inv/e.inv-1) > drift {
			if e.inv, e.rate = inv, 0; !b.factorize() {
				e.inv = 0
				return false
			}
		}
		for k, v := range b.psi {
			b.z[k] = y[k] - v
		}
		b.eq = equations{b.psi, s.Theta, fresh} // center has computed f
		if b.iterateKept(s.Permitted) {
			e.age++
			return true
		}
		if fresh {
			return false
		}
	}
}

// iterateKept solves the equation by simplified Newton iteration from z, and reports
// whether its remaining error is a small fraction of the permitted one. With the fraction
// that CVODE uses, 0.1, the log-likelihoods of published models had up to ten times the
// error that they have if the equations are solved up to rounding errors, and cost the
// same. Unlike CVODE, it measures the rate of convergence in every step: with a Jacobian
// that has become much too large, as near a pole, every correction is small. If γ and h
// have changed since the factors were computed, the factors are those of cI − J for another
// c; the mean of both c, in the sense of 2cc′/(c + c′), is the best factor of the residual
// if nothing is known about J.
func (b *bdf) iterateKept(permitted []float64) bool {
	const (
		most     = 4
		fraction = 0.01
		forget   = 0.3 // the rate, from 1 at first, falls at most to this fraction in an iteration
	)
	e, inv, before := &b.kept, b.inv(), 0.
	mean := 2 * inv * e.inv / (inv + e.inv)
	for m := range most {
		b.eq.residual(b.implicit, b.r, b.z)
		for k, v := range b.r {
			b.u[k] = mean * v
		}
		b.real[0].Solve(b.u)
		size := 0.
		for k, v := range b.u {
			if r := math.Abs(v) / permitted[k]; !(r <= size) {
				size = r
			}
		}
		vector.AddScaled(b.z, 1, b.u)
		if m > 0 {
			e.rate = max(forget*cmp.Or(e.rate, 1), size/before)
		}
		switch {
		case size-size != 0 || m > 0 && size > 2*before:
			return false
		case size == 0 || m > 0 && size < before/2 && size*e.rate <= fraction:
			return true
		}
		before = size
	}
	return false
}
