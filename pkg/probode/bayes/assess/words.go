package assess

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// This file contains all the sentences that may appear in a report.

// These constants are the formats of the sentences that state claims.
const (
	saidNoReference = "the reference posterior is not known, because the reference solver cannot solve the equations at the draws: declare jumps of f as events, or choose another solver in Settings.Accurate"
	saidKHat        = "the reference posterior is not known, because k̂ is %.2f for %s, above the limit of %.2f: add smaller steps, or use a method of higher order"
	saidWorth       = "the reference posterior is not known, because its draws (%s) have an effective sample size below %d: increase Draws and Weighed, or take smaller steps"
	saidMissedPart  = "with every solver that was tried, the draws miss regions that hold about %.2g of the mass of the reference posterior: use smaller steps, or another method"
	saidHeavy       = "the tails of %s are so heavy that its mean and sd are poor summaries (the tail index is %.2f): only its median and central 68 %% interval are judged"

	saidPhantom   = "phantom: at %v the solver creates a mode at %s that the reference posterior does not have; this mode holds %.3g of the mass"
	saidMissed    = "missed: at %v the posterior has no mode at %s, where the reference posterior has a mode that holds %.3g of the mass"
	saidUnvisited = "no verdict on the mean and sd at %v: for %s, the error may be %.2g times the threshold. The reason is that no draws lie in the mode at %s, which holds about %.2g of the mass"
	saidSearch    = "%v: there may be other modes: %s"
	saidStuck     = "no verdict: the reference posterior has %d modes, and the chains do not move between them"

	saidSlow     = "no verdict: the reference posterior could not be sampled within %v (to change this limit, set -budget or Settings.MaxTime); the sampler was %s"
	saidUnmixed  = "no verdict: the random-walk chains have not mixed (R̂ up to %.3g), and their draws give no useful bound on the effect of the solver's error; %s"
	saidTooLong  = "other samplers would probably take longer than %v (to change this limit, set -budget or Settings.MaxTime): %s"
	saidNotMixed = "the reference posterior is not known, because the chains have not mixed (R̂ up to %.3g): the verdict holds only for the region that the chains have reached"
	saidNoNoise  = "one set of draws, made by the sampler %s, is used for all steps. Inference with noise would need a separate run of the sampler %v at each step, so noise and remedies were not assessed"

	saidWithdrawn = "the certificate at %v does not hold: %s"
	saidOtherMode = "there is a mode at %s that %s"
	saidSampled   = "the draws show a larger error"

	saidAlso    = ", and R̂ up to %.3f"
	saidFew     = "%s: too few effective draws, %.0f for each chain instead of %d%s (%s): increase Draws or MinESS"
	saidMixing  = "%s: the chains may not have mixed: R̂ up to %.3f (%s): take more draws or a longer burn-in, or check the traces for several modes"
	saidFailing = "%s: %.1f %% of the solves failed, so part of the posterior is missing: use a smaller step, an implicit method, or a prior that excludes parameter values for which the equations cannot be solved"
	saidUnsound = "no verdict is given on %s: the chains of the reference posterior have not converged (R̂ above %.2f, or fewer than %d effective draws)"

	saidRough       = "at %v the error of the solution at the mode is %.0f %% of the size of the solution. With such large steps the error does not yet follow the order of the method, and α has no meaning: add smaller steps"
	saidOrder       = "order lost: from %v to %.4g the error of the solution falls like h^%.1f, but for %s it should fall like h^%d: %s"
	saidOrderRemedy = "take smaller steps; if the error still does not fall at the expected rate, f is not smooth enough for the method, or its Jacobian is wrong (Problem.CheckJacobian)"
	saidBetween     = "with h = %s some observations lie between grid points, so the solution is interpolated by a polynomial through %d grid points. The assessment includes the error of this interpolation, which falls like h^%d, and the error of the method, which falls like h^%d. If all observation times are multiples of the step, nothing is interpolated"

	saidCalibration = "α* = %.3g at %v: %s"
	saidAlphaSteps  = "α depends on h: α* is %.3g at %v and %.3g at %v. These values differ by a factor of more than %d, so no single α fits both steps. At the larger step the error does not have the size that the order of the method predicts"
	saidAlphaTheta  = "α depends on θ: with %v, α* is %.3g at the mode and %.3g at a draw from the posterior. These values differ by a factor of more than %d, so no single α fits all draws: give α a prior, or take a smaller step"
	saidAlphaGiven  = "the given α = %.3g does not match the size of the error at %v, where α* is %.3g: leave Alpha at zero to have it calibrated"
	saidTaken       = "the median of %s is %.3g at %v and %.3g in the reference posterior"
	saidSigma       = "the solver's error makes the measurement errors look larger than they are (%s). The intervals become wider, and the fit looks good although the solver is inaccurate: when you choose a step, check its effect on %s, too"
)

