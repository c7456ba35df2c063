// Package expr represents the formulas of a model as immutable expressions. The package
// reads expressions from text and from MathML, simplifies them, and differentiates them
// exactly. The package also writes expressions as text, LaTeX and Go, and compiles them to
// programs, which allocate no memory when they run.
//
// The value of an expression is a number; the value of a condition is true or false. It
// is an error to use a condition in place of a number, or a number in place of a
// condition. Expressions may share parts; every operation except printing and
// [Node.Margin] visits a shared part only once. The parsers, [Node.Expand] and
// [Node.Margin] are recursive. All other operations accept expressions of any nesting
// depth.
//
// # Derivatives
//
// [Node.Diff] returns the derivative where it exists, except in the cases below. At a
// kink, Diff returns one of the one-sided derivatives, or a value between them. The slope
// of abs(x) is 0 at x = 0. If the arguments of min or max are equal, the slope is that of
// the first argument. The slope of a piecewise expression is that of its active piece.
// The slope of floor, ceil and sign is 0 everywhere. Diff combines the slopes of the
// functions in an expression by the rules of differentiation. Where several kinks or
// pieces meet, Diff may return a wrong value, even outside the range of the one-sided
// derivatives. For example, max(x, 0) − max(0, x) has the derivative 0 at x = 0, but Diff
// returns 1. The derivative does not include the jump of a state at a switching time: see
// [Conditions] and [Jumps].
//
// The computed derivative of x^y is never NaN where the true derivative is finite. The
// derivative of x^n is n x^(n−1), where 0^0 = 1. The derivative of x^y with respect to x
// is y x^(y−1); it is 0 for y = 0. The derivative of x^y with respect to y is x^y ln x;
// it is 0 at x = 0 for y > 0. For x < 0, the derivative of x^y with respect to y does not
// exist, so its computed value is NaN. If the outer derivative is infinite and the inner
// derivative is 0, the computed derivative is usually NaN. For example, the computed
// derivative of the square root of x⁴ is NaN at x = 0, although the true derivative is 0.
// If the active piece of an inner function is constant, the computed derivative is 0,
// even if the outer derivative is infinite. For example, sqrt(max(0, x)) has the computed
// derivative 0 for x < 0.
//
// # Simplification
//
// [Node.Simplify] preserves the value of an expression, up to rounding errors, wherever
// this value is finite. Elsewhere the value may change: Simplify replaces 0 × x and x − x
// by 0, although both are NaN for an infinite x. Divisors are never cancelled: x/x is not
// replaced by 1, because 0/0 may be a mistake in the model, and 0 × (x/0) by NaN. Simplify evaluates operations
// on numbers only if the result neither overflows nor underflows. Powers x^a x^b are
// combined only if a and b are positive whole numbers. Brackets in sums and products are
// kept, unless terms or factors inside and outside the brackets can be combined.
// Combining terms or factors changes intermediate results, so an overflow or underflow
// may appear or disappear.
package expr

import (
	"fmt"
	"math"
	"strconv"
)

// Call returns the operator or function with the given name, applied to args. The
// argument `name` is the name of a function in the syntax of [Parse], or the name of an
// operator in MathML, such as plus or lt. The operator minus takes one or two arguments.
// Call panics if the name is unknown or the arguments are invalid.
func Call(name string, args ...*Node) *Node {
	n, err := apply(name, args...)
	if err != nil {
		panic("expr: " + err.Error())
	}
	return n
}

// apply does the same as [Call], but returns an error where Call panics. The arguments of
// apply() may come from a user's input.
func apply(name string, args ...*Node) (*Node, error) {
	b, ok := builders[name]
	if !ok {
		return nil, unknownFunction(name, nil)
	}
	return b.apply(name, args)
}

// Constant returns the value of the constant with the given name: pi, e, exponentiale or
// avogadro. The value of avogadro is the one in the SBML specification. A model may use
// the name of a constant for a quantity of its own, for example for a parameter e.
// [Compile] replaces the name of a constant by its value, unless the name is an input.
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

// avogadro is the value of Avogadro's number that the SBML specification prescribes. In
// 2019 the SI fixed Avogadro's number at a slightly different value, 6.02214076e23.
const avogadro = 6.02214179e23

// Const returns the value of n if n simplifies to a number or a constant condition. The
// value of a condition is 0 or 1.
func (n *Node) Const() (float64, bool) {
	if n.op != opNum && n.op != opBool {
		n = n.Simplify()
	}
	return n.val, n.op == opNum || n.op == opBool
}

// Operator returns the name of the outermost operator of n, and its arguments. The
// operator of a number is "number", and the operator of a name is "name". Numbers and
// names have no arguments. For a function that the model defines, the operator is "call".
// For any other function, the operator is the function's name in the syntax of [Parse].
// The other operators are plus, minus (of one argument), times, divide, pow, quotient,
// rem, piecewise, lt, leq, gt, geq, eq, neq, not, and, or, xor, true, false, lambda. The
// caller must not change args.
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

// Substitute replaces names by expressions. All names are replaced simultaneously, so
// names in the inserted expressions are not replaced. A name stands for a number, so
// Substitute panics if a replacement is a condition or a lambda.
func (n *Node) Substitute(by map[string]*Node) *Node {
	if len(by) == 0 {
		return n
	}
	for name, m := range by {
		if m.Boolean() || m.op == opLambda {
			panic(fmt.Sprintf("expr: the replacement for %s is a condition or a lambda: want a number", name))
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
// order on the same numbers and names. Equal compares the expressions without simplifying
// them.
func (n *Node) Equal(m *Node) bool {
	if n == m {
		return true
	}
	p := newPool()
	pair := p.adopt(n, m)
	return pair[0] == pair[1]
}
