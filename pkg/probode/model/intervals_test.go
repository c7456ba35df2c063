package model

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/bayes"
)

const fading = `parameters:
  - {parameterId: k, nominalValue: 0.9, lowerBound: 0.1, upperBound: 10}
  - {parameterId: s, nominalValue: 0.6, lowerBound: 0.1, upperBound: 10}
odes:
  - {stateId: x, rightHandSide: -k * x, initialValue: 5}
observables:
  - {observableId: y, observableFormula: x, observableTransformation: log, noiseFormula: s, upperLimit: 4}
data: d.csv
`

// ln y is normal around ln 5 − kt with sd s, and an interval has the probability of its
// bounds. The same data stand in a wide table and, with pyPESTO's columns, in a long one.
func TestIntervals(t *testing.T) {
	wide := "time,y\n0.1,7\n1,..1.5\n2,0.5..2\n3,0.4..\n3,0.3\n"
	long := "observableId,time,measurement,measurementType,censoringBounds\ny,0.1,4,,\ny,1,0,left-censored,1.5\n" +
		"y,2,0,interval-censored,0.5;2\ny,3,0,right-censored,0.4\ny,3,0.3,,\n"
	want := func(k, s float64) float64 {
		at := func(t float64) distuv.Normal { return distuv.Normal{Mu: math.Log(5) - k*t, Sigma: s} }
		return math.Log(at(0.1).Survival(math.Log(4))) + math.Log(at(1).CDF(math.Log(1.5))) +
			math.Log(at(2).CDF(math.Log(2))-at(2).CDF(math.Log(0.5))) + math.Log(at(3).Survival(math.Log(0.4))) +
			at(3).LogProb(math.Log(0.3)) - math.Log(0.3)
	}
	var files []*File
	for _, data := range []string{wide, long} {
		p, err := loadMap(t, map[string]string{"m.yaml": fading, "d.csv": data}, "m.yaml")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, p)
	}
	name, err := files[0].WriteYAML(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range append(files, again) {
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.At(context.Background(), []float64{0.9, 0.6}, true)
		if err != nil {
			t.Fatal(err)
		}
		const h = 1e-5
		slope := []float64{(want(0.9+h, 0.6) - want(0.9-h, 0.6)) / (2 * h), (want(0.9, 0.6+h) - want(0.9, 0.6-h)) / (2 * h)}
		if math.Abs(v.LogLikelihood-want(0.9, 0.6)) > 1e-7 || math.Abs(v.Gradient[0]-slope[0]) > 1e-5 || math.Abs(v.Gradient[1]-slope[1]) > 1e-5 {
			t.Errorf("file %d: log-likelihood %v, gradient %v: want %v, %v", i, v.LogLikelihood, v.Gradient, want(0.9, 0.6), slope)
		}
		// The prediction at 0.1, 4.57, is above the limit, and that at 1, 2.03, above 1.5.
		if r := v.Instances[0].Residuals; r[0] != 0 || math.Abs(r[1]-(math.Log(1.5)-math.Log(5)+0.9)/0.6) > 1e-6 || r[2] != 0 {
			t.Errorf("residuals %v", r)
		}
	}
}

