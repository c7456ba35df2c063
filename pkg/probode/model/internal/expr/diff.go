package expr

import (
	"math"
	"slices"
)

// Diff returns the exact derivative of n with respect to a name, in simplified form. The
// documentation of the package says what Diff returns at kinks. Diff panics if n is a
// condition or a lambda, or calls a function that has not been expanded.
func (n *Node) Diff(name string) *Node {
	p := newPool()
	return p.diff(p.simplify(n)[0], name, map[*Node]*Node{})
}

// Jacobian differentiates each expression in fs with respect to each of the names. The
// resulting matrix has a row for each expression. An entry is nil if the derivative is
// always zero. Common parts of the entries are stored only once. Jacobian panics in the
// same cases as [Node.Diff].
func Jacobian(fs []*Node, names []string) [][]*Node {
	p := newPool()
	simple := p.simplify(fs...)
	jac := make([][]*Node, len(fs))
	for i := range fs {
		jac[i] = make([]*Node, len(names))
	}
	uses := map[string][]int{}
	for i, f := range simple {
		for _, s := range f.Symbols() {
			uses[s] = append(uses[s], i)
		}
	}
	for j, name := range names {
		done := map[*Node]*Node{}
		for _, i := range uses[name] {
			if d := p.diff(simple[i], name, done); !isZero(d) {
				jac[i][j] = d
			}
		}
	}
	return jac
}

// Gradient returns the derivatives of the sum Σ wᵢ fᵢ with respect to each of the names.
// The argument `weights` contains the names of the weights wᵢ. A derivative is nil if it
// is always zero. Gradient uses reverse accumulation: the derivative of the sum with
// respect to each subexpression is computed only once. For any number of names, the
// computation of all derivatives takes only a few times as many operations as the
// computation of the sum [Griewank & Walther 2008, §3.2]. In deeply nested piecewise
// expressions, an inactive piece whose derivative is NaN may make the result NaN.
// Gradient panics in the same cases as [Node.Diff].
//
// The argument `held` lists names as for [Compile]. The derivatives of a long sum that
// depends on no other names do not contain the weights, so that a Program keeps them.
func Gradient(fs []*Node, weights, names []string, held ...string) []*Node {
	p := newPool()
	var seeds []*Node
	for _, w := range weights {
		seeds = append(seeds, p.simplify(Sym(w))...)
	}
	return p.gradient(p.simplify(paired(fs)...), seeds, names, held)
}

// gradient returns the derivatives of the sum of the expressions in the argument
// `simple`, each times its weight.
func (p *pool) gradient(simple, weights []*Node, names, held []string) []*Node {
	moves := map[*Node]bool{} // whether a part depends on names
	loose := map[*Node]bool{} // whether it depends on names that are not held
	index := map[string]int{}
	for i, name := range names {
		index[name] = i
	}
	parts := Parts(simple...)
	for _, m := range parts {
		_, moves[m] = index[m.name]
		moves[m] = moves[m] && m.op == opSym
		loose[m] = moves[m] && !slices.Contains(held, m.name)
		for _, a := range m.args {
			moves[m] = moves[m] || moves[a] && !m.Boolean()
			loose[m] = loose[m] || loose[a] && !m.Boolean()
		}
	}
	terms := map[*Node][]*Node{} // of the derivative with respect to a part
	for i, w := range weights {
		terms[simple[i]] = append(terms[simple[i]], w)
	}
	out := make([]*Node, len(names))
	for k := len(parts) - 1; k >= 0; k-- {
		m := parts[k]
		if !moves[m] || len(terms[m]) == 0 {
			continue
		}
		slope := p.add(terms[m]...)
		if m.op == opSym {
			if !isZero(slope) {
				out[index[m.name]] = slope
			}
			continue
		}
		if one := p.num(1); m.op == opAdd && len(m.args) > flattenMost && !loose[m] && slope != one {
			for i, t := range p.gradient([]*Node{m}, []*Node{one}, held, held) {
				if t != nil {
					name := p.intern(Sym(held[i]))
					terms[name] = append(terms[name], p.mul(slope, t))
				}
			}
			continue
		}
		d := make([]*Node, len(m.args))
		for i, a := range m.args {
			if !a.Boolean() {
				d[i] = p.num(0)
			}
		}
		for i, a := range m.args {
			if !moves[a] || a.Boolean() {
				continue
			}
			d[i] = slope // chainRule is linear in d
			t := p.chainRule(m, d)
			d[i] = p.num(0)
			switch m.op {
			case opAdd, opNeg, opPiecewise, opMin, opMax:
			default: // the slope of m may be NaN in a piece that is not taken
				t = p.guard(slope, t)
			}
			if !isZero(t) {
				terms[a] = append(terms[a], t)
			}
		}
	}
	return out
}

