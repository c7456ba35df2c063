package expr

import (
	"fmt"
	"math"
	"slices"
)

// A Program evaluates a list of expressions at given inputs. A Program computes each
// shared part only once, and allocates no memory. Only one goroutine at a time may use a
// Program: see [Program.Clone].
//
// Eval computes all pieces of a piecewise expression, and then chooses one of them. A
// piece that is NaN does not affect the result if another piece is chosen. Products are
// rounded before they are added to other numbers. The results are therefore the same on
// all processors, including those with a fused multiply-add instruction.
type Program struct {
	line straightLine
	runs []run
	regs []float64

	held  []int32     // inputs that often keep their values between two calls of Eval
	until [stages]int // number of runs up to the end of each stage
	known bool        // all but the last stage were computed for the values in regs

	time       int32      // the input that is the time, or −1
	thresholds []int32    // values with which the stage of phases compares the time
	phase      [2]float64 // neighbouring thresholds, between which the time was
}

// Eval computes a program in stages. Each instruction is in the first stage in which it
// can be.
const (
	stageHeld  = iota // depends only on held inputs
	stagePhase        // depends also on comparisons of the time with results of stageHeld
	stageRest
	stages
)

// Compile makes a program that computes outputs from inputs. The inputs and outputs of
// the program are in the same order as in the arguments of Compile. The value of a
// condition is 0 or 1. It is an error if a name is neither an input nor a [Constant], if
// a function has not been expanded, or if an input appears twice.
//
// The argument `held` lists the inputs whose values often stay the same from call to
// call, for example the parameters, which are constant during a solve. Values that depend
// only on inputs in `held` are recomputed only if one of these inputs changes. Values that
// depend also on comparisons of the input [Time] with such values are recomputed only if
// one of the comparisons changes: among thousands of infusions, none begins or ends within
// a step.
func Compile(inputs []string, outputs []*Node, held ...string) (*Program, error) {
	line, err := lower(inputs, outputs)
	if err != nil {
		return nil, err
	}
	line.fuse()
	keeps := make([]bool, len(inputs))
	for i, name := range inputs {
		keeps[i] = slices.Contains(held, name)
	}
	p := &Program{line: *line, time: int32(slices.Index(inputs, Time))}
	var stage []int
	stage, p.held = p.line.stages(keeps, p.time)
	p.runs, p.until = p.line.schedule(stage)
	for _, run := range p.runs[p.until[stageHeld]:p.until[stagePhase]] {
		for _, in := range run.instrs {
			if v, ok := in.threshold(p.time); ok {
				p.thresholds = append(p.thresholds, v)
			}
		}
	}
	slices.Sort(p.thresholds)
	p.thresholds = slices.Compact(p.thresholds)
	return p.Clone(), nil
}

// If an instruction compares the time with another value, threshold returns the index of
// this value.
func (in *instr) threshold(time int32) (v int32, ok bool) {
	switch {
	case in.code != codeLt && in.code != codeLe:
	case in.a == time:
		return in.b, true
	case in.b == time:
		return in.a, true
	}
	return 0, false
}

// The argument `keeps` marks the inputs that often have the same value in successive
// evaluations. stages finds the stage of each instruction, and the marked inputs that
// instructions before the last stage use.
func (s *straightLine) stages(keeps []bool, time int32) (list []int, used []int32) {
	list = make([]int, len(s.code))
	seen := make([]bool, s.inputs)
	of := func(v int32) int {
		switch {
		case v >= s.first():
			return list[v-s.first()]
		case int(v) < s.inputs && !keeps[v]:
			return stageRest
		}
		return stageHeld
	}
	for i := range s.code {
		for _, o := range s.code[i].operands() {
			list[i] = max(list[i], of(*o))
		}
		if v, ok := s.code[i].threshold(time); ok && of(v) == stageHeld {
			list[i] = min(list[i], stagePhase)
		}
		for _, o := range s.code[i].operands() {
			if v := *o; list[i] != stageRest && int(v) < s.inputs && keeps[v] && !seen[v] {
				seen[v] = true
				used = append(used, v)
			}
		}
	}
	return list, used
}

// Clone returns a copy of the program that another goroutine may use.
func (p *Program) Clone() *Program {
	q := &Program{line: p.line, runs: slices.Clone(p.runs), held: p.held, until: p.until, time: p.time, thresholds: p.thresholds}
	q.regs = make([]float64, int(p.line.first())+len(p.line.code))
	copy(q.regs[p.line.inputs:], p.line.consts)
	values := q.regs[p.line.first():]
	for i := range q.runs {
		n := len(q.runs[i].instrs)
		q.runs[i].values, values = values[:n], values[n:]
	}
	return q
}

