package assess

import (
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// A Report is what Run found. After an interruption it holds what had been done by then.
// It is plain data. Claims holds the verdict as rows; the other fields are the numbers
// behind them.
type Report struct {
	Model     string // names of the problems
	Method    string
	Order     int // of the method
	Threshold float64

	// Confidence is the confidence of each verdict on a number, which up to Looks interim
	// analyses share; see Settings.Auto.
	Confidence float64
	Looks      int

	// Params are the assessed parameters: all but an unknown α, which has no accurate
	// value. Names are the names of all parameters, in the order of ModeShare.Theta.
	Params []AccurateMarginal
	Names  []string

	// ReferenceSolver is the accurate solver, which defines the reference posterior, and
	// ReferenceBy says which weighted draws stand for that posterior.
	ReferenceSolver, ReferenceBy string
	ReferenceModes               []ModeShare

	// Steps are the rungs of the ladder, the largest step or tolerance first. Asked are
	// the indices in Steps of those that were asked for, in that order.
	Steps []Rung
	Asked []int

	// Largest is the largest step or tolerance with which, and below which, the solver's
	// error is negligible for every parameter; zero if there is none.
	Largest float64

	// Unseen is the mass of a mode, real or made by the solver, of which the draws may
	// show nothing: with a probability of 5 % no draw is in it even if the chains move
	// freely. It would not move medians and central intervals, but it could move means
	// and standard deviations. NaN if nothing is known.
	Unseen float64

	// Profile is the log likelihood by the largest and the smallest step and by the
	// reference, along the parameter that the largest step shifts most; nil if there is
	// none.
	Profile *certify.Profile

	// Remedies are what could be done, the recommended one first, then the others that
	// reach the threshold, each by cost.
	Remedies []Remedy

	Claims []Claim
}

// An AccurateMarginal is a parameter in the accurate posterior.
type AccurateMarginal struct {
	Name string

	// Median has the median and half the width of the central 68 % interval, and Mean the
	// mean and the standard deviation. For a normal distribution the two are the same.
	Median, Mean CenterSpread

	// HeavyTails says that the tails are too heavy for a mean and a standard deviation,
	// which are then not judged.
	HeavyTails bool
}

// A CenterSpread is where a distribution lies and how wide it is, with Monte Carlo
// standard errors.
type CenterSpread struct {
	Center, CenterSE float64
	Spread, SpreadSE float64
}

// A Rung is a step or tolerance of the ladder, with what was found for it.
type Rung struct {
	// StepSize is the size of equal steps, zero where error control chooses them with the
	// Tolerance, again at every θ.
	StepSize  float64
	Tolerance probode.Tolerance

	Err string // why something is not known; empty otherwise

	// Modes are the modes of the deterministic posterior, the largest first, and after
	// them the modes of the reference posterior that are missed. Unsearched says in words
	// what the search may not have found.
	Modes      []ModeShare
	Unsearched string

	// Certificate is what is known without sampling, nil if nothing is.
	Certificate *certify.Certificate

	// Deterministic trusts the solver, and Probabilistic has its error in the model; nil
	// if they were not made.
	Deterministic, Probabilistic *Inference
}

// Size returns the step size, or the relative tolerance, or the largest absolute one if
// that is zero. The ladder is ordered by it.
func (st Rung) Size() float64 {
	switch t := st.Tolerance; {
	case st.StepSize > 0:
		return st.StepSize
	case t.Relative == 0 && len(t.Absolute) > 0:
		return slices.Max(t.Absolute)
	default:
		return t.Relative
	}
}

// String returns the setting of the rung, such as h = 0.5 or rtol = 1e-05.
func (st Rung) String() string {
	if st.StepSize > 0 {
		return fmt.Sprintf("h = %.4g", st.StepSize)
	}
	return st.Tolerance.String()
}

// runs returns the inferences that were made, the deterministic one first.
func (st *Rung) runs() []*Inference {
	return slices.DeleteFunc([]*Inference{st.Deterministic, st.Probabilistic}, func(inf *Inference) bool { return inf == nil })
}

// verdict returns the verdict on deterministic inference.
func (st *Rung) verdict() Verdict {
	if st.Deterministic == nil {
		return Undecided
	}
	return st.Deterministic.Verdict
}

// A ModeShare is a mode of a posterior with its share of the mass.
type ModeShare struct {
	Theta []float64
	// Gaussian is the share by the Gaussian approximations, Visited that of the
	// deterministic draws, NaN without draws, and Mass the one of the two that counts:
	// that of the draws if they have mixed.
	Mass, Gaussian, Visited float64
	// Phantom says that the reference posterior does not have this mode. Missed says, of
	// a mode of the reference posterior, that the step's posterior does not have it.
	Phantom, Missed bool
	// Found is the number of searches that ended here.
	Found int
}

// An Inference is a run, compared with the accurate posterior.
type Inference struct {
	Sampler string
	Summary diag.Summary // of all parameters, an unknown α included
	Effects []Effect     // in the order of Report.Params

	// Verdict is that on medians, central intervals and modes: Matters if one of them is
	// wrong, Negligible if none is.
	Verdict Verdict

	Draws, Chains int // Draws of each chain
	// Solves is the work, burn-in included: the steps that solvers took, in units of one
	// solution of all the equations with this step.
	Solves  int
	Seconds float64
	// ESSPerSecond is the smallest bulk effective sample size of the assessed parameters
	// per second.
	ESSPerSecond float64
}

// marginal returns the summary of a parameter's draws.
func (inf *Inference) marginal(name string) diag.Marginal {
	return inf.Summary[slices.IndexFunc(inf.Summary, func(m diag.Marginal) bool { return m.Name == name })]
}

// An Effect is what the solver's error does to one parameter.
type Effect struct {
	Median Shift // of the median and half the width of the central 68 % interval
	Mean   Shift // of mean and standard deviation; NaN where the tails are too heavy

	// Within are the effects within each of the modes that hold more than a twentieth of
	// the reference posterior, if there are several, in units of the accurate spread
	// there.
	Within []Effect

	// Verdict is that on Median here and within all modes.
	Verdict Verdict

	// Draws is the number of draws of each chain that would decide, if the numbers stay
	// as they are: zero where there is a verdict, or draws do not decide.
	Draws float64
}

// A Shift compares centre and spread of a run with the accurate ones.
type Shift struct {
	CenterSpread
	Bias, BiasSE   float64 // (centre − accurate centre) / accurate spread
	Ratio, RatioSE float64 // spread / accurate spread
	Verdict        Verdict
}

const (
	// Undecided: the Monte Carlo error is too large for a verdict, or unknown, because the
	// chains have not mixed or the accurate posterior is out of reach.
	Undecided Verdict = iota
	// Negligible: the interval of the error lies below the threshold.
	Negligible
	// Matters: it lies above.
	Matters
)

// A Verdict on an error.
type Verdict int

func (v Verdict) String() string { return [...]string{"undecided", "negligible", "matters"}[v] }

// A Remedy is something that can be done about the solver's error for the model at hand,
// with its measured effect and cost.
type Remedy struct {
	Kind string // such as "smaller step"
	Name string // with its setting

	// Bias and Ratio are those of the median and the central interval of the parameter
	// that is worst off, NaN if they were not measured.
	Bias, Ratio float64

	// Seconds is the time that 1000 effective draws take on this machine, with the search
	// for modes and the burn-in; NaN if it is not known.
	Seconds float64

	// Reaches says that the error is known to be below the threshold, and that nothing
	// else is known to be wrong with the draws.
	Reaches bool

	// Recommended is true for the cheapest remedy that reaches the threshold.
	Recommended bool

	// Note says what else the reader should know.
	Note string
}

// A Claim is a row of the verdict: a number, its error, and the limit with which it was
// compared.
type Claim struct {
	Kind      string // what the number is, such as "bias", "k̂" or "R̂"
	Step      string // the setting of the step; empty if the row is about the assessment
	Run       string // the sampler; empty if the row is about no run
	Parameter string // empty if the row is about no single parameter
	Mode      int    // the mode of Report.ReferenceModes within which; −1 for the whole posterior

	Value, SE, Limit float64 // NaN where there is no such number
	Verdict          Verdict // Negligible within the limit, Matters beyond it

	// Sentence is a warning that says what the number means and what to do about it;
	// empty if nothing is wrong.
	Sentence string
}

// Claim returns the first row of a kind about a step and a run, both of which may be
// empty. Its numbers are NaN if there is none.
func (a *Report) Claim(kind, step, run string) Claim {
	for _, c := range a.Claims {
		if c.Kind == kind && c.Step == step && c.Run == run {
			return c
		}
	}
	nan := math.NaN()
	return Claim{Value: nan, SE: nan, Limit: nan}
}

// Warnings returns the sentences of the rows that the reader should know.
func (a *Report) Warnings() (all []string) {
	for _, c := range a.Claims {
		if c.Sentence != "" {
			all = append(all, c.Sentence)
		}
	}
	return all
}

// controlled reports whether the ladder is one of tolerances.
func (a *Report) controlled() bool { return len(a.Steps) > 0 && a.Steps[0].StepSize == 0 }
