package sbml

import (
	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/tree"
)

func (s *reader) model() *equations.Equations {
	m := &equations.Equations{Name: s.root.Get("name"), TimeUnit: s.timeUnit()}
	if m.Name == "" {
		m.Name = s.root.Get("id")
	}
	s.out = m
	for _, e := range s.root.List("listOfReactions") {
		s.reaction(e)
	}
	s.algebraic()
	for _, e := range s.order {
		s.quantity(e)
	}
	s.events()
	m.Assignments = equations.Sort(m.Assignments)
	if len(m.States) == 0 { // all is a function of time
		s.state(equations.State{ID: s.unused("nothing"), Init: expr.Num(0), Rate: expr.Num(0), Where: s.At(s.root.Line), Hidden: true})
	}
	return m
}

// reaction adds the rate times the stoichiometry to each product, and subtracts it from
// each reactant.
func (s *reader) reaction(e *tree.Element) {
	id := e.Get("id")
	if s.flag(e, "fast", false) {
		s.Refuse(e.Line, "fast reaction", "reaction %s is fast", id)
	}
	kinetics := e.First("kineticLaw")
	if kinetics == nil {
		s.Refuse(e.Line, "reaction without kineticLaw", "reaction %s has none", id)
	}
	local := map[string]*expr.Node{}
	for _, list := range []string{"listOfParameters", "listOfLocalParameters"} {
		for _, p := range kinetics.List(list) {
			v := s.number(p, "value")
			if v == nil {
				s.Failf(p.Line, "local parameter %s has no value", p.Get("id"))
			}
			name := p.Get("id")
			if local[name] != nil {
				s.Failf(p.Line, "local parameter %s appears twice", p.Get("id"))
			}
			local[name] = v
		}
	}
	s.out.Assignments = append(s.out.Assignments,
		equations.Assignment{ID: id, Formula: s.mathOf(kinetics, local), Where: s.At(e.Line)})
	for _, side := range []struct {
		list string
		sign float64
	}{{"listOfReactants", -1}, {"listOfProducts", 1}} {
		for _, r := range e.List(side.list) {
			if r.Name != "speciesReference" {
				s.Failf(r.Line, "<%s> in reaction %s: want speciesReference", r.Name, id)
			}
			sp := r.Get("species")
			if !s.is(sp, "species") {
				s.Failf(r.Line, "reaction %s refers to the species %q, which is not defined", id, sp)
			}
			flow := expr.Call("times", s.stoichiometry(r, side.sign), expr.Sym(id))
			if s.flow[sp] != nil {
				flow = expr.Call("plus", s.flow[sp], flow)
			}
			s.flow[sp] = flow
		}
	}
}

func (s *reader) stoichiometry(r *tree.Element, sign float64) *expr.Node {
	signed := func(n *expr.Node) *expr.Node {
		if v, ok := n.Const(); ok {
			return expr.Num(sign * v)
		}
		return expr.Call("times", expr.Num(sign), n)
	}
	if id := r.Get("id"); s.is(id, "speciesReference") {
		return signed(expr.Sym(id))
	}
	if m := r.First("stoichiometryMath"); m != nil {
		return signed(s.mathOf(m, nil))
	}
	if d := r.Get("denominator"); d != "" && d != "1" {
		s.Refuse(r.Line, "denominator of a stoichiometry", "want Level 2 or 3")
	}
	if v := s.number(r, "stoichiometry"); v != nil {
		return signed(v)
	}
	if s.level == "3" {
		s.Failf(r.Line, "the stoichiometry of %s is missing", r.Get("species"))
	}
	return expr.Num(sign)
}

func (s *reader) quantity(e *tree.Element) {
	id, at := e.Get("id"), s.At(e.Line)
	if rule := s.assign[id]; rule != nil {
		if e.Name == "species" && s.flow[id] != nil && !s.flag(e, "boundaryCondition", false) {
			s.Failf(rule.Line, "a rule sets the species %s, which is also changed by reactions", id)
		}
		s.out.Assignments = append(s.out.Assignments, equations.Assignment{ID: id, Formula: s.mathOf(rule, nil), Where: s.At(rule.Line)})
		return
	}
	if e.Name == "species" {
		s.speciesState(e)
		return
	}
	attr := "value"
	switch e.Name {
	case "compartment":
		attr = "size"
	case "speciesReference":
		attr = "stoichiometry"
	}
	value := s.number(e, attr)
	if ia := s.init[id]; ia != nil {
		value, at = s.mathOf(ia, nil), s.At(ia.Line)
	}
	switch {
	case s.rate[id] != nil:
		s.state(equations.State{ID: id, Name: e.Get("name"), Init: value, Rate: s.mathOf(s.rate[id], nil), Where: s.At(e.Line)})
	case s.jumped[id]:
		s.state(equations.State{ID: id, Name: e.Get("name"), Init: value, Rate: expr.Num(0), Where: s.At(e.Line)})
	default:
		s.out.Constants = append(s.out.Constants, equations.Constant{ID: id, Value: value, Where: at, Size: e.Name == "compartment"})
	}
}

