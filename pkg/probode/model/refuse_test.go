package model

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// tiny is a PEtab problem with one reaction, in which tests make every kind of mistake.
var tiny = map[string]string{
	"p.yaml": `format_version: 1
parameter_file: p.tsv
problems:
- sbml_files: [m.xml]
  observable_files: [o.tsv]
  condition_files: [c.tsv]
  measurement_files: [d.tsv]
  visualization_files: [absent.tsv]
`,
	"p.tsv": `parameterId	parameterScale	lowerBound	upperBound	nominalValue	estimate	objectivePriorType	objectivePriorParameters
k	log10	0.01	100	2	1	logNormal	0;1
sd	lin	0.01	100	0.5	1
`,
	"o.tsv": `observableId	observableFormula	noiseFormula	observableTransformation	noiseDistribution
a	A * observableParameter1_a	noiseParameter1_a	log10	laplace
`,
	"c.tsv": `conditionId	input
c0	0
c1	1
`,
	"d.tsv": `observableId	preequilibrationConditionId	simulationConditionId	measurement	time	observableParameters	noiseParameters
a	c0	c1	0.5	1	2	sd
a	c0	c1	0.4	inf	2	sd
`,
	"m.xml": `<?xml version="1.0" encoding="UTF-8"?>
<sbml xmlns="http://www.sbml.org/sbml/level2/version4" level="2" version="4"><model id="m">
<listOfCompartments><compartment id="c" size="1"/></listOfCompartments>
<listOfSpecies>
<species id="A" compartment="c" initialConcentration="1"/>
</listOfSpecies>
<listOfParameters>
<parameter id="k"/>
<parameter id="input" value="0"/>
</listOfParameters>
<listOfReactions>
<reaction id="r"><listOfReactants><speciesReference species="A"/></listOfReactants><kineticLaw>{k*A*(1 + input)}</kineticLaw></reaction>
</listOfReactions>
</model></sbml>
`,
}

// loadMap loads from memory, after replacing pairs of strings in the files.
func loadMap(t testing.TB, files map[string]string, main string, replace ...string) (*File, error) {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		for i := 0; i < len(replace); i += 2 {
			text = strings.ReplaceAll(text, replace[i], replace[i+1])
		}
		if strings.HasSuffix(name, ".xml") {
			text = withMath(t, text)
		}
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return LoadFS(fsys, main)
}

