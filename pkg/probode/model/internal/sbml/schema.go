package sbml

import (
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/tree"
)

// A kind has the attributes and children of an element, besides notes and annotation.
// Only a list, such as <listOfSpecies>, may have several children of one name.
type kind struct {
	attributes, children []string
	list                 bool
}

// kinds holds the elements of the SBML core, Levels 2 and 3.
var kinds = kindsOf(`
sbml: level version: model
model: substanceUnits timeUnits volumeUnits areaUnits lengthUnits extentUnits conversionFactor: listOfFunctionDefinitions listOfUnitDefinitions listOfCompartmentTypes listOfSpeciesTypes listOfCompartments listOfSpecies listOfParameters listOfInitialAssignments listOfRules listOfConstraints listOfReactions listOfEvents
listOfFunctionDefinitions:: functionDefinition
functionDefinition:: math
listOfUnitDefinitions:: unitDefinition
unitDefinition:: listOfUnits
listOfUnits:: unit
unit: kind exponent scale multiplier offset:
listOfCompartmentTypes:: compartmentType
compartmentType::
listOfSpeciesTypes:: speciesType
speciesType::
listOfCompartments:: compartment
compartment: spatialDimensions size units outside constant compartmentType:
listOfSpecies:: species
species: compartment initialAmount initialConcentration substanceUnits spatialSizeUnits hasOnlySubstanceUnits boundaryCondition charge constant speciesType conversionFactor:
listOfParameters:: parameter
parameter: value units constant:
listOfInitialAssignments:: initialAssignment
initialAssignment: symbol: math
listOfRules:: assignmentRule rateRule algebraicRule
assignmentRule: variable: math
rateRule: variable: math
algebraicRule:: math
listOfConstraints:: constraint
constraint:: math message
listOfReactions:: reaction
reaction: reversible fast compartment: listOfReactants listOfProducts listOfModifiers kineticLaw
listOfReactants:: speciesReference
listOfProducts:: speciesReference
listOfModifiers:: modifierSpeciesReference
speciesReference: species stoichiometry constant denominator: stoichiometryMath
stoichiometryMath:: math
modifierSpeciesReference: species:
kineticLaw: timeUnits substanceUnits: math listOfParameters listOfLocalParameters
listOfLocalParameters:: localParameter
localParameter: value units:
listOfEvents:: event
event: useValuesFromTriggerTime timeUnits: trigger delay priority listOfEventAssignments
trigger: initialValue persistent: math
delay:: math
priority:: math
listOfEventAssignments:: eventAssignment
eventAssignment: variable: math`)

func kindsOf(table string) map[string]kind {
	out := map[string]kind{}
	for _, line := range strings.Split(table, "\n") {
		name, rest, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		attributes, children, _ := strings.Cut(rest, ":")
		out[name] = kind{append(strings.Fields(attributes), "id", "name", "metaid", "sboTerm"), strings.Fields(children), strings.HasPrefix(name, "listOf")}
	}
	return out
}

// known refuses what the core does not have. Elements of packages go, unless the file
// requires the package, which is an error.
func (s *reader) known(root *tree.Element) {
	required := map[string]bool{}
	for _, a := range root.Attr {
		if a.Name.Local == "required" && a.Name.Space != "" {
			required[a.Name.Space] = a.Value == "true" || a.Value == "1"
		}
	}
	var visit func(e *tree.Element)
	visit = func(e *tree.Element) {
		is := kinds[e.Name]
		for _, a := range e.Attr {
			if required[a.Name.Space] && a.Name.Local != "required" {
				s.Refuse(e.Line, "SBML package "+packageName(a.Name.Space), "the attribute %s of <%s> changes the meaning of the model", a.Name.Local, e.Name)
			}
		}
		s.allowed(e, is, "")
		var core []*tree.Element
		seen := map[string]int{}
		for _, c := range e.Child {
			switch {
			case c.Space == expr.MathMLSpace && c.Name == "math" && slices.Contains(is.children, "math"):
			case c.Space != root.Space:
				if required[c.Space] {
					s.Refuse(c.Line, "SBML package "+packageName(c.Space), "<%s> changes the meaning of the model", c.Name)
				}
				continue // packages such as layout, render and groups have no effect on results
			case !slices.Contains(is.children, c.Name):
				want := "no elements"
				if len(is.children) > 0 {
					want = strings.Join(is.children, ", ")
				}
				s.Failf(c.Line, "found <%s> in <%s>, where SBML does not allow it: want %s", c.Name, e.Name, want)
			}
			if line, twice := seen[c.Name]; twice && !is.list {
				s.Failf(c.Line, "found a second <%s> in <%s>: the first is on line %d", c.Name, e.Name, line)
			}
			seen[c.Name] = c.Line
			core = append(core, c)
			if c.Name != "math" && c.Name != "message" {
				visit(c)
			}
		}
		e.Child = core
	}
	visit(root)
}

// allowed refuses text in e, and attributes in a namespace that its kind does not have.
func (s *reader) allowed(e *tree.Element, is kind, space string) {
	for _, t := range e.Text {
		if t != "" {
			s.Failf(e.Line, "found the text %.20q inside <%s>", t, e.Name)
		}
	}
	for _, a := range e.Attr {
		if a.Name.Space == space && a.Name.Local != "xmlns" && !slices.Contains(is.attributes, a.Name.Local) {
			s.Failf(e.Line, "<%s> has an attribute %s, which SBML does not allow: want %s", e.Name, a.Name.Local, strings.Join(is.attributes, ", "))
		}
	}
}

// packageName returns the name of the SBML package with the given namespace. For example,
// http://www.sbml.org/sbml/level3/version1/comp/version1 is the namespace of the package
// comp.
func packageName(space string) string {
	parts := strings.Split(space, "/")
	if len(parts) >= 2 {
		return parts[len(parts)-2]
	}
	return space
}
