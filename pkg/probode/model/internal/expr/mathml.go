package expr

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Time is the name of the symbol that stands for the time symbol of SBML. A
// model that uses both that symbol and an identifier "time" for something else
// cannot be told apart: refuse it.
const Time = "time"

const mathMLSpace = "http://www.w3.org/1998/Math/MathML"

// ParseMathML reads one expression from the content MathML of SBML, Levels 2
// and 3. The decoder stands behind the start element, either <math> or the
// element that is the expression itself, and is left behind its end.
//
// A lambda gives a node of which [Node.Lambda] returns parameters and body;
// calls of functions that the model defines remain, for [Node.Expand]. The
// symbols time and avogadro become [Time] and the number; delay, rateOf,
// and what SBML does not allow is refused by its name. The error is of one
// line and begins with the line and column in the file.
func ParseMathML(d *xml.Decoder, start xml.StartElement) (*Node, error) {
	m := &mathML{d: d}
	if start.Name.Local != "math" {
		return m.element(start)
	}
	if err := m.space(start); err != nil {
		return nil, err
	}
	var n *Node
	err := m.children(start, func(s xml.StartElement) error {
		if n != nil {
			return m.errorf("<%s> follows an expression: want one in <math>", s.Name.Local)
		}
		var err error
		n, err = m.element(s)
		return err
	})
	if err == nil && n == nil {
		err = m.errorf("<math> is empty: want an expression")
	}
	return n, err
}

type mathML struct {
	d     *xml.Decoder
	depth int
}

func (m *mathML) errorf(format string, args ...any) error {
	line, col := m.d.InputPos()
	return fmt.Errorf("line %d, column %d: %s", line, col, fmt.Sprintf(format, args...))
}

func (m *mathML) space(s xml.StartElement) error {
	if s.Name.Space != "" && s.Name.Space != mathMLSpace {
		return m.errorf("<%s> is of the namespace %q: want %s", s.Name.Local, s.Name.Space, mathMLSpace)
	}
	return nil
}

// token is the next one that says something; comments do not.
func (m *mathML) token() (xml.Token, error) {
	for {
		t, err := m.d.Token()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the file ends inside of an expression")
			}
			return nil, m.errorf("%s", strings.ReplaceAll(err.Error(), "\n", " "))
		}
		switch t := t.(type) {
		case xml.Comment, xml.ProcInst:
			continue
		case xml.Directive:
			return nil, m.errorf("found a <!...> directive: want MathML")
		case xml.CharData:
			if len(strings.TrimSpace(string(t))) == 0 {
				continue
			}
		}
		return t, nil
	}
}

// children calls f for each element in s, and reads the end of s.
func (m *mathML) children(s xml.StartElement, f func(xml.StartElement) error) error {
	for {
		t, err := m.token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if err := f(t); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		case xml.CharData:
			return m.errorf("found %q in <%s>: want elements only", clip(string(t)), s.Name.Local)
		}
	}
}

func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

// content is the text of s, in parts separated by <sep/>.
func (m *mathML) content(s xml.StartElement) ([]string, error) {
	parts := []string{""}
	for {
		t, err := m.token()
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.CharData:
			parts[len(parts)-1] += string(t)
		case xml.StartElement:
			if t.Name.Local != "sep" {
				return nil, m.errorf("<%s> in <%s>: want text", t.Name.Local, s.Name.Local)
			}
			if err := m.d.Skip(); err != nil {
				return nil, m.errorf("%v", err)
			}
			parts = append(parts, "")
		case xml.EndElement:
			for i := range parts {
				parts[i] = strings.TrimSpace(parts[i])
			}
			return parts, nil
		}
	}
}

