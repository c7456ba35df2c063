// Package equations represents a model of ordinary differential equations by formulas.
package equations

import (
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// Equations represents a system of ordinary differential equations. Formulas may contain
// the time, the IDs of states, constants and assignments, and names that are defined
// elsewhere, such as parameters.
type Equations struct {
	Name     string
	TimeUnit string // may be empty

	States      []State
	Constants   []Constant
	Assignments []Assignment // sorted: each follows those that it uses
	Events      []Event      // events at the same time happen in this order, if no Priority decides
}

// A State is a component of the state vector x, with formulas for its derivative and its
// initial value.
type State struct {
	ID, Name string
	Unit     string // may be empty
	Init     *expr.Node
	Rate     *expr.Node
	Base     *expr.Node // Rate without infusions; nil if it is Rate
	Where    source.Where

	// Hidden is true for a state that keeps what an event will do, or has done. Such states
	// follow all others.
	Hidden bool

	// The fields `Of` and Volume are set if the ID of a species stands for a concentration
	// and the size of the compartment changes. If Of is set, the state is the amount of a
	// species, and `Of` is the ID of the concentration. An Assignment with the formula
	// ID/Volume defines the concentration. If a condition sets the concentration to a value,
	// the amount is set to that value times the volume.
	Of     string
	Volume *expr.Node
}

// A Constant is a named value that stays the same during a simulation. A Constant can
// have a different value under each condition.
type Constant struct {
	ID    string
	Value *expr.Node // nil if conditions or the parameter table must give it
	Where source.Where

	// Kept is true for a species that no reaction, rule or event changes. If the
	// condition of a preequilibration gives a value to the species, this value also
	// applies in the experiment, unless the condition of the experiment sets another
	// value.
	Kept bool

	// If Size is true, the constant is the size of a compartment. The size of the
	// compartment must be the same during and after preequilibration.
	Size bool
}

// An Assignment gives a name to a formula.
type Assignment struct {
	ID      string
	Formula *expr.Node
	Where   source.Where
}

// An Event changes states, either at a time that depends only on parameters and constants
// or whenever a condition becomes true. If After is true, the event happens after a
// measurement at the same time; otherwise it happens before this measurement.
type Event struct {
	ID   string
	Time *expr.Node // nil if there is a Trigger
	// Trigger is a condition: the event happens when this condition becomes true. If the
	// condition already holds at the start, the event does not happen at the start, unless
	// Early is Late.
	Trigger  *expr.Node
	Priority *expr.Node // of an event with a Trigger: see probode.Event; may be nil
	Early    Early
	After    bool
	Jumps    []Jump // all are made at once, and use the values just before the event
	Where    source.Where
}

// A Jump sets a state.
type Jump struct {
	State string
	Value *expr.Node
}

// Early determines what happens to an event that is due at or before the start.
type Early int

const (
	Missed  Early = iota // it does not happen
	AtStart              // it happens at the start, if its time is the start
	Late                 // it happens at the start
)
