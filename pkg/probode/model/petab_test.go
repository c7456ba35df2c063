package model

import (
	"math"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// Two problems in one file share the table of parameters.
func TestSeveralProblems(t *testing.T) {
	_, rest, _ := strings.Cut(tiny["p.yaml"], "problems:\n")
	p, err := loadMap(t, tiny, "p.yaml", rest, rest+rest)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Models) != 2 || len(p.Params) != 2 {
		t.Fatalf("%d models, %d parameters", len(p.Models), len(p.Params))
	}
	list := experiments(t, p)
	if len(list) != 2 || list[0].model != p.Models[0] || list[1].model != p.Models[1] {
		t.Fatalf("%d experiments", len(list))
	}
}

// The formula of the noise may use the ID of the observable.
func TestNoiseOfObservable(t *testing.T) {
	p, err := loadMap(t, tiny, "p.yaml", "noiseParameter1_a", "noiseParameter1_a * a + 1")
	if err != nil {
		t.Fatal(err)
	}
	r := experiments(t, p)[0].rows[0]
	if got := value(t, r.noise, map[string]float64{"sd": 0.5, "A": 3}); got != 0.5*3*2+1 {
		t.Errorf("noise is %v", got)
	}
}

// An ID of the model is a name in the formula of an observable, whatever it looks like.
func TestIDLikeNumber(t *testing.T) {
	for _, id := range []string{"Nan", "NaN", "nan", "INF", "inf", "Infinity", "null", "NULL", "true", "False", "NA", "and", "not", "exp", "e", "pi"} {
		for _, formula := range []string{id, "2 * " + id, "-" + id + " / -(" + id + "^0 / 2)"} {
			p, err := loadMap(t, tiny, "p.yaml", "A * obs", formula+" * obs", `id="A"`, `id="`+id+`"`, `species="A"`, `species="`+id+`"`, "k*A*", "k*`"+id+"`*")
			if err != nil {
				t.Errorf("%s: %v", formula, err)
				continue
			}
			want := 12.0
			if formula == id {
				want = 6
			}
			if got := value(t, experiments(t, p)[0].rows[0].formula, map[string]float64{id: 3}); got != want {
				t.Errorf("%s is %v: want %v", formula, got, want)
			}
		}
	}
}

// After preequilibration, a species keeps the value that the first condition set if the
// next condition has an empty cell; a parameter goes back to the model's value.
func TestKept(t *testing.T) {
	xml := strings.NewReplacer(
		`<species id="A"`, `<species id="X" compartment="c" initialConcentration="5" constant="true" boundaryCondition="true"/><species id="A"`,
		"{k*A*(1 + input)}", "{k*A*(1 + input)*X}").Replace(tiny["m.xml"])
	for _, c := range []struct {
		cells string
		want  float64 // X·(1 + input) of c1
	}{
		{"c0\t3\t2\nc1\t\t\n", 3 * 1},
		{"c0\t3\t2\nc1\t4\t\n", 4 * 1},
		{"c0\t\t2\nc1\tNaN\t1\n", 5 * 2},
		{"c0\t3\t2\nc1\tk\t1\n", 2 * 2},
	} {
		files := map[string]string{}
		for k, v := range tiny {
			files[k] = v
		}
		files["m.xml"] = xml
		files["c.tsv"] = "conditionId\tX\tinput\n" + c.cells
		p, err := loadMap(t, files, "p.yaml")
		if err != nil {
			t.Errorf("%q: %v", c.cells, err)
			continue
		}
		e := experiments(t, p)[0]
		if got := value(t, e.rates[0], map[string]float64{"k": 2, "A": 1}); got != -2*c.want {
			t.Errorf("%q: rate %v: want %v", c.cells, got, -2*c.want)
		}
	}
}

// After preequilibration, a state that the condition sets starts at that value.
func TestSetAfterPreequilibration(t *testing.T) {
	p, err := loadMap(t, tiny, "p.yaml", "conditionId\tinput\nc0\t0\nc1\t1", "conditionId\tA\nc0\t\nc1\tk", "input", "input")
	if err != nil {
		t.Fatal(err)
	}
	e := experiments(t, p)[0]
	at := map[string]float64{"k": 2, "A": 0.25}
	if a, b := value(t, e.pre.initial[0], at), value(t, e.initial[0], at); a != 1 || b != 2 {
		t.Errorf("starts at %v, then %v: want 1 and 2", a, b)
	}
}

// Events of a model file happen in the order of the file, those with triggers after those
// with a larger priority.
func TestEventsAtOnce(t *testing.T) {
	p, err := loadMap(t, small, "m.yaml", "events:\n", "events:\n  - {eventId: g, time: 3, assignments: {A: 2 * A}}\n")
	if err != nil {
		t.Fatal(err)
	}
	if e := experiments(t, p)[0].events; e[0].ID != "g" || e[2].ID != "e_2" {
		t.Errorf("order of events %v", e)
	}
	p, err = Parse("m", []byte(`odes:
  - {stateId: x, rightHandSide: 1, initialValue: 0}
  - {stateId: n, rightHandSide: 0, initialValue: 1}
events:
  - {eventId: e, trigger: "x > 1", priority: 1, assignments: {n: 2 * n}}
  - {eventId: f, trigger: "x > 1", priority: "1 + n", assignments: {n: n + 3}}
observables:
  - {observableId: y, observableFormula: n, noiseFormula: 1}
data: |
  time,y
  2,8
`))
	if err != nil {
		t.Fatal(err)
	}
	name, err := p.WriteYAML(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*File{p, again} {
		if v := evaluate(t, p); v != nil && v.Instances[0].Simulated[0] != 8 {
			t.Errorf("n is %v: want (1 + 3)·2", v.Instances[0].Simulated[0])
		}
	}
	if _, err := Parse("m", []byte("odes:\n  - {stateId: x, rightHandSide: 1, initialValue: 0}\nevents:\n  - {eventId: e, time: 1, priority: 1, assignments: {x: 0}}\n")); err == nil || !strings.Contains(err.Error(), "priority and no trigger") {
		t.Errorf("a priority of an event with a time: %v", err)
	}
}

// A model may use the names of constants.
func TestNamesOfConstants(t *testing.T) {
	p, err := loadMap(t, small, "m.yaml", "parameterId: k", "parameterId: e", "k * t - b", "e * t - b + pi", "eventId: e", "eventId: dose")
	if err != nil {
		t.Fatal(err)
	}
	got := value(t, experiments(t, p)[0].rates[0], map[string]float64{"e": 10, "A": 0, expr.Time: 2})
	if !near(got, 20+math.Pi) {
		t.Errorf("rate %v: want %v", got, 20+math.Pi)
	}
}
