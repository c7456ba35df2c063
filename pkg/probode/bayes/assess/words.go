package assess

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/bayes/certify"
)

// All sentences of a verdict are in this file.

// Answer returns the verdict in a few sentences, one in a line.
func (a *Report) Answer() string {
	var b strings.Builder
	limit := fmt.Sprintf("bias below %.3g posterior sd, sd within %.0f %%, for every parameter", a.Threshold, 100*a.Threshold)
	switch {
	case !a.trusted():
		fmt.Fprintf(&b, "Whether the solver's error matters cannot be decided: %s.\n", sayDistrust(a.Reference, a.Threshold))
	case !a.known():
		b.WriteString("Whether the solver's error matters cannot be decided: the accurate posterior is out of reach of these steps.\n")
	case a.Largest == a.Steps[0].Size():
		fmt.Fprintf(&b, "The solver's error does not matter at any of the steps, up to %s (%s).\n", a.sized(a.Largest), limit)
	case a.Largest > 0:
		fmt.Fprintf(&b, "The solver's error does not matter up to %s (%s).\n", a.sized(a.Largest), limit)
	case a.verdict(len(a.Steps)-1) == Matters:
		fmt.Fprintf(&b, "The solver's error matters at every one of the steps, down to %v (it would not with: %s).\n", a.Steps[len(a.Steps)-1], limit)
	default:
		fmt.Fprintf(&b, "No step is known to be small enough (%s).\n", limit)
	}
	if a.known() && a.trusted() {
		for i := len(a.Steps) - 1; i >= 0; i-- {
			if st := &a.Steps[i]; st.Size() > a.Largest && st.Deterministic != nil {
				a.sayNext(&b, i)
				break
			}
		}
	}
	a.sayBasis(&b)
	return b.String()
}

// sayNext says what is wrong with step i, the smallest that is not known to be enough.
func (a *Report) sayNext(b *strings.Builder, i int) {
	st := &a.Steps[i]
	d := st.Deterministic
	j, v := d.worst(a.Threshold)
	e, part := d.Effects[j].gravest(a.Threshold)
	name := a.Params[j].Name
	what := fmt.Sprintf("%s is off by %s sd, and its sd is %s of the accurate one", name, plusMinus(e.Bias, e.BiasSE, true), plusMinus(e.Ratio, e.RatioSE, false))
	if part >= 0 {
		what = fmt.Sprintf("within the mode at %s %s, both in units of the sd there", a.at(a.ReferenceModes[part].Theta), what)
	}
	if v == Matters {
		fmt.Fprintf(b, "At %v it matters: %s.\n", st, what)
		if made, missed := st.phantoms(); i == len(a.Steps)-1 && st.StepSize > 0 && made+missed <= minor {
			shrink := math.Max(math.Abs(e.Bias), math.Abs(math.Log(e.Ratio))) / a.Threshold
			fmt.Fprintf(b, "If that falls with the order of the method, %d, a step of about %.1g would be small enough.\n", a.Order, st.StepSize*math.Pow(shrink, -1/float64(a.Order)))
		}
	} else {
		needed := d.sayNeeded(j, name)
		if st.Unvisited != nil {
			needed = a.sayUnvisited(st.Unvisited[0])
		}
		fmt.Fprintf(b, "At %v it is undecided: %s; %s.\n", st, what, needed)
	}
	q := st.Probabilistic
	if q == nil {
		return
	}
	f := q.Effects[j]
	if part >= 0 && part < len(f.Within) {
		f = f.Within[part]
	}
	fmt.Fprintf(b, "With noise in the model (α = %.3g) %s is off by %s sd, and its sd is %s of the accurate one", st.Alpha, name, plusMinus(f.Bias, f.BiasSE, true), plusMinus(f.Ratio, f.RatioSE, false))
	if k := q.farthest(a.Threshold); k != j {
		g := q.Effects[k]
		if math.Abs(g.Bias)/a.Threshold > math.Abs(math.Log(g.Ratio))/math.Log1p(a.Threshold) {
			fmt.Fprintf(b, "; the worst parameter is %s, off by %s sd", a.Params[k].Name, plusMinus(g.Bias, g.BiasSE, true))
		} else {
			fmt.Fprintf(b, "; the worst parameter is %s, with an sd of %s of the accurate one", a.Params[k].Name, plusMinus(g.Ratio, g.RatioSE, false))
		}
	}
	b.WriteString(".\n")
}

