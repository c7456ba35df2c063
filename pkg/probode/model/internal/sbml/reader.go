package sbml

import (
	"math"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
	"github.com/probode/probode/pkg/probode/model/internal/tree"
)

type reader struct {
	*source.File
	start          float64
	level, version string
	root           *tree.Element
	ids            map[string]int  // line of each ID
	order          []*tree.Element // compartments, species, parameters and factors, as in the file

	functions          map[string]*expr.Node
	elements           map[string]*tree.Element // those in order, and reactions, by ID
	init, assign, rate map[string]*tree.Element // by the ID that they set
	jumped             map[string]bool          // IDs that an event sets
	flow               map[string]*expr.Node
	rates              map[string]string // the IDs of rates of change, by variable
	isRate             map[string]bool
	rated              []string // the variables in rates, in the order of their first use
	maths              map[*tree.Element]*expr.Node

	out *equations.Equations
}

func (s *reader) id(e *tree.Element) string {
	id := e.Get("id")
	switch {
	case id == "":
		s.Failf(e.Line, "<%s> has no id", e.Name)
	case !expr.IsID(identifier(id)):
		s.Failf(e.Line, "id %q: want letters, digits and _; the first character must not be a digit", id)
	}
	if line, twice := s.ids[id]; twice {
		s.Failf(e.Line, "id %s appears twice, first on line %d", id, line)
	}
	s.ids[id] = e.Line
	return id
}

// mathOf expands functions of the model, and replaces the names in `local`.
func (s *reader) mathOf(e *tree.Element, local map[string]*expr.Node) *expr.Node {
	if n := s.maths[e]; n != nil {
		return n
	}
	m := e.First("math")
	if m == nil {
		s.Failf(e.Line, "<%s> has no <math>", e.Name)
	}
	n, err := expr.ParseMathML(m)
	if err == nil {
		n, err = n.Expand(s.functions)
	}
	if err != nil {
		s.FailMath(m.Line, "", err)
	}
	if op, _ := n.Operator(); op == "lambda" {
		s.Failf(m.Line, "<%s> holds a lambda: want an expression", e.Name)
	}
	if e.Name == "trigger" {
		n = n.Condition()
	} else {
		n = n.Number()
	}
	rates := map[string]*expr.Node{}
	for _, name := range n.Symbols() {
		if of, is := strings.CutPrefix(name, expr.RateOf); is {
			if rates[name] = expr.Num(0); local[of] == nil {
				if s.entity(of) == nil {
					s.Failf(m.Line, "%s is not defined", identifier(of))
				}
				rates[name] = expr.Sym(s.rateOf(of))
			}
		}
	}
	n = n.Substitute(rates)
	n = n.Substitute(local)
	for _, name := range n.Symbols() {
		if name != expr.Time && s.elements[name] == nil && !s.isRate[name] {
			s.Failf(m.Line, "%s is not defined", identifier(name))
		}
	}
	s.maths[e] = n
	return n
}

func identifier(symbol string) string {
	if symbol == expr.NamedTime {
		return expr.Time
	}
	return symbol
}

func (s *reader) lambda(e *tree.Element) *expr.Node {
	m := e.First("math")
	if m == nil {
		s.Failf(e.Line, "function %s has no <math>", e.Get("id"))
	}
	n, err := expr.ParseMathML(m)
	if err != nil {
		s.FailMath(m.Line, "", err)
	}
	if op, _ := n.Operator(); op != "lambda" {
		s.Failf(m.Line, "function %s is not a lambda", e.Get("id"))
	}
	for _, name := range n.Symbols() {
		if name != expr.Time {
			s.Failf(m.Line, "function %s uses %s, which is not one of its arguments", e.Get("id"), identifier(name))
		}
	}
	return n
}

// entity returns an element that has a value, which a reaction has only in formulas.
func (s *reader) entity(id string) *tree.Element {
	if s.is(id, "reaction") {
		return nil
	}
	return s.elements[id]
}

func (s *reader) is(id, kind string) bool {
	e := s.elements[id]
	return e != nil && e.Name == kind
}

func (s *reader) setBy(into map[string]*tree.Element, e *tree.Element, attr string) {
	id := e.Get(attr)
	if s.entity(id) == nil {
		s.Failf(e.Line, "found a %s for %q, which is not a compartment, species or parameter", e.Name, id)
	}
	if first := into[id]; first != nil {
		s.Failf(e.Line, "found a second %s for %s: the first is on line %d", e.Name, id, first.Line)
	}
	if attr == "variable" {
		s.changeable(e.Line, "a rule", id)
	}
	into[id] = e
}

func (s *reader) isConstant(e *tree.Element) bool {
	return s.flag(e, "constant", s.level == "2" && e.Name != "species") // the default of Level 2
}

func (s *reader) changeable(line int, by, id string) {
	if s.isConstant(s.entity(id)) {
		s.Failf(line, "%s sets %s, which is constant", by, id)
	}
}

func (s *reader) flag(e *tree.Element, name string, def bool) bool {
	switch v := e.Get(name); v {
	case "":
		return def
	case "true", "1":
		return true
	case "false", "0":
		return false
	default:
		s.Failf(e.Line, "%s is %q: want true or false", name, v)
		return false
	}
}

// number is nil for NaN, too, which stands for no value in SBML.
func (s *reader) number(e *tree.Element, name string) *expr.Node {
	v := e.Get(name)
	if v == "" || v == "NaN" {
		return nil
	}
	x, err := source.ParseNumber(v)
	if err != nil || math.IsInf(x, 0) {
		s.Failf(e.Line, "%s is %q: want a finite number", name, v)
	}
	return expr.Num(x)
}

func (s *reader) timeUnit() string {
	id := s.root.Get("timeUnits")
	if id == "" {
		id = "time"
	}
	for _, e := range s.root.List("listOfUnitDefinitions") {
		if e.Get("id") != id {
			continue
		}
		if n := e.Get("name"); n != "" {
			return n
		}
		if u := e.List("listOfUnits"); len(u) == 1 && u[0].Get("kind") == "second" {
			switch u[0].Get("multiplier") {
			case "", "1":
				return "s"
			case "60":
				return "min"
			case "3600":
				return "h"
			case "86400":
				return "d"
			}
		}
		return ""
	}
	if id == "second" {
		return "s"
	}
	return ""
}
