package expr

import (
	"math"
	"strings"
)

// LaTeX returns the expression n, which is not a lambda, as text for the math mode of LaTeX.
// The argument `name` is a function that returns the LaTeX text for a name.
func (n *Node) LaTeX(name func(string) string) string { return write(latexStyle{name}, n) }

// afterSign returns the lowest precedence level at which n needs no brackets after a
// sign. An expression that itself begins with a sign is enclosed in brackets.
func afterSign(n *Node) int {
	for m := n; ; m = m.args[0] {
		if negative(m) {
			return levelAtom
		}
		if m.op != opMul {
			return levelProduct
		}
	}
}

type latexStyle struct{ name func(string) string }

func (latexStyle) brackets() (open, end string) { return `\left(`, `\right)` }

func (latexStyle) level(n *Node) int {
	switch n.op {
	case opDiv, opSqrt, opExp: // the line of the fraction or root replaces brackets
		return levelPower
	case opNum:
		if strings.ContainsAny(number(n.val), "e") && n.val != math.E {
			return min(textLevel(n), levelProduct)
		}
	case opPiecewise, opXor:
		return levelLogic
	}
	return textLevel(n)
}

func latexNumber(v float64) string {
	switch v {
	case math.E:
		return `\mathrm{e}`
	case math.Pi:
		return `\pi`
	}
	s := number(v)
	switch s {
	case "inf":
		return `\infty`
	case "-inf":
		return `-\infty`
	case "nan":
		return `\mathrm{undefined}`
	}
	if m, e, ok := strings.Cut(s, "e"); ok {
		switch m {
		case "1":
			return "10^{" + e + "}"
		case "-1":
			return "-10^{" + e + "}"
		}
		return m + ` \cdot 10^{` + e + "}"
	}
	return s
}

func (s latexStyle) layout(n *Node, l *layout) {
	a := n.args
	switch n.op {
	case opNum:
		l.text(latexNumber(n.val))
	case opBool:
		l.text(map[bool]string{true: `\mathrm{true}`, false: `\mathrm{false}`}[n.val != 0])
	case opSym:
		l.text(s.name(n.name))
	case opUser, opCurve:
		l.text(s.name(n.name) + strings.Repeat("'", int(n.val)) + `\left(`)
		l.list(a, ", ", 0)
		l.text(`\right)`)
	case opNeg:
		l.text("-")
		l.arg(a[0], afterSign(a[0]))
	case opNot:
		l.text(`\lnot `)
		l.arg(a[0], levelAtom)
	case opAdd:
		l.arg(a[0], levelSum)
		for _, t := range a[1:] {
			switch {
			case t.op == opNeg:
				l.text(" - ")
				l.arg(t.args[0], afterSign(t.args[0]))
			case t.op == opNum && negative(t):
				l.text(" - " + latexNumber(-t.val))
			case t.op == opMul && t.args[0].op == opNum && negative(t.args[0]):
				l.text(" - ")
				l.arg(node(opMul, append([]*Node{neg(t.args[0])}, t.args[1:]...)...), levelProduct)
			default:
				l.text(" + ")
				l.arg(t, afterSign(t))
			}
		}
	case opMul:
		for i, f := range a {
			if i > 0 {
				between := `\,`
				if f.op == opNum || f.op == opPow && f.args[0].op == opNum {
					between = ` \cdot `
				}
				l.text(between)
			}
			level := levelPower // a sign inside a product gets brackets
			if i == 0 {
				level = levelSign
			}
			if f.op == opNum && !negative(f) || f.op == opNum && i == 0 {
				level = 0 // even with a power of ten
			}
			l.arg(f, level)
		}
	case opDiv:
		l.text(`\frac{`)
		l.arg(a[0], 0)
		l.text("}{")
		l.arg(a[1], 0)
		l.text("}")
	case opPow:
		l.arg(a[0], levelAtom)
		l.text("^{")
		l.arg(a[1], 0)
		l.text("}")
	case opExp:
		l.text(`\mathrm{e}^{`)
		l.arg(a[0], 0)
		l.text("}")
	case opSqrt:
		l.text(`\sqrt{`)
		l.arg(a[0], 0)
		l.text("}")
	case opAbs, opFloor, opCeil:
		b := map[op][2]string{opAbs: {"|", "|"}, opFloor: {`\lfloor`, `\rfloor`}, opCeil: {`\lceil`, `\rceil`}}[n.op]
		l.text(`\left` + b[0] + " ")
		l.arg(a[0], 0)
		l.text(`\right` + b[1])
	case opLt, opLe, opGt, opGe, opEq, opNe:
		l.list(a, operators[n.op].latex, levelSum)
	case opAnd, opOr:
		l.list(a, operators[n.op].latex, levelNot)
	case opXor:
		l.list(a, operators[n.op].latex, levelAtom)
	case opPiecewise:
		l.text(`\begin{cases} `)
		for i := 0; i+1 < len(a); i += 2 {
			l.arg(a[i], 0)
			l.text(` & \text{if } `)
			l.arg(a[i+1], 0)
			l.text(` \\ `)
		}
		l.arg(a[len(a)-1], 0)
		l.text(` & \text{otherwise} \end{cases}`)
	default:
		l.text(operators[n.op].latex + `\left(`)
		l.list(a, ", ", 0)
		l.text(`\right)`)
	}
}
