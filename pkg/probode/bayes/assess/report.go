package assess

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// A Report is the result of Run. After an interruption, a Report holds the results so
// far. Claims holds the verdict, with one row for each number that is compared with a
// limit. The rows are computed from the other fields of the Report.
type Report struct {
	Model     string // the name of the first problem, and how many more there are
	Threshold float64

	// Confidence is the confidence level of the verdict on each number. The draws are
	// looked at up to Looks times, and each look gets an equal share of the error
	// probability 1 − Confidence.
	Confidence float64
	Looks      int

	// Params are the assessed parameters. An unknown α is not assessed, because the
	// reference posterior does not depend on α. Names are the names of all parameters, in
	// the order of ModeShare.Theta.
	Params []Marginal
	Names  []string

	// Reference is the solver of the reference posterior, Drawn describes the draws, and
	// ReferenceModes are its modes. Drawn is empty if the reference posterior is not known.
	Reference, Drawn string
	ReferenceModes   []ModeShare

	// Candidates holds the results, method by method, beginning with the largest step or
	// tolerance of each method. A candidate with noise follows the one without.
	Candidates []*Candidate

	// Unseen is the largest mass that an unnoticed mode may have. A mode whose mass
	// equals Unseen has a 5 % chance of containing no draws, even if the chains move
	// freely between modes. A mode of mass Unseen hardly moves medians and central
	// intervals, but it can move means and standard deviations. Unseen is NaN if it is
	// not known. Unsearched describes the modes that the search for modes of the reference
	// posterior may have missed.
	Unseen     float64
	Unsearched string

	// Profile holds the log likelihood as a function of one parameter: the parameter
	// whose posterior is shifted most by the first candidate. Profile has a curve for the
	// first candidate, for the last one and for the reference. Profile is nil if the
	// curves could not be computed.
	Profile *certify.Profile

	Claims []Claim
}

