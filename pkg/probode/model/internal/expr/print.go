package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// printMost is the length in bytes at which printed text is truncated. The text repeats
// each shared part of an expression, so it can be far larger than the expression itself.
const printMost = 1 << 24

// String returns the text of n. [Parse] converts the text back to n. The caller of Parse
// must pass the names of all functions that the model defines. Parse does not read
// lambdas. Backquotes enclose names that are reserved or are not valid IDs. Text that is
// longer than 16 MB is truncated, and ends in "…".
func (n *Node) String() string {
	if n.op == opLambda {
		return "lambda(" + strings.Join(append(n.params(), n.args[0].String()), ", ") + ")"
	}
	return write(textStyle{}, n)
}

// A style is an output format. layout writes a node as a sequence of texts and arguments.
// level returns the precedence level of the outermost operator of a node.
type style interface {
	layout(n *Node, out *layout)
	level(n *Node) int
	brackets() (open, end string)
}

// A layout collects the pieces of text and the arguments of one node. An argument is
// written in brackets if the precedence of its operator is too low.
type layout struct{ items []item }

type item struct {
	text string
	n    *Node
	min  int // the loosest level that needs no brackets here
}

func (l *layout) text(s string)          { l.items = append(l.items, item{text: s}) }
func (l *layout) arg(n *Node, level int) { l.items = append(l.items, item{n: n, min: level}) }

// list writes arguments, separated by the given text.
func (l *layout) list(args []*Node, between string, level int) {
	for i, a := range args {
		if i > 0 {
			l.text(between)
		}
		l.arg(a, level)
	}
}

// write returns n as text in the given style. The function does not recurse, so n can be
// nested to any depth.
func write(s style, n *Node) string {
	var b strings.Builder
	stack := []item{{n: n}}
	var l layout
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if b.Len() > printMost {
			b.WriteString("…")
			break
		}
		if it.n == nil {
			b.WriteString(it.text)
			continue
		}
		l.items = l.items[:0]
		s.layout(it.n, &l)
		for i := len(l.items) - 1; i >= 0; i-- {
			p := l.items[i]
			if p.n != nil && s.level(p.n) < p.min {
				open, end := s.brackets()
				stack = append(stack, item{text: end}, item{n: p.n}, item{text: open})
				continue
			}
			stack = append(stack, p)
		}
	}
	return b.String()
}

const levelAtom = levelPower + 1

// textLevel returns the precedence level of the outermost operator in the text of n.
func textLevel(n *Node) int {
	switch n.op {
	case opNum:
		if negative(n) {
			return levelSign
		}
	case opNeg, opNot:
		return levelSign
	case opAdd:
		return levelSum
	case opMul, opDiv:
		return levelProduct
	case opPow:
		return levelPower
	case opAnd, opOr:
		return levelLogic
	case opLt, opLe, opGt, opGe, opEq, opNe:
		return levelCompare
	}
	return levelAtom
}

var symbols = map[op]string{
	opLt: " < ", opLe: " <= ", opGt: " > ", opGe: " >= ", opEq: " == ", opNe: " != ", opAnd: " && ", opOr: " || ",
}

type textStyle struct{}

func (textStyle) level(n *Node) int            { return textLevel(n) }
func (textStyle) brackets() (open, end string) { return "(", ")" }

func (textStyle) layout(n *Node, l *layout) {
	a := n.args
	switch n.op {
	case opNum:
		l.text(number(n.val))
	case opBool:
		l.text(strconv.FormatBool(n.val != 0))
	case opSym:
		l.text(quoteName(n.name))
	case opUser:
		l.text(quoteName(n.name) + "(")
		l.list(a, ", ", 0)
		l.text(")")
	case opNeg:
		l.text("-")
		l.arg(a[0], levelPower)
	case opNot:
		l.text("!")
		l.arg(a[0], levelPower)
	case opAdd:
		l.arg(a[0], levelProduct)
		for _, t := range a[1:] {
			switch {
			case t.op == opNeg:
				l.text(" - ")
				l.arg(t.args[0], afterMinus(t.args[0]))
			case t.op == opNum && textLevel(t) == levelSign:
				l.text(" - " + number(-t.val))
			default:
				l.text(" + ")
				l.arg(t, levelProduct)
			}
		}
	case opMul:
		// If the first factor is itself a product, it needs brackets. For example,
		// (a*b)*c is a product of two factors, and a*b*c is a product of three. A
		// division needs no brackets.
		first := levelSign
		if a[0].op == opDiv {
			first = levelProduct
		}
		l.arg(a[0], first)
		for _, f := range a[1:] {
			l.text("*")
			l.arg(f, levelSign)
		}
	case opDiv:
		l.arg(a[0], levelProduct)
		l.text("/")
		l.arg(a[1], levelSign)
	case opPow:
		l.arg(a[0], levelAtom)
		l.text("^")
		l.arg(a[1], levelSign)
	case opLt, opLe, opGt, opGe, opEq, opNe:
		l.arg(a[0], levelSum)
		l.text(symbols[n.op])
		l.arg(a[1], levelSum)
	case opAnd, opOr:
		l.list(a, symbols[n.op], levelNot)
	case opCurve:
		l.text(quoteName(n.curveName()) + "(")
		l.list(a, ", ", 0)
		l.text(")")
	default:
		l.text(operators[n.op].name + "(")
		l.list(a, ", ", 0)
		l.text(")")
	}
}

// afterMinus returns the lowest precedence level at which n needs no brackets after a
// minus sign. A negative n is enclosed in brackets, so that two signs are never adjacent.
func afterMinus(n *Node) int {
	if negative(n) {
		return levelAtom
	}
	return levelProduct
}

// number writes v with the fewest digits that determine v exactly.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e15) {
		s := strconv.FormatFloat(v, 'e', -1, 64)
		s = strings.Replace(s, "e+0", "e", 1)
		s = strings.Replace(s, "e+", "e", 1)
		return strings.Replace(s, "e-0", "e-", 1)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// quoteName encloses a name in backquotes if the name is reserved or is not a valid ID.
func quoteName(name string) string {
	if IsName(name) && !Reserved(name) {
		return name
	}
	return fmt.Sprintf("`%s`", name)
}
