package expr

import "math"

// An op is a basic operator. Other functions that formulas may contain, such as sec, root
// and implies, are replaced by combinations of basic operators when a formula is read.
type op uint8

const (
	opNum op = iota
	opSym
	opUser   // a call of a function that the model defines
	opLambda // such a function: its parameters are in name, its body is args[0]

	opNeg
	opAdd // two or more terms, summed from the left
	opMul // two or more factors, multiplied from the left
	opDiv
	opPow
	opMin
	opMax
	opQuotient  // quotient of two numbers, rounded towards 0
	opRem       // remainder of that division, with the sign of the first number
	opPiecewise // value, condition, …, otherwise
	opCurve     // a Curve or one of its derivatives

	opExp
	opLn
	opLog10
	opLog2
	opSqrt
	opAbs
	opSign
	opFloor
	opCeil
	opSin
	opCos
	opTan
	opAsin
	opAcos
	opAtan
	opSinh
	opCosh
	opTanh
	opAsinh
	opAcosh
	opAtanh

	opBool // the first of the conditions
	opLt
	opLe
	opGt
	opGe
	opEq
	opNe
	opNot
	opAnd // two or more
	opOr
	opXor // two

	numOps
)

func (o op) isBool() bool       { return o >= opBool }
func (o op) isComparison() bool { return opLt <= o && o <= opNe }

// operators holds several names for each operator: its name in calls such as plus(a, b),
// and its names in Go and LaTeX. The field `eval` computes a function of one number, such
// as exp, and is nil for all other operators.
var operators = [numOps]struct {
	name, golang, latex string
	eval                func(float64) float64
}{
	opNeg:       {name: "minus"},
	opAdd:       {name: "plus"},
	opMul:       {name: "times"},
	opDiv:       {name: "divide"},
	opPow:       {name: "pow"},
	opMin:       {name: "min", latex: `\min`},
	opMax:       {name: "max", latex: `\max`},
	opQuotient:  {name: "quotient", latex: `\operatorname{quotient}`},
	opRem:       {name: "rem", latex: `\operatorname{rem}`},
	opPiecewise: {name: "piecewise"},
	opCurve:     {name: "curve"},

	opExp:   {"exp", "math.Exp", "", math.Exp},
	opLn:    {"ln", "math.Log", `\ln`, math.Log},
	opLog10: {"log10", "", `\log_{10}`, func(x float64) float64 { return math.Log(x) / math.Ln10 }},
	opLog2:  {"log2", "", `\log_{2}`, func(x float64) float64 { return math.Log(x) / math.Ln2 }},
	opSqrt:  {"sqrt", "math.Sqrt", "", math.Sqrt},
	opAbs:   {"abs", "math.Abs", "", math.Abs},
	opSign:  {"sign", "", `\operatorname{sign}`, sign},
	opFloor: {"floor", "math.Floor", "", math.Floor},
	opCeil:  {"ceil", "math.Ceil", "", math.Ceil},
	opSin:   {"sin", "math.Sin", `\sin`, math.Sin},
	opCos:   {"cos", "math.Cos", `\cos`, math.Cos},
	opTan:   {"tan", "math.Tan", `\tan`, math.Tan},
	opAsin:  {"asin", "math.Asin", `\arcsin`, math.Asin},
	opAcos:  {"acos", "math.Acos", `\arccos`, math.Acos},
	opAtan:  {"atan", "math.Atan", `\arctan`, math.Atan},
	opSinh:  {"sinh", "math.Sinh", `\sinh`, math.Sinh},
	opCosh:  {"cosh", "math.Cosh", `\cosh`, math.Cosh},
	opTanh:  {"tanh", "math.Tanh", `\tanh`, math.Tanh},
	opAsinh: {"asinh", "math.Asinh", `\operatorname{arsinh}`, math.Asinh},
	opAcosh: {"acosh", "math.Acosh", `\operatorname{arcosh}`, math.Acosh},
	opAtanh: {"atanh", "math.Atanh", `\operatorname{artanh}`, math.Atanh},

	opLt:  {name: "lt", latex: ` < `},
	opLe:  {name: "leq", latex: ` \le `},
	opGt:  {name: "gt", latex: ` > `},
	opGe:  {name: "geq", latex: ` \ge `},
	opEq:  {name: "eq", latex: ` = `},
	opNe:  {name: "neq", latex: ` \ne `},
	opNot: {name: "not"},
	opAnd: {name: "and", latex: ` \land `},
	opOr:  {name: "or", latex: ` \lor `},
	opXor: {name: "xor", latex: ` \oplus `},
}

// sign returns the sign of x: −1, 0 or 1. The sign of NaN is NaN.
func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // ±0, NaN
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
