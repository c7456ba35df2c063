package sbml

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// rich is a model with every element that the reader reads.
const rich = `<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" xmlns:layout="http://www.sbml.org/sbml/level3/version1/layout/version1" xmlns:comp="http://www.sbml.org/sbml/level3/version1/comp/version1" level="3" version="1" layout:required="false" comp:required="true">
<model id="m" name="rich" timeUnits="second">
<listOfFunctionDefinitions>
<functionDefinition id="f"><math xmlns="http://www.w3.org/1998/Math/MathML"><lambda><bvar><ci>a</ci></bvar><bvar><ci>b</ci></bvar><apply><times/><ci>a</ci><ci>b</ci></apply></lambda></math></functionDefinition>
</listOfFunctionDefinitions>
<listOfUnitDefinitions>
<unitDefinition id="per_s">
<listOfUnits>
<unit kind="second" exponent="-1" scale="0" multiplier="1"/>
</listOfUnits>
</unitDefinition>
</listOfUnitDefinitions>
<listOfCompartments>
<compartment id="c" spatialDimensions="3" size="2" constant="true"/>
</listOfCompartments>
<listOfSpecies>
<species id="A" compartment="c" initialConcentration="1" hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/>
<species id="B" compartment="c" initialAmount="0" hasOnlySubstanceUnits="true" boundaryCondition="false" constant="false"/>
<species id="M" compartment="c" initialAmount="1" hasOnlySubstanceUnits="true" boundaryCondition="true" constant="true"/>
</listOfSpecies>
<listOfParameters>
<parameter id="k" value="0.3" units="per_s" constant="true"/>
<parameter id="w" value="1" constant="false"/>
<parameter id="x" constant="false"/>
<parameter id="y" constant="true"/>
</listOfParameters>
<listOfInitialAssignments>
<initialAssignment symbol="y"><math xmlns="http://www.w3.org/1998/Math/MathML"><ci>k</ci></math></initialAssignment>
</listOfInitialAssignments>
<listOfRules>
<assignmentRule variable="x"><math xmlns="http://www.w3.org/1998/Math/MathML"><apply><ci>f</ci><ci>A</ci><ci>w</ci></apply></math></assignmentRule>
<rateRule variable="w"><math xmlns="http://www.w3.org/1998/Math/MathML"><apply><minus/><ci>w</ci></apply></math></rateRule>
</listOfRules>
<listOfReactions>
<reaction id="r" reversible="false" fast="false">
<listOfReactants>
<speciesReference species="A" stoichiometry="1" constant="true"/>
</listOfReactants>
<listOfProducts>
<speciesReference species="B" stoichiometry="2" constant="true"/>
</listOfProducts>
<listOfModifiers>
<modifierSpeciesReference species="M"/>
</listOfModifiers>
<kineticLaw>
<math xmlns="http://www.w3.org/1998/Math/MathML"><apply><times/><ci>k</ci><ci>local</ci><ci>A</ci></apply></math>
<listOfLocalParameters>
<localParameter id="local" value="1.5"/>
</listOfLocalParameters>
</kineticLaw>
</reaction>
</listOfReactions>
<listOfEvents>
<event id="e" useValuesFromTriggerTime="true">
<trigger initialValue="true" persistent="true"><math xmlns="http://www.w3.org/1998/Math/MathML"><apply><geq/><csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/time">t</csymbol><cn>5</cn></apply></math></trigger>
<listOfEventAssignments>
<eventAssignment variable="w"><math xmlns="http://www.w3.org/1998/Math/MathML"><cn>2</cn></math></eventAssignment>
</listOfEventAssignments>
</event>
</listOfEvents>
</model>
</sbml>
`

// read returns the equations of a file.
func read(text string) (m *equations.Equations, warnings []string, err error) {
	defer source.Catch(&err)
	f := source.FS(fstest.MapFS{"m.xml": {Data: []byte(text)}}, ".")
	return Read(f, "m.xml", 0), f.Warnings, nil
}

// text writes out equations without their lines in the file.
func text(m *equations.Equations) string {
	return regexp.MustCompile(`Where:\{[^}]*\}`).ReplaceAllString(fmt.Sprintf("%+v", *m), "")
}

