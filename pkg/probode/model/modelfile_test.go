package model

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// small is a small model file, in which tests make every kind of mistake.
var small = map[string]string{
	"m.yaml": `name: small
time: {variable: t, unit: h}
parameters:
  - {parameterId: k, nominalValue: 2, lowerBound: 0.1, upperBound: 10}
  - {parameterId: n, nominalValue: 3}
functions:
  - {functionId: f, arguments: "x, y", formula: x * y + 1}
assignments:
  - {assignmentId: b, formula: a * A}
  - {assignmentId: a, formula: "f(A, n)"}
odes:
  - {stateId: A, rightHandSide: k * t - b, initialValue: n}
observables:
  - {observableId: y, observableFormula: A, noiseFormula: 0.1}
events:
  - {eventId: e, time: 1, every: 2, count: 3, assignments: {A: A + n}}
conditions:
  - {conditionId: one, n: 1}
  - {conditionId: two, A: 7}
data: [d.csv]
`,
	"d.csv": `# a comment
time,conditionId,y
0,one,1.5

1,two,
2,two,2.5
`,
}

func TestModelFile(t *testing.T) {
	p, err := loadMap(t, small, "m.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "small" || p.Models[0].TimeUnit != "h" || !p.Params[0].Estimate || p.Params[1].Estimate {
		t.Errorf("%+v", p)
	}
	list := experiments(t, p)
	if len(list) != 2 || list[0].Condition != "one" || list[1].Condition != "two" {
		t.Fatalf("%+v", list)
	}
	at := map[string]float64{"k": 2, "A": 5, "n": 3, expr.Time: 0.5}
	for i, want := range []struct{ rate, start, jump float64 }{
		{2*0.5 - (5*1+1)*5, 1, 6},
		{2*0.5 - (5*3+1)*5, 7, 8},
	} {
		e := list[i]
		if got := value(t, e.rates[0], at); got != want.rate {
			t.Errorf("%s: A' = %v: want %v", e.Condition, got, want.rate)
		}
		if got := value(t, e.initial[0], at); got != want.start {
			t.Errorf("%s: A starts at %v: want %v", e.Condition, got, want.start)
		}
		if got := value(t, e.events[0].Jumps[0].Value, at); got != want.jump {
			t.Errorf("%s: A becomes %v: want %v", e.Condition, got, want.jump)
		}
		for k, v := range e.events {
			if got := value(t, v.Time, at); got != 1+2*float64(k) {
				t.Errorf("event %d at %v", k, got)
			}
		}
	}
	if d := p.Models[0].Data; len(d) != 2 || d[0].Value != 1.5 || d[1].Value != 2.5 || d[1].where.Line != 6 || d[0].where.Line != 3 {
		t.Errorf("data %+v", d)
	}
}

