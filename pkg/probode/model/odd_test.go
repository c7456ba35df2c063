package model

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// oddModel is a model to which tests add odd parts.
func oddModel(t *testing.T, replace ...string) (*File, error) {
	t.Helper()
	const text = `parameters:
- {parameterId: k, nominalValue: 1, lowerBound: 0.1, upperBound: 10, parameterScale: log10}
odes:
- {stateId: x, initialValue: 1, rightHandSide: -k*x}
- {stateId: z, initialValue: 1, rightHandSide: k*x - z}
events:
- {eventId: e, time: 1, assignments: {x: x + 1}}
observables:
- {observableId: y, observableFormula: x + z, noiseFormula: 0.1}
data: d.csv
`
	return LoadFS(fstest.MapFS{"m.yaml": {Data: []byte(strings.NewReplacer(replace...).Replace(text))}, "d.csv": {Data: []byte("time,y\n1,1\n5,2\n")}}, "m.yaml")
}

// No command accepts what sample cannot use: a logarithmic scale with the lower bound 0
// and no prior.
func TestLowerBoundOfLogarithms(t *testing.T) {
	for _, c := range []struct {
		bounds string
		ok     bool
	}{
		{"lowerBound: 0, upperBound: 10, parameterScale: log10", false},
		{"lowerBound: 0, upperBound: 10, parameterScale: log", false},
		{"lowerBound: -1, upperBound: 10, parameterScale: log", false},
		{"lowerBound: 0, upperBound: 10", true},
		{"lowerBound: 0, upperBound: 10, parameterScale: log10, objectivePriorType: logNormal, objectivePriorParameters: 0;1", true},
		{"lowerBound: 1e-300, upperBound: 10, parameterScale: log10", true},
	} {
		p, err := oddModel(t, "lowerBound: 0.1, upperBound: 10, parameterScale: log10", c.bounds)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.bounds, err)
		}
		if err == nil {
			if _, err := p.Posterior(); err != nil {
				t.Errorf("%s: loads, and then %v", c.bounds, err)
			}
		}
	}
}

// An event after all data gives a warning. An event between data, one whose time is a
// parameter, and a repeated one that happens first between data give none.
func TestLateEvents(t *testing.T) {
	for event, warned := range map[string]bool{
		"time: 1,": false, "time: 5,": false, "time: 5.1,": true, "time: 2*3,": true, "time: 7*k,": false,
		"time: 1, every: 3, count: 4,": false, "time: 6, every: 1, count: 3,": true,
	} {
		p, err := oddModel(t, "time: 1,", event)
		if err != nil {
			t.Fatal(event, err)
		}
		if got := strings.Contains(strings.Join(p.Warnings, " "), "after the last measurement at 5"); got != warned || len(p.Warnings) > 1 {
			t.Errorf("%s: %q", event, p.Warnings)
		}
	}
}

// An event that comes after the data of one condition has an effect if another condition is
// measured later, or has it earlier. The end in the warning is that of all data.
func TestLateEventsOfSeveralConditions(t *testing.T) {
	const warning = "m:5: event e happens at 7, after the last measurement at 5, so it has no effect on the likelihood"
	for _, c := range []struct{ one, oneWhen, two, twoWhen, want string }{
		{"4", "7", "9", "7", ""},
		{"9", "7", "4", "7", ""},
		{"4", "7", "5", "7", warning},
		{"5", "8", "4", "7", warning},
		{"5", "8", "8", "7", ""},
		{"5", "8", "4", "3", ""},
		{"5", "7", "4", "k", ""},
		{"5", "k", "4", "7", ""},
	} {
		p, err := Parse("m", []byte(`parameters:
  - {parameterId: k, nominalValue: 1, lowerBound: 0.1, upperBound: 10}
  - {parameterId: when, nominalValue: 7}
events:
  - {eventId: e, time: when, assignments: {x: x + 1}}
odes:
  - {stateId: x, rightHandSide: -k * x, initialValue: 1}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: 1}
conditions:
  - {conditionId: one, when: `+c.oneWhen+`}
  - {conditionId: two, when: `+c.twoWhen+`}
data: |
  conditionId,time,y
  one,`+c.one+`,1
  two,`+c.two+`,1
`))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.Warnings, " "); got != c.want {
			t.Errorf("at %s, measured at %s, and at %s, measured at %s: warnings %q, want %q", c.oneWhen, c.one, c.twoWhen, c.two, got, c.want)
		}
	}
}

