package vector

import "math"

// MaxAbs returns the largest absolute value of the elements of x, 0 if there are none,
// and NaN if any element is NaN.
func MaxAbs(x []float64) float64 {
	var m float64
	for _, v := range x {
		// The built-in function max would be much slower than this comparison, because it
		// treats NaN and −0 separately.
		if v = math.Abs(v); !(v <= m) {
			if m = v; v != v {
				break
			}
		}
	}
	return m
}

// Finite reports whether every element of x is a finite number.
func Finite(x []float64) bool {
	for _, v := range x {
		if v-v != 0 { // NaN for NaN and ±Inf
			return false
		}
	}
	return true
}

// Zero reports whether every element of x is zero.
func Zero(x []float64) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}

// Dot returns xᵀy; y must be at least as long as x.
func Dot(x, y []float64) float64 {
	var sum float64
	y = y[:len(x)]
	for k, v := range x {
		sum += v * y[k]
	}
	return sum
}

// AddScaled adds c times x to dst; x must be at least as long as dst.
func AddScaled(dst []float64, c float64, x []float64) {
	if c == 0 {
		return
	}
	for k, v := range x[:len(dst)] {
		dst[k] += c * v
	}
}

// Unset calls f and returns the index of an element of dst that f does not set, or −1 if f
// sets all elements.
func Unset(dst []float64, f func(dst []float64)) int {
	for k := range dst {
		dst[k] = math.NaN()
	}
	f(dst)
	for k, v := range dst {
		if v != v { // f may have set it to NaN
			clear(dst)
			if f(dst); dst[k] == dst[k] {
				return k
			}
			break
		}
	}
	return -1
}
