// Package rounding measures rounding errors of the right-hand side of an equation.
package rounding

import "math"

// Errors writes estimates of the rounding errors of f(x) to dst. The terms of a component
// of f may cancel each other, so its rounding error may be larger than the component. The
// errors are therefore measured: every component of x is changed by a different small
// fraction of itself, and the changes of f are reduced to a rounding error of x. The
// fraction is so large that a jump of f near x does not look like a rounding error. The
// slices base, at and other are workspace.
func Errors(dst, base, at, other, x []float64, f func(dst, x []float64)) {
	const fraction = 0x1p-26
	clear(dst)
	f(base, x)
	for _, irrational := range [2]float64{0.6180339887498949, 0.7548776662466927} {
		for k, v := range x {
			_, part := math.Modf(float64(k+1) * irrational)
			at[k] = v * (1 + fraction*(2*part-1))
		}
		f(other, at)
		for k, v := range other {
			if change := fraction * math.Abs(v-base[k]); change > dst[k] && change <= math.MaxFloat64 {
				dst[k] = change
			}
		}
	}
}
