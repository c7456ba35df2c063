package expr

import (
	"math"
	"slices"
)

// A Pole is a part of an expression that may be infinite where the expression Zero is
// zero, such as a fraction and its denominator.
type Pole struct{ Part, Zero *Node }

// Poles lists the poles of the expressions, without those whose Zero cannot change its
// sign. Factors of a denominator are listed separately. The function positive() says
// whether the value of a name is known not to be negative.
func Poles(positive func(name string) bool, of ...*Node) []Pole {
	p := newPool()
	signs := map[*Node]int{}
	seen := map[*Node]bool{}
	var list []Pole
	var add func(part, zero *Node)
	add = func(part, zero *Node) {
		switch a := zero.args; zero.op {
		case opMul:
			for _, f := range a {
				add(part, f)
			}
			return
		case opNeg, opDiv, opPow, opSqrt, opAbs:
			add(part, a[0])
			return
		}
		if signs[zero] == 0 && !seen[zero] {
			seen[zero] = true
			list = append(list, Pole{part, zero})
		}
	}
	for _, m := range Parts(p.adopt(of...)...) {
		signs[m] = m.sign(positive, signs)
		switch m.op {
		case opDiv:
			add(m, m.args[1])
		case opPow:
			if e := m.args[1]; e.op != opNum || e.val < 0 || e.val != math.Trunc(e.val) {
				add(m, m.args[0])
			}
		case opSqrt, opLn, opLog10, opLog2:
			add(m, m.args[0])
		case opTan:
			add(m, p.intern(node(opCos, m.args[0])))
		}
	}
	return list
}

// sign returns 1 if n is known not to be negative, −1 if n is known not to be positive, and
// 0 otherwise. The argument `of` holds the signs of the arguments of n.
func (n *Node) sign(positive func(name string) bool, of map[*Node]int) int {
	all := func(args []*Node) int { // the sign that all arguments have
		for _, a := range args {
			if of[a] != of[args[0]] {
				return 0
			}
		}
		return of[args[0]]
	}
	switch a := n.args; n.op {
	case opNum:
		if n.val < 0 {
			return -1
		}
		return 1
	case opSym:
		if positive(n.name) {
			return 1
		}
	case opExp, opSqrt, opAbs, opCosh:
		return 1
	case opNeg:
		return -of[a[0]]
	case opAdd:
		return all(a)
	case opMin, opMax:
		one := 1
		if n.op == opMin {
			one = -1
		}
		if slices.ContainsFunc(a, func(a *Node) bool { return of[a] == one }) {
			return one
		}
		return all(a)
	case opMul, opDiv:
		s := 1
		for _, f := range a {
			s *= of[f]
		}
		return s
	case opPow:
		if e := a[1]; e.op == opNum && math.Mod(e.val, 2) == 0 {
			return 1
		}
		return max(of[a[0]], 0)
	case opPiecewise:
		values := []*Node{a[len(a)-1]}
		for i := 0; i+1 < len(a); i += 2 {
			values = append(values, a[i])
		}
		return all(values)
	}
	return 0
}
