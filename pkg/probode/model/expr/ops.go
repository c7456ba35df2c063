package expr

import (
	"fmt"
	"math"
)

// op is an operator of the core language: what users write in more words than
// these (sec, root, implies …) is expressed in them as it is read.
type op uint8

const (
	opNum op = iota
	opSym
	opUser   // a call of a function that the model defines
	opLambda // such a function: parameters in name, args[0] the body

	opNeg
	opAdd // two or more terms, summed from the left
	opMul // two or more factors, multiplied from the left
	opDiv
	opPow
	opMin
	opMax
	opQuotient  // of two, rounded towards 0
	opRem       // what opQuotient leaves, with the sign of the first
	opPiecewise // value, condition, …, otherwise

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

// functions of one number: the name in text, and in Go.
var functions = [numOps]struct {
	name, golang string
	eval         func(float64) float64
}{
	opExp:   {"exp", "math.Exp", math.Exp},
	opLn:    {"ln", "math.Log", math.Log},
	opLog10: {"log10", "", func(x float64) float64 { return math.Log(x) / math.Ln10 }},
	opLog2:  {"log2", "", func(x float64) float64 { return math.Log(x) / math.Ln2 }},
	opSqrt:  {"sqrt", "math.Sqrt", math.Sqrt},
	opAbs:   {"abs", "math.Abs", math.Abs},
	opSign:  {"sign", "", sign},
	opFloor: {"floor", "math.Floor", math.Floor},
	opCeil:  {"ceil", "math.Ceil", math.Ceil},
	opSin:   {"sin", "math.Sin", math.Sin},
	opCos:   {"cos", "math.Cos", math.Cos},
	opTan:   {"tan", "math.Tan", math.Tan},
	opAsin:  {"asin", "math.Asin", math.Asin},
	opAcos:  {"acos", "math.Acos", math.Acos},
	opAtan:  {"atan", "math.Atan", math.Atan},
	opSinh:  {"sinh", "math.Sinh", math.Sinh},
	opCosh:  {"cosh", "math.Cosh", math.Cosh},
	opTanh:  {"tanh", "math.Tanh", math.Tanh},
	opAsinh: {"asinh", "math.Asinh", math.Asinh},
	opAcosh: {"acosh", "math.Acosh", math.Acosh},
	opAtanh: {"atanh", "math.Atanh", math.Atanh},
}

// sign is −1, 0 or 1, and NaN for NaN.
func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // ±0, NaN
}

// apply1 is the value of an operator on numbers; conditions are 0 and 1.
func apply1(o op, v []float64) float64 {
	truth := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	switch o {
	case opNeg:
		return -v[0]
	case opAdd:
		s := v[0]
		for _, x := range v[1:] {
			s += x
		}
		return s
	case opMul:
		s := v[0]
		for _, x := range v[1:] {
			s *= x
		}
		return s
	case opDiv:
		return v[0] / v[1]
	case opPow:
		return math.Pow(v[0], v[1])
	case opMin:
		s := v[0]
		for _, x := range v[1:] {
			s = math.Min(s, x)
		}
		return s
	case opMax:
		s := v[0]
		for _, x := range v[1:] {
			s = math.Max(s, x)
		}
		return s
	case opQuotient:
		return math.Trunc(v[0] / v[1])
	case opRem:
		return math.Mod(v[0], v[1])
	case opPiecewise:
		for i := 0; i+1 < len(v); i += 2 {
			if v[i+1] != 0 {
				return v[i]
			}
		}
		return v[len(v)-1]
	case opLt:
		return truth(v[0] < v[1])
	case opLe:
		return truth(v[0] <= v[1])
	case opGt:
		return truth(v[0] > v[1])
	case opGe:
		return truth(v[0] >= v[1])
	case opEq:
		return truth(v[0] == v[1])
	case opNe:
		return truth(v[0] != v[1])
	case opNot:
		return 1 - v[0]
	case opAnd:
		for _, x := range v {
			if x == 0 {
				return 0
			}
		}
		return 1
	case opOr:
		for _, x := range v {
			if x != 0 {
				return 1
			}
		}
		return 0
	case opXor:
		return truth(v[0] != v[1])
	}
	return functions[o].eval(v[0])
}

// Value evaluates n, walking the tree; a condition gives 0 or 1. It is for
// single values: [Compile] what is evaluated often. The error names a name
// that values lacks, or a function that has not been expanded.
func (n *Node) Value(values map[string]float64) (float64, error) {
	done := map[*Node]float64{}
	var args []float64
	for _, m := range postorder(n) {
		switch m.op {
		case opNum, opBool:
			done[m] = m.val
		case opSym:
			v, ok := values[m.name]
			if !ok {
				v, ok = Constant(m.name)
			}
			if !ok {
				return 0, fmt.Errorf("%s is not defined", m.name)
			}
			done[m] = v
		case opUser:
			return 0, fmt.Errorf("function %s is not defined", m.name)
		case opLambda:
			return 0, fmt.Errorf("a lambda has no value: want an expression")
		default:
			args = args[:0]
			for _, a := range m.args {
				args = append(args, done[a])
			}
			if m.op == opPow && m.args[1].op == opNum {
				done[m] = powNumber(args[0], args[1]) // as programs do
				continue
			}
			done[m] = apply1(m.op, args)
		}
	}
	return done[n], nil
}
