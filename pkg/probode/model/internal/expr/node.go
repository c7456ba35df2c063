package expr

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A Node is an immutable expression: a number, a name, or an operator with its arguments.
// Any number of goroutines may use a Node at the same time. Nodes are made with [Parse],
// [ParseMathML], [Num], [Sym] or [Call].
type Node struct {
	op   op
	val  float64 // opNum; opBool: 1 is true; opCurve: the order of the derivative
	name string  // opSym, opUser, opCurve; opLambda: the parameters, separated by spaces
	args []*Node

	curve Curve // opCurve
}

var canonicalNaN = math.NaN()

// Num returns the number v as an expression.
func Num(v float64) *Node {
	if math.IsNaN(v) {
		v = canonicalNaN // all NaNs become one, so that equal nodes have equal numbers
	}
	return &Node{op: opNum, val: v}
}

// boolean returns the condition that always has the value v.
func boolean(v bool) *Node {
	if v {
		return &Node{op: opBool, val: 1}
	}
	return &Node{op: opBool}
}

// Sym returns a Node for the given name, such as the name of a parameter. The name must
// stand for a number, not for a condition. Sym panics if the name is empty or contains a
// backquote. Backquotes are reserved for String, which encloses unusual names in
// backquotes.
func Sym(name string) *Node {
	if name == "" || strings.Contains(name, "`") {
		panic(fmt.Sprintf("expr: the name of a symbol is %q: want a name that is not empty and has no backquotes", name))
	}
	return &Node{op: opSym, name: name}
}

// Boolean reports whether n is a condition rather than a number.
func (n *Node) Boolean() bool { return n.op.isBool() }

// Symbol reports whether n is just a name, and returns that name.
func (n *Node) Symbol() (string, bool) { return n.name, n.op == opSym }

// Symbols returns a sorted list of the names in n, without the parameters of lambdas.
func (n *Node) Symbols() []string {
	if n.op != opLambda {
		return SymbolsOf(n)
	}
	return slices.DeleteFunc(SymbolsOf(n.args[0]), func(name string) bool { return slices.Contains(n.params(), name) })
}

// Distinct returns the expressions without those that equal an earlier one.
func Distinct(list ...*Node) []*Node {
	seen := map[*Node]bool{}
	var out []*Node
	for _, n := range newPool().adopt(list...) {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}

// SymbolsOf returns a sorted list of the names that occur in the expressions, without
// repetitions. SymbolsOf visits a shared part only once.
func SymbolsOf(list ...*Node) []string {
	names := map[string]bool{}
	for _, m := range Parts(list...) {
		if m.op == opSym {
			names[m.name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// params returns the names of the parameters of a lambda expression.
func (n *Node) params() []string { return strings.Fields(n.name) }

// with returns a copy of n with the given arguments, or n itself if it already has these
// arguments.
func (n *Node) with(args []*Node) *Node {
	if slices.Equal(n.args, args) {
		return n
	}
	if n.op == opNeg {
		return neg(args[0]) // keeps −(number) a number
	}
	return &Node{op: n.op, val: n.val, name: n.name, args: slices.Clone(args), curve: n.curve}
}

// Parts lists the expressions and all their parts, without repetitions. Arguments come
// before the expressions that use them. Parts does not recurse, because expressions may be
// nested more deeply than the stack allows.
func Parts(list ...*Node) []*Node { return partsBut(nil, list...) }

// partsBut omits the nodes in the argument `done` and does not visit their arguments.
func partsBut(done map[*Node]*Node, roots ...*Node) []*Node {
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

// rebuild replaces every node m in n by f(m, args), and returns the new expression. The
// slice `args` contains the replacements of the arguments of m. The function f must not
// keep this slice.
func rebuild(n *Node, f func(m *Node, args []*Node) *Node) *Node {
	return rebuildAll([]*Node{n}, f)[0]
}

// rebuildAll does the same as rebuild(), for several expressions. A shared part is
// rebuilt only once.
func rebuildAll(list []*Node, f func(m *Node, args []*Node) *Node) []*Node {
	done := map[*Node]*Node{}
	var args []*Node
	for _, m := range Parts(list...) {
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