func TestModelFileRefused(t *testing.T) {
	refused(t, small, [][3]string{
		{"name: small", "nam: small", "m.yaml:1: the file has a key nam: want name, time, parameters"},
		{"odes:", "equations:", "neither the key “odes”"},
		{"stateId: A", "stateId: k", "m.yaml:12: k appears twice, first on line 4"},
		{"stateId: A", "stateId: t", "m.yaml:12: stateId is the name t, which is reserved for time"},
		{"stateId: A", "stateId: 2A", `m.yaml:12: stateId is "2A"`},
		{"stateId: A", "stateId: f", "f is also the name of a function"},
		{"functionId: f", "functionId: exp", "m.yaml:7: functionId is exp, which is a function of every formula"},
		{"functionId: f", "functionId: piecewise", "m.yaml:7: functionId is piecewise"},
		{"functionId: f", "functionId: arcsin", "m.yaml:7: functionId is arcsin"},
		{"stateId: A, ", "", "m.yaml:12: an entry has no stateId"},
		{"k * t - b", "k * time - b", "m.yaml:12: rightHandSide uses the name time: in this file, the time is called t"},
		{"k * t - b", "k * t - bb", "m.yaml:12: right-hand side of A uses bb, which is not defined"},
		{"k * t - b", "kk * t - b", "m.yaml:12: right-hand side of A uses kk, which is not defined"},
		{"k * t - b", "k * t - ", "m.yaml:12: rightHandSide: column"},
		{"k * t - b", "k * t - y", "m.yaml:12: right-hand side of A uses the observable y"},
		{"initialValue: n", "initialValue: A", "the initial value of A depends on itself"},
		{"formula: a * A", "formula: b * A", "m.yaml:9: assignment b depends on itself"},
		{`formula: "f(A, n)"`, `formula: b`, "depends on itself, through"},
		{"f(A, n)", "f(A)", "m.yaml:10: formula: function f has 1 argument: want 2"},
		{"x * y + 1", `"f(x, y) + 1"`, "function f calls itself"},
		{"lowerBound: 0.1", "lowerBound: .inf", `m.yaml:4: lowerBound is ".inf": want a finite number`},
		{"lowerBound: 0.1", "lowerBound: 20", "want a lower bound less than the upper bound"},
		{"nominalValue: 3", "nominalValue: three", `m.yaml:5: nominalValue is "three"`},
		{"nominalValue: 3", "estimate: 0", "m.yaml:5: parameter n is not estimated and has no nominalValue"},
		{"noiseFormula: 0.1", "noiseFormula: -0.1", "the noise of y is -0.1: want a positive number"},
		{"noiseFormula: 0.1", "noiseFormula: 0.1, noiseDistribution: cauchy", `noiseDistribution is "cauchy"`},
		{"noiseFormula: 0.1", "noiseFormula: 0.1, noiseDistribution: logNormal", `noiseDistribution is "logNormal": want normal and observableTransformation log`},
		{"noiseFormula: 0.1", "noiseFormula: 0.1, noiseDistribution: log-laplace", `noiseDistribution is "log-laplace": want laplace and observableTransformation log`},
		{"noiseFormula: 0.1", "noiseFormula: 0.1, noiseDistribution: logPoisson", `noiseDistribution is "logPoisson": want normal, laplace`},
		{", noiseFormula: 0.1", "", "an entry has no noiseFormula"},
		{"every: 2", "every: 0", "m.yaml:16: the interval in the key “every” is 0: want a positive number"},
		{"count: 3", "count: 2.5", `m.yaml:16: the number in the key “count” is "2.5"`},
		{"count: 3", "count: 1000000000", "want a whole number from 1 to 10000"},
		{", count: 3", "", "m.yaml:16: the key “every” stands without “count”: want the number of times, from 1 to 10000"},
		{"time: 1, ", "time: A, ", "m.yaml:16: the time of event e_1 depends on A: use a formula that contains only parameters, or give the event a trigger instead of a time"},
		{"time: 1, ", "trigger: A < 1, ", "m.yaml:16: event e has both a trigger and the key every: give only one of the two"},
		{"time: 1, every: 2, count: 3", "trigger: A - 1", `m.yaml:16: trigger "A - 1" is a number: want a condition such as x < 1`},
		{"time: 1, every: 2, count: 3", "trigger: A = 1", "m.yaml:16: trigger: column"},
		{"time: 1, every: 2, count: 3", "trigger: A == 1", "m.yaml:16: event trigger that is not continuous is not supported: event e is triggered by A == 1"},
		{"time: 1, every: 2, count: 3", "trigger: floor(A) > 1", "event trigger that is not continuous"},
		{"{A: A + n}", "{k: A + n}", "m.yaml:16: event e_1 sets the estimated parameter k"},
		{"one, n: 1", "one, m: 1", "m.yaml:18: condition one sets m, which is not defined"},
		{"one, n: 1}\n  - {conditionId: two, A: 7", "one, k: 1}\n  - {conditionId: two, k: 7", "m.yaml:4: parameter k is estimated, yet every condition overrides its value"},
		{"nominalValue: 3}", "nominalValue: 3}\n  - {parameterId: c, lowerBound: 1, upperBound: 2}", "m.yaml:6: parameter c is estimated, yet nothing uses it"},
		{"conditionId: two", "conditionId: one", "m.yaml:19: condition one appears twice, first on line 18"},
		{"0,one,1.5", "0,three,1.5", "d.csv:3: condition three is not defined"},
		{"0,one,1.5", "0,one,1.5,7", "d.csv:3: 4 cells: the header has 3 columns"},
		{"0,one,1.5", "0,one,many", `d.csv:3: y is "many"`},
		{"time,conditionId,y", "time,conditionId,z", "d.csv:1: column z is not an observable"},
		{"time,conditionId,y", "day,conditionId,y", "d.csv:1: there is no column t: want t; the table has day, conditionId, y"},
		{"unit: h", "unit: h, start: 0.5", `d.csv:3: time is "0": want inf, or a number ≥ 0.5 (the start time of the model)`},
		{"unit: h", "unit: h, start: soon", `m.yaml:2: start is "soon": want a finite number`},
		{"upperBound: 10", "upperBound: 10, objectivePriorType: Gamma, objectivePriorParameters: 2;1", `m.yaml:4: prior "Gamma": want uniform, normal`},
		{"upperBound: 10", "upperBound: 10, objectivePriorType: gamma, objectivePriorParameters: 2", "m.yaml:4: prior gamma: \"2\": want shape;rate"},
		{"upperBound: 10", "upperBound: 10, objectivePriorType: exponential, objectivePriorParameters: 0", "m.yaml:4: prior exponential: 0: want rate (only a mean or a location may be ≤ 0)"},
		{"upperBound: 10", "upperBound: 10, initializationPriorType: gamma, initializationPriorParameters: 2;1", `m.yaml:4: prior "gamma": want uniform, normal, laplace`},
		{"noiseFormula: 0.1", "noiseFormula: 0.1, noiseDistribution: poisson", "observable y has a noiseFormula, which the distribution poisson does not use"},
		{"noiseFormula: 0.1", "noiseDistribution: poisson", "d.csv:3: the measurement of y is 1.5: want a count"},
		{"noiseFormula: 0.1", "noiseFormula: 0.1, noiseDistribution: negativeBinomial, observableTransformation: log", "observable y has a discrete distribution, but its scale is log: want lin"},
		{"noiseFormula: 0.1", "noiseFormula: 0.1, noiseDistribution: student", "an entry has no degreesOfFreedom"},
		{"noiseFormula: 0.1", "noiseFormula: 0.1, noiseDistribution: student, degreesOfFreedom: 0", "the number of degrees of freedom of y is 0: want a positive number"},
		{"noiseFormula: 0.1", "noiseFormula: 0.1, degreesOfFreedom: 4", "observable y has a degreesOfFreedom, which the distribution normal does not use"},
		{"time,conditionId,y", "time;conditionId;y", "the columns seem to be separated by semicolons; use commas or tabs"},
		{"[d.csv]", "[d.csv, ./d.csv]", "m.yaml:20: data lists d.csv twice: list each file only once"},
		{"[d.csv]", "[e.csv]", "e.csv: cannot be opened"},
		{"[d.csv]", "{d.csv: 1}", "m.yaml:20: data is not a list"},
	})
	refused(t, population, [][3]string{
		{"objectivePriorType: exponential", "objectivePriorType: gamma", "prior gamma has parameters that are not numbers: give numbers, or choose one of the priors"},
		{"2 * between}", "2 * between, nominalValue: 1}", "parameter shift has both a nominalValue and a prior that depends on other parameters"},
		{"2 * between}", "2 * nothing}", "nothing, which is not defined"},
		{"perCondition: 1", "perCondition: yes", `perCondition is "yes": want 1 or 0`},
		{"state: x, amount: 100", "state: y, amount: 100", "dose tablet goes into y, which is not a state"},
		{"duration: 2", "duration: -2", "the time in the key “duration” is -2: want a positive number"},
		{"duration: 2", "duration: inf", "the time in the key “duration” is +Inf: want a positive number"},
		{"duration: 2", "duration: x", "m.yaml:14: the duration of dose infusion depends on x: want a formula that contains only parameters"},
		{"duration: 2, time: 20", "duration: 2, time: time", "m.yaml:14: the time of dose infusion depends on time: want"},
		{"time: 20, every: 3", "time: 20, every: drip", "m.yaml:14: the time of dose infusion depends on drip: want"},
		{"time: 20, every: 3, count: 2}", "time: half, every: 3, count: 2}\nassignments:\n  - {assignmentId: twice, formula: 2 * half}\n  - {assignmentId: half, formula: x / 2}", "the time of dose infusion depends on half: want"},
		{"count: 2}\n  - {doseId: inf", "count: 1e9}\n  - {doseId: inf", `“count” is "1e9": want a whole number`},
		{"{drip: 5}", "{typical: 5}", "event pump sets the estimated parameter typical"},
		{"{drip: 5}", "{level: 5}", "event pump sets level, which is not a state"},
		{"drip, nominalValue: 0", "drip", "m.yaml:8: parameter drip is not estimated and has no nominalValue"},
		{"binomial, noiseFormula: 40", "binomial, noiseFormula: 40, lowerLimit: 3", "observable ill has a discrete distribution, but lowerLimit requires"},
		{"noiseFormula: 2, lowerLimit: 20", "noiseFormula: 2, lowerLimit: 0, observableTransformation: log", "m.yaml:18: lowerLimit is 0, but the scale of level is log: want a limit > 0"},
		{"binomial, noiseFormula: 40", "binomial, noiseFormula: 5", "the value 20 at t = 15 is impossible under bayes.Binomial"},
		{"binomial, noiseFormula: 40", "binomial, noiseFormula: 40.5", "Binomial: Trials is 40.5: want a whole number"},
	})
}

