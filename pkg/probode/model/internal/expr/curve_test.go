package expr

import (
	"math"
	"testing"
)

// lgamma and its derivatives have the values that follow from Γ(n) = (n−1)!, Γ(½) = √π
// and ψ⁽ⁿ⁾(1) and ψ⁽ⁿ⁾(½) [Abramowitz & Stegun 1964, §6.3 and §6.4]. mod has the sign of
// its second argument. The tolerance is a hundred roundings.
func TestLogGammaAndMod(t *testing.T) {
	const euler, zeta3 = 0.57721566490153286, 1.2020569031595943
	for _, c := range []struct {
		formula string
		order   int
		x, want float64
	}{
		{"lgamma(x)", 0, 5, math.Log(24)},
		{"lgamma(x)", 0, 0.5, math.Log(math.Pi) / 2},
		{"lgamma(x)", 0, -0.5, math.Log(2 * math.Sqrt(math.Pi))},
		{"lgamma(x)", 1, 1, -euler},
		{"lgamma(x)", 1, 0.5, -euler - 2*math.Ln2},
		{"lgamma(2*x)", 1, 0.5, -2 * euler},
		{"lgamma(x)", 2, 1, math.Pi * math.Pi / 6},
		{"lgamma(x)", 2, 0.5, math.Pi * math.Pi / 2},
		{"lgamma(x)", 3, 1, -2 * zeta3},
		{"exp(lgamma(x + 1))", 0, 4, 24},
		{"mod(x, 7)", 0, 17, 3},
		{"mod(x, 7)", 0, -3, 4},
		{"mod(x, -7)", 0, 3, -4},
		{"mod(x, 7)", 1, 17.5, 1},
		{"mod(17, x)", 1, 7, -2},
	} {
		n, err := Parse(Names{}, c.formula)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse(Names{}, n.String()); err != nil || !again.Equal(n) {
			t.Errorf("%s is written as %s: %v", c.formula, n, err)
		}
		for range c.order {
			n = n.Diff("x")
		}
		program, err := Compile([]string{"x"}, []*Node{n})
		if err != nil {
			t.Fatal(err)
		}
		var got [1]float64
		program.Eval(got[:], []float64{c.x})
		if v := n.Substitute(map[string]*Node{"x": Num(c.x)}); math.Abs(got[0]-c.want) > 1e-13*(1+math.Abs(c.want)) || c.formula != "mod(17, x)" && !simplifiesTo(v, got[0]) {
			t.Errorf("derivative %d of %s at %v is %v: want %v", c.order, c.formula, c.x, got[0], c.want)
		}
	}
	n, _ := Parse(Names{}, "lgamma(x) + 1")
	if _, err := GoStatements([]Assignment{{"v", n}}, func(s string) (string, bool) { return s, true }, ""); err == nil || err.Error() != "lgamma is not supported in generated Go code" {
		t.Errorf("as Go code: %v", err)
	}
}

// A product of the number 0 and a quotient by the number 0 is NaN, as it is for variables;
// other products of 0 are 0.
func TestDivisionByTheNumberZero(t *testing.T) {
	for _, c := range []struct {
		formula string
		want    float64
	}{
		{"mod(x, 0)", math.NaN()},
		{"mod(x, y)", math.NaN()},
		{"mod(-x, 2*y)", math.NaN()},
		{"mod(5, 0)", math.NaN()},
		{"y*(x/0)", math.NaN()},
		{"0*ceil(1/y)*x", math.NaN()},
		{"0*inf", math.NaN()},
		{"y*(x/2)", 0},
		{"y*floor(x/z)", 0},
	} {
		n, err := Parse(Names{}, c.formula)
		if err != nil {
			t.Fatal(err)
		}
		n = n.Substitute(map[string]*Node{"y": Num(0)}).Simplify()
		program, err := Compile([]string{"x", "z"}, []*Node{n})
		if err != nil {
			t.Fatal(err)
		}
		var got [1]float64
		program.Eval(got[:], []float64{3, 4})
		if got[0] != c.want && !(math.IsNaN(got[0]) && math.IsNaN(c.want)) {
			t.Errorf("%s is %v, simplified to %v: want %v", c.formula, got[0], n, c.want)
		}
	}
}

func simplifiesTo(n *Node, v float64) bool {
	c, ok := n.Const()
	return ok && math.Abs(c-v) <= 1e-13*(1+math.Abs(v))
}
