package model

import (
	"slices"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// An Instance is a model under one condition; it is also called an experiment. If the
// data require it, the model is first preequilibrated under another condition.
//
// The expressions of an Instance may contain the time ([expr.Time]), the IDs of the
// states of the system, and the IDs of the parameters of the file.
type Instance struct {
	model            *Model
	Condition        string
	preequilibration string // "" if there is none

	// pre is the system for the preequilibration, or nil if there is none. The system for
	// the preequilibration runs from its initial values to its steady state before the main
	// system starts. The preequilibration does not depend on time and has no events.
	// Instances with the same preequilibration share one pointer.
	pre    *system
	period *expr.Node // if doses repeat until they lead to a steady state; otherwise nil
	system
	hybrid *system // see branches; nil if it would equal system
	rows   []row   // sorted by time; rows at the same time are in the order in which the file lists them
}

// Shown returns the number of states that the file defines. Further components of the
// state keep what an event will do, or has done, or the values of observables at earlier
// measurements.
func (e *Instance) Shown() int {
	n := slices.IndexFunc(e.model.States, func(s equations.State) bool { return s.Hidden })
	if n < 0 {
		n = len(e.model.States)
	}
	return n
}

// Replaces reports whether the condition sets the parameter, so that its own value has no
// effect on the experiment.
func (e *Instance) Replaces(id string) bool {
	i := slices.IndexFunc(e.model.conditions, func(c condition) bool { return c.id == e.Condition })
	if i < 0 || e.preequilibration != "" {
		return false
	}
	set := e.model.conditions[i].set
	return slices.ContainsFunc(set, func(s setting) bool { return s.id == id }) &&
		!slices.ContainsFunc(set, func(s setting) bool { return slices.Contains(s.value.Symbols(), id) })
}

type index struct {
	m           *Model
	params      map[string]bool
	states      map[string]*equations.State
	amounts     map[string]*equations.State // by State.Of
	constants   map[string]*equations.Constant
	assignments map[string]*equations.Assignment
	observables map[string]*observable
}

type system struct {
	states []string

	// initial contains formulas for the initial values of the states. After a
	// preequilibration, a state ID in the field `initial` stands for the steady-state value
	// of this state.
	initial []*expr.Node
	rates   []*expr.Node
	events  []equations.Event // Time contains parameters only, Jumps also time and states

	// switches holds formulas for the times at which conditions in right-hand sides and
	// triggers change. The formulas contain only parameters. The solver should end a step at
	// every switching time.
	switches []*expr.Node
	strict   [2]int    // from and to: at these switches, triggers such as time > 5 are still false
	knots    []float64 // times at which inputs change their formulas
}

// A row holds a measurement. Its formulas contain only the time, states and parameters;
// rows with the same formulas share one observable.
type row struct {
	*observable
	time   float64 // +Inf: at the steady state
	value  float64
	within *[2]float64 // the interval, which contains value, if only that is known
	index  int         // index of the measurement in the data of the model
}

type increase struct {
	of      string // the ID of the observable
	state   string // the state that holds the value at the previous measurement
	formula *expr.Node
}

type lowering struct {
	*index
	system
	set       map[string]*expr.Node  // settings of the condition
	after     bool                   // preequilibration came before
	start     map[string]*expr.Node  // by ID: the value at the start, as a formula of parameters (and steady states)
	open      map[string]bool        // IDs whose value at the start is being derived
	now       map[string]*expr.Node  // by ID: the formula at any time
	lowered   map[string]*observable // by ID and parameters of the row: see row
	increases []increase
	meetings  []equations.Event // without jumps: see equalities
}

func (l *lowering) isModels(id string) bool {
	return l.index.states[id] != nil || l.constants[id] != nil || l.assignments[id] != nil || l.params[id]
}