func (s *reader) state(x equations.State) { s.out.States = append(s.out.States, x) }

func (s *reader) speciesState(e *tree.Element) {
	id, at := e.Get("id"), s.At(e.Line)
	comp := e.Get("compartment")
	if !s.is(comp, "compartment") {
		s.Failf(e.Line, "species %s is in the compartment %q, which is not defined", id, comp)
	}
	amountOnly := s.flag(e, "hasOnlySubstanceUnits", false)
	if s.elements[comp].Get("spatialDimensions") == "0" {
		amountOnly = true // a point has no concentrations
	}
	volume := expr.Sym(comp)
	amount, conc := s.number(e, "initialAmount"), s.number(e, "initialConcentration")
	if amount != nil && conc != nil {
		s.Failf(e.Line, "species %s has both initialAmount and initialConcentration", id)
	}
	init := amount // of the quantity for which the ID stands
	switch {
	case amountOnly && conc != nil:
		init = expr.Call("times", conc, volume)
	case !amountOnly && amount != nil:
		init = expr.Call("divide", amount, volume)
	case !amountOnly:
		init = conc
	}
	if ia := s.init[id]; ia != nil {
		init, amount = s.mathOf(ia, nil), nil
	}

	flow := s.flow[id]
	if s.flag(e, "boundaryCondition", false) {
		flow = nil
	}
	if flow != nil && s.flag(e, "constant", false) {
		s.Failf(e.Line, "species %s is constant, yet reactions change it", id)
	}
	rule := s.rate[id]
	switch {
	case rule != nil && flow != nil:
		s.Failf(rule.Line, "a rate rule sets the species %s, which is also changed by reactions", id)
	case rule != nil && (amountOnly || !s.jumped[comp]):
		s.state(equations.State{ID: id, Name: e.Get("name"), Init: init, Rate: s.mathOf(rule, nil), Where: at})
		return
	case rule != nil: // the rule is that of the concentration, and an event preserves the amount
		flow = expr.Call("times", s.mathOf(rule, nil), volume)
		if grows := s.rate[comp]; grows != nil {
			flow = expr.Call("plus", flow, expr.Call("times", expr.Sym(id), s.mathOf(grows, nil)))
		}
	case flow != nil:
		cf := e.Get("conversionFactor")
		if cf == "" {
			cf = s.root.Get("conversionFactor")
		}
		if cf != "" {
			if !s.is(cf, "parameter") {
				s.Failf(e.Line, "conversionFactor %q of species %s is not defined", cf, id)
			}
			flow = expr.Call("times", expr.Sym(cf), flow)
		}
	}
	varying := s.assign[comp] != nil || s.rate[comp] != nil || s.jumped[comp]
	switch {
	case !amountOnly && varying:
		x := equations.State{ID: s.unused(id + "_amount"), Name: e.Get("name"), Rate: flow, Where: at, Of: id, Volume: volume}
		switch {
		case amount != nil:
			x.Init = amount
		case init != nil:
			x.Init = expr.Call("times", init, volume)
		}
		if flow == nil {
			x.Rate = expr.Num(0)
		}
		s.state(x)
		s.out.Assignments = append(s.out.Assignments,
			equations.Assignment{ID: id, Formula: expr.Call("divide", expr.Sym(x.ID), volume), Where: at})
	case flow != nil && amountOnly:
		s.state(equations.State{ID: id, Name: e.Get("name"), Init: init, Rate: flow, Where: at})
	case flow != nil:
		s.state(equations.State{ID: id, Name: e.Get("name"), Init: init, Rate: expr.Call("divide", flow, volume), Where: at})
	case s.jumped[id]:
		s.state(equations.State{ID: id, Name: e.Get("name"), Init: init, Rate: expr.Num(0), Where: at})
	default:
		s.out.Constants = append(s.out.Constants, equations.Constant{ID: id, Value: init, Where: at, Kept: true})
	}
}

// unused returns an ID that no element has yet, and takes it.
func (s *reader) unused(id string) string {
	for s.ids[id] != 0 {
		id += "_"
	}
	s.ids[id] = -1
	return id
}
