package model

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/bayes"
)

// population is a model with everything that a schedule of doses, a population and
// censored or counted data need.
var population = map[string]string{
	"m.yaml": `name: population
parameters:
  - {parameterId: typical, nominalValue: -1.5, objectivePriorType: normal, objectivePriorParameters: -1;1}
  - {parameterId: between, nominalValue: 0.3, objectivePriorType: halfNormal, objectivePriorParameters: 0.5}
  - {parameterId: weight, nominalValue: 70}
  - {parameterId: k, objectivePriorType: logNormal, objectivePriorParameters: "typical - 0.25 * ln(weight / 70); between", perCondition: 1}
  - {parameterId: shift, objectivePriorType: exponential, objectivePriorParameters: 2 * between}
  - {parameterId: drip, nominalValue: 0}
odes:
  - {stateId: x, rightHandSide: drip - k * x, initialValue: 0}
  - {stateId: out, rightHandSide: k * x, initialValue: 3}
doses:
  - {doseId: tablet, state: x, amount: 100, time: shift, every: 12, count: 2}
  - {doseId: infusion, state: x, amount: 60, duration: 2, time: 20, every: 3, count: 2}
events:
  - {eventId: pump, time: 26, assignments: {drip: 5}}
observables:
  - {observableId: level, observableFormula: x, noiseFormula: 2, lowerLimit: 20}
  - {observableId: urine, observableFormula: out, noiseFormula: 0.5 + 0.01 * urine, increase: 1}
  - {observableId: ill, observableFormula: 40 * x / (100 + x), noiseDistribution: binomial, noiseFormula: 40}
conditions:
  - {conditionId: ann, weight: 60}
  - {conditionId: bob, weight: 90}
data: d.csv
`,
	"d.csv": `time,conditionId,level,urine,ill
8,ann,30,65,
15,ann,,40,20
23,ann,20,,
29,ann,55,150,15
8,bob,33,,
12,bob,5,70,9
24,bob,,,
30,bob,70,170,
`,
}

// byFormula returns the log-likelihood of a condition of population by the closed form of
// its solution: between two times the rate r is constant, and
//
//	x(t+h) = x e^{−kh} + r (1 − e^{−kh})/k,   out(t+h) = out + x(t) + r h − x(t+h).
func byFormula(k, shift float64, condition string) (sum float64) {
	type datum struct{ t, level, urine, ill float64 }
	nan := math.NaN()
	data := map[string][]datum{"ann": {{8, 30, 65, nan}, {15, nan, 40, 20}, {23, 20, nan, nan}, {29, 55, 150, 15}},
		"bob": {{8, 33, nan, nan}, {12, 5, 70, 9}, {30, 70, 170, nan}}}[condition]
	at := func(t float64) (x, out float64) {
		now := 0.0
		out = 3
		move := func(to float64) {
			if to = min(to, t); to <= now {
				return
			}
			r := 0.0
			for _, start := range []float64{20, 23} {
				if now >= start && now < start+2 {
					r += 30
				}
			}
			if now >= 26 {
				r += 5
			}
			h := to - now
			next := x*math.Exp(-k*h) - r*math.Expm1(-k*h)/k
			out += x + r*h - next
			x, now = next, to
		}
		for _, e := range []struct{ t, dose float64 }{{shift, 100}, {shift + 12, 100}, {20, 0}, {22, 0}, {23, 0}, {25, 0}, {26, 0}, {30, 0}} {
			move(e.t)
			if e.t <= t {
				x += e.dose
			}
		}
		return x, out
	}
	_, last := at(0)
	for _, d := range data {
		x, out := at(d.t)
		switch {
		case d.level > 20:
			sum += distuv.Normal{Mu: x, Sigma: 2}.LogProb(d.level)
		case !math.IsNaN(d.level):
			sum += math.Log(distuv.Normal{Mu: x, Sigma: 2}.CDF(20))
		}
		if !math.IsNaN(d.urine) {
			sum += distuv.Normal{Mu: out - last, Sigma: 0.5 + 0.01*(out-last)}.LogProb(d.urine)
			last = out
		}
		if !math.IsNaN(d.ill) {
			sum += distuv.Binomial{N: 40, P: x / (100 + x)}.LogProb(d.ill)
		}
	}
	return sum
}