// Len returns the number of instructions.
func (p *Program) Len() int { return len(p.line.code) }

// fuse replaces two instructions, for example a multiplication and an addition, by one
// fused instruction. Only the second instruction may use the result of the first.
func (s *straightLine) fuse() {
	first := s.first()
	uses := make([]int, len(s.code))
	use := func(v, by int32) {
		if v >= first {
			uses[v-first] += int(by)
		}
	}
	for i := range s.code {
		for _, o := range s.code[i].operands() {
			use(*o, 1)
		}
	}
	for _, o := range s.outputs {
		use(o, 2) // an output is never fused
	}
	// If v is used only once and is computed by an instruction with the code c, only returns
	// this instruction. Otherwise the function returns nil.
	only := func(v int32, c code) *instr {
		if v < first || uses[v-first] != 1 || s.code[v-first].code != c {
			return nil
		}
		return &s.code[v-first]
	}
	for i := range s.code {
		in := &s.code[i]
		var made instr
		var part *instr
		switch in.code {
		case codeAdd:
			if part = only(in.a, codeMul); part != nil {
				made = instr{codeMulAdd, part.a, part.b, in.b}
			} else if part = only(in.b, codeMul); part != nil {
				made = instr{codeMulAdd, part.a, part.b, in.a}
			} else if part = only(in.a, codeAdd); part != nil {
				made = instr{codeAdd3, part.a, part.b, in.b}
			} else if part = only(in.b, codeAdd); part != nil {
				made = instr{codeAdd3, part.a, part.b, in.a}
			}
		case codeSub:
			if part = only(in.a, codeMul); part != nil {
				made = instr{codeMulSub, part.a, part.b, in.b}
			} else if part = only(in.b, codeMul); part != nil {
				made = instr{codeSubMul, part.a, part.b, in.a}
			}
		case codeMul:
			if part = only(in.a, codeMul); part != nil {
				made = instr{codeMul3, part.a, part.b, in.b}
			} else if part = only(in.b, codeMul); part != nil {
				made = instr{codeMul3, part.a, part.b, in.a}
			}
		case codeDiv:
			if part = only(in.b, codeAdd); part != nil {
				made = instr{codeDivAdd, in.a, part.a, part.b}
			}
		}
		if part != nil {
			*in = made
			part.code = codeNone
		}
	}
	var kept []int32
	for i, in := range s.code {
		if in.code != codeNone {
			kept = append(kept, int32(i))
		}
	}
	s.arrange(kept, first, nil)
}

