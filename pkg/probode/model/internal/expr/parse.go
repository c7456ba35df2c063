package expr

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Parse reads the text of an expression. Parse accepts PEtab formulas and infix formulas
// of SBML. If the list below and SBML differ, Parse follows the list.
//
//	1  2.5  1e-3  inf  nan   true  false
//	+ - * / % ^ **           % is the remainder; ^ binds tighter than a sign, and a^b^c is a^(b^c)
//	< <= > >= == !=          not chained
//	&& || !, and or not      && and || mixed need brackets
//	f(x, y)                  exp ln log10 log2 sqrt root(n, x) pow abs sign floor ceil factorial
//	min max quotient rem heaviside, sin … arccoth, asin … acoth
//	log(x), log(x, base)     natural, as in PEtab
//	piecewise(value, condition, …, otherwise)
//	`any text`               a name with characters other than letters, digits and _
//
// Parse also accepts the operator names of MathML: plus(x, y) is x + y. The argument
// `functions` contains the names of the functions that the model defines. It is an error
// to call an unknown function. Calls to functions that the model defines remain in the
// parsed expression until [Node.Expand] replaces these calls. Names such as time and t
// have no special meaning for Parse. For the names pi and e, see [Constant]. The error is
// a [*SyntaxError] with a message of one line.
func Parse(names Names, src string, functions ...string) (n *Node, err error) {
	defer catch(&err)
	p := &parser{src: src, names: names, functions: functions}
	p.next()
	all := p.binary(0)
	if p.tok.kind != 0 {
		p.failf(p.tok.pos, "found %s: want an operator or the end of the formula", p.tok)
	}
	return all, nil
}

// Names are the names to which Parse gives a meaning.
type Names struct {
	// IDs are read as names, even if they are otherwise something else, such as INF or not.
	IDs map[string]bool

	// Ranges has, for each index, the largest value; the smallest one is 1. Index has the
	// values of the indices that are known. With an index b, S[b, 2] is the name S[3,2] if b
	// is 3, and sum(b, x) and product(b, x) are a sum and a product of x over all b.
	Ranges, Index map[string]int
}

// nestMost is the greatest depth to which brackets, signs and powers may be nested.
const nestMost = 10000

type parser struct {
	src       string
	names     Names
	functions []string
	tok       token // the next token
	end       int   // where it ends
	depth     int
	made      int // terms of sums and products
}

// failf reports a mistake at a position in the text, and stops parsing.
func (p *parser) failf(pos int, format string, args ...any) {
	panic(failure{syntaxError(p.src, pos, format, args...)})
}

func (p *parser) next() {
	var err error
	if p.tok, err = scan(p.src, p.end); err != nil {
		panic(failure{err})
	}
	p.end = p.tok.pos + len(p.tok.text)
	switch {
	case p.tok.kind == 'q':
		p.end += 2
	case p.tok.kind == 'a' && p.names.IDs[p.tok.text] && Reserved(p.tok.text):
		p.tok.kind = 'q' // as in backquotes
	}
}

// enter increases the nesting depth by one, and reads the next token. After the nested
// expression, the caller must decrease the depth again.
func (p *parser) enter() {
	if p.depth++; p.depth > nestMost {
		p.failf(p.tok.pos, "brackets, signs and powers are nested more than %d levels deep", nestMost)
	}
	p.next()
}

// These constants are the precedence levels of operators, from the loosest to the
// tightest binding.
const (
	levelLogic = iota
	levelNot   // the word not; ! binds like a sign
	levelCompare
	levelSum
	levelProduct
	levelSign
	levelPower
)

// The map `infix` holds the precedence level and the name of each binary operator except
// the power sign.
var infix = map[string]struct {
	level int
	name  string
}{
	"&&": {levelLogic, "and"}, "and": {levelLogic, "and"}, "||": {levelLogic, "or"}, "or": {levelLogic, "or"},
	"<": {levelCompare, "lt"}, "<=": {levelCompare, "leq"}, ">": {levelCompare, "gt"}, ">=": {levelCompare, "geq"},
	"==": {levelCompare, "eq"}, "!=": {levelCompare, "neq"},
	"+": {levelSum, "plus"}, "-": {levelSum, "minus"},
	"*": {levelProduct, "times"}, "/": {levelProduct, "divide"}, "%": {levelProduct, "rem"},
}

// series collects the operands of one operator. For example, a + b + c becomes one sum
// with three operands.
type series struct {
	name string // plus, times, and, or; "" for a single operand
	args []*Node
}

