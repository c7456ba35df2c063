package model

import (
	"math"
	"strings"
	"testing"
)

const reproduction = `parameters:
  - {parameterId: beta, nominalValue: 0.6, lowerBound: 0.1, upperBound: 10}
  - {parameterId: days, nominalValue: 5}
  - {parameterId: spread, nominalValue: 0.2, lowerBound: 0.1, upperBound: 1}
  - {parameterId: gamma, objectivePriorType: logNormal, objectivePriorParameters: "ln(1/days); spread"}
derived:
  R0: beta / gamma
  late: "piecewise(1, R0_is_large > 0, 0)"
assignments:
  - {assignmentId: R0_is_large, formula: beta - gamma}
odes:
  - {stateId: S, rightHandSide: -beta*S*I, initialValue: 1}
  - {stateId: I, rightHandSide: beta*S*I - gamma*I, initialValue: 0.01}
observables:
  - {observableId: y, observableFormula: I, noiseFormula: 0.1}
`

// gamma is exp(ln(1/5) + spread gamma_score).
func TestDerived(t *testing.T) {
	p, err := Parse("m.yaml", []byte(reproduction))
	if err != nil {
		t.Fatal(err)
	}
	names, at, err := p.Derived()
	if err != nil || strings.Join(names, " ") != "R0 late" {
		t.Fatal(names, err)
	}
	gamma := 0.2 * math.Exp(0.3*-1.5)
	if got := at([]float64{0.7, 0.3, -1.5}); math.Abs(got[0]-0.7/gamma) > 1e-14 || got[1] != 1 {
		t.Errorf("R0 and late are %v: want %v and 1", got, 0.7/gamma)
	}
	for _, c := range []struct{ old, new, want string }{
		{"beta / gamma", "beta * S", "the derived quantity R0 depends on S: want a formula that contains only parameters"},
		{"beta / gamma", "beta * time", "the derived quantity R0 depends on time"},
		{"beta / gamma", "beta / delta", "delta is not defined"},
		{"beta / gamma", "beta /", "R0: column 7"},
		{"R0: beta", "beta: beta", "beta appears twice"},
		{"observables:", "conditions:\n  - {conditionId: a, days: 3}\nobservables:", "derived quantity R0 depends on days, which conditions set"},
	} {
		if _, err := Parse("m.yaml", []byte(strings.Replace(reproduction, c.old, c.new, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: want %s", c.new, err, c.want)
		}
	}
}
