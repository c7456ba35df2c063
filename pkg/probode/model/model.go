package model

import (
	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// A File is what a model file holds: parameters, and one or several models
// with their data, which share them.
type File struct {
	Name     string
	Params   []Parameter
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
	equations.Equations
	Start float64 // the time of the initial values

	Observables []Observable
	Conditions  []Condition
	Data        []Observation

	timeName string // what the model file calls the time
}

// A Parameter is a parameter of the problem: what may be estimated, and what else
// the parameter table names. All values are linear, whatever Scale is.
type Parameter struct {
	ID, Name     string
	Nominal      float64 // NaN if the file gives none
	Lower, Upper float64 // NaN if the file gives none
	Scale        Scale   // on which it is estimated
	Estimate     bool
	Prior        Prior // of the posterior
	Start        Prior // where a search begins
	Where        source.Where
}

// A Scale says how a parameter or a measurement is transformed.
type Scale string

const (
	Lin   Scale = "lin"
	Log   Scale = "log" // the natural logarithm
	Log10 Scale = "log10"
)

// An Observable is what can be measured of a model, with its noise.
type Observable struct {
	ID, Name string
	Formula  *expr.Node
	Noise    *expr.Node // see NoiseDistribution; nil for Poisson
	Freedom  *expr.Node // see NoiseDistribution; nil for all but Student

	// The measurement, transformed to Scale, is distributed around the
	// transformed formula.
	Scale        Scale // Lin for counts
	Distribution NoiseDistribution
	Where        source.Where
}

// A Condition sets constants, parameters and initial values.
type Condition struct {
	ID, Name string
	Set      []Setting
	Where    source.Where
}

// A Setting is a number or the ID of a parameter or constant.
type Setting struct {
	ID    string
	Value *expr.Node
}

// An Observation is a row of data.
type Observation struct {
	Observable                  string
	Condition, Preequilibration string  // the latter may be empty
	Time                        float64 // +Inf: at the steady state
	Value                       float64

	// What stands for observableParameter1_… and noiseParameter1_… in the
	// formulas of the observable.
	ObservableParams, NoiseParams []*expr.Node

	Dataset, Replicate string // may be empty
	Where              source.Where
}
