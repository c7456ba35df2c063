package assess

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// A Report is the result of Run. After an interruption, a Report holds the results so
// far. Claims holds the verdict, with one row for each number that is compared with a
// limit. The rows are computed from the other fields of the Report.
type Report struct {
	Model     string // the names of the problems
	Method    string
	Order     int // order of the method
	Threshold float64

	// Confidence is the confidence level of the verdict on each number. The draws are
	// analysed up to Looks times, and each analysis gets an equal share of the error
	// probability 1 − Confidence (see Settings.Auto).
	Confidence float64
	Looks      int

	// Params are the assessed parameters. An unknown α is not assessed, because the
	// reference posterior does not depend on α. Names are the names of all parameters, in
	// the order of ModeShare.Theta.
	Params []AccurateMarginal
	Names  []string

	// ReferenceSolver is the accurate solver with which the reference posterior is
	// computed. ReferenceBy says which weighted draws represent the reference posterior.
	ReferenceSolver, ReferenceBy string
	ReferenceModes               []ModeShare

	// Steps holds the results for each step size or tolerance, beginning with the
	// largest. Asked[i] is the index in Steps of the i-th requested step.
	Steps []Rung
	Asked []int

	// Largest is the largest step or tolerance that is small enough: all steps or
	// tolerances up to Largest have the verdict Negligible. Largest is zero if the
	// verdict on the smallest step or tolerance is not Negligible.
	Largest float64

	// Unseen is the largest mass that an unnoticed mode may have. A mode whose mass
	// equals Unseen has a 5 % chance of containing no draws, even if the chains move
	// freely between modes. A mode of mass Unseen hardly moves medians and central
	// intervals, but it can move means and standard deviations. Unseen is NaN if it is
	// not known. The chains may not reach a distant mode. Unsearched describes the modes
	// that the search for modes of the reference posterior may have missed.
	Unseen     float64
	Unsearched string

	// Profile holds the log likelihood as a function of one parameter: the parameter
	// whose posterior is shifted most by the largest step. Profile has a curve for the
	// largest step, for the smallest step and for the reference. Profile is nil if the
	// curves could not be computed.
	Profile *certify.Profile

	// Remedies lists all remedies. Remedies whose field Reaches is true come first.
	// Remedies with the same value of Reaches are ordered by cost, beginning with the
	// cheapest.
	Remedies []Remedy

	Claims []Claim
}

// An AccurateMarginal describes the marginal distribution of a parameter in the reference
// posterior.
type AccurateMarginal struct {
	Name string

	// Median holds the median as the centre, and half the width of the central 68 %
	// interval as the spread. Mean holds the mean as the centre, and the standard
	// deviation as the spread. For a normal distribution, Median and Mean have the same
	// centre and the same spread.
	Median, Mean CenterSpread

	// HeavyTails is true if the tails are too heavy for a meaningful mean and standard
	// deviation. If HeavyTails is true, there is no verdict on the mean and the standard
	// deviation.
	HeavyTails bool
}

// A CenterSpread is the centre and the spread of a distribution, with Monte Carlo
// standard errors.
type CenterSpread struct {
	Center, CenterSE float64
	Spread, SpreadSE float64
}

func unknown() CenterSpread {
	nan := math.NaN()
	return CenterSpread{nan, nan, nan, nan}
}

// A Rung holds the results for one step size or tolerance.
type Rung struct {
	// StepSize is the step size if all steps are equal. StepSize is zero if the steps are
	// chosen by error control with the given Tolerance.
	StepSize  float64
	Tolerance probode.Tolerance

	Err string // why some results are not known; empty if all are known

	// Modes holds the modes of the deterministic posterior, beginning with the one that
	// has the largest Gaussian share. The list ends with those modes of the reference
	// posterior that the deterministic posterior does not have. Unsearched describes what
	// the search for modes may have missed.
	Modes      []ModeShare
	Unsearched string

	// Certificate is the result obtained without sampling, or nil if there is no such
	// result.
	Certificate *certify.Certificate

	// Deterministic is the inference that treats the solver as exact. Probabilistic is
	// the inference with a model that includes the solver's error. If an inference was
	// not run, its field is nil.
	Deterministic, Probabilistic *Inference

	// Bound holds upper bounds on the effect of the error if the reference posterior
	// could not be sampled. Bound is nil if no bound was computed.
	Bound *Bound
}

// Size returns the step size or, under error control, the relative tolerance. If the
// relative tolerance is zero, Size returns the largest absolute tolerance. The elements
// of Report.Steps are ordered by Size.
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