// These constants are the texts of notes about remedies.
const (
	worseThanNothing = "worse than nothing"
	noteWorse        = worseThanNothing + ": the error is %.1f times as large as without a remedy at the same step"
	noteUndecided    = "undecided"
	noteSmaller      = "the solver's error may matter even at a smaller step"
	noteMoments      = "mean or sd is off"
	noteFailed       = "%.1f %% of the solves failed"
	noteUnsound      = "the draws are not reliable: see the warnings"
	noteNotBetter    = "at the same step, the error may be just as small without this remedy"
	noteNotNeeded    = "not needed: with this step size or tolerance the solver is accurate enough without a remedy"
	noteMissed       = "the draws miss part of the reference posterior, and weights cannot restore it"
	noteWeights      = "k̂ = %.2f"
)

func sayDistrust(r referenceError, threshold float64) string {
	if r.unseen > 0 {
		return fmt.Sprintf("the reference solver steps over a feature of f that a solver with %d equal steps detects (D = %.2g): declare jumps of f as events", certify.ManySteps, r.unseen)
	}
	what := fmt.Sprintf("the reference solver's own error is D = %.2g, above the limit of %.2g", r.d, threshold/10)
	switch {
	case r.failed > mostFailed:
		what = fmt.Sprintf("the reference solver fails at %.1f %% of the draws", 100*r.failed)
	case r.unknown > 0:
		what = fmt.Sprintf("the reference solver's own error could not be measured at %d of the %d modes and draws, because the reference solver or a more accurate solver fails there", r.unknown, r.points)
	}
	cure := "smaller tolerances and steps were tried without success; declare jumps of f as events"
	switch {
	case r.sufficient != "":
		cure = fmt.Sprintf("%s would be accurate enough", r.sufficient)
	case r.failed > mostFailed || r.unknown > 0:
		cure += ", or exclude parameter values for which the solution breaks down within the time span"
	}
	return what + ": " + cure
}

// sayWrongShare returns "" if draws and Gaussian approximation of a mode agree roughly.
func sayWrongShare(m ModeShare) string {
	if math.IsNaN(m.Visited) || max(m.Gaussian, m.Visited) <= minor || min(m.Gaussian, m.Visited) >= 1-minor {
		return ""
	}
	odds := m.Visited / (1 - m.Visited) / (m.Gaussian / (1 - m.Gaussian))
	switch {
	case m.Visited == 0:
		return fmt.Sprintf("holds %.3g of the mass according to its Gaussian approximation, but contains no draws", m.Gaussian)
	case odds < 1./3 || odds > 3:
		return fmt.Sprintf("holds %.3g of the mass according to its Gaussian approximation, but contains %.3g of the draws: if R̂ is close to 1, the approximation is wrong", m.Gaussian, m.Visited)
	}
	return ""
}

// Answer returns the verdict, one sentence on each line. The verdict has two parts. The
// first part is the result of the certificate, which needs no sampling. The second part
// gives the results of the sampling runs: first for medians and central intervals, then
// for means and standard deviations.
func (a *Report) Answer() string {
	var b strings.Builder
	a.sayCertificate(&b)
	doubt := a.doubt()
	limit := fmt.Sprintf("for every parameter, the median is off by less than %.3g times the half-width of the central 68 %% interval, and the width of that interval is off by less than %.0f %%", a.Threshold, 100*a.Threshold)
	everywhere := !slices.ContainsFunc(a.Steps, func(st Rung) bool { return st.verdict() != Matters })
	switch {
	case a.bounded():
		a.sayBound(&b)
	case doubt != "":
		fmt.Fprintf(&b, "It cannot be decided whether the solver's error matters: %s.\n", doubt)
	case a.Largest == a.Steps[0].Size():
		fmt.Fprintf(&b, "The solver's error does not matter at any setting that was tried, up to %s (%s).\n", a.sized(a.Largest), limit)
	case a.Largest > 0:
		fmt.Fprintf(&b, "The solver's error does not matter up to %s (%s).\n", a.sized(a.Largest), limit)
	case everywhere:
		fmt.Fprintf(&b, "The solver's error matters at every setting that was tried, down to %v. An error does not matter if it meets this condition: %s.\n", a.Steps[len(a.Steps)-1], limit)
	default:
		fmt.Fprintf(&b, "No step is known to meet this condition: %s.\n", limit)
	}
	if doubt == "" {
		for i, st := range slices.Backward(a.Steps) {
			if st.Deterministic != nil && st.Size() > a.Largest {
				a.sayNext(&b, i)
				break
			}
		}
		a.sayMoments(&b)
	}
	a.sayBasis(&b)
	return b.String()
}