// refused checks that each change of a text in the files, from old to new, gives an error
// of one line.
func refused(t *testing.T, files map[string]string, changes [][3]string) {
	t.Helper()
	for _, c := range changes {
		p, err := loadMap(t, files, "m.yaml", c[0], c[1])
		if err == nil {
			var l *LogLikelihood
			if l, err = p.LogLikelihood(LikelihoodSettings{}); err == nil {
				_, err = l.At(t.Context(), l.p.Nominal(), false)
			}
		}
		if err == nil || !strings.Contains(err.Error(), c[2]) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line with %q", c[1], err, c[2])
		}
	}
}

// A model that starts at time 0 and the same model with a later start have the same
// likelihood and gradient.
func TestStart(t *testing.T) {
	const later = 16
	files := func(start float64) map[string]string {
		return map[string]string{"m.yaml": fmt.Sprintf(`time: {variable: year, start: %v}
parameters:
  - {parameterId: k, nominalValue: 0.7, lowerBound: 0.1, upperBound: 10}
  - {parameterId: when, nominalValue: %v, lowerBound: %v, upperBound: %v}
odes:
  - {stateId: A, rightHandSide: 1 + sin(year - %v) - k * A, initialValue: 2 + year - %[1]v}
  - {stateId: B, rightHandSide: k - B, initialValue: 0}
events:
  - {eventId: first, time: %[1]v, assignments: {A: A + 1}}
  - {eventId: second, time: when, assignments: {A: A / 2}}
  - {eventId: before, time: %[1]v - 1, assignments: {A: 1000}}
observables:
  - {observableId: y, observableFormula: A + B, noiseFormula: 0.1}
  - {observableId: z, observableFormula: B, noiseFormula: 0.1}
data: d.csv
`, start, start+1.5, start+1, start+2, start), "d.csv": fmt.Sprintf("year,y,z\n%v,3.1,\n%v,2.2,\n%v,1.9,\n", start, start+1, start+2)}
	}
	var values []*Evaluation
	for _, start := range []float64{0, later} {
		p, err := loadMap(t, files(start), "m.yaml")
		if err != nil {
			t.Fatal(err)
		}
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.At(context.Background(), l.p.Nominal(), true)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
		b, err := p.Posterior()
		if err != nil {
			t.Fatal(err)
		}
		if at := b.Experiments[0].Problem.Span; at != [2]float64{start, start + 2} {
			t.Errorf("span %v", at)
		}
	}
	// The steady state of an autonomous model does not depend on the start.
	for i, start := range []float64{0, later} {
		text := files(start)
		text["m.yaml"] = strings.Split(strings.Replace(text["m.yaml"], fmt.Sprintf("1 + sin(year - %v)", start), "1", 1), "events:")[0] +
			"observables:\n  - {observableId: y, observableFormula: A + B, noiseFormula: 0.1}\ndata: d.csv\n"
		text["d.csv"] = "year,y\ninf,2.5\n"
		text["m.yaml"] = strings.Replace(text["m.yaml"], fmt.Sprintf("  - {parameterId: when, nominalValue: %v, lowerBound: %v, upperBound: %v}\n", start+1.5, start+1, start+2), "", 1)
		p, err := loadMap(t, text, "m.yaml")
		if err != nil {
			t.Fatal(err)
		}
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.At(context.Background(), l.p.Nominal(), true)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Instances[0].Simulated[0]; math.Abs(got-(1/0.7+0.7)) > 1e-8 {
			t.Errorf("start %d: steady state %v: want %v", i, got, 1/0.7+0.7)
		}
	}
	// The derivative with respect to the time of an event comes from differences relative
	// to that time.
	a, b := values[0], values[1]
	if math.Abs(a.LogLikelihood-b.LogLikelihood) > 1e-7 || math.Abs(a.Gradient[0]-b.Gradient[0]) > 1e-6 || math.Abs(a.Gradient[1]-b.Gradient[1]) > 1e-4 {
		t.Errorf("from 0: %v, %v; from %v: %v, %v", a.LogLikelihood, a.Gradient, later, b.LogLikelihood, b.Gradient)
	}
}