// paired writes min(a, b, c) as min(min(a, b), c), and max likewise. The derivatives with
// respect to n arguments then take n operations, not n².
func paired(list []*Node) []*Node {
	return rebuildAll(list, func(m *Node, args []*Node) *Node {
		if m.op != opMin && m.op != opMax {
			return m.with(args)
		}
		best := args[0]
		for _, a := range args[1:] {
			best = node(m.op, best, a)
		}
		return best
	})
}

// diff returns the derivative of n, and adds the derivatives of all parts of n to the map
// `done`. The node n must already be in simplified form, and must be in the pool of
// nodes.
func (p *pool) diff(n *Node, name string, done map[*Node]*Node) *Node {
	if n.Boolean() || n.op == opLambda {
		panic("expr: derivative of " + kind(n) + ": want a number")
	}
	var d []*Node
	for _, m := range partsBut(done, n) {
		if m.Boolean() {
			continue
		}
		d = d[:0]
		zero := true
		for _, a := range m.args {
			da := done[a] // nil for a condition
			d = append(d, da)
			zero = zero && (da == nil || isZero(da))
		}
		switch {
		case m.op == opUser:
			panic("expr: derivative of the function " + m.name + ": expand it first")
		case m.op == opSym && m.name == name:
			done[m] = p.num(1)
		case zero: // this includes numbers and other names
			done[m] = p.num(0)
		default:
			done[m] = p.chainRule(m, d)
		}
	}
	return done[n]
}

// chainRule returns the derivative of m, whose arguments have the derivatives d.
func (p *pool) chainRule(m *Node, d []*Node) *Node {
	one := p.num(1)
	a := m.args
	x := a[0]
	sq := func(x *Node) *Node { return p.pow(x, p.num(2)) }
	over := func(below *Node) *Node { return p.div(d[0], below) }
	switch m.op {
	case opNeg:
		return p.neg(d[0])
	case opAdd:
		return p.add(d...)
	case opMul:
		return p.diffProduct(a, d)
	case opDiv: // (u/v)' = (u' − (u/v) v')/v needs no v², which can overflow
		return p.div(p.sub(d[0], p.mul(m, d[1])), a[1])
	case opPow:
		return p.diffPower(m, d)
	case opMin, opMax:
		o := opLe
		if m.op == opMax {
			o = opGe
		}
		best, slope := x, d[0]
		for i := 1; i < len(a); i++ {
			slope = p.piecewise([]*Node{slope, p.cmp(o, best, a[i]), d[i]})
			best = p.make(node(m.op, best, a[i]), []*Node{best, a[i]})
		}
		return slope
	case opPiecewise:
		args := make([]*Node, len(a))
		for i := range a {
			args[i] = a[i]
			if i%2 == 0 || i == len(a)-1 {
				args[i] = d[i]
			}
		}
		return p.piecewise(args)
	case opCurve:
		return p.mul(p.make(derivativeOf(m.name, m.curve, m.val+1, x), a), d[0])
	case opExp:
		return p.mul(m, d[0])
	case opLn:
		return over(x)
	case opLog10:
		return over(p.mul(p.num(math.Ln10), x))
	case opLog2:
		return over(p.mul(p.num(math.Ln2), x))
	case opSqrt:
		return p.guard(d[0], over(p.mul(p.num(2), m)))
	case opAbs:
		return p.mul(p.fn(opSign, x), d[0])
	case opSign, opFloor, opCeil, opQuotient:
		return p.num(0)
	case opRem: // x − quotient(x, y) y
		return p.sub(d[0], p.mul(p.make(node(opQuotient, a...), a), d[1]))
	case opSin:
		return p.mul(p.fn(opCos, x), d[0])
	case opCos:
		return p.neg(p.mul(p.fn(opSin, x), d[0]))
	case opTan:
		return p.mul(p.add(one, sq(m)), d[0])
	case opAsin:
		return p.guard(d[0], over(p.fn(opSqrt, p.mul(p.sub(one, x), p.add(one, x)))))
	case opAcos:
		return p.neg(p.guard(d[0], over(p.fn(opSqrt, p.mul(p.sub(one, x), p.add(one, x))))))
	case opAtan:
		return over(p.add(one, sq(x)))
	case opSinh:
		return p.mul(p.fn(opCosh, x), d[0])
	case opCosh:
		return p.mul(p.fn(opSinh, x), d[0])
	case opTanh: // 1 − tanh² would lose its digits for large x
		return over(sq(p.fn(opCosh, x)))
	case opAsinh:
		return over(p.fn(opSqrt, p.add(one, sq(x))))
	case opAcosh:
		return p.guard(d[0], over(p.mul(p.fn(opSqrt, p.sub(x, one)), p.fn(opSqrt, p.add(x, one)))))
	case opAtanh:
		return over(p.mul(p.sub(one, x), p.add(one, x)))
	}
	panic("expr: the derivative of an operator is missing") // the switch is complete
}

