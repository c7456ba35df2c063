package expr

import (
	"strings"
	"testing"
)

// survives applies every operation to an expression from a parser. None may panic,
// printed text must read back the same, and a program must agree with the tree.
func survives(t *testing.T, n *Node) {
	if n.op == opLambda {
		if _, err := Lambda(n.params(), n.args[0]); err != nil {
			t.Fatalf("lambda of %v: %v", n.params(), err)
		}
		n = n.args[0]
	}
	text := n.String()
	if strings.HasSuffix(text, "…") {
		return // too long to print: % within % within %
	}
	m, err := Parse(Names{}, text, functionsIn(n)...)
	if err != nil || !m.Equal(n) {
		t.Fatalf("%v is read back as %v, %v", n, m, err)
	}
	if size(n) > 2000 {
		return
	}
	n.LaTeX(strings.ToUpper)
	Conditions(n)
	values := map[string]float64{}
	in := []float64{}
	names := n.Symbols()
	for i, s := range names {
		values[s] = 0.5 + float64(i)
		in = append(in, values[s])
	}
	s := n.Simplify()
	p, err := Compile(names, []*Node{n})
	want, err2 := s.Value(values)
	if (err == nil) != (err2 == nil) {
		t.Fatalf("program: %v, tree: %v", err, err2)
	}
	if err != nil {
		return // calls a function
	}
	got := []float64{0}
	if p.Eval(got, in); !same(got[0], want) {
		t.Fatalf("%v: program %v, tree %v", n, got[0], want)
	}
	if !n.Boolean() && len(names) > 0 && size(n) < 200 {
		n.Diff(names[0]).Diff(names[0])
		n.Go(func(s string) string { return s })
	}
}

func oneLine(t *testing.T, err error) {
	if s := err.Error(); strings.ContainsAny(s, "\n\r") || s == "" {
		t.Fatalf("error is not one line: %q", s)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "x", "-(100 * pApB - 200 * pBpB * (specC17 - 1)) / ((STAT5B * (specC17 - 1) - pApB) + 2 * pBpB * (specC17 - 1))",
		"piecewise(0, t < 5 && !(x >= 2), k*exp(-t), t == 7, 1e-3)", "a^-b^c", "max(1, 2, x) % 3", "f(x, f(1, y))", "not a == b or c < d",
		"`a b` + `pi`", "1e400", "inf - inf", "nan^0", "1e-400*x", "xor(a < b, true, !(false))", "piecewise(x > 1, y > 2, x > 3)", "log(8, 2) + root(3, x)",
		"((((", "1 2", "a &&", "x = 1", "é", "2x", "sin", "sin()", "factorial(170)", "quotient(x, y) - rem(x, y)", "-2^2*3**-1", "0*x/0", "1e200*1e200*x",
		"line 1\n+ é\n+ &", "sin(`)`)", "(`)`)", "sin(x `)`", "(x `)`", "max(x `,` y)", "`(`(x)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 5000 {
			return
		}
		n, err := Parse(Names{}, src, "f", "g")
		if err != nil {
			oneLine(t, err)
			return
		}
		survives(t, n)
	})
}

func FuzzParseMathML(f *testing.F) {
	for _, s := range []string{
		"", "<ci>x</ci>", app("plus", "<ci>x</ci>", `<cn type="rational">1<sep/>3</cn>`), `<cn type="e-notation">1<sep/>5</cn>`,
		"<lambda><bvar><ci>x</ci></bvar>" + app("sin", "<ci>x</ci>") + "</lambda>",
		"<piecewise><piece><ci>x</ci>" + app("lt", "<ci>x</ci>", "<cn>1</cn>") + "</piece><otherwise><pi/></otherwise></piecewise>",
		`<csymbol definitionURL="http://www.sbml.org/sbml/symbols/time">t</csymbol>`, "<apply><ci>f</ci><ci>x</ci></apply>",
		app("log", "<logbase><cn>2</cn></logbase>", "<ci>x</ci>"), app("root", "<degree><cn>3</cn></degree>", "<ci>x</ci>"),
		"<semantics><ci>x</ci><annotation>a</annotation></semantics>", "<ci>x", "<ci>`</ci>", "<ci>&lt;</ci>", "<!DOCTYPE a>", "<apply><foo/></apply>",
		"<piecewise><piece><ci>)</ci>" + app("lt", "<ci>,</ci>", "<ci>(</ci>") + "</piece></piecewise>", app("plus", "<ci>)</ci>", "<ci>+</ci>"),
		"<ci>true</ci>", "<ci>e</ci>", "<cn>-0</cn>", "<cn>inf</cn>", "<cn>1e999</cn>", app("minus", "<infinity/>"), app("not", "<ci>x</ci>"),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 5000 {
			return
		}
		n, err := parseMathML(inMath(src))
		if err != nil {
			oneLine(t, err)
			return
		}
		survives(t, n)
	})
}
