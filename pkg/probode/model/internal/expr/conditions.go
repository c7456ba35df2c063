package expr

import (
	"math"
	"slices"
)

// Conditions are the comparisons on which n switches, each once: those in its
// piecewise parts, and those that stand for the kinks and jumps of other
// functions: a <= b for min and max, x >= 0 for abs and sign, sin(πx) >= 0 for
// floor and ceil of x, and quotient and rem of which x is the quotient. Only where one of them changes its truth can n fail to be
// smooth.
func (n *Node) Conditions() []*Node {
	p := newPool()
	var list []*Node
	seen := map[*Node]bool{}
	add := func(c *Node) {
		if c.op != opBool && !seen[c] {
			seen[c] = true
			list = append(list, c)
		}
	}
	for _, m := range postorder(p.adopt(n)) {
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

// Linear returns a and b with which n is a + b·name wherever it is evaluated, without name
// in them; ok is false where there are none. A kink or a jump at some value of name, such as
// a piecewise with a condition on it, is not linear.
func (n *Node) Linear(name string) (a, b *Node, ok bool) {
	uses := func(n *Node) bool { return slices.Contains(n.Symbols(), name) }
	if slices.ContainsFunc(n.Conditions(), uses) {
		return nil, nil, false
	}
	b = n.Diff(name).Simplify()
	a = n.Substitute(map[string]*Node{name: Num(0)}).Simplify()
	return a, b, !uses(b)
}
