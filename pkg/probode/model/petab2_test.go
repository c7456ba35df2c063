package model

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// tiny2 is a problem of PEtab 2: A and B turn into each other with the rates k and r.
var tiny2 = map[string]string{
	"p.yaml": `format_version: 2.0.0
id: tiny
parameter_files: [p.tsv]
model_files:
  m: {location: m.xml, language: sbml}
observable_files: [o.tsv]
condition_files: [c.tsv]
experiment_files: [e.tsv]
measurement_files: [d.tsv]
`,
	"p.tsv": `parameterId	lowerBound	upperBound	nominalValue	estimate	priorDistribution	priorParameters
k	0.01	100	2	true	log-normal	0;1
a0			3	false
`,
	"o.tsv": `observableId	observableFormula	noiseFormula	noiseDistribution	observablePlaceholders	noisePlaceholders
a	A	1
b	B	1
`,
	"c.tsv": `conditionId	targetId	targetValue
begin	A	a0
fast	r	4
`,
	"e.tsv": `experimentId	time	conditionId
e	0	begin
e	1	fast
`,
	"d.tsv": `observableId	experimentId	measurement	time	observableParameters	noiseParameters
a	e	0.5	2
`,
	"m.xml": `<?xml version="1.0" encoding="UTF-8"?>
<sbml xmlns="http://www.sbml.org/sbml/level2/version4" level="2" version="4"><model id="m">
<listOfCompartments><compartment id="c" size="1"/></listOfCompartments>
<listOfSpecies><species id="A" compartment="c" initialConcentration="1"/><species id="B" compartment="c" initialConcentration="0"/></listOfSpecies>
<listOfParameters><parameter id="k" value="9"/><parameter id="r" value="1"/><parameter id="p" value="5"/></listOfParameters>
<listOfReactions><reaction id="v"><listOfReactants><speciesReference species="A"/></listOfReactants>
<listOfProducts><speciesReference species="B"/></listOfProducts><kineticLaw>{c*(k*A - r*B)}</kineticLaw></reaction></listOfReactions>
</model></sbml>
`,
}

// moved returns A and B after a time t, with the rates k and r.
func moved(a, b, k, r, t float64) (float64, float64) {
	rest := r * (a + b) / (k + r)
	now := rest + (a-rest)*math.Exp(-(k+r)*t)
	return now, a + b - now
}

