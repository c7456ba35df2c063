package expr

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/model/internal/tree"
)

func parseMathML(src string) (*Node, error) {
	e, err := tree.Read([]byte(src))
	if err != nil {
		return nil, err
	}
	return ParseMathML(e)
}

func inMath(s string) string {
	return `<math xmlns="http://www.w3.org/1998/Math/MathML" xmlns:sbml="http://www.sbml.org/sbml/level3/version1/core">` + s + `</math>`
}

func app(op string, args ...string) string {
	return "<apply><" + op + "/>" + strings.Join(args, "") + "</apply>"
}

func TestMathML(t *testing.T) {
	x, y := "<ci> x </ci>", "<ci>y</ci>"
	two := "<cn>2</cn>"
	lt := app("lt", x, y)
	for _, c := range []struct{ src, want string }{
		{`<cn type="integer"> 3 </cn>`, "3"},
		{`<cn> 0.5 </cn>`, "0.5"},
		{`<cn type="real" sbml:units="mole">1e-3</cn>`, "1e-3"},
		{`<cn type="rational">1<sep/>8</cn>`, "0.125"},
		{`<cn type="e-notation"> -2.5 <sep/> -3 </cn>`, "-2.5e-3"},
		{x, "x"},
		{`<csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/time"> t </csymbol>`, "time"},
		{`<csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/avogadro"> NA </csymbol>`, "6.02214179e23"},
		{app("plus", x, y, two), "x + y + 2"},
		{app("plus"), "0"},
		{app("times"), "1"},
		{app("times", x), "x"},
		{app("minus", x), "-x"},
		{app("minus", x, y), "x - y"},
		{app("divide", x, y), "x/y"},
		{app("power", x, two), "x^2"},
		{app("root", x), "sqrt(x)"},
		{app("root", "<degree><ci>y</ci></degree>", x), "x^(1/y)"},
		{app("log", x), "log10(x)"},
		{app("log", "<logbase>"+two+"</logbase>", x), "log2(x)"},
		{app("log", "<logbase>"+y+"</logbase>", x), "ln(x)/ln(y)"},
		{app("ln", x), "ln(x)"},
		{app("exp", x), "exp(x)"},
		{app("arcsinh", x), "asinh(x)"},
		{app("sech", x), "1/cosh(x)"},
		{app("factorial", "<cn>4</cn>"), "24"},
		{app("factorial", x), "exp(lgamma(1 + x))"},
		{app("ceiling", x), "ceil(x)"},
		{app("max", x, y), "max(x, y)"},
		{app("plus", x, lt), "x + piecewise(1, x < y, 0)"},
		{app("and", lt, x), "x < y && (x > 0 || x < 0)"},
		{app("eq", lt, x), "piecewise(1, x < y, 0) == x"},
		{"<piecewise><piece>" + lt + two + "</piece><otherwise>" + x + "</otherwise></piecewise>", "piecewise(piecewise(1, x < y, 0), true, x)"},
		{app("rem", "<cn>-7</cn>", "<cn>3</cn>"), "-7 % 3"},
		{app("quotient", x, y), "quotient(x, y)"},
		{lt, "x < y"},
		{app("leq", x, y, two), "x <= y && y <= 2"},
		{app("eq", "<true/>", lt), "!xor(true, x < y)"},
		{app("implies", lt, lt), "!(x < y) || x < y"},
		{app("xor", lt, lt, lt), "xor(xor(x < y, x < y), x < y)"},
		{"<piecewise><piece>" + x + lt + "</piece><otherwise>" + y + "</otherwise></piecewise>", "piecewise(x, x < y, y)"},
		{"<piecewise><piece>" + x + lt + "</piece></piecewise>", "piecewise(x, x < y, nan)"},
		{"<piecewise><otherwise>" + x + "</otherwise></piecewise>", "x"},
		{"<pi/>", "3.141592653589793"},
		{"<exponentiale/>", "2.718281828459045"},
		{"<infinity/>", "inf"},
		{"<notanumber/>", "nan"},
		{"<semantics>" + x + "<annotation-xml><any><thing/></any></annotation-xml></semantics>", "x"},
		{"<!-- a comment -->" + x, "x"},
		{"<ci>not</ci>", "`not`"},
	} {
		n, err := parseMathML(inMath(c.src))
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		if want := mustParse(t, c.want); !n.Equal(want) {
			t.Errorf("%s is %v: want %s", c.src, n, c.want)
		}
	}
}