// Eval reads the inputs from the slice `in`, and writes the outputs to the slice `dst`.
// The slices `in` and `dst` may share memory. Eval panics if the length of `in` is not
// the number of inputs, or if the length of `dst` is not the number of outputs.
func (p *Program) Eval(dst, in []float64) {
	if len(in) != p.line.inputs || len(dst) != len(p.line.outputs) {
		panic(fmt.Sprintf("expr: the program has %d inputs and %d outputs: want %d and %d", len(in), len(dst), p.line.inputs, len(p.line.outputs)))
	}
	r := p.regs
	runs := p.runs
	moved := false
	if p.until[stagePhase] > 0 {
		same := p.known
		for _, i := range p.held {
			same = same && in[i] == r[i]
		}
		moved = len(p.thresholds) > 0 && !(same && p.phase[0] < in[p.time] && in[p.time] < p.phase[1])
		switch p.known = true; {
		case same && moved:
			runs = runs[p.until[stageHeld]:]
		case same:
			runs = runs[p.until[stagePhase]:]
		}
	}
	copy(r, in)
	for i := range runs {
		run := &runs[i]
		code := run.instrs
		v := run.values[:len(code)]
		switch run.code {
		case codeAdd:
			for i, c := range code {
				v[i] = r[c.a] + r[c.b]
			}
		case codeSub:
			for i, c := range code {
				v[i] = r[c.a] - r[c.b]
			}
		case codeMul:
			for i, c := range code {
				v[i] = r[c.a] * r[c.b]
			}
		case codeDiv:
			for i, c := range code {
				v[i] = r[c.a] / r[c.b]
			}
		case codeMul3:
			for i, c := range code {
				v[i] = r[c.a] * r[c.b] * r[c.c]
			}
		case codeMulAdd:
			for i, c := range code {
				v[i] = float64(r[c.a]*r[c.b]) + r[c.c]
			}
		case codeMulSub:
			for i, c := range code {
				v[i] = float64(r[c.a]*r[c.b]) - r[c.c]
			}
		case codeSubMul:
			for i, c := range code {
				v[i] = r[c.c] - float64(r[c.a]*r[c.b])
			}
		case codeAdd3:
			for i, c := range code {
				v[i] = r[c.a] + r[c.b] + r[c.c]
			}
		case codeDivAdd:
			for i, c := range code {
				v[i] = r[c.a] / (r[c.b] + r[c.c])
			}
		case codeNeg:
			for i, c := range code {
				v[i] = -r[c.a]
			}
		case codeSqrt:
			for i, c := range code {
				v[i] = math.Sqrt(r[c.a])
			}
		case codePow:
			for i, c := range code {
				v[i] = math.Pow(r[c.a], r[c.b])
			}
		case codeSelect:
			for i, c := range code {
				v[i] = r[c.c]
				if r[c.a] != 0 {
					v[i] = r[c.b]
				}
			}
		case codeLt:
			for i, c := range code {
				v[i] = truth(r[c.a] < r[c.b])
			}
		case codeLe:
			for i, c := range code {
				v[i] = truth(r[c.a] <= r[c.b])
			}
		case codeCurve:
			for i, c := range code {
				v[i] = p.line.curves[c.b].at(r[c.a])
			}
		default:
			for i, c := range code {
				v[i] = c.eval(r[c.a], r[c.b], 0) // rare or slow, so that the call does not matter
			}
		}
	}
	if moved {
		t := r[p.time]
		p.phase = [2]float64{t - math.Inf(1), t + math.Inf(1)} // NaN if t is not finite
		for _, i := range p.thresholds {
			if v := r[i]; v <= t {
				p.phase[0] = max(p.phase[0], v)
			}
			if v := r[i]; v >= t {
				p.phase[1] = min(p.phase[1], v)
			}
		}
	}
	dst = dst[:len(p.line.outputs)]
	for i, o := range p.line.outputs {
		dst[i] = r[o]
	}
}

// A run is a sequence of instructions with the same operation code. Eval executes the
// switch statement only once for all instructions of a run.
type run struct {
	code   code
	instrs []instr
	values []float64
}

// schedule groups instructions with the same operation code into runs. An instruction is
// ready when its operands have been computed. For the next run, the method chooses the
// operation code with the most ready instructions. The run contains all ready
// instructions with this operation code. Instructions that become ready during the run
// are added to the run if they have the same operation code. The argument `stage`
// contains the stage of each instruction. The result `until` is the number of runs up to
// the end of each stage.
func (s *straightLine) schedule(stage []int) (runs []run, until [stages]int) {
	first := s.first()
	n := len(s.code)
	missing := make([]int32, n) // number of operands that are not computed yet
	users := make([][]int32, n)
	for i := range s.code {
		for _, o := range s.code[i].operands() {
			if *o >= first {
				missing[i]++
				users[*o-first] = append(users[*o-first], int32(i))
			}
		}
	}
	var all [stages][256][]int32
	add := func(i int32) {
		ready := &all[stage[i]]
		ready[s.code[i].code] = append(ready[s.code[i].code], i)
	}
	for i := range s.code {
		if missing[i] == 0 {
			add(int32(i))
		}
	}
	var order []int32
	now := 0
	var lengths []int // of the runs
	for now < stages {
		ready := &all[now]
		best := 0
		for c := range ready {
			if len(ready[c]) > len(ready[best]) {
				best = c
			}
		}
		if len(ready[best]) == 0 {
			until[now] = len(runs)
			now++
			continue
		}
		begin := len(order)
		for k := 0; k < len(ready[best]); k++ {
			i := ready[best][k]
			order = append(order, i)
			for _, u := range users[i] {
				if missing[u]--; missing[u] == 0 {
					add(u)
				}
			}
		}
		ready[best] = ready[best][:0]
		runs, lengths = append(runs, run{code: code(best)}), append(lengths, len(order)-begin)
	}
	s.arrange(order, first, nil)
	rest := s.code
	for i, n := range lengths {
		runs[i].instrs, rest = rest[:n], rest[n:]
	}
	return runs, until
}
