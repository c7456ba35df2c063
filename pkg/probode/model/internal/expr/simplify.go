package expr

import "math"

// Simplify evaluates operations on the numbers in n, collects terms and factors, and
// removes pieces of piecewise expressions that can never be active. The documentation of
// the package lists simplifications that Simplify does not make.
func (n *Node) Simplify() *Node { return Simplified(n)[0] }

// Simplified simplifies a list of expressions. The results share their common parts.
func Simplified(list ...*Node) []*Node { return newPool().simplify(list...) }

func (p *pool) simplify(list ...*Node) []*Node { return rebuildAll(list, p.make) }

func (p *pool) num(v float64) *Node {
	if v == 0 {
		v = 0 // a single zero, without a sign
	}
	return p.intern(Num(v))
}
func isZero(n *Node) bool { return n.op == opNum && n.val == 0 }

func (p *pool) bool(v bool) *Node      { return p.intern(boolean(v)) }
func (p *pool) fn(o op, a *Node) *Node { return p.make(node(o, a), []*Node{a}) }
func (p *pool) cmp(o op, a, b *Node) *Node {
	return p.make(node(o, a, b), []*Node{a, b})
}

// make returns the simplified form of m with the arguments `args`, which must be
// simplified and in the pool.
func (p *pool) make(m *Node, args []*Node) *Node {
	switch m.op {
	case opNum:
		return p.num(m.val)
	case opSym, opBool, opUser, opLambda:
		return p.intern(m.with(args))
	case opNeg:
		return p.neg(args[0])
	case opAdd:
		return p.add(args...)
	case opMul:
		return p.mul(args...)
	case opDiv:
		return p.div(args[0], args[1])
	case opPow:
		return p.pow(args[0], args[1])
	case opPiecewise:
		return p.piecewise(args)
	case opNot, opAnd, opOr, opXor:
		return p.logic(m, args)
	}
	if m.op == opCurve && args[0].op == opNum {
		return p.num(m.at(args[0].val))
	}
	constant := m.op != opCurve
	values := make([]float64, len(args))
	for i, a := range args {
		constant = constant && a.op == opNum
		values[i] = a.val
	}
	switch {
	case constant && m.op.isComparison():
		return p.bool(m.op.eval(values) != 0)
	case constant:
		return p.num(m.op.eval(values))
	}
	return p.intern(m.with(args))
}

func (p *pool) neg(a *Node) *Node {
	switch {
	case a.op == opNum:
		return p.num(-a.val)
	case a.op == opNeg:
		return a.args[0]
	}
	return p.intern(node(opNeg, a))
}

// wholePower returns the base and the exponent of f if f is a power with a positive
// integer exponent; for any other expression it returns f itself and 1.
func wholePower(f *Node) (*Node, float64) {
	if f.op == opPow && f.args[1].op == opNum {
		if n := f.args[1].val; n >= 1 && n == math.Trunc(n) && n < 1e6 {
			return f.args[0], n
		}
	}
	return f, 1
}

func (p *pool) div(a, b *Node) *Node {
	switch {
	case a.op == opNum && b.op == opNum:
		return p.num(a.val / b.val)
	case a.op == opNum && a.val == 0:
		return a
	case b.op == opNum && b.val == 1:
		return a
	case b.op == opNum && b.val < 0:
		return p.div(p.neg(a), p.num(-b.val))
	case a.op == opNeg:
		return p.neg(p.div(a.args[0], b))
	case b.op == opNeg:
		return p.neg(p.div(a, b.args[0]))
	case a.op == opMul && a.args[0].op == opNum && b.op == opNum:
		if c := a.args[0].val / b.val; combinable(c) && b.val != 0 {
			return p.mul(append([]*Node{p.num(c)}, a.args[1:]...)...)
		}
	case a.op == opNum && a.val < 0:
		return p.neg(p.div(p.neg(a), b))
	}
	return p.intern(node(opDiv, a, b))
}

func (p *pool) pow(a, b *Node) *Node {
	if a.op == opNum {
		switch {
		case b.op == opNum:
			return p.num(math.Pow(a.val, b.val))
		case a.val == 1:
			return a
		case a.val == math.E:
			return p.fn(opExp, b)
		}
	}
	if b.op == opNum {
		n := b.val
		switch {
		case n == 0:
			return p.num(1)
		case n == 1:
			return a
		case n == 0.5:
			return p.fn(opSqrt, a)
		case n == -1:
			return p.div(p.num(1), a)
		}
		if whole := n == math.Trunc(n) && math.Abs(n) < 1e6; whole {
			if a.op == opNeg {
				r := p.pow(a.args[0], b)
				if math.Mod(n, 2) != 0 {
					r = p.neg(r)
				}
				return r
			}
			if base, m := wholePower(a); m > 1 && n > 0 && m*n < 1e6 {
				return p.pow(base, p.num(m*n))
			}
		}
	}
	return p.intern(node(opPow, a, b))
}

// piecewise returns a piecewise expression without the pieces that are never active.
// Pieces at the end of the list are also removed if they have the same value as the
// default case.
func (p *pool) piecewise(args []*Node) *Node {
	var list []*Node
	rest := args[len(args)-1]
	for i := 0; i+1 < len(args); i += 2 {
		if c := args[i+1]; c.op == opBool {
			if c.val != 0 {
				rest = args[i]
				break
			}
			continue
		}
		list = append(list, args[i], args[i+1])
	}
	if rest.op == opPiecewise && len(list)+len(rest.args) <= 2*flattenMost {
		list = append(list, rest.args[:len(rest.args)-1]...)
		rest = rest.args[len(rest.args)-1]
	}
	for len(list) > 0 && list[len(list)-2] == rest {
		list = list[:len(list)-2]
	}
	if len(list) == 0 {
		return rest
	}
	return p.intern(node(opPiecewise, append(list, rest)...))
}

func (p *pool) logic(m *Node, args []*Node) *Node {
	switch m.op {
	case opNot:
		switch a := args[0]; a.op {
		case opBool:
			return p.bool(a.val == 0)
		case opNot:
			return a.args[0]
		}
	case opXor:
		for i, a := range args {
			if a.op == opBool {
				b := args[1-i]
				if a.val == 0 {
					return b
				}
				return p.logic(node(opNot, b), []*Node{b})
			}
		}
		if args[0] == args[1] {
			return p.bool(false)
		}
	case opAnd, opOr:
		absorbing := m.op == opOr
		var list []*Node
		seen := map[*Node]bool{}
		for _, a := range args {
			if a.op == opBool {
				if (a.val != 0) == absorbing {
					return a
				}
				continue
			}
			if !seen[a] {
				seen[a] = true
				list = append(list, a)
			}
		}
		switch len(list) {
		case 0:
			return p.bool(!absorbing)
		case 1:
			return list[0]
		}
		return p.intern(node(m.op, list...))
	}
	return p.intern(m.with(args))
}