// What an experiment does follows from the solution of A′ = r B − k A, A + B constant, in
// each of its periods; k = 2 and a0 = 3 are in the parameter table, r is 1 in the model.
func TestExperimentsOfPEtab2(t *testing.T) {
	inf := math.Inf(1)
	a2, _ := moved(3, 0, 2, 1, 1)
	swapA, swapB := moved(1, 0, 2, 1, 1)
	slow, slowB := moved(3, 0, 2, 1, 1)
	for _, c := range []struct {
		name                     string
		conditions, experiments  string // rows without their headers
		observed                 string // a formula
		data                     string // times
		want                     func(t float64) float64
		replace                  []string
		preequilibration, states string
	}{
		{name: "no experiment", data: "0 1", want: func(t float64) float64 { a, _ := moved(1, 0, 2, 1, t); return a }},
		{name: "one period", conditions: "c1 A a0,c1 r k/4", experiments: "e 0 c1", data: "0 2",
			want: func(t float64) float64 { a, _ := moved(3, 0, 2, 0.5, t); return a }},
		{name: "a later start", conditions: "c1 A a0+time", experiments: "e 5 c1", data: "5 6",
			want: func(t float64) float64 { a, _ := moved(8, 0, 2, 1, t-5); return a }},
		{name: "a constant changes", conditions: "c1 A a0,c2 r 4", experiments: "e 0 c1,e 1 c2", data: "0 1 3",
			want: func(t float64) float64 {
				if t < 1 {
					a, _ := moved(3, 0, 2, 1, t)
					return a
				}
				a, _ := moved(a2, 3-a2, 2, 4, t-1)
				return a
			}},
		{name: "rows in another order", conditions: "c2 r 4,c1 A a0", experiments: "e 1 c2,e 0 c1", data: "3",
			want: func(t float64) float64 { a, _ := moved(a2, 3-a2, 2, 4, 2); return a }},
		{name: "two exchanged, at a measurement", conditions: "c1 A B,c2 B A", experiments: "e 0 ,e 1 c1,e 1 c2", data: "1 2", observed: "A",
			want: func(t float64) float64 { a, _ := moved(swapB, swapA, 2, 1, t-1); return a }},
		{name: "time and a constant in a value", conditions: "c1 r r+time,c1 A A*r", experiments: "e 0 ,e 2 c1", data: "2 3",
			want: func(t float64) float64 {
				a, b := moved(1, 0, 2, 1, 2)
				a, _ = moved(a, b, 2, 3, t-2)
				return a
			}},
		{name: "a steady state after all periods", conditions: "c1 A A+a0,c2 r 4", experiments: "e 0 ,e 1 c1,e 10 c2", data: "inf",
			want: func(t float64) float64 { return 4 * 4.0 / 6 }},
		{name: "preequilibration, and a constant that it keeps", conditions: "c1 r 4,c1 A a0,c2 A 1", experiments: "e -inf c1,e 0 c2", data: "0 1",
			want: func(t float64) float64 { a, _ := moved(1, 1, 2, 4, t); return a }, preequilibration: "c1", states: "A B"},
		{name: "preequilibration, and another constant", conditions: "c1 r 4,c2 r 1", experiments: "e -inf c1,e 0 c2", data: "0 1 inf",
			want: func(t float64) float64 {
				if math.IsInf(t, 1) {
					return 1 / 3.0
				}
				a, _ := moved(2/3.0, 1/3.0, 2, 1, t)
				return a
			}, preequilibration: "c1", states: "A B"},
		{name: "preequilibration, and values that depend on its end", conditions: "c1 r 4,c2 r r-2,c2 A B+r", experiments: "e -inf c1,e 0 c2", data: "0 1",
			want: func(t float64) float64 { a, _ := moved(1/3.0+4, 1/3.0, 2, 2, t); return a }, preequilibration: "c1"},
		{name: "preequilibration and a later start", conditions: "c1 A A+1", experiments: "e -inf ,e 3 ,e 4 c1", data: "3 5",
			want: func(t float64) float64 {
				if t < 4 {
					return 1 / 3.0
				}
				a, _ := moved(4/3.0, 2/3.0, 2, 1, t-4)
				return a
			}, preequilibration: "no condition"},
		{name: "preequilibration alone", conditions: "c1 A a0", experiments: "e -inf c1", data: "0 inf",
			want: func(float64) float64 { return 1 }, preequilibration: "c1"},
		// p is changed by an event as soon as A falls below 1/2, once and for all.
		{name: "an event in a preequilibration", conditions: "c1 p p+1", experiments: "e -inf ,e 1 c1", data: "1 2 inf", observed: "p",
			want: func(float64) float64 { return 2*5 + 1 }, preequilibration: "no condition",
			replace: []string{"<listOfReactions>", `<listOfEvents><event id="x"><trigger>{A < 0.5}</trigger><listOfEventAssignments><eventAssignment variable="p">{2*p}</eventAssignment></listOfEventAssignments></event></listOfEvents><listOfReactions>`,
				`<parameter id="p" value="5"/>`, `<parameter id="p" value="5" constant="false"/>`}},
		// The change at 2 lifts A over 4/3, and the event sees it.
		{name: "an event that a period triggers", conditions: "c1 A a0", experiments: "e -inf ,e 2 c1", data: "2", observed: "p + A",
			want: func(float64) float64 { return 10 + 3 }, preequilibration: "no condition",
			replace: []string{"<listOfReactions>", `<listOfEvents><event id="x"><trigger>{A > 4/3}</trigger><listOfEventAssignments><eventAssignment variable="p">{2*p}</eventAssignment></listOfEventAssignments></event></listOfEvents><listOfReactions>`,
				`<parameter id="p" value="5"/>`, `<parameter id="p" value="5" constant="false"/>`}},
		// The period comes before an event at the same time.
		{name: "an event at the time of a period", conditions: "c1 A a0", experiments: "e 0 ,e 2 c1", data: "2", observed: "A",
			want:    func(float64) float64 { return 6 },
			replace: []string{"<listOfReactions>", `<listOfEvents><event id="x"><trigger>{time >= 2}</trigger><listOfEventAssignments><eventAssignment variable="A">{2*A}</eventAssignment></listOfEventAssignments></event></listOfEvents><listOfReactions>`}},
		{name: "a delay that begins before the start", conditions: "c1 A a0", experiments: "e 2 c1", data: "5", observed: "p",
			want: func(float64) float64 { return 5 },
			replace: []string{"<listOfReactions>", `<listOfEvents><event id="x"><trigger>{time >= 1}</trigger><delay>{2}</delay><listOfEventAssignments><eventAssignment variable="p">{2*p}</eventAssignment></listOfEventAssignments></event></listOfEvents><listOfReactions>`,
				`<parameter id="p" value="5"/>`, `<parameter id="p" value="5" constant="false"/>`}},
		{name: "a compartment at the start", conditions: "c1 c 4", experiments: "e 0 c1", data: "0 1", observed: "A * c",
			want: func(t float64) float64 { a, _ := moved(1, 0, 2, 1, t); return 4 * a }},
		// A new size preserves concentrations, and changes amounts.
		{name: "a compartment changes", conditions: "c1 A a0,c2 c 4", experiments: "e 0 c1,e 1 c2", data: "1 2", observed: "A * c",
			want: func(t float64) float64 { a, _ := moved(slow, slowB, 2, 1, t-1); return 4 * a }},
		{name: "a compartment and a concentration change", conditions: "c1 c 2*c,c1 A A+c", experiments: "e 0 ,e 1 c1", data: "1", observed: "A * c",
			want: func(float64) float64 { return 2 * (swapA + 1) }},
		{name: "a compartment changes after a preequilibration", conditions: "c1 c 4", experiments: "e -inf ,e 0 c1", data: "0 1", observed: "A * c",
			want: func(float64) float64 { return 4 / 3.0 }, preequilibration: "no condition"},
		{name: "what only an observable uses", conditions: "c1 s 2,c2 s 2*s+k", experiments: "e 0 c1,e 1 c2", data: "1", observed: "s", want: func(float64) float64 { return 6 }},
		{name: "the same, but constant", conditions: "c1 s a0", experiments: "e 0 c1", data: "1", observed: "s", want: func(float64) float64 { return 3 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := func(rows string) string { return strings.NewReplacer(",", "\n", " ", "\t").Replace(rows) + "\n" }
			files := maps.Clone(tiny2)
			if files["c.tsv"] = "conditionId\ttargetId\ttargetValue\n" + table(c.conditions); c.conditions == "" {
				files["p.yaml"] = strings.Replace(files["p.yaml"], "condition_files: [c.tsv]\n", "", 1)
			}
			files["e.tsv"] = "experimentId\ttime\tconditionId\n" + table(c.experiments)
			experiment := "e"
			if c.experiments == "" {
				files["p.yaml"], experiment = strings.Replace(files["p.yaml"], "experiment_files: [e.tsv]\n", "experiment_files:\n", 1), ""
			}
			if c.observed == "" {
				c.observed = "A"
			}
			files["o.tsv"] = "observableId\tobservableFormula\tnoiseFormula\ny\t" + c.observed + "\t1 + k\n"
			files["d.tsv"] = "observableId\texperimentId\ttime\tmeasurement\n"
			for _, at := range strings.Fields(c.data) {
				files["d.tsv"] += "y\t" + experiment + "\t" + at + "\t1\n"
			}
			if strings.Contains(c.conditions, "a0") {
				files["p.tsv"] = strings.Replace(files["p.tsv"], "a0\t\t\t3\tfalse", "a0\t0\t10\t3\ttrue", 1)
			}
			p, err := loadMap(t, files, "p.yaml", c.replace...)
			if err != nil {
				t.Fatal(err)
			}
			e := experiments(t, p)[0]
			if e.preequilibration != c.preequilibration || e.Condition != experiment || c.states != "" && strings.Join(e.states, " ") != c.states {
				t.Errorf("preequilibration %q, condition %q, states %v", e.preequilibration, e.Condition, e.states)
			}
			v := gradient(t, p, p.Nominal(), nil)
			for i, at := range strings.Fields(c.data) {
				x, err := source.ParseNumber(at)
				if err != nil {
					x = inf
				}
				if got, want := v.Instances[0].Simulated[i], c.want(x); !(math.Abs(got-want) <= 1e-7*math.Abs(want)) {
					t.Errorf("at %v there is %.10g: want %.10g", at, got, want)
				}
			}
		})
	}
}

