package model

import (
	"slices"

	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// check finds names without or with two definitions. It does not look for the mistakes that
// File.Instances finds.
func (p *File) check() {
	params := map[string]source.Where{}
	for _, q := range p.Params {
		params[q.ID] = q.where
	}
	for _, m := range p.Models {
		m.check(params)
	}
}

// unused finds estimated parameters that nothing uses.
func (p *File) unused() {
	used, set, conditions := map[string]bool{}, map[string]int{}, 0
	for _, m := range p.Models {
		m.uses(used)
		m.sets(set)
		conditions += len(m.conditions)
	}
	for _, q := range p.Params {
		switch {
		case !q.Estimate || used[q.ID]:
		case conditions > 0 && set[q.ID] == conditions:
			q.where.Failf("parameter %s is estimated, yet every condition overrides its value", q.ID)
		default:
			q.where.Failf("parameter %s is estimated, yet nothing uses it", q.ID)
		}
	}
}

func (m *Model) check(params map[string]source.Where) {
	known := map[string]string{} // the kind of each ID of the model, which the readers know to be the only one
	defined := func(id string) bool {
		_, param := params[id]
		return param || known[id] != ""
	}
	for _, s := range m.States {
		known[s.ID] = "state"
	}
	for _, k := range m.Constants {
		known[k.ID] = "constant"
	}
	for _, a := range m.Assignments {
		known[a.ID] = "assignment"
	}
	for _, u := range m.inputs {
		known[u.id] = "input"
	}
	for id, w := range params {
		if kind := known[id]; kind != "" && kind != "constant" {
			w.Failf("parameter %s has the ID of an existing %s of the model: want the ID of a constant, or an unused ID", id, kind)
		}
	}
	observables := map[string]source.Where{}
	for _, o := range m.observables {
		if at, twice := observables[o.id]; twice {
			o.where.Failf("observable %s appears twice, first on line %d of %s", o.id, at.Line, at.File)
		}
		observables[o.id] = o.where
		for _, s := range o.symbols() {
			if !defined(s) && !isPlaceholder(s, o.id) && !builtIn(s) && s != o.id {
				o.where.Failf("observable %s uses %s, which is not defined", o.id, s)
			}
		}
	}
	conditions := map[string]source.Where{}
	for _, c := range m.conditions {
		if at, twice := conditions[c.id]; twice {
			c.where.Failf("condition %s appears twice, first on line %d of %s", c.id, at.Line, at.File)
		}
		conditions[c.id] = c.where
		for _, s := range c.set {
			if !defined(s.id) {
				c.where.Failf("condition %s sets %s, which is not defined", c.id, s.id)
			}
			for _, v := range s.value.Symbols() {
				if !defined(v) {
					c.where.Failf("condition %s sets %s to %s, which is not defined", c.id, s.id, v)
				}
			}
		}
	}
	for i := range m.Data {
		d := &m.Data[i]
		for _, id := range []string{d.Condition, d.Preequilibration} {
			if _, ok := conditions[id]; !ok && id != "" {
				d.where.Failf("condition %s is not defined", id)
			}
		}
		for _, n := range slices.Concat(d.observableParams, d.noiseParams) {
			if v, ok := n.Symbol(); ok && !defined(v) {
				d.where.Failf("%s is not defined: want a number or the ID of a parameter", v)
			}
		}
	}
}

func (m *Model) sets(count map[string]int) {
	for _, c := range m.conditions {
		for _, s := range c.set {
			count[s.id]++
		}
	}
}

// uses collects the names that the model uses. The equations do not use a parameter that
// every condition sets.
func (m *Model) uses(used map[string]bool) {
	names := map[string]bool{}
	add := func(list ...*expr.Node) { addSymbols(names, list...) }
	for _, s := range m.States {
		add(s.Init, s.Rate)
	}
	for _, k := range m.Constants {
		names[k.ID] = true
		add(k.Value)
	}
	for _, a := range m.Assignments {
		add(a.Formula)
	}
	events := slices.Clone(m.Events)
	for _, list := range m.periods {
		events = append(events, list...)
	}
	for _, e := range events {
		add(e.Time, e.Trigger, e.Priority)
		for _, j := range e.Jumps {
			add(j.Value)
		}
	}
	for _, o := range m.observables {
		add(o.formulas()...)
	}
	set := map[string]int{}
	m.sets(set)
	for name := range names {
		if n := len(m.conditions); n == 0 || set[name] < n {
			used[name] = true
		}
	}
	for _, c := range m.conditions {
		for _, s := range c.set {
			addSymbols(used, s.value)
		}
	}
	for i := range m.Data {
		addSymbols(used, m.Data[i].observableParams...)
		addSymbols(used, m.Data[i].noiseParams...)
	}
}

func addSymbols(to map[string]bool, list ...*expr.Node) {
	list = slices.DeleteFunc(slices.Clone(list), func(n *expr.Node) bool { return n == nil })
	for _, name := range expr.SymbolsOf(list...) {
		to[name] = true
	}
}
