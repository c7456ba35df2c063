package model

import (
	"slices"

	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// findSwitches finds the times at which conditions in the right-hand sides change.
//
// A condition a < b changes at the times at which g = a − b is 0. A kink of min, max or
// abs also counts as a condition. If g = g₀ + g₁ t, and g₀ and g₁ contain neither the
// time nor states, the condition changes at t = −g₀/g₁.
func (l *lowering) findSwitches() {
	for _, c := range expr.Conditions(l.rates...) {
		_, args := c.Operator()
		if op, _ := args[1].Operator(); op == "floor" && !l.fixed(c) {
			l.unlocated = append(l.unlocated, c) // it changes at every whole number
			continue
		}
		at, ok := l.crossing(expr.Call("minus", args[0], args[1]))
		switch {
		case !ok:
			l.unlocated = append(l.unlocated, c)
		case at == nil: // never: the condition does not depend on time
		case !slices.ContainsFunc(l.switches, at.Equal):
			l.switches = append(l.switches, at)
		}
	}
	// If the time at which a part of a trigger changes is known, no step may cross this
	// time.
	for _, e := range l.events {
		if e.Trigger == nil {
			continue
		}
		for _, c := range expr.Conditions(e.Trigger) {
			_, args := c.Operator()
			at, ok := l.crossing(expr.Call("minus", args[0], args[1]))
			if ok && at != nil && !slices.ContainsFunc(l.switches, at.Equal) {
				l.switches = append(l.switches, at)
			}
		}
	}
}

// The method crossing() returns the time at which g is 0, as a formula of parameters. The
// formula is nil if g depends neither on time nor on states. The second result is false
// if the time is not known before the equations are solved.
func (l *lowering) crossing(g *expr.Node) (*expr.Node, bool) {
	if l.fixed(g) {
		return nil, true
	}
	at0, slope, ok := g.Linear(expr.Time)
	if !ok || !l.fixed(slope) || !l.fixed(at0) {
		return nil, false
	}
	return expr.Call("divide", expr.Call("minus", at0), slope).Simplify(), true
}

// The method fixed() reports whether n depends only on parameters.
func (l *lowering) fixed(n *expr.Node) bool {
	for _, name := range n.Symbols() {
		if name == expr.Time || l.index.states[name] != nil {
			return false
		}
	}
	return true
}
