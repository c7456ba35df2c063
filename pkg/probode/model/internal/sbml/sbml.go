// Package sbml converts SBML models of Levels 2 and 3 to equations, and equations to
// SBML.
package sbml

import (
	"math"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
	"github.com/probode/probode/pkg/probode/model/internal/tree"
)

// Read reads an SBML model of Level 2 or 3. Compartments, species and parameters become
// states, constants or assignments, and reactions become rates of change of states.
//
// In formulas the ID of a species stands for its amount if hasOnlySubstanceUnits is true,
// and for its concentration otherwise. The state of the equations is the quantity for
// which the ID stands, with one exception: if this quantity is the concentration, and the
// size of the compartment changes, the state is the amount, which dilution does not
// change. The concentration is then an assignment.
func Read(f *source.Files, name string) *equations.Equations {
	s := f.Read(name, source.MaxXML)
	root, err := tree.Read(s.Text, "notes", "annotation")
	if err != nil {
		at := err.(*tree.Error)
		s.Failf(at.Line, "%s", at.Msg)
	}
	if root.Name != "sbml" || !strings.HasPrefix(root.Space, "http://www.sbml.org/sbml/level") {
		s.Failf(root.Line, "root element <%s>: want <sbml>", root.Name)
	}
	b := &reader{File: s, level: root.Get("level"), ids: map[string]int{},
		functions: map[string]*expr.Node{}, species: map[string]*tree.Element{}, compartments: map[string]*tree.Element{},
		parameters: map[string]*tree.Element{}, reactions: map[string]*tree.Element{}, factors: map[string]*tree.Element{},
		init: map[string]*tree.Element{}, assign: map[string]*tree.Element{}, rate: map[string]*tree.Element{},
		jumped: map[string]bool{}, flow: map[string]*expr.Node{}, maths: map[*tree.Element]*expr.Node{}}
	if b.level != "2" && b.level != "3" {
		s.Refuse(root.Line, "SBML Level "+b.level, "want Level 2 or 3")
	}
	b.known(root)
	b.root = root.First("model")
	if b.root == nil {
		s.Failf(root.Line, "<sbml> has no <model>")
	}
	b.collect()
	return b.model()
}

// A reader holds the elements of a model, indexed by their IDs, while it converts them to
// equations.
type reader struct {
	*source.File
	level string
	root  *tree.Element
	ids   map[string]int  // line of each ID
	order []*tree.Element // compartments, species, parameters and factors, as in the file

	functions                                             map[string]*expr.Node
	species, compartments, parameters, reactions, factors map[string]*tree.Element
	init, assign, rate                                    map[string]*tree.Element // by the ID that they set
	jumped                                                map[string]bool          // IDs that an event sets
	flow                                                  map[string]*expr.Node
	maths                                                 map[*tree.Element]*expr.Node

	out *equations.Equations
}

// The method collect() stores the elements that have an ID, and the rules, initial
// assignments and events that set these elements.
func (s *reader) collect() {
	for _, e := range s.root.List("listOfFunctionDefinitions") {
		s.functions[s.id(e)] = s.lambda(e)
	}
	s.checkUnits()
	for _, l := range []struct {
		list string
		into map[string]*tree.Element
	}{{"listOfCompartments", s.compartments}, {"listOfSpecies", s.species}, {"listOfParameters", s.parameters}} {
		for _, e := range s.root.List(l.list) {
			l.into[s.id(e)] = e
			s.order = append(s.order, e)
		}
	}
	for _, e := range s.root.List("listOfReactions") {
		s.reactions[s.id(e)] = e
		for _, list := range []string{"listOfReactants", "listOfProducts"} {
			for _, r := range e.List(list) {
				// Only in Level 3 does the ID of a species reference stand for its stoichiometry.
				if s.level == "3" && r.Get("id") != "" {
					s.factors[s.id(r)] = r
					s.order = append(s.order, r)
				}
			}
		}
	}
	for _, e := range s.root.List("listOfConstraints") {
		s.Refuse(e.Line, "constraint", "a violated constraint would stop the simulation")
	}
	for _, e := range s.root.List("listOfInitialAssignments") {
		s.setBy(s.init, e, "symbol")
	}
	for _, e := range s.root.List("listOfRules") {
		switch e.Name {
		case "assignmentRule":
			s.setBy(s.assign, e, "variable")
		case "rateRule":
			s.setBy(s.rate, e, "variable")
		case "algebraicRule":
			s.Refuse(e.Line, "algebraicRule", "want assignment and rate rules")
		default:
			s.Failf(e.Line, "a rule <%s>: want assignmentRule or rateRule", e.Name)
		}
	}
	for _, e := range s.root.List("listOfRules") {
		id := e.Get("variable")
		if s.assign[id] != nil && s.rate[id] != nil {
			s.Failf(e.Line, "%s has both an assignment rule and a rate rule", id)
		}
		if other := s.init[id]; other != nil && s.assign[id] != nil {
			s.Failf(other.Line, "%s has an initial assignment and an assignment rule", id)
		}
	}
	for _, e := range s.root.List("listOfEvents") {
		for _, a := range e.List("listOfEventAssignments") {
			v := a.Get("variable")
			if s.entity(v) == nil {
				s.Failf(a.Line, "an event sets %q, which is not a compartment, species or parameter", v)
			}
			if s.assign[v] != nil {
				s.Failf(a.Line, "an event sets %s, which has an assignment rule", v)
			}
			s.changeable(a.Line, "an event", v)
			s.jumped[v] = true
		}
	}
}