// Every distribution and every prior in a model file becomes the corresponding one of
// package bayes.
func TestModelFileBayes(t *testing.T) {
	for _, c := range []struct{ noise, want string }{
		{"noiseFormula: 0.5", "bayes.Gaussian{0.5}"},
		{"noiseFormula: k", "bayes.Gaussian{k}"},
		{"noiseFormula: k, observableTransformation: log", "bayes.LogNormal{k}"},
		{"noiseFormula: k, observableTransformation: log10", "model.scaled{{k} log10}"},
		{"noiseFormula: k, noiseDistribution: laplace", "bayes.Laplace{k}"},
		{"noiseFormula: k, degreesOfFreedom: 4, noiseDistribution: student", "bayes.StudentT{4 k}"},
		{"noiseDistribution: poisson", "bayes.Poisson{}"},
		{"noiseFormula: k, noiseDistribution: negativeBinomial", "bayes.NegativeBinomial{k}"},
		{"noiseFormula: k * A, noiseDistribution: negativeBinomial", "bayes.NegativeBinomial{noise of y}"},
	} {
		p, err := loadMap(t, small, "m.yaml", "noiseFormula: 0.1", c.noise, "1.5", "1", "2.5", "3")
		if err != nil {
			t.Errorf("%s: %v", c.noise, err)
			continue
		}
		b, err := p.Posterior()
		if err != nil {
			t.Errorf("%s: %v", c.noise, err)
			continue
		}
		if got := fmt.Sprintf("%T%v", b.Experiments[0].Errors[0], b.Experiments[0].Errors[0]); got != c.want {
			t.Errorf("%s: %s: want %s", c.noise, got, c.want)
		}
		// Both ways of computing the likelihood agree, up to the tolerance of the
		// posterior's grid.
		d, err := bayes.NewDensity(context.Background(), b)
		if err != nil {
			t.Errorf("%s: %v", c.noise, err)
			continue
		}
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.At(context.Background(), []float64{2.1, 3}, true)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.LogLikelihood([]float64{2.1}, nil); err != nil || math.Abs(got-v.LogLikelihood) > 1e-3*(1+math.Abs(got)) {
			t.Errorf("%s: %v, %v: want %v", c.noise, got, err, v.LogLikelihood)
		}
		const h = 1e-5
		up, _ := l.At(context.Background(), []float64{2.1 + h, 3}, false)
		down, _ := l.At(context.Background(), []float64{2.1 - h, 3}, false)
		if want := (up.LogLikelihood - down.LogLikelihood) / (2 * h); math.Abs(v.Gradient[0]-want) > 1e-2*(1+math.Abs(want)) {
			t.Errorf("%s: gradient %v: want %v", c.noise, v.Gradient, want)
		}
	}
	for _, c := range []struct{ prior, want string }{
		{"objectivePriorType: normal, objectivePriorParameters: 1;2", "1"},
		{"objectivePriorType: normal, objectivePriorParameters: 0;1, lowerBound: 0", "0.6745"},
		{"objectivePriorType: logNormal, objectivePriorParameters: 1;2", "2.718"},
		{"objectivePriorType: halfNormal, objectivePriorParameters: 2", "1.349"},
		{"objectivePriorType: cauchy, objectivePriorParameters: 3;2", "3"},
		{"objectivePriorType: halfCauchy, objectivePriorParameters: 2", "2"},
		{"objectivePriorType: exponential, objectivePriorParameters: 2", "0.3466"},
		{"objectivePriorType: gamma, objectivePriorParameters: 2;4", "0.4196"},
		{"objectivePriorType: inverseGamma, objectivePriorParameters: 2;4", "2.383"},
		{"objectivePriorType: beta, objectivePriorParameters: 1;3", "0.2063"},
		{"objectivePriorType: uniform, objectivePriorParameters: -1;3", "1"},
	} {
		p, err := loadMap(t, small, "m.yaml", "lowerBound: 0.1, upperBound: 10", c.prior)
		if err != nil {
			t.Errorf("%s: %v", c.prior, err)
			continue
		}
		b, err := p.Posterior()
		if err != nil {
			t.Errorf("%s: %v", c.prior, err)
		} else if got := fmt.Sprintf("%.4g", b.Params[0].Prior.Quantile(0.5)); got != c.want {
			t.Errorf("%s: median %s: want %s", c.prior, got, c.want)
		}
	}
}

