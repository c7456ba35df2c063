package assess

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// An Report is the answer of Assess. After an interruption it holds what had
// been done.
type Report struct {
	Model     string // names of the problems
	Method    probode.Method
	Threshold float64

	// Confidence is that of each verdict on a number: that the interval of this
	// confidence lies on one side of the threshold. Looks is the largest number of
	// looks that it is shared by, and Looked how many there were: see Settings.Auto.
	Confidence    float64
	Looks, Looked int

	// Params are the parameters that are assessed: those of the model but
	// for an unknown α, which has no accurate value.
	Params []Parameter

	// Names are those of all parameters of the model, as points such as
	// Step.Mode have them.
	Names []string

	// ReferenceBy says in words from which draws the accurate posterior was
	// had, and KHat is the k̂ of their weights: above KHatLimit, that of their
	// effective number, they cannot be trusted; see diag.KHatLimit.
	ReferenceBy     string
	KHat, KHatLimit float64
	// Worth is the number of effective draws that the weighed ones are worth, zero
	// where there are none: with fewer than 50 no verdict is given.
	Worth float64

	// Steps are the sizes of step, the largest first.
	Steps []Step

	// Remedies are what could be done, the one that costs least first.
	Remedies []Remedy

	// Asked are the indices in Steps of Settings.Steps, in their order there.
	Asked []int

	// Largest is the largest step, or tolerance, with which the solver's error does not
	// matter for a parameter of those it was asked for, nor does it with any
	// smaller one; zero if there is none. It speaks of deterministic
	// inference, as do the Largest of Params.
	Largest float64

	// ReferenceModes are the modes of the reference posterior.
	ReferenceModes []Mode

	// Reference says how accurate the reference is.
	Reference Trust

	// Profile is the log likelihood by the largest and the smallest of the steps
	// and by the reference, along the parameter that the largest shifts most, at
	// the reference's mode; nil if there is none.
	Profile *certify.Profile

	// Warnings say in words what else is to be known, and what to do.
	Warnings []string
}

// A Parameter is a parameter in the accurate posterior.
type Parameter struct {
	Name         string
	Mean, SD     float64
	MeanSE, SDSE float64 // Monte Carlo standard errors

	// Quantiles says that the tails are too heavy for means and standard deviations:
	// Mean is the median, and SD half the width of the central 68 % interval, here
	// and in all effects. TailIndex is that of the draws: see diag.HeavyTails.
	Quantiles bool
	TailIndex float64

	Largest        float64 // step with which the solver's error does not matter; zero for none
	UndecidedAbove bool    // whether it matters at the next larger step is not known
}

// measure returns what the parameter is judged by.
func (q *Parameter) measure() measure {
	if q.Quantiles {
		return byQuantiles
	}
	return byMoments
}

// JudgedBy returns "moments" or "quantiles".
func (q *Parameter) JudgedBy() string { return [...]string{"moments", "quantiles"}[q.measure()] }

// A Step is what was found for one step.
type Step struct {
	// StepSize is that of equal steps, zero where they are chosen by error
	// control with the Tolerance, again at every θ. See Size and String.
	StepSize  float64
	Tolerance probode.Tolerance

	Exact bool // every observation is at a grid point
	Err   string

	// Mode is the mode of the deterministic posterior, and Error the error
	// of the classical solution, at the mode of the smallest step and the
	// times of the data: the root of the mean square, each component in
	// units of its largest value. Order is the observed one between this step
	// and the next smaller one, log(Error ratio)/log(step ratio).
	Mode         []float64
	Error, Order float64

	// Modes are those of the deterministic posterior, the largest first, and
	// Lost the modes of the reference posterior that are not among them.
	Modes, Lost []Mode

	// Missed says in words what the search for modes may have missed: see
	// bayes.Modes.Missed.
	Missed string

	// Alpha is the noise scale of the probabilistic inference: α* at the
	// mode, the known value of the Posterior, or, if α is a parameter,
	// its posterior mean. AlphaStar is α* at the mode with its standard
	// error, and AlphaAt are those at three draws of the deterministic
	// posterior; NaN and nil where α is sampled.
	Alpha, AlphaStar, AlphaSE float64
	AlphaAt                   []float64

	// KHat is that of the weights which take the deterministic draws of this
	// step to the accurate posterior, and KHatLimit the largest that can be trusted.
	KHat, KHatLimit float64

	// Unvisited says which parameters have no verdict for a mode without draws.
	Unvisited []string

	// Certificate is what can be said without sampling, nil if nothing.
	Certificate *certify.Certificate

	// Deterministic and Probabilistic are the two inferences, nil if they
	// were not made.
	Deterministic, Probabilistic *Inference
}

