package expr

import (
	"fmt"
	"strconv"
	"strings"
)

// An Assignment is a statement in generated Go code. The statement assigns the expression
// Value to To. To may also be a slice element, such as dst[3].
type Assignment struct {
	To    string
	Value *Node
}

// GoStatements returns Go statements that carry out the assignments. Each line begins
// with the given indentation. Shared parts are assigned to variables t1, t2, and so on.
// The argument `name` is a function that returns the Go expression for an input. The Go
// expression for an input must have the type float64, and must not be one of the
// variables t1, t2, and so on. For a name that is not an input, the function `name`
// returns false. The value of a condition is 0 or 1. The statements compute the same
// values as [Program.Eval] to the last bit, because no statement fuses a product with a
// sum. The generated file must import the package math if the statements contain "math.".
// An assignment must not set an input. If a part of an expression cannot be evaluated,
// the error names this part.
func GoStatements(assignments []Assignment, name func(string) (code string, ok bool), indent string) (string, error) {
	var inputs []string
	var outputs []*Node
	seen := map[string]bool{}
	text := []string{}
	for _, a := range assignments {
		outputs = append(outputs, a.Value)
		for _, s := range a.Value.Symbols() {
			if seen[s] {
				continue
			}
			seen[s] = true
			if code, ok := name(s); ok {
				inputs = append(inputs, s)
				text = append(text, code)
			}
		}
	}
	line, err := lower(inputs, outputs)
	if err == nil {
		err = line.ungeneratable()
	}
	if err != nil {
		return "", err
	}
	g := &goWriter{line: line, indent: indent, text: make([]goText, int(line.first())+len(line.code))}
	for i, t := range text {
		g.text[i] = goText{t, goAtom}
	}
	for k, v := range line.consts {
		g.text[line.inputs+k] = goNumber(v)
	}
	g.write(assignments)
	return g.b.String(), nil
}

// These constants are the precedence levels of the outermost operator of a Go expression.
const (
	goLogic = iota
	goCompare
	goSum
	goProduct
	goUnary
	goAtom
)

type goText struct {
	s     string
	level int
}

func goNumber(v float64) goText {
	s := number(v)
	switch s {
	case "nan":
		return goText{"math.NaN()", goAtom}
	case "inf":
		return goText{"math.Inf(1)", goAtom}
	case "-inf":
		return goText{"math.Inf(-1)", goAtom}
	case "-0":
		return goText{"math.Copysign(0, -1)", goAtom}
	}
	if v < 0 {
		return goText{s, goUnary}
	}
	return goText{s, goAtom}
}

type goWriter struct {
	line   *straightLine
	indent string
	b      strings.Builder
	text   []goText // of each value
	temps  int
}

// inlineMost is the greatest length of an expression that is written inside another
// expression. A longer expression is assigned to a variable. An expression that is used
// more than once is also assigned to a variable.
const inlineMost = 60

func (g *goWriter) statement(format string, args ...any) {
	g.b.WriteString(g.indent)
	fmt.Fprintf(&g.b, format, args...)
	g.b.WriteByte('\n')
}

func (g *goWriter) arg(v int32, level int) string {
	t := g.text[v]
	if t.level < level {
		return "(" + t.s + ")"
	}
	return t.s
}

// term returns the Go expression for an operand of a sum. A product becomes float64(a *
// b), so that it is rounded before the addition.
func (g *goWriter) term(v int32, level int) string {
	t := g.text[v]
	if i := v - g.line.first(); i >= 0 && g.line.code[i].code == codeMul && t.level != goAtom {
		return "float64(" + t.s + ")"
	}
	return g.arg(v, level)
}

// cond returns the value v as a Go expression of type bool.
func (g *goWriter) cond(v int32, level int) string {
	if g.isBool(v) {
		return g.arg(v, level)
	}
	t := goText{g.arg(v, goSum) + " != 0", goCompare}
	if t.level < level {
		return "(" + t.s + ")"
	}
	return t.s
}

func (g *goWriter) isBool(v int32) bool {
	i := v - g.line.first()
	return i >= 0 && g.line.code[i].code.isBool()
}

