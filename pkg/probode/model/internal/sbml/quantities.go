package sbml

import (
	"slices"
	"strconv"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// model writes the elements as equations.
func (s *reader) model() *equations.Equations {
	m := &equations.Equations{Name: s.root.get("name"), TimeUnit: s.timeUnit(), Unordered: true}
	if m.Name == "" {
		m.Name = s.root.get("id")
	}
	s.out = m
	for _, e := range s.core("listOfReactions") {
		s.reaction(e)
	}
	for _, e := range s.order {
		s.quantity(e)
	}
	for _, e := range s.core("listOfEvents") {
		s.event(e)
	}
	m.Assignments = equations.Sort(m.Assignments)
	return m
}

// reaction makes its rate an assignment and adds it to what flows into its
// species: extent per time, with the sign of the side.
func (s *reader) reaction(e *element) {
	id := e.get("id")
	if s.flag(e, "fast", false) {
		s.Refuse(e.line, "fast reaction", "reaction %s is fast", id)
	}
	kinetics := e.first("kineticLaw")
	if kinetics == nil {
		s.Refuse(e.line, "reaction without kineticLaw", "reaction %s has none", id)
	}
	rate := s.mathOf(kinetics)
	local := map[string]*expr.Node{}
	for _, list := range []string{"listOfParameters", "listOfLocalParameters"} {
		for _, p := range kinetics.list(list) {
			v := s.number(p, "value")
			if v == nil {
				s.Failf(p.line, "local parameter %s has no value", p.get("id"))
			}
			if local[p.get("id")] != nil {
				s.Failf(p.line, "local parameter %s appears twice", p.get("id"))
			}
			local[p.get("id")] = v
		}
	}
	s.out.Assignments = append(s.out.Assignments,
		equations.Assignment{ID: id, Formula: rate.Substitute(local), Where: s.At(e.line)})
	for _, side := range []struct {
		list string
		sign float64
	}{{"listOfReactants", -1}, {"listOfProducts", 1}} {
		for _, r := range e.list(side.list) {
			if r.name != "speciesReference" {
				s.Failf(r.line, "<%s> in reaction %s: want speciesReference", r.name, id)
			}
			sp := r.get("species")
			if s.species[sp] == nil {
				s.Failf(r.line, "reaction %s has the species %q, which is not defined", id, sp)
			}
			flow := expr.Call("times", s.stoichiometry(r, side.sign), expr.Sym(id))
			if s.flow[sp] != nil {
				flow = expr.Call("plus", s.flow[sp], flow)
			}
			s.flow[sp] = flow
		}
	}
}

// stoichiometry of a reactant or product, times sign.
func (s *reader) stoichiometry(r *element, sign float64) *expr.Node {
	signed := func(n *expr.Node) *expr.Node {
		if v, ok := n.Const(); ok {
			return expr.Num(sign * v)
		}
		return expr.Call("times", expr.Num(sign), n)
	}
	if id := r.get("id"); s.factors[id] != nil {
		return signed(expr.Sym(id))
	}
	if m := r.first("stoichiometryMath"); m != nil {
		return signed(s.mathOf(m))
	}
	if d := r.get("denominator"); d != "" && d != "1" {
		s.Refuse(r.line, "denominator of a stoichiometry", "want Level 2 or 3")
	}
	if v := s.number(r, "stoichiometry"); v != nil {
		return signed(v)
	}
	if s.level == "3" {
		s.Failf(r.line, "no stoichiometry of %s", r.get("species"))
	}
	return expr.Num(sign)
}

// quantity makes a compartment, species, parameter or stoichiometry a state,
// a constant or an assignment.
func (s *reader) quantity(e *element) {
	id, at := e.get("id"), s.At(e.line)
	if rule := s.assign[id]; rule != nil {
		if e.name == "species" && s.flow[id] != nil && !s.flag(e, "boundaryCondition", false) {
			s.Failf(rule.line, "a rule sets the species %s, which reactions change", id)
		}
		s.out.Assignments = append(s.out.Assignments, equations.Assignment{ID: id, Formula: s.mathOf(rule), Where: s.At(rule.line)})
		return
	}
	if e.name == "species" {
		s.speciesState(e)
		return
	}
	attr := "value"
	switch e.name {
	case "compartment":
		attr = "size"
	case "speciesReference":
		attr = "stoichiometry"
	}
	value := s.number(e, attr)
	if ia := s.init[id]; ia != nil {
		value, at = s.mathOf(ia), s.At(ia.line)
	}
	switch {
	case s.rate[id] != nil:
		s.state(equations.State{ID: id, Name: e.get("name"), Init: value, Rate: s.mathOf(s.rate[id]), Where: s.At(e.line)})
	case s.jumped[id]:
		s.state(equations.State{ID: id, Name: e.get("name"), Init: value, Rate: expr.Num(0), Where: s.At(e.line)})
	default:
		s.out.Constants = append(s.out.Constants, equations.Constant{ID: id, Value: value, Where: at, Size: e.name == "compartment"})
	}
}

func (s *reader) state(x equations.State) { s.out.States = append(s.out.States, x) }

// speciesState makes a species without an assignment rule a state or a constant.
func (s *reader) speciesState(e *element) {
	id, at := e.get("id"), s.At(e.line)
	comp := e.get("compartment")
	if s.compartments[comp] == nil {
		s.Failf(e.line, "species %s is in the compartment %q, which is not defined", id, comp)
	}
	amountOnly := s.flag(e, "hasOnlySubstanceUnits", false)
	if s.compartments[comp].get("spatialDimensions") == "0" {
		amountOnly = true // a point has no concentrations
	}
	volume := expr.Sym(comp)
	amount, conc := s.number(e, "initialAmount"), s.number(e, "initialConcentration")
	if amount != nil && conc != nil {
		s.Failf(e.line, "species %s has both initialAmount and initialConcentration", id)
	}
	init := amount // of what the ID stands for
	switch {
	case amountOnly && conc != nil:
		init = expr.Call("times", conc, volume)
	case !amountOnly && amount != nil:
		init = expr.Call("divide", amount, volume)
	case !amountOnly:
		init = conc
	}
	if ia := s.init[id]; ia != nil {
		init, amount = s.mathOf(ia), nil
	}

	flow := s.flow[id]
	if s.flag(e, "boundaryCondition", false) {
		flow = nil
	}
	if flow != nil && s.flag(e, "constant", false) {
		s.Failf(e.line, "species %s is constant, yet reactions change it", id)
	}
	if rule := s.rate[id]; rule != nil {
		if flow != nil {
			s.Failf(rule.line, "a rate rule sets the species %s, which reactions change", id)
		}
		if !amountOnly && s.jumped[comp] {
			s.Refuse(rule.line, "event that changes a compartment", "species %s in it has a rate rule", id)
		}
		s.state(equations.State{ID: id, Name: e.get("name"), Init: init, Rate: s.mathOf(rule), Where: at})
		return
	}
	if flow != nil {
		cf := e.get("conversionFactor")
		if cf == "" {
			cf = s.root.get("conversionFactor")
		}
		if cf != "" {
			if s.parameters[cf] == nil {
				s.Failf(e.line, "conversionFactor %q of species %s is not defined", cf, id)
			}
			flow = expr.Call("times", expr.Sym(cf), flow)
		}
	}
	varying := s.assign[comp] != nil || s.rate[comp] != nil || s.jumped[comp]
	switch {
	case !amountOnly && varying:
		x := equations.State{ID: s.amountID(id), Name: e.get("name"), Rate: flow, Where: at, Of: id, Volume: volume}
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
		s.state(equations.State{ID: id, Name: e.get("name"), Init: init, Rate: flow, Where: at})
	case flow != nil:
		s.state(equations.State{ID: id, Name: e.get("name"), Init: init, Rate: expr.Call("divide", flow, volume), Where: at})
	case s.jumped[id]:
		s.state(equations.State{ID: id, Name: e.get("name"), Init: init, Rate: expr.Num(0), Where: at})
	default:
		s.out.Constants = append(s.out.Constants, equations.Constant{ID: id, Value: init, Where: at, Kept: true})
	}
}

// amountID is a name for the amount of a species.
func (s *reader) amountID(id string) string {
	for id += "_amount"; s.ids[id] != 0; {
		id += "_"
	}
	return id
}

// event makes an event with a trigger such as time >= 5.
func (s *reader) event(e *element) {
	id := e.get("id")
	if id == "" {
		id = "in line " + strconv.Itoa(e.line)
	}
	trigger := e.first("trigger")
	if trigger == nil {
		s.Failf(e.line, "event %s has no trigger", id)
	}
	if d := e.first("delay"); d != nil {
		s.Refuse(d.line, "delay of an event", "event %s has one: want the later time in the trigger", id)
	}
	if p := e.first("priority"); p != nil && len(s.core("listOfEvents")) > 1 {
		s.Refuse(p.line, "priority of an event", "event %s has one", id)
	}
	at, rising, strict := s.triggerTime(trigger, id)
	early := equations.Missed
	switch {
	case !s.flag(trigger, "initialValue", true) && !rising:
		s.Refuse(trigger.line, "event that starts false", "event %s happens at the start if its trigger is true there", id)
	case !rising:
		s.Warnf(e.line, "event %s never happens: its trigger ends and does not begin", id)
		return
	case !s.flag(trigger, "initialValue", true):
		early = equations.Late
	case strict:
		early = equations.AtStart
	}
	// Values are those just before the event, and so is the size that makes a
	// concentration an amount: case 01780 of the SBML test suite.
	set := map[string]*expr.Node{}
	var order []*element
	for _, a := range e.list("listOfEventAssignments") {
		v := a.get("variable")
		if set[v] != nil {
			s.Failf(a.line, "event %s sets %s twice", id, v)
		}
		set[v] = s.mathOf(a)
		order = append(order, a)
	}
	ev := equations.Event{ID: id, Time: at, Early: early, Where: s.At(e.line)}
	for _, a := range order {
		v := a.get("variable")
		i := slices.IndexFunc(s.out.States, func(x equations.State) bool { return x.ID == v || x.Of == v })
		if i < 0 {
			s.Failf(a.line, "event %s sets %s, which is no state", id, v)
		}
		x := s.out.States[i]
		value := set[v]
		if x.Of != "" {
			value = expr.Call("times", value, x.Volume)
		}
		ev.Jumps = append(ev.Jumps, equations.Jump{State: x.ID, Value: value})
	}
	s.out.Events = append(s.out.Events, ev)
}

// triggerTime returns when a trigger of the kind a ≥ b, linear in time, is
// crossed, whether it is true after that, and whether it is false at the very
// time.
func (s *reader) triggerTime(trigger *element, id string) (at *expr.Node, rising, strict bool) {
	op, args := s.mathOf(trigger).Operator()
	var sign float64
	switch op {
	case "gt", "geq":
		sign = 1
	case "lt", "leq":
		sign = -1
	default:
		s.Refuse(trigger.line, "event trigger "+op, "event %s: want one comparison with the time, such as time >= 5", id)
	}
	g := expr.Call("minus", args[0], args[1])
	slope, ok := g.Diff(expr.Time).Const()
	g0 := g.Substitute(map[string]*expr.Node{expr.Time: expr.Num(0)})
	if !ok || slope == 0 {
		s.Refuse(trigger.line, "event that depends on the state", "event %s is triggered by %s: want a fixed time", id, s.mathOf(trigger))
	}
	at = expr.Call("divide", g0, expr.Num(-slope)).Simplify()
	return at, sign*slope > 0, op == "gt" || op == "lt"
}