// String returns the step size or tolerance as text, such as h = 0.5 or rtol = 1e-05.
func (st Rung) String() string {
	if st.StepSize > 0 {
		return fmt.Sprintf("h = %.4g", st.StepSize)
	}
	return st.Tolerance.String()
}

func (st *Rung) runs() []*Inference {
	return slices.DeleteFunc([]*Inference{st.Deterministic, st.Probabilistic}, func(inf *Inference) bool { return inf == nil })
}

// Sampled reports whether Run drew from the posterior for at least one step size or
// tolerance. If there are no draws, the report contains no biases.
func (a *Report) Sampled() bool {
	return slices.ContainsFunc(a.Steps, func(st Rung) bool { return len(st.runs()) > 0 })
}

func (st *Rung) verdict() Verdict {
	switch {
	case st.Deterministic != nil:
		return st.Deterministic.Verdict
	case st.Bound != nil:
		return st.Bound.Verdict
	}
	return Undecided
}

// A ModeShare is a mode of a posterior with its share of the mass.
type ModeShare struct {
	Theta []float64
	// Gaussian is an estimate of the share of the mass, computed from the Gaussian
	// approximations at the modes. Visited is the fraction of the draws of the
	// deterministic inference that belong to the mode, or NaN if there are no draws. Mass
	// is equal to Visited if the chains have mixed, and to Gaussian otherwise.
	Mass, Gaussian, Visited float64
	// Phantom is true if the reference posterior does not have this mode. Missed is true
	// if the reference posterior has this mode, but the posterior computed with this step
	// does not.
	Phantom, Missed bool
	// Found is the number of searches that ended at this mode.
	Found int
}

// An Inference holds the results of one run of a sampler, and compares them with the
// reference posterior.
type Inference struct {
	Sampler string
	Summary diag.Summary // summary of all parameters, including an unknown α
	Effects []Effect     // in the order of Report.Params

	// Verdict is Matters if the error of at least one median, central interval or mode
	// matters, and Negligible if all these errors are negligible.
	Verdict Verdict

	Draws, Chains int // Draws is the number for each chain
	// Solves measures the work of the run, including burn-in. One unit of Solves is the
	// work that is needed to solve all equations once with the step or tolerance of this
	// Rung.
	Solves  int
	Seconds float64
	// ESSPerSecond is the smallest bulk effective sample size of an assessed parameter,
	// divided by Seconds.
	ESSPerSecond float64

	// If the sampler replaces the given posterior by another one (see sample.Replacer),
	// Replaced is the name of the sampler. Otherwise Replaced is empty.
	Replaced string
}

func (inf *Inference) includes() string { return cmp.Or(inf.Replaced, "noise in the model") }

// An Effect describes how the solver's error changes the posterior of one parameter.
type Effect struct {
	Median Shift // of the median and of half the width of the central 68 % interval
	Mean   Shift // of the mean and the standard deviation; NaN if the tails are too heavy

	// If several modes of the reference posterior each contain at least a twentieth of
	// the mass, Within holds the effects inside each of these modes. A bias in Within is
	// measured in units of the spread of the reference posterior inside the mode.
	Within []Effect

	// Verdict is the most serious of the verdicts on medians and central intervals: the
	// verdict in Median and the verdicts in Within.
	Verdict Verdict

	// Gap is true if there is no verdict on Median because the median or an end of the
	// central interval lies in a gap between two modes. More draws do not reduce the error
	// of a quantile that lies in a gap.
	Gap bool

	// Draws is the number of draws that each chain would need for a verdict if the
	// estimates stayed the same. Draws is zero if there is already a verdict, or if more
	// draws would not lead to a verdict.
	Draws float64
}

// A Shift compares a run with the reference posterior. The embedded CenterSpread holds
// the centre and the spread of the draws of the run.
type Shift struct {
	CenterSpread
	Bias, BiasSE   float64 // (centre − centre of the reference posterior) / spread of the reference posterior
	Ratio, RatioSE float64 // spread / spread of the reference posterior
	Verdict        Verdict
}

const (
	// Undecided means that there is no verdict. The Monte Carlo error is too large or
	// unknown. The Monte Carlo error is unknown if the chains have not mixed, or if the
	// reference posterior is not known.
	Undecided Verdict = iota
	// Negligible is the verdict if the confidence interval of the error lies below the
	// threshold.
	Negligible
	// Matters is the verdict if the confidence interval of the error lies above the
	// threshold.
	Matters
)

// A Verdict says whether an error matters.
type Verdict int

func (v Verdict) String() string { return [...]string{"undecided", "negligible", "matters"}[v] }

