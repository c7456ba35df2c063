// Package yardstick expresses local errors in units of a tolerance.
package yardstick

import (
	"cmp"
	"math"

	"github.com/probode/probode/pkg/probode/internal/rounding"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// A Yardstick is the tolerance of an error-controlled run: see probode.Tolerance.
type Yardstick struct {
	Peak  []float64 // largest absolute value of each component so far
	Scale []float64 // estimate of Peak at the end of the run; 0 if it is not known

	relative float64
	absolute []float64

	field               func(dst []float64, t float64, x, theta []float64)
	f, other, noise, at []float64 // workspace of careful
}

// New returns the Yardstick of a run in d dimensions with the right-hand side f.
func New(relative float64, absolute []float64, d int, f func(dst []float64, t float64, x, theta []float64)) *Yardstick {
	y := &Yardstick{relative: relative, absolute: absolute, field: f}
	for _, v := range []*[]float64{&y.Peak, &y.Scale, &y.f, &y.other, &y.noise, &y.at} {
		*v = make([]float64, d)
	}
	return y
}

// Begin starts a run in the state x. A component that does not begin at zero is not
// compared with others even in the first run.
func (y *Yardstick) Begin(x []float64) {
	clear(y.Peak)
	y.Notice(x)
	for k, v := range y.Peak {
		if y.Scale[k] == 0 && len(y.absolute) == 0 {
			y.Scale[k] = v
		}
	}
}

// Notice updates the largest absolute value of each component.
func (y *Yardstick) Notice(x []float64) {
	for k, v := range x {
		if v = math.Abs(v); v > y.Peak[k] {
			y.Peak[k] = v
		}
	}
}

// The size of a component whose scale is not known is taken to be at least `share` times
// the largest component of the state, until a run has shown its true size.
const share = 1e-3

// Learn is called at the end of a run. It reports whether the errors of a component were
// compared with a size that the component has never had. In this case the run must be
// repeated, and Learn stores the scale of the component for the next run.
func (y *Yardstick) Learn() (again bool) {
	if len(y.absolute) > 0 {
		return false
	}
	top := vector.MaxAbs(y.Peak)
	for k, v := range y.Peak {
		if v > 0 && v < cmp.Or(y.Scale[k], share*top) {
			y.Scale[k], again = v/2, true // the next run may find a slightly smaller value
		}
	}
	return again
}

// Permitted writes to dst the permitted error of each component of the state x.
func (y *Yardstick) Permitted(dst, x []float64) {
	top := vector.MaxAbs(y.Peak)
	for k, v := range x {
		dst[k] = y.size(k, v, v, top)
	}
}

// size returns the permitted error of component k in a step from the value a to the value
// b. The argument `top` is the largest absolute value of any component so far.
func (y *Yardstick) size(k int, a, b, top float64) float64 {
	x := math.Abs(a)
	if v := math.Abs(b); !(v <= x) {
		x = v
	}
	switch len(y.absolute) {
	case 0:
		if v := 1e-3 * y.Peak[k]; v > x {
			x = v
		}
		if scale := y.Scale[k]; scale == 0 {
			top *= share
		} else {
			top = scale
		}
		if v := 1e-3 * top; v > x {
			x = v
		}
		if x = y.relative * x; x == 0 {
			x = math.SmallestNonzeroFloat64
		}
		return x
	case 1:
		k = 0
	}
	return y.absolute[k] + y.relative*x
}

// Worst divides the local error of each component by the tolerance for this component,
// and returns the largest quotient. The step begins at time t in the state x, has the
// length h, which is the fraction `part` of the span, and ends in the state `next`.
func (y *Yardstick) Worst(local, x, next []float64, t, h, part float64, theta []float64) float64 {
	worst, top, doubtful := 0., vector.MaxAbs(y.Peak), false
	if top == 0 {
		// For the equation x′ = t⁵ with x(0) = 0, the relative error of the first step is
		// the same for every length of the step. Therefore, if the state is zero at the
		// beginning of a step, the error of the step is compared with the size that the
		// state would reach over the whole span.
		top = min(vector.MaxAbs(next)/part, math.MaxFloat64)
	}
	top = max(top, vector.MaxAbs(next))
	for k, e := range local {
		// The built-in function max would be much slower than these comparisons, because
		// it treats NaN and −0 separately.
		e = math.Abs(e)
		r := e / y.size(k, x[k], next[k], top)
		if !(r <= worst) {
			if worst = r; e != e {
				return math.Inf(1)
			}
		}
		doubtful = doubtful || r > 0.1 && y.Scale[k] > 0 && y.Peak[k] < share*top
	}
	if doubtful {
		return y.careful(local, x, next, t, h, top, theta)
	}
	return worst
}

// careful does what Worst does, but permits the rounding errors of f, which may be a large
// part of the change of a small component, and which no step is short enough to avoid.
func (y *Yardstick) careful(local, x, next []float64, t, h, top float64, theta []float64) float64 {
	const several = 64 // the rounding errors of the values of f in a step add up
	rounding.Errors(y.noise, y.f, y.at, y.other, x, func(dst, x []float64) { y.field(dst, t, x, theta) })
	worst := 0.0
	for k, e := range local {
		worst = max(worst, math.Abs(e)/(y.size(k, x[k], next[k], top)+several*h*y.noise[k]))
	}
	return worst
}
