// Package sbml converts SBML models of Levels 2 and 3 to equations.
package sbml

import (
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
	"github.com/probode/probode/pkg/probode/model/internal/tree"
)

// Read reads an SBML model of Level 2 or 3. Compartments, species and parameters become
// states, constants or assignments. Each reaction contributes to the rates of change of
// its reactants and products.
//
// In formulas, the ID of a species stands for the amount if hasOnlySubstanceUnits is
// true, and for the concentration otherwise. The state of a species is normally the
// quantity that the ID stands for. If the ID stands for the concentration in a
// compartment of variable size, the state is the amount instead, because dilution does
// not change the amount. Read then adds an assignment that divides the amount by the size
// of the compartment. For a species with a rate rule, however, the state is always the
// quantity that the ID stands for, unless an event changes the size.
//
// The model starts at the time `start`. IDs in `set` become states even if they are constant,
// so that events outside the file can set them.
func Read(f *source.Files, name string, start float64, set ...string) *equations.Equations {
	s := f.Read(name, source.MaxXML)
	root, err := tree.Read(s.Text, "notes", "annotation")
	if err != nil {
		at := err.(*tree.Error)
		s.Failf(at.Line, "%s", at.Msg)
	}
	if root.Name != "sbml" || !strings.HasPrefix(root.Space, "http://www.sbml.org/sbml/level") {
		s.Failf(root.Line, "root element <%s>: want <sbml>", root.Name)
	}
	b := &reader{File: s, start: start, level: root.Get("level"), version: root.Get("version"), ids: map[string]int{},
		functions: map[string]*expr.Node{}, elements: map[string]*tree.Element{},
		init: map[string]*tree.Element{}, assign: map[string]*tree.Element{}, rate: map[string]*tree.Element{},
		jumped: map[string]bool{}, flow: map[string]*expr.Node{}, maths: map[*tree.Element]*expr.Node{}, rates: map[string]string{}, isRate: map[string]bool{}}
	if b.level != "2" && b.level != "3" {
		s.Refuse(root.Line, "SBML Level "+b.level, "want Level 2 or 3")
	}
	b.composed(root)
	b.known(root)
	b.prepare(root)
	b.root = root.First("model")
	if b.root == nil {
		s.Failf(root.Line, "<sbml> has no <model>")
	}
	b.collect()
	for _, id := range set {
		b.jumped[id] = true
	}
	return b.model()
}

// prepare replaces the ID "time", as ParseMathML does, and removes what has no effect since
// Level 3 Version 2 because its <math> is missing.
func (s *reader) prepare(e *tree.Element) {
	for i, a := range e.Attr {
		switch a.Name.Local {
		case "id", "variable", "symbol", "species", "compartment", "conversionFactor":
			if a.Value == expr.Time {
				e.Attr[i].Value = expr.NamedTime
			}
		}
	}
	e.Child = slices.DeleteFunc(e.Child, func(c *tree.Element) bool {
		if c.Name != "math" {
			s.prepare(c)
		}
		if s.level != "3" || s.version < "2" {
			return false
		}
		needs := "math"
		switch c.Name {
		case "event":
			needs = "trigger"
		case "trigger", "delay", "priority", "eventAssignment", "initialAssignment", "assignmentRule", "rateRule", "algebraicRule", "kineticLaw", "functionDefinition", "constraint":
		default:
			return false
		}
		if c.First(needs) != nil {
			return false
		}
		s.Warnf(c.Line, "<%s> has no <%s>, so it has no effect", c.Name, needs)
		return true
	})
}

func (s *reader) collect() {
	for _, e := range s.root.List("listOfFunctionDefinitions") {
		s.functions[s.id(e)] = s.lambda(e)
	}
	s.checkUnits()
	for _, list := range []string{"listOfCompartments", "listOfSpecies", "listOfParameters"} {
		for _, e := range s.root.List(list) {
			s.elements[s.id(e)] = e
			s.order = append(s.order, e)
		}
	}
	for _, e := range s.root.List("listOfReactions") {
		s.elements[s.id(e)] = e
		for _, list := range []string{"listOfReactants", "listOfProducts"} {
			for _, r := range e.List(list) {
				// In Level 3, but not in Level 2, formulas may refer to a stoichiometry
				// by the ID of the <speciesReference>.
				if s.level == "3" && r.Get("id") != "" {
					s.elements[s.id(r)] = r
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

var unitKinds = strings.Fields(`ampere avogadro becquerel candela celsius coulomb dimensionless farad
	gram gray henry hertz item joule katal kelvin kilogram liter litre lumen lux meter metre mole newton ohm
	pascal radian second siemens sievert steradian tesla volt watt weber
	substance volume area length time`)

// checkUnits warns about undefined units. They have no effect: formulas use the numbers.
func (s *reader) checkUnits() {
	defined := map[string]bool{}
	for _, e := range s.root.List("listOfUnitDefinitions") {
		id := e.Get("id")
		if defined[id] {
			s.Failf(e.Line, "unit %s is defined twice", id)
		}
		defined[id] = true
		for _, u := range e.List("listOfUnits") {
			if !slices.Contains(unitKinds, u.Get("kind")) {
				s.Warnf(u.Line, "unit %s uses %q, which is not a base unit", id, u.Get("kind"))
			}
		}
	}
	for _, list := range []string{"listOfCompartments", "listOfSpecies", "listOfParameters"} {
		for _, e := range s.root.List(list) {
			for _, a := range []string{"units", "substanceUnits", "spatialSizeUnits"} {
				if u := e.Get(a); u != "" && !defined[u] && !slices.Contains(unitKinds, u) {
					s.Warnf(e.Line, "%s of %s is %s, which is not defined", a, e.Get("id"), u)
				}
			}
		}
	}
}