// The method id() returns the ID of an element. It is an error if the ID is not valid, or
// if another element has the same ID.
func (s *reader) id(e *tree.Element) string {
	id := e.Get("id")
	switch {
	case id == "":
		s.Failf(e.Line, "<%s> has no id", e.Name)
	case !source.IsID(id):
		s.Failf(e.Line, "id %q: want letters, digits and _, not beginning with a digit", id)
	case id == expr.Time:
		s.Failf(e.Line, "<%s> has the id %s, which stands for the time: want another id", e.Name, id)
	}
	if line, twice := s.ids[id]; twice {
		s.Failf(e.Line, "id %s appears twice: the first time on line %d", id, line)
	}
	s.ids[id] = e.Line
	return id
}

// mathOf returns the formula of an element, with calls of the model's functions
// expanded and the names in the map local replaced by their values.
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
	if _, _, ok := n.Lambda(); ok {
		s.Failf(m.Line, "<%s> holds a lambda: want an expression", e.Name)
	}
	if n.Boolean() != (e.Name == "trigger") {
		s.Failf(m.Line, "<%s> holds a condition instead of a number, or a number instead of a condition", e.Name)
	}
	n = n.Substitute(local)
	for _, name := range n.Symbols() {
		if name != expr.Time && s.entity(name) == nil && s.reactions[name] == nil {
			s.Failf(m.Line, "%s is not defined", identifier(name))
		}
	}
	s.maths[e] = n
	return n
}

// The function identifier() returns the name that a symbol has in the SBML file.
func identifier(symbol string) string {
	if symbol == expr.NamedTime {
		return expr.Time
	}
	return symbol
}

// The method lambda() reads a function definition. It is an error if the function uses
// names other than its arguments and the time.
func (s *reader) lambda(e *tree.Element) *expr.Node {
	m := e.First("math")
	if m == nil {
		s.Failf(e.Line, "function %s has no <math>", e.Get("id"))
	}
	n, err := expr.ParseMathML(m)
	if err != nil {
		s.FailMath(m.Line, "", err)
	}
	if _, _, ok := n.Lambda(); !ok {
		s.Failf(m.Line, "function %s is not a lambda", e.Get("id"))
	}
	for _, name := range n.Symbols() {
		if name != expr.Time {
			s.Failf(m.Line, "function %s uses %s, which is not one of its arguments", e.Get("id"), identifier(name))
		}
	}
	return n
}

// The method entity() returns the element with the given ID if it is one that has a
// value: a species, parameter, compartment or stoichiometry. For any other ID it returns
// nil.
func (s *reader) entity(id string) *tree.Element {
	for _, in := range []map[string]*tree.Element{s.species, s.parameters, s.compartments, s.factors} {
		if e := in[id]; e != nil {
			return e
		}
	}
	return nil
}

// setBy adds a rule or initial assignment to the map under the ID of the element that it
// sets. It is an error if the map already has a rule or initial assignment for this ID.
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

// The method changeable() reports an error if an element that a rule or an event sets is
// declared constant.
func (s *reader) changeable(line int, by, id string) {
	e := s.entity(id)
	def := s.level == "2" && e.Name != "species" // the default of Level 2
	if s.flag(e, "constant", def) {
		s.Failf(line, "%s sets %s, which is constant", by, id)
	}
}

// The method flag() returns the value of a boolean attribute.
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

// The method number() returns the number in an attribute. The result is nil if the
// attribute is absent or NaN; in SBML, NaN means that there is no value.
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

// unitKinds contains the units that a model may use without defining them.
var unitKinds = func() map[string]bool {
	kinds := map[string]bool{}
	for _, k := range strings.Fields(`ampere avogadro becquerel candela celsius coulomb dimensionless farad
		gram gray henry hertz item joule katal kelvin kilogram liter litre lumen lux meter metre mole newton ohm
		pascal radian second siemens sievert steradian tesla volt watt weber
		substance volume area length time`) {
		kinds[k] = true
	}
	return kinds
}()

// checkUnits adds warnings about undefined units, and reports an error if a unit is
// defined twice. Units do not affect the results, because formulas use the numbers
// without their units.
func (s *reader) checkUnits() {
	defined := map[string]bool{}
	for _, e := range s.root.List("listOfUnitDefinitions") {
		id := e.Get("id")
		if defined[id] {
			s.Failf(e.Line, "unit %s is defined twice", id)
		}
		defined[id] = true
		for _, u := range e.List("listOfUnits") {
			if !unitKinds[u.Get("kind")] {
				s.Warnf(u.Line, "unit %s uses %q, which is not a base unit", id, u.Get("kind"))
			}
		}
	}
	for _, list := range []string{"listOfCompartments", "listOfSpecies", "listOfParameters"} {
		for _, e := range s.root.List(list) {
			for _, a := range []string{"units", "substanceUnits", "spatialSizeUnits"} {
				if u := e.Get(a); u != "" && !defined[u] && !unitKinds[u] {
					s.Warnf(e.Line, "%s of %s is %s, which is not defined", a, e.Get("id"), u)
				}
			}
		}
	}
}

// timeUnit returns the unit of time, if the model specifies it.
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