// However different the intervals of an observable, it has one column. Those of repeated
// measurements have the same name, unless their noise differs. Predictions at new times
// have the same. The likelihood of the posterior is that of the file.
func TestIntervalsShareAColumn(t *testing.T) {
	for _, c := range []struct {
		data, model string
		columns     []string
	}{
		{"time,y\n0.1,7\n1,..1.5\n2,0.5..2\n3,0.4..\n4,0.3\n", fading, []string{"y"}},
		{"time,y\n1,0.5..3\n2,0.5..2\n2,0.4..\n3,0.1..\n3,0.3\n", fading, []string{"y", "y"}},
		{"time,y\n2,0.5..2\n2,0.3\n3,0.4..\n3,0.2\n", strings.Replace(fading, "log, noiseFormula: s", "log10, noiseFormula: s + 0.1 * x", 1), []string{"y", "noise of y", "y"}},
		{"time,y\n1,..1.5\n2,0.5..2\n3,0.4..\n", strings.Replace(fading, "log, noiseFormula: s", "log10, noiseFormula: s + 0.1 * x", 1), []string{"y", "noise of y"}},
		{"time,y\n1,..1.5\n2,0.5..2\n3,0.4..\ninf,0..0.1\ninf,..0.2\n", strings.Replace(fading, "log, noiseFormula: s", "lin, noiseFormula: s", 1), []string{"y", "y", "y"}},
		{"observableId,time,measurement,noiseParameters\ny,1,1,s\ny,1,2,s\ny,2,1.2,0.4\ny,2,1.1,s\ny,2,1.3,s\ny,3,1,0.4\n",
			strings.Replace(fading, "noiseFormula: s", "noiseFormula: noiseParameter1_y", 1), []string{"y", "y", "y_2"}},
		{"observableId,time,measurement,measurementType,censoringBounds,noiseParameters\ny,1,0,interval-censored,1;3,s\ny,2,0,interval-censored,0.5;1,s\ny,3,0.2,,,0.4\n",
			strings.Replace(fading, "noiseFormula: s", "noiseFormula: noiseParameter1_y", 1), []string{"y", "y_2"}},
	} {
		p, err := loadMap(t, map[string]string{"m.yaml": c.model, "d.csv": c.data}, "m.yaml")
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.Posterior()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, x := range b.Experiments {
			names = append(names, x.Data.Names...)
		}
		if !slices.Equal(names, c.columns) {
			t.Errorf("columns %q: want %q", names, c.columns)
		}
		e, err := bayes.NewDensity(context.Background(), b)
		if err != nil {
			t.Fatal(err)
		}
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		theta := []float64{0.9, 0.6}
		v, err := l.At(context.Background(), theta, true)
		if err != nil {
			t.Fatal(err)
		}
		slope := make([]float64, 2)
		if ll, err := e.LikelihoodGradient(slope, nil, theta, nil); err != nil || math.Abs(ll-v.LogLikelihood) > 1e-4 || math.Abs(slope[0]-v.Gradient[0])+math.Abs(slope[1]-v.Gradient[1]) > 1e-3 {
			t.Errorf("log likelihood %v, gradient %v, %v: want %v, %v", ll, slope, err, v.LogLikelihood, v.Gradient)
		}
		out, _, _, err := bayes.PredictPrior(context.Background(), b, 5, []float64{0.5, 2}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, y := range slices.Concat(slices.Concat(out[0].Y...)...) {
			if math.IsNaN(y) {
				t.Error("a prediction is NaN")
			}
		}
	}
}

func TestMistakesInIntervals(t *testing.T) {
	long := func(row string) string {
		return "observableId,time,measurement,measurementType,censoringBounds\n" + row + "\n"
	}
	for _, c := range []struct{ data, want string }{
		{"time,y\n1,<50\n", `d.csv:2: y is "<50", which looks like a limit: want ..50, or a limit of the observable in the model file`},
		{"time,y\n1,3\n2,> 50\n", `d.csv:3: y is "> 50", which looks like a limit: want 50..`},
		{"time,y\n1,..\n", `y is "..": want one or two bounds`},
		{"time,y\n1,3..2\n", "the interval from 3 to 2 is empty"},
		{"time,y\n1,3..b\n", `the bound "b" of an interval is no number`},
		{"time,y\n1,-inf..inf\n", "the interval from -Inf to +Inf has no finite bound: want one at least"},
		{"time,y\n1,-2..0\n", "d.csv:2: the measurement of y is at most 0: want an interval with positive values"},
		{long("y,1,0,interval-censored,3"), `censoringBounds is "3": want two bounds, separated by “;”`},
		{long("y,1,0,ordinal,"), "measurementType ordinal is not supported: want left-censored"},
		{long("y,1,0,censored,1"), "measurementType censored is not supported"},
		{long("y,1,0,,3"), `censoringBounds is "3", but measurementType is empty`},
		{long("y,1,0,left-censored,"), `censoringBounds is "": want one or two bounds`},
	} {
		if _, err := loadMap(t, map[string]string{"m.yaml": fading, "d.csv": c.data}, "m.yaml"); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v: want %s", c.data, err, c.want)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{"upperLimit: 4", "upperLimit: 4, lowerLimit: 5", "upperLimit is 4, but lowerLimit is 5: want a larger upperLimit"},
		{"upperLimit: 4", "upperLimit: -4", "upperLimit is -4, but the scale of y is log: want a limit > 0"},
		{"observableTransformation: log, noiseFormula: s", "noiseDistribution: negativeBinomial, noiseFormula: s", "observable y has a discrete distribution, but upperLimit"},
	} {
		if _, err := loadMap(t, map[string]string{"m.yaml": strings.Replace(fading, c.old, c.new, 1), "d.csv": "time,y\n1,3\n"}, "m.yaml"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: want %s", c.new, err, c.want)
		}
	}
}

// A condition without data can be solved, and observables without data are shown after
// those with data: at x = 3 e^(−k) in condition b.
func TestUnmeasured(t *testing.T) {
	p, err := Parse("m.yaml", []byte(`parameters:
  - {parameterId: k, nominalValue: 0.5, lowerBound: 0.1, upperBound: 10}
odes:
  - {stateId: x, rightHandSide: -k*x, initialValue: 1}
observables:
  - {observableId: z, observableFormula: 2*x, noiseFormula: 1}
  - {observableId: y, observableFormula: x, noiseFormula: 1}
conditions:
  - {conditionId: a}
  - {conditionId: b, x: 3}
data: |
  time,conditionId,y
  1,a,1
`))
	if err != nil {
		t.Fatal(err)
	}
	a := experiments(t, p)[0]
	b, err := p.Unmeasured("b")
	if err != nil || b == nil {
		t.Fatal(b, err)
	}
	for e, want := range map[*Instance]string{a: "y z", b: "z y"} {
		names, at, err := p.Observables(e)
		if err != nil || strings.Join(names, " ") != want {
			t.Fatalf("observables %v, %v: want %s", names, err, want)
		}
		got := make([]float64, 2)
		at(got, 1, []float64{3}, []float64{0.5})
		if (names[0] == "y") != (got[0] == 3 && got[1] == 6) {
			t.Errorf("%v are %v", names, got)
		}
	}
	q, err := p.ODE(b)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 1)
	if q.Initial(x, q.Theta); x[0] != 3 {
		t.Errorf("the state begins at %v: want 3", x[0])
	}
	if e, err := p.Unmeasured("c"); e != nil || err != nil {
		t.Error(e, err)
	}
}