// refused checks that a file is refused with an error of one line that has a line number.
func refused(t *testing.T, what, file string, feature bool) {
	t.Helper()
	_, _, err := read(file)
	is, ok := err.(*source.Error)
	switch {
	case err == nil:
		t.Errorf("%s: accepted", what)
	case !ok || is.Line == 0 || strings.Contains(err.Error(), "\n") || feature != (is.Feature != ""):
		t.Errorf("%s: %v", what, err)
	}
}

var tags = regexp.MustCompile(`<([a-zA-Z]+)([^>]*?)(/?)>`)

// Misspelt core elements and attributes, second elements where one is allowed, and
// elements that are not SBML are refused. Notes, annotations and packages that the model
// does not require change nothing.
func TestStrict(t *testing.T) {
	want, warnings, err := read(rich)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	lines := strings.Split(rich, "\n")
	for i, line := range lines {
		with := func(s string) string {
			out := append([]string(nil), lines...)
			out[i] = s
			return strings.Join(out, "\n")
		}
		tag := tags.FindStringSubmatch(line)
		if tag == nil || i == 0 {
			continue
		}
		name, attributes, empty := tag[1], tag[2], tag[3] != "" || strings.HasSuffix(line, "</"+tag[1]+">")
		if empty {
			refused(t, name+" misspelt", with(strings.ReplaceAll(strings.Replace(line, "<"+name, "<"+name+"s", 1), "</"+name+">", "</"+name+"s>")), false)
		} else {
			file := strings.Replace(with(strings.Replace(line, "<"+name, "<"+name+"s", 1)), "</"+name+">", "</"+name+"s>", 1)
			refused(t, name+" misspelt", file, false)
		}
		for _, a := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(attributes, -1) {
			if a[1] != "xmlns" && a[1] != "sboTerm" {
				refused(t, name+": "+a[1]+" misspelt", with(strings.Replace(line, " "+a[1]+"=", " "+a[1]+"s=", 1)), false)
			}
		}
		if empty && !strings.HasPrefix(lines[i-1], "<listOf") && !strings.Contains(name, "pecies") || name == "math" || name == "trigger" || name == "functionDefinition" {
			refused(t, name+" twice", with(line+line), false)
		}
		if name == "math" {
			continue
		}
		for _, optional := range []string{"<notes><p>a</p></notes>", "<annotation>text<b/></annotation>", `<layout:listOfLayouts><layout:layout layout:a="1"/></layout:listOfLayouts>`} {
			file := with(line + optional)
			if tag[3] != "" {
				file = with(strings.Replace(line, "/>", ">"+optional+"</"+name+">", 1))
			} else if empty {
				file = with(strings.Replace(line, ">", ">"+optional, 1))
			}
			got, _, err := read(file)
			if err != nil || text(got) != text(want) {
				t.Errorf("%s with %s: %v", name, optional, err)
			}
		}
		refused(t, name+" with an attribute of a package", with(strings.Replace(line, "<"+name, "<"+name+` comp:a="b"`, 1)), true)
		if !empty {
			refused(t, name+" with an element of a package", with(line+"<comp:thing/>"), true)
			refused(t, name+" with an element of no one", with(line+"<thing/>"), false)
			refused(t, name+" with text", with(line+"text"), false)
		}
	}
	for _, list := range []string{"listOfSpecies", "listOfReactions", "listOfRules", "listOfReactants", "listOfLocalParameters", "kineticLaw", "trigger"} {
		part := regexp.MustCompile(`(?s)<` + list + `\b.*?</` + list + `>`).FindString(rich)
		refused(t, "a second "+list, strings.Replace(rich, part, part+part, 1), false)
	}
}

