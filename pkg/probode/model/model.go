package model

import "github.com/probode/probode/pkg/probode/model/expr"

// A Problem is what a model file holds: parameters, and one or several models
// with their data, which share them.
type Problem struct {
	Name     string
	Params   []Param
	Models   []*Model
	Warnings []string // what was odd in the files and changes no likelihood
	Files    []string // those that were read, if from a folder on disk
}

// A Model is a system of ordinary differential equations with its observables,
// the conditions it was observed under, and what was measured.
//
// Formulas are over the IDs of states, constants and assignments of the model,
// of parameters of the problem, and the time. Experiments writes all of them
// out for each condition.
type Model struct {
	Name     string
	TimeUnit string  // may be empty
	Start    float64 // the time of the initial values
	timeName string  // what the model file calls the time

	States      []State
	Constants   []Constant
	Assignments []Assignment // each after those it uses
	Events      []Event      // simultaneous ones happen in this order

	Observables []Observable
	Conditions  []Condition
	Data        []Measurement

	// unordered says that Events has no order, as in SBML, where events at
	// the same time all use the values before the first of them.
	unordered bool
}

// A Param is a parameter of the problem: what may be estimated, and what else
// the parameter table names. All values are linear, whatever Scale is.
type Param struct {
	ID, Name     string
	Nominal      float64 // NaN if the file gives none
	Lower, Upper float64 // NaN if the file gives none
	Scale        Scale   // on which it is estimated
	Estimate     bool
	Prior        Prior // of the posterior
	Start        Prior // where a search begins
	Where        Where
}

// A Scale says how a parameter or a measurement is transformed.
type Scale string

const (
	Lin   Scale = "lin"
	Log   Scale = "log" // the natural logarithm
	Log10 Scale = "log10"
)

// A State is a component of x with its derivative and its value at the start.
type State struct {
	ID, Name string
	Unit     string // may be empty
	Init     *expr.Node
	Rate     *expr.Node
	Where    Where

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
	Where Where

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
	Where   Where
}

// An Event changes states at a time that depends on nothing but parameters and
// constants. What is measured at that very time is measured after it.
type Event struct {
	ID    string
	Time  *expr.Node
	Early Early
	Jumps []Jump // of the values just before the event, all at once
	Where Where
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

// An Observable is what can be measured of a model, with its noise.
type Observable struct {
	ID, Name string
	Formula  *expr.Node
	Noise    *expr.Node // see Distribution; nil for Poisson
	Freedom  *expr.Node // see Distribution; nil for all but Student

	// The measurement, transformed to Scale, is distributed around the
	// transformed formula.
	Scale        Scale // Lin for counts
	Distribution Distribution
	Where        Where
}

// A Condition sets constants, parameters and initial values.
type Condition struct {
	ID, Name string
	Set      []Setting
	Where    Where
}

// A Setting is a number or the ID of a parameter or constant.
type Setting struct {
	ID    string
	Value *expr.Node
}

// A Measurement is a row of data.
type Measurement struct {
	Observable                  string
	Condition, Preequilibration string  // the latter may be empty
	Time                        float64 // +Inf: at the steady state
	Value                       float64

	// What stands for observableParameter1_… and noiseParameter1_… in the
	// formulas of the observable.
	ObservableParams, NoiseParams []*expr.Node

	Dataset, Replicate string // may be empty
	Where              Where
}

// Where is the place in a file that something was read from; its zero value is
// nowhere.
type Where struct {
	File string
	Line int
}

func (s *source) at(line int) Where { return Where{File: s.name, Line: line} }

// failf stops with an error about what was read there.
func (w Where) failf(format string, args ...any) {
	(&source{name: w.File}).failf(w.Line, format, args...)
}

func (w Where) refuse(feature, format string, args ...any) {
	(&source{name: w.File}).refuse(w.Line, feature, format, args...)
}