// A Marginal describes the marginal distribution of a parameter in the reference
// posterior.
type Marginal struct {
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

// A Candidate is a way to solve the equations, with the results about it.
type Candidate struct {
	// Method and Mesh describe the setup, such as "AM1" and "h = 0.5". Order is the order
	// of the method. Size is the step size or, if Controlled is true, the relative
	// tolerance; if this is zero, the largest absolute tolerance.
	Method, Mesh string
	Order        int
	Size         float64
	Controlled   bool

	// Noisy is true for inference with the solver's error in the model. Alpha is its noise
	// scale: the given or calibrated value or, if α is a parameter, its mean. Alpha is NaN
	// for a candidate without noise.
	Noisy bool
	Alpha float64

	// Modes holds the modes of the posterior without noise, beginning with the one that
	// has the largest estimate of its share. The list ends with those modes of the reference
	// posterior that the candidate does not have. Unsearched describes what the search
	// for modes may have missed.
	Modes      []ModeShare
	Unsearched string

	// Certificate is the result obtained without sampling, or nil if there is no such
	// result.
	Certificate *certify.Certificate

	Inference *Inference // nil if the posterior of the candidate is not known

	// Verdict is Matters if the error of at least one median, central interval or mode
	// matters, and Negligible if all these errors are negligible. Otherwise, Why says why
	// the verdict is not known.
	Verdict Verdict
	Why     string
}

// candidate returns a Candidate without results.
func candidate(s probode.Setup, noisy bool) *Candidate {
	c := &Candidate{Mesh: s.Mesh.String(), Size: compare.Size(s), Controlled: s.StepSize() == 0, Noisy: noisy, Alpha: math.NaN()}
	if h := s.StepSize(); h > 0 {
		c.Mesh = fmt.Sprintf("h = %.4g", h)
	} else if m, ok := s.Mesh.(probode.Adaptive); ok {
		c.Mesh = m.Tolerance.String()
	}
	if s.Method != nil {
		c.Method, c.Order = s.Method.String(), s.Method.Order()
	}
	return c
}

// described returns a setup as text, in the words of the candidates.
func described(s probode.Setup) string { return candidate(s, false).String() }

// String returns the candidate as text, such as "AM1, h = 0.5, with noise".
func (c *Candidate) String() string {
	name := c.Mesh
	if c.Method != "" {
		name = c.Method + ", " + name
	}
	if c.Noisy {
		name += ", with noise"
	}
	return name
}

// Group returns the candidate without its mesh, such as "AM1 with noise".
func (c *Candidate) Group() string {
	name := cmp.Or(c.Method, c.Mesh)
	if c.Noisy {
		name += " with noise"
	}
	return name
}

// A ModeShare is a mode of a posterior with its share of the mass.
type ModeShare struct {
	Theta []float64
	// Estimate is bayes.Mode.Mass, an estimate of the share of the mass. Visited is the fraction of the draws of a run of the
	// candidate that belong to the mode, or NaN if there was no such run. Mass is equal to
	// Visited if the chains have mixed, and to Estimate otherwise.
	Mass, Estimate, Visited float64
	// Phantom is true if the reference posterior does not have this mode. Missed is true
	// if the reference posterior has this mode, but the candidate does not.
	Phantom, Missed bool
	// Found is the number of searches that ended at this mode.
	Found int
}

// An Inference holds the posterior of a candidate, and compares it with the reference
// posterior.
type Inference struct {
	// Weighted is true if the draws come from the reference posterior and have weights. KHat
	// is then the tail index k̂ of the weights.
	Weighted bool
	KHat     float64
	Sampler  string       // the sampler that made the draws
	Summary  diag.Summary // summary of all parameters of a run, including an unknown α; nil for weights
	Effects  []Effect     // in the order of Report.Params

	Draws, Chains int     // Draws is the number for each chain
	Solves        int     // the work, in solutions of all equations with this setup; 0 for weights
	Seconds       float64 // the time for drawing or weighing
}

// by describes in a few words where the draws come from.
func (inf *Inference) by() string {
	if inf.Weighted {
		return "weights"
	}
	return inf.Sampler
}

// An Effect describes how the solver's error changes the posterior of one parameter.
type Effect struct {
	Median Shift // of the median and of half the width of the central 68 % interval
	Mean   Shift // of the mean and the standard deviation

	// If several modes of the reference posterior each contain at least a twentieth of
	// the mass, Within holds the effects inside each of these modes. A bias in Within is
	// measured in units of the spread of the reference posterior inside the mode.
	Within []Effect

	// Verdict is the most serious of the verdicts on medians and central intervals: the
	// verdict in Median and the verdicts in Within.
	Verdict Verdict
}

// A Shift compares a candidate with the reference posterior. The embedded CenterSpread
// holds the centre and the spread of the candidate. If the draws do not tell how large the
// errors of these numbers are, all standard errors are NaN, and Why is the reason.
type Shift struct {
	CenterSpread
	Bias, BiasSE   float64 // (centre − centre of the reference posterior) / spread of the reference posterior
	Ratio, RatioSE float64 // spread / spread of the reference posterior
	Verdict        Verdict
	Why            string // the reason if Verdict is Undecided
}

const (
	// Undecided means that there is no verdict: the Monte Carlo error is too large or
	// unknown.
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

// worse returns the more serious of two verdicts.
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
	Candidate string // empty if the row is about the reference posterior or the assessment
	Parameter string // empty if the row is not about a single parameter
	Mode      int    // index in Report.ReferenceModes of the mode that the row is about; −1 for the whole posterior

	Value, SE, Limit float64 // NaN if there is no such number
	Verdict          Verdict // Negligible within the limit, Matters beyond it

	// Sentence is a warning that says what Value means and what to do. Sentence is empty
	// if no warning is needed.
	Sentence string
}

// Claim returns the first row of the given kind about the given candidate, which is empty
// for rows about no candidate. If there is no such row, the numbers in the result are NaN.
func (a *Report) Claim(kind, candidate string) Claim {
	for _, c := range a.Claims {
		if c.Kind == kind && c.Candidate == candidate {
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

// Groups divides the candidates by method, and separates candidates with noise from those
// without. Each group lists its candidates from the largest step or tolerance to the
// smallest.
func (a *Report) Groups() (all [][]*Candidate) {
	names := map[string]int{}
	for _, c := range a.Candidates {
		k, ok := names[c.Group()]
		if !ok {
			k = len(all)
			names[c.Group()] = k
			all = append(all, nil)
		}
		all[k] = append(all[k], c)
	}
	return all
}

// Enough returns the candidate of a group with the largest step or tolerance such that the
// error does not matter at it and at all smaller ones. Enough returns nil if it is not
// known to be harmless at the smallest.
func Enough(group []*Candidate) (enough *Candidate) {
	for _, c := range slices.Backward(group) {
		if c.Verdict != Negligible {
			break
		}
		enough = c
	}
	return enough
}
