// Package expr holds the formulas of a model as immutable expressions: it
// reads them from text and from MathML, simplifies and differentiates them
// exactly, prints them as text, LaTeX and Go, and compiles them to programs
// that evaluate without allocating.
//
// An expression has a type, number or condition, and mixing the two is an
// error where the expression is made. Expressions may share parts: every
// operation but printing visits a shared part once. Only the parsers recurse,
// to a limited depth, so size and nesting cost time in proportion and no stack.
//
// # Derivatives
//
// [Node.Diff] is the derivative wherever there is one. At a kink it is the derivative
// of the branch that gives the value: abs has the slope 0 at 0, min and max have that
// of the first of equal arguments, piecewise has that of its active piece, and floor,
// ceil and sign have the slope 0 everywhere. It does not include the jump of a state at
// a switching time: see [Conditions].
//
// x^y is differentiated so that no NaN appears where the derivative is finite: x^n
// gives n·x^(n−1) with 0^0 = 1; y·x^(y−1) is 0 for y = 0; x^y·ln x, the derivative for
// y, is 0 at x = 0 for y > 0; for x < 0 it does not exist, and is NaN. Where the inner
// derivative is 0 because a piece is constant, the whole derivative is 0, even with an
// infinite outer slope: sqrt(max(0, x)) has the slope 0 for x < 0. Other composed
// functions of which a part has an infinite slope (the square root of x⁴ at 0) still
// give NaN.
//
// # Simplification
//
// [Node.Simplify] keeps the value, up to rounding, wherever the original is finite: 0·x
// is 0 and x − x is 0, although they are NaN for an infinite x. Divisors are never
// cancelled: x/x is not changed, because 0/0 in it may be a mistake of the model.
// Numbers are combined only if the result neither overflows nor underflows, and x^a·x^b
// only for positive whole a and b. Brackets in sums and products are kept unless terms
// or factors are joined across them. That can add or remove intermediate results beyond
// 1e±300.
package expr

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Node is an immutable expression: a number, a name, or an operator with its
// arguments. Any number of goroutines may use it. Make one with [Parse],
// [ParseMathML], [Num], [Sym] and [Call].
type Node struct {
	op   op
	val  float64 // opNum; opBool: 1 is true
	name string  // opSym, opUser; opLambda: the parameters, separated by spaces
	args []*Node
}

var canonicalNaN = math.NaN()

// Num is the number v.
func Num(v float64) *Node {
	if math.IsNaN(v) {
		v = canonicalNaN // a single NaN, so that equal nodes have equal numbers
	}
	return &Node{op: opNum, val: v}
}

// boolean is the condition that is always v.
func boolean(v bool) *Node {
	if v {
		return &Node{op: opBool, val: 1}
	}
	return &Node{op: opBool}
}

// Sym returns the name of a number as a Node. It panics if the name is empty or
// contains a backquote, because String encloses unusual names in backquotes.
func Sym(name string) *Node {
	if name == "" || strings.Contains(name, "`") {
		panic(fmt.Sprintf("expr: name of a symbol is %q: want one that is not empty and without backquotes", name))
	}
	return &Node{op: opSym, name: name}
}

// Call returns the operator or function of the given name, applied to args. The names
// are those that [Parse] accepts in calls, and those of MathML: plus, minus (of one or
// two arguments), times, divide, power, sin, piecewise, lt and so on. It panics if
// there is no such operator or if the arguments do not fit it.
func Call(name string, args ...*Node) *Node {
	n, err := apply(name, args...)
	if err != nil {
		panic("expr: " + err.Error())
	}
	return n
}

// apply is [Call] for the input of users: it returns an error in place of a panic.
func apply(name string, args ...*Node) (*Node, error) {
	b, ok := builders[name]
	if !ok {
		return nil, unknownFunction(name, nil)
	}
	return b.apply(name, args)
}

// Constant returns the value of a name that stands for a constant unless the model
// defines it: pi, e and exponentiale, avogadro (the value of SBML). Expressions keep
// such a name; [Compile] replaces it by the number unless it is an input.
func Constant(name string) (float64, bool) {
	switch name {
	case "pi":
		return math.Pi, true
	case "e", "exponentiale":
		return math.E, true
	case "avogadro":
		return avogadro, true
	}
	return 0, false
}

// avogadro is the value in the specification of SBML, from before the SI of 2019.
const avogadro = 6.02214179e23

// Boolean reports whether n is a condition, not a number.
func (n *Node) Boolean() bool { return n.op.isBool() }

// Const returns the value of n if it is a number after operators on numbers are
// evaluated. A condition is 0 or 1.
func (n *Node) Const() (float64, bool) {
	if n.op != opNum && n.op != opBool {
		n = n.Simplify()
	}
	return n.val, n.op == opNum || n.op == opBool
}

