package expr

import (
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/tree"
)

// MathML returns n as one <math> element, which [ParseMathML] can read. The result is
// content MathML for SBML Level 3 Version 2; earlier versions lack min and max. The name
// [Time] becomes the time symbol. A sign function becomes a piecewise expression, because
// SBML has no sign function. Text that exceeds the length limit of [Node.String] is
// truncated. Truncated text is not well-formed XML.
func (n *Node) MathML() string {
	return `<math xmlns="` + MathMLSpace + `">` + write(mathMLStyle{}, n) + "</math>"
}

// In MathML no brackets are needed.
type mathMLStyle struct{}

func (mathMLStyle) level(*Node) int              { return levelAtom }
func (mathMLStyle) brackets() (open, end string) { return "", "" }

func (mathMLStyle) layout(n *Node, l *layout) {
	apply := func(element string, args ...*Node) {
		l.text("<apply><" + element + "/>")
		l.list(args, "", 0)
		l.text("</apply>")
	}
	switch n.op {
	case opNum:
		l.text(mathMLNumber(n.val))
	case opBool:
		l.text(map[bool]string{true: "<true/>", false: "<false/>"}[n.val != 0])
	case opSym:
		if n.name == Time {
			l.text(`<csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/time">time</csymbol>`)
			return
		}
		l.text("<ci>" + tree.Escape(n.name) + "</ci>")
	case opUser:
		l.text("<apply><ci>" + tree.Escape(n.name) + "</ci>")
		l.list(n.args, "", 0)
		l.text("</apply>")
	case opLambda:
		l.text("<lambda>")
		for _, p := range n.params() {
			l.text("<bvar><ci>" + tree.Escape(p) + "</ci></bvar>")
		}
		l.arg(n.args[0], 0)
		l.text("</lambda>")
	case opPiecewise:
		l.text("<piecewise>")
		last := len(n.args) - 1
		for i := 0; i < last; i += 2 {
			l.text("<piece>")
			l.list(n.args[i:i+2], "", 0)
			l.text("</piece>")
		}
		l.text("<otherwise>")
		l.arg(n.args[last], 0)
		l.text("</otherwise></piecewise>")
	case opSign:
		x, zero := n.args[0], Num(0)
		l.arg(node(opPiecewise, Num(1), node(opGt, x, zero), Num(-1), node(opLt, x, zero), x), 0)
	case opLog2:
		l.text("<apply><log/><logbase><cn>2</cn></logbase>")
		l.arg(n.args[0], 0)
		l.text("</apply>")
	case opAdd: // a − b if there are only two terms
		if a := n.args; len(a) == 2 && a[1].op == opNeg {
			apply("minus", a[0], a[1].args[0])
			return
		}
		apply("plus", n.args...)
	default:
		element := operators[n.op].mathML
		if element == "" {
			element = operators[n.op].name
		}
		apply(element, n.args...)
	}
}

func mathMLNumber(v float64) string {
	switch s := number(v); {
	case s == "nan":
		return "<notanumber/>"
	case s == "inf":
		return "<infinity/>"
	case s == "-inf":
		return "<apply><minus/><infinity/></apply>"
	case strings.Contains(s, "e"):
		return `<cn type="e-notation">` + strings.Replace(s, "e", "<sep/>", 1) + "</cn>"
	default:
		return "<cn>" + s + "</cn>"
	}
}