// Data from another file change which events are late, and keep the other warnings.
func TestLateEventsOfOtherData(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		event        string // its time
		other        string // the time of the other data
		was, becomes bool
	}{
		{"7", "9", true, false},
		{"7", "6", true, true},
		{"4", "3", false, true},
		{"4", "9", false, false},
	} {
		p, err := oddModel(t, "time: 1,", "time: "+c.event+",", "nominalValue: 1", "nominalValue: 100")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "other.csv")
		if err := os.WriteFile(file, []byte("time,y\n1,1\n"+c.other+",2\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		q, err := p.WithData(file, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			warnings []string
			late     bool
			end      string
		}{{p.Warnings, c.was, "5"}, {q.Warnings, c.becomes, c.other}} {
			want := []string{"m.yaml:2: parameter k has the nominal value 100: want a value within the bounds, and a positive value if the scale is logarithmic"}
			if x.late {
				want = append(want, "m.yaml:7: event e happens at "+c.event+", after the last measurement at "+x.end+", so it has no effect on the likelihood")
			}
			if !slices.Equal(x.warnings, want) {
				t.Errorf("an event at %s and data until %s: the warnings are %q: want %q", c.event, x.end, x.warnings, want)
			}
		}
	}
}

// A compartment without a size is refused if an equation needs the size, and only then; a
// condition may set the size.
func TestCompartmentWithoutSize(t *testing.T) {
	const math = `<math xmlns="http://www.w3.org/1998/Math/MathML">`
	species := func(attributes string) string {
		return `<species id="A" compartment="c" ` + attributes + `/>`
	}
	const reaction = `<listOfReactions><reaction id="r" reversible="false" fast="false"><listOfReactants><speciesReference species="A" stoichiometry="1" constant="true"/></listOfReactants><kineticLaw>` + math + `<ci>A</ci></math></kineticLaw></reaction></listOfReactions>`
	for name, c := range map[string]struct {
		species, more, conditions string
		ok                        bool
	}{
		"a rate rule": {species(`initialConcentration="1" hasOnlySubstanceUnits="false" boundaryCondition="true" constant="false"`),
			`<listOfRules><rateRule variable="A">` + math + `<ci>A</ci></math></rateRule></listOfRules>`, "conditionId\nc1\n", true},
		"an amount": {species(`initialAmount="1" hasOnlySubstanceUnits="true" boundaryCondition="false" constant="false"`), reaction, "conditionId\nc1\n", true},
		"a constant that nothing uses": {species(`initialAmount="1" hasOnlySubstanceUnits="false" boundaryCondition="true" constant="true"`),
			`<listOfRules><rateRule variable="p">` + math + `<cn>1</cn></math></rateRule></listOfRules>`, "conditionId\nc1\n", true},
		"a concentration":                 {species(`initialConcentration="1" hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"`), reaction, "conditionId\nc1\n", false},
		"a size in a formula":             {"", `<listOfRules><rateRule variable="p">` + math + `<ci>c</ci></math></rateRule></listOfRules>`, "conditionId\nc1\n", false},
		"a concentration and a condition": {species(`initialConcentration="1" hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"`), reaction, "conditionId\tc\nc1\t2\n", true},
		"a constant in a formula":         {species(`initialAmount="1" hasOnlySubstanceUnits="false" boundaryCondition="true" constant="true"`), `<listOfRules><rateRule variable="p">` + math + `<ci>A</ci></math></rateRule></listOfRules>`, "conditionId\nc1\n", false},
	} {
		xml := `<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1"><model id="m"><listOfCompartments><compartment id="c" spatialDimensions="3" constant="true"/></listOfCompartments><listOfSpecies>` +
			c.species + `</listOfSpecies><listOfParameters><parameter id="p" value="1" constant="false"/></listOfParameters>` + c.more + `</model></sbml>`
		observed := "p"
		if !strings.Contains(c.more, "rateRule") {
			observed = "A"
		}
		_, err := LoadFS(fstest.MapFS{
			"m.xml":  {Data: []byte(xml)},
			"p.tsv":  {Data: []byte("parameterId\tparameterScale\tlowerBound\tupperBound\tnominalValue\testimate\nd\tlin\t0\t1\t0.5\t0\n")},
			"o.tsv":  {Data: []byte("observableId\tobservableFormula\tnoiseFormula\ny\t" + observed + "\t1\n")},
			"c.tsv":  {Data: []byte(c.conditions)},
			"d.tsv":  {Data: []byte("observableId\tsimulationConditionId\tmeasurement\ttime\ny\tc1\t0\t1\n")},
			"p.yaml": {Data: []byte("format_version: 1\nparameter_file: p.tsv\nproblems:\n- sbml_files: [m.xml]\n  observable_files: [o.tsv]\n  condition_files: [c.tsv]\n  measurement_files: [d.tsv]\n")},
		}, "p.yaml")
		if (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "c has no value") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// All states in a sum must have the same unit, which is a word.
func TestUnits(t *testing.T) {
	unit := func(x, z string) []string {
		return []string{"initialValue: 1, rightHandSide: -k*x", "initialValue: 1, rightHandSide: -k*x, unit: " + x, "rightHandSide: k*x - z", "rightHandSide: k*x/1000 - z, unit: " + z}
	}
	flow := func(x, z, into string) []string { // nothing else combines the two states
		both := unit(x, z)
		both[3] = strings.Replace(both[3], "k*x/1000 - z", into, 1)
		return append(both, "observableFormula: x + z", "observableFormula: x/z")
	}
	for name, c := range map[string]struct {
		replace []string
		ok      bool
	}{
		"one unit":              {unit("people", "people"), true},
		"a misspelt one":        {unit("people", "peeple"), false},
		"mol among people":      {unit("people", "mol"), false},
		"one without":           {unit("people", `""`), true},
		"different, but apart":  {append(unit("mg", "g"), "observableFormula: x + z", "observableFormula: x/z"), true},
		"different in a rate":   {[]string{"rightHandSide: -k*x", "rightHandSide: -k*x, unit: mg", "rightHandSide: k*x - z", "rightHandSide: k*(x - z), unit: g", "observableFormula: x + z", "observableFormula: x"}, false},
		"compared":              {append(unit("mg", "g"), "observableFormula: x + z", `observableFormula: "piecewise(x, x > z, 0)"`), false},
		"the smaller one":       {append(unit("mg", "g"), "observableFormula: x + z", `observableFormula: "min(x, z)"`), false},
		"set by an event":       {append(unit("mg", "g"), "observableFormula: x + z", "observableFormula: x", "{x: x + 1}", "{x: z}"), false},
		"compared in a trigger": {append(unit("mg", "g"), "observableFormula: x + z", "observableFormula: x", "time: 1,", `trigger: "x < 0.5 && z > x",`), false},
		"triggered by both":     {append(unit("mg", "g"), "observableFormula: x + z", "observableFormula: x", "time: 1,", `trigger: "x < 0.5 && z > 0.1",`), true},
		"in the noise":          {append(unit("mg", "g"), "observableFormula: x + z", "observableFormula: x", "noiseFormula: 0.1", "noiseFormula: 0.1 + abs(x + z)"), false},
		"a flow":                {flow("people", "people", "k*x - z"), true},
		"a flow into mol":       {flow("people", "mol", "k*x - z"), false},
		"into a misspelt one":   {flow("people", "peeple", "-z + k*x"), false},
		"with its sign":         {flow("mg", "mg/l", "-(-k*x) - z"), false},
		"diluted":               {flow("mg", "mg/l", "k*x/2 - z"), true},
		"converted":             {append(unit("mg", "g"), "observableFormula: x + z", "observableFormula: x + 1000*z"), true},
	} {
		if _, err := oddModel(t, c.replace...); (err == nil) != c.ok || err != nil && !strings.Contains(err.Error(), "m.yaml:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
