package expr

import (
	"errors"
	"math"
	"slices"
	"strings"
)

// Parse reads the text of an expression. Parse accepts PEtab formulas. Parse also accepts
// infix formulas of SBML, except where the list below differs from SBML.
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
// It is an error to call a function that is neither in the table above nor named in the
// argument `functions`. Calls to functions that the model defines remain in the parsed
// expression until [Node.Expand] replaces these calls. Names such as time and t have no
// special meaning here; for pi and e see [Constant]. The error is a [*SyntaxError] with a
// message of one line.
func Parse(src string, functions ...string) (*Node, error) {
	p := &parser{src: src, functions: functions}
	if err := p.next(); err != nil {
		return nil, err
	}
	n, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	if p.tok.kind != 0 {
		return nil, p.errorf("found %s: want an operator or the end of the formula", p.tok)
	}
	return n, nil
}

// nestMost is the greatest depth to which brackets, signs and powers may be nested.
const nestMost = 10000

type parser struct {
	src       string
	functions []string
	tok       token // the next token
	depth     int
}

func (p *parser) errorf(format string, args ...any) error {
	return syntaxError(p.src, p.tok.pos, format, args...)
}

func (p *parser) next() error {
	pos := p.tok.pos + len(p.tok.text)
	if p.tok.kind == 'q' {
		pos += 2
	}
	var err error
	p.tok, err = scan(p.src, pos)
	return err
}

