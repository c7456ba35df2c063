package model

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/sbml"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

const (
	level3 = `<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1"><model id="m">`
	level2 = `<sbml xmlns="http://www.sbml.org/sbml/level2/version4" level="2" version="4"><model id="m">`
	ends   = `</model></sbml>`
)

// withMath replaces formulas in braces, such as {x + 1}, by MathML, to keep the tests
// short.
func withMath(t testing.TB, sbml string) string {
	t.Helper()
	for {
		i := strings.IndexByte(sbml, '{')
		if i < 0 {
			return sbml
		}
		j := i + strings.IndexByte(sbml[i:], '}')
		n, err := parser.ParseExpr(sbml[i+1 : j])
		if err != nil {
			t.Fatal(err)
		}
		sbml = sbml[:i] + `<math xmlns="http://www.w3.org/1998/Math/MathML">` + mathML(n) + "</math>" + sbml[j+1:]
	}
}

// mathML writes a formula that Go can parse, in which a backquoted name is a name that Go
// reserves.
func mathML(n ast.Expr) string {
	apply := func(f string, args ...ast.Expr) string {
		for _, a := range args {
			f += mathML(a)
		}
		return "<apply>" + f + "</apply>"
	}
	switch n := n.(type) {
	case *ast.ParenExpr:
		return mathML(n.X)
	case *ast.UnaryExpr:
		return apply("<minus/>", n.X)
	case *ast.BinaryExpr:
		names := map[token.Token]string{token.ADD: "plus", token.SUB: "minus", token.MUL: "times", token.QUO: "divide",
			token.LSS: "lt", token.LEQ: "leq", token.GTR: "gt", token.GEQ: "geq", token.EQL: "eq", token.LAND: "and", token.LOR: "or"}
		return apply("<"+names[n.Op]+"/>", n.X, n.Y)
	case *ast.CallExpr:
		return apply("<"+n.Fun.(*ast.Ident).Name+"/>", n.Args...)
	case *ast.Ident:
		if n.Name == expr.Time {
			return `<csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/time">time</csymbol>`
		}
		return "<ci>" + n.Name + "</ci>"
	case *ast.BasicLit:
		if n.Kind == token.STRING {
			return "<ci>" + strings.Trim(n.Value, "`") + "</ci>"
		}
		return "<cn>" + n.Value + "</cn>"
	}
	return ""
}

