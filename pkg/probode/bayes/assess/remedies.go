package assess

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/methods"
)

func (a *assessment) try() error {
	if a.sharing() {
		return nil
	}
	a.say("remedies")
	for _, one := range []func(){a.tryFrozen, a.tryOthers} {
		if one(); a.ctx.Err() != nil {
			break
		}
	}
	return a.ctx.Err()
}

// attempt does not list a remedy whose run fails.
func (a *assessment) attempt(kind, name string, p *bayes.Posterior, modes *pairing, by sample.Sampler, seed uint64) {
	chains := a.plan.s.Chains
	chains.Draws, chains.MinESS = min(1000, cmp.Or(chains.Draws, 1000)), 0
	d, err := a.sample(p, modes, by, chains, seed)
	if err != nil {
		return
	}
	if d.target == sample.Classical {
		a.weigh(d) // without weights the effect is measured less precisely
	}
	d.pair.visit(d.visited, a.mixed(d))
	a.tried = append(a.tried, trial{kind, name, d})
}

// tryFrozen has no jumps of the likelihood, because the steps are the same for every θ.
func (a *assessment) tryFrozen() {
	for i := range a.ladder {
		if a.out.controlled() && a.runs[i] != nil {
			m := a.modes.steps[i].copy()
			a.attempt("frozen steps", fmt.Sprintf("steps frozen at the mode, %v", &a.ladder[i]), a.frozen(i, m.first), m, sample.Deterministic{}, a.seed(4000, uint64(i)))
		}
	}
}

// tryOthers finds for each of several methods a step or tolerance that is small enough,
// without sampling, and samples where the predicted cost is less than twice that of the
// smallest step.
func (a *assessment) tryOthers() {
	c, fine := a.certifier, a.runs[a.finest()]
	if c == nil || c.Mode() == nil || fine == nil || math.IsNaN(fine.thousand()) {
		return
	}
	// For 1000 effective draws, every sufficiently accurate solver needs about the same
	// number of solves.
	solves := fine.cost() / c.Seconds(a.ladder[a.finest()].setup)
	dp, equal := methods.RungeKutta{Tableau: methods.DormandPrince}, a.p.WithStepSize(1).Mesh
	var others []probode.Setup
	var seeds []uint64
	for n, s := range []probode.Setup{{Method: methods.RungeKutta{}, Mesh: equal}, {Method: dp, Mesh: equal}, {Method: adams.Moulton{Steps: 1}, Mesh: equal},
		{Method: dp, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1}}}} {
		if s.Method.String() != a.out.Method || (s.StepSize() == 0) != a.out.controlled() {
			others, seeds = append(others, s), append(seeds, a.seed(3000, uint64(n)))
		}
	}
	s := certify.EnoughSettings{Settings: certify.Settings{Seed: a.plan.s.Chains.Seed}, Threshold: a.out.Threshold, Number: 10}
	all, err := c.Enough(s, others...)
	if err != nil {
		return
	}
	for n, enough := range all {
		by := certify.Sized(others[n], enough.At.Size)
		if !enough.Found || !(solves*c.Seconds(by) < 2*fine.cost()) {
			continue
		}
		q := a.p.SolvedBy(by)
		// The posterior computed with another method may have other phantom modes.
		known, err := modes.Find(a.ctx, q, a.search(a.modes.known))
		if err != nil {
			continue
		}
		if m, err := pair(a.ctx, q, a.p.SolvedBy(a.s.Accurate), known, a.modes.reference, a.search(nil)); err == nil {
			a.attempt("other solver", enough.Setup, q, m, sample.Deterministic{}, seeds[n])
		}
	}
}

// remedies lists those that reach the threshold first, and each kind by cost.
func (a *assessment) remedies(j *judge) (all []Remedy) {
	if !j.allowed || a.sharing() {
		return nil // there is no posterior to compare with, or the time of a run is not known
	}
	first := math.Inf(1) // size of the first requested step
	if a.asked != nil {
		first = a.ladder[a.asked[0]].Size()
	}
	for i := range a.ladder {
		l, d := &a.ladder[i], a.runs[i]
		if d == nil {
			continue
		}
		kind := "smaller step"
		switch {
		case l.Size() >= first*(1-1e-9):
			kind = "nothing"
		case a.out.controlled():
			kind = "smaller tolerance"
		}
		r := j.measured(trial{kind, "solver taken as exact, " + l.String(), d})
		if r.Reaches && l.Size() > a.out.Largest {
			r.Reaches, r.Note = false, noteSmaller
		}
		all = append(all, r)
		if noisy := a.noisy[i]; noisy != nil {
			all = append(all, j.noise(trial{"noise in the model", noisy.summed.includes() + ", " + l.String(), noisy}, d))
		}
		switch {
		case j.trusted(d):
			all = append(all, a.reweighting(j, l, d))
		case d.weights != nil && !d.whole():
			r := unmeasured(l)
			r.Note = noteMissed
			all = append(all, r)
		}
	}
	for _, t := range a.tried {
		all = append(all, j.measured(t))
	}
	slices.SortStableFunc(all, func(x, y Remedy) int {
		if x.Reaches != y.Reaches {
			return map[bool]int{true: -1, false: 1}[x.Reaches]
		}
		return cmp.Compare(nanOr(x.Seconds, math.Inf(1)), nanOr(y.Seconds, math.Inf(1)))
	})
	if len(all) > 0 {
		all[0].Recommended = all[0].Reaches && !math.IsNaN(all[0].Seconds)
	}
	return all
}