// The log-likelihood, its gradient and the posterior of a model with layers of priors,
// doses, an event that sets a rate, increases, a limit and binomial counts equal those of
// the closed form. Tolerances: 1e-7 is the accuracy of the log-likelihood, 1e-4 that of
// differences of it, and 1e-3 that of the grid of the posterior.
func TestPopulation(t *testing.T) {
	p, err := loadMap(t, population, "m.yaml")
	if err != nil {
		t.Fatal(err)
	}
	value := map[string]float64{"typical": -1.4, "between": 0.4, "shift_score": 0.6, "k_score_ann": 0.7, "k_score_bob": -0.8}
	want := func() float64 {
		shift := value["shift_score"] / (2 * value["between"])
		k := func(score string, weight float64) float64 {
			return math.Exp(value["typical"] - 0.25*math.Log(weight/70) + value["between"]*value[score])
		}
		return byFormula(k("k_score_ann", 60), shift, "ann") + byFormula(k("k_score_bob", 90), shift, "bob")
	}
	l, err := p.LogLikelihood(LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	theta := l.p.Nominal()
	var names []string
	for i, q := range p.Params {
		if v, ok := value[q.ID]; ok {
			theta[i] = v
		}
		if q.Estimate {
			names = append(names, q.ID)
		}
	}
	if len(names) != len(value) {
		t.Fatalf("estimated: %v: want %v", names, value)
	}
	v, err := l.At(context.Background(), theta, true)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(v.LogLikelihood-want()) > 1e-7 {
		t.Errorf("log-likelihood %.9f: want %.9f", v.LogLikelihood, want())
	}
	for i, name := range names {
		const h = 1e-5
		at := value[name]
		value[name] = at + h
		up := want()
		value[name] = at - h
		slope := (up - want()) / (2 * h)
		value[name] = at
		if math.Abs(v.Gradient[i]-slope) > 1e-4*(1+math.Abs(slope)) {
			t.Errorf("derivative along %s: %g: want %g", name, v.Gradient[i], slope)
		}
	}
	b, err := p.Posterior()
	if err != nil {
		t.Fatal(err)
	}
	d, err := bayes.NewDensity(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	var point []float64
	for _, q := range b.Params {
		point = append(point, value[q.Name])
	}
	if got, err := d.LogLikelihood(point, nil); err != nil || math.Abs(got-want()) > 1e-3 {
		t.Errorf("log-likelihood of the posterior %v, %v: want %v", got, err, want())
	}
}

// The states that hold a rate set by an event, and the value at the last measurement of an
// increase, get no noise of the solver.
func TestHeldStatesAreNoiseless(t *testing.T) {
	p, err := loadMap(t, population, "m.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Params {
		if q := &p.Params[i]; math.IsNaN(q.Nominal) {
			q.Nominal = 1
		}
	}
	for _, e := range experiments(t, p) {
		q, err := p.ODE(e)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, k := range q.Noiseless {
			names = append(names, q.StateName(k))
		}
		if got := strings.Join(names, " "); got != "drip previous_urine" {
			t.Errorf("without noise: %q: want drip and previous_urine", got)
		}
	}
}

// Events at the start happen before anything is measured, so what they add is no part of
// the first increase, but what a later dose adds is part of an increase. With the rates
// −kx and kx, the increases of the amount eliminated are 10 (e^{−ks} − e^{−kt}).
func TestIncreaseAfterEventsAtStart(t *testing.T) {
	files := map[string]string{"m.yaml": `name: increases
parameters:
  - {parameterId: k, nominalValue: 0.5, lowerBound: 0.01, upperBound: 5}
odes:
  - {stateId: x, rightHandSide: -k * x, initialValue: 0}
  - {stateId: total, rightHandSide: k * x, initialValue: 3}
doses:
  - {doseId: d, state: total, amount: 100, time: 0}
  - {doseId: e, state: x, amount: 10, time: 0}
  - {doseId: late, state: total, amount: 7, time: 1.5}
events:
  - {eventId: f, trigger: total > 50, atStart: 1, assignments: {total: total + 1000}}
observables:
  - {observableId: out, observableFormula: total, noiseFormula: 1, increase: 1}
data: d.csv
`, "d.csv": "time,out\n1,4\n2,2.4\n3,1.4\n"}
	const trigger = "events:\n  - {eventId: f, trigger: total > 50, atStart: 1, assignments: {total: total + 1000}}\n"
	want, atLeast := -1.5*math.Log(2*math.Pi), 0.
	for i, y := range []float64{4, 2.4, 1.4} {
		increase := 10 * (math.Exp(-0.5*float64(i)) - math.Exp(-0.5*float64(i+1)))
		if i == 1 {
			increase += 7
			atLeast = math.Log(math.Erfc((y-increase)/math.Sqrt2)/2) + (y-increase)*(y-increase)/2 + math.Log(2*math.Pi)/2
		}
		want -= (y - increase) * (y - increase) / 2
	}
	// The third table measures at the start, too: the increase there is 0. In the last two,
	// one measurement is known only as a limit, or has its own noise.
	for _, c := range []struct {
		changes []string
		want    float64
	}{
		{nil, want},
		{[]string{trigger, ""}, want},
		{[]string{trigger, "", "time,out\n", "time,out\n0,0\n"}, want - math.Log(2*math.Pi)/2},
		{[]string{"2,2.4", "2,2.4.."}, want + atLeast},
		{[]string{"noiseFormula: 1", "noiseFormula: noiseParameter1_out", "time,out\n1,4\n2,2.4\n3,1.4\n",
			"observableId\ttime\tmeasurement\tnoiseParameters\nout\t1\t4\t1\nout\t2\t2.4\t1\nout\t3\t1.4\t1.0000000001\n"}, want},
	} {
		p, err := loadMap(t, files, "m.yaml", c.changes...)
		if err != nil {
			t.Fatal(err)
		}
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := l.At(context.Background(), l.p.Nominal(), false); err != nil || math.Abs(v.LogLikelihood-c.want) > 1e-6 {
			t.Errorf("%q: log-likelihood %.9f, %v: want %.9f", c.changes, v.LogLikelihood, err, c.want)
		}
	}
}

// A predicted increase is that since the last measurement before its time, also after all
// measurements. With the rate k, it is k(t − s).
func TestPredictedIncreases(t *testing.T) {
	p, err := Parse("m", []byte(`parameters:
  - {parameterId: k, lowerBound: 0.5, upperBound: 1}
odes:
  - {stateId: total, rightHandSide: k, initialValue: 3}
observables:
  - {observableId: out, observableFormula: total, noiseFormula: 1, increase: 1}
data: |
  time,out
  1,1
  2,1
`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Posterior()
	if err != nil {
		t.Fatal(err)
	}
	out, theta, _, err := bayes.PredictPrior(t.Context(), b, 1, []float64{0.5, 1, 1.5, 2, 3, 5}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []float64{0.5, 1, 0.5, 1, 1, 3} {
		if got := out[0].Fit[0][n][0] / theta[0][0]; math.Abs(got-want) > 1e-6 {
			t.Errorf("time %v: an increase of %v, want %v", out[0].T[n], got, want)
		}
	}
}
