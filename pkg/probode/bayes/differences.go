package bayes

import (
	"math"
	"slices"
)

// A differ computes derivatives of the values of Observe, along a line, by central
// differences. It owns the workspace for them.
type differ struct {
	up, down, last, best, kept []float64
}

func newDiffer(columns int) *differ {
	new := func() []float64 { return make([]float64, columns) }
	return &differ{up: new(), down: new(), last: new(), best: new(), kept: new()}
}

// relative is the step of the differences, as a fraction of the size of what moves: the
// cube root of the rounding error.
const relative = 6e-6

// central writes the derivatives at h = 0 of the values that move writes to y, to dst at
// intervals of stride elements. Size is the scale on which the values change with h.
func (w *differ) central(dst []float64, stride int, size float64, move func(y []float64, h float64)) {
	h := relative * size
	move(w.up, h)
	move(w.down, -h)
	for k := range w.up {
		dst[k*stride] = (w.up[k] - w.down[k]) / (2 * h)
	}
}

// shrink does the same as central for a move of something that is much smaller than other
// numbers of its kind, such as a state next to larger ones. If it is only the rounding
// error of a sum, it must move by more than its own size; if Observe uses its logarithm, it
// must not. So the size is divided by 8, beginning with 8 size, until the derivatives do
// not change any more. Then their relative error is about 1e-8. Without agreement, shrink
// takes the derivatives that change least.
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
