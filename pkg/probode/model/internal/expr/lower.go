package expr

import (
	"fmt"
	"math"
	"slices"
)

// A lowering translates expressions into a straightLine. Until finish renumbers the
// values, constant k has the index −1−k.
type lowering struct {
	line   straightLine
	consts map[uint64]int32
	have   map[instr]int32
	value  map[*Node]int32
}

// lower translates the expressions in the argument `outputs` into a straightLine. If a
// part of an expression cannot be evaluated, the error names this part.
func lower(inputs []string, outputs []*Node) (*straightLine, error) {
	l := &lowering{consts: map[uint64]int32{}, have: map[instr]int32{}, value: map[*Node]int32{}}
	l.line.inputs = len(inputs)
	index := map[string]int32{}
	for i, name := range inputs {
		if _, ok := index[name]; ok {
			return nil, fmt.Errorf("input %s appears twice", name)
		}
		index[name] = int32(i)
	}
	roots := Simplified(outputs...)
	for _, n := range Parts(roots...) {
		switch n.op {
		case opSym:
			i, ok := index[n.name]
			if !ok {
				v, isConst := Constant(n.name)
				if !isConst {
					return nil, fmt.Errorf("%s is not defined", n.name)
				}
				i = l.num(v)
			}
			l.value[n] = i
		case opUser:
			return nil, fmt.Errorf("function %s is not defined", n.name)
		case opLambda:
			return nil, fmt.Errorf("a lambda cannot be evaluated: want an expression")
		default:
			l.value[n] = l.node(n)
		}
	}
	for _, n := range roots {
		l.line.outputs = append(l.line.outputs, l.value[n])
	}
	return l.finish(), nil
}

func (l *lowering) num(v float64) int32 {
	bits := math.Float64bits(v)
	k, ok := l.consts[bits]
	if !ok {
		k = int32(len(l.line.consts))
		l.line.consts = append(l.line.consts, v)
		l.consts[bits] = k
	}
	return -1 - k
}

// emit returns the index of the value that an instruction computes. The method adds the
// instruction unless the same instruction already exists.
func (l *lowering) emit(c code, operands ...int32) int32 {
	in := instr{code: c}
	constant := true
	var v [3]float64
	for i, o := range operands {
		*[]*int32{&in.a, &in.b, &in.c}[i] = o
		if constant = constant && o < 0; constant {
			v[i] = l.line.consts[-1-o]
		}
	}
	if constant {
		return l.num(in.eval(v[0], v[1], v[2]))
	}
	switch c {
	case codeAdd, codeMul, codeEq, codeNe, codeAnd, codeOr: // a and b may change places
		if at, ok := l.have[instr{c, in.b, in.a, 0}]; ok {
			return at
		}
	}
	return l.add(in)
}

func (l *lowering) add(in instr) int32 {
	at, ok := l.have[in]
	if !ok {
		at = int32(l.line.inputs + len(l.line.code))
		l.line.code = append(l.line.code, in)
		l.have[in] = at
	}
	return at
}

func (l *lowering) node(n *Node) int32 {
	arg := func(i int) int32 { return l.value[n.args[i]] }
	switch n.op {
	case opNum, opBool:
		return l.num(n.val)
	case opNeg:
		if a := n.args[0]; a.op == opMul && a.args[0].op == opNum { // −(2 x y) is (−2) x y
			v := l.num(-a.args[0].val)
			for _, f := range a.args[1:] {
				v = l.emit(codeMul, v, l.value[f])
			}
			return v
		}
		return l.emit(codeNeg, arg(0))
	case opAdd:
		v := arg(0)
		for _, t := range n.args[1:] {
			if t.op == opNeg {
				v = l.emit(codeSub, v, l.value[t.args[0]])
			} else {
				v = l.emit(codeAdd, v, l.value[t])
			}
		}
		return v
	case opCurve:
		i := slices.IndexFunc(l.line.curves, func(m *Node) bool { return m.name == n.name && m.val == n.val })
		if i < 0 {
			i = len(l.line.curves)
			l.line.curves = append(l.line.curves, n)
		}
		return l.add(instr{codeCurve, arg(0), int32(i), 0})
	case opPow:
		return l.pow(arg(0), arg(1))
	case opPiecewise:
		v := arg(len(n.args) - 1)
		for i := len(n.args) - 3; i >= 0; i -= 2 {
			v = l.emit(codeSelect, arg(i+1), arg(i), v)
		}
		return v
	case opLog10:
		return l.emit(codeDiv, l.emit(codeFunc+code(opLn), arg(0)), l.num(math.Ln10))
	case opLog2:
		return l.emit(codeDiv, l.emit(codeFunc+code(opLn), arg(0)), l.num(math.Ln2))
	case opGt:
		return l.emit(codeLt, arg(1), arg(0))
	case opGe:
		return l.emit(codeLe, arg(1), arg(0))
	}
	c := codeOf[n.op]
	if c == codeNone {
		c = codeFunc + code(n.op)
	}
	v := arg(0)
	if len(n.args) == 1 {
		return l.emit(c, v)
	}
	for _, a := range n.args[1:] {
		v = l.emit(c, v, l.value[a])
	}
	return v
}