func (r series) node() *Node {
	if len(r.args) == 1 {
		return r.args[0]
	}
	return builders[r.name].build(r.args)
}

// binary reads operands that are joined by operators of at least the given precedence
// level.
func (p *parser) binary(level int) *Node {
	start := p.tok.pos
	left := series{args: []*Node{p.unary(level)}}
	at := levelPower // the level of the operators in left
	for {
		opTok := p.tok
		l, name := infix[opTok.text].level, infix[opTok.text].name
		if opTok.kind != 'o' && opTok.kind != 'a' || name == "" || l < level {
			return left.node()
		}
		if l == levelCompare && at == levelCompare {
			p.failf(p.tok.pos, "found %s after a comparison: join the comparisons with &&, or use brackets", p.tok)
		}
		if l == levelLogic && at == levelLogic && name != left.name {
			p.failf(p.tok.pos, "found %s after %s: put brackets around one of the two operations", p.tok, left.name)
		}
		p.next()
		rightPos := p.tok.pos
		right := p.binary(l + 1)
		p.operands(name, opTok, left.args[len(left.args)-1], start, right, rightPos)
		term := name
		if name == "minus" {
			term, right = "plus", neg(right)
		}
		switch {
		case term == left.name:
			left.args = append(left.args, right)
		case term == "plus" || term == "times" || term == "and" || term == "or":
			left = series{term, []*Node{left.node(), right}}
		default:
			left = series{args: []*Node{builders[name].build([]*Node{left.node(), right})}}
		}
		at = l
	}
}

// operands fails if the operands of an operator have the wrong types.
func (p *parser) operands(name string, op token, a *Node, aPos int, b *Node, bPos int) {
	want := builders[name].bool
	if name == "eq" || name == "neq" {
		want = a.Boolean()
		if a.op == opUser {
			want = b.Boolean()
		}
	}
	if !fits(a, want) {
		p.failf(aPos, "the operand to the left of %s is %s: want %s", op, kind(a), wanted(want))
	}
	if !fits(b, want) {
		p.failf(bPos, "the operand to the right of %s is %s: want %s", op, kind(b), wanted(want))
	}
}

// unary reads an operand with the signs and negations before it.
func (p *parser) unary(level int) *Node {
	op := p.tok
	word := op.kind == 'a' && op.text == "not" && level <= levelNot
	if !word && (op.kind != 'o' || op.text != "-" && op.text != "+" && op.text != "!") {
		return p.power()
	}
	p.enter()
	defer func() { p.depth-- }()
	pos := p.tok.pos
	inner := levelSign
	if word {
		inner = levelNot
	}
	n := p.binary(inner)
	condition := word || op.text == "!"
	if !fits(n, condition) {
		need := "a number"
		if condition {
			need = "a condition (brackets around a comparison)"
		}
		p.failf(pos, "the operand to the right of %s is %s: want %s", op, kind(n), need)
	}
	switch {
	case condition:
		return node(opNot, n)
	case op.text == "-":
		return neg(n)
	}
	return n
}

// power reads an operand and its exponent, which may have a sign.
func (p *parser) power() *Node {
	pos := p.tok.pos
	base := p.operand()
	if p.tok.kind != 'o' || p.tok.text != "^" && p.tok.text != "**" {
		return base
	}
	op := p.tok
	p.enter()
	defer func() { p.depth-- }()
	expPos := p.tok.pos
	exponent := p.unary(levelSign)
	p.operands("pow", op, base, pos, exponent, expPos)
	return node(opPow, base, exponent)
}

// literal returns the value of a literal that is written as a word, such as inf or true.
// For any other word, literal() returns nil.
func literal(name string) *Node {
	switch strings.ToLower(name) {
	case "inf", "infinity":
		return Num(math.Inf(1))
	case "nan", "notanumber":
		return Num(math.NaN())
	case "true":
		return boolean(true)
	case "false":
		return boolean(false)
	}
	return nil
}

// Reserved reports whether a name needs backquotes in an expression. Backquotes are
// needed for the names "and", "or" and "not", and for every spelling of infinity, NaN,
// true and false that [Parse] reads.
func Reserved(name string) bool {
	return literal(name) != nil || name == "and" || name == "or" || name == "not"
}