// An Inference is a run at one step, set against the accurate posterior.
type Inference struct {
	Sampler string
	Summary diag.Summary // of all parameters, an unknown α included
	Effects []Effect     // in the order of Report.Params
	// Estimates are what the effects were computed of, in the same order.
	Estimates []Estimate

	Draws, Chains int // Draws are those of each chain
	// Solves is the work, burn-in included: the steps that solvers took, in
	// units of those of one solution of all the equations with this step.
	Solves int
	// Failed is the share of the evaluations after burn-in that failed, of
	// the likelihood or of pieces of paths.
	Failed  float64
	Seconds float64
	// Drawing is the part of Seconds that more draws would take in proportion.
	Drawing float64
	// ESSPerSecond is the smallest bulk effective sample size of the assessed
	// parameters per second.
	ESSPerSecond float64
}

// thousand returns the seconds that 1000 effective draws take, NaN if they are not
// known.
func (inf *Inference) thousand() float64 {
	if s := 1000 * inf.Drawing / (inf.ESSPerSecond * inf.Seconds); s > 0 && !math.IsInf(s, 0) {
		return s
	}
	return math.NaN()
}

// cost returns thousand with what goes before the first of the draws: the search for
// modes, other preparation, and the burn-in.
func (inf *Inference) cost() float64 { return inf.Seconds - inf.Drawing + inf.thousand() }

// Answer returns the verdict in a few sentences.
func (a *Report) Answer() string {
	var b strings.Builder
	limit := fmt.Sprintf("bias below %.3g posterior sd, sd within %.0f %%, for every parameter", a.Threshold, 100*a.Threshold)
	top := a.Steps[0].Size()
	switch {
	case !a.trusted():
		fmt.Fprintf(&b, "Whether the solver's error matters cannot be told: %s.\n", a.Reference.say(a.Threshold))
	case !a.known():
		b.WriteString("Whether the solver's error matters cannot be told: the accurate posterior is out of reach of these steps.\n")
	case a.Largest == top:
		fmt.Fprintf(&b, "The solver's error does not matter at any of the steps, up to %s (%s).\n", a.sized(a.Largest), limit)
	case a.Largest > 0:
		fmt.Fprintf(&b, "The solver's error does not matter up to %s (%s).\n", a.sized(a.Largest), limit)
	default:
		v := Undecided
		if d := a.Steps[len(a.Steps)-1].Deterministic; d != nil {
			v = d.Verdict()
		}
		if v == Matters {
			fmt.Fprintf(&b, "The solver's error matters at every one of the steps, down to %v (it would not with: %s).\n", a.Steps[len(a.Steps)-1], limit)
		} else {
			fmt.Fprintf(&b, "No step is known to be small enough (%s).\n", limit)
		}
	}
	if !a.known() || !a.trusted() {
		b.WriteString(a.basis())
		return b.String()
	}
	// The next larger step: what is wrong with it.
	for i := len(a.Steps) - 1; i >= 0; i-- {
		st := a.Steps[i]
		if st.Size() <= a.Largest || st.Deterministic == nil {
			continue
		}
		d := st.Deterministic
		j, v := d.worst(a.Threshold)
		e := d.Effects[j]
		e, part := e.gravest(a.Threshold)
		what := fmt.Sprintf("%s is off by %s sd, and its sd is %s of the accurate one", a.Params[j].Name, plusMinus(e.Bias, e.BiasSE, true), plusMinus(e.Ratio, e.RatioSE, false))
		if part >= 0 {
			what = fmt.Sprintf("within the mode at %s %s, both in units of the sd there", a.at(a.ReferenceModes[part].Theta), what)
		}
		if v == Matters {
			fmt.Fprintf(&b, "At %v it matters: %s.\n", st, what)
			if made, lost := st.phantoms(); i == len(a.Steps)-1 && st.StepSize > 0 && made+lost <= spoken {
				shrink := math.Max(math.Abs(e.Bias), math.Abs(math.Log(e.Ratio))) / a.Threshold
				fmt.Fprintf(&b, "If that falls with the order of the method, %d, a step of about %.1g would do.\n", a.Method.Order(), st.StepSize*math.Pow(shrink, -1/float64(a.Method.Order())))
			}
		} else {
			needed := d.needed(j, a.Params[j].Name)
			if st.Unvisited != nil {
				needed = st.Unvisited[0]
			}
			fmt.Fprintf(&b, "At %v it is undecided: %s; %s.\n", st, what, needed)
		}
		if q := st.Probabilistic; q != nil {
			f := q.Effects[j]
			if part >= 0 && part < len(f.Within) {
				f = f.Within[part]
			}
			fmt.Fprintf(&b, "There the probabilistic solver (α = %.3g) has %s off by %s of the accurate sd, with an sd %s times as large", st.Alpha, a.Params[j].Name, plusMinus(f.Bias, f.BiasSE, true), plusMinus(f.Ratio, f.RatioSE, false))
			if k := q.farthest(a.Threshold); k != j {
				g := q.Effects[k]
				if math.Abs(g.Bias)/a.Threshold > math.Abs(math.Log(g.Ratio))/math.Log1p(a.Threshold) {
					fmt.Fprintf(&b, "; its worst is %s, off by %s", a.Params[k].Name, plusMinus(g.Bias, g.BiasSE, true))
				} else {
					fmt.Fprintf(&b, "; its worst is %s, with an sd %s times as large", a.Params[k].Name, plusMinus(g.Ratio, g.RatioSE, false))
				}
			}
			b.WriteString(".\n")
		}
		break
	}
	return b.String() + a.basis()
}