func (a *Report) bounded() bool {
	st := a.Steps[len(a.Steps)-1]
	return a.Largest > 0 && st.Deterministic == nil && st.Bound != nil
}

func (a *Report) sayBound(b *strings.Builder) {
	i := slices.IndexFunc(a.Steps, func(st Rung) bool { return st.Size() <= a.Largest })
	c := a.Steps[i].Bound
	most, rest, those := "all", "", "points"
	if c.Range != c.Whole {
		those = fmt.Sprintf("%.4g %%", c.covered())
		most, rest = those+" of the", fmt.Sprintf(" (at all of them, between %.2g and %.2g)", c.Whole[0], c.Whole[1])
	}
	fmt.Fprintf(b, "In the region that the chains have visited, the solver's error does not matter at any setting up to %s. The chains have not mixed (R̂ up to %.3g), so the posterior is not known. But the error of the log likelihood is known: at %s %d points, this error is between %.2g and %.2g%s. For any distribution of the posterior mass over these %s, no mean is off by more than %.2g sd, no sd by more than %.2g %%, and no probability by more than %.2g.\n",
		a.sized(a.Largest), c.RHat, most, c.Points, c.Range[0], c.Range[1], rest, those, c.Shift(), 100*(c.Ratio()-1), c.Probability())
	if i > 0 && a.Steps[i-1].Bound != nil {
		next := a.Steps[i-1].Bound
		fmt.Fprintf(b, "No verdict is possible at %v: the error of the log likelihood at %.4g %% of the points is between %.2g and %.2g.\n", a.Steps[i-1], next.covered(), next.Range[0], next.Range[1])
	}
	b.WriteString("Parts of the posterior that no chain has reached are not covered.\n")
}

// doubt returns "" if a verdict is possible.
func (a *Report) doubt() string {
	for _, kind := range []string{"reference error", "missed part", "reference", "k̂", "effective weighted draws"} {
		if c := a.Claim(kind, "", ""); c.Verdict == Matters {
			return strings.TrimPrefix(c.Sentence, "no verdict: ")
		}
	}
	return ""
}

// sayCertificate chooses the largest step below which all are certified, and says why if
// there is none.
func (a *Report) sayCertificate(b *strings.Builder) {
	at := len(a.Steps) - 1
	for i := at; i >= 0 && a.Claim("certificate", a.Steps[i].String(), "").Verdict == Negligible; i-- {
		at = i
	}
	st := a.Steps[at]
	if st.Certificate == nil {
		return
	}
	b.WriteString("Without sampling: ")
	if c := a.Claim("certificate", st.String(), ""); c.Sentence != "" {
		fmt.Fprintf(b, "Nothing is certified: %s.\n", c.Sentence)
	} else {
		b.WriteString(st.Certificate.Answer(a.Threshold))
	}
	var all []string
	for _, st := range a.Steps {
		if c := st.Certificate; c != nil && len(c.Modes) > 0 {
			all = append(all, fmt.Sprintf("%s at %v", text.Number("%.2g", c.Modes[c.Worst(a.Threshold)].D), st))
		}
	}
	fmt.Fprintf(b, "D is %s.\n\nBy sampling: ", strings.Join(all, ", "))
}

