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
// It is plain data: Claims has the verdict as rows, of which String, WriteJSON and the
// figures of package viz are views.
type Report struct {
	Model     string // names of the problems
	Method    string
	Order     int // of the method
	Threshold float64

	// Confidence is the confidence of each verdict on a number: its interval of this
	// confidence lies on one side of the threshold. Looks is the largest number of interim
	// analyses that share the error probability, and Looked how many there were: see
	// Settings.Auto.
	Confidence    float64
	Looks, Looked int

	// Params are the assessed parameters: all but an unknown α, which has no accurate
	// value. Names are the names of all parameters, in the order of points such as
	// Step.Mode.
	Params []Parameter
	Names  []string

	// ReferenceBy says which draws, reweighted, stand for the reference posterior, and
	// KHat is the k̂ of their weights: above KHatLimit they cannot be trusted; see
	// diag.KHatLimit. Worth is the number of effective draws that the weighed ones are
	// worth: with fewer than 50 there is no verdict.
	ReferenceBy            string
	KHat, KHatLimit, Worth float64

	// Steps are the rungs of the ladder, the largest step or tolerance first. Asked are
	// the indices in Steps of those that were asked for, in that order.
	Steps []Step
	Asked []int

	// Largest is the largest step or tolerance with which, and below which, the solver's
	// error matters for no parameter; zero if there is none. It is about deterministic
	// inference, as are the Largest of Params.
	Largest float64

	// ReferenceModes are the modes of the reference posterior, and Reference says how
	// accurate the reference is.
	ReferenceModes []Mode
	Reference      Reference

	// Profile is the log likelihood by the largest and the smallest step and by the
	// reference, along the parameter that the largest step shifts most; nil if there is
	// none.
	Profile *certify.Profile

	// Remedies are what could be done, the recommended one first, then the others that
	// reach the threshold, each by cost.
	Remedies []Remedy

	// Claims are the rows of the verdict, and Warnings the sentences of those rows that
	// the reader should know.
	Claims   []Claim
	Warnings []string
}

// A Parameter is a parameter in the accurate posterior.
type Parameter struct {
	Name         string
	Mean, SD     float64
	MeanSE, SDSE float64 // Monte Carlo standard errors

	// Quantiles says that the tails are too heavy for means and standard deviations:
	// Mean is then the median, and SD half the width of the central 68 % interval, here
	// and in all effects. TailIndex is the index of the tails: see diag.HeavyTails.
	Quantiles bool
	TailIndex float64

	Largest        float64 // step with which the solver's error does not matter; zero for none
	UndecidedAbove bool    // the next larger step is undecided
}

// JudgedBy returns "moments" or "quantiles".
func (q *Parameter) JudgedBy() string { return [...]string{"moments", "quantiles"}[q.measure()] }

func (q *Parameter) measure() measure {
	if q.Quantiles {
		return byQuantiles
	}
	return byMoments
}

// A Step is what was found for one rung of the ladder.
type Step struct {
	// StepSize is the size of equal steps, zero where error control chooses them with the
	// Tolerance, again at every θ. See Size and String.
	StepSize  float64
	Tolerance probode.Tolerance

	Exact bool   // every observation is at a grid point
	Err   string // why something is not known, empty otherwise

	// Mode is a mode of the deterministic posterior: the counterpart of the first mode of
	// the reference posterior. Error is the error of the classical solution, at the mode
	// of the smallest step and the times of the data: the root mean square, each
	// component in units of its largest value. Order is the observed order between this
	// step and the next smaller one, log(ratio of errors)/log(ratio of steps).
	Mode         []float64
	Error, Order float64

	// Modes are the modes of the deterministic posterior, the largest first, and Missing
	// the modes of the reference posterior that are not among them. Unsearched says in
	// words what the search for modes may have missed, and Doubtful that it is likely to
	// have missed a mode: see bayes.Modes.
	Modes, Missing []Mode
	Unsearched     string
	Doubtful       bool

	// Alpha is the noise scale of the probabilistic inference: α* at the mode, the value
	// of the Posterior, or, if α is a parameter, its posterior mean. AlphaStar is α* at
	// the mode with its standard error, AlphaAt are the values at three draws of the
	// deterministic posterior, and AlphaWarnings the warnings of the calibration at the
	// mode; NaN and nil where α is sampled.
	Alpha, AlphaStar, AlphaSE float64
	AlphaAt                   []float64
	AlphaWarnings             []string

	// KHat is the k̂ of the weights that take the deterministic draws of this step to the
	// accurate posterior, and KHatLimit the largest that can be trusted.
	KHat, KHatLimit float64

	// Unvisited are the modes without draws that leave a parameter undecided.
	Unvisited []Unvisited

	// Certificate is what is known without sampling, nil if nothing is.
	Certificate *certify.Certificate

	// Deterministic and Probabilistic are the two inferences, nil if they were not made.
	Deterministic, Probabilistic *Inference
}