// codeOf maps an operator to the code of its instruction. For most functions of one
// argument, codeOf has no entry, and the code is the sum of codeFunc and the op of the
// function. If an operator has more than two arguments, its instruction is applied
// repeatedly, from left to right.
var codeOf = [numOps]code{
	opMul: codeMul, opDiv: codeDiv, opMin: codeMin, opMax: codeMax, opQuotient: codeQuotient, opRem: codeRem, opSqrt: codeSqrt,
	opLt: codeLt, opLe: codeLe, opEq: codeEq, opNe: codeNe, opXor: codeNe, opNot: codeNot, opAnd: codeAnd, opOr: codeOr,
}

// eval applies a function or a comparison to numbers, as its instructions do. The value of a
// comparison is 0 or 1.
func (o op) eval(v []float64) float64 {
	switch f := operators[o].eval; {
	case f != nil:
		return f(v[0])
	case o == opGt:
		return truth(v[0] > v[1])
	case o == opGe:
		return truth(v[0] >= v[1])
	}
	in, r := instr{code: codeOf[o]}, v[0]
	for _, x := range v[1:] {
		r = in.eval(r, x, 0)
	}
	return r
}

// powerMost is the largest exponent for which a power is computed by repeated
// multiplication. For exponents above powerMost, the rounding errors of the
// multiplications would cost more than one digit of accuracy, compared with math.Pow.
const powerMost = 16

// pow returns the index of the value x^y. If y is a constant with |y| ≤ powerMost, and 2y is
// a whole number other than 0, the power is computed by multiplications and, if necessary, a
// square root and a division. Different powers of x share the instructions that compute x²,
// x⁴, x⁸ and so on.
func (l *lowering) pow(x, y int32) int32 {
	if y >= 0 {
		return l.emit(codePow, x, y)
	}
	e := l.line.consts[-1-y]
	n := math.Abs(e)
	whole := math.Trunc(n)
	if !(n <= powerMost) || n != whole && n != whole+0.5 || n == 0 {
		return l.emit(codePow, x, y)
	}
	var v int32
	have, square := false, x
	times := func(f int32) {
		if have {
			f = l.emit(codeMul, v, f)
		}
		v, have = f, true
	}
	for k := int(whole); k > 0; k >>= 1 {
		if k&1 == 1 {
			times(square)
		}
		if k > 1 {
			square = l.emit(codeMul, square, square)
		}
	}
	if n != whole {
		times(l.emit(codeSqrt, x))
	}
	if e < 0 {
		v = l.emit(codeDiv, l.num(1), v)
	}
	return v
}

// finish removes the instructions that no output needs, and gives the remaining values
// their final indices.
func (l *lowering) finish() *straightLine {
	s := &l.line
	base := int32(s.inputs)
	need := make([]bool, len(s.code))
	needConst := make([]bool, len(s.consts))
	mark := func(v int32) {
		switch {
		case v < 0:
			needConst[-1-v] = true
		case v >= base:
			need[v-base] = true
		}
	}
	for _, o := range s.outputs {
		mark(o)
	}
	for i := len(s.code) - 1; i >= 0; i-- {
		if need[i] {
			for _, o := range s.code[i].operands() {
				mark(*o)
			}
		}
	}
	constAt := make([]int32, len(s.consts))
	var consts []float64
	for k, v := range s.consts {
		if needConst[k] {
			constAt[k] = base + int32(len(consts))
			consts = append(consts, v)
		}
	}
	s.consts = consts
	var kept []int32
	for i := range s.code {
		if need[i] {
			kept = append(kept, int32(i))
		}
	}
	s.arrange(kept, base, constAt)
	return s
}
