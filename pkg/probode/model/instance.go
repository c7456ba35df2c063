package model

import (
	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// An Instance, called an experiment for short, is a model under one condition. If the
// data require it, the model is first preequilibrated under another condition.
//
// The expressions of an Instance may contain the time ([expr.Time]), the IDs of the
// states of the system, and the IDs of the parameters of the file.
type Instance struct {
	model            *Model
	Condition        string
	preequilibration string // "" if there is none

	// If pre is not nil, the system pre runs from its initial values to its steady state
	// before the other system starts. The system pre does not depend on time and has no
	// events. Instances with the same preequilibration share one pointer.
	pre *system
	system
	hybrid *system // see branches; nil if it would equal system
	rows   []row   // sorted by time; rows at the same time are in the order of the file
}

// A system is the initial value problem of a model under one condition. The system starts
// at the start time of the model.
type system struct {
	states []string

	// The field initial contains formulas for the values at the start. After
	// preequilibration, a state in these formulas stands for its value in the steady
	// state.
	initial []*expr.Node
	rates   []*expr.Node
	events  []equations.Event // Time contains parameters only, Jumps also time and states

	// The field switches holds the times, as formulas of parameters, at which a condition
	// in the right-hand sides changes; no step should cross such a time.
	switches []*expr.Node
}

// A row is a measurement with its own formulas.
type row struct {
	observable string
	time       float64 // +Inf: at the steady state
	value      float64

	// The fields formula, noise, freedom and limit have the same meaning as in the type
	// observable, but contain only the time, states and parameters.
	formula, noise, freedom *expr.Node
	limit                   *expr.Node
	scale                   Scale
	distribution            noiseDistribution

	index int // index of the measurement in the data of the model
}
