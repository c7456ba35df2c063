package expr

import "encoding/xml"

// The elements of MathML that hold several expressions: apply, piecewise and
// lambda.

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
	n, err := Apply(name, args...)
	if err != nil {
		return nil, m.errorf("%v", err)
	}
	return n, nil
}

// operators of MathML that SBML allows.
var operators = map[string]bool{
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
	if !operators[name] {
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
	n, err := Apply("piecewise", args...)
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