// Noise and placeholders: the log density of each measurement is written out. A is 1 at the
// start.
func TestNoiseOfPEtab2(t *testing.T) {
	normal := func(z, sd float64) float64 { return -z*z/(2*sd*sd) - math.Log(sd) - math.Log(2*math.Pi)/2 }
	double := func(z, b float64) float64 { return -math.Abs(z)/b - math.Log(2*b) }
	for _, c := range []struct {
		observable string // formula, noise, distribution, placeholders
		row        string // observableParameters, noiseParameters
		want       float64
	}{
		{"A\t0.5", "", normal(0.7-1, 0.5)},
		{"A\t0.5\tnormal", "", normal(0.7-1, 0.5)},
		{"2*A\t0.5\tlog-normal", "", normal(math.Log(0.7)-math.Log(2), 0.5) - math.Log(0.7)},
		{"A\t0.5\tlaplace", "", double(0.7-1, 0.5)},
		{"2*A\t0.5\tlog-laplace", "", double(math.Log(0.7)-math.Log(2), 0.5) - math.Log(0.7)},
		{"scale*A + offset\tsd + rel*a\t\tscale;offset\tsd; rel", "2;0.25\tk;0.5", normal(0.7-2.25, 2+0.5*2.25)},
		{"scale*A\tscale\t\tscale", "k", normal(0.7-2, 2)},
		{"A\tnoiseParameter1_b\t\t\tnoiseParameter1_b", "\t0.5", normal(0.7-1, 0.5)}, // a name of PEtab 1 means nothing
	} {
		files := maps.Clone(tiny2)
		header, _, _ := strings.Cut(files["o.tsv"], "\n")
		files["o.tsv"] = header + "\na\t" + c.observable + "\n"
		files["d.tsv"] = "observableId\texperimentId\tmeasurement\ttime\tobservableParameters\tnoiseParameters\na\t\t0.7\t0\t" + c.row + "\n"
		p, err := loadMap(t, files, "p.yaml", "fast\tr\t4", "fast\tr\t4*k")
		if err != nil {
			t.Errorf("%q: %v", c.observable, err)
			continue
		}
		if v := evaluate(t, p); v != nil && !near(v.LogLikelihood, c.want) {
			t.Errorf("%q: %v, want %v", c.observable, v.LogLikelihood, c.want)
		}
	}
}

