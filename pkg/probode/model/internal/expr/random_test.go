package expr

import (
	"math/rand/v2"
)

// A gen makes random expressions in the names x, y and z.
type gen struct{ *rand.Rand }

func newGen(seed uint64) gen { return gen{rand.New(rand.NewPCG(seed, 1))} }

var leafNumbers = []float64{0.5, 2, 3, -1.5, 0.25, 1, -2, 4, 0, 1.75}

func (g gen) leaf() *Node {
	if g.IntN(10) < 7 {
		return Sym([]string{"x", "y", "z"}[g.IntN(3)])
	}
	return Num(leafNumbers[g.IntN(len(leafNumbers))])
}

// number returns an expression of at most the given depth, as users would build it: not
// simplified, and with calls by all existing names.
func (g gen) number(depth int) *Node {
	if depth == 0 || g.IntN(12) == 0 {
		return g.leaf()
	}
	sub := func() *Node { return g.number(depth - 1) }
	several := func() []*Node {
		args := make([]*Node, 2+g.IntN(3))
		for i := range args {
			args[i] = sub()
		}
		return args
	}
	positive := func() *Node { return Call("plus", Num(0.5), Call("pow", sub(), Num(2))) }
	switch g.IntN(16) {
	case 0, 1, 2:
		return Call("plus", several()...)
	case 3, 4:
		return Call("times", several()...)
	case 5:
		return Call("minus", sub(), sub())
	case 6, 7:
		return Call("divide", sub(), sub())
	case 8:
		if g.IntN(2) == 0 {
			return Call([]string{"quotient", "rem"}[g.IntN(2)], sub(), sub())
		}
		return Call("minus", sub())
	case 9:
		return Call("pow", sub(), Num([]float64{0, 1, 2, 3, -1, -2, 0.5, 1.5, 7, 20, -0.5}[g.IntN(11)]))
	case 10:
		return Call("pow", positive(), sub())
	case 11:
		return Call([]string{"ln", "sqrt", "log10", "log2", "acosh"}[g.IntN(5)], positive())
	case 12:
		return Call([]string{"min", "max"}[g.IntN(2)], several()...)
	case 13:
		args := []*Node{sub(), g.condition(depth - 1)}
		if g.IntN(2) == 0 {
			args = append(args, sub(), g.condition(depth-1))
		}
		return Call("piecewise", append(args, sub())...)
	case 14: // on [−1, 1]
		return Call([]string{"asin", "acos", "atanh"}[g.IntN(3)], Call("times", Num(0.5), Call("sin", sub())))
	}
	one := []string{"exp", "ln", "sqrt", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "abs", "sign", "floor", "ceil",
		"sec", "csc", "cot", "sech", "coth", "acot", "asec", "acsch"}
	return Call(one[g.IntN(len(one))], sub())
}

func (g gen) condition(depth int) *Node {
	if depth <= 0 {
		return Call([]string{"lt", "leq", "gt", "geq"}[g.IntN(4)], g.leaf(), g.leaf())
	}
	switch g.IntN(8) {
	case 0:
		return Call("and", g.condition(depth-1), g.condition(depth-1))
	case 1:
		return Call("or", g.condition(depth-1), g.condition(depth-1), g.condition(depth-2))
	case 2:
		return Call("not", g.condition(depth-1))
	case 3:
		return Call("xor", g.condition(depth-1), g.condition(depth-1))
	case 4:
		return Call([]string{"eq", "neq"}[g.IntN(2)], g.number(depth-1), g.number(depth-1))
	}
	return Call([]string{"lt", "leq", "gt", "geq"}[g.IntN(4)], g.number(depth-1), g.number(depth-1))
}

// point returns values at which to evaluate. They are small, so that little overflows.
func (g gen) point() map[string]float64 {
	at := map[string]float64{}
	for _, s := range []string{"x", "y", "z"} {
		at[s] = g.Float64()*4 - 1.5
	}
	return at
}