func (g *goWriter) write(assignments []Assignment) {
	first := g.line.first()
	uses := make([]int, len(g.line.code))
	inSum := make([]bool, len(g.line.code))
	for _, in := range g.line.code {
		for _, o := range in.operands() {
			if *o >= first {
				uses[*o-first]++
				switch {
				case in.code == codeAdd, in.code == codeSub, g.doubles(&in),
					in.code == codeNeg, in.code == codeSelect: // a sum may be fused with a product in their operands
					inSum[*o-first] = true
				}
			}
		}
	}
	for _, o := range g.line.outputs {
		if o >= first {
			uses[o-first]++
		}
	}
	for i, in := range g.line.code {
		v := first + int32(i)
		if in.code == codeSelect {
			t := g.temp(v, g.float(in.c))
			g.statement("if %s {", g.cond(in.a, goLogic))
			g.statement("\t%s = %s", t, g.term(in.b, goLogic))
			g.statement("}")
			continue
		}
		if in.code == codeFunc+code(opSign) {
			t := g.temp(v, g.float(in.a))
			g.statement("if %s > 0 {", t)
			g.statement("\t%s = 1", t)
			g.statement("} else if %s < 0 {", t)
			g.statement("\t%s = -1", t)
			g.statement("}")
			continue
		}
		text := g.instr(&in)
		g.text[v] = text
		if uses[i] > 1 || len(text.s) > inlineMost {
			if in.code == codeMul && inSum[i] {
				text.s = "float64(" + text.s + ")" // Go may also fuse across statements
			}
			g.temp(v, text.s)
		}
	}
	for i, a := range assignments {
		o := g.line.outputs[i]
		if g.isBool(o) {
			g.statement("%s = 0", a.To)
			g.statement("if %s {", g.cond(o, goLogic))
			g.statement("\t%s = 1", a.To)
			g.statement("}")
			continue
		}
		g.statement("%s = %s", a.To, g.arg(o, goLogic))
	}
}

// temp declares a variable for the value v, and returns the name of the variable.
func (g *goWriter) temp(v int32, text string) string {
	g.temps++
	t := "t" + strconv.Itoa(g.temps)
	g.statement("%s := %s", t, text)
	g.text[v] = goText{t, goAtom}
	return t
}

// float returns a Go expression for the initial value of a variable. A number such as 2
// is converted to float64, because t1 := 2 would declare an int.
func (g *goWriter) float(v int32) string {
	t := g.text[v]
	if v < g.line.first() && v >= int32(g.line.inputs) && !strings.Contains(t.s, "math.") {
		return "float64(" + t.s + ")"
	}
	return g.term(v, goLogic)
}

// doubles reports whether an instruction is a multiplication by 2, which compilers may
// turn into an addition.
func (g *goWriter) doubles(in *instr) bool {
	two := func(v int32) bool {
		k := v - int32(g.line.inputs)
		return k >= 0 && int(k) < len(g.line.consts) && g.line.consts[k] == 2
	}
	return in.code == codeMul && (two(in.a) || two(in.b))
}

// instr returns the Go expression for an instruction.
func (g *goWriter) instr(in *instr) goText {
	switch in.code {
	case codeAdd:
		return goText{g.term(in.a, goSum) + " + " + g.term(in.b, goProduct), goSum}
	case codeSub:
		return goText{g.term(in.a, goSum) + " - " + g.term(in.b, goProduct), goSum}
	case codeMul:
		if g.doubles(in) {
			return goText{g.term(in.a, goProduct) + "*" + g.term(in.b, goUnary), goProduct}
		}
		return goText{g.arg(in.a, goProduct) + "*" + g.arg(in.b, goUnary), goProduct}
	case codeDiv:
		return goText{g.arg(in.a, goProduct) + "/" + g.arg(in.b, goUnary), goProduct}
	case codeNeg:
		return goText{"-" + g.term(in.a, goAtom), goUnary}
	case codeSqrt:
		return goText{"math.Sqrt(" + g.arg(in.a, goLogic) + ")", goAtom}
	case codeQuotient:
		return goText{"math.Trunc(" + g.arg(in.a, goProduct) + "/" + g.arg(in.b, goUnary) + ")", goAtom}
	case codePow, codeMin, codeMax, codeRem:
		f := map[code]string{codePow: "Pow", codeMin: "Min", codeMax: "Max", codeRem: "Mod"}[in.code]
		return goText{fmt.Sprintf("math.%s(%s, %s)", f, g.arg(in.a, goLogic), g.arg(in.b, goLogic)), goAtom}
	case codeLt, codeLe:
		o := map[code]string{codeLt: " < ", codeLe: " <= "}[in.code]
		return goText{g.arg(in.a, goSum) + o + g.arg(in.b, goSum), goCompare}
	case codeEq, codeNe:
		o := map[code]string{codeEq: " == ", codeNe: " != "}[in.code]
		if g.isBool(in.a) || g.isBool(in.b) {
			return goText{g.cond(in.a, goAtom) + o + g.cond(in.b, goAtom), goCompare}
		}
		return goText{g.arg(in.a, goSum) + o + g.arg(in.b, goSum), goCompare}
	case codeNot:
		return goText{"!" + g.cond(in.a, goAtom), goUnary}
	case codeAnd:
		return goText{g.cond(in.a, goAtom) + " && " + g.cond(in.b, goAtom), goLogic}
	case codeOr:
		return goText{g.cond(in.a, goAtom) + " || " + g.cond(in.b, goAtom), goLogic}
	}
	return goText{operators[in.code-codeFunc].golang + "(" + g.arg(in.a, goLogic) + ")", goAtom}
}
