package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
)

// A randomModel makes model files of random contents. Its names are words to which YAML or
// formulas give a meaning unless they are in quotes, or which differ only in their case.
type randomModel struct{ *rand.Rand }

func (r randomModel) one(of ...string) string { return of[r.IntN(len(of))] }

func (r randomModel) perhaps(text string) string {
	if r.IntN(2) == 0 {
		return text
	}
	return ""
}

// formula returns a formula that is bounded, so that no solution grows without bound, and
// that jumps only at known times, so that no solution slides along a jump. It is full of
// signs, brackets and precedence.
func (r randomModel) formula() string {
	return r.one(
		"sin(-(no - (x - Y)))", "2^-(x^2)", "-tanh(-x^2)", "cos(2*pi*((-x)^2 % 1))", "1/(1 + x^2/(k*(1 + Y^2)))", "exp(-x*x)^k", "sin(x - -no - (-k))",
		"tanh(1e-3*x - 2.5e-1*Y)", "log10(x^2 + 1)/(1 + abs(x))", "max(-1, min(x, Y, no))", "piecewise(no, t < 2 && !(t > 1.5 || y <= -1), -no)",
		"twice(sin(x), no)/twice(2, 1)", "sign_ * cos(null)", "cos(t - k)", "exp(-(t - 2)^2)", "piecewise(1, t < 2.5 && t >= no, 0) * k",
		"atan(sqrt(x^2) - root(3, 8))", "sin(x)^2^-1.0 * 0 + cos(Y)", "xor_", "quot * 0.1")
}