func TestTiny(t *testing.T) {
	p, err := loadMap(t, tiny, "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e := experiments(t, p)[0]
	if e.pre == nil || e.preequilibration != "c0" || e.Condition != "c1" || len(e.rows) != 2 {
		t.Fatalf("%+v", e)
	}
	at := map[string]float64{"k": 2, "A": 0.25, "sd": 0.5}
	if got := value(t, e.pre.initial[0], at); got != 1 {
		t.Errorf("preequilibration starts at %v", got)
	}
	if got := value(t, e.initial[0], at); got != 0.25 {
		t.Errorf("starts at %v: want what preequilibration left", got)
	}
	if a, b := value(t, e.pre.rates[0], at), value(t, e.rates[0], at); a != -0.5 || b != -1 {
		t.Errorf("rates %v, %v", a, b)
	}
	if q := p.Params[0]; q.Prior != (Prior{"logNormal", 0, 1}) || q.Scale != Log10 || q.Lower != 0.01 || !q.Estimate {
		t.Errorf("%+v", q)
	}

	// Windows line ends and a byte order mark change nothing.
	crlf := map[string]string{}
	for name, text := range tiny {
		crlf[name] = "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")
	}
	q, err := loadMap(t, crlf, "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sameExperiments(t, p, q)
}

// Each mistake gives an error of one line that names its place.
func TestRefused(t *testing.T) {
	deep := strings.Repeat("<listOfX>", 10001)
	for _, c := range []struct {
		replace []string // in any of the files
		want    string   // in the message
		feature string
	}{
		// YAML
		{[]string{"format_version: 1", "format_version: 3.0.0"}, "p.yaml:1: PEtab 3.0.0 is not supported", "PEtab 3.0.0"},
		{[]string{"format_version: 1", "format_version: 2.0.0"}, "p.yaml:2: the file has a key parameter_file: want format_version, id", ""},
		{[]string{"parameter_file: p.tsv", "parameter_file: [p.tsv, p.tsv]"}, "p.yaml:2: parameter_file lists p.tsv twice: list each file only once", ""},
		{[]string{"sbml_files: [m.xml]", "sbml_files: [m.xml, m.xml]"}, "p.yaml:4: 2 sbml_files: want one", ""},
		{[]string{"sbml_files: [m.xml]", "sbml_files: [http://x/m.xml]"}, "p.yaml:4: file at a URL", "file at a URL"},
		{[]string{"[m.xml]", "[absent.xml]"}, "absent.xml: cannot be opened", ""},
		{[]string{"problems:", "problem:"}, "has a key problem: want format_version", ""},
		{[]string{"format_version: 1", "format_version: 1\nformat_version: 1"}, "p.yaml:2: format_version appears twice", ""},
		{[]string{"format_version: 1", "format_version: [1"}, "YAML: ", ""},
		{[]string{"format_version: 1", "extensions: {x: 1}\nformat_version: 1"}, "PEtab extension", "PEtab extension"},
		{[]string{"format_version: 1", "format_version: !!binary aGFsbG8="}, "p.yaml:1: the tag !!binary", ""},
		{[]string{"[o.tsv]", "&x [*x]"}, "nested more than 200 levels deep", ""},
		{[]string{"format_version: 1", "format_version: 1\n---\nx: 1"}, "second YAML document", ""},
		{[]string{"format_version: 1", "format_version: \xff"}, "p.yaml:1: found a byte that is not valid UTF-8", ""},
		{[]string{"[o.tsv]", strings.Repeat("[", 5000) + strings.Repeat("]", 5000)}, "p.yaml", ""},

		// parameters
		{[]string{"[d.tsv]", "[d.tsv, d.tsv]"}, "p.yaml:7: measurement_files lists d.tsv twice", ""},
		{[]string{"parameterScale", "scale"}, "p.tsv:1: there is no column parameterScale", ""},
		{[]string{"estimate\t", "parameterId\t"}, "p.tsv:1: column parameterId appears twice", ""},
		{[]string{"0.01\t100\t2", "-inf\t100\t2"}, `p.tsv:2: lowerBound is "-inf": want a finite number`, ""},
		{[]string{"0.01\t100\t2", "0.01\t1e999\t2"}, "p.tsv:2: upperBound", ""},
		{[]string{"0.01\t100\t2", "0.01\t\t2"}, "", ""}, // a prior replaces bounds
		{[]string{"0.01\t100\t0.5", "0.01\t\t0.5"}, "p.tsv:3: parameter sd is estimated but lacks a bound", ""},
		{[]string{"0.01\t100\t2", "100\t0.01\t2"}, "want a lower bound less than the upper bound", ""},
		{[]string{"0.01\t100\t2", "-1\t100\t2"}, "lower bound -1 and a logarithmic scale", ""},
		{[]string{"k\tlog10", "k\tlog2"}, `p.tsv:2: parameterScale is "log2": want lin, log or log10`, ""},
		{[]string{"2\t1\tlogNormal", "2\tyes\tlogNormal"}, `p.tsv:2: estimate is "yes"`, ""},
		{[]string{"2\t1\tlogNormal", "2\t1\tcauchy"}, `p.tsv:2: prior "cauchy"`, ""},
		{[]string{"0;1", "0;-1"}, "prior logNormal: 0;-1: want mean;sd (only a mean or a location may be ≤ 0)", ""},
		{[]string{"0;1", "0,1"}, "prior logNormal: \"0,1\": want mean;sd", ""},
		{[]string{"logNormal\t0;1", "\t0;1"}, "but no type", ""},
		{[]string{"sd\tlin", "k\tlin"}, "p.tsv:3: parameter k appears twice, first on line 2", ""},
		{[]string{"sd\tlin", "s d\tlin"}, `p.tsv:3: parameter id "s d"`, ""},
		{[]string{"sd\tlin", "time\tlin"}, "p.tsv:3: parameter id time has a special meaning in formulas", ""},
		{[]string{"sd\tlin", "A\tlin", "sd\n", "1\n"}, "p.tsv:3: parameter A has the ID of an existing state of the model", ""},
		{[]string{"sd\tlin", "unused\tlin", "sd\n", "1\n"}, "p.tsv:3: parameter unused is estimated, yet nothing uses it", ""},
		{[]string{"0.5\t1\n", "\t0\n"}, "p.tsv:3: parameter sd is not estimated and has no nominalValue", ""},
		{[]string{"0.5\t1\n", "0.5\t1\ta\tb\tc\n"}, "p.tsv:3: 9 cells: the header has 8 columns", ""},
		{[]string{"0.5\t1\n", "\"0.5\t1\n"}, "p.tsv:", ""},

		// observables
		{[]string{"A * observableParameter1_a", "A * (2"}, "o.tsv:2: observableFormula: column", ""},
		{[]string{"A * observableParameter1_a", "A > 2"}, "is a condition: want a number", ""},
		{[]string{"A * observableParameter1_a", "B * observableParameter1_a"}, "o.tsv:2: observable a uses B, which is not defined", ""},
		{[]string{"A * observableParameter1_a", "A * f(A)"}, "o.tsv:2: observableFormula: column 5: function f is not known", ""},
		{[]string{"\tlog10\tlaplace", "\tlog2\tlaplace"}, `o.tsv:2: observableTransformation is "log2"`, ""},
		{[]string{"\tlog10\tlaplace", "\tlog10\tcauchy"}, `o.tsv:2: noiseDistribution is "cauchy"`, ""},
		{[]string{"\tlog10\tlaplace", "\tlog10\tlog-normal"}, `o.tsv:2: noiseDistribution is "log-normal": want normal and observableTransformation log`, ""},
		{[]string{"log10\tlaplace\n", "log10\tlaplace\na\tA\t1\n"}, "o.tsv:3: observable a appears twice", ""},
		{[]string{"noiseParameter1_a\tlog10", "0 * sd\tlog10", "2\tsd", "2\t"}, "the noise of a is 0: want a positive number", ""},

		// conditions
		{[]string{"conditionId\tinput", "conditionId\tinpu"}, "c.tsv:2: condition c0 sets inpu, which is not defined", ""},
		{[]string{"c1\t1", "c1\tx"}, "c.tsv:3: condition c1 sets input to x, which is not defined", ""},
		{[]string{"c1\t1", "c1\tinf"}, `c.tsv:3: input is "inf"`, ""},
		{[]string{"c1\t1\n", "c1\t1\nc1\t2\n"}, "c.tsv:4: condition c1 appears twice", ""},
		{[]string{"conditionId\tinput", "conditionId\tk"}, "c.tsv:2: condition c0 sets k, which is also in the parameter table", ""},

		{[]string{"conditionId\tinput", "conditionId\tc", "c0\t0", "c0\t2"}, "c.tsv:3: compartment that changes after preequilibration is not supported", "compartment that changes after preequilibration"},
		{[]string{"{k*A*(1 + input)}", "{k*A*(1 + input*time)}", "c0\t0", "c0\t2"}, "m.xml:5: preequilibration that depends on the time is not supported", "preequilibration that depends on the time"},
		{[]string{"{k*A*(1 + input)}", "{k*A*(1 + input*time)}"}, "", ""}, // without an input nothing depends on the time

		// measurements
		{[]string{"a\tc0\tc1\t0.5", "b\tc0\tc1\t0.5"}, "d.tsv:2: observable b is not defined", ""},
		{[]string{"a\tc0\tc1\t0.5", "a\tc9\tc1\t0.5"}, "d.tsv:2: condition c9 is not defined", ""},
		{[]string{"a\tc0\tc1\t0.5", "a\tc0\t\t0.5"}, "d.tsv:2: simulationConditionId is empty", ""},
		{[]string{"a\tc0\tc1\t0.5", "a\tc0\tc1\t-0.5"}, "d.tsv:2: the measurement of a is -0.5: want a number > 0", ""},
		{[]string{"a\tc0\tc1\t0.5", "a\tc0\tc1\tNaN"}, "d.tsv:2: measurement is empty", ""},
		{[]string{"0.5\t1\t2", "0.5\t-1\t2"}, `d.tsv:2: time is "-1"`, ""},
		{[]string{"0.5\t1\t2", "0.5\t0x1p3\t2"}, `d.tsv:2: time is "0x1p3"`, ""},
		{[]string{"1\t2\tsd", "1\t\tsd"}, "d.tsv:2: the row has no value for the placeholder observableParameter1_a", ""},
		{[]string{"1\t2\tsd", "1\t2;3\tsd"}, "d.tsv:2: the row gives a value for observableParameter2_a", ""},
		{[]string{"1\t2\tsd", "1\t2\ts d"}, `d.tsv:2: noiseParameters is "s d"`, ""},
		{[]string{"1\t2\tsd", "1\t2\tsdd"}, "d.tsv:2: sdd is not defined", ""},
		{[]string{"A * observableParameter1_a", "A * observableParameter1_a + time"}, "d.tsv:3: a is measured at time inf, yet its formula depends on time", ""},

		// SBML
		{[]string{"level2/version4", "level1", `level="2"`, `level="1"`}, "SBML Level 1 is not supported", "SBML Level 1"},
		{[]string{"<sbml", "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><sbml"}, "m.xml:2: found <!DOCTYPE", ""},
		{[]string{`id="m">`, `id="&bomb;">`}, "m.xml:2: XML: ", ""},
		{[]string{"<listOfReactions>", deep}, "elements are nested more than 10000 levels deep", ""},
		{[]string{"</model>", ""}, "m.xml:", ""},
		{[]string{"UTF-8", "UTF-16"}, "want UTF-8", ""},
		{[]string{`<parameter id="k"/>`, `<parameter id="k"/><parameter id="k"/>`}, "m.xml:8: id k appears twice, first on line 8", ""},
		{[]string{`<parameter id="k"/>`, `<parameter id="k"/><parameter id="c"/>`}, "m.xml:8: id c appears twice, first on line 3", ""},
		{[]string{`<parameter id="k"/>`, `<parameter id="k"/><parameter id="1k"/>`}, `m.xml:8: id "1k"`, ""},
		{[]string{`value="0"`, `value="many"`}, `m.xml:9: value is "many"`, ""},
		{[]string{` initialConcentration="1"`, ``}, "m.xml:5: state A has no initial value", ""},
		{[]string{` initialConcentration="1"`, ` initialConcentration="1" initialAmount="1"`}, "m.xml:5: species A has both", ""},
		{[]string{`species="A"`, `species="B"`}, `m.xml:12: reaction r refers to the species "B", which is not defined`, ""},
		{[]string{`compartment="c"`, `compartment="d"`}, `m.xml:5: species A is in the compartment "d"`, ""},
		{[]string{` size="1"`, ``}, "m.xml:3: c has no value", ""},
		{[]string{"{k*A*(1 + input)}", "{k*A*(1 + inpt)}"}, "m.xml:12: inpt is not defined", ""},
		{[]string{"<kineticLaw>{k*A*(1 + input)}</kineticLaw>", ""}, "m.xml:12: reaction without kineticLaw is not supported: reaction r", "reaction without kineticLaw"},
		{[]string{`<reaction id="r">`, `<reaction id="r" fast="true">`}, "m.xml:12: fast reaction is not supported", "fast reaction"},
		{[]string{"<listOfReactions>", "<listOfRules><algebraicRule>{A - k}</algebraicRule></listOfRules><listOfReactions>"}, "m.xml:11: algebraicRule is not supported", "algebraicRule"},
		{[]string{"<listOfReactions>", `<listOfRules><assignmentRule variable="k">{A}</assignmentRule></listOfRules><listOfReactions>`}, "m.xml:11: a rule sets k, which is constant", ""},
		{[]string{"<listOfReactions>", `<listOfRules><assignmentRule variable="A">{2}</assignmentRule></listOfRules><listOfReactions>`}, "m.xml:11: a rule sets the species A, which is also changed by reactions", ""},
		{[]string{"<listOfReactions>", `<listOfInitialAssignments><initialAssignment symbol="A">{A + 1}</initialAssignment></listOfInitialAssignments><listOfReactions>`}, "the initial value of A depends on itself", ""},
		{[]string{`<parameter id="k"/>`, `<parameter id="k"/><parameter id="x" constant="false"/><parameter id="y" constant="false"/>`,
			"<listOfReactions>", `<listOfRules><assignmentRule variable="x">{y}</assignmentRule><assignmentRule variable="y">{x}</assignmentRule></listOfRules><listOfReactions>`},
			"depends on itself, through", ""},
		{[]string{"<listOfReactions>", "<listOfConstraints><constraint>{A > 0}</constraint></listOfConstraints><listOfReactions>"}, "constraint is not supported", "constraint"},
		{[]string{"<listOfReactions>", `<listOfEvents><event id="e"><trigger>{A == 2}</trigger><listOfEventAssignments><eventAssignment variable="A">{1}</eventAssignment></listOfEventAssignments></event></listOfEvents><listOfReactions>`},
			"m.xml:11: event trigger that is not continuous is not supported: event e", "event trigger that is not continuous"},
		{[]string{"<listOfReactions>", `<listOfEvents><event id="e"><trigger>{time > 2}</trigger><listOfEventAssignments><eventAssignment variable="A">{1}</eventAssignment></listOfEventAssignments></event></listOfEvents><listOfReactions>`},
			"m.xml:11: event before a steady state is not supported", "event before a steady state"},
		{[]string{"{k*A*(1 + input)}", `<math xmlns="http://www.w3.org/1998/Math/MathML"><apply><csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/delay">d</csymbol><ci>A</ci><cn>1</cn></apply></math>`},
			"delay equations are not supported", "delay"},
		{[]string{"{k*A*(1 + input)}", `<math xmlns="http://www.w3.org/1998/Math/MathML"><apply><ci>f</ci><ci>A</ci></apply></math>`}, "m.xml:12: function f is not known", ""},
		{[]string{`level2/version4" level="2" version="4"`, `level3/version1/core" xmlns:comp="http://www.sbml.org/sbml/level3/version1/comp/version1" comp:required="true" level="3" version="1"`,
			"<listOfReactions>", "<comp:listOfThings/><listOfReactions>"}, "m.xml:11: SBML package comp is not supported", "SBML package comp"},
	} {
		p, err := loadMap(t, tiny, "p.yaml", c.replace...)
		if c.want == "" {
			if err != nil {
				t.Errorf("%.60q: %v", c.replace, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%.60q: no error: %+v", c.replace, p)
			continue
		}
		var e *source.Error
		if !errors.As(err, &e) {
			t.Errorf("%.60q: error of type %T", c.replace, err)
			continue
		}
		if msg := err.Error(); !strings.Contains(msg, c.want) || e.Feature != c.feature || strings.Contains(msg, "\n") || len(msg) > 600 {
			t.Errorf("%.60q:\n got %s (%q)\nwant %s (%q)", c.replace, msg, e.Feature, c.want, c.feature)
		}
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range [][]string{
		{"noiseParameters\n", "noiseParameters\tcolour\n", "column colour is not part of PEtab"},
		{`<parameter id="k"/>`, `<parameter id="k" units="bananas"/>`, "units of k is bananas, which is not defined"},
		{"0.01\t100\t2", "0.01\t100\t200", "parameter k has the nominal value 200: want a value within the bounds, and a positive value if the scale is logarithmic"},
	} {
		p, err := loadMap(t, tiny, "p.yaml", c[0], c[1])
		if err != nil {
			t.Errorf("%s: %v", c[1], err)
		} else if len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], c[2]) {
			t.Errorf("%s: %v", c[1], p.Warnings)
		}
	}
}

// Files made to exhaust time or memory give an error soon.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		laughs += fmt.Sprintf("a%d: &a%[1]d [%s]\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	doubling := tiny["m.xml"]
	var params, rules strings.Builder
	params.WriteString(`<parameter id="x0" value="1"/>`)
	for i := 1; i <= 300; i++ {
		fmt.Fprintf(&params, `<parameter id="x%d" constant="false"/>`, i)
		fmt.Fprintf(&rules, `<assignmentRule variable="x%d">{x%d*A + x%[2]d}</assignmentRule>`, i, i-1)
	}
	doubling = strings.Replace(doubling, "<listOfReactions>", "<listOfRules>"+rules.String()+"</listOfRules><listOfReactions>", 1)
	doubling = strings.Replace(doubling, "<listOfParameters>", "<listOfParameters>"+params.String(), 1)
	doubling = strings.Replace(doubling, "{k*A*(1 + input)}", "{k*x300}", 1)

	start := time.Now()
	if _, err := LoadFS(fstest.MapFS{"m.yaml": {Data: []byte(laughs)}}, "m.yaml"); err == nil || !strings.Contains(err.Error(), "once all aliases are expanded") {
		t.Errorf("aliases of aliases: %v", err)
	}
	files := map[string]string{}
	for k, v := range tiny {
		files[k] = v
	}
	files["m.xml"] = doubling
	if _, err := loadMap(t, files, "p.yaml"); err != nil {
		t.Errorf("assignments that double: %v", err)
	}
	// Rows far shorter than their header, and very many elements, do not exhaust memory.
	var wide strings.Builder
	wide.WriteString("conditionId")
	for i := range 9000 {
		fmt.Fprintf(&wide, "\tx%d", i)
	}
	wide.WriteString("\n" + strings.Repeat("c\n", 200000))
	files["m.xml"] = tiny["m.xml"]
	files["c.tsv"] = wide.String()
	if _, err := loadMap(t, files, "p.yaml"); err == nil || !strings.Contains(err.Error(), "condition c appears twice") {
		t.Errorf("short rows: %v", err)
	}
	files["c.tsv"] = tiny["c.tsv"]
	files["m.xml"] = strings.Replace(tiny["m.xml"], "<listOfReactions>", strings.Repeat("<x/>", 1<<20)+"<listOfReactions>", 1)
	if _, err := loadMap(t, files, "p.yaml"); err == nil || !strings.Contains(err.Error(), "m.xml:11: the file has too many elements: want at most 1048576") {
		t.Errorf("many elements: %v", err)
	}
	// The limit is generous: all of them take less than a second.
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("bombs took %v", d)
	}
}
