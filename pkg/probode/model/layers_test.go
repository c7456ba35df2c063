package model

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// A parameter whose prior depends on other parameters has, for fixed values of these, the
// distribution that its prior names: the formula takes the quantiles of the score to those
// of the prior, which ParsePrior reads. All formulas increase with the score. With a value in
// each condition, the score of each condition has the same prior. The quantiles of the
// distributions are right to about 1e-9.
func TestPriorsOfScores(t *testing.T) {
	for _, c := range []struct{ prior, arguments, fixed string }{
		{"normal", "m + 1; 2 * s", "2.5,0.8"},
		{"logNormal", "m; s", "1.5,0.4"},
		{"laplace", "m / s; s", "3.75,0.4"},
		{"logLaplace", "-m; s^2", "-1.5,0.16"},
		{"cauchy", "m; s", "1.5,0.4"},
		{"halfNormal", "m * s", "0.6"},
		{"halfCauchy", "s", "0.4"},
		{"exponential", "m + s", "1.9"},
	} {
		want, err := ParsePrior(c.prior + "(" + c.fixed + ")")
		if err != nil {
			t.Fatal(err)
		}
		for _, each := range []bool{false, true} {
			text := fmt.Sprintf(`parameters:
  - {parameterId: m, nominalValue: 1.5}
  - {parameterId: s, nominalValue: 0.4}
  - {parameterId: k, objectivePriorType: %s, objectivePriorParameters: "%s"%s}
odes:
  - {stateId: x, rightHandSide: -k, initialValue: 1}
conditions:
  - {conditionId: one}
  - {conditionId: two}
`, c.prior, c.arguments, map[bool]string{true: ", perCondition: 1"}[each])
			p, err := Parse("m", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			ids := []string{"k_score", "k_score"}
			if each {
				ids = []string{"k_score_one", "k_score_two"}
			}
			for i, e := range experiments(t, p) {
				at := nominalValues(p)
				tested := false
				for _, q := range p.Params {
					if q.ID != ids[i] {
						continue
					}
					tested = true
					score, err := q.Distribution()
					if err != nil {
						t.Fatal(err)
					}
					for _, u := range []float64{0.001, 0.1, 0.5, 0.8, 0.999} {
						at[q.ID], at["x"] = score.Quantile(u), 1
						k, quantile := -value(t, e.rates[0], at), want.Quantile(u)
						if math.Abs(k-quantile) > 1e-7*(1+math.Abs(quantile)) {
							t.Errorf("%s(%s), per condition: %v: the quantile %v of k in condition %s is %v: want %v", c.prior, c.arguments, each, u, e.Condition, k, quantile)
						}
					}
					// The nominal value is the median.
					if math.Abs(q.Nominal-score.Quantile(0.5)) > 1e-9 || !q.Estimate {
						t.Errorf("%s: the score has the nominal value %v and the median %v", c.prior, q.Nominal, score.Quantile(0.5))
					}
				}
				if !tested {
					t.Errorf("%s: there is no parameter %s in condition %s:\n%s", c.prior, ids[i], e.Condition, text)
				}
			}
		}
	}
	const undefined = "parameters:\n  - {parameterId: k, objectivePriorType: halfNormal, objectivePriorParameters: m}\nodes:\n  - {stateId: x, rightHandSide: -k, initialValue: 1}\n"
	if _, err := Parse("m", []byte(undefined)); err == nil || !strings.Contains(err.Error(), "m, which is not defined") {
		t.Errorf("a prior with a name that is not defined: %v", err)
	}
}
