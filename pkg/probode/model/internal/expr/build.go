package expr

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/probode/probode/pkg/internal/text"
)

// A builder makes the node of an operator or function that formulas may call by name.
type builder struct {
	min, max int                   // number of arguments; max < 0: any number
	bool     bool                  // whether the arguments are conditions
	build    func(a []*Node) *Node // for arguments whose number and types are right
	check    func(a []*Node) error // nil if only the number and types need checking
}

// An argError describes a wrong argument. The field `arg` is the index of the argument,
// counted from 0, or −1 if the number of arguments is wrong.
type argError struct {
	arg int
	msg string
}

func (e *argError) Error() string { return e.msg }

func kind(n *Node) string {
	switch {
	case n.op == opLambda:
		return "a lambda"
	case n.Boolean():
		return "a condition"
	}
	return "a number"
}

// If the argument `condition` is true, fits reports whether n is a condition; otherwise
// fits() reports whether n is a number. If n calls a function that the model defines,
// fits() returns true, because the type of the call is not yet known.
func fits(n *Node, condition bool) bool {
	return n.op == opUser || n.op != opLambda && n.Boolean() == condition
}

// Number returns n, or 1 or 0 if n is a condition.
func (n *Node) Number() *Node {
	if !n.Boolean() {
		return n
	}
	return node(opPiecewise, Num(1), n, Num(0))
}

// Condition returns n, or n > 0 or n < 0 if n is a number.
func (n *Node) Condition() *Node {
	switch {
	case fits(n, true) || n.op == opLambda:
		return n
	case n.op == opNum:
		return boolean(n.val != 0)
	case n.op == opPiecewise:
		args := slices.Clone(n.args)
		for i := 0; i < len(args); i += 2 {
			args[i] = args[i].Condition()
		}
		return piecewise(args)
	}
	return node(opOr, node(opGt, n, Num(0)), node(opLt, n, Num(0)))
}

func wantKind(name string, i int, n *Node, condition bool) error {
	if fits(n, condition) {
		return nil
	}
	return &argError{i, fmt.Sprintf("argument %d of %s is %s: want %s", i+1, name, kind(n), wanted(condition))}
}

// wanted describes what an operator requires: a condition or a number.
func wanted(condition bool) string {
	if condition {
		return "a condition (such as x > 0)"
	}
	return "a number (piecewise(1, condition, 0) makes one)"
}

func (b builder) apply(name string, args []*Node) (*Node, error) {
	if len(args) < b.min || b.max >= 0 && len(args) > b.max {
		want := fmt.Sprint(b.min)
		switch {
		case b.max < 0:
			want += " or more"
		case b.max == b.min+1:
			want += fmt.Sprintf(" or %d", b.max)
		case b.max > b.min:
			want += fmt.Sprintf(" to %d", b.max)
		}
		return nil, &argError{-1, fmt.Sprintf("%s has %s: want %s", name, arguments(len(args)), want)}
	}
	if b.check != nil {
		if err := b.check(args); err != nil {
			return nil, err
		}
	} else {
		for i, a := range args {
			if err := wantKind(name, i, a, b.bool); err != nil {
				return nil, err
			}
		}
	}
	return b.build(slices.Clone(args)), nil // a clone, because the caller may use args again
}

