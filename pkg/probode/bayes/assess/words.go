package assess

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/bayes/compare"
)

// This file contains all the sentences that may appear in a report.

// These constants are the formats of the sentences that state claims.
const (
	saidStopped   = "the reference posterior is not known, because the assessment was stopped"
	saidNoModes   = "the reference posterior is not known, because the search for its modes failed: %v"
	saidNoDraws   = "the reference posterior is not known, because it could not be sampled: %v"
	saidUnmixed   = "the chains of the reference posterior have not mixed (R̂ up to %.3g, %.0f effective draws): allow more draws"
	saidLacking   = "the draws do not enter the mode at %s of their own posterior, which holds about %.2g of the mass"
	saidStray     = "the draws are not those of the posterior by %s, over which the mean slope of the log density is zero: in %s it is %.0f standard errors from zero; the solver, the model or the draws are others"
	saidEmptyMode = "the draws from the reference posterior do not enter its mode at %s, which holds about %.2g of the mass"

	saidUnsound       = "the chains have not mixed"
	saidEqualDraws    = "all draws are equal"
	saidGap           = "the median or an end of the central interval lies between two modes, so more draws do not reduce its error"
	saidHeavy         = "the tails are so heavy that mean and sd are poor summaries (the tail index is %.2f)"
	saidUnvisited     = "no draws lie in the mode at %s, which holds about %.2g of the mass and could cause an error of %.2g thresholds"
	saidUnseen        = "a distant mode that is too small to be seen among the draws could move them"
	saidModeUndecided = "the mass of a mode that only one of the posteriors has is too close to the limit"

	saidPhantom = "phantom: %v creates a mode at %s that the reference posterior does not have; this mode holds %.3g of the mass"
	saidMissed  = "missed: %v has no mode at %s, where the reference posterior has a mode that holds %.3g of the mass"
	saidSearch  = "%v: there may be other modes: %s"

	saidWithdrawn = "the certificate of %v does not hold: %s"
	saidOtherMode = "there is a mode at %s that %s"
	saidSampled   = "the draws show a larger error"

	saidAlso   = ", and R̂ up to %.3f"
	saidFew    = "%s: too few effective draws, %.0f for each chain instead of %d%s (%s): allow more draws"
	saidMixing = "%s: the chains may not have mixed: R̂ up to %.3f (%s): take more draws or a longer burn-in, or check the traces for several modes"

	saidBetween     = "some observations lie between the grid points of %s, so the solution is interpolated there, and the verdict includes the error of the interpolation"
	saidCalibration = "α* = %.3g for %s: %s"
	saidAlphaGiven  = "the given α = %.3g does not match the size of the error of %s, where α* is %.3g: leave Alpha at zero to have it calibrated"
	saidTaken       = "the median of %s is %.3g with %v and %.3g in the reference posterior"
	saidSigma       = "the solver's error makes the measurement errors look larger than they are (%s). The intervals become wider, and the fit looks good although the solver is inaccurate: when you choose a step, check its effect on %s, too"
)

// sayDistrust says why the reference cannot be trusted, and what to do about it.
func sayDistrust(r referenceError, threshold float64) string {
	if r.unseen > 0 {
		return fmt.Sprintf("the reference solver steps over a feature of f that a solver with %d equal steps detects (D = %.2g): declare jumps of f as events", compare.ManySteps, r.unseen)
	}
	what := fmt.Sprintf("the reference solver's own error is D = %.2g, above the limit of %.2g", r.d, threshold/10)
	if r.unknown > 0 {
		what = fmt.Sprintf("the reference solver's own error could not be measured at %d of the %d modes and draws, because the reference solver or a more accurate solver fails there", r.unknown, r.points)
	}
	cure := "smaller tolerances and steps were tried without success; declare jumps of f as events"
	switch {
	case r.sufficient != "":
		cure = fmt.Sprintf("%s would be accurate enough", r.sufficient)
	case r.unknown > 0:
		cure += ", or exclude parameter values for which the solution breaks down within the time span"
	}
	return what + ": " + cure
}

// sayWrongShare returns "" if the draws and the estimated mass of a mode agree roughly.
func sayWrongShare(m ModeShare) string {
	if math.IsNaN(m.Visited) || max(m.Estimate, m.Visited) <= minor || min(m.Estimate, m.Visited) >= 1-minor {
		return ""
	}
	odds := m.Visited / (1 - m.Visited) / (m.Estimate / (1 - m.Estimate))
	switch {
	case m.Visited == 0:
		return fmt.Sprintf("holds %.3g of the mass, but contains no draws", m.Estimate)
	case odds < 1./3 || odds > 3:
		return fmt.Sprintf("holds %.3g of the mass by an estimate, but contains %.3g of the draws: if R̂ is close to 1, the estimate is wrong", m.Estimate, m.Visited)
	}
	return ""
}

// Answer returns the answer in three lines: the verdict for each method, the parameter
// with the worst error, and what to use.
func (a *Report) Answer() string {
	var b strings.Builder
	if doubt := a.doubt(); doubt != "" {
		fmt.Fprintf(&b, "It is not known whether the solver's error matters: %s.\n", doubt)
		return b.String()
	}
	for _, g := range a.Groups() {
		b.WriteString(a.sayGroup(g) + "\n")
	}
	b.WriteString(a.sayWorst() + "\n" + a.sayUse() + "\n")
	return b.String()
}