func TestMathMLErrors(t *testing.T) {
	x := "<ci>x</ci>"
	lt := app("lt", x, x)
	for _, c := range []struct{ src, want string }{
		{inMath(""), "<math> is empty"},
		{inMath(x + x), "<ci> follows an expression"},
		{inMath("x"), `found "x" in <math>`},
		{inMath(app("int", x)), "operator <int> is not supported"},
		{inMath("<vector/>"), "<vector> is not supported"},
		{inMath("<apply/>"), "<apply> is empty"},
		{inMath(app("divide", x)), "divide has 1 argument: want 2"},
		{inMath(app("sin", "<degree>"+x+"</degree>", x)), "<degree> in <apply> of sin"},
		{inMath("<ci></ci>"), `<ci> contains ""`},
		{inMath("<ci>a b</ci>"), `<ci> contains "a b"`},
		{inMath("<cn>0x10</cn>"), `<cn> of type "" contains "0x10"`},
		{inMath("<cn>one</cn>"), "want a number"},
		{inMath("<cn>inf</cn>"), "want a number"},
		{inMath("<cn></cn>"), "want a number"},
		{inMath("<cn>1e999</cn>"), "want a number"},
		{inMath(`<cn type="rational">1<sep/>0</cn>`), "want a number"},
		{inMath(`<cn type="e-notation">1e5<sep/>5</cn>`), "want a number"},
		{inMath(`<cn type="rational">1</cn>`), "want a number"},
		{inMath(`<cn type="integer">1.5</cn>`), "want a number"},
		{inMath(`<cn type="complex-cartesian">1<sep/>2</cn>`), `has the type "complex-cartesian"`},
		{inMath(`<csymbol definitionURL="http://www.sbml.org/sbml/symbols/delay">d</csymbol>`), "symbol delay"},
		{inMath(`<apply><csymbol definitionURL="http://www.sbml.org/sbml/symbols/delay">d</csymbol>` + x + x + `</apply>`), "delay equations are not supported"},
		{inMath(`<apply><csymbol definitionURL="http://www.sbml.org/sbml/symbols/rateOf">d</csymbol>` + x + x + `</apply>`), "rateOf needs one <ci>"},
		{inMath(`<csymbol definitionURL="http://example.org/">d</csymbol>`), `"http://example.org/" is not supported`},
		{inMath("<piecewise><otherwise>" + x + "</otherwise><piece>" + x + lt + "</piece></piecewise>"), "<piece> in <piecewise>"},
		{inMath("<piecewise><piece>" + x + "</piece></piecewise>"), "<piece> holds 1 expressions: want 2"},
		{inMath("<piecewise/>"), "piecewise has 0 arguments"},
		{inMath("<apply><plus/><lambda>" + x + "</lambda></apply>"), "<lambda> inside an expression"},
		{inMath("<lambda/>"), "<lambda> has no body"},
		{inMath("<lambda><bvar>" + x + "</bvar><bvar>" + x + "</bvar>" + x + "</lambda>"), "x of a function appears twice"},
		{`<math xmlns="http://example.org/">` + x + "</math>", `namespace "http://example.org/"`},
		{inMath("<apply><plus/>" + x), "line 1, column"},
		{inMath("<semantics/>"), "<semantics> is empty"},
		{inMath(strings.Repeat("<apply><minus/>", 20000)), "nested more than 10000 levels deep"},
	} {
		_, err := parseMathML(c.src)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "line 1, column ") {
			t.Errorf("%s\n%v: want line, column and %q", c.src[:min(len(c.src), 300)], err, c.want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("error of more than one line: %q", err)
		}
	}
}

