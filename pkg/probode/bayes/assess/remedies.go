package assess

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A Remedy is something that can be done about the solver's error for the model at
// hand, with what it does, as measured, and what it costs.
type Remedy struct {
	Kind string // such as "smaller step": what Reach is taken over
	Name string // with its setting

	// Bias, in sd of the accurate posterior, and Ratio of the sd to the accurate
	// one, are those of the parameter that is worst off.
	Bias, Ratio float64

	// Seconds is the time that 1000 effective draws take on the machine at hand,
	// the search for modes and the burn-in with them; NaN if it is not known. Reach is that of the
	// cheapest of its Kind that reaches the threshold, NaN if none does.
	Seconds, Reach float64

	// Reaches tells that bias and width are known to be below the threshold.
	Reaches bool

	// Recommended is the cheapest that does, of those that were sampled or need
	// no sampling to be known.
	Recommended bool

	// Note says what else is to be known.
	Note string
}

// remedies lists what can be done, the recommended one first, then those that
// reach the threshold, then others, each by cost.
func (a *assessor) remedies() {
	a.out.Remedies = nil
	if !a.out.known() || !a.out.trusted() {
		return // nothing to measure by
	}
	add := func(r Remedy) { a.out.Remedies = append(a.out.Remedies, r) }
	first := math.Inf(1) // of the steps, in the order asked for
	if a.out.Asked != nil {
		first = a.out.Steps[a.out.Asked[0]].Size()
	}
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		kind, where := a.out.smaller(), st.String()
		if st.Size() >= first*(1-1e-9) {
			kind = "nothing"
		}
		if st.Deterministic == nil {
			continue
		}
		trusted := a.measured(st.Deterministic, kind, "solver trusted, "+where)
		add(trusted)
		if st.Probabilistic != nil {
			add(a.wider(st.Probabilistic, st.Deterministic, "noise in the model, "+where))
		}
		if st.weighed() && i < len(a.paired) && a.paired[i] != nil {
			add(a.reweighting(i, where))
		}
	}
	for _, t := range a.tried {
		if t.inf == nil {
			add(t.foretold)
			continue
		}
		add(a.measured(t.inf, t.kind, t.name))
	}
	a.out.rank()
}

// rank finds the costs of reaching the threshold, and the recommended remedy.
func (a *Report) rank() {
	reach := map[string]float64{}
	for _, r := range a.Remedies {
		if known, ok := reach[r.Kind]; r.Reaches && (!ok || r.Seconds < known) {
			reach[r.Kind] = r.Seconds
		}
	}
	for i := range a.Remedies {
		r := &a.Remedies[i]
		r.Reach = math.NaN()
		if v, ok := reach[r.Kind]; ok {
			r.Reach = v
		}
	}
	slices.SortStableFunc(a.Remedies, func(x, y Remedy) int {
		if x.Reaches != y.Reaches {
			return map[bool]int{true: -1, false: 1}[x.Reaches]
		}
		return cmp.Compare(nanOr(x.Seconds, math.Inf(1)), nanOr(y.Seconds, math.Inf(1)))
	})
	if len(a.Remedies) > 0 && a.Remedies[0].Reaches && !math.IsNaN(a.Remedies[0].Seconds) {
		a.Remedies[0].Recommended = true
	}
}

// worse returns the bias and ratio of the parameter that is worst off.
func (inf *Inference) worse(threshold float64) (bias, ratio float64) {
	e, _ := inf.Effects[inf.farthest(threshold)].gravest(threshold)
	return e.Bias, e.Ratio
}

// sizes returns between what the size of the worst effect lies, in units of the
// threshold, as far as the Monte Carlo error tells.
func (inf *Inference) sizes(threshold float64) (least, most float64) {
	for _, e := range inf.Effects {
		e, _ := e.gravest(threshold)
		b, r := math.Abs(e.Bias)/threshold, math.Abs(math.Log(e.Ratio))/math.Log1p(threshold)
		bSE, rSE := decisive*e.BiasSE/threshold, decisive*e.RatioSE/e.Ratio/math.Log1p(threshold)
		least = math.Max(least, math.Max(b-bSE, r-rSE))
		most = math.Max(most, math.Max(b+bSE, r+rSE))
	}
	return least, most
}

// worseThanNothing is what is said of noise that is.
const worseThanNothing = "worse than nothing"

// measured is the remedy of a run.
func (a *assessor) measured(inf *Inference, kind, name string) Remedy {
	r := Remedy{Kind: kind, Name: name, Seconds: inf.cost(), Reaches: inf.Verdict() == Negligible}
	r.Bias, r.Ratio = inf.worse(a.out.Threshold)
	if inf.Verdict() == Undecided {
		r.Note = "undecided"
	}
	return r
}

// wider measures noise in the model. It is never recommended where it is worse than
// trusting the solver at the same step.
func (a *assessor) wider(noisy, trusted *Inference, name string) Remedy {
	r := a.measured(noisy, "noise in the model", name)
	least, _ := noisy.sizes(a.out.Threshold)
	_, most := trusted.sizes(a.out.Threshold)
	mid := func(inf *Inference) float64 { return inf.Effects[inf.farthest(a.out.Threshold)].size(a.out.Threshold) }
	switch x, y := mid(noisy), mid(trusted); {
	case least > most && noisy.Verdict() == Matters:
		// Of a run that is undecided some number is off by chance, and so by more than
		// a solver that is known to do nothing.
		r.Reaches = false
		r.Note = fmt.Sprintf("%s: %.1f times as far off as with the solver trusted at the same step", worseThanNothing, x/y)
	case x >= y:
		r.Reaches = false
		r.Note = "not known to be better than the solver trusted at the same step"
	case r.Reaches && trusted.Verdict() == Negligible:
		r.Note = "not needed: the solver can be trusted at the same step"
	}
	return r
}

// reweighting has the reference posterior itself, as far as its weights tell.
func (a *assessor) reweighting(i int, where string) Remedy {
	st := &a.out.Steps[i]
	r := Remedy{Kind: "reweighting", Name: "reweighting, " + where, Bias: 0, Ratio: 1, Seconds: math.NaN()}
	_, lost := st.phantoms()
	worst := 0.0 // Monte Carlo error that the weights add, in accurate sd
	for j := range a.out.Params {
		worst = math.Max(worst, decisive*a.paired[i][j].meanSE/a.out.Params[j].SD)
	}
	r.Reaches = worst < a.out.Threshold && lost < spoken && st.Deterministic.Verdict() != Undecided
	switch {
	case lost >= spoken:
		r.Note = "no weights bring back a mode that the solver has lost"
	case !r.Reaches:
		r.Note = fmt.Sprintf("the weights add an error of %.2g sd: more draws", worst)
	default:
		r.Note = fmt.Sprintf("k̂ = %.2f", st.KHat)
	}
	r.Seconds = st.Deterministic.cost() + 1000*a.referenceSeconds
	return r
}