// doubt says why no verdict is possible. It returns "" if there are draws for a verdict.
func (a *Report) doubt() string {
	why := ""
	for i, x := range a.Candidates {
		if x.Verdict != Undecided || i > 0 && x.Why != why {
			return ""
		}
		why = x.Why
	}
	return why
}

// sayGroup returns the verdict on a method.
func (a *Report) sayGroup(g []*Candidate) string {
	if x := g[0]; len(g) == 1 {
		return fmt.Sprintf("%v: %s.", x, map[Verdict]string{Negligible: "the solver's error does not matter", Matters: "the solver's error matters", Undecided: "not known: " + x.Why}[x.Verdict])
	}
	var said, open, matters []string
	top := 0 // the number of largest settings at which the error matters
	for i, x := range g {
		switch {
		case x.Verdict == Undecided:
			open = append(open, fmt.Sprintf("%s (%s)", x.Mesh, x.Why))
		case x.Verdict == Matters && top == i:
			if top++; top == 1 {
				matters = []string{x.Mesh}
			} else {
				matters[0] = x.Mesh + " and above"
			}
		case x.Verdict == Matters:
			matters = append(matters, x.Mesh)
		}
	}
	switch enough := Enough(g); {
	case enough == g[0]:
		said = append(said, "the solver's error does not matter at any setting that was tried, up to "+enough.Mesh)
	case enough != nil:
		said = append(said, "the solver's error does not matter up to "+enough.Mesh)
	case top == len(g):
		said = append(said, "the solver's error matters at every setting that was tried, down to "+g[top-1].Mesh)
	}
	if open != nil {
		said = append(said, "it is not known whether it matters at "+strings.Join(open, ", "))
	}
	if matters != nil && top < len(g) {
		said = append(said, "it matters at "+strings.Join(matters, ", "))
	}
	return g[0].Group() + ": " + strings.Join(said, "; ") + "."
}

// sayWorst returns the worst parameter of the candidate with the largest error that is not
// negligible or, if all are, of the one with the largest error.
func (a *Report) sayWorst() string {
	var worst *Candidate
	var param, part int
	var shift Shift
	for _, x := range a.Candidates {
		if x.Inference == nil {
			continue
		}
		j := x.Inference.gravest(a.Threshold)
		s, k := x.Inference.Effects[j].gravest(a.Threshold)
		if worst == nil || s.size(a.Threshold) > shift.size(a.Threshold) {
			worst, param, part, shift = x, j, k, s
		}
	}
	if worst == nil {
		return "No candidate could be sampled."
	}
	where := ""
	if part >= 0 {
		where = fmt.Sprintf(" within the mode at %s", a.at(a.ReferenceModes[part].Theta))
	}
	said := fmt.Sprintf("Worst: %s with %v%s: %s.", a.Params[param].Name, worst, where, saySize("median", shift))
	if other := a.sayOtherModes(worst); other != "" {
		said += " " + other
	}
	return said
}

// sayUse returns what to use.
func (a *Report) sayUse() string {
	var fit []string
	for _, g := range a.Groups() {
		if g[0].Noisy { // a smaller step is cheaper and better
			continue
		}
		x := Enough(g)
		switch last := g[len(g)-1]; {
		case x != nil:
			fit = append(fit, x.String())
		case last.Verdict == Matters && !last.Controlled && last.Inference != nil && verdictOnModes(last.Modes) == Negligible:
			s, _ := last.Inference.Effects[last.Inference.gravest(a.Threshold)].gravest(a.Threshold)
			h := last.Size * math.Pow(s.size(a.Threshold), -1/float64(last.Order))
			fit = append(fit, fmt.Sprintf("%s with a step of about %.1g, if its error falls like h^%d", last.Group(), h, last.Order))
		}
	}
	return "Use " + strings.Join(append(fit, a.Reference), "; or ") + "."
}

// saySize describes the errors of the centre and of the spread of a parameter.
func saySize(center string, s Shift) string {
	spread, size := "central 68 % interval", "wide"
	unit := "half-widths of the central 68 % interval"
	if center == "mean" {
		spread, size, unit = "sd", "large", "sd"
	}
	const tiny = 1e-4 // more digits are not shown
	if math.Abs(s.Bias)+2*s.BiasSE < tiny && math.Abs(s.Ratio-1)+2*s.RatioSE < tiny {
		return fmt.Sprintf("its %s is off by less than %g %s, and its %s by less than %g of itself", center, tiny, unit, spread, tiny)
	}
	return fmt.Sprintf("its %s is off by %s %s, and its %s is %s times as %s", center, plusMinus(s.Bias, s.BiasSE, true), unit, spread, plusMinus(s.Ratio, s.RatioSE, false), size)
}

