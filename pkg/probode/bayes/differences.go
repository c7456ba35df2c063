package bayes

import (
	"math"
	"slices"
)

type differ struct {
	up, down, last, best, kept []float64
	at                         []float64 // the arguments of Observe: a state and θ
}

func newDiffer(columns, arguments int) *differ {
	new := func() []float64 { return make([]float64, columns) }
	return &differ{up: new(), down: new(), last: new(), best: new(), kept: new(), at: make([]float64, arguments)}
}

// relative is the step of a difference per size of the quantity, the cube root of the
// rounding error.
const relative = 6e-6

// central writes the derivatives of move(y, h) at h = 0 to every `stride`-th element. y
// changes noticeably as h changes by `size`.
func (w *differ) central(dst []float64, stride int, size float64, move func(y []float64, h float64)) {
	h := relative * size
	move(w.up, h)
	move(w.down, -h)
	for k := range w.up {
		dst[k*stride] = (w.up[k] - w.down[k]) / (2 * h)
	}
}

// shrink is central for a quantity of unknown size, such as a state component much
// smaller than others: steps must be larger than one that is zero but for rounding, and
// smaller than one of which Observe takes the logarithm. It begins with 8 `size` and
// divides by 8, until two derivatives agree (to about 1e-8), or returns those that
// changed least.
func (w *differ) shrink(dst []float64, stride int, size float64, move func(y []float64, h float64)) {
	const agree, most = 1e-6, 17
	for k := range w.best { // nothing is known yet, and NaN agrees with nothing
		w.last[k], w.best[k], w.kept[k] = math.NaN(), math.Inf(1), math.NaN()
	}
	size *= 8
	for n := 0; n < most && slices.Max(w.best) > agree; n++ {
		w.central(dst, stride, size, move)
		for k, before := range w.last {
			now := dst[k*stride]
			change := math.Abs(now - before)
			if change > 0 {
				change /= max(math.Abs(now), math.Abs(before))
			}
			if change < w.best[k] && w.best[k] > agree {
				w.best[k], w.kept[k] = change, now
			}
			w.last[k] = now
		}
		size /= 8
	}
	for k, v := range w.kept {
		dst[k*stride] = v
	}
}
