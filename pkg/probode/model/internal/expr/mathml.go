package expr

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/probode/probode/pkg/probode/model/internal/tree"
)

// Time is the name that ParseMathML gives to SBML's symbol for time.
const Time = "time"

// NamedTime is the name that ParseMathML gives to an identifier called "time". SBML
// distinguishes an identifier "time" from the symbol for time. An SBML identifier cannot
// contain the character ′, so it cannot be equal to NamedTime.
const NamedTime = "time′"

// RateOf begins the name that ParseMathML gives to the rate of change of a variable. The
// name of the variable follows.
const RateOf = "rateOf "

// MathMLSpace is the namespace of MathML.
const MathMLSpace = "http://www.w3.org/1998/Math/MathML"

// ParseMathML reads one expression from the content MathML of SBML, Levels 2 and 3. The
// argument e is either a <math> element or the single element inside it.
//
// [Node.Lambda] returns the parameters and the body of a lambda. Calls to functions that
// the model defines are kept until [Node.Expand] replaces them. The symbol "time" becomes
// [Time], the symbol "avogadro" becomes Avogadro's number, an identifier "time" becomes
// [NamedTime], and rateOf(x) a name that begins with [RateOf]. Where a number is needed, a
// condition stands for 1 or 0, and where a condition is needed, a number stands for x > 0
// or x < 0.
// If e contains the function delay, or an element that SBML does not allow, the error names
// this function or element. The error message is a single line, which begins with the line
// and column of the element in the file.
func ParseMathML(e *tree.Element) (n *Node, err error) {
	defer catch(&err)
	m := &mathML{}
	if e.Name == "math" {
		m.space(e)
		m.only(e, 1)
		e = e.Child[0]
	}
	return m.element(e), nil
}

type mathML struct{ depth, elements int }

// mostElements is the largest permitted number of elements in a formula. Differentiating
// a formula with more elements would take minutes.
const mostElements = 200_000

// failAt reports a mistake in the element e, and stops parsing.
func failAt(e *tree.Element, format string, args ...any) {
	failf("line %d, column %d: %s", e.Line, e.Column, fmt.Sprintf(format, args...))
}

func (m *mathML) space(e *tree.Element) {
	if e.Space != "" && e.Space != MathMLSpace {
		failAt(e, "<%s> is in the namespace %q: want %s", e.Name, e.Space, MathMLSpace)
	}
}

// only fails unless e contains exactly n elements and no text. A negative n allows any
// number of elements.
func (m *mathML) only(e *tree.Element, n int) {
	for _, t := range e.Text {
		if t != "" {
			failAt(e, "found %q in <%s>: want elements only", clip(t), e.Name)
		}
	}
	switch {
	case n == 0 && len(e.Child) > 0:
		failAt(e.Child[0], "<%s> in <%s>", e.Child[0].Name, e.Name)
	case n > 0 && len(e.Child) == 0:
		failAt(e, "<%s> is empty: want an expression", e.Name)
	case n > 0 && len(e.Child) > n:
		failAt(e.Child[n], "<%s> follows an expression: want only one expression in <%s>", e.Child[n].Name, e.Name)
	}
}

func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

// content splits the text of the element e at each <sep/>, and returns the pieces.
func (m *mathML) content(e *tree.Element) []string {
	for _, c := range e.Child {
		if c.Name != "sep" {
			failAt(c, "<%s> in <%s>: want text", c.Name, e.Name)
		}
	}
	return e.Text
}

// element reads e as an expression.
func (m *mathML) element(e *tree.Element) *Node {
	m.space(e)
	if m.elements++; m.elements > mostElements {
		failAt(e, "a formula has too many elements: want at most %d", mostElements)
	}
	if m.depth++; m.depth > nestMost {
		failAt(e, "elements are nested more than %d deep", nestMost)
	}
	defer func() { m.depth-- }()
	switch e.Name {
	case "cn":
		return m.cn(e)
	case "ci":
		return Sym(m.identifier(e))
	case "csymbol":
		url := m.csymbol(e)
		switch url {
		case "time":
			return Sym(Time)
		case "avogadro":
			return Num(avogadro)
		}
		failAt(e, "symbol %s is not supported: want time or avogadro", url)
	case "apply":
		return m.apply(e)
	case "piecewise":
		return m.piecewise(e)
	case "lambda":
		return m.lambda(e)
	case "semantics":
		return m.semantics(e)
	}
	var n *Node
	switch e.Name {
	case "true", "false":
		n = boolean(e.Name == "true")
	case "pi":
		n = Num(math.Pi)
	case "exponentiale":
		n = Num(math.E)
	case "infinity":
		n = Num(math.Inf(1))
	case "notanumber":
		n = Num(math.NaN())
	default:
		failAt(e, "<%s> is not supported: want apply, cn, ci, csymbol, piecewise, lambda or a constant", e.Name)
	}
	m.only(e, 0)
	return n
}