func arguments(n int) string {
	if n == 1 {
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", n)
}

func node(o op, args ...*Node) *Node { return &Node{op: o, args: args} }

func neg(a *Node) *Node {
	if a.op == opNum {
		return Num(-a.val)
	}
	return node(opNeg, a)
}

// nary builds an operator with any number of arguments. If there is only one argument,
// the result is this argument.
func nary(o op, empty *Node) func([]*Node) *Node {
	return func(a []*Node) *Node {
		switch len(a) {
		case 0:
			return empty
		case 1:
			return a[0]
		}
		return &Node{op: o, args: slices.Clone(a)}
	}
}

// chain builds a comparison of two or more arguments from comparisons of two: a < b < c means
// a < b and b < c.
func chain(two func(a, b *Node) *Node) func([]*Node) *Node {
	return func(a []*Node) *Node {
		var parts []*Node
		for i := 1; i < len(a); i++ {
			parts = append(parts, two(a[i-1], a[i]))
		}
		return nary(opAnd, boolean(true))(parts)
	}
}

func order(o op) builder {
	return builder{min: 2, max: -1, build: chain(func(a, b *Node) *Node { return node(o, a, b) })}
}

// equality builds == or != of two numbers or two conditions. Two conditions are equal if
// both are true or both are false.
func equality(o op) builder {
	name := map[op]string{opEq: "==", opNe: "!="}[o]
	b := builder{min: 2, max: 2, check: func(a []*Node) error {
		for i := range a {
			if err := wantKind(name, i, a[i], a[0].Boolean()); err != nil {
				return err
			}
		}
		return nil
	}}
	b.build = chain(func(a, b *Node) *Node {
		switch unequal := node(opXor, a, b); {
		case !a.Boolean() || !b.Boolean():
			return node(o, a, b)
		case o == opEq:
			return node(opNot, unequal)
		default:
			return unequal
		}
	})
	if o == opEq {
		b.max = -1
	}
	return b
}

// mod builds a − b floor(a/b), which has the sign of b.
func mod(a []*Node) *Node {
	return node(opAdd, a[0], neg(node(opMul, a[1], node(opFloor, node(opDiv, a[0], a[1])))))
}

func recip(a *Node) *Node { return node(opDiv, Num(1), a) }

// log builds the natural logarithm of its argument or, with two arguments, the logarithm
// of the first argument to the base given by the second. In the infix formulas of SBML,
// the base is the first argument of log.
func log(a []*Node) *Node {
	if len(a) == 1 {
		return node(opLn, a[0])
	}
	if a[1].op == opNum {
		switch a[1].val {
		case 10:
			return node(opLog10, a[0])
		case 2:
			return node(opLog2, a[0])
		case math.E:
			return node(opLn, a[0])
		}
	}
	return node(opDiv, node(opLn, a[0]), node(opLn, a[1]))
}

// root builds the a[0]-th root of a[1] or, if there is only one argument, the square root
// of this argument.
func root(a []*Node) *Node {
	if len(a) == 1 {
		return node(opSqrt, a[0])
	}
	if a[0].op == opNum {
		if a[0].val == 2 {
			return node(opSqrt, a[1])
		}
		return node(opPow, a[1], Num(1/a[0].val))
	}
	return node(opPow, a[1], recip(a[0]))
}

// heaviside builds an expression that is 0 for a negative argument, ½ for 0, and 1 for a
// positive argument.
func heaviside(a []*Node) *Node {
	return node(opAdd, Num(0.5), node(opMul, Num(0.5), node(opSign, a[0])))
}

// piecewise builds a piecewise expression. A piecewise expression without a default value
// is NaN where no condition holds. If the pieces are conditions, the result is a
// condition that contains only logical operators.
func piecewise(a []*Node) *Node {
	condition := false
	for i := 0; i < len(a); i += 2 {
		condition = condition || a[i].Boolean()
	}
	if !condition {
		a = slices.Clone(a)
		if len(a)%2 == 0 {
			a = append(a, Num(math.NaN()))
		}
		if len(a) == 1 {
			return a[0]
		}
		return &Node{op: opPiecewise, args: a}
	}
	rest := boolean(false)
	if len(a)%2 == 1 {
		rest = a[len(a)-1]
		a = a[:len(a)-1]
	}
	for i := len(a) - 2; i >= 0; i -= 2 {
		v, c := a[i], a[i+1]
		rest = node(opOr, node(opAnd, c, v), node(opAnd, node(opNot, c), rest))
	}
	return rest
}

func checkPiecewise(a []*Node) error {
	condition := -1
	for i, n := range a {
		if i%2 == 1 {
			if err := wantKind("piecewise", i, n, true); err != nil {
				return err
			}
			continue
		}
		if n.op == opUser {
			continue
		}
		if condition < 0 {
			condition = i
		}
		if err := wantKind("piecewise", i, n, a[condition].Boolean()); err != nil {
			return err
		}
	}
	return nil
}

// factorial is that of a whole number, or the gamma function at 1 + a[0] for another
// formula.
func factorial(a []*Node) *Node {
	if a[0].op == opNum {
		return Num(math.Round(math.Gamma(a[0].val + 1)))
	}
	return node(opExp, CurveAt("lgamma", logGamma{}, node(opAdd, Num(1), a[0])))
}

func checkFactorial(a []*Node) error {
	if v := a[0].val; a[0].op == opNum && (v < 0 || v > 170 || v != math.Trunc(v)) {
		return &argError{0, fmt.Sprintf("the factorial of %v: want a whole number from 0 to 170", v)}
	}
	return wantKind("factorial", 0, a[0], false)
}

// The map `builders` holds a builder for every function that formulas may call. init adds
// the functions of the core language.
var builders = map[string]builder{
	"plus":  {0, -1, false, nary(opAdd, Num(0)), nil},
	"times": {0, -1, false, nary(opMul, Num(1)), nil},
	"minus": {1, 2, false, func(a []*Node) *Node {
		if len(a) == 1 {
			return neg(a[0])
		}
		return node(opAdd, a[0], neg(a[1]))
	}, nil},
	"divide":    {2, 2, false, func(a []*Node) *Node { return node(opDiv, a...) }, nil},
	"pow":       {2, 2, false, func(a []*Node) *Node { return node(opPow, a...) }, nil},
	"sqr":       {1, 1, false, func(a []*Node) *Node { return node(opPow, a[0], Num(2)) }, nil},
	"root":      {1, 2, false, root, nil},
	"log":       {1, 2, false, log, nil},
	"min":       {1, -1, false, nary(opMin, nil), nil},
	"max":       {1, -1, false, nary(opMax, nil), nil},
	"quotient":  {2, 2, false, func(a []*Node) *Node { return node(opQuotient, a...) }, nil},
	"rem":       {2, 2, false, func(a []*Node) *Node { return node(opRem, a...) }, nil},
	"mod":       {2, 2, false, mod, nil},
	"lgamma":    {1, 1, false, func(a []*Node) *Node { return CurveAt("lgamma", logGamma{}, a[0]) }, nil},
	"factorial": {1, 1, false, factorial, checkFactorial},
	"heaviside": {1, 1, false, heaviside, nil},
	"piecewise": {1, -1, false, piecewise, checkPiecewise},

	"lt":      order(opLt),
	"leq":     order(opLe),
	"gt":      order(opGt),
	"geq":     order(opGe),
	"eq":      equality(opEq),
	"neq":     equality(opNe),
	"not":     {1, 1, true, func(a []*Node) *Node { return node(opNot, a[0]) }, nil},
	"and":     {0, -1, true, nary(opAnd, boolean(true)), nil},
	"or":      {0, -1, true, nary(opOr, boolean(false)), nil},
	"xor":     {0, -1, true, xor, nil},
	"implies": {2, 2, true, func(a []*Node) *Node { return node(opOr, node(opNot, a[0]), a[1]) }, nil},
}

func xor(a []*Node) *Node {
	if len(a) == 0 {
		return boolean(false)
	}
	n := a[0]
	for _, b := range a[1:] {
		n = node(opXor, n, b)
	}
	return n
}

// The map `aliases` lists the other names that MathML, the infix formulas of SBML, and
// SymPy use for the functions in `builders`.
var aliases = map[string]string{
	"power": "pow", "ceiling": "ceil", "signum": "sign",
	"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsec": "asec", "arccsc": "acsc", "arccot": "acot",
	"arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "arcsech": "asech", "arccsch": "acsch", "arccoth": "acoth",
	"Abs": "abs", "Min": "min", "Max": "max", "Heaviside": "heaviside", "Pow": "pow", "le": "leq", "ge": "geq", "ne": "neq",
}

func init() {
	for o := opExp; o <= opAtanh; o++ {
		builders[operators[o].name] = builder{min: 1, max: 1, build: func(a []*Node) *Node { return node(o, a[0]) }}
	}
	for name, of := range map[string]op{"sec": opCos, "csc": opSin, "cot": opTan, "sech": opCosh, "csch": opSinh, "coth": opTanh} {
		builders[name] = builder{min: 1, max: 1, build: func(a []*Node) *Node { return recip(node(of, a[0])) }}
	}
	for name, of := range map[string]op{"asec": opAcos, "acsc": opAsin, "acot": opAtan, "asech": opAcosh, "acsch": opAsinh, "acoth": opAtanh} {
		builders[name] = builder{min: 1, max: 1, build: func(a []*Node) *Node { return node(of, recip(a[0])) }}
	}
	for name, of := range aliases {
		builders[name] = builders[of]
	}
}

// IsFunction reports whether every formula may call a function with the given name.
func IsFunction(name string) bool {
	_, ok := builders[name]
	return ok
}

// The map `refused` holds a message for each unsupported function of SBML and SymPy.
var refused = map[string]string{
	"delay":     "delay equations are not supported",
	"rateOf":    "formulas cannot contain the rate of change of a variable: write the right-hand side of its equation instead",
	"rateof":    "formulas cannot contain the rate of change of a variable: write the right-hand side of its equation instead",
	"Piecewise": "write piecewise(value, condition, ..., otherwise)",
	"gamma":     "write exp(lgamma(x)) for x > 0",
	"sum":       "its first argument is no index of the file",
	"product":   "its first argument is no index of the file",
	"erf":       "the error function is not supported",
}

func unknownFunction(name string, more []string) error {
	if why, ok := refused[name]; ok {
		return fmt.Errorf("function %s: %s", name, why)
	}
	names := slices.AppendSeq(slices.Clone(more), maps.Keys(builders))
	slices.Sort(names)
	if best := text.Nearest(name, names); best != "" {
		return fmt.Errorf("function %s is not known: did you mean %s?", name, best)
	}
	return fmt.Errorf("function %s is not known: want a function such as exp, ln, log10, pow, piecewise, min or sin", name)
}