// sayNeeded says how many draws would decide about parameter j.
func (inf *Inference) sayNeeded(j int, name string) string {
	e := inf.Effects[j]
	switch m := inf.marginal(name); {
	case !(m.SD > 0):
		return "its draws are all the same, so that nothing is known"
	case !sound(m):
		return "the chains have not mixed, so that the number of draws needed is not known"
	case e.Draws == 0:
		return "the chains behind the accurate posterior have not mixed"
	case e.Draws > 100*float64(inf.Draws):
		return "it lies at the threshold itself, where no reasonable number of draws decides"
	case e.Paired:
		return fmt.Sprintf("to decide takes about %s draws of each chain, and Weighed in proportion", twoDigits(e.Draws))
	}
	return fmt.Sprintf("to decide takes about %s draws of each chain", twoDigits(e.Draws))
}

// sayBasis says what the verdict rests on, and how many draws would decide.
func (a *Report) sayBasis(b *strings.Builder) {
	if a.Confidence == 0 {
		return
	}
	fmt.Fprintf(b, "Thresholds: bias %.3g sd, sd within %.3g %%; confidence %.6g %% for each number", a.Threshold, 100*a.Threshold, 100*a.Confidence)
	if a.Looks > 1 {
		fmt.Fprintf(b, ", shared by up to %d interim analyses, of which %d were made", a.Looks, a.Looked)
	}
	least, most, chains := math.MaxInt, 0, 0
	for _, st := range a.Steps {
		if d := st.Deterministic; d != nil {
			least, most, chains = min(least, d.Draws), max(most, d.Draws), d.Chains
		}
	}
	if most > 0 {
		draws := fmt.Sprint(most)
		if least < most {
			draws = fmt.Sprintf("%d to %d", least, most)
		}
		fmt.Fprintf(b, "; %d chains of %s draws", chains, draws)
	}
	var heavy []string
	for _, q := range a.Params {
		if q.Quantiles {
			heavy = append(heavy, q.Name)
		}
	}
	if heavy != nil {
		fmt.Fprintf(b, "; judged by median and central 68 %% interval, since their tails are heavy: %s", strings.Join(heavy, ", "))
	}
	b.WriteString(".\n")
	for i := range a.Steps {
		st := &a.Steps[i]
		if d := st.Deterministic; d != nil && st.Size() > a.Largest {
			if n := d.DrawsNeeded(a.Threshold); n < 100*float64(d.Draws) {
				fmt.Fprintf(b, "At %v about %s draws of each chain would decide.\n", st, twoDigits(n))
			}
		}
	}
}

// WithoutSampling returns what the certificates say: of the largest step that is
// certified together with all smaller ones, or else of the smallest; nothing if there are
// none.
func (a *Report) WithoutSampling() string {
	at := len(a.Steps) - 1
	for i := at; i >= 0; i-- {
		if c := a.Steps[i].Certificate; c == nil || !c.Certified(a.Threshold) {
			break
		}
		at = i
	}
	c := a.Steps[at].Certificate
	if c == nil {
		return ""
	}
	var all []string
	for _, st := range a.Steps {
		if c := st.Certificate; c != nil && len(c.Modes) > 0 {
			all = append(all, fmt.Sprintf("%s at %v", number("%.2g", c.Modes[c.Worst(a.Threshold)].D), st))
		}
	}
	return fmt.Sprintf("Without sampling: %sD is %s.\n\nBy sampling: ", c.Answer(a.Threshold), strings.Join(all, ", "))
}

// Advice returns the recommended remedy in one line, and in another that noise in the
// model does harm, if it does; empty if no remedies were measured.
func (a *Report) Advice() string {
	if len(a.Remedies) == 0 {
		return ""
	}
	var b strings.Builder
	if r := a.Remedies[0]; r.Recommended {
		fmt.Fprintf(&b, "Recommended: %s, the cheapest that reaches the threshold, %.2g s for 1000 effective draws.\n", r.Name, r.Seconds)
	} else {
		b.WriteString("None of the remedies that were measured is known to reach the threshold.\n")
	}
	bad := 0
	for _, r := range a.Remedies {
		if strings.HasPrefix(r.Note, worseThanNothing) {
			bad++
		}
	}
	if bad > 0 {
		fmt.Fprintf(&b, "Noise in the model is worse here than ignoring the error, at %d of the steps.\n", bad)
	}
	return b.String()
}