// Size returns the step size, or the relative tolerance, or the largest absolute one if
// that is zero. The ladder is ordered by it.
func (st Step) Size() float64 {
	if st.StepSize > 0 {
		return st.StepSize
	}
	return sizeOf(st.Tolerance)
}

func sizeOf(t probode.Tolerance) float64 {
	if t.Relative == 0 && len(t.Absolute) > 0 {
		return slices.Max(t.Absolute)
	}
	return t.Relative
}

// String returns the setting of the step, such as h = 0.5 or rtol = 1e-05.
func (st Step) String() string {
	if st.StepSize > 0 {
		return fmt.Sprintf("h = %.4g", st.StepSize)
	}
	return st.Tolerance.String()
}

// runs returns the inferences that were made, the deterministic one first.
func (st *Step) runs() (all []*Inference) {
	for _, inf := range []*Inference{st.Deterministic, st.Probabilistic} {
		if inf != nil {
			all = append(all, inf)
		}
	}
	return all
}

// phantoms returns the mass of the phantom modes of a step, and of the missed ones.
func (st *Step) phantoms() (made, missed float64) {
	for _, m := range st.Modes {
		if m.Phantom {
			made += m.Mass
		}
	}
	for _, m := range st.Missing {
		missed += m.Mass
	}
	return made, missed
}

// weighed reports whether the weights of the step's draws can be trusted.
func (st *Step) weighed() bool {
	if st.KHatLimit == 0 {
		return st.KHat <= khatLimit
	}
	return st.KHat <= st.KHatLimit
}

// A Mode is a mode of the posterior at a step, or of the reference posterior.
type Mode struct {
	Theta []float64
	// Mass is its share: that of the draws, if there are draws that have mixed, else that
	// of the Gaussian approximation. Gaussian is the share by the Gaussian
	// approximations, and Visited that of the deterministic draws, NaN without draws.
	Mass, Gaussian, Visited float64
	// Phantom says that the reference posterior does not have this mode. Missed says, of
	// a mode of the reference posterior, that the step's posterior does not have it.
	Phantom, Missed bool
	// Found is the number of searches that ended here.
	Found int
}

// An Unvisited is a mode without draws that moves a parameter.
type Unvisited struct {
	Parameter string
	Size      float64 // of the move, in thresholds
	Theta     []float64
	Mass      float64 // by the Gaussian approximation
}

// An Inference is a run at one step, compared with the accurate posterior.
type Inference struct {
	Sampler string
	Summary diag.Summary // of all parameters, an unknown α included
	Effects []Effect     // in the order of Report.Params
	// Estimates are the centres and spreads from which the effects were computed, in the
	// same order.
	Estimates []Estimate

	Draws, Chains int // Draws of each chain
	// Solves is the work, burn-in included: the steps that solvers took, in units of one
	// solution of all the equations with this step.
	Solves int
	// Failed is the share of evaluations after burn-in that failed, of the likelihood or
	// of pieces of paths.
	Failed  float64
	Seconds float64
	// Drawing is the part of Seconds that grows in proportion to the draws.
	Drawing float64
	// ESSPerSecond is the smallest bulk effective sample size of the assessed parameters
	// per second.
	ESSPerSecond float64
}