// A Remedy is a way to reduce the effect of the solver's error. The effect that remains
// and the cost of the remedy are measured on the given model.
type Remedy struct {
	Kind string // such as "smaller step"
	Name string // including its setting

	// Bias and Ratio describe the errors of the median and of the central interval for
	// the parameter with the largest error. BiasSE and RatioSE are the standard errors of
	// Bias and Ratio. Bias, BiasSE, Ratio and RatioSE are NaN if the effect was not
	// measured.
	Bias, BiasSE, Ratio, RatioSE float64

	// Seconds is the time for 1000 effective draws on this machine, including the search
	// for modes and the burn-in. Seconds is NaN if the time is not known.
	Seconds float64

	// Reaches is true if the remaining error is known to be below the threshold, and if
	// the draws pass the other checks.
	Reaches bool

	// Recommended is true for the cheapest remedy whose field Reaches is true.
	Recommended bool

	// Note is a remark about the result, for example "undecided".
	Note string
}

func worse(v, w Verdict) Verdict {
	switch {
	case v == Matters || w == Matters:
		return Matters
	case v == Undecided || w == Undecided:
		return Undecided
	}
	return Negligible
}

// A Claim is a row of the verdict: a number, its error, and the limit with which it was
// compared.
type Claim struct {
	Kind      string // what the number is, such as "bias", "k̂" or "R̂"
	Step      string // the setting of the step; empty if the row is about the assessment
	Run       string // the sampler; empty if the row is not about a run
	Parameter string // empty if the row is not about a single parameter
	Mode      int    // index in Report.ReferenceModes of the mode that the row is about; −1 for the whole posterior

	Value, SE, Limit float64 // NaN if there is no such number
	Verdict          Verdict // Negligible within the limit, Matters beyond it

	// Sentence is a warning that says what Value means and what to do. Sentence is empty
	// if no warning is needed.
	Sentence string
}

// Claim returns the first row of the given kind, step and run. The arguments `step` and
// `run` are empty for rows that belong to no step or run. If there is no such row, the
// numbers in the result are NaN.
func (a *Report) Claim(kind, step, run string) Claim {
	for _, c := range a.Claims {
		if c.Kind == kind && c.Step == step && c.Run == run {
			return c
		}
	}
	nan := math.NaN()
	return Claim{Value: nan, SE: nan, Limit: nan}
}

// Warnings returns the sentences of all rows in which Sentence is not empty.
func (a *Report) Warnings() (all []string) {
	for _, c := range a.Claims {
		if c.Sentence != "" {
			all = append(all, c.Sentence)
		}
	}
	return all
}

func (a *Report) controlled() bool { return len(a.Steps) > 0 && a.Steps[0].StepSize == 0 }

// A Bound holds upper bounds on the effect of the solver's error on a posterior that
// could not be sampled. The bounds hold for every distribution of the posterior mass over
// the points that the chains have reached. The bounds do not cover the few points outside
// Range.
type Bound struct {
	Points int     // different points at which the log likelihoods were compared
	RHat   float64 // the largest R̂ of the chains, far above 1 if they have not mixed
	// The difference at a point is the log likelihood computed with this step, minus the
	// log likelihood computed by the reference. Whole is the range of the differences at
	// all points. Range leaves out the smallest 0.1 % and the largest 0.1 % of the
	// differences.
	Range, Whole [2]float64
	// Verdict is Negligible if all of the following conditions hold:
	//   - The bounds are within the threshold, and the length of Whole is at most 1.
	//   - There are at least fifty points.
	//   - The reference is accurate enough.
	//   - Every mode with at least 0.5 % of the mass exists in both posteriors.
	//   - The step is certified (see certify.Certificate). A certificate is needed
	//     because the chains may have explored only a small region.
	//
	// Otherwise Verdict is Undecided.
	Verdict Verdict
}

// Bound.Range leaves out the n/left smallest and largest of n differences.
const left = 1000

func (b *Bound) length() float64 { return b.Range[1] - b.Range[0] }

func (b *Bound) covered() float64 {
	return 100 * float64(b.Points-2*(b.Points/left)) / float64(b.Points)
}

// Shift returns the bound on the shift of a mean. The shift is measured in standard
// deviations.
func (b *Bound) Shift() float64 { return math.Sinh(b.length() / 2) }

// Ratio returns the bound on the factor by which a standard deviation changes.
func (b *Bound) Ratio() float64 { return math.Exp(b.length() / 2) }

// Probability returns the bound on the change of a probability.
func (b *Bound) Probability() float64 { return math.Tanh(b.length() / 4) }
