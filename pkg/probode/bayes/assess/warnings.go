package assess

import (
	"fmt"
	"math"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// What an Report says in words: warnings, the answer, tables.

// warn says what is to be known beside the numbers, and what to do about it.
func (as *assessor) warn() {
	a, p := as.out, as.p
	a.Warnings = nil
	say := func(format string, args ...any) { a.Warnings = append(a.Warnings, fmt.Sprintf(format, args...)) }

	switch {
	case a.ReferenceBy == "":
		say("the accurate posterior is not known: the reference cannot be solved at the draws: declare what breaks f as events, or take another Accurate solver")
	case !(a.KHat <= a.khatLimit()):
		say("the accurate posterior is not known: k̂ = %.2f for %s, above %.2f, the limit for as many effective draws, so that no verdict is given: add smaller steps, or take a method of higher order", a.KHat, a.ReferenceBy, a.khatLimit())
	case !a.known():
		say("the accurate posterior is not known: %s, are worth fewer than %d effective ones, so that no verdict is given: more draws (Draws, Weighed), or smaller steps", a.ReferenceBy, fewest)
	}
	if !a.trusted() {
		say("no verdict: %s", a.Reference.say(a.Threshold))
	}
	for _, q := range a.Params {
		if q.Quantiles {
			say("%s has tails so heavy (tail index %.2f; a mean wants less than 1, an sd less than ½) that means and sds do not describe it: it is judged by its median and half the width of the central 68 %% interval", q.Name, q.TailIndex)
		}
	}
	as.warnModes(say)
	for _, st := range a.Steps {
		switch {
		case st.Err != "" && st.Deterministic != nil:
			say("%v: %s", st, st.Err)
		case st.Err != "":
			say("nothing is known at %v: %s", st, st.Err)
		}
	}
	for i, st := range a.Steps {
		for _, inf := range []*Inference{st.Deterministic, st.Probabilistic} {
			if inf != nil {
				inf.warn(fmt.Sprintf("%s, %v", inf.Sampler, st), say)
			}
		}
		if i == as.finest() && as.source != nil {
			as.warnSource(say)
		}
	}
	a.warnOrder(say)
	for i, st := range a.Steps {
		if as.notes[i] != nil {
			say("α* = %.3g at %v: %s", st.AlphaStar, st, strings.Join(as.notes[i], "; "))
		}
	}
	a.warnAlpha(p, say)

	// An unknown σ fits the solver's error as if it were the data's.
	var taken, names []string
	spreads := p.Spreads()
	for j, q := range a.Params {
		sign, ok := spreads[q.Name]
		if !ok {
			continue
		}
		for _, st := range a.Steps {
			if st.Deterministic == nil || st.Deterministic.Effects[j].Verdict != Matters {
				continue
			}
			if e := st.Deterministic.Effects[j]; sign*e.Bias > a.Threshold+decisive*e.BiasSE {
				taken = append(taken, fmt.Sprintf("%s is %.3g at %v and accurately %.3g", q.Name, st.Deterministic.Estimates[j].Center, st, q.Mean))
				names = append(names, q.Name)
				break
			}
		}
	}
	if taken != nil {
		say("an unknown size of the data's errors hides a bad solver, whose error it takes for theirs (%s): intervals get wider and the fit still looks honest; judge the step by %s, too",
			strings.Join(taken, "; "), strings.Join(names, ", "))
	}
	var off []string
	for _, st := range a.Steps {
		if !st.Exact {
			off = append(off, fmt.Sprintf("%.4g", st.StepSize))
		}
	}
	if off != nil {
		say("with h = %s some observations lie between grid points, where the path is a polynomial through %d of them, with an error of its own that falls like h^%d, the method's like h^%d: that is part of the error assessed; a step that divides the times of the data does without",
			strings.Join(off, ", "), a.Method.Order()+2, a.Method.Order()+2, a.Method.Order())
	}
}

// warn says what is wrong with the chains of a run.
func (inf *Inference) warn(where string, say func(string, ...any)) {
	var rhat, few []string
	worst, least := 0.0, math.Inf(1)
	for _, m := range inf.Summary {
		if !(m.RHat <= 1.01) {
			rhat = append(rhat, m.Name)
			worst = math.Max(worst, m.RHat)
		}
		if ess := math.Min(m.BulkESS, m.TailESS); !(ess >= float64(100*inf.Chains)) {
			few = append(few, m.Name)
			least = math.Min(least, ess)
		}
	}
	switch {
	case few != nil && rhat != nil:
		say("%s: too few effective draws, %.0f where 100 a chain are wanted, and R̂ up to %.3f (%s): more draws (Draws, MinESS), a longer burn-in, or a look at the traces for several modes", where, least, worst, strings.Join(few, ", "))
	case few != nil:
		say("%s: too few effective draws, %.0f where 100 a chain are wanted (%s): run longer (Draws, MinESS)", where, least, strings.Join(few, ", "))
	case rhat != nil:
		say("%s: the chains may not have mixed: R̂ up to %.3f (%s): more draws or a longer burn-in", where, worst, strings.Join(rhat, ", "))
	}
	if share := inf.Failed; share > 0.01 {
		say("%s: %.1f %% of the solves failed, which cuts a piece out of the posterior: a smaller step, an implicit method, or a prior that excludes what cannot be solved", where, 100*share)
	}
}

// warnSource says what is wrong with the chains of the accurate posterior, and of
// which parameters no verdict is given for that.
func (as *assessor) warnSource(say func(string, ...any)) {
	source := as.source.summed
	if source != as.out.Steps[as.finest()].Deterministic {
		source.warn(fmt.Sprintf("the chains behind the accurate posterior, %v with %s", as.source.p.Method, setting(as.source.p)), say)
	}
	var lost []string
	for _, k := range as.assessed {
		if m := source.Summary[k]; !sound(m) {
			lost = append(lost, m.Name)
		}
	}
	if lost != nil {
		say("no verdict is given on %s: the chains behind the accurate posterior are too far from a distribution that they agree on (R̂ above %.2f, or fewer than %d effective draws)", strings.Join(lost, ", "), mixed, fewest)
	}
}

// Nominal is a method that may have a lower order than it is chosen for.
type Nominal interface {
	probode.Method
	// Nominal returns the order that the method is chosen for, and what to do if
	// it has a lower one.
	Nominal() (order int, remedy string)
}

// nominal returns the order that the method is chosen for.
func nominal(m probode.Method) (order int, remedy string) {
	if n, ok := m.(Nominal); ok {
		return n.Nominal()
	}
	return m.Order(), ""
}

func (a *Report) warnOrder(say func(string, ...any)) {
	if a.controlled() {
		return // tolerances have no order
	}
	want, remedy := nominal(a.Method)
	// Between the two smallest steps of which both errors are clear of the
	// accurate solution's own.
	for i := len(a.Steps) - 2; i >= 0; i-- {
		c, f := a.Steps[i], a.Steps[i+1]
		if math.IsNaN(c.Order) || f.Error < 1e-8 {
			continue
		}
		switch {
		case c.Error > 0.1:
			say("at h = %.4g the path at the mode is off by %.0f %% of its size: the steps are too large for the error to follow its order, and α to mean anything; add smaller steps", c.StepSize, 100*c.Error)
		case c.Order < float64(want)-0.5:
			cure := "take smaller steps; if the order stays away, f is not smooth enough for the method, or its Jacobian is wrong (Problem.CheckJacobian)"
			if want > a.Method.Order() {
				cure = remedy
			}
			say("order lost: from h = %.4g to %.4g the error of the path falls like h^%.1f, where %v should give h^%d: %s", c.StepSize, f.StepSize, c.Order, a.Method, want, cure)
		}
		break
	}
	if order, se, i := a.ShiftOrder(); !math.IsNaN(order) && order+decisive*se < float64(want)-0.5 {
		say("order lost in the posterior: from h = %.4g to %.4g its shift falls like h^%.1f ± %.1f, where %v should give h^%d", a.Steps[i].StepSize, a.Steps[i+1].StepSize, order, se, a.Method, want)
	}
}

// ShiftOrder returns the order at which the shift of the deterministic posterior
// falls between Steps[i] and Steps[i+1], the two smallest of which the shifts are
// known well enough,
//
//	log(bᵢ/bᵢ₊₁) / log(hᵢ/hᵢ₊₁),   b = √(sum of the squared biases),
//
// and its Monte Carlo standard error; NaN if there are none. Of shifts above
// one standard deviation, or ones that are less than three standard errors from
// zero, no order is taken.
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
		// Nor of those that are rounding.
		if !(b < 1 && d < 1 && b > 3*bse && d > 3*dse && d > 1e-9) {
			continue
		}
		unit := math.Log(c.StepSize / f.StepSize)
		return math.Log(b/d) / unit, math.Hypot(bse/b, dse/d) / unit, i
	}
	return math.NaN(), math.NaN(), 0
}

