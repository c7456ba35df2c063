package model

import (
	"fmt"
	"slices"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// findSwitches finds the times at which conditions change, and kinks of min, max and abs
// occur: a < b changes at t = −g₀/g₁ if a − b = g₀ + g₁ t, with g₀ and g₁ that depend
// only on parameters.
func (l *lowering) findSwitches() {
	l.timeConditions()
	rates := expr.Conditions(l.rates...)
	var triggers, at, after, others []*expr.Node
	// If a condition in a trigger changes at a time that is known beforehand, no step may
	// cross this time.
	for _, e := range l.events {
		if e.Trigger != nil {
			triggers = append(triggers, expr.Conditions(e.Trigger)...)
		}
	}
	conditions := slices.Concat(triggers, rates)
	degree := l.degrees(conditions...)
	for i, c := range conditions {
		op, sides := c.Operator()
		t, slope, ok := l.crossing(degree[c], sides...)
		if !ok || t == nil {
			continue
		}
		rising, _ := slope.Const() // 0 if it depends on parameters: a trigger then becomes true after the time if the comparison is strict
		switch {
		case i >= len(triggers):
			others = append(others, t)
		case rising == 0 && (op == "gt" || op == "lt"), rising > 0 && (op == "gt" || op == "leq"), rising < 0 && (op == "lt" || op == "geq"):
			after = append(after, t)
		default:
			at = append(at, t)
		}
	}
	l.switches = expr.Distinct(slices.Concat(at, after, others)...)
	l.strict = [2]int{len(expr.Distinct(at...)), len(expr.Distinct(slices.Concat(at, after)...))}
	l.knots = knots(append(conditions, l.rates...)...)
}

// degrees returns 0 for what depends neither on the time nor on a state, 1 for what is
// linear in the time, and 2 otherwise. A comparison has the larger degree of its sides.
func (l *lowering) degrees(list ...*expr.Node) map[*expr.Node]int {
	degree := map[*expr.Node]int{}
	for _, m := range expr.Parts(list...) {
		op, args := m.Operator()
		most, sum, moving := 0, 0, 0
		for i, a := range args {
			d := degree[a]
			most, sum = max(most, d), min(sum+d, 2)
			if op == "divide" && i == 1 || a.Boolean() {
				moving = max(moving, d)
			}
		}
		switch name, _ := m.Symbol(); {
		case name == expr.Time:
			most = 1
		case name != "" && l.index.states[name] != nil:
			most = 2
		case op == "times":
			most = sum
		case op == "plus", op == "minus", m.Boolean(), most == 0, (op == "divide" || op == "piecewise") && moving == 0:
		default:
			most = 2
		}
		degree[m] = most
	}
	return degree
}

// timeConditions compares the time with T where a comparison changes at a known T,
// because rounding next to T can give g₀ + g₁ t the wrong sign.
func (l *lowering) timeConditions() {
	rates, parts := expr.Jumps(l.rates...)
	degree := l.degrees(parts...)
	by := map[*expr.Node]*expr.Node{}
	for _, part := range parts {
		zero := expr.Num(0)
		switch op, args := part.Operator(); op {
		case "floor":
		case "sign":
			if above := l.atTime(degree[args[0]], "gt", args[0], zero); above != nil {
				by[part] = expr.Call("piecewise", expr.Num(1), above, expr.Num(-1), l.atTime(degree[args[0]], "lt", args[0], zero), zero)
			}
		default:
			if c := l.atTime(degree[part], op, args...); c != nil {
				by[part] = c
			}
		}
	}
	l.rates = expr.Simplified(expr.Replace(rates, by)...)
}

// atTime returns nil if the time at which the comparison changes is not known.
func (l *lowering) atTime(degree int, op string, sides ...*expr.Node) *expr.Node {
	opposite := map[string]string{"lt": "gt", "gt": "lt", "leq": "geq", "geq": "leq"}
	at, slope, ok := l.crossing(degree, sides...)
	if !ok || at == nil || opposite[op] == "" {
		return nil
	}
	zero, now := expr.Num(0), expr.Sym(expr.Time)
	return expr.Call("or",
		expr.Call("and", expr.Call("gt", slope, zero), expr.Call(op, now, at)),
		expr.Call("and", expr.Call("lt", slope, zero), expr.Call(opposite[op], now, at)),
		expr.Call("and", expr.Call("eq", slope, zero), expr.Call(op, sides...)))
}

// crossing returns the time at which two sides are equal, and the derivative of their
// difference with respect to time: nil if the difference is constant. ok is false if
// there is no formula with parameters only.
func (l *lowering) crossing(degree int, sides ...*expr.Node) (at, slope *expr.Node, ok bool) {
	if degree != 1 {
		return nil, nil, degree == 0
	}
	if name, _ := sides[0].Symbol(); name == expr.Time && l.fixed(sides[1]) {
		return sides[1], expr.Num(1), true
	}
	at0, slope, ok := expr.Call("minus", sides...).Linear(expr.Time)
	if !ok {
		return nil, nil, false
	}
	return expr.Call("divide", expr.Call("minus", at0), slope).Simplify(), slope, true
}

func (l *lowering) fixed(n *expr.Node) bool {
	for _, name := range n.Symbols() {
		if name == expr.Time || l.index.states[name] != nil {
			return false
		}
	}
	return true
}

// branches returns a system in which f jumps only at events: see probode.Problem.Hybrid.
// Additional states hold what jumps at unknown times: comparisons, as 0 or 1, and sign
// and floor. The result is nil if there is none. At kinks f is continuous, and an
// equality of continuous functions holds for an instant or for good.
func (e *Instance) branches(l *lowering) *system {
	start := map[string]*expr.Node{expr.Time: expr.Num(e.model.start)}
	for i, id := range e.states {
		start[id] = e.initial[i]
	}
	h, by := e.system, map[*expr.Node]*expr.Node{}
	h.events = slices.Clone(h.events)
	rates, parts := expr.Jumps(e.rates...)
	degree := l.degrees(parts...)
	for _, part := range parts {
		name := fmt.Sprintf("branch %d", len(by)+1) // no other name contains a space
		state, one := expr.Sym(name), expr.Num(1)
		become := func(value, when *expr.Node) {
			// The event happens at the start if rounding makes the initial value wrong.
			h.events = append(h.events, equations.Event{ID: part.String(), Trigger: when, Early: equations.Late,
				Jumps: []equations.Jump{{State: name, Value: value}}})
		}
		is := func(op string, than float64) *expr.Node { return expr.Call(op, state, expr.Num(than)) }
		now := expr.Replace([]*expr.Node{part}, by)[0]
		first := now
		op, args := now.Operator()
		switch {
		case part.Boolean():
			if degree[part] < 2 {
				continue
			}
			if _, ok := now.Margin(); !ok {
				continue
			}
			by[part] = is("gt", 0.5)
			first = expr.Call("piecewise", one, now, expr.Num(0))
			become(expr.Num(0), expr.Call("and", expr.Call("not", now), is("gt", 0.5)))
			become(one, expr.Call("and", now, is("lt", 0.5)))
		case degree[part] == 0:
			by[part] = state
		case op == "sign":
			by[part] = state
			become(one, expr.Call("and", expr.Call("gt", args[0], expr.Num(0)), is("lt", 0.5)))
			become(expr.Num(-1), expr.Call("and", expr.Call("lt", args[0], expr.Num(0)), is("gt", -0.5)))
			// A solution passes through 0, and only a jump of the state makes it stay there.
			for i := range e.events {
				to := map[string]*expr.Node{}
				for _, j := range e.events[i].Jumps {
					to[j.State] = j.Value
				}
				h.events[i].Jumps = append(slices.Clip(h.events[i].Jumps), equations.Jump{State: name, Value: now.Substitute(to)})
			}
		case op == "floor":
			by[part] = state
			// The conditions are g ≥ n+1 and g < n. Without the factor 2, Simplify could
			// combine the number 1 with a number in g, and rounding could then make both
			// conditions true after one another.
			twice := func(n *expr.Node) *expr.Node { return expr.Call("times", expr.Num(2), n) }
			up, down := expr.Call("plus", state, one), expr.Call("minus", state, one)
			// A jump of the state can change g by more than 1.
			become(expr.Call("max", up, now), expr.Call("geq", twice(args[0]), twice(up)))
			become(expr.Call("min", down, now), expr.Call("lt", twice(args[0]), twice(state)))
		}
		first = first.Substitute(start).Simplify()
		start[name] = first
		h.states = append(slices.Clip(h.states), name)
		h.initial = append(slices.Clip(h.initial), first)
		h.rates = append(slices.Clip(h.rates), expr.Num(0))
	}
	if len(h.events) == len(e.events) {
		return nil
	}
	h.rates = append(expr.Replace(rates, by), h.rates[len(rates):]...)
	return &h
}
