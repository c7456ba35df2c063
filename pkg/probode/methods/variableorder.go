package methods

import "math"

// This file implements the error control of BDF. As in other BDF codes, the step length
// and the order are kept for k+1 steps after either of them has changed. If the step
// length grew in every step, the formulas could be unstable. After k+1 steps of the same
// length and order, the order becomes k−1, k or k+1, whichever allows the longest step.
// For the comparison, the step length for each order is divided by the safety factor that
// other BDF codes use: 1.2 for the current order, 1.3 for the lower order and 1.4 for the
// higher order. The step length is increased only if the new step is at least 10 % longer
// (Hindmarsh 1983, ODEPACK; Petzold 1983; [HNW93, §III.7]).

// The function longer() returns the factor by which to multiply the step length. The
// argument `size` is the error of a step in units of the tolerance. The error is assumed
// to be proportional to h^q. Therefore the error becomes 1 if the step length is
// multiplied by size^(−1/q). The function longer() divides this factor by the argument
// `bias`, which is a safety factor.
func longer(size, bias, q float64) float64 {
	return 1 / (bias*math.Pow(size, 1/q) + 1e-6)
}

// Choose chooses the length and the order of the next step or, if the last step failed,
// of the next attempt.
func (b *bdf) Choose(i int, size float64, next []float64, units func([]float64) float64) float64 {
	if b.k == 0 { // Radau5
		return min(2, longer(size, 1.2, 6))
	}
	if !(size <= 1) {
		return b.lower(i, size, next, units)
	}
	b.fails = 0
	if b.since++; b.since <= b.k {
		return 1
	}
	k, best := b.k, longer(size, 1.2, float64(b.k+1))
	if b.choosing {
		if b.k > 1 {
			if f := b.estimated(i, b.k-1, 1.3, next, units); f > best {
				k, best = b.k-1, f
			}
		}
		if b.k < bdfMost && i-b.begin > b.k {
			if f := b.estimated(i, b.k+1, 1.4, next, units); f > best {
				k, best = b.k+1, f
			}
		}
	}
	if best < 1.1 {
		b.since = max(0, b.k-2) // the next choice is made after at most three steps
		return 1
	}
	b.next, b.since = k, 0
	if k == 1 { // order 1 has no condition on the steps
		return min(10, best)
	}
	return min(2, best)
}

// After a failed step, lower() chooses the length and the order of the next attempt.
func (b *bdf) lower(i int, size float64, next []float64, units func([]float64) float64) float64 {
	b.since = 0
	b.fails++
	if b.choosing && b.fails > 2 {
		b.next = 1 // the past is of no use
		return 0.1
	}
	if math.IsInf(size, 1) {
		return 0.1
	}
	best := longer(size, 1.2, float64(b.k+1))
	if b.choosing && b.k > 1 {
		if f := b.estimated(i, b.k-1, 1.3, next, units); f > best {
			b.next, best = b.k-1, f
		}
	}
	return best
}

// The method estimated() returns the factor by which to multiply the step length. The
// factor is computed from the error estimate for order k.
func (b *bdf) estimated(i, k int, bias float64, next []float64, units func([]float64) float64) float64 {
	b.estimate(b.other, i, k, next)
	return longer(units(b.other), bias, float64(k+1))
}

// Chosen returns the order of the last step, or 0 if error control does not choose the
// order.
func (b *bdf) Chosen() int {
	if b.choosing {
		return b.k
	}
	return 0
}
