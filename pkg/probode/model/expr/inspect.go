package expr

// Operator is the operator that n consists of at its top, with its arguments:
// "number" and "name" without arguments, the name of a function as [Parse]
// reads it, or plus, minus (of one argument), times, divide, pow, quotient, rem, piecewise,
// lt, leq, gt, geq, eq, neq, not, and, or, xor, true, false, lambda. A call of
// a function that the model defines is "call". args must not be changed.
func (n *Node) Operator() (name string, args []*Node) {
	switch n.op {
	case opNum:
		return "number", nil
	case opSym:
		return "name", nil
	case opUser:
		return "call", n.args
	case opLambda:
		return "lambda", n.args
	case opBool:
		if n.val != 0 {
			return "true", nil
		}
		return "false", nil
	}
	if name := functions[n.op].name; name != "" {
		return name, n.args
	}
	return operatorNames[n.op], n.args
}

var operatorNames = [numOps]string{
	opNeg: "minus", opAdd: "plus", opMul: "times", opDiv: "divide", opPow: "pow", opQuotient: "quotient", opRem: "rem",
	opMin: "min", opMax: "max", opPiecewise: "piecewise",
	opLt: "lt", opLe: "leq", opGt: "gt", opGe: "geq", opEq: "eq", opNe: "neq",
	opNot: "not", opAnd: "and", opOr: "or", opXor: "xor",
}
