package model

import (
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// derivedFrom reads quantities that follow from the parameters alone.
func (r *modelReader) derivedFrom(y *source.Node, p *File) {
	list := y.Get("derived")
	if list == nil {
		return
	}
	list.Mapping("derived")
	for _, id := range list.Keys {
		line := list.LineOf(id)
		base, _, _ := strings.Cut(id, "[")
		r.notTime(line, "a derived quantity", base)
		for _, values := range r.valuesOf(id) {
			one := bound(list, values)
			q := equations.Assignment{ID: r.indexed(one, id), Where: r.At(line)}
			q.Formula = r.formula(one, id)
			r.fixed = append(r.fixed, fixed{"derived quantity " + q.ID, q.Formula, q.Where})
			p.derived = append(p.derived, q)
		}
	}
}

// Derived returns the names of the derived quantities of a model file, and a function that
// computes them from the values of the estimated parameters, in the order of
// Posterior.Params. The function allocates its result, and any number of goroutines may
// call it.
func (p *File) Derived() (names []string, at func(estimated []float64) []float64, err error) {
	defer source.Catch(&err)
	var formulas []*expr.Node
	for _, m := range p.Models {
		l := m.newIndex(p.Params).lowering(nil)
		set := map[string]int{}
		m.sets(set)
		for _, q := range p.derived {
			n := l.start0(q.Formula, q.Where)
			for _, id := range n.Symbols() {
				if set[id] > 0 {
					q.Where.Failf("derived quantity %s depends on %s, which conditions set: want parameters that all conditions share", q.ID, id)
				}
			}
			names, formulas = append(names, q.ID), append(formulas, n)
		}
	}
	program, theta, free := newProgram(append([]string{expr.Time}, p.paramNames()...), formulas), p.Nominal(), p.estimated()
	return names, func(estimated []float64) []float64 {
		all, out := slices.Clone(theta), make([]float64, len(names))
		for k, i := range free {
			all[i] = estimated[k]
		}
		program.eval(out, 0, nil, all)
		return out
	}, nil
}
