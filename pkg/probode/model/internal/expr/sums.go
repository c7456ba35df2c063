package expr

import (
	"math"
	"slices"
)

// Expressions, especially derivatives, tend to grow into long sums and products. The
// functions below combine equal terms into one term with a numerical factor, and combine
// equal factors into a power.

// flattenMost limits the merging of nested sums and of nested products. An inner sum is
// merged into the outer sum only if the inner sum has at most flattenMost operands.
// Without the limit, n sums that each contain the previous sum could grow to about n²
// terms in total.
const flattenMost = 16

// The argument v is the result of combining several numbers. combinable reports whether v
// is far from overflow and underflow.
func combinable(v float64) bool {
	a := math.Abs(v)
	return a == 0 || a > 1e-290 && a < 1e290
}

func (p *pool) sub(a, b *Node) *Node { return p.add(a, p.neg(b)) }

// split returns the numerical factor of a term and the product of the other factors.
func (p *pool) split(t *Node) (float64, *Node) {
	switch {
	case t.op == opNeg:
		c, rest := p.split(t.args[0])
		return -c, rest
	case t.op == opMul && t.args[0].op == opNum:
		if len(t.args) == 2 {
			return t.args[0].val, t.args[1]
		}
		return t.args[0].val, p.commute(node(opMul, t.args[1:]...))
	}
	return 1, t
}

// A term is the number c times the expression in the field `rest`. If the term is only a
// number, the field `rest` is nil.
type term struct {
	c    float64
	rest *Node
	once *Node // the term itself, if it was not joined from several
}

// collect combines equal terms into one term. The combined term takes the place of the
// first of the equal terms.
func (p *pool) collect(terms []*Node) []term {
	var parts []term
	where := map[*Node]int{}
	for _, t := range terms {
		c, rest, once := 0.0, (*Node)(nil), t
		if t.op == opNum {
			c = t.val
		} else {
			c, rest = p.split(t)
		}
		if i, ok := where[rest]; ok {
			if s := parts[i].c + c; combinable(s) {
				parts[i].c, parts[i].once = s, nil
				continue
			}
		} else {
			where[rest] = len(parts)
		}
		parts = append(parts, term{c, rest, once})
	}
	return parts
}

// add adds terms, and combines equal terms. The method removes the brackets around inner
// sums if terms can then be combined. If no terms can be combined, the method keeps the
// brackets, because the author of the model may have used them for accuracy. Brackets
// around the first term can always be removed, because a sum is computed from left to
// right.
func (p *pool) add(terms ...*Node) *Node {
	var open, flat []*Node
	for i, t := range terms {
		into := []*Node{t}
		switch {
		case t.op == opAdd && len(t.args) <= flattenMost:
			into = t.args
		case t.op == opNeg && t.args[0].op == opAdd && len(t.args[0].args) <= flattenMost:
			into = nil
			for _, u := range t.args[0].args {
				into = append(into, p.neg(u))
			}
		}
		open = append(open, into...)
		if i == 0 && t.op == opAdd {
			flat = append(flat, into...)
		} else {
			flat = append(flat, t)
		}
	}
	parts := p.collect(open)
	if len(parts) == len(open) && len(open) > len(flat) {
		parts = p.collect(flat)
	}
	args := make([]*Node, 0, len(parts))
	for _, q := range parts {
		switch {
		case q.c == 0:
		case q.once != nil:
			args = append(args, q.once)
		case q.rest == nil:
			args = append(args, p.num(q.c))
		default:
			args = append(args, p.mul(p.num(q.c), q.rest))
		}
	}
	switch len(args) {
	case 0:
		return p.num(0)
	case 1:
		return args[0]
	}
	// A sum that begins with a positive term is easier to read, and saves a negation.
	for i, a := range args {
		if !negative(a) {
			args[0], args[i] = args[i], args[0]
			break
		}
	}
	if a := args[0]; a.op == opAdd && len(a.args) <= flattenMost {
		args = append(slices.Clone(a.args), args[1:]...)
	}
	return p.commute(node(opAdd, args...))
}