func (p *parser) enter() error {
	if p.depth++; p.depth > nestMost {
		return p.errorf("brackets, signs and powers are nested more than %d levels deep", nestMost)
	}
	return nil
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

// If the next token is a binary operator, the method operator() returns its precedence
// level and its name. Otherwise it returns −1 and "".
func (p *parser) operator() (level int, name string) {
	if p.tok.kind != 'o' && p.tok.kind != 'a' {
		return -1, ""
	}
	switch p.tok.text {
	case "&&", "and":
		return levelLogic, "and"
	case "||", "or":
		return levelLogic, "or"
	case "<":
		return levelCompare, "lt"
	case "<=":
		return levelCompare, "leq"
	case ">":
		return levelCompare, "gt"
	case ">=":
		return levelCompare, "geq"
	case "==":
		return levelCompare, "eq"
	case "!=":
		return levelCompare, "neq"
	case "+":
		return levelSum, "plus"
	case "-":
		return levelSum, "minus"
	case "*":
		return levelProduct, "times"
	case "/":
		return levelProduct, "divide"
	case "%":
		return levelProduct, "rem"
	}
	return -1, ""
}

// A series collects the operands of one operator. For example, a + b + c becomes one sum
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

// The method binary() reads operands that are joined by operators of at least the given
// precedence level.
func (p *parser) binary(level int) (*Node, error) {
	start := p.tok.pos
	first, err := p.unary(level)
	if err != nil {
		return nil, err
	}
	left := series{args: []*Node{first}}
	at := levelPower // the level of the operators in left
	for {
		opTok := p.tok
		l, name := p.operator()
		if l < level || l < 0 {
			return left.node(), nil
		}
		if l == levelCompare && at == levelCompare {
			return nil, p.errorf("found %s after a comparison: join the comparisons with &&, or use brackets", p.tok)
		}
		if l == levelLogic && at == levelLogic && name != left.name {
			return nil, p.errorf("found %s after %s: put brackets around one of the two operations", p.tok, left.name)
		}
		if err := p.next(); err != nil {
			return nil, err
		}
		rightPos := p.tok.pos
		right, err := p.binary(l + 1)
		if err != nil {
			return nil, err
		}
		if err := p.operands(name, opTok, left.args[len(left.args)-1], start, right, rightPos); err != nil {
			return nil, err
		}
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

// The method operands() returns an error if the operands of an operator have the wrong
// types.
func (p *parser) operands(name string, op token, a *Node, aPos int, b *Node, bPos int) error {
	want := builders[name].bool
	if name == "eq" || name == "neq" {
		want = a.Boolean()
		if a.op == opUser {
			want = b.Boolean()
		}
	}
	if !fits(a, want) {
		return syntaxError(p.src, aPos, "the operand to the left of %s is %s: want %s", op, kind(a), wanted(want))
	}
	if !fits(b, want) {
		return syntaxError(p.src, bPos, "the operand to the right of %s is %s: want %s", op, kind(b), wanted(want))
	}
	return nil
}

// The method unary() reads an operand with the signs and negations before it.
func (p *parser) unary(level int) (*Node, error) {
	op := p.tok
	word := op.kind == 'a' && op.text == "not" && level <= levelNot
	if !word && (op.kind != 'o' || op.text != "-" && op.text != "+" && op.text != "!") {
		return p.power()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if err := p.next(); err != nil {
		return nil, err
	}
	pos := p.tok.pos
	inner := levelSign
	if word {
		inner = levelNot
	}
	n, err := p.binary(inner)
	if err != nil {
		return nil, err
	}
	condition := word || op.text == "!"
	if !fits(n, condition) {
		need := "a number"
		if condition {
			need = "a condition (brackets around a comparison)"
		}
		return nil, syntaxError(p.src, pos, "the operand to the right of %s is %s: want %s", op, kind(n), need)
	}
	switch {
	case condition:
		return node(opNot, n), nil
	case op.text == "-":
		return neg(n), nil
	}
	return n, nil
}

// The method power() reads an operand and its exponent, which may have a sign.
func (p *parser) power() (*Node, error) {
	pos := p.tok.pos
	base, err := p.operand()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != 'o' || p.tok.text != "^" && p.tok.text != "**" {
		return base, nil
	}
	op := p.tok
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if err := p.next(); err != nil {
		return nil, err
	}
	expPos := p.tok.pos
	exponent, err := p.unary(levelSign)
	if err != nil {
		return nil, err
	}
	if err := p.operands("pow", op, base, pos, exponent, expPos); err != nil {
		return nil, err
	}
	return node(opPow, base, exponent), nil
}

// The function literal() returns the value of a name that models cannot define, such as
// inf or true. The function returns nil for other names.
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

// Reserved reports whether a name needs backquotes in an expression. The names that need
// backquotes are "and", "or", "not", and the words for infinity, NaN, true and false, in
// every spelling that [Parse] reads.
func Reserved(name string) bool {
	return literal(name) != nil || name == "and" || name == "or" || name == "not"
}

// The method operand() reads a number, a name, a call or an expression in brackets.
func (p *parser) operand() (*Node, error) {
	tok := p.tok
	switch {
	case tok.kind == '0':
		return Num(tok.val), p.next()
	case tok.kind == 'a' || tok.kind == 'q':
		if err := p.next(); err != nil {
			return nil, err
		}
		if p.tok.is("(") {
			return p.call(tok)
		}
		if tok.kind == 'q' {
			return Sym(tok.text), nil
		}
		if n := literal(tok.text); n != nil {
			return n, nil
		}
		if Reserved(tok.text) {
			return nil, syntaxError(p.src, tok.pos, "found %q: want a number, a name, a sign or a bracket", tok.text)
		}
		return Sym(tok.text), nil
	case tok.is("("):
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer func() { p.depth-- }()
		if err := p.next(); err != nil {
			return nil, err
		}
		n, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		if !p.tok.is(")") {
			return nil, p.errorf(`found %s: want an operator or the ")" that closes the bracket`, p.tok)
		}
		return n, p.next()
	}
	return nil, p.errorf(`found %s: want a number, a name, a sign or "("`, tok)
}

// The method call() reads the arguments of a function, from the opening bracket to the
// closing bracket.
func (p *parser) call(name token) (*Node, error) {
	user := slices.Contains(p.functions, name.text)
	b, known := builders[name.text]
	if !user && (!known || name.kind == 'q') {
		return nil, syntaxError(p.src, name.pos, "%v", unknownFunction(name.text, p.functions))
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if err := p.next(); err != nil {
		return nil, err
	}
	var args []*Node
	var at []int
	for !p.tok.is(")") || len(args) > 0 {
		at = append(at, p.tok.pos)
		a, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
		if p.tok.is(")") {
			break
		}
		if !p.tok.is(",") {
			return nil, p.errorf(`found %s: want an operator, "," or the ")" that ends the arguments of %s`, p.tok, name.text)
		}
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if user {
		return &Node{op: opUser, name: name.text, args: args}, nil
	}
	n, err := b.apply(name.text, args)
	var bad *argError
	if errors.As(err, &bad) && bad.arg >= 0 {
		return nil, syntaxError(p.src, at[bad.arg], "%v", err)
	}
	if err != nil {
		return nil, syntaxError(p.src, name.pos, "%v", err)
	}
	return n, nil
}