// sayOtherModes lists the modes that the solver misses, and the phantom modes that it
// creates.
func (a *Report) sayOtherModes(x *Candidate) string {
	var all []string
	for _, m := range x.Modes {
		what := "is missed"
		if m.Phantom {
			what = "is made by the solver"
		}
		if (m.Phantom || m.Missed) && max(m.Mass, m.Estimate) >= rightMass {
			all = append(all, fmt.Sprintf("the mode at %s, which holds %.3g of the mass, %s", where(a.Names, m.Theta, x.Modes), m.Mass, what))
		}
	}
	if all == nil {
		return ""
	}
	return "Modes: " + strings.Join(all, "; ") + "."
}

// Details returns what the answer rests on: the certificates, the errors of means and
// standard deviations, the limits of the draws, and the threshold.
func (a *Report) Details() string {
	var b strings.Builder
	for _, g := range a.Groups() {
		a.sayCertificate(&b, g)
	}
	if a.doubt() == "" {
		a.sayMoments(&b)
	}
	if !math.IsNaN(a.Unseen) {
		fmt.Fprintf(&b, "The draws may miss a mode that holds less than %.2g %% of the mass: such a mode would move no median, but it could move means and standard deviations.\n", 100*a.Unseen)
	}
	if a.Unsearched != "" {
		fmt.Fprintf(&b, "The search for modes has limits: %s.\n", a.Unsearched)
	}
	fmt.Fprintf(&b, "An error does not matter if, for every parameter, the median is off by less than %.3g times half the width of the central 68 %% interval, and the width of that interval by less than %.0f %% (confidence %.6g %% for each number in up to %d looks at the draws).\n",
		a.Threshold, 100*a.Threshold, 100*a.Confidence, a.Looks)
	if a.Drawn != "" {
		fmt.Fprintf(&b, "Reference posterior: %s, solved by %s.\n", a.Drawn, a.Reference)
	}
	return b.String()
}

// sayCertificate writes the certificate of the largest setting of a group below which all
// are certified, or why the smallest one is not.
func (a *Report) sayCertificate(b *strings.Builder, g []*Candidate) {
	at := len(g) - 1
	for i := at; i >= 0 && a.Claim("certificate", g[i].String()).Verdict == Negligible; i-- {
		at = i
	}
	x := g[at]
	if x.Certificate == nil {
		return
	}
	b.WriteString("Without sampling: ")
	if c := a.Claim("certificate", x.String()); c.Sentence != "" {
		fmt.Fprintf(b, "Nothing is certified: %s.\n", c.Sentence)
	} else {
		b.WriteString(x.Certificate.Answer(a.Threshold))
	}
	var all []string
	for _, x := range g {
		if c := x.Certificate; c != nil && len(c.Modes) > 0 {
			all = append(all, fmt.Sprintf("%s at %s", text.Number("%.2g", c.Modes[c.Worst(a.Threshold)].D), x.Mesh))
		}
	}
	fmt.Fprintf(b, "D is %s.\n", strings.Join(all, ", "))
}

// sayMoments writes the verdicts on means and standard deviations of the candidates whose
// medians and central intervals are right. Parameters with the same reason share a
// sentence.
func (a *Report) sayMoments(b *strings.Builder) {
	var wrong, reasons []string
	open := map[string][]string{}
	right := 0
	for _, x := range a.Candidates {
		if x.Verdict != Negligible {
			continue
		}
		right++
		for j, e := range x.Inference.Effects {
			switch s, name := e.Mean, a.Params[j].Name; s.Verdict {
			case Matters:
				wrong = append(wrong, fmt.Sprintf("%s with %v: %s", name, x, saySize("mean", s)))
			case Undecided:
				if open[s.Why] == nil {
					reasons = append(reasons, s.Why)
				}
				if !slices.Contains(open[s.Why], name) {
					open[s.Why] = append(open[s.Why], name)
				}
			}
		}
	}
	if wrong != nil {
		fmt.Fprintf(b, "However, the solver's error matters for means and standard deviations: %s.\n", strings.Join(wrong, "; "))
	}
	for _, why := range reasons {
		fmt.Fprintf(b, "The errors of mean and standard deviation of %s are not known: %s.\n", strings.Join(open[why], ", "), why)
	}
	if right > 0 && wrong == nil && reasons == nil {
		b.WriteString("The errors of means and standard deviations are below the threshold, too.\n")
	}
}

func (a *Report) at(theta []float64) string { return where(a.Names, theta, nil) }

// where formats the θ of a mode. If there are many parameters, where shows only those in
// which the modes differ most.
func where(names []string, theta []float64, all []ModeShare) string {
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
	if len(order) > most && all != nil {
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

// plusMinus formats a number with its standard error. The standard error has two
// significant digits, unless this would need fewer than two or more than four decimals.
func plusMinus(v, se float64, signed bool) string {
	if math.IsNaN(v) {
		return "?"
	}
	digits, size, format := 2, "?", "%.*f ± %s"
	if se > 0 {
		digits = min(4, max(2, 1-int(math.Floor(math.Log10(se)))))
	}
	if !math.IsNaN(se) {
		size = fmt.Sprintf("%.*f", digits, se)
	}
	if signed {
		format = "%+.*f ± %s"
	}
	return fmt.Sprintf(format, digits, v, size)
}
