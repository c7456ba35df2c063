package expr

import (
	"math"
	"slices"
)

// Conditions returns a list of comparisons, without repetitions. The expressions may have
// a kink or a jump where a comparison in the list changes between true and false, and are
// smooth elsewhere. The list contains the comparisons in piecewise expressions. The list
// also contains comparisons that describe the kinks and jumps of functions: a <= b for
// min and max, x >= 0 for abs and sign, and sin(πx) >= 0 for floor and ceil. For
// quotient(a, b) and rem(a, b), the list contains sin(πa/b) >= 0.
func Conditions(of ...*Node) []*Node {
	p := newPool()
	var list []*Node
	roots := p.adopt(of...)
	seen := map[*Node]bool{}
	add := func(c *Node) {
		if c.op != opBool && !seen[c] {
			seen[c] = true
			list = append(list, c)
		}
	}
	for _, m := range Parts(roots...) {
		a := m.args
		switch {
		case m.op.isComparison():
			add(m)
		case m.op == opMin || m.op == opMax:
			best := a[0]
			for _, b := range a[1:] {
				add(p.intern(node(opLe, best, b)))
				best = p.intern(node(m.op, best, b))
			}
		case m.op == opAbs || m.op == opSign:
			add(p.intern(node(opGe, a[0], p.num(0))))
		case m.op == opFloor || m.op == opCeil || m.op == opQuotient || m.op == opRem:
			x := a[0]
			if len(a) == 2 {
				x = p.intern(node(opDiv, a[0], a[1]))
			}
			turns := p.intern(node(opMul, p.num(math.Pi), x))
			add(p.intern(node(opGe, p.intern(node(opSin, turns)), p.num(0))))
		}
	}
	return list
}

// Jumps returns expressions that equal the given ones, up to rounding, and lists what
// makes them jump: their comparisons and calls of sign and floor, without repetitions. A
// part follows the parts that it contains. The expressions express ceil, quotient and rem
// by these.
func Jumps(of ...*Node) (equal, parts []*Node) {
	equal = Simplified(rebuildAll(of, func(m *Node, a []*Node) *Node {
		quotient := func() *Node { // rounded towards 0
			q := node(opDiv, a[0], a[1])
			n := node(opFloor, node(opAbs, q))
			return node(opPiecewise, n, node(opGe, q, Num(0)), neg(n))
		}
		switch m.op {
		case opCeil:
			return neg(node(opFloor, neg(a[0])))
		case opQuotient:
			return quotient()
		case opRem:
			return node(opAdd, a[0], neg(node(opMul, a[1], quotient())))
		}
		return m.with(a)
	})...)
	for _, m := range Parts(equal...) {
		if m.op == opSign || m.op == opFloor || m.op.isComparison() {
			parts = append(parts, m)
		}
	}
	return equal, parts
}

// Replace returns copies of the expressions in the slice `in`. If a node n is a key of
// the map `by`, the copies contain by[n] instead of n.
func Replace(in []*Node, by map[*Node]*Node) []*Node {
	return rebuildAll(in, func(m *Node, args []*Node) *Node {
		if to := by[m]; to != nil {
			return to
		}
		return m.with(args)
	})
}

// Linear returns two expressions a and b that do not contain the given name, such that n
// equals a + b × `name` everywhere. If n is not linear in `name`, ok is false. An
// expression is not linear if it has a kink or a jump at some value of `name`, for
// example if it is piecewise with a condition on `name`.
func (n *Node) Linear(name string) (a, b *Node, ok bool) {
	n = n.Simplify() // 0/name is 0, which name = 0 would make NaN
	uses := func(n *Node) bool { return slices.Contains(n.Symbols(), name) }
	if slices.ContainsFunc(Conditions(n), uses) {
		return nil, nil, false
	}
	b = n.Diff(name).Simplify()
	a = n.Substitute(map[string]*Node{name: Num(0)}).Simplify()
	return a, b, !uses(b)
}

// Margin returns an expression that is positive exactly where the condition n is true.
// Where the two sides of ≥ or ≤ are equal, the expression is the smallest positive
// floating-point number instead of 0; it is continuous everywhere else. The second result
// is false if n contains = or ≠, or if a side of a comparison contains a function that
// jumps, such as floor. Margin splits a comparison that contains a piecewise expression
// into one comparison for each piece; a condition that selects a piece may contain = and ≠.
func (n *Node) Margin() (*Node, bool) { return n.margin(false) }

// margin returns the Margin of n or, if the argument `not` is true, the Margin of the
// negation of n.
func (n *Node) margin(not bool) (*Node, bool) {
	op, args := n.Operator()
	if v, ok := n.Const(); ok {
		if (v != 0) != not {
			return Num(1), true
		}
		return Num(-1), true
	}
	switch op {
	case "not":
		return args[0].margin(!not)
	case "and", "or":
		parts := make([]*Node, len(args))
		for i, a := range args {
			var ok bool
			if parts[i], ok = a.margin(not); !ok {
				return nil, false
			}
		}
		if (op == "and") != not {
			return Call("min", parts...), true
		}
		return Call("max", parts...), true
	case "xor":
		a, b := args[0], args[1]
		return Call("or", Call("and", a, Call("not", b)), Call("and", Call("not", a), b)).margin(not)
	case "gt", "geq", "lt", "leq":
		for _, m := range Parts(n) {
			switch m.op {
			case opSign, opFloor, opCeil, opQuotient, opRem:
				return nil, false
			case opCurve:
				if m.curve.Jumps() {
					return nil, false
				}
			case opPiecewise:
				return n.cases(m).margin(not)
			}
		}
		more, less := args[0], args[1]
		if (op == "lt" || op == "leq") != not {
			more, less = less, more
		}
		g := Call("minus", more, less)
		if strict := op == "gt" || op == "lt"; strict == not {
			g = Call("piecewise", Num(math.SmallestNonzeroFloat64), Call("eq", more, less), g)
		}
		return g, true
	}
	return nil, false
}

// The comparison n contains the piecewise expression p. cases returns an equivalent
// condition that does not contain p.
func (n *Node) cases(p *Node) *Node {
	var all, before []*Node // the conditions of earlier cases, negated
	for i := 0; i < len(p.args); i += 2 {
		here := append(before[:len(before):len(before)], Replace([]*Node{n}, map[*Node]*Node{p: p.args[i]})[0])
		if i+1 < len(p.args) {
			when := rebuild(p.args[i+1], func(m *Node, a []*Node) *Node {
				switch m.op {
				case opEq:
					return node(opAnd, node(opLe, slices.Clone(a)...), node(opGe, slices.Clone(a)...))
				case opNe:
					return node(opOr, node(opLt, slices.Clone(a)...), node(opGt, slices.Clone(a)...))
				}
				return m.with(a)
			})
			here = append(here, when)
			before = append(before, Call("not", when))
		}
		all = append(all, Call("and", here...))
	}
	return Call("or", all...)
}
