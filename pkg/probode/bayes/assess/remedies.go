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
)

// A Remedy is something that can be done about the solver's error for the model at hand,
// with its measured effect and cost.
type Remedy struct {
	Kind string // such as "smaller step"
	Name string // with its setting

	// Bias, in sd of the accurate posterior, and Ratio, of the sd to the accurate one, are
	// those of the parameter that is worst off.
	Bias, Ratio float64

	// Seconds is the time that 1000 effective draws take on this machine, with the search
	// for modes and the burn-in; NaN if it is not known. Reach is the time of the cheapest
	// remedy of this Kind that reaches the threshold, NaN if none does.
	Seconds, Reach float64

	// Reaches says that bias and width are known to be below the threshold.
	Reaches bool

	// Recommended is true for the cheapest remedy that reaches the threshold, if it was
	// sampled or needs no sampling.
	Recommended bool

	// Note says what else the reader should know.
	Note string
}

// A trial is a remedy beyond the ladder: one that a short run measured, or one whose effect
// was only predicted.
type trial struct {
	kind, name string
	run        *draws // nil: predicted
	own        []shift
	predicted  Remedy
}

// try tries the remedies that the ladder does not have, by short runs.
func (a *assessment) try() error {
	for _, one := range []func() error{a.tryDelayed, a.tryFrozen, a.tryOthers} {
		if err := one(); err != nil {
			return err
		}
		if err := a.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// sampleBriefly is sample for fewer draws.
func (a *assessment) sampleBriefly(p *bayes.Posterior, sampler sample.Sampler, seed uint64) (*draws, error) {
	chains := a.plan.s.Chains
	chains.Draws, chains.MinESS = min(1000, cmp.Or(chains.Draws, 1000)), 0
	return a.sampling.run(p, sampler, chains, seed)
}

// trustedShifts are the shifts by the weights of a deterministic run, nil where they cannot
// be trusted.
func (a *assessment) trustedShifts(d *draws) []shift {
	khat, err := a.weigh(d)
	if err != nil || !d.usable(khat, a.assessed) {
		return nil
	}
	return (&judge{quantities: a.quantities, y: a.y}).shifts(d)
}

// tryDelayed samples by delayed acceptance, with the largest step before the smallest, and
// before the accurate solver.
func (a *assessment) tryDelayed() error {
	f := a.finest()
	top, st := &a.out.Steps[0], &a.out.Steps[f]
	if st.Deterministic == nil || a.modes.steps[f].modes == nil {
		return nil
	}
	add := func(p *bayes.Posterior, by sample.Sampler, name string, seed uint64) {
		p.Modes = a.modes.steps[f].modes
		if d, err := a.sampleBriefly(p, by, a.seed(seed)); err == nil { // a run that fails is no remedy
			a.tried = append(a.tried, trial{kind: "delayed acceptance", name: name, run: d})
		}
	}
	if f > 0 {
		by := sample.DelayedAcceptance{First: probode.Setup{Mesh: probode.Uniform(top.StepSize)}}
		if top.StepSize == 0 {
			by.First.Mesh = probode.Frozen{Tolerance: top.Tolerance}
		}
		add(a.frozen(f, st.Mode), by, fmt.Sprintf("delayed acceptance, %v before %v", top, st), 2000)
	}
	if a.modes.steps[0].modes != nil {
		add(a.frozen(0, top.Mode), sample.DelayedAcceptance{Second: a.plan.s.Accurate}, fmt.Sprintf("delayed acceptance, %v before the accurate solver", top), 2001)
	}
	return nil
}

// tryFrozen samples on grids frozen at the modes, on which the likelihood of an adaptive
// solver does not jump.
func (a *assessment) tryFrozen() error {
	if !a.out.controlled() {
		return nil
	}
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		if st.Deterministic == nil || a.modes.steps[i].modes == nil {
			continue
		}
		p := a.frozen(i, st.Mode)
		p.Modes = a.modes.steps[i].modes
		d, err := a.sampleBriefly(p, sample.Deterministic{}, a.seed(4000, uint64(i)))
		if err != nil {
			if a.ctx.Err() != nil {
				return err
			}
			continue
		}
		a.tried = append(a.tried, trial{kind: "frozen steps", name: fmt.Sprintf("steps frozen at the mode, %v", st), run: d, own: a.trustedShifts(d)})
	}
	return nil
}

// tryOthers finds, without sampling, the step or tolerance at which other methods would be
// accurate enough, and samples with those that may cost less than the end of the ladder.
func (a *assessment) tryOthers() error {
	c := a.certifier
	fine := a.out.Steps[a.finest()].Deterministic
	if c == nil || c.Mode() == nil || fine == nil || math.IsNaN(fine.thousand()) {
		return nil
	}
	a.accurateSeconds = c.Seconds(a.plan.reference())
	// Any solver that is accurate enough needs about as many solves for 1000 effective draws.
	solves := fine.cost() / c.Seconds(a.plan.setup(&a.out.Steps[a.finest()]))
	dp := probode.RungeKutta{Tableau: probode.DormandPrince}
	var others []probode.Setup
	var seeds []uint64
	equal := a.p.WithStepSize(1).Mesh
	for n, s := range []probode.Setup{{Method: probode.RungeKutta{}, Mesh: equal}, {Method: dp, Mesh: equal}, {Method: adams.Moulton{Steps: 1}, Mesh: equal},
		{Method: dp, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1}}}} {
		if s.Method.String() != a.out.Method || (s.StepSize() == 0) != a.out.controlled() {
			others, seeds = append(others, s), append(seeds, a.seed(3000, uint64(n)))
		}
	}
	s := certify.EnoughSettings{Settings: certify.Settings{Seed: a.plan.s.Chains.Seed}, Threshold: a.out.Threshold, Number: 10}
	all, err := c.Enough(s, others...)
	if err != nil {
		return a.ctx.Err()
	}
	for n, enough := range all {
		by := certify.Sized(others[n], enough.At.Size)
		if !enough.Found {
			continue
		}
		t := trial{kind: "other solver", name: enough.Setup, predicted: Remedy{
			Kind: "other solver", Name: enough.Setup + " (predicted)", Bias: enough.At.Shift, Ratio: math.NaN(),
			Seconds: solves * c.Seconds(by), Note: notePredicted,
		}}
		if t.predicted.Seconds < 2*fine.cost() {
			a.sampleOther(&t, by, seeds[n])
		}
		a.tried = append(a.tried, t)
	}
	return a.ctx.Err()
}