// A prior of PEtab 2 has the density that its specification states, divided by its mass
// between the bounds, which Simpson's rule finds.
func TestPriorsOfPEtab2(t *testing.T) {
	lg := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
	inf := math.Inf(1)
	for _, c := range []struct {
		prior, low, high string
		q                func(x float64) float64
		from, to         float64 // of the support
	}{
		{"\t", "1", "5", func(x float64) float64 { return 1 }, 1, 5},
		{"uniform\t1;4", "2", "inf", func(x float64) float64 { return 1 }, 2, 4},
		{"normal\t1;2", "0", "5", func(x float64) float64 { return math.Exp(-(x-1)*(x-1)/8) / math.Sqrt(8*math.Pi) }, 0, 5},
		{"normal\t1;2", "-inf", "inf", func(x float64) float64 { return math.Exp(-(x-1)*(x-1)/8) / math.Sqrt(8*math.Pi) }, -inf, inf},
		{"laplace\t3;5", "0", "10", func(x float64) float64 { return math.Exp(-math.Abs(x-3)/5) / 10 }, 0, 10},
		{"cauchy\t3;5", "0", "10", func(x float64) float64 { return 1 / (5 * math.Pi * (1 + (x-3)*(x-3)/25)) }, 0, 10},
		{"log-normal\t1;2", "0.5", "9", func(x float64) float64 {
			return math.Exp(-(math.Log(x)-1)*(math.Log(x)-1)/8) / (x * math.Sqrt(8*math.Pi))
		}, 0.5, 9},
		{"log-laplace\t1;2", "0", "inf", func(x float64) float64 { return math.Exp(-math.Abs(math.Log(x)-1)/2) / (4 * x) }, 0, inf},
		{"log-uniform\t1;4", "0.1", "3", func(x float64) float64 { return 1 / x }, 1, 3},
		{"log-uniform\t1;4", "0", "inf", func(x float64) float64 { return 1 / (x * math.Log(4)) }, 1, 4},
		{"exponential\t3", "0", "inf", func(x float64) float64 { return math.Exp(-x/3) / 3 }, 0, inf},
		{"exponential\t3", "1", "4", func(x float64) float64 { return math.Exp(-x / 3) }, 1, 4},
		{"gamma\t3;0.5", "0", "inf", func(x float64) float64 { return x * x * math.Exp(-x/0.5) / (math.Exp(lg(3)) * 0.125) }, 0, inf},
		{"gamma\t3;0.5", "0.5", "2", func(x float64) float64 { return x * x * math.Exp(-x/0.5) }, 0.5, 2},
		{"chisquare\t5", "0", "inf", func(x float64) float64 { return math.Pow(x, 1.5) * math.Exp(-x/2) / math.Exp(2.5*math.Ln2+lg(2.5)) }, 0, inf},
		{"rayleigh\t3", "0", "inf", func(x float64) float64 { return x / 9 * math.Exp(-x*x/18) }, 0, inf},
		{"rayleigh\t3", "1", "4", func(x float64) float64 { return x * math.Exp(-x*x/18) }, 1, 4},
	} {
		p, err := loadMap(t, tiny2, "p.yaml", "0.01\t100\t2\ttrue\tlog-normal\t0;1", c.low+"\t"+c.high+"\t2\ttrue\t"+c.prior)
		if err != nil {
			t.Errorf("%s: %v", c.prior, err)
			continue
		}
		d, err := p.Params[0].Distribution()
		if err != nil {
			t.Errorf("%s: %v", c.prior, err)
			continue
		}
		mass := 1.0
		if !math.IsInf(c.to, 1) {
			const n = 3000 // a multiple of 10, so that the kink of laplace is at an end of a piece
			h := (c.to - c.from) / n
			mass = 0
			for i := range n {
				x := c.from + h*float64(i)
				mass += h / 6 * (c.q(x) + 4*c.q(x+h/2) + c.q(x+h))
			}
		}
		for _, x := range []float64{-1, 0.3, 1.5, 2.5, 3.5, 6, 20} {
			want := math.Log(c.q(x) / mass)
			if !(x >= c.from && x <= c.to) {
				want = -inf
			}
			if got := d.LogProb(x); got != want && !(math.Abs(got-want) < 1e-9) {
				t.Errorf("%s in [%s, %s]: the log density of %v is %v, want %v", c.prior, c.low, c.high, x, got, want)
			}
		}
	}
}

