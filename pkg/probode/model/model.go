package model

import (
	"slices"

	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
	"github.com/probode/probode/pkg/probode/model/internal/source"
)

// A File holds the contents of a model file: parameters, and one or more models that
// share these parameters, with the data of each model.
type File struct {
	Name     string
	Params   []Parameter
	Models   []*Model
	Warnings []string // about mistakes in the files that change no likelihood
	Files    []string // the files that were read, if they are on disk

	effects []string // see Effects
	derived []equations.Assignment
}

// Effects returns the names of the parameters whose priors depend on other parameters, as
// those of random effects do.
func (p *File) Effects() []string { return p.effects }

// A Model is a system of ordinary differential equations with its observables, conditions
// and measurements.
//
// Formulas may contain the time and the IDs of states, constants, assignments and
// parameters. For each condition, File.Instances rewrites the formulas in terms of time,
// states and parameters only.
type Model struct {
	equations.Equations
	start float64 // the time of the initial values

	inputs      []input
	periods     map[string][]equations.Event // what a condition changes later, before other events
	given       map[string][]equations.Event // doses of a condition, from a table
	steady      map[string]*steadyDose       // by condition; "" for all
	observables []observable
	conditions  []condition
	Data        []Observation

	timeName string // the name of the time in the model file
	clock    clock
}

// A Parameter is a known or estimated number that the models of a File share. Nominal,
// Lower and Upper are on the linear scale, even if Scale is logarithmic.
type Parameter struct {
	ID, name     string
	Nominal      float64 // NaN if the file gives none
	Lower, Upper float64 // NaN if the file gives none
	Scale        Scale   // on which it is estimated
	Estimate     bool
	Prior        Prior // for the posterior
	start        Prior // the distribution of the starts of searches
	where        source.Where
}

// A Scale is a transformation of parameters or measurements.
type Scale string

const (
	Lin   Scale = "lin"
	Log   Scale = "log" // the natural logarithm
	Log10 Scale = "log10"
)

type observable struct {
	id, name string
	formula  *expr.Node
	noise    *expr.Node // see noiseDistribution; nil for Poisson
	freedom  *expr.Node // see noiseDistribution; nil for all but Student

	// limit holds the lower limit of quantification as a number, or nil if there is no
	// limit: see [bayes.Censored].
	limit *expr.Node
	upper *expr.Node // the same for the upper limit

	// If the field `increase` is true, a measurement is the increase in the value of the
	// formula since the previous measurement of the observable. The first measurement is
	// the increase since the start.
	increase bool

	// The measurement and the formula are both transformed to the scale in the field
	// `scale`. The distribution of the transformed measurement is centred at the
	// transformed value of the formula.
	scale        Scale // Lin for counts
	distribution noiseDistribution
	where        source.Where
}

func (m *Model) observablesByID() map[string]*observable {
	return byName(m.observables, func(o *observable) string { return o.id })
}

type condition struct {
	id, name string
	set      []setting
	where    source.Where
}

// A setting has a number or the ID of a parameter or constant as its value, or in PEtab 2 a
// formula of parameters.
type setting struct {
	id    string
	value *expr.Node
}

// An Observation is a row of data.
type Observation struct {
	Observable                  string
	Condition, Preequilibration string      // the latter may be empty
	Time                        float64     // +Inf: at the steady state
	Value                       float64     // any number if within is set
	within                      *[2]float64 // the interval that is known instead of the value

	// observableParams holds the values of the placeholders observableParameter1_…,
	// observableParameter2_… and so on. The field noiseParams holds the values of the
	// placeholders noiseParameter1_…, noiseParameter2_… and so on.
	observableParams, noiseParams []*expr.Node

	dataset, replicate string // may be empty
	where              source.Where
}

// A noiseDistribution is the distribution of a measurement around the formula of the
// observable, both on the scale of the observable.
type noiseDistribution string

const (
	normalNoise           noiseDistribution = "normal"           // noise is the standard deviation
	laplaceNoise          noiseDistribution = "laplace"          // noise is the scale b of e^(−|r|/b)/(2b)
	studentNoise          noiseDistribution = "student"          // noise is the scale, freedom the degrees of freedom
	poissonNoise          noiseDistribution = "poisson"          // for counts; no noise
	negativeBinomialNoise noiseDistribution = "negativeBinomial" // for counts; mean m, variance m + m²/noise
	binomialNoise         noiseDistribution = "binomial"         // for counts of successes among noise trials, with mean m
)

// A Prior is a distribution of a parameter. Type is one of the types that MODELFILE.md
// lists, or "" for no prior. A and B are the parameters of the distribution, in the order
// that MODELFILE.md gives; B is 0 if the distribution has only one parameter.
type Prior struct {
	Type string
	A, B float64
}

func (o *observable) formulas() []*expr.Node {
	return append([]*expr.Node{o.formula}, numbers(o.freedom, o.noise)...)
}

func (o *observable) symbols() (names []string) {
	for _, n := range o.formulas() {
		names = append(names, n.Symbols()...)
	}
	return names
}

func idsOf(params []Parameter) map[string]bool {
	ids := map[string]bool{}
	for _, q := range params {
		ids[q.ID] = true
	}
	return ids
}

func builtIn(name string) bool {
	_, ok := expr.Constant(name)
	return ok || name == expr.Time
}

// numbers lists the formulas of all parameters but the location, in the order of
// [bayes.Likelihood].Own, without nil.
func numbers(freedom, noise *expr.Node) []*expr.Node {
	return slices.DeleteFunc([]*expr.Node{freedom, noise}, func(n *expr.Node) bool { return n == nil })
}