func (r randomModel) text() string {
	s := `"name": "a: model #1, with 'quotes'"
time: {variable: t, unit: "m: in"}
parameters:
  - {parameterId: k, nominalValue: 0.7, lowerBound: 0.01, upperBound: 10, parameterScale: log10, parameterName: "the rate, k: [1/h]"}
  - {parameterId: "no", nominalValue: -0.4, lowerBound: -5, upperBound: 5` + r.perhaps(", objectivePriorType: normal, objectivePriorParameters: -1;2") + `}
  - {parameterId: sd, nominalValue: 0.3, lowerBound: 1e-3, upperBound: 1e2, parameterScale: log` + r.perhaps(", objectivePriorType: logNormal, objectivePriorParameters: 0;1e0, initializationPriorType: parameterScaleUniform, initializationPriorParameters: -1;1") + `}
  - {parameterId: "null", nominalValue: 1e-5}
  - {parameterId: y, nominalValue: 3}
  - {parameterId: sign_, nominalValue: -1}
  - {parameterId: drip, nominalValue: 0.25}
functions:
  - {functionId: twice, arguments: "k, x", formula: "k - -x - k^2"}
assignments:
  - {assignmentId: xor_, formula: "piecewise(-quot, (t > 1) == (y > 0), quot)"}
  - {assignmentId: quot, formula: "sin(x + 2*y)"}
odes:
  - {stateId: x, stateName: "x: the first", rightHandSide: "` + r.formula() + " - k*x + drip*" + r.formula() + `", initialValue: "` + r.one("1", "-no", "k^2 - y/4", "e - pi/2") + `"}
  - {stateId: Y, rightHandSide: "-Y*k + 0.1*no + ` + r.formula() + `", initialValue: 0.5}
observables:
  - {observableId: "on", observableFormula: "` + r.one("x", "x - -Y", "quot + x*k", "sign_*x^2") + `", noiseFormula: sd}
  - {observableId: "Off", observableName: "%: <b>", observableFormula: "2 + x^2 + Y^2", observableTransformation: ` + r.one("lin", "log", "log10") + `, noiseFormula: "` + r.one("0.5*sd", "sd + 0.1*Off", "sd + t/100") + `"` + r.perhaps(", noiseDistribution: laplace") + "}\n"
	s += `  - {observableId: counted, observableFormula: "3 + x^2", noiseDistribution: ` + r.one("poisson}", "negativeBinomial, noiseFormula: 2 + k}", "binomial, noiseFormula: 400 + 100*k}") + "\n" +
		`  - {observableId: grown, observableFormula: "x^2", increase: 1, noiseFormula: sd, noiseDistribution: student, degreesOfFreedom: "3 + k"}
  - {observableId: cut, observableFormula: "2 + x^2", noiseFormula: sd, lowerLimit: 2.5` + r.perhaps(", observableTransformation: log10") + "}\n"
	if r.IntN(3) > 0 {
		s += "conditions:\n  - {conditionId: true_, conditionName: \"no: 1\", sign_: 2, y: 1e1, x: -0.5}\n  - {conditionId: n, sign_: k, drip: " + r.one("0", "y") + "}\n"
	} else {
		s += "conditions:\n  - {conditionId: true_}\n  - {conditionId: n}\n"
	}
	events := "events:\n  - {eventId: e1, time: " + r.one("1.25", "1 + k/2", "0") + ", assignments: {x: \"-x + Y\", Y: x}}\n" +
		r.perhaps("  - {eventId: e2, time: 2.75, every: \"y/3\", count: 2, assignments: {x: \"x + no\"}}\n") +
		r.perhaps("  - {eventId: rate, time: 3.2, assignments: {drip: 1.5}}\n")
	doses := "doses:\n  - {doseId: d1, state: x, amount: \"-no + y/10\", time: " + r.one("0.6", "k") + r.perhaps(", duration: \"1 + k\"") + "}\n" +
		r.perhaps("  - {doseId: d2, state: Y, amount: 2, time: 0.1, every: 1.3, count: 3, duration: 0.4}\n")
	parts := []string{r.perhaps(events), r.perhaps(doses)}
	r.Shuffle(2, func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	columns := []string{"on", "Off", "counted", "grown", "cut"}
	s += strings.Join(parts, "") + "data: |\n  conditionId,t," + strings.Join(columns, ",") + "\n"
	for _, condition := range []string{"true_", "n"} {
		for _, t := range []string{"0", "0.5", "1.25", "2", "3.5", "5e0"} {
			row := []string{condition, t}
			for _, c := range columns {
				cell := strconv.FormatFloat(math.Round(400*r.Float64())/100+0.01, 'g', -1, 64)
				if c == "counted" {
					cell = strconv.Itoa(r.IntN(9))
				}
				row = append(row, r.one(cell, cell, "NA", ""))
			}
			s += "  " + strings.Join(row, ",") + "\n"
		}
	}
	return s
}

// A model file that probode writes has the likelihood of the model that was read, and its
// gradient, for models with everything that a model file can express. The likelihoods are computed with one tolerance, and with the same formulas, so they differ
// by rounding only, which the choice of the steps can enlarge to the order of the
// tolerance, 1e-6 of each residual. A gradient is found by the ID of its parameter.
func TestRandomModelsRoundTrip(t *testing.T) {
	evaluate := func(p *File) (float64, map[string]float64, error) {
		l, err := p.LogLikelihood(LikelihoodSettings{Tolerance: probode.Tolerance{Relative: 1e-6}})
		if err != nil {
			return 0, nil, err
		}
		v, err := l.At(t.Context(), l.p.Nominal(), true)
		if err != nil {
			return 0, nil, err
		}
		gradient := map[string]float64{}
		for i, q := range l.Estimated() {
			gradient[q.ID] = v.Gradient[i]
		}
		return v.LogLikelihood, gradient, nil
	}
	rng := randomModel{rand.New(rand.NewPCG(5, 8))}
	for trial := range 12 {
		text := rng.text()
		p, err := Parse("m", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		want, slope, err := evaluate(p)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		fail := func(format string, args ...any) {
			t.Errorf("model %d: %s\n%s", trial, fmt.Sprintf(format, args...), text)
		}
		name, err := p.WriteYAML(t.TempDir())
		if err != nil {
			fail("%v", err)
			continue
		}
		q, err := Load(name)
		if err != nil {
			fail("%v", err)
			continue
		}
		got, gradient, err := evaluate(q)
		if err != nil || math.Abs(got-want) > 1e-5*(1+math.Abs(want)) || len(gradient) != len(slope) {
			fail("the log-likelihood is %v, with derivatives %v: %v; want %v and %v", got, gradient, err, want, slope)
		}
		for id, s := range slope {
			if math.Abs(gradient[id]-s) > 1e-4*(1+math.Abs(s)) {
				fail("the derivative with respect to %s is %v: want %v", id, gradient[id], s)
			}
		}
		// What the likelihood does not depend on is kept, too.
		for _, x := range p.Params {
			if !x.Estimate {
				continue
			}
			k := slices.IndexFunc(q.Params, func(y Parameter) bool { return y.ID == x.ID })
			if y := q.Params[k]; y.name != x.name || y.Scale != x.Scale || y.Lower != x.Lower || y.Upper != x.Upper || y.Prior != x.Prior || y.start != x.start {
				fail("the parameter is %+v: want %+v", y, x)
			}
		}
	}
}