// worst returns the parameter that decides the verdict: the one farthest beyond
// the threshold if the error matters. Of an undecided step it is the one that
// wants fewest draws of those beyond, as one of these is enough, and else the one
// that wants most, as all are needed.
func (inf *Inference) worst(threshold float64) (int, Verdict) {
	v := inf.Verdict()
	at, size := 0, math.Inf(-1)
	for j, e := range inf.Effects {
		if e.Verdict != v {
			continue
		}
		s := e.size(threshold)
		if v == Undecided {
			more := e.more(threshold, decisive)
			if s > 1 {
				s = 1e9 / more
			} else {
				s = 1e-9 * more
			}
		}
		if s > size || math.IsNaN(s) {
			at, size = j, s
		}
	}
	return at, v
}

// farthest returns the parameter that is farthest beyond the threshold, of those
// for which the error is known to matter if there are any.
func (inf *Inference) farthest(threshold float64) int {
	j, v := inf.worst(threshold)
	if v == Matters {
		return j
	}
	for k, e := range inf.Effects {
		if e.size(threshold) > inf.Effects[j].size(threshold) {
			j = k
		}
	}
	return j
}

// size returns the larger of both errors in units of the threshold, of the whole
// posterior or within one of its modes.
func (e Effect) size(threshold float64) float64 {
	g, _ := e.gravest(threshold)
	return math.Max(math.Abs(g.Bias)/threshold, math.Abs(math.Log(g.Ratio))/math.Log1p(threshold))
}

// gravest returns, of the effect on the whole posterior and those within its modes,
// the one farthest beyond the threshold, with the mode, −1 for the whole.
func (e Effect) gravest(threshold float64) (Effect, int) {
	within := e.Within
	e.Within = nil
	worst, at := e, -1
	for k, part := range within {
		if part.size(threshold) > worst.size(threshold) {
			worst, at = part, k
		}
	}
	return worst, at
}

// at names the numbers of a point.
func (a *Report) at(theta []float64) string {
	var all []string
	for k, v := range theta {
		all = append(all, fmt.Sprintf("%s = %.4g", a.Names[k], v))
	}
	return strings.Join(all, ", ")
}

// marginal returns the draws' own numbers of a parameter.
func (inf *Inference) marginal(name string) diag.Marginal {
	return inf.Summary[slices.IndexFunc(inf.Summary, func(m diag.Marginal) bool { return m.Name == name })]
}

// needed says in words how many draws would decide about parameter j.
func (inf *Inference) needed(j int, name string) string {
	e := inf.Effects[j]
	switch m := inf.marginal(name); {
	case !(m.SD > 0):
		return "it never moved, so that nothing can be said"
	case !sound(m):
		return "the chains have not mixed, so that nothing can be said of the draws that are needed"
	case e.Draws == 0:
		return "the chains behind the accurate posterior have not mixed"
	case e.Draws > 100*float64(inf.Draws):
		return "it lies at the threshold itself, where no reasonable number of draws decides"
	case e.Paired:
		return fmt.Sprintf("to tell takes about %s draws of each chain, and Weighed in proportion", twoDigits(e.Draws))
	}
	return fmt.Sprintf("to tell takes about %s draws of each chain", twoDigits(e.Draws))
}

func twoDigits(v float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return fmt.Sprintf("%.0f", math.Ceil(v/unit)*unit)
}

// plusMinus writes a number with its standard error, to two digits of that.
func plusMinus(v, se float64, signed bool) string {
	if math.IsNaN(v) || math.IsNaN(se) {
		return "?"
	}
	digits := 2
	if se > 0 {
		digits = min(4, max(2, 1-int(math.Floor(math.Log10(se)))))
	}
	if signed {
		return fmt.Sprintf("%+.*f ± %.*f", digits, v, digits, se)
	}
	return fmt.Sprintf("%.*f ± %.*f", digits, v, digits, se)
}