// The notes of remedies.
const worseThanNothing = "worse than nothing"

func sayWorse(factor float64) string {
	return fmt.Sprintf("%s: %.1f times as far off as with the solver trusted at the same step", worseThanNothing, factor)
}

const (
	noteUndecided     = "undecided"
	noteNotBetter     = "not known to be better than the solver trusted at the same step"
	noteNotNeeded     = "not needed: the solver can be trusted at the same step"
	noteMissed        = "no weights bring back a mode that the solver misses"
	notePredicted     = "by the certificate, without sampling: assess it before you rely on it"
	noteWeightsKHat   = "k̂ = %.2f"
	noteWeightsCoarse = "the weights add an error of %.2g sd: more draws"
)

// sayDistrust says what is wrong with the reference, and what would be accurate enough.
func sayDistrust(r Reference, threshold float64) string {
	switch {
	case r.Unseen > 0:
		return fmt.Sprintf("the reference steps over something that %d equal steps see (D = %.2g): declare what breaks f as events", certify.ManySteps, r.Unseen)
	case r.Missed >= mostMissed:
		return fmt.Sprintf("no solver that was tried has draws in parts of the reference posterior with about %.2g of its mass: take smaller steps, or a method that reaches them", r.Missed)
	}
	what := fmt.Sprintf("the reference's own error is D = %.2g, above the limit of %.2g", r.D, threshold/10)
	switch {
	case r.Failed > mostFailed:
		what = fmt.Sprintf("the reference fails at %.1f %% of the draws", 100*r.Failed)
	case r.Unknown > 0:
		what = fmt.Sprintf("the reference's own error is not known at %d of %d modes and draws, where it or a more accurate solver fails", r.Unknown, r.Points)
	}
	cure := "no smaller tolerance or step that was tried is accurate enough: declare what breaks f as events"
	switch {
	case r.Sufficient != "":
		cure = fmt.Sprintf("%s would be accurate enough", r.Sufficient)
	case r.Failed > mostFailed || r.Unknown > 0:
		cure += ", or exclude parameters for which the solution ends"
	}
	return what + ": " + cure
}

func sayNoReference() string {
	return "the accurate posterior is not known: the reference cannot be solved at the draws: declare what breaks f as events, or take another Accurate solver"
}

func sayKHat(a *Report) string {
	return fmt.Sprintf("the accurate posterior is not known: k̂ = %.2f for %s, above %.2f, the limit for as many effective draws, so that no verdict is given: add smaller steps, or take a method of higher order", a.KHat, a.ReferenceBy, a.khatLimit())
}

func sayWorth(a *Report) string {
	return fmt.Sprintf("the accurate posterior is not known: %s, are worth fewer than %d effective draws, so that no verdict is given: more draws (Draws, Weighed), or smaller steps", a.ReferenceBy, fewest)
}

func sayHeavy(q Parameter) string {
	return fmt.Sprintf("%s has tails so heavy (tail index %.2f; a mean exists below 1, an sd below ½) that means and sds do not describe it: it is judged by its median and half the width of the central 68 %% interval", q.Name, q.TailIndex)
}

func sayPhantom(st *Step, at string, m Mode) string {
	return fmt.Sprintf("phantom: at %v the mode at %s, with %.3g of the mass, is made by the solver: the reference posterior does not have it", st, at, m.Mass)
}

func sayMissed(st *Step, at string, m Mode) string {
	return fmt.Sprintf("missed: the reference posterior has a mode at %s, with %.3g of the mass, that the posterior at %v does not have", at, m.Mass, st)
}

