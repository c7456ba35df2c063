package expr

import "math"

// powerMost is the largest exponent for which a power is computed by repeated
// multiplication. For exponents above powerMost, the rounding errors of the
// multiplications would cost more than one digit of accuracy, compared with math.Pow.
const powerMost = 16

// powerBy computes x^e by repeated multiplication. For a half-integer exponent, powerBy
// also takes a square root; for a negative exponent, it also divides. The result `ok` is
// true if e is not 0, |e| is at most powerMost, and 2e is a whole number. The type T is
// float64 if x is a number, and int32 if x is the index of a value in a program.
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