// The measurements of two models, of experiments that begin at different times, and of
// none, in one problem. The second model has no r and no B, which only other rows use.
func TestModelsOfPEtab2(t *testing.T) {
	files := maps.Clone(tiny2)
	files["n.xml"] = strings.NewReplacer(`<species id="B" compartment="c" initialConcentration="0"/>`, "", `<parameter id="r" value="1"/>`, "",
		"- r*B", "", `<listOfProducts><speciesReference species="B"/></listOfProducts>`, "").Replace(files["m.xml"])
	files["p.yaml"] = strings.Replace(files["p.yaml"], "  m:", "  n: {location: n.xml, language: sbml}\n  m:", 1)
	files["e.tsv"] += "f\t3\tbegin\n"
	files["d.tsv"] = "observableId\tmodelId\texperimentId\tmeasurement\ttime\na\tm\te\t1\t2\nb\tm\t\t1\t2\na\tn\tf\t1\t4\na\tm\tf\t1\t4\n"
	p, err := loadMap(t, files, "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a, b := moved(3, 0, 2, 1, 1)
	a, _ = moved(a, b, 2, 4, 1)
	_, b = moved(1, 0, 2, 1, 2)
	later, _ := moved(3, 0, 2, 1, 1)
	want := []float64{3 * math.Exp(-2), a, b, later} // n, then m
	v := evaluate(t, p)
	if v == nil || len(v.Instances) != len(want) || len(p.Warnings) > 0 {
		t.Fatalf("%v, %q", v, p.Warnings)
	}
	for i, w := range want {
		if got := v.Instances[i].Simulated[0]; !(math.Abs(got-w) < 1e-7) {
			t.Errorf("instance %d: %v, want %v", i, got, w)
		}
	}
}

// An experiment without data can be solved, unless it needs a preequilibration.
func TestUnmeasuredExperiments(t *testing.T) {
	p, err := loadMap(t, tiny2, "p.yaml", "e\t1\tfast\n", "e\t1\tfast\nf\t0\tfast\ng\t-inf\tfast\nh\t0\t\nh\t1\tfast\n")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, id := range []string{"e", "f", "g", "h"} {
		if e, err := p.Unmeasured(id); err != nil {
			t.Error(err)
		} else if e != nil {
			found = append(found, id)
			if (len(e.events) > 0) != (id != "f") {
				t.Errorf("%s: events %v", id, e.events)
			}
		}
	}
	if strings.Join(found, "") != "efh" {
		t.Errorf("found %v", found)
	}
	if _, err := p.WriteYAML(t.TempDir()); err == nil || !strings.Contains(err.Error(), "an experiment with several periods") {
		t.Errorf("written: %v", err)
	}
	// One period is a condition of a model file, if its values are numbers or parameters.
	for value, want := range map[string]string{"4": "", "4 + k": "want a finite number or the ID of a parameter"} {
		p, err := loadMap(t, tiny2, "p.yaml", "e\t1\tfast", "e\t0\tfast", "r\t4", "r\t"+value)
		if err != nil {
			t.Fatal(err)
		}
		name, err := p.WriteYAML(t.TempDir())
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", value, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		q, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if v, w := evaluate(t, p), evaluate(t, q); v != nil && w != nil && v.LogLikelihood != w.LogLikelihood {
			t.Errorf("%v, as a model file %v", v.LogLikelihood, w.LogLikelihood)
		}
	}
}