const (
	// alphaSteps and alphaTheta are the factors by which α* may differ
	// between neighbouring steps, and between the mode and draws of the
	// posterior. The noise goes with its root.
	alphaSteps, alphaTheta = 2, 4
)

func (a *Report) warnAlpha(p *bayes.Posterior, say func(string, ...any)) {
	ratio := func(x, y float64) float64 { return math.Exp(math.Abs(math.Log(x / y))) }
	for i := range len(a.Steps) - 1 {
		if a.controlled() {
			break // a tolerance is not what the noise goes with
		}
		c, f := a.Steps[i], a.Steps[i+1]
		se := math.Hypot(c.AlphaSE/c.AlphaStar, f.AlphaSE/f.AlphaStar)
		if r := ratio(c.AlphaStar, f.AlphaStar); r > alphaSteps*math.Exp(decisive*nanOr(se, 0)) {
			say("α is not stable in h: α* is %.3g at %v and %.3g at %v, a factor of more than %d: at the larger step the error has not the size that the order foretells, and an α of one step is wrong for another",
				c.AlphaStar, c, f.AlphaStar, f, alphaSteps)
		}
	}
	for _, st := range a.Steps {
		worst := 1.0
		at := math.NaN()
		for _, v := range st.AlphaAt {
			if r := ratio(v, st.AlphaStar); r > worst {
				worst, at = r, v
			}
		}
		if worst > alphaTheta {
			say("α depends on θ: at %v α* is %.3g at the mode and %.3g at another draw of the posterior, a factor of more than %d: one α for all is a compromise; give α a prior, or take a smaller step", st, st.AlphaStar, at, alphaTheta)
		}
		if v := st.Alpha; p.AlphaParam == "" && p.Alpha > 0 && ratio(v, st.AlphaStar) > alphaTheta {
			say("the given α = %.3g is not the size of the error at %v, for which α* is %.3g: leave Alpha at zero to have it calibrated", v, st, st.AlphaStar)
		}
	}
}

func nanOr(v, other float64) float64 {
	if math.IsNaN(v) {
		return other
	}
	return v
}
