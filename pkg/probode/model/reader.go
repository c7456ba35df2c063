package model

import (
	"slices"

	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

type modelReader struct {
	*source.File
	time      string // the name of the time in formulas
	lambdas   map[string]*expr.Node
	callables []string
	layers    []layered
	fixed     []fixed
	clock     clock
	given     bool // doses in a table
	timed     bool // timeAfterDose with doses
}

// A parameter is layered if its prior depends on other parameters, or if it has a value
// for each condition. It is a function of a score whose prior does not: CL = exp(location
// + scale × z), z ~ N(0, 1). With few data for each condition, scores and scale are then
// nearly independent in the posterior, which has no funnel [Papaspiliopoulos, Roberts &
// Sköld 2007].
type layered struct {
	Parameter
	each    bool       // each condition has its own value
	formula *expr.Node // in terms of score(ID); nil if the prior consists of numbers
}

// A fixed formula, such as that of the duration of an infusion, must not change during an
// experiment.
type fixed struct {
	what    string
	formula *expr.Node
	where   source.Where
}

// id reports an error if v cannot be a name in formulas.
func (r *modelReader) id(line int, what, v string) string {
	if !expr.IsName(v) || expr.Reserved(v) {
		r.Failf(line, "%s is %q: want letters, digits and _; the first character must not be a digit, and words such as \"inf\" and \"and\" are reserved", what, v)
	}
	return v
}

func (r *modelReader) name(n *source.Node, key string) string {
	return r.notTime(n.LineOf(key), key, n.Must("an entry", key))
}

// notTime is like id, and refuses the name of the time.
func (r *modelReader) notTime(line int, what, v string) string {
	r.id(line, what, v)
	if v == r.time || v == expr.Time {
		r.Failf(line, "%s is the name %s, which is reserved for time: use another name", what, v)
	}
	return v
}

func (r *modelReader) formula(n *source.Node, key string) *expr.Node {
	return r.finish(n.LineOf(key), key, r.in(n).Formula(n.LineOf(key), key, n.Must("an entry", key), r.callables...))
}

func (r *modelReader) condition(n *source.Node, key string) *expr.Node {
	line, text := n.LineOf(key), n.Must("an entry", key)
	e, err := expr.Parse(r.in(n).Names, text, r.callables...)
	if err != nil {
		r.FailMath(line, key, err)
	}
	if !e.Boolean() {
		r.Failf(line, "%s %q is a number: want a condition such as x < 1", key, text)
	}
	return r.expand(line, key, e)
}

// finish refuses a condition.
func (r *modelReader) finish(line int, key string, e *expr.Node) *expr.Node {
	if e = r.expand(line, key, e); e.Boolean() {
		r.Failf(line, "%s is a condition: want a number", key)
	}
	return e
}

// expand expands functions of the file, and replaces its name of the time by expr.Time.
func (r *modelReader) expand(line int, key string, e *expr.Node) *expr.Node {
	e, err := e.Expand(r.lambdas)
	if err != nil {
		r.FailMath(line, key, err)
	}
	if r.time != expr.Time {
		if slices.Contains(e.Symbols(), expr.Time) {
			r.Failf(line, "%s uses the name %s: in this file, the time is called %s", key, expr.Time, r.time)
		}
		e = e.Substitute(map[string]*expr.Node{r.time: expr.Sym(expr.Time)})
	}
	return e
}
