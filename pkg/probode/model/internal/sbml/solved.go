package sbml

import (
	"slices"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/tree"
)

// rateOf returns the ID of an assignment for the rate of change of a variable, which
// defineRates adds.
func (s *reader) rateOf(id string) string {
	if s.rates[id] == "" {
		s.rates[id] = s.unused("rateOf_" + id)
		s.isRate[s.rates[id]] = true
		s.rated = append(s.rated, id)
	}
	return s.rates[id]
}

// defineRates adds the rates of change that formulas use, and those on which these depend.
func (s *reader) defineRates() {
	for i := 0; i < len(s.rated); i++ {
		id := s.rated[i]
		formula, line := expr.Num(0), s.entity(id)
		if a := slices.IndexFunc(s.out.Assignments, func(a equations.Assignment) bool { return a.ID == id }); a >= 0 {
			formula = s.derivative(s.out.Assignments[a].Formula)
		} else if x := slices.IndexFunc(s.out.States, func(x equations.State) bool { return x.ID == id }); x >= 0 {
			formula = s.out.States[x].Rate
		}
		where := s.At(s.root.Line)
		if line != nil {
			where = s.At(line.Line)
		}
		s.out.Assignments = append(s.out.Assignments, equations.Assignment{ID: s.rates[id], Formula: formula, Where: where})
	}
}

// derivative is with respect to time, along the solution.
func (s *reader) derivative(n *expr.Node) *expr.Node {
	sum := []*expr.Node{n.Diff(expr.Time)}
	for _, name := range n.Symbols() {
		if name != expr.Time {
			sum = append(sum, expr.Call("times", n.Diff(name), expr.Sym(s.rateOf(name))))
		}
	}
	return expr.Call("plus", sum...).Simplify()
}

// algebraic turns algebraic rules into assignment rules. Each rule is solved for a variable
// that nothing else determines and in which it is linear.
func (s *reader) algebraic() {
	for _, rule := range s.root.List("listOfRules") {
		if rule.Name != "algebraicRule" {
			continue
		}
		zero := s.expanded(s.mathOf(rule, nil))
		if !s.isolate(rule, zero) {
			s.Refuse(rule.Line, "algebraicRule", "no variable that nothing else determines can be isolated in %s = 0: want assignment and rate rules", zero.Simplify())
		}
	}
}

func (s *reader) isolate(rule *tree.Element, zero *expr.Node) bool {
	for _, id := range zero.Symbols() {
		e := s.entity(id)
		if e == nil || s.rate[id] != nil || s.jumped[id] || s.isConstant(e) || s.flow[id] != nil && !s.flag(e, "boundaryCondition", false) {
			continue
		}
		// a + b x = 0
		a, b, ok := zero.Linear(id)
		if v, known := constantOf(b); !ok || known && v == 0 {
			continue
		}
		if s.init[id] != nil { // it must agree with the rule
			delete(s.init, id)
		}
		s.assign[id] = rule
		s.maths[rule] = expr.Call("divide", expr.Call("minus", a), b).Simplify()
		return true
	}
	return false
}

// expanded replaces variables that rules determine, and the rates of reactions, by their
// formulas.
func (s *reader) expanded(n *expr.Node) *expr.Node {
	for range 1 + len(s.assign) + len(s.out.Assignments) {
		by := map[string]*expr.Node{}
		for _, name := range n.Symbols() {
			if rule := s.assign[name]; rule != nil {
				by[name] = s.mathOf(rule, nil)
			} else if i := slices.IndexFunc(s.out.Assignments, func(a equations.Assignment) bool { return a.ID == name }); i >= 0 {
				by[name] = s.out.Assignments[i].Formula
			}
		}
		if len(by) == 0 {
			break
		}
		n = n.Substitute(by)
	}
	return n
}
