package expr

import (
	"math"
	"slices"
)

// Conditions returns the comparisons at which expressions change their form, without
// repetitions. These are the comparisons in piecewise expressions, and those that
// describe the kinks and jumps of functions: a <= b for min and max, x >= 0 for abs and
// sign, and sin(πx) >= 0 for floor and ceil. For quotient and rem the comparison is
// sin(πx) >= 0, where x is the quotient. The expressions are smooth wherever no condition
// changes between true and false.
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
	for _, m := range postorder(roots...) {
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

// Linear returns a and b, which do not contain name, such that n is a + b·name
// everywhere. If there are none, ok is false. An expression with a kink or a jump at some
// value of name, such as a piecewise with a condition on name, is not linear.
func (n *Node) Linear(name string) (a, b *Node, ok bool) {
	uses := func(n *Node) bool { return slices.Contains(n.Symbols(), name) }
	if slices.ContainsFunc(Conditions(n), uses) {
		return nil, nil, false
	}
	b = n.Diff(name).Simplify()
	a = n.Substitute(map[string]*Node{name: Num(0)}).Simplify()
	return a, b, !uses(b)
}
