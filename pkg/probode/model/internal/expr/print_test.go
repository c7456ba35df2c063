package expr

import (
	"math"
	"testing"
)

// String of a random expression, of its simplified form and of its derivative
// parses back to an equal one.
func TestStringRoundTrip(t *testing.T) {
	g := newGen(4)
	for range 2000 {
		n := g.number(1 + g.IntN(5))
		if g.IntN(4) == 0 {
			n = g.condition(3)
		}
		list := []*Node{n, n.Simplify()}
		if !n.Boolean() {
			list = append(list, n.Diff("y"))
		}
		for _, n := range list {
			m, err := Parse(Names{}, n.String())
			if err != nil {
				t.Fatalf("%v: %v", n, err)
			}
			if !m.Equal(n) {
				t.Fatalf("%v is read back as %v", n, m)
			}
		}
	}
}

func TestStringOfNumbersAndNames(t *testing.T) {
	for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, 1e-4, 1e-5, 1.5e-300, 1e15, 1e16, -1e22, 123456789.125, math.MaxFloat64,
		math.SmallestNonzeroFloat64, inf, -inf, math.NaN(), 0.1, 1.0 / 3} {
		n := Call("times", Sym("x"), Call("pow", Num(v), Num(v)), Call("minus", Num(v), Num(v)))
		if m := mustParse(t, n.String()); !m.Equal(n) {
			t.Errorf("%v is read back as %v", n, m)
		}
	}
	for _, s := range []string{"x", "_a1", "nan", "inf", "true", "and", "or", "not", "NaN", "é", "a b", "3x", "pi", "e", "x.y", "True"} {
		n := Call("plus", Sym(s), Num(1))
		if m := mustParse(t, n.String()); !m.Equal(n) {
			t.Errorf("name %q: %v is read back as %v", s, n, m)
		}
	}
}

func TestStringIsReadable(t *testing.T) {
	for _, c := range []struct{ src, text, latex string }{
		{"k1*A*B-k2*C", "k1*A*B - k2*C", `k1\,A\,B - k2\,C`},
		{"-(a+b)*c", "-(a + b)*c", `-\left(a + b\right)\,c`},
		{"a/(b*c)", "a/(b*c)", `\frac{a}{b\,c}`},
		{"a/b/c", "a/b/c", `\frac{\frac{a}{b}}{c}`},
		{"(a/b)^n", "(a/b)^n", `\left(\frac{a}{b}\right)^{n}`},
		{"x^n/(K^n+x^n)", "x^n/(K^n + x^n)", `\frac{x^{n}}{K^{n} + x^{n}}`},
		{"2*3^x", "2*3^x", `2 \cdot 3^{x}`},
		{"2*1e-3*x", "2*0.001*x", `2 \cdot 0.001\,x`},
		{"x*2e-9", "x*2e-9", `x \cdot 2 \cdot 10^{-9}`},
		{"(2e-9)^x", "2e-9^x", `\left(2 \cdot 10^{-9}\right)^{x}`},
		{"a-(-b)", "a - (-b)", `a - \left(-b\right)`},
		{"a*(-b)", "a*-b", `a\,\left(-b\right)`},
		{"exp(-k*t)", "exp(-k*t)", `\mathrm{e}^{-k\,t}`},
		{"exp(x)^2", "exp(x)^2", `\left(\mathrm{e}^{x}\right)^{2}`},
		{"a+-1", "a - 1", `a - 1`},
		{"(-2)^x", "(-2)^x", `\left(-2\right)^{x}`},
		{"piecewise(1, t<5, 0)*k", "piecewise(1, t < 5, 0)*k", `\left(\begin{cases} 1 & \text{if } t < 5 \\ 0 & \text{otherwise} \end{cases}\right)\,k`},
		{"abs(x)+floor(y)", "abs(x) + floor(y)", `\left| x\right| + \left\lfloor y\right\rfloor`},
	} {
		n := mustParse(t, c.src)
		if n.String() != c.text {
			t.Errorf("%s prints as %s: want %s", c.src, n, c.text)
		}
		if l := n.LaTeX(func(s string) string { return s }); l != c.latex {
			t.Errorf("%s is %s in LaTeX: want %s", c.src, l, c.latex)
		}
	}
}