// Data from another file replace the data that the model file names.
func TestWithData(t *testing.T) {
	p, err := loadMap(t, small, "m.yaml", "data: [d.csv]\n", "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.csv")
	if err := os.WriteFile(file, []byte("day,conditionId,y\n1,one,2\n3,two,4\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	q, err := p.WithData(file, "day")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Models[0].Data) != 0 || len(q.Models[0].Data) != 2 || q.Models[0].Data[1].Value != 4 || len(q.Files) != 1 {
		t.Errorf("%+v, %v", q.Models[0].Data, q.Files)
	}
	if _, err := p.WithData(file, ""); err == nil || err.Error() != "mine.csv:1: there is no column t: want t; the table has day, conditionId, y" {
		t.Error(err)
	}
	doses := filepath.Join(dir, "doses.csv")
	if err := os.WriteFile(doses, []byte("TIME,AMT,DV\n0,100,.\n3,.,4\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := p.WithData(doses, ""); err == nil || err.Error() != "doses.csv:1: a table with doses belongs to the model: want it under the key data of the model file" {
		t.Error(err)
	}
	q.Models = append(q.Models, q.Models[0])
	if _, err := q.WithData(file, "day"); err == nil || !strings.Contains(err.Error(), "the problem has 2 models: new data can be given only for a problem with one model") {
		t.Error(err)
	}
}

// A table inside the model file is read as a file would be, and messages give the lines of
// the model file.
func TestDataInside(t *testing.T) {
	inside := "data: |\n  # a comment, https://example.org\n  time,conditionId,y\n  0,one,1.5\n\n  2,two,2.5\n"
	p, err := loadMap(t, small, "m.yaml", "data: [d.csv]\n", inside)
	if err != nil {
		t.Fatal(err)
	}
	q, err := loadMap(t, small, "m.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a, b := p.Models[0].Data, q.Models[0].Data
	for i := range b {
		b[i].where = a[i].where
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%+v, want %+v", a, b)
	}
	_, err = loadMap(t, small, "m.yaml", "data: [d.csv]\n", strings.Replace(inside, "2.5", "much", 1))
	if err == nil || !strings.HasPrefix(err.Error(), "m.yaml:25: ") {
		t.Errorf("%v, want an error on line 25", err)
	}
}

// The examples in MODELFILE.md are valid models, and do what the text says.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("MODELFILE.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(page), "```yaml\n")
	n := 0
	for _, part := range parts[1:] {
		text, _, _ := strings.Cut(part, "```")
		if !strings.Contains(text, "odes:") {
			continue
		}
		n++
		files := map[string]string{"m.yaml": text,
			"counts.csv": "time,bacteria\n0,1\n1,2\n", "cases.csv": "day,cases\n3,1\n4,3\n5,9\n", "patients.csv": "t,conditionId,drug\n4,p1,1.5\n25,p1,0\n8,p4,0.9\n", "pond.csv": "time,temperature\n2020-04-01,7.2\n2020-04-02,8.0\n", "algae.csv": "time,density\n2020-04-02,1.1\n",
			"infusions.csv": "ID,TIME,AMT,RATE,II,ADDL,SS,DV,WT\n1,0,100,50,12,3,1,.,62\n1,8,.,.,.,.,.,1.3,62\n",
			"blood.csv":     "conditionId,time,drug\nadult,1,2\nchild,1,2\n",
			"blots.tsv":     "observableId\tsimulationConditionId\tmeasurement\ttime\tobservableParameters\tnoiseParameters\nblot\tcontrol\t1\t2\tgel1\t0.1\nblot\tdrug\t1\t2\tgel2\tsd\n"}
		p, err := loadMap(t, files, "m.yaml")
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		b, err := p.Posterior()
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
		} else if _, err := bayes.NewDensity(context.Background(), b); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		for _, q := range p.Params {
			if math.IsNaN(q.Nominal) {
				t.Errorf("%s has no nominal value", q.ID)
			}
		}
	}
	if n != 8 {
		t.Errorf("%d examples: want 8", n)
	}
}
