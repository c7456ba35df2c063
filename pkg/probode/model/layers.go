package model

import (
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

func score(id string) string { return suffixed(id, "_score") }

var scoreMedians = map[string]float64{"normal": 0, "logNormal": 0, "laplace": 0, "logLaplace": 0, "cauchy": 0,
	"halfNormal": 0.6744897501960817, "halfCauchy": 1, "exponential": math.Ln2}

// layer reads the prior of a parameter, and stores a layered one in r.layers.
func (r *modelReader) layer(n *source.Node, p *Parameter) (kept bool) {
	l := layered{each: n.Flag("perCondition")}
	typ, text := n.Word("objectivePriorType"), n.Word("objectivePriorParameters")
	line := n.LineOf("objectivePriorParameters")
	var parts, numbers []string
	var of []*expr.Node
	if text != "" {
		parts = strings.Split(text, ";")
	}
	for _, s := range parts {
		s = strings.TrimSpace(s)
		v, err := source.ParseNumber(s)
		if err != nil {
			q := r.finish(line, "objectivePriorParameters", r.in(n).Formula(line, "objectivePriorParameters", s, r.callables...))
			of = append(of, q)
			if v, ok := q.Simplify().Const(); ok {
				numbers = append(numbers, numberText(v))
			}
			continue
		}
		of, numbers = append(of, expr.Num(v)), append(numbers, s)
	}
	if len(numbers) == len(parts) {
		p.Prior = readPrior(r.File, n.Line, typ, strings.Join(numbers, ";"), p, false)
		l.Parameter = *p
		if l.each {
			r.layers = append(r.layers, l)
		}
		return l.each
	}
	f := familyNamed(typ)
	median, ok := scoreMedians[f.name]
	if !ok || f.name != typ {
		var names []string
		for _, f := range families {
			if _, ok := scoreMedians[f.name]; ok {
				names = append(names, f.name)
			}
		}
		r.Failf(line, "prior %s has parameters that are not numbers: give numbers, or choose one of the priors %s", typ, strings.Join(names, ", "))
	}
	if f.one() != (len(parts) == 1) || len(parts) > 2 {
		r.Failf(line, "%q: want %s", text, f.form)
	}
	for _, key := range []string{"nominalValue", "lowerBound", "upperBound", "parameterScale", "estimate", "initializationPriorType"} {
		if n.Get(key) != nil {
			r.Failf(n.LineOf(key), "parameter %s has both a %s and a prior that depends on other parameters: give only one of the two", p.ID, key)
		}
	}
	z := expr.Sym(score(p.ID))
	p.Nominal, p.Estimate, p.Prior = median, true, Prior{Type: strings.ToLower(strings.TrimPrefix(typ, "log")), B: 1}
	switch {
	case typ == "exponential":
		p.Prior.A, p.Prior.B = 1, 0
		l.formula = expr.Call("divide", z, of[0])
	case len(of) == 1:
		p.Prior = Prior{Type: typ, A: 1}
		l.formula = expr.Call("times", of[0], z)
	default:
		l.formula = expr.Call("plus", of[0], expr.Call("times", of[1], z))
		if strings.HasPrefix(typ, "log") {
			l.formula = expr.Call("exp", l.formula)
		}
	}
	l.Parameter = *p
	r.layers = append(r.layers, l)
	return true
}

func (r *modelReader) addLayers(p *File, m *Model) {
	for _, l := range r.layers {
		q, id := l.Parameter, l.ID
		if l.formula != nil {
			q.ID = score(id)
			p.effects = append(p.effects, id)
			m.Assignments = append(m.Assignments, equations.Assignment{ID: id, Formula: l.formula, Where: l.where})
		}
		if !l.each {
			p.Params = append(p.Params, q)
			continue
		}
		if len(m.conditions) == 0 {
			l.where.Failf("parameter %s has its own value in each condition, yet there are no conditions", id)
		}
		base := q.ID
		for i := range m.conditions {
			c := &m.conditions[i]
			if slices.ContainsFunc(c.set, func(s setting) bool { return s.id == base }) {
				continue // the condition sets its own value
			}
			q.ID = suffixed(base, "_"+c.id)
			c.set = append(c.set, setting{base, expr.Sym(q.ID)})
			p.Params = append(p.Params, q)
		}
		// If no condition applies, the parameter has its nominal value.
		q.ID, q.Estimate, q.Prior, q.start = base, false, Prior{}, Prior{}
		if math.IsNaN(q.Nominal) {
			q.Nominal = 0
		}
		p.Params = append(p.Params, q)
	}
}
