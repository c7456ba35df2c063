package model

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/sbml"
	"github.com/probode/probode/pkg/probode/model/internal/source"
	"github.com/probode/probode/pkg/probode/reference"
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
			token.LSS: "lt", token.LEQ: "leq", token.GTR: "gt", token.GEQ: "geq", token.EQL: "eq", token.NEQ: "neq", token.LAND: "and", token.LOR: "or"}
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
	m := &Model{Equations: *sbml.Read(f, "m.xml", 0)}
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
			name: "a rate rule in a compartment that grows and that an event doubles",
			sbml: level3 + `<listOfCompartments><compartment id="V" size="2" constant="false"/></listOfCompartments>
				<listOfSpecies><species id="A" compartment="V" initialConcentration="3" hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/></listOfSpecies>
				<listOfRules><rateRule variable="V">{0.1*V}</rateRule><rateRule variable="A">{A*A + 1}</rateRule></listOfRules>
				<listOfEvents><event id="e" useValuesFromTriggerTime="true"><trigger initialValue="true" persistent="true">{time >= 5}</trigger>
				<listOfEventAssignments><eventAssignment variable="V">{2*V}</eventAssignment></listOfEventAssignments></event></listOfEvents>` + ends,
			// The rule is that of A = a/V, so a′ = A′ V + A V′.
			want:  map[string]string{"V": "0.1*V", "A_amount": "((A_amount/V)^2 + 1)*V + 0.1*A_amount"},
			start: map[string]string{"V": "2", "A_amount": "6"},
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
					n, err := expr.Parse(expr.Names{}, want)
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
		{"{time == T}", `initialValue="true"`, "", set, 5, equations.Missed, 4 * 2, 2},
		{"{2*T == 2*time}", `initialValue="false"`, "", set, 5, equations.AtStart, 4 * 2, 2},
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

// checkSolved checks what a model in SBML shows at t = 1, by name.
func checkSolved(t *testing.T, name, text string, want map[string]float64) {
	t.Helper()
	got, err := solvedAt(t, text, 1)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for id, x := range want {
		if v, ok := got[id]; !ok || math.Abs(v-x) > 1e-9 {
			t.Errorf("%s: %s is %v: want %v", name, id, v, x)
		}
	}
}

// solvedAt returns what a model in SBML shows at a time, by name. Adaptive steps and the
// reference must agree.
func solvedAt(t *testing.T, text string, at float64) (map[string]float64, error) {
	t.Helper()
	p, err := LoadFS(fstest.MapFS{"m.xml": {Data: []byte(withMath(t, text))}}, "m.xml")
	if err != nil {
		return nil, err
	}
	e := experiments(t, p)[0]
	q, err := p.ODE(e)
	if err != nil {
		return nil, err
	}
	q.Span[1] = at
	r, err := reference.Solve(t.Context(), q, []float64{at}, reference.Settings{Tolerance: probode.Tolerance{Relative: 1e-10}})
	if err != nil {
		return nil, err
	}
	s, x := probode.Setup{Method: methods.Auto{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-9}}}, make([]float64, q.Dim())
	path, err := s.Bind(t.Context(), q, q.Theta, []float64{at})
	if err == nil {
		err = path.States(t.Context(), x, q.Theta, nil)
	}
	for k, want := range r.X {
		if !(math.Abs(x[k]-want) <= 1e-6*(1+math.Abs(want))) {
			return nil, fmt.Errorf("%s is %v by auto, and %v by the reference (%v)", q.StateName(k), x[k], want, err)
		}
	}
	names, observe, err := p.Observables(e)
	if err != nil {
		return nil, err
	}
	y, out := make([]float64, len(names)), map[string]float64{}
	observe(y, at, r.X, q.Theta)
	for i, name := range names {
		out[name] = y[i]
	}
	for i, name := range e.states[:e.Shown()] {
		out[name] = r.X[i]
	}
	return out, nil
}