func negative(a *Node) bool {
	return a.op == opNeg || a.op == opNum && math.Signbit(a.val) && a.val == a.val
}

// factor represents one factor of a product. This type is used when equal factors are
// combined into powers.
type factor struct {
	base *Node
	n    float64 // exponent of the factor, a positive whole number
	div  bool    // the factor is 1/base
}

// A product consists of a numerical coefficient, further numbers that cannot be combined
// with the coefficient, and other factors.
type product struct {
	coef    float64
	numbers []float64
	factors []factor
	where   map[*Node]int
	joined  bool // some of the factors were joined
}

func (q *product) put(f *Node) {
	for f.op == opNeg {
		q.coef, f = -q.coef, f.args[0]
	}
	switch {
	case f.op == opNum:
		if c := q.coef * f.val; combinable(c) || math.Abs(q.coef) == 1 {
			q.joined = q.joined || math.Abs(q.coef) != 1
			q.coef = c
		} else {
			q.numbers = append(q.numbers, f.val)
		}
	case f.op == opDiv && f.args[0].op == opNum && f.args[0].val == 1:
		q.factors = append(q.factors, factor{base: f.args[1], div: true})
	default:
		base, n := wholePower(f)
		if i, ok := q.where[base]; ok {
			q.factors[i].n += n
			q.joined = true
			return
		}
		q.where[base] = len(q.factors)
		q.factors = append(q.factors, factor{base: base, n: n})
	}
}

// mul returns the product of factors. The numerical factor comes first, the sign is
// outside the product, and integer powers of equal factors are combined. The method
// treats brackets around inner products as add() treats brackets around inner sums. If an
// inner product begins with a number, the method also removes the brackets, so that the
// number can come first.
func (p *pool) mul(factors ...*Node) *Node {
	q := &product{coef: 1, where: map[*Node]int{}}
	inner := false
	open := func(always bool) {
		for i, f := range factors {
			m := f
			if m.op == opNeg {
				m = m.args[0]
			}
			if m.op != opMul || len(m.args) > flattenMost || !always && i > 0 && m.args[0].op != opNum {
				q.put(f)
				continue
			}
			inner = inner || i > 0 && m.args[0].op != opNum
			if m != f {
				q.coef = -q.coef
			}
			for _, g := range m.args {
				q.put(g)
			}
		}
	}
	open(true)
	if inner && !q.joined {
		q = &product{coef: 1, where: map[*Node]int{}}
		open(false)
	}
	return p.product(q)
}

// undefined reports whether a factor is a number that is not finite, or the quotient by the
// number 0, also rounded, as in mod(x, 0).
func (q *product) undefined() bool {
	never := func(v float64) bool { return v-v != 0 }
	return slices.ContainsFunc(q.numbers, never) || slices.ContainsFunc(q.factors, func(f factor) bool {
		n := f.base
		for n.op == opNeg || n.op == opAbs || n.op == opFloor || n.op == opCeil {
			n = n.args[0]
		}
		return f.div && isZero(n) || n.op == opDiv && isZero(n.args[1])
	})
}

func (p *pool) product(q *product) *Node {
	switch {
	case q.coef == 0 && q.undefined():
		return p.num(math.NaN())
	case q.coef == 0 || q.coef != q.coef:
		return p.num(q.coef)
	}
	args := []*Node{p.num(math.Abs(q.coef))}
	for _, v := range q.numbers {
		args = append(args, p.num(v))
	}
	var below []*Node
	for _, f := range q.factors {
		switch {
		case f.div:
			below = append(below, f.base)
		case f.n == 1:
			args = append(args, f.base)
		default:
			args = append(args, p.pow(f.base, p.num(f.n)))
		}
	}
	if args[0].val == 1 && len(args) > 1 {
		args = args[1:]
	}
	n := args[0]
	if len(args) > 1 {
		n = p.commute(node(opMul, args...))
	}
	for _, b := range below {
		n = p.div(n, b)
	}
	if q.coef < 0 {
		n = p.neg(n)
	}
	return n
}
