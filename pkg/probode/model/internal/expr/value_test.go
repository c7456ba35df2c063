package expr

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Value evaluates n by walking the tree. Programs are tested against it. The value of a
// condition is 0 or 1. The error names a name that values lacks, or a function that has
// not been expanded.
func (n *Node) Value(values map[string]float64) (float64, error) {
	done := map[*Node]float64{}
	var args []float64
	for _, m := range Parts(n) {
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
			if m.op == opCurve {
				done[m] = m.at(args[0])
				continue
			}
			done[m] = applied(m.op, args)
		}
	}
	return done[n], nil
}

// Go writes n as one Go expression of type float64, with name giving the Go
// expression of a name. Where n has common parts or needs an if, it is a call
// of a function literal. It panics on what cannot be evaluated.
func (n *Node) Go(name func(string) string) string {
	code, err := GoStatements([]Assignment{{"v", n}}, func(s string) (string, bool) {
		if _, isConst := Constant(s); isConst && name(s) == s {
			return "", false
		}
		return name(s), true
	}, "")
	if err != nil {
		panic("expr: Go code: " + err.Error())
	}
	code = strings.TrimSuffix(code, "\n")
	if v, ok := strings.CutPrefix(code, "v = "); ok && !strings.Contains(v, "\n") {
		return v
	}
	return "func() (v float64) {\n" + code + "\nreturn v\n}()"
}

// size counts the operators, numbers and names in n, and counts a shared part once.
func size(n *Node) int {
	p := newPool()
	p.adopt(n)
	return len(p.ids)
}

// functionsIn lists the functions called in n that are not of this package.
func functionsIn(n *Node) (names []string) {
	for _, m := range Parts(n) {
		if m.op == opUser {
			names = append(names, m.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// powNumber computes x^e with the operations that a Program performs if the exponent is a
// constant.
func powNumber(x, e float64) float64 {
	n := math.Abs(e)
	whole, half := math.Modf(n)
	if n == 0 || n > powerMost || half != 0 && half != 0.5 {
		return math.Pow(x, e)
	}
	v, square := 1.0, x
	for k := int(whole); k > 0; k >>= 1 {
		if k&1 == 1 {
			v *= square
		}
		square *= square
	}
	if half != 0 {
		v *= math.Sqrt(x)
	}
	if e < 0 {
		v = 1 / v
	}
	return v
}

// applied applies an operator to numbers and returns the result. The numbers 1 and 0 stand
// for true and false.
func applied(o op, v []float64) float64 {
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
	return operators[o].eval(v[0])
}