// A name in a formula has only the meaning that the model defines, and never that of a
// built-in name of another format, or of a name that is local to another part of the
// model.
func TestNames(t *testing.T) {
	const law = `<ci>k</ci><ci>local</ci><ci>A</ci>`
	for _, name := range []string{"time", "pi", "e", "avogadro", "exponentiale", "unknown", "f", "t", "inf", "m", "per_s"} {
		refused(t, "an undefined "+name, strings.Replace(rich, law, "<ci>"+name+"</ci>", 1), false)
		refused(t, "a free "+name+" of a function", strings.Replace(rich, "<apply><times/><ci>a</ci><ci>b</ci></apply>", "<ci>"+name+"</ci>", 1), false)
	}
	refused(t, "a local parameter as a free name of a function", strings.Replace(rich, "<apply><times/><ci>a</ci><ci>b</ci></apply>", "<ci>local</ci>", 1), false)
	refused(t, "a local parameter elsewhere", strings.Replace(rich, "<ci>w</ci></apply></math></rateRule>", "<ci>local</ci></apply></math></rateRule>", 1), false)

	const csymbol = `<csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/time">t</csymbol>`
	rate := func(file string) string {
		m, _, err := read(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range m.Assignments {
			if a.ID == "r" {
				return a.Formula.Simplify().String()
			}
		}
		return ""
	}
	// A local parameter called time, pi, e or like a species has its own meaning in its
	// kinetic law, and the time symbol in the law is still the time.
	for _, name := range []string{"time", "pi", "e", "B"} {
		file := strings.Replace(rich, `id="local"`, `id="`+name+`"`, 1)
		file = strings.Replace(file, law, `<ci>`+name+`</ci>`+csymbol, 1)
		if got := rate(file); got != "1.5*time" {
			t.Errorf("a local %s: %s", name, got)
		}
	}
	// The same holds for an argument of a function.
	file := strings.Replace(rich, `<bvar><ci>a</ci></bvar><bvar><ci>b</ci></bvar><apply><times/><ci>a</ci><ci>b</ci></apply>`,
		`<bvar><ci>time</ci></bvar><bvar><ci>e</ci></bvar><apply><times/><ci>time</ci><ci>e</ci>`+csymbol+`</apply>`, 1)
	file = strings.Replace(file, law, `<apply><ci>f</ci><ci>A</ci><ci>k</ci></apply>`, 1)
	if got := rate(file); got != "A*k*time" {
		t.Errorf("a function of time: %s", got)
	}
}

// The time of a trigger is found if the trigger is linear in time; for others it is found
// in a solve. A strict trigger is still false at its time.
func TestTriggers(t *testing.T) {
	const time, trigger = `<csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/time">t</csymbol>`, `<apply><geq/>`
	at := func(condition string) string {
		return strings.Replace(rich, trigger+time+`<cn>5</cn></apply>`, condition, 1)
	}
	apply := func(op string, args ...string) string {
		return "<apply><" + op + "/>" + strings.Join(args, "") + "</apply>"
	}
	number := func(v float64) string { return fmt.Sprintf("<cn>%v</cn>", v) }
	step := "<piecewise><piece><cn>0</cn>" + apply("lt", time, "<cn>1</cn>") + "</piece><otherwise><cn>5</cn></otherwise></piecewise>"
	for name, c := range map[string]string{
		"a step in time":  apply("geq", apply("plus", time, step), number(4)),
		"a kink in time":  apply("geq", apply("abs", time), number(4)),
		"a floor of time": apply("geq", apply("floor", time), number(4)),
		"a larger of two": apply("geq", apply("max", time, number(2)), number(4)),
		"a square":        apply("geq", apply("times", time, time), number(4)),
		"a state":         apply("geq", "<ci>A</ci>", number(4)),
		"two conditions":  apply("and", apply("geq", time, number(4)), apply("lt", time, number(8))),
		"two times":       apply("eq", apply("times", time, time), number(4)),
	} {
		if m, _, err := read(at(c)); err != nil || m.Events[0].Time != nil || m.Events[0].Trigger == nil {
			t.Errorf("%s: %v, %+v", name, err, m)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		// b t + c > a, with b > 0, written in four ways.
		a, b, c := float64(rng.IntN(20)), float64(1+rng.IntN(4)), float64(rng.IntN(10)-5)
		left, right := apply("plus", apply("times", number(b), time), number(c)), number(a)
		for op, args := range map[string][]string{"gt": {left, right}, "geq": {left, right}, "lt": {right, left}, "leq": {right, left}, "eq": {right, left}} {
			m, _, err := read(at(apply(op, args...)))
			if err != nil {
				t.Fatal(err)
			}
			e := m.Events[0]
			if v, _ := e.Time.Const(); v != (a-c)/b || e.After != (op == "gt" || op == "lt") {
				t.Errorf("%v t + %v %s %v: at %v, after %v", b, c, op, a, e.Time, e.After)
			}
		}
	}
}
