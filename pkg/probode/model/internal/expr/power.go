package expr

import "math"

// powerMost is the largest exponent for which a power is computed by repeated
// multiplication. Each multiplication rounds, so with larger exponents more than one
// digit of the accuracy of math.Pow would be lost.
const powerMost = 16

// powerBy computes x^e by multiplications, a square root and a division. It does so if
// |e| is at most powerMost and 2e is a whole number; otherwise, or if e is 0, ok is
// false. T is the type of values in a program, or float64.
func powerBy[T any](x T, e float64, one T, do func(c code, operands ...T) T) (v T, ok bool) {
	n := math.Abs(e)
	whole := math.Trunc(n)
	if !(n <= powerMost) || n != whole && n != whole+0.5 || n == 0 {
		return v, false
	}
	have, square := false, x
	times := func(f T) {
		if have {
			f = do(codeMul, v, f)
		}
		v, have = f, true
	}
	for k := int(whole); k > 0; k >>= 1 {
		if k&1 == 1 {
			times(square)
		}
		if k > 1 {
			square = do(codeMul, square, square)
		}
	}
	if n != whole {
		times(do(codeSqrt, x))
	}
	if e < 0 {
		v = do(codeDiv, one, v)
	}
	return v, true
}

// powNumber returns x^e for an exponent that is a plain number in the expression.
func powNumber(x, e float64) float64 {
	v, ok := powerBy(x, e, 1, func(c code, v ...float64) float64 {
		switch c {
		case codeMul:
			return v[0] * v[1]
		case codeDiv:
			return v[0] / v[1]
		}
		return math.Sqrt(v[0])
	})
	if !ok {
		return math.Pow(x, e)
	}
	return v
}