// Models in SBML whose solutions are known in closed form.
func TestSBMLSolutions(t *testing.T) {
	level32 := strings.ReplaceAll(level3, "version1/core\" level=\"3\" version=\"1", "version2/core\" level=\"3\" version=\"2")
	free := func(ids ...string) (s string) {
		s = "<listOfParameters>"
		for _, id := range ids {
			s += `<parameter id="` + id + `" value="1" constant="false"/>`
		}
		return s + `<parameter id="k" value="2" constant="true"/></listOfParameters>`
	}
	rules := func(list ...string) string { return "<listOfRules>" + strings.Join(list, "") + "</listOfRules>" }
	assign := func(id, f string) string { return `<assignmentRule variable="` + id + `">{` + f + `}</assignmentRule>` }
	rate := func(id, f string) string { return `<rateRule variable="` + id + `">{` + f + `}</rateRule>` }
	zero := func(f string) string { return "<algebraicRule>{" + f + "}</algebraicRule>" }
	rateOf := func(id string) string {
		return `<math xmlns="http://www.w3.org/1998/Math/MathML"><apply><csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/rateOf">r</csymbol><ci>` + id + `</ci></apply></math>`
	}
	shows := func(id, of string) string {
		return `<assignmentRule variable="` + id + `">` + rateOf(of) + `</assignmentRule>`
	}
	growing := `<listOfCompartments><compartment id="V" size="2" constant="false"/></listOfCompartments>
		<listOfSpecies><species id="A" compartment="V" initialConcentration="3" hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/></listOfSpecies>`
	event := func(trigger, attrs, id, value string) string {
		return `<event useValuesFromTriggerTime="true"><trigger persistent="true" ` + attrs + `>{` + trigger + `}</trigger><listOfEventAssignments><eventAssignment variable="` + id + `">{` + value + `}</eventAssignment></listOfEventAssignments></event>`
	}
	events := func(list ...string) string { return "<listOfEvents>" + strings.Join(list, "") + "</listOfEvents>" }
	const early, late = `initialValue="true"`, `initialValue="false"`
	const e2 = math.E * math.E
	for name, c := range map[string]struct {
		text string
		want map[string]float64 // at t = 1
	}{
		"an algebraic rule":           {level3 + free("x", "y") + rules(rate("x", "0 - k*x"), zero("x + k*y - 3")) + ends, map[string]float64{"x": 1 / e2, "y": (3 - 1/e2) / 2}},
		"one that contains a rule":    {level3 + free("x", "y", "z") + rules(rate("x", "0 - k*x"), zero("x + z - 3"), assign("z", "k*y")) + ends, map[string]float64{"y": (3 - 1/e2) / 2, "z": 3 - 1/e2}},
		"two for two":                 {level3 + free("x", "y", "z") + rules(rate("x", "0 - k*x"), zero("y + z - x"), zero("y - 3*z")) + ends, map[string]float64{"y": 0.75 / e2, "z": 0.25 / e2}},
		"one that a rate depends on":  {level3 + free("x", "y") + rules(rate("x", "y"), zero("y + k*x")) + ends, map[string]float64{"x": 1 / e2, "y": -2 / e2}},
		"the rate of a state":         {level32 + free("x", "y") + rules(rate("x", "0 - k*x"), shows("y", "x")) + ends, map[string]float64{"y": -2 / e2}},
		"the rate of a constant":      {level32 + free("x", "y") + rules(rate("x", "0 - k*x"), shows("y", "k")) + ends, map[string]float64{"y": 0}},
		"the rate of a concentration": {level32 + growing + free("y") + rules(rate("V", "k*V"), shows("y", "A")) + ends, map[string]float64{"A": 3 / e2, "y": -6 / e2}},
		"no differential equation":    {level3 + free("y") + rules(assign("y", "k*time + 1")) + ends, map[string]float64{"y": 3}},
		"an id called time":           {level3 + strings.ReplaceAll(free("x"), `"k"`, `"time"`) + rules(rate("x", "0 - `time`*x + 0*time")) + ends, map[string]float64{"x": 1 / e2}},
		"a condition as a number":     {level32 + free("x") + rules(rate("x", "k*(time < 0.25)")) + ends, map[string]float64{"x": 1.5}},
		"numbers as conditions":       {level32 + free("x", "y") + rules(assign("x", "7*(k && 3)"), assign("y", "5*(k || k - 2) + (k && (k - 2))")) + ends, map[string]float64{"x": 7, "y": 5}},
		"rules without formulas":      {level32 + free("x", "y") + rules(`<rateRule variable="x"/><assignmentRule variable="y"/>`, rate("y", "k")) + ends, map[string]float64{"y": 3}},
		"a trigger without a formula": {level32 + free("x") + rules(rate("x", "k")) + `<listOfEvents><event useValuesFromTriggerTime="true"><trigger persistent="true" initialValue="false"/></event></listOfEvents>` + ends, map[string]float64{"x": 3}},
		"a number as a trigger":       {level32 + free("x", "y") + rules(rate("x", "k")) + `<listOfEvents><event useValuesFromTriggerTime="true"><trigger persistent="true" initialValue="false">{k}</trigger><listOfEventAssignments><eventAssignment variable="y">{5}</eventAssignment></listOfEventAssignments></event></listOfEvents>` + ends, map[string]float64{"y": 5}},
		"the time is equal to a number": {level3 + free("x", "y", "z") + rules(rate("x", "k")) + events(event("time == 0.5", early, "x", "7*x"),
			event("0.2 == 2*time", late, "y", "x"), event("time == 0", early, "z", "9")) + ends, map[string]float64{"x": 15, "y": 1.2, "z": 1}},
		"equal at the start":        {level3 + free("x", "y") + rules(rate("x", "k")) + events(event("time == 0", late, "x", "5*x"), event("time == 0 - 1", late, "y", "5")) + ends, map[string]float64{"x": 7, "y": 1}},
		"a flag that an event sets": {level3 + free("f", "x", "y", "z", "w") + rules(rate("x", "k")) + events(event("x >= 1.5", early, "f", "3"), event("x > 2 && f == k + 1", early, "y", "x"), event("f != 1", early, "z", "x"), event("f == 1", late, "w", "8")) + ends, map[string]float64{"y": 2, "z": 1.5, "w": 8}},
		"a flag, and a time":        {level3 + free("f", "x", "y", "z") + rules(rate("x", "k")) + events(event("time >= 0.1 + 0.2", early, "f", "3"), event("f == 3 && time == 0.7", early, "y", "x"), event("f == 2 && time == 0.7", early, "z", "x")) + ends, map[string]float64{"y": 2.4, "z": 1}},
		"a time but for rounding":   {level3 + free("f", "x", "y") + rules(rate("x", "k")) + events(event("time >= 0.1 + 0.2", early, "f", "3"), event("k == 2 && time == 0.3", early, "y", "x")) + ends, map[string]float64{"y": 1.6}},
		"repeated doses": {level3 + free("f", "n", "x", "y") + rules(rate("x", "0")) + events(event("time >= 0.05", early, "f", "0.3"),
			event("time == f && f < 0.85", early, "f", "f + 0.2"), event("2*f == time + f && x < 3", early, "n", "n + 1")) + ends, map[string]float64{"f": 0.9, "n": 5}},
		"a time that the event passes over": {level3 + free("f", "x", "y") + rules(rate("x", "k")) + events(event("time >= 0.25", early, "f", "0.2"), event("f == time", early, "y", "5")) + ends, map[string]float64{"f": 0.2, "y": 1}},
		"a time and the state":              {level3 + free("x", "y", "z") + rules(rate("x", "k")) + events(event("time == 0.5 && x > 1.9", early, "y", "x"), event("time == 0.5 && x > 2.1", early, "z", "x")) + ends, map[string]float64{"y": 2, "z": 1}},
	} {
		checkSolved(t, name, c.text, c.want)
	}
	for name, text := range map[string]string{
		"a state equal to a number":         free("x", "y") + rules(rate("x", "k")) + events(event("x == 2", early, "y", "5")),
		"a state equal to the time":         free("x", "y") + rules(rate("x", "k")) + events(event("time == x", early, "y", "5")),
		"an algebraic rule for nothing":     free("x") + rules(rate("x", "k"), zero("x - k*time")),
		"an algebraic rule with two roots":  free("x", "y") + rules(rate("x", "k"), "\n"+zero("y*y - x")),
		"a rate that depends on itself":     free("x") + rules(strings.Replace(shows("x", "x"), "assignmentRule", "rateRule", 2)),
		"a rule without a formula, earlier": free("x") + rules(`<rateRule variable="x"/>`),
	} {
		start := level32
		if strings.HasSuffix(name, "earlier") {
			start = level3
		}
		var e *source.Error
		if _, err := solvedAt(t, start+text+ends, 1); !errors.As(err, &e) || e.Line == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Composed models, with x′ = −k x, x(0) = 1 and y = time in each submodel.
func TestSBMLSubmodels(t *testing.T) {
	model := func(parameters, submodels, more string) string {
		return `<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" xmlns:comp="http://www.sbml.org/sbml/level3/version1/comp/version1" level="3" version="1" comp:required="true"><model id="m">
			<listOfParameters>` + parameters + `<parameter id="two" value="2" constant="true"/><parameter id="ten" value="10" constant="true"/></listOfParameters>
			<comp:listOfSubmodels>` + submodels + `</comp:listOfSubmodels></model><comp:listOfModelDefinitions>
			<comp:modelDefinition id="decay"><listOfParameters><parameter id="k" value="1" constant="true"/><parameter id="x" value="1" constant="false"/><parameter id="y" constant="false"/></listOfParameters>
			<listOfRules><rateRule metaid="rule" variable="x">{0 - k*x}</rateRule><assignmentRule variable="y">{time}</assignmentRule></listOfRules>
			<comp:listOfPorts><comp:port comp:id="rate" comp:idRef="k"/></comp:listOfPorts></comp:modelDefinition>
			<comp:modelDefinition id="outer"><comp:listOfSubmodels><comp:submodel comp:id="in" comp:modelRef="decay" comp:timeConversionFactor="four"/></comp:listOfSubmodels>
			<listOfParameters><parameter id="four" value="4" constant="true"/></listOfParameters></comp:modelDefinition>` + more + `</comp:listOfModelDefinitions></sbml>`
	}
	sub := func(id, of, more string) string {
		return `<comp:submodel comp:id="` + id + `" comp:modelRef="` + of + `"` + more
	}
	k := func(value string, replaced ...string) string {
		return `<parameter id="k" value="` + value + `" constant="true"><comp:listOfReplacedElements>` + strings.Join(replaced, "") + `</comp:listOfReplacedElements></parameter>`
	}
	for name, c := range map[string]struct {
		text string
		want map[string]float64
	}{
		"copies":         {model("", sub("a", "decay", "/>")+sub("b", "decay", "/>"), ""), map[string]float64{"a__x": math.Exp(-1), "b__y": 1}},
		"a replacement":  {model(k("2", `<comp:replacedElement comp:submodelRef="a" comp:portRef="rate"/>`), sub("a", "decay", "/>")+sub("b", "decay", "/>"), ""), map[string]float64{"a__x": math.Exp(-2), "b__x": math.Exp(-1)}},
		"with a factor":  {model(k("30", `<comp:replacedElement comp:submodelRef="a" comp:idRef="k" comp:conversionFactor="ten"/>`), sub("a", "decay", "/>"), ""), map[string]float64{"a__x": math.Exp(-3)}},
		"another time":   {model("", sub("a", "decay", ` comp:timeConversionFactor="two"/>`), ""), map[string]float64{"a__x": math.Exp(-0.5), "a__y": 0.5}},
		"a deletion":     {model("", sub("a", "decay", `><comp:listOfDeletions><comp:deletion comp:metaIdRef="rule"/></comp:listOfDeletions></comp:submodel>`)+sub("b", "decay", "/>"), ""), map[string]float64{"b__x": math.Exp(-1), "a__y": 1}},
		"nested":         {model("", sub("a", "outer", ` comp:timeConversionFactor="two"/>`), ""), map[string]float64{"a__in__x": math.Exp(-0.125), "a__in__y": 0.125}},
		"nested, kept":   {model(`<parameter id="z" value="5" constant="false"><comp:replacedBy comp:submodelRef="a" comp:idRef="in"><comp:sBaseRef comp:idRef="x"/></comp:replacedBy></parameter>`, sub("a", "outer", "/>"), ""), map[string]float64{"z": math.Exp(-0.25)}},
		"nested, with k": {model(k("8", `<comp:replacedElement comp:submodelRef="a" comp:idRef="in"><comp:sBaseRef comp:portRef="rate"/></comp:replacedElement>`), sub("a", "outer", "/>"), ""), map[string]float64{"a__in__x": math.Exp(-2)}},
	} {
		checkSolved(t, name, c.text, c.want)
	}
	for name, text := range map[string]string{
		"no such model":       model("", sub("a", "growth", "/>"), ""),
		"a model in itself":   model("", sub("a", "loop", "/>"), `<comp:modelDefinition id="loop"><comp:listOfSubmodels>`+sub("a", "loop", "/>")+`</comp:listOfSubmodels></comp:modelDefinition>`),
		"no such element":     model(k("2", `<comp:replacedElement comp:submodelRef="a" comp:idRef="q"/>`), sub("a", "decay", "/>"), ""),
		"no such submodel":    model(k("2", `<comp:replacedElement comp:submodelRef="b" comp:idRef="k"/>`), sub("a", "decay", "/>"), ""),
		"a misspelt factor":   model("", sub("a", "decay", ` comp:timeConversionFactors="two"/>`), ""),
		"an unknown element":  model("", sub("a", "decay", `><comp:listOfThings/></comp:submodel>`), ""),
		"another file":        strings.Replace(model("", sub("a", "decay", "/>"), ""), "<comp:listOfModelDefinitions>", `<comp:listOfExternalModelDefinitions><comp:externalModelDefinition comp:id="e" comp:source="e.xml"/></comp:listOfExternalModelDefinitions><comp:listOfModelDefinitions>`, 1),
		"a deletion of a use": model("", sub("a", "decay", `><comp:listOfDeletions><comp:deletion comp:idRef="k"/></comp:listOfDeletions></comp:submodel>`), ""),
	} {
		var e *source.Error
		if _, err := solvedAt(t, text, 1); !errors.As(err, &e) || e.Line == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