func TestLambda(t *testing.T) {
	f, err := parseMathML(inMath("<lambda><bvar><ci>a</ci></bvar><bvar><ci>b</ci></bvar>" + app("power", "<ci>a</ci>", "<ci>b</ci>") + "</lambda>"))
	if err != nil {
		t.Fatal(err)
	}
	if op, args := f.Operator(); op != "lambda" || !slices.Equal(f.params(), []string{"a", "b"}) || args[0].String() != "a^b" {
		t.Fatalf("lambda is %v of %v with %v", op, args, f.params())
	}
	if s := f.Symbols(); len(s) != 0 {
		t.Errorf("a lambda has free names %v", s)
	}
	call, err := parseMathML(inMath("<apply><plus/><apply><ci>f</ci><ci>b</ci><cn>2</cn></apply><ci>a</ci></apply>"))
	if err != nil {
		t.Fatal(err)
	}
	if fs := functionsIn(call); !slices.Equal(fs, []string{"f"}) {
		t.Errorf("functions called: %v", fs)
	}
	n, err := call.Expand(map[string]*Node{"f": f})
	if err != nil || n.String() != "b^2 + a" {
		t.Errorf("expanded: %v, %v", n, err)
	}
}

func lambda(t *testing.T, src string, params ...string) *Node {
	t.Helper()
	body, err := Parse(Names{}, src, "f", "g", "h", "big", "cond")
	if err != nil {
		t.Fatal(err)
	}
	l, err := Lambda(params, body)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestExpand(t *testing.T) {
	fs := map[string]*Node{
		"f":    lambda(t, "x + g(y, x)", "x", "y"), // names of parameters swap places
		"g":    lambda(t, "x/y", "x", "y"),
		"h":    lambda(t, "1 + h(x)", "x"),
		"cond": lambda(t, "x > 2", "x"),
		"big":  lambda(t, "x*y", "x", "y"),
	}
	for _, c := range []struct{ src, want string }{
		{"f(a, b)", "a + b/a"},
		{"f(y, x)", "y + x/y"},
		{"g(g(a, b), f(b, a))", "a/b/(b + a/b)"},
		{"piecewise(1, cond(z), 2)", "piecewise(1, z > 2, 2)"},
		{"!cond(a) && b < 1", "!(a > 2) && b < 1"},
	} {
		n, err := Parse(Names{}, c.src, "f", "g", "cond")
		if err != nil {
			t.Fatal(err)
		}
		if n, err = n.Expand(fs); err != nil || !n.Equal(mustParse(t, c.want)) {
			t.Errorf("%s expands to %v, %v: want %s", c.src, n, err, c.want)
		}
	}
	for _, c := range []struct{ src, want string }{
		{"h(1)", "function h calls itself: h, h"},
		{"f(1)", "function f has 1 argument: want 2"},
		{"cond(1) + 2", "argument 1 of plus is a condition"},
		{"1 + big(cond(2), 1)", "argument 1 of function big is a condition"},
		{"piecewise(1, g(1, 2), 0)", "argument 2 of piecewise is a number"},
		{"!g(1, 2)", "argument 1 of not is a number"},
		{"gg(1, 2)", "function gg is not known"},
	} {
		n, err := Parse(Names{}, c.src, "f", "g", "h", "cond", "big", "gg")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := n.Expand(fs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s expands to %v, %v: want an error with %q", c.src, n, err, c.want)
		}
	}
}

func TestValueOfConstants(t *testing.T) {
	n := mustParse(t, "pi + e + exponentiale")
	if v, err := n.Value(map[string]float64{"e": 1}); err != nil || math.Abs(v-(math.Pi+1+math.E)) > 1e-15 {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := mustParse(t, "x + 1").Value(nil); err == nil || err.Error() != "x is not defined" {
		t.Errorf("error %v", err)
	}
}
