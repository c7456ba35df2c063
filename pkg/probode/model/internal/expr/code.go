package expr

import "math"

// A code identifies the operation of an instruction. If the op o is a function of one
// number, the code is codeFunc + o.
type code uint8

const (
	codeNone code = iota
	codeAdd
	codeSub
	codeMul
	codeDiv
	codeNeg
	codeSqrt
	codePow
	codeMin
	codeMax
	codeQuotient
	codeRem
	codeSelect // b if the condition a holds, otherwise c
	codeLt
	codeLe
	codeEq
	codeNe // also for conditions
	codeNot
	codeAnd
	codeOr

	// fuse creates the instructions below. A fused instruction rounds its result in the same
	// way as the separate instructions that it replaces.
	codeMul3   // (a b) c
	codeMulAdd // a b + c
	codeMulSub // a b − c
	codeSubMul // c − a b
	codeAdd3   // (a + b) + c
	codeDivAdd // a/(b + c)

	codeCurve // curve b of the program at a

	codeFunc
)

func (c code) isBool() bool { return codeLt <= c && c <= codeOr }

// An instr is an instruction. The fields a, b and c are the indices of the operands.
// Inputs, constants and the results of instructions are numbered in this order.
type instr struct {
	code    code
	a, b, c int32
}

// operands returns pointers to the indices of the values that an instruction uses.
func (in *instr) operands() []*int32 {
	switch {
	case in.code >= codeMul3 && in.code <= codeDivAdd, in.code == codeSelect:
		return []*int32{&in.a, &in.b, &in.c}
	case in.code == codeNeg, in.code == codeNot, in.code == codeSqrt, in.code >= codeCurve:
		return []*int32{&in.a}
	}
	return []*int32{&in.a, &in.b}
}

// A straightLine is a list of instructions that compute outputs from inputs. Shared
// subexpressions are computed only once, and the result of every instruction is used.
type straightLine struct {
	inputs  int
	consts  []float64
	curves  []*Node
	code    []instr
	outputs []int32
}

// first returns the index of the value that the first instruction computes.
func (s *straightLine) first() int32 { return int32(s.inputs + len(s.consts)) }

// arrange rearranges the instructions: the new instruction k is the old instruction
// order[k]. Instructions that the slice `order` does not contain are removed. All values
// get new indices. Before the call, the results of the instructions have consecutive
// indices, which begin at the argument `from`. If a constant has the index −1−k, its new
// index is consts[k].
func (s *straightLine) arrange(order []int32, from int32, consts []int32) {
	at := make([]int32, len(s.code))
	for k, i := range order {
		at[i] = s.first() + int32(k)
	}
	renumber := func(v *int32) {
		switch {
		case *v < 0:
			*v = consts[-1-*v]
		case *v >= from:
			*v = at[*v-from]
		}
	}
	arranged := make([]instr, len(order))
	for k, i := range order {
		arranged[k] = s.code[i]
		for _, o := range arranged[k].operands() {
			renumber(o)
		}
	}
	s.code = arranged
	for i := range s.outputs {
		renumber(&s.outputs[i])
	}
}

// eval evaluates an instruction that is not fused.
func (in *instr) eval(a, b, c float64) float64 {
	switch in.code {
	case codeAdd:
		return a + b
	case codeSub:
		return a - b
	case codeMul:
		return a * b
	case codeDiv:
		return a / b
	case codeNeg:
		return -a
	case codeSqrt:
		return math.Sqrt(a)
	case codePow:
		return math.Pow(a, b)
	case codeSelect:
		if a != 0 {
			return b
		}
		return c
	case codeLt:
		return truth(a < b)
	case codeLe:
		return truth(a <= b)
	case codeMin:
		return math.Min(a, b)
	case codeMax:
		return math.Max(a, b)
	case codeQuotient:
		return math.Trunc(a / b)
	case codeRem:
		return math.Mod(a, b)
	case codeEq:
		return truth(a == b)
	case codeNe:
		return truth(a != b)
	case codeNot:
		return 1 - a
	case codeAnd:
		return a * b // a and b are 0 or 1
	case codeOr:
		return math.Max(a, b)
	}
	return operators[in.code-codeFunc].eval(a)
}
