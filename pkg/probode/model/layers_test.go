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

// A condition can set the value of a parameter that otherwise has one in each condition, or
// its score: there is then no parameter for that condition. A parameter that a formula
// gives cannot be set.
func TestConditionSetsItsOwnValue(t *testing.T) {
	const text = `parameters:
  - {parameterId: k, nominalValue: 1, objectivePriorType: logNormal, objectivePriorParameters: PRIOR, perCondition: 1}
odes:
  - {stateId: x, rightHandSide: -k, initialValue: 1}
conditions:
  - {conditionId: one}
  - {conditionId: two, SET}
`
	for _, c := range []struct {
		prior, set, estimated string
		k                     float64 // in condition two
		want                  string  // the error
	}{
		{"1; 0.5", "k: 2", "k_one", 2, ""},
		{"b; 0.5", "k_score: 2", "k_score_one", math.Exp(0.25 + 0.5*2), ""},
		{"b; 0.5", "k: 2", "", 0, "condition two sets k, which is determined by a formula: want a parameter or a state"},
	} {
		s := strings.NewReplacer("PRIOR", `"`+c.prior+`"`, "SET", c.set).Replace(text)
		if c.prior != "1; 0.5" {
			s = strings.Replace(strings.Replace(s, "nominalValue: 1, ", "", 1), "odes:", "  - {parameterId: b, nominalValue: 0.25}\nodes:", 1)
		}
		p, err := Parse("m", []byte(s))
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q", c.set, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.set, err)
			continue
		}
		var estimated []string
		for _, q := range p.Params {
			if q.Estimate {
				estimated = append(estimated, q.ID)
			}
		}
		at := nominalValues(p)
		at["x"] = 1
		if k := -value(t, experiments(t, p)[1].rates[0], at); strings.Join(estimated, " ") != c.estimated || !near(k, c.k) {
			t.Errorf("%s: k is %v, and the estimated parameters are %v: want %v and %s", c.set, k, estimated, c.k, c.estimated)
		}
	}
}

// Numbers of a prior may be written as formulas of numbers. Such a prior depends on no other
// parameter, so it can stand beside a nominal value.
func TestPriorOfFormulas(t *testing.T) {
	p, err := Parse("m", []byte(`parameters:
  - {parameterId: k, nominalValue: 2, objectivePriorType: logNormal, objectivePriorParameters: log(10);2 * 0.25}
odes:
  - {stateId: x, rightHandSide: -k * x, initialValue: 1}
`))
	if err != nil || p.Params[0].Prior != (Prior{"logNormal", math.Log(10), 0.5}) || p.Params[0].Nominal != 2 || p.Effects() != nil {
		t.Fatalf("%+v, %v", p, err)
	}
}