func (j *judge) measured(t trial) Remedy {
	inf := t.run.summed
	s, _ := inf.Effects[inf.gravest(j.threshold)].gravest(j.threshold)
	r := Remedy{Kind: t.kind, Name: t.name, Bias: s.Bias, BiasSE: s.BiasSE, Ratio: s.Ratio, RatioSE: s.RatioSE, Seconds: t.run.cost()}
	moments := slices.ContainsFunc(inf.Effects, func(e Effect) bool { return e.Mean.Verdict == Matters })
	switch {
	case inf.Verdict == Undecided:
		r.Note = noteUndecided
	case inf.Verdict == Matters:
	case moments:
		r.Note = noteMoments
	case t.run.failed > mostFailing:
		r.Note = fmt.Sprintf(noteFailed, 100*t.run.failed)
	case t.run.notes != nil:
		r.Note = t.run.notes[0]
	default:
		r.Reaches = true
	}
	return r
}

// noise reaches the threshold only if its error is smaller than without noise at the same
// step.
func (j *judge) noise(t trial, trusted *draws) Remedy {
	r, noisy := j.measured(t), t.run.summed
	least, _, x := j.span(noisy)
	_, most, y := j.span(trusted.summed)
	switch {
	case least > most && noisy.Verdict == Matters:
		// If the verdict is Undecided, a large effect may be due to chance. Therefore the
		// note `worse than nothing` requires the verdict Matters.
		r.Reaches, r.Note = false, fmt.Sprintf(noteWorse, x/y)
	case x >= y:
		r.Reaches, r.Note = false, noteNotBetter
	case r.Reaches && trusted.summed.Verdict == Negligible:
		r.Note = noteNotNeeded
	}
	return r
}

// span estimates the largest effect in units of the threshold, with limits by its Monte
// Carlo error.
func (j *judge) span(inf *Inference) (least, most, size float64) {
	for _, e := range inf.Effects {
		s, _ := e.gravest(j.threshold)
		bias, ratio := s.sizes(j.threshold)
		b, r := s.errors(j.threshold, decisive)
		least = math.Max(least, math.Max(bias-b, ratio-r))
		most = math.Max(most, math.Max(bias+b, ratio+r))
		size = math.Max(size, math.Max(bias, ratio))
	}
	return least, most, size
}

func unmeasured(l *level) Remedy {
	nan := math.NaN()
	return Remedy{Kind: "reweighting", Name: "reweighting, " + l.String(), Bias: nan, BiasSE: nan, Ratio: nan, RatioSE: nan, Seconds: nan}
}

// reweighting compares the weighted draws with those of the reference posterior. For the
// same draws the bias is 0 and the ratio 1, and only Monte Carlo errors remain.
func (a *assessment) reweighting(j *judge, l *level, d *draws) Remedy {
	r := unmeasured(l)
	verdict, worst := Negligible, 0.0
	for k := range j.quantities {
		x := a.y.accurate[byQuantiles][k]
		s := d.accurate[byQuantiles][k].against(x)
		if d == a.y.draws {
			s.Bias, s.Ratio = 0, 1 // the values for identical posteriors
			s.BiasSE, s.RatioSE = x.CenterSE/x.Spread, x.SpreadSE/x.Spread
		} else if n := s.size(j.threshold); n >= worst {
			worst, r.Bias, r.BiasSE, r.Ratio, r.RatioSE = n, s.Bias, s.BiasSE, s.Ratio, s.RatioSE
		}
		verdict = worse(verdict, s.judge(j.threshold, j.z))
	}
	switch {
	case verdict != Negligible:
		r.Note = noteUndecided
	case !a.mixed(d) || d.failed > mostFailing || d.notes != nil:
		r.Note = noteUnsound
	default:
		r.Reaches, r.Note = true, fmt.Sprintf(noteWeights, d.khat)
	}
	r.Seconds = (d.cost() + 1000*a.certifier.Seconds(a.reference())) / d.kish()
	return r
}
