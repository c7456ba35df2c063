package expr

import (
	"math"
	"testing"
)

var inf = math.Inf(1)

func TestParsePrecedence(t *testing.T) {
	for _, c := range []struct {
		src  string
		want float64
	}{
		{"-2^2", -4}, {"2^-1", 0.5}, {"2^3^2", 512}, {"2**3", 8}, {"-2*3", -6}, {"2 - 3 - 4", -5}, {"2/4*3", 1.5}, {"2*-3", -6},
		{"8/2/2", 2}, {"--2", 2}, {"-(2)^2", -4}, {"7 % 3", 1}, {"-7 % 3", -1}, {"1 + 2 < 4", 1}, {"!(1 < 2)", 0}, {"not 1 == 2", 1},
		{"1 < 2 && 3 < 2", 0}, {"1 < 2 or 3 < 2", 1}, {"true && !false", 1}, {"log(8, 2)", 3}, {"log10(1000)", 3}, {"root(3, 8)", 2},
		{"piecewise(1, 2 < 1, 2, 2 < 3, 3)", 2}, {"piecewise(1, 2 < 1, 3)", 3}, {"min(3, 1, 2)", 1}, {"max(3, 1, 2)", 3},
		{"1e3", 1000}, {".5", 0.5}, {"5.", 5}, {"2.5E-1", 0.25}, {"factorial(5)", 120}, {"heaviside(0)", 0.5}, {"sign(-3)", -1},
		{"abs(-3) + ceil(1.2) + floor(-1.2)", 3}, {"pow(2, 10)", 1024}, {"quotient(-7, 2)", -3}, {"inf", inf}, {"cos(2*pi)", 1}, {"ln(e)", 1},
	} {
		n, err := Parse(c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		got, err := n.Value(nil)
		if err != nil || !(math.Abs(got-c.want) <= 4e-16*math.Abs(c.want) || got == c.want) {
			t.Errorf("%s = %v, %v: want %v", c.src, got, err, c.want)
		}
	}
}
