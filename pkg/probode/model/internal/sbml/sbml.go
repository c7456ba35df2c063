// Package sbml reads models of SBML Level 2 and 3 as equations, and writes equations as SBML.
package sbml

import (
	"math"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// Read reads a model of SBML Level 2 or 3: compartments, species and
// parameters become states, constants and assignments, reactions their rates.
//
// A species stands in formulas for its concentration, or for its amount if it
// hasOnlySubstanceUnits, and that is what its state is. Only where a
// compartment changes its size is the state of the former an amount, which
// mixing and dilution leave alone, and the concentration an assignment.
func Read(f *source.Files, name string) *equations.Equations {
	s := f.Read(name, source.MaxXML)
	root := readXML(s)
	if root.name != "sbml" || !strings.HasPrefix(root.space, "http://www.sbml.org/sbml/level") {
		s.Failf(root.line, "root element <%s>: want <sbml>", root.name)
	}
	b := &reader{File: s, level: root.get("level"), ids: map[string]int{},
		functions: map[string]*expr.Node{}, species: map[string]*element{}, compartments: map[string]*element{},
		parameters: map[string]*element{}, reactions: map[string]*element{}, factors: map[string]*element{},
		init: map[string]*element{}, assign: map[string]*element{}, rate: map[string]*element{},
		jumped: map[string]bool{}, flow: map[string]*expr.Node{}, maths: map[*element]*expr.Node{}}
	if b.level != "2" && b.level != "3" {
		s.Refuse(root.line, "SBML Level "+b.level, "want Level 2 or 3")
	}
	b.packages(root)
	b.root = root.first("model")
	if b.root == nil {
		s.Failf(root.line, "<sbml> without a <model>")
	}
	b.collect()
	return b.model()
}

// A reader holds the elements of a model by ID while it is written as equations.
type reader struct {
	*source.File
	level string
	root  *element
	ids   map[string]int // line of each ID
	order []*element     // compartments, species, parameters and factors, as in the file

	functions                                             map[string]*expr.Node
	species, compartments, parameters, reactions, factors map[string]*element
	init, assign, rate                                    map[string]*element // by the ID they set
	jumped                                                map[string]bool     // what an event sets
	flow                                                  map[string]*expr.Node
	maths                                                 map[*element]*expr.Node

	out *equations.Equations
}

// packages refuses packages of Level 3 that change the meaning of the model, if
// it uses them.
func (s *reader) packages(root *element) {
	required := map[string]bool{}
	for _, a := range root.attr {
		if a.Name.Local == "required" && a.Name.Space != "" {
			required[a.Name.Space] = a.Value == "true" || a.Value == "1"
		}
	}
	var visit func(e *element)
	visit = func(e *element) {
		if e.space != root.space && e.space != mathML {
			if required[e.space] {
				s.Refuse(e.line, "SBML package "+packageName(e.space), "<%s> changes what the model means", e.name)
			}
			return // layout, render, groups: nothing that is computed
		}
		for _, c := range e.child {
			visit(c)
		}
	}
	visit(root)
}

// packageName is comp of http://www.sbml.org/sbml/level3/version1/comp/version1.
func packageName(space string) string {
	parts := strings.Split(space, "/")
	if len(parts) >= 2 {
		return parts[len(parts)-2]
	}
	return space
}

// core are the elements of a list of the model, without those of packages.
func (s *reader) core(list string) []*element {
	var out []*element
	for _, e := range s.root.list(list) {
		if e.space == s.root.space {
			out = append(out, e)
		}
	}
	return out
}

// collect reads what has an ID, and what sets it.
func (s *reader) collect() {
	for _, e := range s.core("listOfFunctionDefinitions") {
		s.functions[s.id(e)] = s.lambda(e)
	}
	s.checkUnits()
	for _, l := range []struct {
		list string
		into map[string]*element
	}{{"listOfCompartments", s.compartments}, {"listOfSpecies", s.species}, {"listOfParameters", s.parameters}} {
		for _, e := range s.core(l.list) {
			l.into[s.id(e)] = e
			s.order = append(s.order, e)
		}
	}
	for _, e := range s.core("listOfReactions") {
		s.reactions[s.id(e)] = e
		for _, list := range []string{"listOfReactants", "listOfProducts"} {
			for _, r := range e.list(list) {
				// Only in Level 3 is the ID of a stoichiometry a quantity.
				if s.level == "3" && r.get("id") != "" {
					s.factors[s.id(r)] = r
					s.order = append(s.order, r)
				}
			}
		}
	}
	for _, e := range s.core("listOfConstraints") {
		s.Refuse(e.line, "constraint", "a model that stops where a constraint fails")
	}
	for _, e := range s.core("listOfInitialAssignments") {
		s.setBy(s.init, e, "symbol")
	}
	for _, e := range s.core("listOfRules") {
		switch e.name {
		case "assignmentRule":
			s.setBy(s.assign, e, "variable")
		case "rateRule":
			s.setBy(s.rate, e, "variable")
		case "algebraicRule":
			s.Refuse(e.line, "algebraicRule", "want assignment and rate rules")
		default:
			s.Failf(e.line, "a rule <%s>: want assignmentRule or rateRule", e.name)
		}
	}
	for _, e := range s.core("listOfRules") {
		id := e.get("variable")
		if s.assign[id] != nil && s.rate[id] != nil {
			s.Failf(e.line, "%s has an assignment and a rate rule", id)
		}
		if other := s.init[id]; other != nil && s.assign[id] != nil {
			s.Failf(other.line, "%s has an initial assignment and an assignment rule", id)
		}
	}
	for _, e := range s.core("listOfEvents") {
		for _, a := range e.list("listOfEventAssignments") {
			v := a.get("variable")
			if s.entity(v) == nil {
				s.Failf(a.line, "an event sets %q, which is no compartment, species or parameter", v)
			}
			if s.assign[v] != nil {
				s.Failf(a.line, "an event sets %s, which has an assignment rule", v)
			}
			s.changeable(a.line, "an event", v)
			s.jumped[v] = true
		}
	}
}

// id returns the ID of an element, which no other may have.
func (s *reader) id(e *element) string {
	id := e.get("id")
	switch {
	case id == "":
		s.Failf(e.line, "<%s> without an id", e.name)
	case !source.IsID(id):
		s.Failf(e.line, "id %q: want letters, digits and _, no digit first", id)
	case id == expr.Time:
		s.Failf(e.line, "<%s> with the id %s, which is the time here: want another", e.name, id)
	}
	if line, twice := s.ids[id]; twice {
		s.Failf(e.line, "id %s appears twice: first in line %d", id, line)
	}
	s.ids[id] = e.line
	return id
}

// mathOf returns the formula of an element, the model's functions put in.
func (s *reader) mathOf(e *element) *expr.Node {
	if n := s.maths[e]; n != nil {
		return n
	}
	m := e.first("math")
	if m == nil || m.math == nil {
		s.Failf(e.line, "<%s> without <math>", e.name)
	}
	n, err := m.math.Expand(s.functions)
	if err != nil {
		s.FailMath(m.line, "", err)
	}
	if _, _, ok := n.Lambda(); ok {
		s.Failf(m.line, "<%s> holds a lambda: want an expression", e.name)
	}
	if n.Boolean() != (e.name == "trigger") {
		s.Failf(m.line, "<%s> holds a condition where a number is wanted, or the other way round", e.name)
	}
	s.maths[e] = n
	return n
}

// lambda returns a function definition as it stands.
func (s *reader) lambda(e *element) *expr.Node {
	m := e.first("math")
	if m == nil || m.math == nil {
		s.Failf(e.line, "function %s has no <math>", e.get("id"))
	}
	if _, _, ok := m.math.Lambda(); !ok {
		s.Failf(m.line, "function %s is no lambda", e.get("id"))
	}
	return m.math
}

// entity returns what has a value that can be set.
func (s *reader) entity(id string) *element {
	for _, in := range []map[string]*element{s.species, s.parameters, s.compartments, s.factors} {
		if e := in[id]; e != nil {
			return e
		}
	}
	return nil
}

// setBy notes what a rule or initial assignment sets, once for each ID.
func (s *reader) setBy(into map[string]*element, e *element, attr string) {
	id := e.get(attr)
	if s.entity(id) == nil {
		s.Failf(e.line, "%s of %q, which is no compartment, species or parameter", e.name, id)
	}
	if first := into[id]; first != nil {
		s.Failf(e.line, "a second %s of %s: the first is in line %d", e.name, id, first.line)
	}
	if attr == "variable" {
		s.changeable(e.line, "a rule", id)
	}
	into[id] = e
}

// changeable stops if something is constant and yet set.
func (s *reader) changeable(line int, by, id string) {
	e := s.entity(id)
	def := s.level == "2" && e.name != "species" // the default of Level 2
	if s.flag(e, "constant", def) {
		s.Failf(line, "%s sets %s, which is constant", by, id)
	}
}

// flag returns a boolean attribute.
func (s *reader) flag(e *element, name string, def bool) bool {
	switch v := e.get(name); v {
	case "":
		return def
	case "true", "1":
		return true
	case "false", "0":
		return false
	default:
		s.Failf(e.line, "%s is %q: want true or false", name, v)
		return false
	}
}

// number returns the value of an attribute, nil if it is absent or NaN, with
// which SBML says that there is none.
func (s *reader) number(e *element, name string) *expr.Node {
	v := e.get(name)
	if v == "" || v == "NaN" {
		return nil
	}
	x, err := source.ParseNumber(v)
	if err != nil || math.IsInf(x, 0) {
		s.Failf(e.line, "%s is %q: want a finite number", name, v)
	}
	return expr.Num(x)
}

// unitKinds are the units that need no definition.
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

// checkUnits warns of units that do not exist. Formulas are computed with the
// numbers as they stand, so units change nothing.
func (s *reader) checkUnits() {
	defined := map[string]bool{}
	for _, e := range s.core("listOfUnitDefinitions") {
		id := e.get("id")
		if defined[id] {
			s.Failf(e.line, "unit %s is defined twice", id)
		}
		defined[id] = true
		for _, u := range e.list("listOfUnits") {
			if !unitKinds[u.get("kind")] {
				s.Warnf(u.line, "unit %s is made of %q, which is no base unit", id, u.get("kind"))
			}
		}
	}
	for _, list := range []string{"listOfCompartments", "listOfSpecies", "listOfParameters"} {
		for _, e := range s.core(list) {
			for _, a := range []string{"units", "substanceUnits", "spatialSizeUnits"} {
				if u := e.get(a); u != "" && !defined[u] && !unitKinds[u] {
					s.Warnf(e.line, "%s of %s is %s, which is not defined", a, e.get("id"), u)
				}
			}
		}
	}
}

// timeUnit is the unit of time, if the model names one.
func (s *reader) timeUnit() string {
	id := s.root.get("timeUnits")
	if id == "" {
		id = "time"
	}
	for _, e := range s.core("listOfUnitDefinitions") {
		if e.get("id") != id {
			continue
		}
		if n := e.get("name"); n != "" {
			return n
		}
		if u := e.list("listOfUnits"); len(u) == 1 && u[0].get("kind") == "second" {
			switch u[0].get("multiplier") {
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