// sayWrongShare says that no draw is in the mode, or that the draws give it another share
// than its Gaussian approximation does; "" if neither.
func sayWrongShare(m Mode) string {
	if math.IsNaN(m.Visited) || !(max(m.Gaussian, m.Visited) > minor) {
		return ""
	}
	odds := m.Visited / (1 - m.Visited) / (m.Gaussian / (1 - m.Gaussian))
	switch {
	case m.Visited == 0:
		return fmt.Sprintf("holds %.3g of the mass by its Gaussian approximation, and no draw is in it", m.Gaussian)
	case odds < 1./3 || odds > 3:
		return fmt.Sprintf("holds %.3g of the mass by its Gaussian approximation, and %.3g of the draws are in it: where R̂ is good it is the approximation that is wrong", m.Gaussian, m.Visited)
	}
	return ""
}

func (a *Report) sayUnvisited(u Unvisited) string {
	return fmt.Sprintf("%s is moved by %.2g of the threshold by a mode at %s, with %.2g of the mass by its Gaussian approximation, in which no draw is", text.Printable(u.Parameter), u.Size, a.at(u.Theta), u.Mass)
}

func sayStuck(modes int) string {
	return fmt.Sprintf("the reference posterior has %d modes, between which the chains do not move: no verdict", modes)
}

func sayFailure(st *Step) string {
	if st.Deterministic != nil {
		return fmt.Sprintf("%v: %s", st, st.Err)
	}
	return fmt.Sprintf("nothing is known at %v: %s", st, st.Err)
}

func sayFew(where string, least float64, few []string, worst float64, rhat []string) string {
	if rhat != nil {
		return fmt.Sprintf("%s: too few effective draws, %.0f where each chain needs %d, and R̂ up to %.3f (%s): more draws (Draws, MinESS), a longer burn-in, or check the traces for several modes", where, least, fewEach, worst, strings.Join(few, ", "))
	}
	return fmt.Sprintf("%s: too few effective draws, %.0f where each chain needs %d (%s): run longer (Draws, MinESS)", where, least, fewEach, strings.Join(few, ", "))
}

func sayMixing(where string, worst float64, names []string) string {
	return fmt.Sprintf("%s: the chains may not have mixed: R̂ up to %.3f (%s): more draws or a longer burn-in", where, worst, strings.Join(names, ", "))
}

func sayFailing(where string, share float64) string {
	return fmt.Sprintf("%s: %.1f %% of the solves failed, which cuts a piece out of the posterior: a smaller step, an implicit method, or a prior that excludes what cannot be solved", where, 100*share)
}

func sayUnsound(names []string) string {
	return fmt.Sprintf("no verdict is given on %s: the chains behind the accurate posterior do not agree (R̂ above %.2f, or fewer than %d effective draws)", strings.Join(names, ", "), mixed, fewest)
}

func sayRough(st *Step) string {
	return fmt.Sprintf("at h = %.4g the path at the mode is off by %.0f %% of its size: the steps are too large for the error to follow its order, and α has no meaning; add smaller steps", st.StepSize, 100*st.Error)
}

func sayOrder(c, f *Step, method string, want int, remedy string) string {
	if remedy == "" {
		remedy = "take smaller steps; if the order is still missing, f is not smooth enough for the method, or its Jacobian is wrong (Problem.CheckJacobian)"
	}
	return fmt.Sprintf("order lost: from h = %.4g to %.4g the error of the path falls like h^%.1f, where %s should give h^%d: %s", c.StepSize, f.StepSize, c.Order, method, want, remedy)
}

func sayShiftOrder(c, f *Step, order, se float64, method string, want int) string {
	return fmt.Sprintf("order lost in the posterior: from h = %.4g to %.4g its shift falls like h^%.1f ± %.1f, where %s should give h^%d", c.StepSize, f.StepSize, order, se, method, want)
}

func sayCalibration(st *Step) string {
	return fmt.Sprintf("α* = %.3g at %v: %s", st.AlphaStar, st, strings.Join(st.AlphaWarnings, "; "))
}

func sayAlphaSteps(c, f *Step) string {
	return fmt.Sprintf("α is not stable in h: α* is %.3g at %v and %.3g at %v, a factor of more than %d: at the larger step the error does not have the size that the order predicts, and an α of one step is wrong for another", c.AlphaStar, c, f.AlphaStar, f, alphaSteps)
}

