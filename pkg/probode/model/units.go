package model

import (
	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// checkUnits refuses formulas that add, subtract or compare states with different units,
// in min and max, too, and values of another unit that a state is set to. It also refuses
// the same term in the rates of states with different units, such as a flow from people
// to mol. Units are compared as strings: mg and g are different, because formulas use the
// numbers. The unit of a product is unknown, and so is that which the file does not give;
// it is compatible with all.
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
		for _, part := range expr.Parts(n) {
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
					at.Failf("%s combines quantities with different units, %s and %s", part, was, is)
				}
			}
		}
		if is := done[n]; unit != "" && is != "" && is != unit {
			at.Failf("%s is in %s: want %s", n, is, unit)
		}
	}
	flows := map[string]equations.State{} // the first state whose rate has the term
	for _, s := range m.States {
		check(s.Init, s.Where, s.Unit)
		check(s.Rate, s.Where, "")
		for _, term := range terms(s.Rate, nil) {
			if first, ok := flows[term]; !ok && s.Unit != "" {
				flows[term] = s
			} else if s.Unit != "" && s.Unit != first.Unit {
				s.Where.Failf("%s appears in the rates of %s (unit %s) and %s (unit %s): use the same unit for both states, or multiply the term by a conversion factor", term, first.ID, first.Unit, s.ID, s.Unit)
			}
		}
	}
	for _, a := range m.Assignments {
		check(a.Formula, a.Where, "")
	}
	for _, e := range m.Events {
		check(e.Trigger, e.Where, "")
		for _, j := range e.Jumps {
			check(j.Value, e.Where, units[j.State])
		}
	}
	for _, o := range m.observables {
		for _, n := range o.formulas() {
			check(n, o.where, "")
		}
	}
}

// terms appends the terms of a sum without their signs, and without numbers.
func terms(n *expr.Node, out []string) []string {
	if n == nil {
		return out
	}
	op, args := n.Operator()
	if op == "plus" || op == "minus" {
		for _, a := range args {
			out = terms(a, out)
		}
		return out
	}
	if len(n.Symbols()) > 0 {
		out = append(out, unsigned(n).String())
	}
	return out
}

// unsigned removes the minus signs in front of n or of its first factor: −a b is
// represented as (−a) b.
func unsigned(n *expr.Node) *expr.Node {
	switch op, args := n.Operator(); {
	case op == "minus" && len(args) == 1:
		return unsigned(args[0])
	case op == "times" || op == "divide":
		return expr.Call(op, append([]*expr.Node{unsigned(args[0])}, args[1:]...)...)
	}
	return n
}