func attribute(s xml.StartElement, name string) string {
	for _, a := range s.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// element reads the expression that s begins.
func (m *mathML) element(s xml.StartElement) (*Node, error) {
	if err := m.space(s); err != nil {
		return nil, err
	}
	if m.depth++; m.depth > nestMost {
		return nil, m.errorf("elements are nested more than %d deep", nestMost)
	}
	defer func() { m.depth-- }()
	name := s.Name.Local
	switch name {
	case "cn":
		return m.cn(s)
	case "ci":
		id, err := m.identifier(s)
		if err != nil {
			return nil, err
		}
		return Sym(id), nil
	case "csymbol":
		url, err := m.csymbol(s)
		if err != nil {
			return nil, err
		}
		switch url {
		case "time":
			return Sym(Time), nil
		case "avogadro":
			return Num(avogadro), nil
		}
		return nil, m.errorf("symbol %s is not supported here: want time or avogadro", url)
	case "apply":
		return m.apply(s)
	case "piecewise":
		return m.piecewise(s)
	case "lambda":
		return m.lambda(s)
	case "semantics":
		return m.semantics(s)
	}
	var n *Node
	switch name {
	case "true", "false":
		n = boolean(name == "true")
	case "pi":
		n = Num(math.Pi)
	case "exponentiale":
		n = Num(math.E)
	case "infinity":
		n = Num(math.Inf(1))
	case "notanumber":
		n = Num(math.NaN())
	default:
		return nil, m.errorf("<%s> is not supported: want apply, cn, ci, csymbol, piecewise, lambda or a constant", name)
	}
	return n, m.children(s, func(c xml.StartElement) error { return m.errorf("<%s> in <%s>", c.Name.Local, name) })
}

func (m *mathML) identifier(s xml.StartElement) (string, error) {
	parts, err := m.content(s)
	if err != nil {
		return "", err
	}
	if len(parts) != 1 || parts[0] == "" || strings.ContainsFunc(parts[0], func(r rune) bool { return r == '`' || r == ' ' || !unicode.IsPrint(r) }) {
		return "", m.errorf("<%s> holds %q: want one identifier", s.Name.Local, clip(strings.Join(parts, " ")))
	}
	return parts[0], nil
}

// csymbol is the last part of the address that names the symbol.
func (m *mathML) csymbol(s xml.StartElement) (string, error) {
	if _, err := m.content(s); err != nil {
		return "", err
	}
	url := attribute(s, "definitionURL")
	const base = "http://www.sbml.org/sbml/symbols/"
	switch url {
	case base + "time", base + "delay", base + "avogadro", base + "rateOf":
		return strings.TrimPrefix(url, base), nil
	}
	return "", m.errorf("csymbol with definitionURL %q is not supported: want %stime or %[2]savogadro", clip(url), base)
}

func (m *mathML) cn(s xml.StartElement) (*Node, error) {
	parts, err := m.content(s)
	if err != nil {
		return nil, err
	}
	kind := attribute(s, "type")
	want := 1
	switch kind {
	case "", "real", "integer":
	case "rational", "e-notation":
		want = 2
	default:
		return nil, m.errorf("<cn> has the type %q: want real, integer, rational or e-notation", clip(kind))
	}
	bad := func() error {
		return m.errorf("<cn> of type %q holds %q: want a number", kind, clip(strings.Join(parts, " ")))
	}
	if len(parts) != want {
		return nil, bad()
	}
	if kind == "e-notation" {
		parts = []string{parts[0] + "e" + parts[1]}
	}
	var v [2]float64
	for i, p := range parts {
		if strings.Trim(p, "0123456789.eE+-") != "" { // Go reads more than that
			return nil, bad()
		}
		if v[i], err = strconv.ParseFloat(p, 64); err != nil {
			return nil, bad()
		}
		if kind == "integer" && v[i] != math.Trunc(v[i]) {
			return nil, bad()
		}
	}
	if kind == "rational" {
		if v[1] == 0 {
			return nil, bad()
		}
		v[0] /= v[1]
	}
	return Num(v[0]), nil
}

// semantics is its first child; annotations say nothing about the value.
func (m *mathML) semantics(s xml.StartElement) (*Node, error) {
	var n *Node
	err := m.children(s, func(c xml.StartElement) error {
		if n == nil {
			m.depth-- // not a level of its own: a lambda may stand here
			var err error
			n, err = m.element(c)
			m.depth++
			return err
		}
		if c.Name.Local != "annotation" && c.Name.Local != "annotation-xml" {
			return m.errorf("<%s> in <semantics>: want an expression and annotations", c.Name.Local)
		}
		if err := m.d.Skip(); err != nil {
			return m.errorf("%v", err)
		}
		return nil
	})
	if err == nil && n == nil {
		err = m.errorf("<semantics> is empty: want an expression")
	}
	return n, err
}

// apply reads an operator, its qualifiers and its arguments.
func (m *mathML) apply(s xml.StartElement) (*Node, error) {
	name, user := "", false
	var args []*Node
	var degree, inner *Node
	err := m.children(s, func(c xml.StartElement) error {
		switch {
		case inner != nil:
			return m.errorf("<%s> follows an <apply> that stands for an operator", c.Name.Local)
		case name == "" && c.Name.Local == "apply":
			// Published models have <apply> around a whole expression, which
			// other readers of SBML take for brackets.
			var err error
			inner, err = m.element(c)
			return err
		case name == "":
			var err error
			name, user, err = m.operator(c)
			return err
		case c.Name.Local == "degree" || c.Name.Local == "logbase":
			if of := map[string]string{"root": "degree", "log": "logbase"}[name]; of != c.Name.Local || degree != nil || user {
				return m.errorf("<%s> in <apply> of %s", c.Name.Local, name)
			}
			return m.children(c, func(e xml.StartElement) error {
				if degree != nil {
					return m.errorf("<%s> holds more than one expression", c.Name.Local)
				}
				var err error
				degree, err = m.element(e)
				return err
			})
		}
		a, err := m.element(c)
		args = append(args, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	switch {
	case inner != nil:
		return inner, nil
	case name == "":
		return nil, m.errorf("<apply> is empty: want an operator and its arguments")
	case user:
		for i, a := range args {
			if !fits(a, false) && !fits(a, true) {
				return nil, m.errorf("argument %d of %s is a lambda", i+1, name)
			}
		}
		return &Node{op: opUser, name: name, args: args}, nil
	case name == "root" && degree != nil:
		args = append([]*Node{degree}, args...)
	case name == "log" && len(args) == 1:
		if degree == nil {
			degree = Num(10)
		}
		args = append(args, degree)
	case name == "root" || name == "log":
		if len(args) != 1 {
			return nil, m.errorf("%s has %s: want 1", name, arguments(len(args)))
		}
	}
	n, err := apply(name, args...)
	if err != nil {
		return nil, m.errorf("%v", err)
	}
	return n, nil
}

// allowed are the operators of MathML that SBML has.
var allowed = map[string]bool{
	"plus": true, "minus": true, "times": true, "divide": true, "power": true, "root": true, "abs": true, "exp": true, "ln": true, "log": true,
	"floor": true, "ceiling": true, "factorial": true, "min": true, "max": true, "quotient": true, "rem": true,
	"eq": true, "neq": true, "gt": true, "lt": true, "geq": true, "leq": true, "and": true, "or": true, "xor": true, "not": true, "implies": true,
	"sin": true, "cos": true, "tan": true, "sec": true, "csc": true, "cot": true, "sinh": true, "cosh": true, "tanh": true, "sech": true, "csch": true, "coth": true,
	"arcsin": true, "arccos": true, "arctan": true, "arcsec": true, "arccsc": true, "arccot": true,
	"arcsinh": true, "arccosh": true, "arctanh": true, "arcsech": true, "arccsch": true, "arccoth": true,
}

func (m *mathML) operator(s xml.StartElement) (name string, user bool, err error) {
	if err := m.space(s); err != nil {
		return "", false, err
	}
	switch s.Name.Local {
	case "ci":
		name, err = m.identifier(s)
		return name, true, err
	case "csymbol":
		name, err = m.csymbol(s)
		if err == nil {
			why := refused[name]
			if why == "" {
				why = "it is no function"
			}
			err = m.errorf("symbol %s: %s", name, why)
		}
		return "", false, err
	}
	name = s.Name.Local
	if !allowed[name] {
		return "", false, m.errorf("operator <%s> is not supported: want one of SBML, such as plus, times, power, exp, piecewise", name)
	}
	return name, false, m.children(s, func(c xml.StartElement) error { return m.errorf("<%s> in <%s>", c.Name.Local, name) })
}

func (m *mathML) piecewise(s xml.StartElement) (*Node, error) {
	var args []*Node
	done := false
	err := m.children(s, func(c xml.StartElement) error {
		want := map[string]int{"piece": 2, "otherwise": 1}[c.Name.Local]
		if want == 0 || done {
			return m.errorf("<%s> in <piecewise>: want <piece> elements and at most one <otherwise>, last", c.Name.Local)
		}
		done = want == 1
		n := 0
		err := m.children(c, func(e xml.StartElement) error {
			a, err := m.element(e)
			args, n = append(args, a), n+1
			return err
		})
		if err == nil && n != want {
			err = m.errorf("<%s> holds %d expressions: want %d", c.Name.Local, n, want)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	n, err := apply("piecewise", args...)
	if err != nil {
		return nil, m.errorf("%v", err)
	}
	return n, nil
}

func (m *mathML) lambda(s xml.StartElement) (*Node, error) {
	if m.depth > 1 {
		return nil, m.errorf("<lambda> inside of an expression: want it outermost, in a function definition")
	}
	var params []string
	var body *Node
	err := m.children(s, func(c xml.StartElement) error {
		if body != nil {
			return m.errorf("<%s> follows the body of <lambda>", c.Name.Local)
		}
		if c.Name.Local != "bvar" {
			var err error
			body, err = m.element(c)
			return err
		}
		before := len(params)
		err := m.children(c, func(e xml.StartElement) error {
			if e.Name.Local != "ci" {
				return m.errorf("<%s> in <bvar>: want <ci>", e.Name.Local)
			}
			id, err := m.identifier(e)
			params = append(params, id)
			return err
		})
		if err == nil && len(params) != before+1 {
			err = m.errorf("<bvar> holds %d names: want 1", len(params)-before)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, m.errorf("<lambda> has no body")
	}
	n, err := Lambda(params, body)
	if err != nil {
		return nil, m.errorf("%v", err)
	}
	return n, nil
}
