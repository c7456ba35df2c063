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
		n, err := Parse(c.formula)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse(n.String()); err != nil || !again.Equal(n) {
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
	n, _ := Parse("lgamma(x) + 1")
	if _, err := GoStatements([]Assignment{{"v", n}}, func(s string) (string, bool) { return s, true }, ""); err == nil || err.Error() != "lgamma is not supported in generated Go code" {
		t.Errorf("as Go code: %v", err)
	}
}

func simplifiesTo(n *Node, v float64) bool {
	c, ok := n.Const()
	return ok && math.Abs(c-v) <= 1e-13*(1+math.Abs(v))
}