// Operator returns the outermost operator of n, with its arguments: "number" and "name"
// without arguments, the name of a function as [Parse] reads it, or plus, minus (of one
// argument), times, divide, pow, quotient, rem, piecewise, lt, leq, gt, geq, eq, neq,
// not, and, or, xor, true, false, lambda. A call of a function that the model defines
// is "call". args must not be changed.
func (n *Node) Operator() (name string, args []*Node) {
	switch n.op {
	case opNum:
		return "number", nil
	case opSym:
		return "name", nil
	case opUser:
		return "call", n.args
	case opLambda:
		return "lambda", n.args
	case opBool:
		return strconv.FormatBool(n.val != 0), nil
	}
	return operators[n.op].name, n.args
}

// Symbol returns the name if n is nothing but a name.
func (n *Node) Symbol() (string, bool) { return n.name, n.op == opSym }

// Symbols returns the names in n, sorted, without the parameters of lambdas.
func (n *Node) Symbols() []string {
	if n.op != opLambda {
		return SymbolsOf(n)
	}
	return slices.DeleteFunc(SymbolsOf(n.args[0]), func(name string) bool { return slices.Contains(n.params(), name) })
}

// Parts lists the parts of n and n itself, each once, arguments before what uses them.
func (n *Node) Parts() []*Node { return postorder(n) }

// SymbolsOf lists the names in expressions, sorted. It looks at a part that several share
// once.
func SymbolsOf(list ...*Node) []string {
	var names []string
	seen := map[string]bool{}
	for _, m := range postorder(list...) {
		if m.op == opSym && !seen[m.name] {
			seen[m.name] = true
			names = append(names, m.name)
		}
	}
	slices.Sort(names)
	return names
}

// Substitute replaces names by expressions, all at once: names in the replacements are
// not replaced again. A name stands for a number, so it panics if a replacement is a
// condition.
func (n *Node) Substitute(by map[string]*Node) *Node {
	if len(by) == 0 {
		return n
	}
	for name, m := range by {
		if m.Boolean() || m.op == opLambda {
			panic(fmt.Sprintf("expr: replacement of %s is a condition or a lambda: want a number", name))
		}
	}
	return rebuild(n, func(m *Node, args []*Node) *Node {
		if m.op == opSym {
			if r, ok := by[m.name]; ok {
				return r
			}
		}
		return m.with(args)
	})
}

// Equal reports whether n and m are the same expression: the same operators in the same
// order on the same numbers and names. It does not simplify.
func (n *Node) Equal(m *Node) bool {
	if n == m {
		return true
	}
	p := newPool()
	pair := p.adopt(n, m)
	return pair[0] == pair[1]
}

// params returns the names of a lambda's parameters.
func (n *Node) params() []string { return strings.Fields(n.name) }

// with returns n with other arguments, and n itself if they are the same.
func (n *Node) with(args []*Node) *Node {
	if slices.Equal(n.args, args) {
		return n
	}
	if n.op == opNeg {
		return neg(args[0]) // keeps −(number) a number
	}
	return &Node{op: n.op, val: n.val, name: n.name, args: slices.Clone(args)}
}

// postorder returns all nodes of the roots, each once, arguments before the nodes that
// use them. It has a stack of its own, because expressions may be nested deeper than
// the machine's stack allows.
func postorder(roots ...*Node) []*Node { return postorderBut(nil, roots...) }

// postorderBut is postorder without the nodes that are done already, and what is below them.
func postorderBut(done map[*Node]*Node, roots ...*Node) []*Node {
	type frame struct {
		n    *Node
		next int
	}
	var list []*Node
	seen := map[*Node]bool{}
	var stack []frame
	for _, r := range roots {
		if seen[r] || done[r] != nil {
			continue
		}
		seen[r] = true
		stack = append(stack, frame{n: r})
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.next == len(top.n.args) {
				list = append(list, top.n)
				stack = stack[:len(stack)-1]
				continue
			}
			a := top.n.args[top.next]
			top.next++
			if !seen[a] && done[a] == nil {
				seen[a] = true
				stack = append(stack, frame{n: a})
			}
		}
	}
	return list
}

// rebuild makes a new expression from n. f is called with every node and its arguments,
// which are replaced already, and must not keep that slice.
func rebuild(n *Node, f func(m *Node, args []*Node) *Node) *Node {
	return rebuildAll([]*Node{n}, f)[0]
}

// rebuildAll is rebuild of several expressions, in which a part that they share is made once.
func rebuildAll(list []*Node, f func(m *Node, args []*Node) *Node) []*Node {
	done := map[*Node]*Node{}
	var args []*Node
	for _, m := range postorder(list...) {
		args = args[:0]
		for _, a := range m.args {
			args = append(args, done[a])
		}
		done[m] = f(m, args)
	}
	out := make([]*Node, len(list))
	for i, n := range list {
		out[i] = done[n]
	}
	return out
}
