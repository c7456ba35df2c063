package model

import (
	"cmp"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// Instances returns one Instance of a model for each pair of preequilibration and
// condition in the model's data, in the order in which the pairs first appear. If a model
// has conditions but no data, Instances returns one Instance for each condition. If a
// model has neither data nor conditions, Instances returns a single Instance, whose
// Condition is "".
func (p *File) Instances() (list []*Instance, err error) {
	defer source.Catch(&err)
	for _, m := range p.Models {
		list = append(list, m.experiments(p.Params)...)
	}
	return list, nil
}

// Unmeasured returns the equations of a condition without data, or nil if there is no such
// condition.
func (p *File) Unmeasured(id string) (e *Instance, err error) {
	defer source.Catch(&err)
	for _, m := range p.Models {
		if c := m.condition(id); c.where != (source.Where{}) {
			q := *m
			q.Data, q.conditions = nil, []condition{*c}
			return q.experiments(p.Params)[0], nil
		}
	}
	return nil, nil
}

func (m *Model) experiments(params []Parameter) []*Instance {
	type pair struct{ pre, cond string }
	var order []pair
	rows := map[pair][]int{}
	for i := range m.Data {
		d := &m.Data[i]
		k := pair{d.Preequilibration, d.Condition}
		if _, ok := rows[k]; !ok {
			order = append(order, k)
		}
		rows[k] = append(rows[k], i)
	}
	if len(m.Data) == 0 {
		for _, c := range m.conditions {
			order = append(order, pair{"", c.id})
		}
		if len(order) == 0 {
			order = append(order, pair{})
		}
	}
	ix := m.newIndex(params)
	systems := map[string]*lowering{} // without preequilibration
	plain := func(condition string) *lowering {
		if systems[condition] == nil {
			systems[condition] = ix.lower(m.condition(condition), nil)
		}
		return systems[condition]
	}
	var list []*Instance
	for _, k := range order {
		e := &Instance{model: m, Condition: k.cond, preequilibration: k.pre}
		var l *lowering
		switch steady := m.steadyDose(k.cond); {
		case steady != nil && k.pre != "":
			steady.where.Failf("condition %s begins with a dose at steady state, and data in it with a preequilibration: want one of the two", k.cond)
		case steady != nil:
			c := m.condition(k.cond)
			e.pre, e.period = ix.repeat(steady, c, params)
			after := *c // states go on from where the doses have brought them
			after.set = slices.DeleteFunc(slices.Clone(c.set), func(s setting) bool { return ix.states[s.id] != nil })
			l = ix.lower(&after, c)
		case k.pre == "":
			l = plain(k.cond)
		default:
			pre := plain(k.pre)
			pre.restful(true)
			pre.autonomous(k.pre)
			e.pre = &pre.system
			l = ix.lower(m.condition(k.cond), m.condition(k.pre))
			for i := range l.events {
				if l.events[i].Trigger != nil {
					l.events[i].Early = equations.Missed // it has happened in the preequilibration
				}
			}
		}
		e.system = l.system
		for _, i := range rows[k] {
			e.rows = append(e.rows, l.row(i))
			if math.IsInf(m.Data[i].Time, 1) {
				l.restful(false)
				l.timeless(e.rows[len(e.rows)-1], &m.Data[i])
			}
		}
		slices.SortStableFunc(e.rows, func(a, b row) int { return cmp.Compare(a.time, b.time) })
		e.addIncreases(l)
		e.hybrid = e.branches(l)
		list = append(list, e)
	}
	return list
}

func (m *Model) condition(id string) *condition {
	for i := range m.conditions {
		if m.conditions[i].id == id {
			return &m.conditions[i]
		}
	}
	return &condition{id: id}
}

// row lowers the formulas of a measurement. Measurements with the same observable and
// placeholder values share one copy.
func (l *lowering) row(index int) row {
	d := &l.m.Data[index]
	key := d.Observable
	for _, n := range d.observableParams {
		key += ";" + n.String()
	}
	key += "|"
	for _, n := range d.noiseParams {
		key += ";" + n.String()
	}
	if l.lowered[key] == nil {
		l.lowered[key] = l.observable(d)
	}
	return row{l.lowered[key], d.Time, d.Value, d.within, index}
}

func (l *lowering) observable(d *Observation) *observable {
	o := l.observables[d.Observable]
	if o == nil {
		d.where.Failf("%s is not an observable", d.Observable)
	}
	by := map[string]*expr.Node{}
	placeholders(by, "observableParameter", o.id, d.observableParams)
	placeholders(by, "noiseParameter", o.id, d.noiseParams)
	l.placeholdersFit(d, o, by)
	out := *o
	f := o.formula.Substitute(by)
	out.formula = l.at(f, o.where, "formula of "+o.id).Simplify()
	if o.increase {
		out.formula = l.increase(o.id, out.formula, d).Simplify()
		f = out.formula
	}
	// In the formula of the noise, the ID of the observable stands for the formula of the
	// observable, unless the model itself defines this ID.
	if !l.isModels(o.id) {
		by[o.id] = f
	}
	number := func(n *expr.Node, what string) *expr.Node {
		if n == nil {
			return nil
		}
		n = l.at(n.Substitute(by), o.where, what+" of "+o.id).Simplify()
		if v, ok := n.Const(); ok && !(v > 0 && v <= math.MaxFloat64) {
			d.where.Failf("the %s of %s is %v: want a positive number", what, o.id, v)
		}
		return n
	}
	out.noise, out.freedom = number(o.noise, "noise"), number(o.freedom, "number of degrees of freedom")
	return &out
}

// timeless reports an error if a formula depends on time and is measured at the steady
// state.
func (l *lowering) timeless(r row, d *Observation) {
	for _, n := range r.formulas() {
		if slices.Contains(n.Symbols(), expr.Time) {
			d.where.Failf("%s is measured at time inf, yet its formula depends on time", r.id)
		}
	}
}