// sayNext is about the smallest step above a.Largest that has results.
func (a *Report) sayNext(b *strings.Builder, i int) {
	st := &a.Steps[i]
	d := st.Deterministic
	j := d.gravest(a.Threshold)
	e := d.Effects[j]
	s, part := e.gravest(a.Threshold)
	name := a.Params[j].Name
	what := saySize("median", name, s)
	if part >= 0 {
		what = fmt.Sprintf("within the mode at %s, in units of the spread of this mode, %s", a.at(a.ReferenceModes[part].Theta), what)
	}
	switch {
	case d.Verdict != Undecided && e.Verdict != Matters:
		fmt.Fprintf(b, "At %v it matters: %s.\n", st, a.sayOtherModes(st))
	case d.Verdict == Matters:
		fmt.Fprintf(b, "At %v it matters: %s.\n", st, what)
		if i == len(a.Steps)-1 && st.StepSize > 0 && verdictOnModes(st.Modes) == Negligible {
			fmt.Fprintf(b, "If the error falls like h^%d, as the order of the method predicts, a step of about %.1g would be small enough.\n", a.Order, st.StepSize*math.Pow(s.size(a.Threshold), -1/float64(a.Order)))
		}
	case e.Verdict != Undecided:
		fmt.Fprintf(b, "At %v it is undecided: %s.\n", st, a.sayOtherModes(st))
	default:
		fmt.Fprintf(b, "At %v it is undecided: %s; %s.\n", st, what, d.sayNeeded(j, name))
	}
	q := st.Probabilistic
	if q == nil {
		return
	}
	f := q.Effects[j]
	if part >= 0 && part < len(f.Within) {
		f = f.Within[part]
	}
	fmt.Fprintf(b, "With %s (α = %.3g) %s", q.includes(), a.Claim("α", st.String(), "").Value, saySize("median", name, f.Median))
	if k := q.gravest(a.Threshold); k != j {
		g, _ := q.Effects[k].gravest(a.Threshold)
		if bias, ratio := g.sizes(a.Threshold); bias > ratio {
			fmt.Fprintf(b, "; the worst parameter is %s, whose median is off by %s", a.Params[k].Name, plusMinus(g.Bias, g.BiasSE, true))
		} else {
			fmt.Fprintf(b, "; the worst parameter is %s, whose interval is %s times as wide as in the reference posterior", a.Params[k].Name, plusMinus(g.Ratio, g.RatioSE, false))
		}
	}
	b.WriteString(".\n")
}

func saySize(center, name string, s Shift) string {
	spread, size := "central interval", "wide"
	if center == "mean" {
		spread, size = "sd", "large"
	}
	return fmt.Sprintf("the %s of %s is off by %s, and its %s is %s times as %s as in the reference posterior", center, name, plusMinus(s.Bias, s.BiasSE, true), spread, plusMinus(s.Ratio, s.RatioSE, false), size)
}

func (a *Report) sayOtherModes(st *Rung) string {
	var all []string
	for _, m := range st.Modes {
		what := "is missed"
		if m.Phantom {
			what = "is made by the solver"
		}
		if (m.Phantom || m.Missed) && max(m.Mass, m.Gaussian) >= rightMass {
			all = append(all, fmt.Sprintf("the mode at %s, which holds %.3g of the mass, %s", where(a.Names, m.Theta, st.Modes), m.Mass, what))
		}
	}
	return strings.Join(all, "; ")
}

func (inf *Inference) sayNeeded(j int, name string) string {
	e := inf.Effects[j]
	switch m := inf.Summary[slices.IndexFunc(inf.Summary, func(m diag.Marginal) bool { return m.Name == name })]; {
	case !(m.SD > 0):
		return "all draws of this parameter are equal, so its distribution is not known"
	case !sound(m):
		return "the chains have not mixed, so the number of draws needed is not known"
	case e.Gap:
		return "the median or an end of the central interval lies between two modes, so more draws do not reduce its error"
	case e.Draws == 0:
		return "the chains of the reference posterior have not mixed"
	case e.Draws > 100*float64(inf.Draws):
		return "the error is so close to the threshold that no reasonable number of draws would lead to a verdict"
	}
	return fmt.Sprintf("a verdict needs about %s draws from each chain; increase Settings.Weighed by the same factor", twoDigits(e.Draws))
}

