package model

import (
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// checkUnits fails if a sum, a comparison, a min or a max combines states with different
// units. It also fails if an initial value or an event gives a state a value with a
// different unit. A unit is just a word, so mg and g are different. The unit of a product
// is unknown, and so is the unit of a quantity for which the file gives none. An unknown
// unit fits every other unit.
func (m *Model) checkUnits() {
	units := map[string]string{}
	for _, s := range m.States {
		units[s.ID] = s.Unit
	}
	check := func(n *expr.Node, at source.Where, unit string) {
		if n == nil {
			return
		}
		done := map[*expr.Node]string{} // "" if it is not known
		for _, part := range n.Parts() {
			op, args := part.Operator()
			if id, ok := part.Symbol(); ok {
				done[part] = units[id]
				continue
			}
			switch op {
			case "plus", "minus", "min", "max", "lt", "leq", "gt", "geq", "eq", "neq":
			default:
				continue
			}
			for _, a := range args {
				switch was, is := done[part], done[a]; {
				case was == "":
					done[part] = is
				case is != "" && is != was:
					at.Failf("%s: one part is in %s and another in %s", part, was, is)
				}
			}
		}
		if is := done[n]; unit != "" && is != "" && is != unit {
			at.Failf("%s is in %s: want %s", n, is, unit)
		}
	}
	for _, s := range m.States {
		check(s.Init, s.Where, s.Unit)
		check(s.Rate, s.Where, "")
	}
	for _, a := range m.Assignments {
		check(a.Formula, a.Where, "")
	}
	for _, e := range m.Events {
		for _, j := range e.Jumps {
			check(j.Value, e.Where, units[j.State])
		}
	}
	for _, o := range m.observables {
		check(o.formula, o.where, "")
	}
}