// thousand returns the seconds that 1000 effective draws take, NaN if that is not known.
func (inf *Inference) thousand() float64 {
	if s := 1000 * inf.Drawing / (inf.ESSPerSecond * inf.Seconds); s > 0 && !math.IsInf(s, 0) {
		return s
	}
	return math.NaN()
}

// cost returns thousand plus the search for modes, other preparation, and the burn-in.
func (inf *Inference) cost() float64 { return inf.Seconds - inf.Drawing + inf.thousand() }

// marginal returns the summary of a parameter's draws.
func (inf *Inference) marginal(name string) diag.Marginal {
	return inf.Summary[slices.IndexFunc(inf.Summary, func(m diag.Marginal) bool { return m.Name == name })]
}

// A Reference says how accurate the reference is.
type Reference struct {
	// D is the largest D between the reference and a more accurate solver, over Points
	// modes and draws; NaN if nothing is known.
	D      float64
	Points int
	// Unknown is the number of points at which one of the two failed, and Failed the
	// share of the weighed draws at which the reference did.
	Unknown int
	Failed  float64
	// Sufficient is the setting of the reference that would be accurate enough where this
	// one is not; empty if none is known.
	Sufficient string
	// Unseen is D, at the modes, between the reference and 65,536 equal steps, if these
	// see something that the reference has stepped over; else zero.
	Unseen float64
	// Missed is about the share of the reference posterior that the draws which stand for
	// it do not reach: a mode, or a region next to them. No weights bring that back.
	Missed float64
	// Seconds is the time that the reference took, to weigh draws and to be checked.
	Seconds float64
}

// enough reports whether the reference is accurate enough for a verdict.
func (r Reference) enough(threshold float64) bool {
	return r.D <= threshold/10 && r.Unknown == 0 && !(r.Failed > mostFailed) && r.Unseen == 0 && r.Missed < mostMissed
}

// trusted reports whether the reference's own error is small enough for a verdict.
func (a *Report) trusted() bool { return a.Reference.enough(a.Threshold) }

// known reports whether the accurate posterior is known, as far as the weights tell.
func (a *Report) known() bool {
	return a.KHat <= a.khatLimit() && (a.KHatLimit == 0 || a.Worth >= fewest)
}

// khatLimit returns the largest k̂ that can be trusted.
func (a *Report) khatLimit() float64 {
	if a.KHatLimit == 0 {
		return khatLimit
	}
	return a.KHatLimit
}

// controlled reports whether the ladder is one of tolerances.
func (a *Report) controlled() bool { return len(a.Steps) > 0 && a.Steps[0].StepSize == 0 }

// ShiftOrder returns the order at which the shift of the deterministic posterior falls
// between Steps[i] and Steps[i+1], the two smallest steps at which the shifts are known
// well enough,
//
//	log(bᵢ/bᵢ₊₁) / log(hᵢ/hᵢ₊₁),   b = √(sum of the squared biases),
//
// and its Monte Carlo standard error; NaN if there are none. It uses no shifts above one
// standard deviation, and none within three standard errors of zero.
func (a *Report) ShiftOrder() (order, se float64, i int) {
	norm := func(inf *Inference) (b, se float64) {
		var v float64
		for _, e := range inf.Effects {
			b += e.Bias * e.Bias
			v += e.Bias * e.Bias * e.BiasSE * e.BiasSE
		}
		b = math.Sqrt(b)
		return b, math.Sqrt(v) / b
	}
	for i := len(a.Steps) - 2; i >= 0 && !a.controlled(); i-- {
		c, f := a.Steps[i], a.Steps[i+1]
		if c.Deterministic == nil || f.Deterministic == nil || !a.known() {
			continue
		}
		b, bse := norm(c.Deterministic)
		d, dse := norm(f.Deterministic)
		// Shifts below 1e-9 are rounding.
		if !(b < 1 && d < 1 && b > 3*bse && d > 3*dse && d > 1e-9) {
			continue
		}
		unit := math.Log(c.StepSize / f.StepSize)
		return math.Log(b/d) / unit, math.Hypot(bse/b, dse/d) / unit, i
	}
	return math.NaN(), math.NaN(), 0
}