// diffProduct returns the derivative of a product. The derivative is a sum over the
// factors that are not constant; each term is the derivative of a factor times the other
// factors. For each k, the product of the first k factors and the product of the last k
// factors are computed only once. The derivative of a product of n factors therefore
// takes O(n) operations.
func (p *pool) diffProduct(a, d []*Node) *Node {
	one := p.num(1)
	right := make([]*Node, len(a)+1)
	right[len(a)] = one
	for i := len(a) - 1; i > 0; i-- {
		right[i] = p.mul(a[i], right[i+1])
	}
	left := one
	var terms []*Node
	for i := range a {
		if !isZero(d[i]) {
			terms = append(terms, p.mul(left, d[i], right[i+1]))
		}
		left = p.mul(left, a[i])
	}
	return p.add(terms...)
}

// diffPower returns (x^y)' = y x^(y−1) x' + x^y ln(x) y'. The computed value of each term
// is finite wherever the term has a finite limit, even if a factor of the term is
// infinite or NaN.
func (p *pool) diffPower(m *Node, d []*Node) *Node {
	x, y := m.args[0], m.args[1]
	zero := p.num(0)
	var terms []*Node
	if !isZero(d[0]) {
		slope := p.mul(y, p.pow(x, p.sub(y, p.num(1))))
		slope = p.piecewise([]*Node{zero, p.cmp(opEq, y, zero), slope})
		term := p.mul(slope, d[0])
		if y.op != opNum || y.val < 1 {
			term = p.guard(d[0], term)
		}
		terms = append(terms, term)
	}
	if !isZero(d[1]) {
		slope := p.mul(m, p.fn(opLn, x))
		limit := p.logic(node(opAnd), []*Node{p.cmp(opEq, x, zero), p.cmp(opGt, y, zero)})
		slope = p.piecewise([]*Node{zero, limit, slope})
		terms = append(terms, p.guard(d[1], p.mul(slope, d[1])))
	}
	return p.add(terms...)
}

// The argument `product` is the derivative d of an inner function times the derivative of
// an outer function. The derivative of the outer function can be infinite or NaN where
// the outer function itself is finite. guard returns 0 where the inner function is
// constant (see vanishes), and `product` elsewhere. For example, `product` is 0 × ∞ for
// the function sqrt(max(0, x)) at x < 0.
func (p *pool) guard(d, product *Node) *Node {
	if c := p.vanishes(d, 8); c.op != opBool || c.val != 0 {
		return p.piecewise([]*Node{p.num(0), c, product})
	}
	return product
}

// vanishes returns a condition that holds in the regions where d is constantly 0, but not
// at isolated zeros of d. In each region, a piecewise expression in d selects the
// constant 0. The derivative of x² has an isolated zero at x = 0, where the expression
// (x²)^¼ has no derivative. The method examines only the outermost levels of d.
func (p *pool) vanishes(d *Node, levels int) *Node {
	never := p.bool(false)
	if levels == 0 {
		return never
	}
	all := func(o op, list []*Node) *Node {
		c := make([]*Node, len(list))
		for i, a := range list {
			c[i] = p.vanishes(a, levels-1)
		}
		return p.logic(node(o), c)
	}
	switch d.op {
	case opNum:
		return p.bool(d.val == 0)
	case opNeg, opDiv:
		return p.vanishes(d.args[0], levels-1)
	case opMul:
		return all(opOr, d.args)
	case opAdd:
		return all(opAnd, d.args)
	case opPiecewise:
		last := len(d.args) - 1
		c := p.vanishes(d.args[last], levels-1)
		for i := last - 2; i >= 0; i -= 2 { // this piece if its condition holds, otherwise what follows
			taken := d.args[i+1]
			not := p.logic(node(opNot, taken), []*Node{taken})
			here := p.logic(node(opAnd), []*Node{taken, p.vanishes(d.args[i], levels-1)})
			c = p.logic(node(opOr), []*Node{here, p.logic(node(opAnd), []*Node{not, c})})
		}
		return c
	}
	return never
}