// operand reads a number, a name, a call or an expression in brackets.
func (p *parser) operand() *Node {
	tok := p.tok
	switch {
	case tok.kind == '0':
		p.next()
		return Num(tok.val)
	case tok.kind == 'a' || tok.kind == 'q':
		p.next()
		if p.tok.is("(") {
			if tok.text == "sum" || tok.text == "product" {
				if _, known := p.names.Ranges[p.second()]; known {
					return p.series(tok.text)
				}
			}
			return p.call(tok)
		}
		if p.tok.is("[") {
			return Sym(tok.text + p.subscript())
		}
		if v, ok := p.names.Index[tok.text]; ok {
			return Num(float64(v))
		}
		if tok.kind == 'q' {
			return Sym(tok.text)
		}
		if n := literal(tok.text); n != nil {
			return n
		}
		if Reserved(tok.text) {
			p.failf(tok.pos, "found %q: want a number, a name, a sign or a bracket", tok.text)
		}
		return Sym(tok.text)
	case tok.is("("):
		p.enter()
		defer func() { p.depth-- }()
		n := p.binary(0)
		if !p.tok.is(")") {
			p.failf(p.tok.pos, `found %s: want an operator or the ")" that closes the bracket`, p.tok)
		}
		p.next()
		return n
	}
	p.failf(tok.pos, `found %s: want a number, a name, a sign or "("`, tok)
	return nil
}

// second returns the text of the token after the next one.
func (p *parser) second() string {
	t, _ := scan(p.src, p.end)
	return t.text
}

// subscript reads indices in square brackets, which are formulas of indices and numbers.
func (p *parser) subscript() string {
	p.enter()
	defer func() { p.depth-- }()
	text := "["
	for {
		pos := p.tok.pos
		v, ok := p.binary(levelSum).Const()
		if !ok || !(v >= 1 && v < 1e6) || v != math.Trunc(v) {
			p.failf(pos, "found an index that is not known: want a whole number from 1 on, or a formula of %s", strings.Join(slices.Sorted(maps.Keys(p.names.Ranges)), ", "))
		}
		text += strconv.Itoa(int(v))
		if p.tok.is("]") {
			p.next()
			return text + "]"
		}
		if !p.tok.is(",") {
			p.failf(p.tok.pos, `found %s: want "," or the "]" that ends the indices`, p.tok)
		}
		p.next()
		text += ","
	}
}

// series reads a sum or a product over an index: its term again for each value.
func (p *parser) series(name string) *Node {
	p.enter()
	defer func() { p.depth-- }()
	index := p.tok.text
	if _, used := p.names.Index[index]; used {
		p.failf(p.tok.pos, "the index %s is in use: want another index for the %s", index, name)
	}
	outer := p.names.Index
	p.names.Index = maps.Clone(outer)
	if outer == nil {
		p.names.Index = map[string]int{}
	}
	if p.next(); !p.tok.is(",") {
		p.failf(p.tok.pos, `found %s: want "," after the index %s`, p.tok, index)
	}
	first := p.end
	var terms []*Node
	for v := range p.names.Ranges[index] {
		p.names.Index[index], p.end = v+1, first
		p.next()
		pos := p.tok.pos
		terms = append(terms, p.binary(0))
		if !fits(terms[v], false) {
			p.failf(pos, "the term of a %s is a condition: want a number", name)
		}
		if p.made += len(terms[v].args) + 1; p.made > expandMost {
			p.failf(pos, "sums and products have more than %d operators", expandMost)
		}
	}
	p.names.Index = outer
	if !p.tok.is(")") {
		p.failf(p.tok.pos, `found %s: want an operator or the ")" that ends the %s`, p.tok, name)
	}
	p.next()
	return builders[map[string]string{"sum": "plus", "product": "times"}[name]].build(terms)
}

// call reads the arguments of a function, from the opening bracket to the closing
// bracket.
func (p *parser) call(name token) *Node {
	user := slices.Contains(p.functions, name.text)
	b, known := builders[name.text]
	if !user && (!known || name.kind == 'q') {
		p.failf(name.pos, "%v", unknownFunction(name.text, p.functions))
	}
	p.enter()
	defer func() { p.depth-- }()
	var args []*Node
	var at []int
	for !p.tok.is(")") || len(args) > 0 {
		at = append(at, p.tok.pos)
		args = append(args, p.binary(0))
		if p.tok.is(")") {
			break
		}
		if !p.tok.is(",") {
			p.failf(p.tok.pos, `found %s: want an operator, "," or the ")" that ends the arguments of %s`, p.tok, name.text)
		}
		p.next()
	}
	p.next()
	if user {
		return &Node{op: opUser, name: name.text, args: args}
	}
	n, err := b.apply(name.text, args)
	var bad *argError
	if errors.As(err, &bad) && bad.arg >= 0 {
		p.failf(at[bad.arg], "%v", err)
	}
	if err != nil {
		p.failf(name.pos, "%v", err)
	}
	return n
}
