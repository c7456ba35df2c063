package methods

import (
	"fmt"
	"math"
)

// A formula of k steps hands errors on by a recursion that depends on the ratios
// of the steps. Where steps grow too fast for too long it multiplies them, even
// of f = 0. Error control sees that; a grid that somebody has made has to be
// looked at before.

// checkGrid refuses a grid of somebody's own that is shorter than the start, so
// that none of its steps would be one of BDF, and one on which errors grow without
// bound. With eᵢ
// the errors that a path has where f = 0, their differences dᵢ = eᵢ − eᵢ₋₁ follow
// a recursion without the root 1, by which errors merely add up:
//
//	d_{i+1} = ±1 − Σ_{m=1}^{k−1} T_m d_{i+1−m}.
//
// On steps of equal length they stay below 20 for all orders.
func (b *bdf) checkGrid() error {
	const most = 1e4
	if b.first == 0 || b.g.Local() != nil || len(b.g.Times()) == 0 {
		return nil
	}
	if n := b.g.Steps(); n <= b.first {
		return fmt.Errorf("%v takes %d steps to start and the grid has %d: want a smaller step", b.method, b.first, n)
	}
	if b.uniform {
		return nil
	}
	var d [bdfWindow]float64
	signs := uint64(0x9e3779b97f4a7c15)
	for i := range b.g.Steps() {
		if b.begin, _ = b.g.Segment(i); b.begin > i || b.g.H(i) == 0 {
			continue // an event
		}
		b.k = b.order(i)
		v := float64(1)
		if signs = signs<<1 | signs>>63; signs&1 == 0 {
			v = -1
		}
		if b.k > 0 {
			b.gamma = b.gammaOf(i, b.k)
			b.extrapolate(&b.known, i, b.k, true)
			for m := 1; m < b.k; m++ {
				v -= b.known[m] * d[(i-m)&(bdfWindow-1)]
			}
		}
		if d[i&(bdfWindow-1)] = v; math.Abs(v) > most {
			return fmt.Errorf("%v multiplies errors by more than %g up to t = %g, as the steps before grow too fast: want steps that grow more slowly, an error-controlled run, or a one-step method", b.method, most, b.g.Times()[i+1])
		}
	}
	b.gamma = 0
	return nil
}