// lowerSBML reads a model and writes it out at a condition.
func lowerSBML(t testing.TB, text string, set map[string]string) (x *Instance, err error) {
	defer source.Catch(&err)
	f := source.FS(fstest.MapFS{"m.xml": {Data: []byte(withMath(t, text))}}, ".")
	m := &Model{Equations: *sbml.Read(f, "m.xml")}
	c := condition{id: "c"}
	for id, v := range set {
		c.set = append(c.set, setting{id, (&source.File{Name: "condition"}).NumberOrID(1, id, v)})
	}
	m.conditions = []condition{c}
	p := &File{Models: []*Model{m}}
	p.check()
	list, err := p.Instances()
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// SBML gives the same equations as those written by hand.
func TestSBML(t *testing.T) {
	cases := []struct {
		name, sbml string
		set        map[string]string
		want       map[string]string // right-hand sides, as formulas of states and time
		start      map[string]string
	}{
		{
			name: "concentrations and amounts",
			sbml: level3 + `<listOfCompartments><compartment id="c1" size="2" constant="true"/><compartment id="c2" size="0.5" constant="true"/></listOfCompartments>
				<listOfSpecies>
				<species id="A" compartment="c1" initialAmount="4" hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/>
				<species id="B" compartment="c2" initialConcentration="3" hasOnlySubstanceUnits="true" boundaryCondition="false" constant="false"/>
				<species id="X" compartment="c1" initialConcentration="7" hasOnlySubstanceUnits="false" boundaryCondition="true" constant="false"/>
				</listOfSpecies>
				<listOfReactions><reaction id="r" reversible="false" fast="false">
				<listOfReactants><speciesReference species="A" stoichiometry="2" constant="true"/><speciesReference species="X" stoichiometry="1" constant="true"/></listOfReactants>
				<listOfProducts><speciesReference species="B" stoichiometry="1" constant="true"/></listOfProducts>
				<kineticLaw>{k*A*A*X*c1}<listOfLocalParameters><localParameter id="k" value="3"/></listOfLocalParameters></kineticLaw>
				</reaction></listOfReactions>` + ends,
			want:  map[string]string{"A": "-2*(3*A*A*7*2)/2", "B": "3*A*A*7*2"},
			start: map[string]string{"A": "2", "B": "1.5"},
		},
		{
			name: "a compartment without dimensions, where all are amounts",
			sbml: level3 + `<listOfCompartments><compartment id="c" spatialDimensions="0" constant="true"/></listOfCompartments>
				<listOfSpecies><species id="A" compartment="c" initialAmount="4" hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/></listOfSpecies>
				<listOfReactions><reaction id="r" reversible="false" fast="false">
				<listOfReactants><speciesReference species="A" stoichiometry="1" constant="true"/></listOfReactants>
				<kineticLaw>{3*A}</kineticLaw></reaction></listOfReactions>` + ends,
			want:  map[string]string{"A": "-3*A"},
			start: map[string]string{"A": "4"},
		},
		{
			name: "a condition sets sizes and initial values",
			sbml: level3 + `<listOfCompartments><compartment id="c" size="2" constant="true"/></listOfCompartments>
				<listOfSpecies>
				<species id="A" compartment="c" initialAmount="4" hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/>
				<species id="B" compartment="c" initialAmount="4" hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/>
				</listOfSpecies>
				<listOfReactions><reaction id="r" reversible="false" fast="false">
				<listOfReactants><speciesReference species="A" stoichiometry="1" constant="true"/></listOfReactants>
				<listOfProducts><speciesReference species="B" stoichiometry="1" constant="true"/></listOfProducts>
				<kineticLaw>{A}</kineticLaw></reaction></listOfReactions>` + ends,
			set:   map[string]string{"c": "8", "B": "5"},
			want:  map[string]string{"A": "-A/8", "B": "A/8"},
			start: map[string]string{"A": "0.5", "B": "5"},
		},
		{
			name: "rules, initial assignments, functions, reaction ids, local parameters that hide global ones",
			sbml: level2 + `<listOfFunctionDefinitions><functionDefinition id="f"><math xmlns="http://www.w3.org/1998/Math/MathML"><lambda><bvar><ci>a</ci></bvar><bvar><ci>b</ci></bvar>
				<apply><plus/><apply><times/><ci>a</ci><ci>b</ci></apply><cn>1</cn></apply></lambda></math></functionDefinition></listOfFunctionDefinitions>
				<listOfCompartments><compartment id="c" size="1"/></listOfCompartments>
				<listOfSpecies><species id="A" compartment="c" initialConcentration="2"/></listOfSpecies>
				<listOfParameters><parameter id="k" value="5"/><parameter id="p" value="1" constant="false"/><parameter id="q" constant="false"/><parameter id="s"/></listOfParameters>
				<listOfInitialAssignments><initialAssignment symbol="s">{2*A + q}</initialAssignment></listOfInitialAssignments>
				<listOfRules>
				<rateRule variable="p"><math xmlns="http://www.w3.org/1998/Math/MathML"><apply><ci>f</ci><ci>q</ci><csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/time">t</csymbol></apply></math></rateRule>
				<assignmentRule variable="q">{A + r}</assignmentRule></listOfRules>
				<listOfReactions><reaction id="r"><listOfReactants><speciesReference species="A"/></listOfReactants>
				<kineticLaw>{k*A*s}<listOfParameters><parameter id="k" value="3"/></listOfParameters></kineticLaw></reaction></listOfReactions>` + ends,
			// s = 2·2 + q(0), q(0) = 2 + r(0), r(0) = 3·2·s: a cycle.
			want: nil,
		},
		{
			name: "rules, initial assignments, functions, reaction ids",
			sbml: level2 + `<listOfFunctionDefinitions><functionDefinition id="f"><math xmlns="http://www.w3.org/1998/Math/MathML"><lambda><bvar><ci>a</ci></bvar><bvar><ci>b</ci></bvar>
				<apply><plus/><apply><times/><ci>a</ci><ci>b</ci></apply><cn>1</cn></apply></lambda></math></functionDefinition></listOfFunctionDefinitions>
				<listOfCompartments><compartment id="c" size="1"/></listOfCompartments>
				<listOfSpecies><species id="A" compartment="c" initialConcentration="2"/></listOfSpecies>
				<listOfParameters><parameter id="k" value="5"/><parameter id="p" value="1" constant="false"/><parameter id="q" constant="false"/><parameter id="s"/></listOfParameters>
				<listOfInitialAssignments><initialAssignment symbol="s">{2*A + q}</initialAssignment></listOfInitialAssignments>
				<listOfRules>
				<rateRule variable="p"><math xmlns="http://www.w3.org/1998/Math/MathML"><apply><ci>f</ci><ci>q</ci><csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/time">t</csymbol></apply></math></rateRule>
				<assignmentRule variable="q">{A + r}</assignmentRule></listOfRules>
				<listOfReactions><reaction id="r"><listOfReactants><speciesReference species="A"/></listOfReactants>
				<kineticLaw>{k*A}<listOfParameters><parameter id="k" value="3"/></listOfParameters></kineticLaw></reaction>
				<reaction id="r2"><listOfProducts><speciesReference species="A"><stoichiometryMath>{k - 1}</stoichiometryMath></speciesReference></listOfProducts>
				<kineticLaw>{k*s}</kineticLaw></reaction></listOfReactions>` + ends,
			want:  map[string]string{"A": "-3*A + 4*5*12", "p": "(A + 3*A)*time + 1"},
			start: map[string]string{"A": "2", "p": "1"},
		},
		{
			name: "stoichiometry and conversion factor of Level 3",
			sbml: level3[:len(level3)-len(`<model id="m">`)] + `<model id="m" conversionFactor="cf"><listOfCompartments><compartment id="c" size="4" constant="true"/></listOfCompartments>
				<listOfSpecies>
				<species id="A" compartment="c" initialConcentration="1" hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/>
				<species id="B" compartment="c" initialAmount="0" hasOnlySubstanceUnits="true" boundaryCondition="false" constant="false" conversionFactor="own"/>
				</listOfSpecies>
				<listOfParameters><parameter id="cf" value="10" constant="true"/><parameter id="own" value="100" constant="true"/></listOfParameters>
				<listOfRules><assignmentRule variable="n">{1 + time}</assignmentRule></listOfRules>
				<listOfReactions><reaction id="r" reversible="false" fast="false">
				<listOfReactants><speciesReference species="A" stoichiometry="3" constant="true"/></listOfReactants>
				<listOfProducts><speciesReference id="n" species="B" constant="false"/></listOfProducts>
				<kineticLaw>{A}</kineticLaw></reaction></listOfReactions>` + ends,
			want:  map[string]string{"A": "-3*A*10/4", "B": "100*(1 + time)*A"},
			start: map[string]string{"A": "1", "B": "0"},
		},
		{
			name: "a compartment that grows",
			sbml: level3 + `<listOfCompartments><compartment id="V" size="2" constant="false"/></listOfCompartments>
				<listOfSpecies>
				<species id="A" compartment="V" initialConcentration="3" hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/>
				<species id="D" compartment="V" initialAmount="5" hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/>
				</listOfSpecies>
				<listOfRules><rateRule variable="V">{0.1*V}</rateRule></listOfRules>
				<listOfReactions><reaction id="r" reversible="false" fast="false">
				<listOfReactants><speciesReference species="A" stoichiometry="1" constant="true"/></listOfReactants>
				<kineticLaw>{V*A*D}</kineticLaw></reaction></listOfReactions>` + ends,
			// A is a concentration and its state the amount, so dilution needs no term.
			want:  map[string]string{"V": "0.1*V", "A_amount": "-V*(A_amount/V)*(D_amount/V)", "D_amount": "0"},
			start: map[string]string{"V": "2", "A_amount": "6", "D_amount": "5"},
		},
		{
			name: "a condition sets a concentration in it",
			sbml: level3 + `<listOfCompartments><compartment id="V" size="2" constant="false"/></listOfCompartments>
				<listOfSpecies><species id="A" compartment="V" initialConcentration="3" hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/></listOfSpecies>
				<listOfRules><rateRule variable="V">{0.1*V}</rateRule></listOfRules>` + ends,
			set:   map[string]string{"A": "10", "V": "4"},
			want:  map[string]string{"V": "0.1*V", "A_amount": "0"},
			start: map[string]string{"V": "4", "A_amount": "40"},
		},
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for _, c := range cases {
		e, err := lowerSBML(t, c.sbml, c.set)
		if c.want == nil {
			if err == nil {
				t.Errorf("%s: no error", c.name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(e.states) != len(c.want) {
			t.Errorf("%s: states %v", c.name, e.states)
		}
		for range 5 {
			at := map[string]float64{expr.Time: rng.Float64()}
			for _, s := range e.states {
				at[s] = 1 + rng.Float64()
			}
			for i, s := range e.states {
				for want, got := range map[string]*expr.Node{c.want[s]: e.rates[i], c.start[s]: e.initial[i]} {
					n, err := expr.Parse(want)
					if err != nil {
						t.Fatalf("%s: %s: %v", c.name, s, err)
					}
					if v, w := value(t, got, at), value(t, n, at); !near(v, w) {
						t.Errorf("%s: %s is %v, that is %v: want %v, that is %v", c.name, s, got, v, want, w)
					}
				}
			}
		}
	}
}

// SBML events happen at the right times, and change amounts as they should.
func TestSBMLEvents(t *testing.T) {
	model := func(trigger, attrs, more, assign string) string {
		return level3 + `<listOfCompartments><compartment id="V" size="2" constant="false"/></listOfCompartments>
			<listOfSpecies><species id="A" compartment="V" initialConcentration="3" hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/></listOfSpecies>
			<listOfParameters><parameter id="T" value="5" constant="true"/></listOfParameters>
			<listOfEvents><event id="e" useValuesFromTriggerTime="true"><trigger persistent="true" ` + attrs + `>` + trigger + `</trigger>` + more + `
			<listOfEventAssignments>` + assign + `</listOfEventAssignments></event></listOfEvents>` + ends
	}
	double := `<eventAssignment variable="V">{2*V}</eventAssignment>`
	set := `<eventAssignment variable="A">{A + 1}</eventAssignment>`
	for _, c := range []struct {
		trigger, attrs, more, assign string
		time                         float64
		early                        equations.Early
		amount, volume               float64 // after it, from an amount 6 and a volume 2
	}{
		{"{time >= T}", `initialValue="true"`, "", double, 5, equations.Missed, 6, 4},
		{"{time > T}", `initialValue="true"`, "", set, 5, equations.AtStart, 4 * 2, 2},
		{"{time >= T}", `initialValue="false"`, "", set + double, 5, equations.Late, 4 * 2, 4},
		{"{2*time - 4 > T - time}", `initialValue="true"`, "", double + set, 3, equations.AtStart, 4 * 2, 4},
		{"{T <= time}", `initialValue="true"`, "<priority>{2}</priority>", `<eventAssignment variable="A">{7}</eventAssignment>`, 5, equations.Missed, 14, 2},
	} {
		e, err := lowerSBML(t, model(c.trigger, c.attrs, c.more, c.assign), nil)
		if err != nil {
			t.Errorf("%s: %v", c.trigger, err)
			continue
		}
		v := e.events[0]
		if got := value(t, v.Time, nil); got != c.time || v.Early != c.early {
			t.Errorf("%s %s: at %v, %v: want %v, %v", c.trigger, c.attrs, got, v.Early, c.time, c.early)
		}
		before := map[string]float64{"A_amount": 6, "V": 2, "A": 3}
		after := map[string]float64{"A_amount": 6, "V": 2}
		for _, j := range v.Jumps {
			after[j.State] = value(t, j.Value, before)
			if j.State == "A" { // a concentration where nothing changes V
				after["A_amount"] = 2 * after["A"]
			}
		}
		if after["A_amount"] != c.amount || after["V"] != c.volume {
			t.Errorf("%s: %v: want %v and %v", c.assign, after, c.amount, c.volume)
		}
	}
	for _, c := range []struct{ trigger, attrs, more, assign, feature string }{
		{"{time == T}", `initialValue="true"`, "", set, "event trigger that is not continuous"},
		{"{ceiling(A) >= T}", `initialValue="true"`, "", set, "event trigger that is not continuous"},
	} {
		_, err := lowerSBML(t, model(c.trigger, c.attrs, c.more, c.assign), nil)
		var e *source.Error
		if !errors.As(err, &e) || e.Feature != c.feature {
			t.Errorf("%s %s: %v: want %s", c.trigger, c.assign, err, c.feature)
		}
	}
	// A trigger that only becomes false never causes an event.
	if e, err := lowerSBML(t, model("{time < T}", `initialValue="true"`, "", double), nil); err != nil || len(e.events) != 0 {
		t.Errorf("time < T: %v, %v", e, err)
	}
}

// A model in SBML can be loaded without data. Its numbers are parameters, and its
// assignments are observed.
func TestSBMLFile(t *testing.T) {
	text := withMath(t, level3+`<listOfParameters><parameter id="k" value="3" constant="true"/><parameter id="x" value="2" constant="false"/><parameter id="y" constant="false"/></listOfParameters>
		<listOfRules><rateRule variable="x">{0 - k*x}</rateRule><assignmentRule variable="y">{x*x}</assignmentRule></listOfRules>`+ends)
	p, err := LoadFS(fstest.MapFS{"m.xml": {Data: []byte(text)}}, "m.xml")
	if err != nil {
		t.Fatal(err)
	}
	e := experiments(t, p)[0]
	q, err := p.ODE(e)
	if err != nil {
		t.Fatal(err)
	}
	f := []float64{0}
	q.F(f, 0, []float64{2}, q.Theta)
	names, at, err := p.Observables(e)
	if err != nil {
		t.Fatal(err)
	}
	y := []float64{0}
	at(y, 0, []float64{2}, q.Theta)
	if q.Params[0] != "k" || q.Theta[0] != 3 || f[0] != -6 || len(names) != 1 || names[0] != "y" || y[0] != 4 {
		t.Errorf("%v = %v, x′ = %v, %v = %v", q.Params, q.Theta, f, names, y)
	}
}
