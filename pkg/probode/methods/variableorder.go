package methods

import (
	"math"

	"github.com/probode/probode/pkg/probode"
)

// This file implements the error control of BDF. As in other BDF codes, the step length
// and the order are kept for k+1 steps after either of them has changed. If the step
// length grew in every step, the formulas could be unstable. After k+1 steps of the same
// length and order, the order becomes k−1, k or k+1, whichever allows the longest step.
// For the comparison, the step length for each order is divided by the safety factor that
// other BDF codes use: 1.2 for the current order, 1.3 for the lower order and 1.4 for the
// higher order. The step length is increased only if the new step is at least 10 % longer
// (Hindmarsh 1983, ODEPACK; Petzold 1983; [HNW93, §III.7]).

// longer returns the factor by which to multiply the step length. The argument `size` is
// the error of a step in units of the tolerance. The error is assumed to be proportional
// to h^q. Therefore the error becomes 1 if the step length is multiplied by size^(−1/q).
// longer divides this factor by the argument `bias`, which is a safety factor.
func longer(size, bias, q float64) float64 {
	return 1 / (bias*math.Pow(size, 1/q) + 1e-6)
}

// choose chooses the length and the order of the next step or, if the last step failed,
// of the next attempt.
func (b *bdf) choose(s *probode.Step, size float64, units func([]float64) float64) (factor float64, order int) {
	if b.k == 0 { // Radau5
		return min(2, longer(size, 1.2, 6)), 0
	}
	if !(size <= 1) {
		return b.lower(s, size, units)
	}
	b.fails = 0
	if b.since++; b.since <= b.k {
		return 1, s.Order
	}
	i, k, best := b.now, b.k, longer(size, 1.2, float64(b.k+1))
	if b.choosing {
		if b.k > 1 {
			if f := b.estimated(s, b.k-1, 1.3, units); f > best {
				k, best = b.k-1, f
			}
		}
		if b.k < bdfMost && i > b.k {
			if f := b.estimated(s, b.k+1, 1.4, units); f > best {
				k, best = b.k+1, f
			}
		}
	}
	if best < 1.1 {
		b.since = max(0, b.k-2) // the next choice is made after at most three steps
		return 1, s.Order
	}
	if b.since = 0; b.choosing {
		order = k
	}
	if k == 1 { // order 1 has no condition on the steps
		return min(10, best), order
	}
	return min(2, best), order
}

// lower chooses the length and the order of the next attempt after a failed step.
func (b *bdf) lower(s *probode.Step, size float64, units func([]float64) float64) (factor float64, order int) {
	b.since = 0
	b.fails++
	if b.choosing && b.fails > 2 {
		return 0.1, 1 // the past is of no use
	}
	if math.IsInf(size, 1) {
		return 0.1, s.Order
	}
	best := longer(size, 1.2, float64(b.k+1))
	if b.choosing && b.k > 1 {
		if f := b.estimated(s, b.k-1, 1.3, units); f > best {
			return f, b.k - 1
		}
	}
	return best, s.Order
}

// estimated returns the factor by which to multiply the step length. The factor is
// computed from the error estimate for order k.
func (b *bdf) estimated(s *probode.Step, k int, bias float64, units func([]float64) float64) float64 {
	b.estimate(b.other, b.now, k, s)
	return longer(units(b.other), bias, float64(k+1))
}