func sayAlphaTheta(st *Step, at float64) string {
	return fmt.Sprintf("α depends on θ: at %v α* is %.3g at the mode and %.3g at another draw of the posterior, a factor of more than %d: one α for all is a compromise; give α a prior, or take a smaller step", st, st.AlphaStar, at, alphaTheta)
}

func sayAlphaGiven(st *Step) string {
	return fmt.Sprintf("the given α = %.3g is not the size of the error at %v, for which α* is %.3g: leave Alpha at zero to have it calibrated", st.Alpha, st, st.AlphaStar)
}

// saySigma says which sizes of the data's errors absorb the solver's error, each at the
// step given.
func (a *Report) saySigma(names []string, at []*Step) string {
	var taken []string
	for i, name := range names {
		j := slices.IndexFunc(a.Params, func(q Parameter) bool { return q.Name == name })
		taken = append(taken, fmt.Sprintf("%s is %.3g at %v and accurately %.3g", name, at[i].Deterministic.Estimates[j].Center, at[i], a.Params[j].Mean))
	}
	return fmt.Sprintf("an unknown size of the data's errors hides a bad solver: it takes the solver's error for an error of the data (%s): intervals get wider and the fit still looks honest; judge the step by %s, too", strings.Join(taken, "; "), strings.Join(names, ", "))
}

func sayBetween(steps []*Step, order int) string {
	var all []string
	for _, st := range steps {
		all = append(all, fmt.Sprintf("%.4g", st.StepSize))
	}
	return fmt.Sprintf("with h = %s some observations lie between grid points, where the path is a polynomial through %d of them: its error falls like h^%d, the method's like h^%d, and is part of the error assessed; a step that divides the times of the data avoids it",
		strings.Join(all, ", "), order+2, order+2, order)
}

// sizeName is the name of what the ladder consists of.
func (a *Report) sizeName() string {
	switch {
	case !a.controlled():
		return "h"
	case a.Steps[0].Tolerance.Relative > 0:
		return "rtol"
	}
	return "atol"
}

// SizeName says in words what the sizes of Steps are, as for the axis of a figure.
func (a *Report) SizeName() string {
	return map[string]string{"h": "step h", "rtol": "relative tolerance", "atol": "absolute tolerance"}[a.sizeName()]
}

// sized writes a size of the ladder with its name.
func (a *Report) sized(size float64) string { return fmt.Sprintf("%s = %.4g", a.sizeName(), size) }

// LargestStep returns the largest step that is small enough for the parameter: a
// number, with ≥ before it where a larger one may do, "undecided", or "none".
func (q Parameter) LargestStep() string {
	switch {
	case q.UndecidedAbove && q.Largest > 0:
		return fmt.Sprintf("≥ %.4g", q.Largest)
	case q.UndecidedAbove:
		return "undecided"
	case q.Largest > 0:
		return fmt.Sprintf("%.4g", q.Largest)
	}
	return "none"
}

// at writes a point with the names of its numbers.
func (a *Report) at(theta []float64) string {
	var all []string
	for k, v := range theta {
		all = append(all, fmt.Sprintf("%s = %.4g", a.Names[k], v))
	}
	return strings.Join(all, ", ")
}

// where writes the θ of a mode: of many parameters, those in which the modes differ
// most.
func where(names []string, theta []float64, all []Mode) string {
	const most = 4
	order := make([]int, len(theta))
	spread := make([]float64, len(theta))
	for k := range theta {
		order[k] = k
		for _, m := range all {
			if d := math.Abs(m.Theta[k] - theta[k]); d > 0 {
				spread[k] = max(spread[k], d/(math.Abs(m.Theta[k])+math.Abs(theta[k])))
			}
		}
	}
	rest := ""
	if len(order) > most {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(spread[b], spread[a]) })
		order = order[:most]
		slices.Sort(order)
		rest = ", …"
	}
	var out []string
	for _, k := range order {
		out = append(out, fmt.Sprintf("%s = %.4g", text.Printable(names[k]), theta[k]))
	}
	return strings.Join(out, ", ") + rest
}

func twoDigits(v float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return fmt.Sprintf("%.0f", math.Ceil(v/unit)*unit)
}

// plusMinus writes a number with its standard error, to two digits of the error.
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

// number writes v, a dash if it is NaN.
func number(format string, v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf(format, v)
}
