package model

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/methods"
)

const oneCompartment = `parameters:
  - {parameterId: k, nominalValue: 0.2, lowerBound: 0.01, upperBound: 10}
  - {parameterId: WT, nominalValue: 70}
odes:
  - {stateId: gut, rightHandSide: -0.9*gut, initialValue: 0}
  - {stateId: blood, rightHandSide: 0.9*gut - k*blood*70/WT, initialValue: 0}
observables:
  - {observableId: drug, observableFormula: blood, noiseFormula: 1}
data: |
`

// simulated returns the predictions of all measurements, in the order of the table, and
// their derivatives with respect to the first estimated parameter by central differences
// of the log-likelihood, which it compares with the gradient.
func simulated(t *testing.T, model string) (values []float64) {
	t.Helper()
	p, err := Parse("m.yaml", []byte(model))
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.LogLikelihood(LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	at := func(theta []float64, gradient bool) *Evaluation {
		v, err := l.At(context.Background(), theta, gradient)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	theta := p.Nominal()
	v := at(theta, true)
	for i := range v.Instances {
		values = append(values, v.Instances[i].Simulated...)
	}
	const h = 1e-4
	up, down := p.Nominal(), p.Nominal()
	up[0], down[0] = theta[0]+h, theta[0]-h
	slope := (at(up, false).LogLikelihood - at(down, false).LogLikelihood) / (2 * h)
	if math.Abs(v.Gradient[0]-slope) > 1e-3+1e-5*math.Abs(slope) {
		t.Errorf("gradient %v: want %v", v.Gradient[0], slope)
	}
	return values
}

// values returns the predictions of an accurate solver.
func values(t *testing.T, model string) []float64 {
	t.Helper()
	p, err := Parse("m.yaml", []byte(model))
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.LogLikelihood(LikelihoodSettings{Tolerance: probode.Tolerance{Relative: 1e-10}, Method: methods.RungeKutta{Tableau: methods.DormandPrince8}})
	if err != nil {
		t.Fatal(err)
	}
	v, err := l.At(context.Background(), p.Nominal(), false)
	if err != nil {
		t.Fatal(err)
	}
	return v.Instances[0].Simulated
}

func compare(t *testing.T, got []float64, want ...float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("predictions %v: want %v", got, want)
	}
	for i, v := range got {
		if !(math.Abs(v-want[i]) <= 1e-7*(1+math.Abs(want[i]))) {
			t.Errorf("prediction %d is %v: want %v", i+1, v, want[i])
		}
	}
}

// A dose D into the gut at time 0 gives D ka/(ka−k) (e^(−kt) − e^(−ka t)) in the blood, an
// infusion at rate R until T gives R/k (1 − e^(−k min(t,T))) e^(−k max(t−T,0)), a bolus
// gives e^(−kt), and doses add up. A measurement in a row before a dose at its time does
// not see the dose.
func TestNonmemTable(t *testing.T) {
	oral := func(k, t float64) float64 {
		if t < 0 {
			return 0
		}
		return 100 * 0.9 / (0.9 - k) * (math.Exp(-k*t) - math.Exp(-0.9*t))
	}
	infused := func(k, t float64) float64 {
		if t < 0 {
			return 0
		}
		return 25 / k * (1 - math.Exp(-k*min(t, 2))) * math.Exp(-k*max(t-2, 0))
	}
	bolus := func(k, t float64) float64 { return 10 * math.Exp(-k*t) }
	k2 := 0.2 * 70 / 35
	compare(t, simulated(t, oneCompartment+`  ID,TIME,AMT,RATE,EVID,MDV,CMT,II,ADDL,SS,DV,WT
  1,0,100,0,1,1,gut,12,2,0,.,70
  1,5,.,.,0,0,.,.,.,.,1,70
  1,26,.,.,0,0,.,.,.,.,1,70
  2,0,50,25,1,1,2,24,1,0,.,35
  2,1,.,.,0,0,.,.,.,.,3,35
  2,10,.,.,0,0,.,.,.,.,3,35
  2,10,10,.,1,1,2,.,.,.,.,35
  2,11,.,.,2,0,.,.,.,.,3,35
  2,25.5,.,.,0,0,.,.,.,.,3,35
  2,26,.,.,0,1,.,.,.,.,3,35
`), oral(0.2, 5), oral(0.2, 26)+oral(0.2, 14)+oral(0.2, 2),
		infused(k2, 1), infused(k2, 10), infused(k2, 25.5)+infused(k2, 1.5)+bolus(k2, 15.5))
}

// At steady state the doses before the start form a geometric series. Into the blood, an
// infusion over 3 of 12 hours and a bolus are linear; with saturable elimination, the
// state at steady state is that after 25 doses, of which the last 10 change nothing.
func TestSteadyStateDoses(t *testing.T) {
	const k, ka = 0.2, 0.9
	series := func(rate, every float64) float64 { return 1 / (1 - math.Exp(-rate*every)) }
	oral := func(t float64) float64 {
		return 100 * ka / (ka - k) * (math.Exp(-k*t)*series(k, 12) - math.Exp(-ka*t)*series(ka, 12))
	}
	rows := "  TIME,AMT,RATE,CMT,II,ADDL,SS,DV,EVID\n  0,%s\n  5,,,,,,,1,0\n  17,,,,,,,1,0\n"
	compare(t, simulated(t, oneCompartment+fmt.Sprintf(rows, "100,,1,12,1,1,,1")), oral(5), oral(17-12))
	last := func(t float64) float64 { // an infusion of 10 per hour over 3 hours, repeated after 12
		return 10 / k * (math.Exp(k*3) - 1) * math.Exp(-k*t) * series(k, 12)
	}
	compare(t, simulated(t, oneCompartment+fmt.Sprintf(rows, "30,10,2,12,1,1,,1")), last(5), last(5))
	yaml := strings.Replace(oneCompartment, "observables:", "doses:\n  - {doseId: d, state: gut, amount: 100, time: 0, every: EVERY, count: COUNT, STEADY}\nobservables:", 1)
	table := "  time,drug\n  5,1\n  17,1\n"
	set := func(every, count, steady string) string {
		return strings.NewReplacer("EVERY", every, "COUNT", count, "STEADY", steady).Replace(yaml) + table
	}
	compare(t, simulated(t, set("12", "2", "steadyState: 1")), oral(5), oral(5))
	begun := strings.Replace(set("12", "1", "steadyState: 1"), "data:", "conditions:\n  - {conditionId: c, blood: 7}\ndata:", 1)
	compare(t, simulated(t, strings.NewReplacer("time,drug", "time,conditionId,drug", "5,1", "5,c,1", "17,1", "17,c,1").Replace(begun)), oral(5), oral(17))
	unknown := func(t float64) float64 { // the interval is 2.4/k
		return 100 * ka / (ka - k) * (math.Exp(-k*t)*series(k, 12) - math.Exp(-ka*t)*series(ka, 12))
	}
	compare(t, simulated(t, set("2.4/k", "1", "steadyState: 1")), unknown(5), unknown(17))
	saturated := func(model string) string {
		return strings.Replace(model, "k*blood*70/WT", "60*k*blood/(20 + blood)", 1)
	}
	many := strings.Replace(set("12", "26", "duration: 2"), "  5,1\n  17,1\n", "  305,1\n  317,1\n", 1)
	one := set("12", "1", "steadyState: 1, duration: 2")
	compare(t, simulated(t, saturated(one)), values(t, saturated(many))...)
}

// The time after a dose, with doses in the file at times that depend on a parameter, 2 and
// 5, and doses in a table. A state integrates it, or an observable shows it. A measurement
// in a row before a dose at its time is made before the dose.
func TestTimeAfterDose(t *testing.T) {
	integral := strings.Replace(oneCompartment, "0.9*gut - k*blood*70/WT", "timeAfterDose + 0*k*gut", 1)
	shown := strings.Replace(oneCompartment, "observableFormula: blood", "observableFormula: timeAfterDose", 1)
	early := strings.Replace(oneCompartment, "0.9*gut - k*blood*70/WT", `"piecewise(1, timeAfterDose < 1.5, 0) + 0*k*gut"`, 1)
	file := func(model, dose string) string {
		return strings.Replace(model, "observables:", "doses:\n  - {doseId: d, state: gut, amount: 1, time: 10*k, every: 15*k, count: 2"+dose+"}\nobservables:", 1) + "  time,drug\n"
	}
	const table = "  TIME,AMT,CMT,II,ADDL,SS,RATE,DV\n"
	for _, c := range []struct {
		model string
		want  []float64
	}{
		{integral + table + "  1,,,,,,,1\n  2,1,1,3,1,,,\n  4,,,,,,,1\n  7,,,,,,,1\n", []float64{0.5, 4, 2 + 4.5 + 2}},
		{integral + table + "  1,,,,,,,1\n  2,1,1,3,1,,2,\n  4,,,,,,,1\n  7,,,,,,,1\n", []float64{0.5, 4, 2 + 4.5 + 2}},
		{file(integral, "") + "  1,1\n  4,1\n  7,1\n", []float64{0.5, 4, 2 + 4.5 + 2}},
		{file(integral, ", duration: k") + "  1,1\n  4,1\n  7,1\n", []float64{0.5, 4, 2 + 4.5 + 2}},
		{file(shown, "") + "  0,1\n  1,1\n  4,1\n  7,1\n", []float64{0, 1, 2, 2}},
		{file(shown, ", duration: k") + "  0,1\n  1,1\n  4,1\n  7,1\n", []float64{0, 1, 2, 2}},
		// the rate is 1 until 1.5 after the start and each dose
		{early + table + "  1,,,,,,,1\n  2,1,1,3,1,,,\n  4,,,,,,,1\n  7,,,,,,,1\n", []float64{1, 3, 4.5}},
		{file(early, "") + "  1,1\n  4,1\n  7,1\n", []float64{1, 3, 4.5}},
		{file(early, ", duration: k") + "  1,1\n  4,1\n  7,1\n", []float64{1, 3, 4.5}},
		// at the first dose, which begins an interval of 4; at its end; at an additional dose, which comes first
		{shown + table + "  3,,,,,,,1\n  3,5,1,,,,,\n  7,,,,,,,1\n  7,5,1,4,2,,,\n  11,,,,,,,1\n  13,,,,,,,1\n", []float64{3, 4, 0, 2}},
		{shown + table + "  3,,,,,,,1\n  3,5,1,,,,2,\n  7,,,,,,,1\n  7,5,1,4,2,,2,\n  11,,,,,,,1\n  13,,,,,,,1\n", []float64{3, 4, 0, 2}},
		{shown + table + "  0,5,1,,,,,\n  0,,,,,,,1\n  7,5,1,,,,,\n  7,,,,,,,1\n", []float64{0, 0}},
		// steady state, at once and infused
		{shown + table + "  0,5,1,4,1,1,,\n  3,,,,,,,1\n  8,,,,,,,1\n  8,5,1,,,,,\n  9,,,,,,,1\n", []float64{3, 4, 1}},
		{shown + table + "  0,5,1,4,1,1,2,\n  3,,,,,,,1\n  8,,,,,,,1\n  8,5,1,,,,,\n  9,,,,,,,1\n", []float64{3, 4, 1}},
		{strings.Replace(file(shown, ", steadyState: 1"), "10*k", "0", 1) + "  1,1\n  4,1\n", []float64{1, 1}},
		// subjects with doses of their own, and one without
		{shown + "  ID,TIME,AMT,DV\n  1,2,5,.\n  1,6,.,1\n  2,6,.,1\n  3,4,.,1\n  3,4,5,.\n  3,6,.,1\n", []float64{4, 6, 4, 2}},
	} {
		compare(t, simulated(t, c.model), c.want...)
	}
	p, err := Parse("m.yaml", []byte(file(shown, "")+"  1,1\n  4,1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if n := experiments(t, p)[0].Shown(); n != 2 {
		t.Errorf("%d states are shown", n)
	}
	name, err := p.WriteYAML(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if p, err = Load(name); err != nil {
		t.Fatal(err)
	}
	l, err := p.LogLikelihood(LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := l.At(context.Background(), p.Nominal(), false)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, v.Instances[0].Simulated, 1, 2)
}

func TestMistakesInDoses(t *testing.T) {
	const row = "1,0,100,,1,,1,,,,\n  1,5,,,,,,,,,3\n"
	model := oneCompartment + "  ID,TIME,AMT,RATE,EVID,MDV,CMT,II,ADDL,SS,DV\n  "
	for _, c := range []struct{ rows, want string }{
		{"1,0,100,-2,1,,1,,,,", "RATE is -2: want a number ≥ 0"},
		{"1,0,-5,,1,,1,,,,", "AMT is -5: want a number > 0 for a dose"},
		{"1,0,100,,4,,1,,,,", "EVID is 4: want 0, 1 or 2"},
		{"1,0,100,,1,,3,,,,", `CMT is "3": want a number from 1 to 2, or one of [gut blood]`},
		{"1,0,100,,1,,1,,2,,", "II is 0: want the interval of the doses"},
		{"1,0,100,,1,,1,12,1.5,,", "ADDL is 1.5: want a whole number"},
		{"1,0,100,,1,,1,12,,2,", "SS is 2: want 0 or 1"},
		{"1,3,100,,1,,1,12,,1,", "dose in line 2 at steady state begins at 3: want the start of the model, 0"},
		{"1,0,100,5,1,,1,12,,1,", "dose in line 2 at steady state lasts 20, with the interval 12"},
		{"1,0,,,,,,,,,", "DV is empty: want a number, or MDV 1"},
		{"1,0,100,,1,,1,,,,\n  1,0,,,,,,,,,3\n  1,0,100,,1,,1,,,,\n  1,0,,,,,,,,,3", "measurements at TIME 0 both before and after a dose"},
		{"1,5,100,,1,,1,,,,\n  1,4,,,,,,,,,3", "TIME is 4, before that of an earlier row of the same ID"},
		{"1,0,100,,0,,1,,,,3", "AMT is 100 in a row with EVID 0: want 0, or EVID 1"},
		{"1,0,100,,2,,1,,,,", "AMT is 100 in a row with EVID 2"},
		{"1,0,100,,1,0,1,,,,3", "DV is 3 in the row of a dose: want a row of its own, or MDV 1"},
		{"1,-1,100,,1,,1,,,,", `TIME is "-1": want inf, or a number ≥ 0`},
	} {
		if _, err := Parse("m.yaml", []byte(model+c.rows+"\n  "+row)); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v: want %s", c.rows, err, c.want)
		}
	}
	weights := oneCompartment + "  ID,TIME,AMT,DV,WT\n  1,0,100,.,70\n  1,5,.,3,71\n"
	if _, err := Parse("m.yaml", []byte(weights)); err == nil || !strings.Contains(err.Error(), "WT is 71, but 70 before, for the same ID: want one value, or an input") {
		t.Errorf("%v", err)
	}
	censored := oneCompartment + "  TIME,AMT,DV,CENS\n  0,100,.,.\n  5,.,3,1\n"
	if _, err := Parse("m.yaml", []byte(censored)); err == nil || !strings.Contains(err.Error(), "CENS is 1: want 0, and in DV an interval such as ..3") {
		t.Errorf("%v", err)
	}
	// A compartment that only accumulates has no steady state.
	p, err := Parse("m.yaml", []byte(strings.Replace(oneCompartment, "- k*blood*70/WT", "+ 0*k", 1)+"  TIME,AMT,CMT,II,SS,DV\n  0,100,1,12,1,\n  5,,,,,1\n"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.LogLikelihood(LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.At(context.Background(), p.Nominal(), false); err == nil || !strings.Contains(err.Error(), "the doses lead to no steady state") {
		t.Errorf("%v", err)
	}
}
