// Package equations holds a model of ordinary differential equations as formulas.
package equations

import (
	"slices"

	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// Equations are a system of ordinary differential equations. Its formulas are over the IDs
// of states, constants and assignments, names that something else defines, such as parameters,
// and the time.
type Equations struct {
	Name     string
	TimeUnit string // may be empty

	States      []State
	Constants   []Constant
	Assignments []Assignment // each after those it uses
	Events      []Event      // simultaneous ones happen in this order, if it is known

	// Unordered says that Events has no order, as in SBML, where events at
	// the same time all use the values before the first of them.
	Unordered bool
}

// A State is a component of x with its derivative and its value at the start.
type State struct {
	ID, Name string
	Unit     string // may be empty
	Init     *expr.Node
	Rate     *expr.Node
	Where    source.Where

	// Of and Volume are set for the amount of a species whose formulas
	// speak of its concentration, in a compartment that changes its size.
	// The ID of the concentration is Of, an assignment of ID/Volume, and
	// conditions that set Of set this state to the value times Volume.
	Of     string
	Volume *expr.Node
}

// A Constant has a value that only conditions change.
type Constant struct {
	ID    string
	Value *expr.Node // nil if conditions or the parameter table must give it
	Where source.Where

	// Kept says that preequilibration hands the value on, as it does for
	// species that nothing changes: a condition sets it once.
	Kept bool

	// Size says that it is the size of a compartment: preequilibration and
	// what follows must agree on it.
	Size bool
}

// An Assignment names a formula.
type Assignment struct {
	ID      string
	Formula *expr.Node
	Where   source.Where
}

// An Event changes states at a time that depends on nothing but parameters and
// constants. What is measured at that very time is measured after it, or before it if it
// happens just After the time.
type Event struct {
	ID    string
	Time  *expr.Node
	Early Early
	After bool
	Jumps []Jump // of the values just before the event, all at once
	Where source.Where
}

// A Jump sets a state.
type Jump struct {
	State string
	Value *expr.Node
}

// Early says what becomes of an event whose time is not after the start.
type Early int

const (
	Missed  Early = iota // it does not happen
	AtStart              // it happens at the start, if its time is the start
	Late                 // it happens at the start
)

// Entangled finds two events at the same time of which one sets what the other
// sets or uses, so that their order matters; nil if there are none.
func Entangled(events []Event) (a, b *Event) {
	at := map[string][]*Event{} // by time
	for i := range events {
		y := &events[i]
		key := y.Time.String()
		for _, x := range at[key] {
			if x.touches(y) || y.touches(x) {
				return x, y
			}
		}
		at[key] = append(at[key], y)
	}
	return nil, nil
}

// touches says whether e sets a state that f sets or uses.
func (e *Event) touches(f *Event) bool {
	for _, x := range e.Jumps {
		for _, y := range f.Jumps {
			if x.State == y.State || slices.Contains(y.Value.Symbols(), x.State) {
				return true
			}
		}
	}
	return false
}