func (m *mathML) identifier(e *tree.Element) string {
	parts := m.content(e)
	if len(parts) != 1 || parts[0] == "" || strings.ContainsFunc(parts[0], func(r rune) bool { return r == '`' || r == ' ' || !unicode.IsPrint(r) }) {
		failAt(e, "<%s> contains %q: want one identifier", e.Name, clip(strings.Join(parts, " ")))
	}
	if parts[0] == Time {
		return NamedTime
	}
	return parts[0]
}

// csymbol returns the last component of the URL in a csymbol element, such as "time". The
// URL says what the symbol means.
func (m *mathML) csymbol(e *tree.Element) string {
	m.content(e)
	url := e.Get("definitionURL")
	const base = "http://www.sbml.org/sbml/symbols/"
	switch url {
	case base + "time", base + "delay", base + "avogadro", base + "rateOf":
	default:
		failAt(e, "csymbol with definitionURL %q is not supported: want %stime or %[2]savogadro", clip(url), base)
	}
	return strings.TrimPrefix(url, base)
}

func (m *mathML) cn(e *tree.Element) *Node {
	parts := m.content(e)
	kind := e.Get("type")
	want := 1
	switch kind {
	case "", "real", "integer":
	case "rational", "e-notation":
		want = 2
	default:
		failAt(e, "<cn> has the type %q: want real, integer, rational or e-notation", clip(kind))
	}
	check := func(ok bool) {
		if !ok {
			failAt(e, "<cn> of type %q contains %q: want a number", kind, clip(strings.Join(parts, " ")))
		}
	}
	check(len(parts) == want)
	if kind == "e-notation" {
		parts = []string{parts[0] + "e" + parts[1]}
	}
	var v [2]float64
	for i, p := range parts {
		check(strings.Trim(p, "0123456789.eE+-") == "") // Go also accepts other numbers
		var err error
		v[i], err = strconv.ParseFloat(p, 64)
		check(err == nil && (kind != "integer" || v[i] == math.Trunc(v[i])))
	}
	if kind == "rational" {
		check(v[1] != 0)
		v[0] /= v[1]
	}
	return Num(v[0])
}

// semantics reads the first child as an expression. The other children are annotations,
// which do not change the value.
func (m *mathML) semantics(e *tree.Element) *Node {
	m.only(e, -1)
	if len(e.Child) == 0 {
		failAt(e, "<semantics> is empty: want an expression")
	}
	for _, c := range e.Child[1:] {
		if c.Name != "annotation" && c.Name != "annotation-xml" {
			failAt(c, "found <%s> in <semantics>: want an expression and annotations", c.Name)
		}
	}
	m.depth-- // this element does not count as nesting, so a lambda is allowed here
	defer func() { m.depth++ }()
	return m.element(e.Child[0])
}

// apply reads an operator, its qualifiers and its arguments.
func (m *mathML) apply(e *tree.Element) *Node {
	m.only(e, -1)
	if len(e.Child) == 0 {
		failAt(e, "<apply> is empty: want an operator and its arguments")
	}
	if e.Child[0].Name == "apply" {
		// Some published models enclose a whole <apply> element in another <apply>. Other
		// programs that read SBML treat the outer <apply> as brackets.
		if len(e.Child) > 1 {
			failAt(e.Child[1], "<%s> follows an <apply>: want an operator at the beginning of the enclosing <apply>", e.Child[1].Name)
		}
		return m.element(e.Child[0])
	}
	if f := e.Child[0]; f.Name == "csymbol" && m.csymbol(f) == "rateOf" {
		if len(e.Child) != 2 || e.Child[1].Name != "ci" {
			failAt(e, "rateOf needs one <ci>, the name of a variable")
		}
		return Sym(RateOf + m.identifier(e.Child[1]))
	}
	name, user := m.operator(e.Child[0])
	var args []*Node
	var degree *Node
	for _, c := range e.Child[1:] {
		if c.Name != "degree" && c.Name != "logbase" {
			args = append(args, m.element(c))
			continue
		}
		if of := map[string]string{"root": "degree", "log": "logbase"}[name]; of != c.Name || degree != nil || user {
			failAt(c, "<%s> in <apply> of %s", c.Name, name)
		}
		m.only(c, 1)
		degree = m.element(c.Child[0])
	}
	switch {
	case user:
		for i, a := range args {
			if !fits(a, false) && !fits(a, true) {
				failAt(e, "argument %d of %s is a lambda", i+1, name)
			}
			args[i] = a.Number()
		}
		return &Node{op: opUser, name: name, args: args}
	case name == "root" && degree != nil:
		args = append([]*Node{degree}, args...)
	case name == "log" && len(args) == 1:
		if degree == nil {
			degree = Num(10)
		}
		args = append(args, degree)
	case name == "root" || name == "log":
		if len(args) != 1 {
			failAt(e, "%s has %s: want 1", name, arguments(len(args)))
		}
	}
	return m.made(e, name, args)
}

