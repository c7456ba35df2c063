package model

import (
	"fmt"
	"slices"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// findSwitches finds the times at which conditions in the right-hand sides change.
//
// A condition a < b changes at the times at which g = a − b is 0. The condition changes
// at t = −g₀/g₁ if g = g₀ + g₁ t and the coefficients g₀ and g₁ depend only on
// parameters. A kink of min, max or abs is treated like a change of a condition.
func (l *lowering) findSwitches() {
	conditions := expr.Conditions(l.rates...)
	// If a condition in a trigger changes at a time that is known beforehand, no step may
	// cross this time.
	for _, e := range l.events {
		if e.Trigger != nil {
			conditions = append(conditions, expr.Conditions(e.Trigger)...)
		}
	}
	for _, c := range conditions {
		at, ok := l.crossing(c)
		if ok && at != nil && !slices.ContainsFunc(l.switches, at.Equal) {
			l.switches = append(l.switches, at)
		}
	}
}

// The method crossing() returns a formula for the time at which the two sides of a
// comparison are equal. The formula contains only parameters. The formula is nil if the
// difference of the sides depends neither on time nor on states. The second result is
// false if the method cannot derive a formula, for example because one side depends on a
// state.
func (l *lowering) crossing(comparison *expr.Node) (*expr.Node, bool) {
	_, sides := comparison.Operator()
	g := expr.Call("minus", sides...)
	if l.fixed(g) {
		return nil, true
	}
	at0, slope, ok := g.Linear(expr.Time)
	if !ok || !l.fixed(slope) || !l.fixed(at0) {
		return nil, false
	}
	return expr.Call("divide", expr.Call("minus", at0), slope).Simplify(), true
}

// The method fixed() reports whether the formula n depends only on parameters.
func (l *lowering) fixed(n *expr.Node) bool {
	for _, name := range n.Symbols() {
		if name == expr.Time || l.index.states[name] != nil {
			return false
		}
	}
	return true
}

// The method branches() returns a system with additional states: see
// probode.Problem.Hybrid. Each additional state replaces a comparison whose result may
// change at an unknown time. The result is nil if no comparison is replaced. Kinks of
// functions such as max and abs need no additional state, because f is continuous at a
// kink. Some comparisons, such as equalities, cannot be replaced by the sign of a
// continuous function, and remain in the right-hand sides.
func (e *Instance) branches(l *lowering) *system {
	start := map[string]*expr.Node{expr.Time: expr.Num(e.model.start)}
	for i, id := range e.states {
		start[id] = e.initial[i]
	}
	h, by := e.system, map[*expr.Node]*expr.Node{}
	for _, c := range expr.Comparisons(e.rates...) {
		if _, known := l.crossing(c); known {
			continue
		}
		if _, ok := c.Margin(); !ok {
			continue
		}
		name := fmt.Sprintf("branch %d", len(by)+1) // no other name contains a space
		by[c] = expr.Call("gt", expr.Sym(name), expr.Num(0.5))
		h.states = append(slices.Clip(h.states), name)
		h.initial = append(slices.Clip(h.initial), expr.Call("piecewise", expr.Num(1), c.Substitute(start), expr.Num(0)).Simplify())
		h.rates = append(slices.Clip(h.rates), expr.Num(0))
		for i, when := range []*expr.Node{expr.Call("not", c), c} {
			h.events = append(slices.Clip(h.events), equations.Event{ID: c.String(), Trigger: when,
				Jumps: []equations.Jump{{State: name, Value: expr.Num(float64(i))}}})
		}
	}
	if len(by) == 0 {
		return nil
	}
	h.rates = expr.Replace(h.rates, by)
	return &h
}