// What cannot be understood is refused, with the place and the name of what it is.
func TestPEtab2Refused(t *testing.T) {
	for _, c := range []struct {
		replace       []string
		want, feature string
	}{
		{[]string{"2.0.0", "3.0.0"}, "p.yaml:1: PEtab 3.0.0 is not supported: want format_version 1 or 2", "PEtab 3.0.0"},
		{[]string{"2.0.0", "2"}, "", ""},
		{[]string{"language: sbml", "language: pysb"}, "p.yaml:5: PEtab model in pysb is not supported: want sbml", "PEtab model in pysb"},
		{[]string{"  m: {location: m.xml, language: sbml}", "- m.xml"}, "p.yaml:5: model_files is not a mapping of models", ""},
		{[]string{", language: sbml", ""}, "p.yaml:5: model m has no language", ""},
		{[]string{"location: m.xml, ", ""}, "p.yaml:5: model m has no location", ""},
		{[]string{"id: tiny", "extensions: {x: {version: 1.0.0, required: true}}"}, "p.yaml:2: PEtab extension is not supported: x is required", "PEtab extension"},
		{[]string{"id: tiny", "extensions: {x: {version: 1.0.0, required: false}}"}, "", ""},
		{[]string{"id: tiny", "problems: []"}, "p.yaml:2: the file has a key problems", ""},
		{[]string{"[d.tsv]", "[d.tsv, d.tsv]"}, "measurement_files lists d.tsv twice", ""},

		{[]string{"priorDistribution\tpriorParameters", "parameterScale\tpriorParameters"}, "p.tsv:1: column parameterScale is one of PEtab 1", ""},
		{[]string{"\ttrue", "\t1"}, `p.tsv:2: estimate is "1": want true or false`, ""},
		{[]string{"log-normal\t0;1", "logNormal\t0;1"}, `p.tsv:2: priorDistribution is "logNormal": want one of cauchy, chisquare,`, ""},
		{[]string{"log-normal\t0;1", "gamma\t2"}, `p.tsv:2: prior gamma: "2": want shape;scale`, ""},
		{[]string{"log-normal\t0;1", "exponential\t0"}, "p.tsv:2: prior exponential: 0: want scale (only", ""},
		{[]string{"log-normal\t0;1", "chisquare\t-1"}, "p.tsv:2: prior chisquare: -1: want degrees of freedom (only", ""},
		{[]string{"log-normal\t0;1", "log-uniform\t0;1"}, "p.tsv:2: prior log-uniform: 0;1: want from;to (only", ""},
		{[]string{"log-normal\t0;1", "uniform\t"}, "p.tsv:2: prior uniform", ""},
		{[]string{"log-normal\t0;1", "\t0;1"}, "no priorDistribution", ""},
		{[]string{"0.01\t100", "inf\t100"}, `p.tsv:2: lowerBound is "inf": want a finite number`, ""},
		{[]string{"0.01\t100\t2\ttrue\tlog-normal\t0;1", "0.01\tinf\t2\ttrue"}, "p.tsv:2: parameter k is estimated but lacks a bound", ""},

		{[]string{"\na\tA\t1", "\na\tA\t1\tlog10-normal"}, `o.tsv:2: noiseDistribution is "log10-normal": want normal, log-normal, laplace or log-laplace`, ""},
		{[]string{"\na\tA\t1", "\na\tA\t1\tlog-"}, `o.tsv:2: noiseDistribution is "log-"`, ""},
		{[]string{"\na\tA\t1", "\na\tA\t1\t\ts"}, "o.tsv:2: observablePlaceholders has s, which the formulas of a do not contain", ""},
		{[]string{"\na\tA\t1", "\na\tA*k\t1\t\tk"}, `o.tsv:2: observablePlaceholders has the name "k": want a name that nothing else has`, ""},
		{[]string{"\na\tA\t1", "\na\tA*r\t1\t\tr"}, `o.tsv:2: observablePlaceholders has the name "r"`, ""},
		{[]string{"\na\tA\t1", "\na\tA*s\ts\t\ts\ts"}, `o.tsv:2: noisePlaceholders has the name "s"`, ""},
		{[]string{"\na\tA\t1", "\na\tA*s\t1\t\ts;"}, `o.tsv:2: observablePlaceholders has the name ""`, ""},
		{[]string{"\na\tA\t1", "\na\tA*s\t1\t\ts"}, "d.tsv:2: the row has no value for the placeholder", ""},
		{[]string{"\na\tA\t1", "\na\tA*s\t1"}, "o.tsv:2: observable a uses s, which is not defined", ""},
		{[]string{"\na\tA\t1", "\na\tA*b\t1"}, "o.tsv:2: observable a uses b, which is not defined", ""},

		{[]string{"begin\tA\ta0", "begin\tA\ta0\nbegin\tA\t2"}, "c.tsv:3: condition begin sets A twice", ""},
		{[]string{"begin\tA", "begin\tk"}, "c.tsv:2: condition begin sets k, which is also in the parameter table", ""},
		{[]string{"begin\tA\ta0", "begin\tA\tr"}, "c.tsv:2: experiment e begins with A = r, which contains r: want numbers and IDs of the parameter table", ""},
		{[]string{"begin\tA\ta0", "begin\tx\ta0"}, "sets x, which is not defined", ""},
		{[]string{"begin\tA\ta0", "begin\tv\ta0"}, "condition e sets v, which is determined by a formula", ""},
		{[]string{"fast\tr", "fast\tv"}, "c.tsv:3: v is set at time 1, and is not a parameter or a state of the model", ""},
		{[]string{"fast\tr\t4", "fast\tr\tx"}, "e.tsv:3: event e at 1 uses x, which is not defined", ""},
		{[]string{"fast\tr\t4", "fast\tr\tA > 1"}, "c.tsv:3: targetValue", ""},
		{[]string{"targetId\ttargetValue", "A\tr"}, "c.tsv:1: there is no column targetId", ""},

		{[]string{"e\t1\tfast", "e\t1\tslow"}, "e.tsv:3: condition slow is not defined", ""},
		{[]string{"e\t1\tfast", "e\t0\tbegin"}, "e.tsv:3: experiment e sets A twice at time 0", ""},
		{[]string{"e\t1\tfast", "e\tinf\tfast"}, `e.tsv:3: time is "inf": want a finite number or -inf`, ""},
		{[]string{"e\t0\tbegin", "e\t-inf\tbegin", "a\te\t0.5\t2", "a\te\t0.5\t0.5"}, `d.tsv:2: time is "0.5": want inf, or a number ≥ 1`, ""},
		{[]string{"e\t0\tbegin", "begin\t-inf\tbegin\ne\t0\t", "a\te\t0.5\t2", "a\tbegin\t0.5\t2"}, "condition begin appears twice", ""},
		{[]string{"e\t0\tbegin", "e\t-inf\tbegin", "{c*(k*A - r*B)}", "{c*(k*A - r*B)*time}"}, "preequilibration that depends on the time is not supported", "preequilibration that depends on the time"},
		{[]string{"e\t0\tbegin", "e\t-inf\tbegin", "<listOfReactions>", `<listOfEvents><event id="x"><trigger>{time >= 2}</trigger><listOfEventAssignments><eventAssignment variable="A">{1}</eventAssignment></listOfEventAssignments></event></listOfEvents><listOfReactions>`},
			"event before a steady state is not supported: event x", "event before a steady state"},

		{[]string{"0.5\t2", "0.5\tinf", "<listOfReactions>", `<listOfEvents><event id="x"><trigger>{A*time > 2}</trigger><listOfEventAssignments><eventAssignment variable="A">{1}</eventAssignment></listOfEventAssignments></event></listOfEvents><listOfReactions>`},
			"event before a steady state is not supported: event x", "event before a steady state"},

		{[]string{"a\te\t0.5", "a\tf\t0.5"}, "d.tsv:2: experiment f is not defined", ""},
		{[]string{"experimentId\tmeasurement", "simulationConditionId\tmeasurement"}, "d.tsv:1: there is no column experimentId", ""},
		{[]string{"time\tobservableParameters\tnoiseParameters", "time\tmodelId", "0.5\t2", "0.5\t2\tq"}, `d.tsv:2: modelId is "q": want m`, ""},
		{[]string{"time\tobservableParameters\tnoiseParameters", "time\tmeasurementType", "0.5\t2", "0.5\t2\tordinal"}, "measurementType ordinal is not supported", "measurementType ordinal"},

		{[]string{"id: tiny", "mapping_files: [x.tsv]"}, "x.tsv: cannot be opened", ""},
	} {
		p, err := loadMap(t, tiny2, "p.yaml", c.replace...)
		if c.want == "" {
			if err != nil {
				t.Errorf("%.60q: %v", c.replace, err)
			}
			continue
		}
		var e *source.Error
		if !errors.As(err, &e) {
			t.Errorf("%.60q: %v, %+v", c.replace, err, p)
			continue
		}
		if msg := err.Error(); !strings.Contains(msg, c.want) || e.Feature != c.feature || strings.Contains(msg, "\n") {
			t.Errorf("%.60q:\n got %s (%q)\nwant %s (%q)", c.replace, msg, e.Feature, c.want, c.feature)
		}
	}
}