// sampleOther samples with another method, which may have modes of its own. If it fails,
// the effect stays predicted.
func (a *assessment) sampleOther(t *trial, by probode.Setup, seed uint64) {
	q := a.p.SolvedBy(by)
	var err error
	if q.Modes, err = modes.Find(a.ctx, q, a.search(a.modes.known)); err != nil {
		return
	}
	if d, err := a.sampleBriefly(q, sample.Deterministic{}, seed); err == nil {
		t.run, t.own = d, a.trustedShifts(d)
	}
}

// remedies lists what can be done: the recommended remedy first, then those that reach the
// threshold, then others, each by cost.
func (a *assessment) remedies(j *judge) (all []Remedy) {
	if !j.allowed {
		return nil // nothing to compare with
	}
	first := math.Inf(1) // of the steps, in the order asked for
	if a.asked != nil {
		first = a.ladder[a.asked[0]].Size()
	}
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		if st.Deterministic == nil {
			continue
		}
		kind := "smaller step"
		switch {
		case st.Size() >= first*(1-1e-9):
			kind = "nothing"
		case a.out.controlled():
			kind = "smaller tolerance"
		}
		all = append(all, measured(st.Deterministic, a.out.Threshold, kind, "solver trusted, "+st.String()))
		if st.Probabilistic != nil {
			all = append(all, noise(st, a.out.Threshold))
		}
		if own := j.shifts(a.runs[i]); st.weighed() && own != nil {
			all = append(all, a.reweighting(st, own))
		}
	}
	for _, t := range a.tried {
		if t.run == nil {
			all = append(all, t.predicted)
		} else {
			all = append(all, measured(t.run.summed, a.out.Threshold, t.kind, t.name))
		}
	}
	rank(all)
	return all
}

