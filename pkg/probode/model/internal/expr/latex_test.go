package expr

import (
	"math"
	"strings"
	"testing"
)

// latexReader translates what LaTeX writes back into text for Parse. Fractions, roots and
// exponents extend to their braces. The rest is read as people read formulas: products
// before sums, and a sign applies to a whole product.
type latexReader struct{ s string }

var latexWords = strings.NewReplacer(
	`\left(`, "(", `\right)`, ")", `\,`, "*", ` \cdot `, "*", `\left| `, "abs(", `\right|`, ")", `\left\lfloor `, "floor(", `\right\rfloor`, ")",
	`\left\lceil `, "ceil(", `\right\rceil`, ")", `\log_{10}`, "log10", `\log_{2}`, "log2", `\infty`, "inf", `\mathrm{undefined}`, "nan", `\pi`, "3.141592653589793",
	`\mathrm{true}`, "true", `\mathrm{false}`, "false", `\le `, "<=", `\ge `, ">=", `\ne `, "!=", ` = `, " == ", `\land`, "&&", `\lor`, "||", `\lnot `, "!", `\oplus`, "!=",
	`\operatorname{quotient}`, "quotient", `\operatorname{rem}`, "rem", `\operatorname{sign}`, "sign", `\operatorname{arsinh}`, "asinh", `\operatorname{arcosh}`, "acosh", `\operatorname{artanh}`, "atanh",
	`\arcsin`, "asin", `\arccos`, "acos", `\arctan`, "atan", `\sinh`, "sinh", `\cosh`, "cosh", `\tanh`, "tanh", `\sin`, "sin", `\cos`, "cos", `\tan`, "tan",
	`\ln`, "ln", `\min`, "min", `\max`, "max")

// group reads {…}.
func (r *latexReader) group() string {
	r.s = strings.TrimPrefix(r.s, "{")
	g := r.until("}")
	return g
}

// until translates up to the given end at the current level of nesting.
func (r *latexReader) until(end string) string {
	var b strings.Builder
	for r.s != "" {
		switch {
		case end != "" && strings.HasPrefix(r.s, end):
			r.s = r.s[len(end):]
			return b.String()
		case strings.HasPrefix(r.s, `\frac{`):
			r.s = r.s[len(`\frac`):]
			above := r.group()
			b.WriteString("((" + above + ")/(" + r.group() + "))")
		case strings.HasPrefix(r.s, `\sqrt{`):
			r.s = r.s[len(`\sqrt`):]
			b.WriteString("sqrt(" + r.group() + ")")
		case strings.HasPrefix(r.s, `\mathrm{e}^{`):
			r.s = r.s[len(`\mathrm{e}^`):]
			b.WriteString("exp(" + r.group() + ")")
		case strings.HasPrefix(r.s, `^{`):
			r.s = r.s[1:]
			b.WriteString("^(" + r.group() + ")")
		case strings.HasPrefix(r.s, `\begin{cases} `):
			r.s = r.s[len(`\begin{cases} `):]
			b.WriteString("piecewise(" + r.until(`\end{cases}`) + ")")
		case strings.HasPrefix(r.s, ` & \text{if } `):
			r.s = r.s[len(` & \text{if } `):]
			b.WriteString(", ")
		case strings.HasPrefix(r.s, ` \\ `):
			r.s = r.s[len(` \\ `):]
			b.WriteString(", ")
		case strings.HasPrefix(r.s, ` & \text{otherwise} `):
			r.s = r.s[len(` & \text{otherwise} `):]
		case strings.HasPrefix(r.s, `\mathrm{e}`):
			r.s = r.s[len(`\mathrm{e}`):]
			b.WriteString("2.718281828459045")
		default:
			b.WriteByte(r.s[0])
			r.s = r.s[1:]
		}
	}
	return b.String()
}

// The LaTeX of random expressions, read by latexReader, has the same value, and never has
// two signs in a row.
func TestLaTeXMeansTheSame(t *testing.T) {
	g := newGen(11)
	for range 1500 {
		n := g.number(1 + g.IntN(4))
		if g.IntN(3) == 0 {
			n = n.Simplify()
		}
		text := n.LaTeX(func(s string) string { return s })
		for _, bad := range []string{`\,-`, `\cdot -`, "--", "- -", "+ -"} {
			if strings.Contains(text, bad) {
				t.Fatalf("%v in LaTeX has %q: %s", n, bad, text)
			}
		}
		r := latexReader{latexWords.Replace(text)}
		m, err := Parse(Names{}, r.until(""))
		if err != nil {
			t.Fatalf("%v in LaTeX is %s: %v", n, text, err)
		}
		at := g.point()
		want, err := n.Value(at)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Value(at)
		if err != nil || !same(got, want) && math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Fatalf("%v in LaTeX is %s, which reads as %v: %v, want %v", n, text, m, got, want)
		}
	}
}