// made applies the operator with the given name to args. If there is an error, its
// message gives the position of the element e.
func (m *mathML) made(e *tree.Element, name string, args []*Node) *Node {
	numbers := func(from, step int) {
		for i := from; i < len(args); i += step {
			args[i] = args[i].Number()
		}
	}
	isNumber := func(n *Node) bool { return !fits(n, true) }
	switch b := builders[name]; {
	case name == "piecewise":
		for i := 1; i < len(args); i += 2 {
			args[i] = args[i].Condition()
		}
		for i := 0; i < len(args); i += 2 {
			if isNumber(args[i]) {
				numbers(0, 2)
			}
		}
	case b.check == nil && b.bool:
		for i, a := range args {
			args[i] = a.Condition()
		}
	case b.check == nil, slices.ContainsFunc(args, isNumber):
		numbers(0, 1)
	}
	n, err := apply(name, args...)
	if err != nil {
		failAt(e, "%v", err)
	}
	return n
}

// The map `allowed` holds the MathML operators that SBML allows.
var allowed = map[string]bool{
	"plus": true, "minus": true, "times": true, "divide": true, "power": true, "root": true, "abs": true, "exp": true, "ln": true, "log": true,
	"floor": true, "ceiling": true, "factorial": true, "min": true, "max": true, "quotient": true, "rem": true,
	"eq": true, "neq": true, "gt": true, "lt": true, "geq": true, "leq": true, "and": true, "or": true, "xor": true, "not": true, "implies": true,
	"sin": true, "cos": true, "tan": true, "sec": true, "csc": true, "cot": true, "sinh": true, "cosh": true, "tanh": true, "sech": true, "csch": true, "coth": true,
	"arcsin": true, "arccos": true, "arctan": true, "arcsec": true, "arccsc": true, "arccot": true,
	"arcsinh": true, "arccosh": true, "arctanh": true, "arcsech": true, "arccsch": true, "arccoth": true,
}

func (m *mathML) operator(e *tree.Element) (name string, user bool) {
	m.space(e)
	switch e.Name {
	case "ci":
		return m.identifier(e), true
	case "csymbol":
		name = m.csymbol(e)
		failAt(e, "symbol %s: %s", name, cmp.Or(refused[name], "it is no function"))
	}
	if !allowed[e.Name] {
		failAt(e, "operator <%s> is not supported: want an operator of SBML, such as plus, times, power, exp or piecewise", e.Name)
	}
	m.only(e, 0)
	return e.Name, false
}

func (m *mathML) piecewise(e *tree.Element) *Node {
	m.only(e, -1)
	var args []*Node
	done := false
	for _, c := range e.Child {
		want := map[string]int{"piece": 2, "otherwise": 1}[c.Name]
		if want == 0 || done {
			failAt(c, "found <%s> in <piecewise>: want <piece> elements, and then at most one <otherwise>", c.Name)
		}
		done = want == 1
		m.only(c, -1)
		if n := len(c.Child); n != want {
			failAt(c, "<%s> holds %d expressions: want %d", c.Name, n, want)
		}
		for _, x := range c.Child {
			args = append(args, m.element(x))
		}
	}
	return m.made(e, "piecewise", args)
}

func (m *mathML) lambda(e *tree.Element) *Node {
	if m.depth > 1 {
		failAt(e, "found <lambda> inside an expression: it is allowed only as the outermost element of a function definition")
	}
	m.only(e, -1)
	var params []string
	var body *Node
	for _, c := range e.Child {
		if body != nil {
			failAt(c, "<%s> follows the body of <lambda>", c.Name)
		}
		if c.Name != "bvar" {
			body = m.element(c)
			continue
		}
		m.only(c, 1)
		if c.Child[0].Name != "ci" {
			failAt(c.Child[0], "<%s> in <bvar>: want <ci>", c.Child[0].Name)
		}
		params = append(params, m.identifier(c.Child[0]))
	}
	if body == nil {
		failAt(e, "<lambda> has no body")
	}
	n, err := Lambda(params, body)
	if err != nil {
		failAt(e, "%v", err)
	}
	return n
}
