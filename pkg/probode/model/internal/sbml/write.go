package sbml

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/tree"
)

// A Parameter is a constant that the Equations use but do not define.
type Parameter struct {
	ID, Name string
	Value    *expr.Node // nil if there is none
}

// Write converts equations and their parameters to SBML Level 3 Version 2. Each state
// becomes a species with a rate rule, and constant species remain species. All species
// are in one compartment of size 1. Parameters and other constants become SBML
// parameters.
func Write(m *equations.Equations, params []Parameter) []byte {
	ids := map[string]bool{}
	for _, q := range params {
		ids[q.ID] = true
	}
	for _, s := range m.States {
		ids[s.ID] = true
	}
	for _, k := range m.Constants {
		ids[k.ID] = true
	}
	for _, a := range m.Assignments {
		ids[a.ID] = true
	}
	compartment := "compartment"
	for ids[compartment] {
		compartment += "_"
	}

	w := &writer{ids: ids}
	w.line(`<?xml version="1.0" encoding="UTF-8"?>`)
	w.line(`<sbml xmlns="http://www.sbml.org/sbml/level3/version2/core" level="3" version="2">`)
	w.line(`<model id="model" name="%s">`, tree.Escape(m.Name))
	w.line(`<listOfCompartments>`)
	w.line(`<compartment id="%s" spatialDimensions="3" size="1" constant="true"/>`, compartment)
	w.line(`</listOfCompartments>`)

	var species, parameters, initial, rules list
	init := func(id, attr string, n *expr.Node) string {
		if n == nil {
			return ""
		}
		if v, ok := n.Const(); ok && v-v == 0 {
			return fmt.Sprintf(` %s="%s"`, attr, strconv.FormatFloat(v, 'g', -1, 64))
		}
		initial.add(`<initialAssignment symbol="%s">%s</initialAssignment>`, id, w.math(n))
		return ""
	}
	for _, s := range m.States {
		species.add(`<species id="%s"%s compartment="%s"%s hasOnlySubstanceUnits="true" boundaryCondition="true" constant="false"/>`,
			s.ID, nameAttr(s.Name), compartment, init(s.ID, "initialAmount", s.Init))
		rules.add(`<rateRule variable="%s">%s</rateRule>`, s.ID, w.math(s.Rate))
	}
	given := map[string]bool{}
	for _, q := range params {
		given[q.ID] = true
		parameters.add(`<parameter id="%s"%s%s constant="true"/>`, q.ID, nameAttr(q.Name), init(q.ID, "value", q.Value))
	}
	for _, k := range m.Constants {
		switch {
		case given[k.ID]: // the value is in the parameter table
		case k.Kept:
			species.add(`<species id="%s" compartment="%s"%s hasOnlySubstanceUnits="true" boundaryCondition="true" constant="true"/>`,
				k.ID, compartment, init(k.ID, "initialAmount", k.Value))
		default:
			parameters.add(`<parameter id="%s"%s constant="true"/>`, k.ID, init(k.ID, "value", k.Value))
		}
	}
	for _, a := range m.Assignments {
		parameters.add(`<parameter id="%s" constant="false"/>`, a.ID)
		rules.add(`<assignmentRule variable="%s">%s</assignmentRule>`, a.ID, w.math(a.Formula))
	}
	w.list("listOfSpecies", species)
	w.list("listOfParameters", parameters)
	w.list("listOfInitialAssignments", initial)
	w.list("listOfRules", rules)
	w.list("listOfEvents", w.events(m.Events))
	w.line(`</model>`)
	w.line(`</sbml>`)
	return w.Bytes()
}

type writer struct {
	bytes.Buffer
	ids map[string]bool // of the model
}

type list []string

func (l *list) add(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func (w *writer) list(name string, l list) {
	if len(l) == 0 {
		return
	}
	w.line("<%s>", name)
	for _, s := range l {
		w.line("%s", s)
	}
	w.line("</%s>", name)
}

// math writes a name that the model does not define, a constant such as pi, as a number.
func (w *writer) math(n *expr.Node) string {
	by := map[string]*expr.Node{}
	for _, name := range n.Symbols() {
		if v, ok := expr.Constant(name); ok && !w.ids[name] {
			by[name] = expr.Num(v)
		}
	}
	return n.Substitute(by).MathML()
}

// events lets triggerTime recover known times exactly.
func (w *writer) events(events []equations.Event) list {
	var l list
	for i, e := range events {
		// An event can happen at the start only if its trigger counts as false before the
		// start.
		initial, trigger := e.Early != equations.Late, e.Trigger
		if trigger == nil {
			op := "geq"
			if e.After {
				op = "gt"
			}
			at, fixed := e.Time.Const()
			initial = initial && (e.After || e.Early != equations.AtStart || !fixed || at != 0)
			trigger = expr.Call(op, expr.Sym(expr.Time), e.Time)
		}
		id := e.ID
		if !expr.IsID(id) {
			id = fmt.Sprintf("event_%d", i+1)
		}
		s := fmt.Sprintf(`<event id="%s" useValuesFromTriggerTime="true"><trigger initialValue="%v" persistent="true">%s</trigger><listOfEventAssignments>`,
			id, initial, w.math(trigger))
		for _, j := range e.Jumps {
			s += fmt.Sprintf(`<eventAssignment variable="%s">%s</eventAssignment>`, j.State, w.math(j.Value))
		}
		l.add("%s", s+`</listOfEventAssignments></event>`)
	}
	return l
}

func nameAttr(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(` name="%s"`, tree.Escape(name))
}
