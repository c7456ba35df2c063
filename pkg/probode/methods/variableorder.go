package methods

import "math"

// Error control of BDF. As in the codes of the family, a step keeps its length
// and order for k+1 steps behind a change, without which neither formulas nor
// estimates are what they are for equal steps; then the order among k−1, k and
// k+1 is taken that allows the longest step, with their biases against a step
// that is as long as it may be, 1.2 for the order at hand, 1.3 and 1.4 for the
// lower and higher one, and no change below a tenth (Hindmarsh 1983, ODEPACK;
// Petzold 1983; [HNW93, §III.7]).

// longer returns the factor that takes an error of the given size, of order q in
// h, to one, with a bias.
func longer(size, bias, q float64) float64 {
	return 1 / (bias*math.Pow(size, 1/q) + 1e-6)
}

// Choose chooses the next step, or order and length of one that failed.
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
		b.since = max(0, b.k-2) // to look again in three steps
		return 1
	}
	b.next, b.since = k, 0
	if k == 1 { // no formula of order 1 minds
		return min(10, best)
	}
	return min(2, best)
}

// lower follows a step that failed.
func (b *bdf) lower(i int, size float64, next []float64, units func([]float64) float64) float64 {
	b.since = 0
	b.fails++
	if b.choosing && b.fails > 2 {
		b.next = 1 // the past has nothing to say
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

// estimated is longer for the estimate of another order.
func (b *bdf) estimated(i, k int, bias float64, next []float64, units func([]float64) float64) float64 {
	b.estimate(b.other, i, k, next)
	return longer(units(b.other), bias, float64(k+1))
}

// Chosen returns the order of the last step where it was chosen.
func (b *bdf) Chosen() int {
	if b.choosing {
		return b.k
	}
	return 0
}