// sayMoments considers only steps with negligible errors of medians and central
// intervals.
func (a *Report) sayMoments(b *strings.Builder) {
	var wrong, open, heavy []string
	for _, q := range a.Params {
		if q.HeavyTails {
			heavy = append(heavy, q.Name)
		}
	}
	right := false
	for _, st := range slices.Backward(a.Steps) {
		d := st.Deterministic
		if d == nil || d.Verdict != Negligible {
			continue
		}
		right = true
		for j, e := range d.Effects {
			s := e.Mean
			switch {
			case a.Params[j].HeavyTails:
			case s.Verdict == Matters:
				wrong = append(wrong, fmt.Sprintf("at %v %s", st, saySize("mean", a.Params[j].Name, s)))
			case s.Verdict == Undecided && s.judge(a.Threshold, a.standardErrors()) != Negligible:
				open = append(open, fmt.Sprintf("%s at %v", a.Params[j].Name, st))
			}
		}
	}
	switch {
	case !right:
	case wrong != nil:
		fmt.Fprintf(b, "However, the solver's error matters for means and standard deviations: %s.\n", strings.Join(wrong, "; "))
	case open != nil:
		fmt.Fprintf(b, "There is no verdict yet on the means and standard deviations of %s.\n", strings.Join(open, ", "))
	case len(heavy) < len(a.Params):
		b.WriteString("The errors of means and standard deviations are below the threshold, too.\n")
	}
	if right && heavy != nil {
		fmt.Fprintf(b, "The mean and standard deviation of %s are not judged, because the tails are too heavy.\n", strings.Join(heavy, ", "))
	}
	lacking := false
	for _, c := range a.Claims {
		if c.Kind == "mode without draws" {
			fmt.Fprintf(b, "There is %s.\n", c.Sentence)
			lacking = true
		}
	}
	if !math.IsNaN(a.Unseen) && !lacking {
		fmt.Fprintf(b, "The draws may miss a mode that holds less than %.2g %% of the mass: such a mode would move no median, but it could move means and standard deviations.\n", 100*a.Unseen)
	}
	if a.Unsearched != "" {
		fmt.Fprintf(b, "The search for modes has limits: %s.\n", a.Unsearched)
	}
}

func (a *Report) sayBasis(b *strings.Builder) {
	fmt.Fprintf(b, "Threshold %.3g; confidence %.6g %% for each number", a.Threshold, 100*a.Confidence)
	if a.Looks > 1 {
		fmt.Fprintf(b, " simultaneously in up to %d interim analyses, of which %.0f were made", a.Looks, a.Claim("interim analyses", "", "").Value)
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
	b.WriteString(".\n")
	for _, st := range a.Steps {
		if n := a.Claim("draws needed", st.String(), "").Value; n < 100*float64(most) {
			fmt.Fprintf(b, "At %v, about %s draws from each chain would lead to a verdict.\n", st, twoDigits(n))
		}
	}
}

// Advice returns a line with the recommended remedy, and another line if noise in the
// model is harmful. Advice returns "" if no remedies were measured.
func (a *Report) Advice() string {
	if len(a.Remedies) == 0 {
		return ""
	}
	var b strings.Builder
	if r := a.Remedies[0]; r.Recommended {
		fmt.Fprintf(&b, "Recommended: %s, the cheapest remedy that keeps the error below the threshold. It takes %.2g s for 1000 effective draws.\n", r.Name, r.Seconds)
	} else {
		b.WriteString("None of the measured remedies is known to keep the error below the threshold.\n")
	}
	bad, name := 0, ""
	for _, r := range a.Remedies {
		if strings.HasPrefix(r.Note, worseThanNothing) {
			bad++
			name, _, _ = strings.Cut(r.Name, ",")
		}
	}
	if bad > 0 {
		fmt.Fprintf(&b, "At %d of the settings that were tried, %s is worse than ignoring the solver's error.\n", bad, name)
	}
	return b.String()
}

func (a *Report) sizeName() string {
	switch {
	case !a.controlled():
		return "h"
	case a.Steps[0].Tolerance.Relative > 0:
		return "rtol"
	}
	return "atol"
}

// SizeName returns a label for the axis of a figure that shows the step sizes or
// tolerances of Steps.
func (a *Report) SizeName() string {
	return map[string]string{"h": "step h", "rtol": "relative tolerance", "atol": "absolute tolerance"}[a.sizeName()]
}

func (a *Report) sized(size float64) string { return fmt.Sprintf("%s = %.4g", a.sizeName(), size) }

// sayLargest begins with ≥ if the next larger step may be small enough, too.
func (a *Report) sayLargest(j int) string {
	size, undecidedAbove := a.largest(j)
	switch {
	case undecidedAbove && size > 0:
		return fmt.Sprintf("≥ %.4g", size)
	case undecidedAbove:
		return "undecided"
	case size > 0:
		return fmt.Sprintf("%.4g", size)
	}
	return "none"
}

func (a *Report) at(theta []float64) string { return where(a.Names, theta, nil) }

// where shows only the parameters in which modes differ most, if there are many.
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

func twoDigits(v float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return fmt.Sprintf("%.0f", math.Ceil(v/unit)*unit)
}

// plusMinus gives the standard error two digits, but two to four decimals.
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
