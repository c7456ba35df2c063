package expr

import "math"

// powerMost is the largest exponent for which a power is computed by repeated
// multiplication. Each multiplication has a rounding error. For larger exponents, these
// errors would cost more than one digit of accuracy, compared with math.Pow.
const powerMost = 16

// powerBy computes x^e by multiplications and, if necessary, a square root and a
// division. The exponent e must not be 0, |e| must be at most powerMost, and 2e must be a
// whole number; otherwise the result `ok` is false. The type T is float64, or the integer
// type that identifies values in a program.
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

// powNumber computes x^e for a constant exponent, with the same operations as a Program.
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
