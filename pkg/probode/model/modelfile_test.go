package model

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"
)

// small is a model file, to spoil in every way.
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
	at := map[string]float64{"k": 2, "A": 5, "n": 3, TimeSymbol: 0.5}
	for i, want := range []struct{ rate, start, jump float64 }{
		{2*0.5 - (5*1+1)*5, 1, 6},
		{2*0.5 - (5*3+1)*5, 7, 8},
	} {
		e := list[i]
		if got := value(t, e.Rates[0], at); got != want.rate {
			t.Errorf("%s: A' = %v: want %v", e.Condition, got, want.rate)
		}
		if got := value(t, e.Initial[0], at); got != want.start {
			t.Errorf("%s: A starts at %v: want %v", e.Condition, got, want.start)
		}
		if got := value(t, e.Events[0].Jumps[0].Value, at); got != want.jump {
			t.Errorf("%s: A becomes %v: want %v", e.Condition, got, want.jump)
		}
		for k, v := range e.Events {
			if got := value(t, v.Time, at); got != 1+2*float64(k) {
				t.Errorf("event %d at %v", k, got)
			}
		}
	}
	if d := p.Models[0].Data; len(d) != 2 || d[0].Value != 1.5 || d[1].Value != 2.5 || d[1].Where.Line != 6 || d[0].Where.Line != 3 {
		t.Errorf("data %+v", d)
	}
}

func TestModelFileRefused(t *testing.T) {
	for _, c := range []struct {
		old, new string
		want     string
	}{
		{"name: small", "nam: small", "m.yaml:1: the file has a key nam: want name, time, parameters"},
		{"odes:", "equations:", "neither odes (a model file) nor problems (PEtab) in it"},
		{"stateId: A", "stateId: k", "m.yaml:12: k appears twice: first in line 4"},
		{"stateId: A", "stateId: t", "m.yaml:12: stateId is t, which is the time"},
		{"stateId: A", "stateId: 2A", `m.yaml:12: stateId is "2A"`},
		{"stateId: A", "stateId: f", "f is a function, too"},
		{"stateId: A, ", "", "m.yaml:12: an entry has no stateId"},
		{"k * t - b", "k * time - b", "m.yaml:12: rightHandSide uses time: the time is called t"},
		{"k * t - b", "k * t - bb", "m.yaml:12: right-hand side of A uses bb, which is not defined"},
		{"k * t - b", "k * t - ", "m.yaml:12: rightHandSide: column"},
		{"k * t - b", "k * t - y", "m.yaml:12: right-hand side of A uses the observable y"},
		{"initialValue: n", "initialValue: A", "the initial value of A depends on itself"},
		{"formula: a * A", "formula: b * A", "m.yaml:9: the assignment of b depends on itself"},
		{`formula: "f(A, n)"`, `formula: b`, "depends on itself, by way of"},
		{"f(A, n)", "f(A)", "m.yaml:10: formula: function f has 1 argument: want 2"},
		{"x * y + 1", `"f(x, y) + 1"`, "function f calls itself"},
		{"lowerBound: 0.1", "lowerBound: .inf", `m.yaml:4: lowerBound is ".inf": want a finite number`},
		{"lowerBound: 0.1", "lowerBound: 20", "want the lower one first"},
		{"nominalValue: 3", "nominalValue: three", `m.yaml:5: nominalValue is "three"`},
		{"nominalValue: 3", "estimate: 0", "m.yaml:5: parameter n is not estimated and has no nominalValue"},
		{"noiseFormula: 0.1", "noiseFormula: -0.1", "the noise of y is -0.1: want a positive number"},
		{"noiseFormula: 0.1", "noiseFormula: 0.1, noiseDistribution: cauchy", `noiseDistribution is "cauchy"`},
		{", noiseFormula: 0.1", "", "an entry has no noiseFormula"},
		{"every: 2", "every: 0", "m.yaml:16: every is 0: want a positive number"},
		{"count: 3", "count: 2.5", `m.yaml:16: count is "2.5"`},
		{"count: 3", "count: 1000000000", "want a whole number from 1 to 10000"},
		{", count: 3", "", "count is \"\""},
		{"time: 1, ", "time: A, ", "m.yaml:16: event that depends on the state is not supported"},
		{"{A: A + n}", "{n: A + n}", "m.yaml:16: event e_1 sets n, which is no state"},
		{"one, n: 1", "one, m: 1", "m.yaml:18: condition one sets m, which is not defined"},
		{"conditionId: two", "conditionId: one", "m.yaml:19: condition one appears twice: first in line 18"},
		{"0,one,1.5", "0,three,1.5", "d.csv:3: condition three is not defined"},
		{"0,one,1.5", "0,one,1.5,7", "d.csv:3: 4 cells: the header has 3 columns"},
		{"0,one,1.5", "0,one,many", `d.csv:3: y is "many"`},
		{"time,conditionId,y", "time,conditionId,z", "d.csv:1: column z is no observable"},
		{"time,conditionId,y", "t,conditionId,y", "d.csv:1: no column time: want time: it has t, conditionId, y"},
		{"time,conditionId,y", "time;conditionId;y", "which seem to be parted by semicolons: want commas or tabs"},
		{"[d.csv]", "[d.csv, ./d.csv]", "m.yaml:20: data has d.csv twice: want each file once"},
		{"[d.csv]", "[e.csv]", "e.csv: cannot be opened"},
		{"[d.csv]", "{d.csv: 1}", "m.yaml:20: data is not a list"},
	} {
		p, err := loadMap(t, small, "m.yaml", c.old, c.new)
		if err == nil {
			t.Errorf("%q: no error: %+v", c.new, p)
			continue
		}
		var e *Error
		if msg := err.Error(); !errors.As(err, &e) || !strings.Contains(msg, c.want) || strings.Contains(msg, "\n") {
			t.Errorf("%q:\n got %s\nwant %s", c.new, msg, c.want)
		}
	}
}

// The examples of the page are models, and say what they claim.
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
			"counts.csv": "time,bacteria\n0,1\n1,2\n", "blood.csv": "conditionId,time,drug\nadult,1,2\nchild,1,2\n",
			"blots.tsv": "observableId\tsimulationConditionId\tmeasurement\ttime\tobservableParameters\tnoiseParameters\nblot\tcontrol\t1\t2\tgel1\t0.1\nblot\tdrug\t1\t2\tgel2\tsd\n"}
		p, err := loadMap(t, files, "m.yaml")
		if err != nil {
			t.Errorf("%s\n%v", text, err)
			continue
		}
		for _, q := range p.Params {
			if math.IsNaN(q.Nominal) {
				t.Errorf("%s has no nominal value", q.ID)
			}
		}
	}
	if n != 3 {
		t.Errorf("%d examples: want 3", n)
	}
}