// rank sorts the remedies, and finds the costs of reaching the threshold and the
// recommended one.
func rank(all []Remedy) {
	reach := map[string]float64{}
	for _, r := range all {
		if known, ok := reach[r.Kind]; r.Reaches && (!ok || r.Seconds < known) {
			reach[r.Kind] = r.Seconds
		}
	}
	for i := range all {
		r := &all[i]
		r.Reach = math.NaN()
		if v, ok := reach[r.Kind]; ok {
			r.Reach = v
		}
	}
	slices.SortStableFunc(all, func(x, y Remedy) int {
		if x.Reaches != y.Reaches {
			return map[bool]int{true: -1, false: 1}[x.Reaches]
		}
		return cmp.Compare(nanOr(x.Seconds, math.Inf(1)), nanOr(y.Seconds, math.Inf(1)))
	})
	if len(all) > 0 && all[0].Reaches && !math.IsNaN(all[0].Seconds) {
		all[0].Recommended = true
	}
}

// measured is the remedy of a run.
func measured(inf *Inference, threshold float64, kind, name string) Remedy {
	r := Remedy{Kind: kind, Name: name, Seconds: inf.cost(), Reaches: inf.Verdict() == Negligible}
	e, _ := inf.Effects[inf.farthest(threshold)].gravest(threshold)
	r.Bias, r.Ratio = e.Bias, e.Ratio
	if inf.Verdict() == Undecided {
		r.Note = noteUndecided
	}
	return r
}

// noise measures noise in the model. It does not count as a remedy where it is not better
// than trusting the solver at the same step.
func noise(st *Step, threshold float64) Remedy {
	noisy, trusted := st.Probabilistic, st.Deterministic
	r := measured(noisy, threshold, "noise in the model", "noise in the model, "+st.String())
	least, _ := noisy.span(threshold)
	_, most := trusted.span(threshold)
	mid := func(inf *Inference) float64 { return inf.Effects[inf.farthest(threshold)].size(threshold) }
	switch x, y := mid(noisy), mid(trusted); {
	case least > most && noisy.Verdict() == Matters:
		// Some number of an undecided run is off by chance, and by more than those of a
		// solver that is known to do nothing.
		r.Reaches = false
		r.Note = sayWorse(x / y)
	case x >= y:
		r.Reaches = false
		r.Note = noteNotBetter
	case r.Reaches && trusted.Verdict() == Negligible:
		r.Note = noteNotNeeded
	}
	return r
}

// reweighting gives the reference posterior itself, as far as the weights of a step, which
// say own, can be trusted.
func (a *assessment) reweighting(st *Step, own []shift) Remedy {
	r := Remedy{Kind: "reweighting", Name: "reweighting, " + st.String(), Ratio: 1}
	_, missed := st.phantoms()
	worst := 0.0 // Monte Carlo error that the weights add, in accurate sd
	for j := range a.out.Params {
		worst = math.Max(worst, decisive*own[j].meanSE/a.out.Params[j].SD)
	}
	r.Reaches = worst < a.out.Threshold && missed < minor && st.Deterministic.Verdict() != Undecided
	switch {
	case missed >= minor:
		r.Note = noteMissed
	case !r.Reaches:
		r.Note = fmt.Sprintf(noteWeightsCoarse, worst)
	default:
		r.Note = fmt.Sprintf(noteWeightsKHat, st.KHat)
	}
	r.Seconds = st.Deterministic.cost() + 1000*a.accurateSeconds
	return r
}
