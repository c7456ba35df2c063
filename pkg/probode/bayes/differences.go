package bayes

import (
	"math"
	"slices"
)

// differ uses central differences to compute directional derivatives of the values that
// Observe writes. The fields are working memory.
type differ struct {
	up, down, last, best, kept []float64
}

func newDiffer(columns int) *differ {
	new := func() []float64 { return make([]float64, columns) }
	return &differ{up: new(), down: new(), last: new(), best: new(), kept: new()}
}

// The step of a finite difference is the constant `relative` times the size of the
// quantity that is changed. The value of `relative` is the cube root of the relative
// rounding error.
const relative = 6e-6

// central computes the derivatives, at h = 0, of the values that move(y, h) writes to y.
// The derivatives are stored in dst, at intervals of `stride` elements. If h changes by
// `size`, y changes noticeably.
func (w *differ) central(dst []float64, stride int, size float64, move func(y []float64, h float64)) {
	h := relative * size
	move(w.up, h)
	move(w.down, -h)
	for k := range w.up {
		dst[k*stride] = (w.up[k] - w.down[k]) / (2 * h)
	}
}

// shrink is the version of central() for small quantities, such as a state component that
// is much smaller than the other components. The right step is not known in advance. If a
// quantity would be zero without rounding errors, the step must be larger than the
// quantity. If Observe takes the logarithm of a quantity, the step must be smaller than
// the quantity. shrink therefore calls central() with smaller and smaller values of
// `size`. The first value is 8 times the argument `size`, and each further value is an
// eighth of the previous one. The method stops when the derivatives for two successive
// values of `size` agree. The relative error of the result is about 1e-8. If the
// derivatives never agree, the method returns the derivatives that changed least from one
// value of `size` to the next.
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