// Names of the mapping table stand for those of the model, in formulas and as targets.
func TestMappingOfPEtab2(t *testing.T) {
	files := maps.Clone(tiny2)
	files["x.tsv"] = "petabEntityId\tmodelEntityId\tname\nfirst\tA\tof two\nback\tr\t\nfast\t\tnothing\n"
	p, err := loadMap(t, files, "p.yaml", "id: tiny", "mapping_files: [x.tsv]", "begin\tA\ta0", "begin\tfirst\ta0", "fast\tr\t4", "fast\tback\t3 + back", "a\tA\t1", "a\tfirst\tback")
	if err != nil {
		t.Fatal(err)
	}
	q, err := loadMap(t, tiny2, "p.yaml", "fast\tr\t4", "fast\tr\t3 + r", "a\tA\t1", "a\tA\tr")
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.LogLikelihood(LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := q.LogLikelihood(LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := l.At(context.Background(), p.Nominal(), true)
	if err != nil {
		t.Fatal(err)
	}
	w, err := m.At(context.Background(), q.Nominal(), true)
	if err != nil || v.LogLikelihood != w.LogLikelihood || !slices.Equal(v.Gradient, w.Gradient) {
		t.Errorf("%v, want %v, %v", v, w, err)
	}
	if _, err := loadMap(t, files, "p.yaml", "id: tiny", "mapping_files: [x.tsv]", "a0\t", "back\t"); err == nil || !strings.Contains(err.Error(), "p.tsv:3: PEtab mapping of a parameter is not supported: want the ID of the model, r") {
		t.Errorf("a parameter: %v", err)
	}
}
