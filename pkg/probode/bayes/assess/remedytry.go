package assess

import (
	"cmp"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
)

// Remedies beyond the ladder are tried by short runs, which tell what they do and
// what they cost.

// A trial is a remedy that was sampled, or one that was only foretold.
type trial struct {
	kind, name string
	inf        *Inference // nil if the effect was only predicted
	paired     []shift
	foretold   Remedy
}

// try tries what the ladder does not have.
func (a *assessor) try() error {
	a.tried = nil
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
func (a *assessor) sampleBriefly(p *bayes.Posterior, sampler bayes.Sampler, seed uint64) (*draws, error) {
	whole := a.s.Chains
	defer func() { a.s.Chains = whole }()
	a.s.Chains.Draws, a.s.Chains.MinESS = min(1000, cmp.Or(whole.Draws, 1000)), 0
	return a.sample(p, sampler, seed)
}

// ownWeights are the weights of a classical run, nil where they cannot be trusted.
func (a *assessor) ownWeights(d *draws) []shift {
	if khat, err := a.weigh(d); err != nil || !a.usable(d, khat) {
		return nil
	}
	return a.chosen(d)
}

// tryDelayed samples by delayed acceptance, with the largest step before the
// smallest, and before the accurate solver.
func (a *assessor) tryDelayed() error {
	f := a.finest()
	top, st := &a.out.Steps[0], &a.out.Steps[f]
	if st.Deterministic == nil || a.modes[f] == nil {
		return nil
	}
	add := func(p *bayes.Posterior, by bayes.Sampler, name string, seed uint64) {
		p.Modes = a.modes[f]
		if d, err := a.sampleBriefly(p, by, a.seed(seed)); err == nil { // one that fails is no remedy
			a.tried = append(a.tried, trial{kind: "delayed acceptance", name: name, inf: d.summed})
		}
	}
	if f > 0 {
		by := bayes.DelayedAcceptance{First: probode.Setup{Mesh: probode.Uniform(top.StepSize)}}
		if top.StepSize == 0 {
			by.First.Mesh = probode.Frozen{Tolerance: top.Tolerance}
		}
		add(a.frozen(f), by, fmt.Sprintf("delayed acceptance, %v before %v", top, st), 2000)
	}
	if a.modes[0] != nil {
		add(a.frozen(0), bayes.DelayedAcceptance{Second: a.s.Accurate}, fmt.Sprintf("delayed acceptance, %v before the accurate solver", top), 2001)
	}
	return nil
}

// tryFrozen samples on the grids of the modes, which take the jumps out of the
// likelihood of an adaptive solver.
func (a *assessor) tryFrozen() error {
	if !a.out.controlled() {
		return nil
	}
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		if st.Deterministic == nil || a.modes[i] == nil {
			continue
		}
		p := a.frozen(i)
		p.Modes = a.modes[i]
		d, err := a.sampleBriefly(p, bayes.Deterministic{}, a.seed(4000, uint64(i)))
		if err != nil {
			if a.ctx.Err() != nil {
				return err
			}
			continue
		}
		a.tried = append(a.tried, trial{kind: "frozen steps", name: fmt.Sprintf("steps frozen at the mode, %v", st), inf: d.summed, paired: a.ownWeights(d)})
	}
	return nil
}

// tryOthers looks, without sampling, for the step or tolerance at which other
// methods would do, samples with those that promise to cost less than the end of the
// ladder, and times the reference.
func (a *assessor) tryOthers() error {
	c := a.certifier
	fine := a.out.Steps[a.finest()].Deterministic
	if c == nil || c.Mode() == nil || fine == nil || math.IsNaN(fine.thousand()) {
		return nil
	}
	a.referenceSeconds = c.Seconds(a.solver())
	// Effective draws take as many solves with any solver that is good enough.
	solves := fine.cost() / c.Seconds(a.out.Steps[a.finest()].solver()) // for 1000 effective draws
	dp := probode.RungeKutta{Tableau: probode.DormandPrince}
	var others []certify.Solver
	var seeds []uint64
	for n, s := range []certify.Solver{{Method: probode.RungeKutta{}}, {Method: dp}, {Method: probode.AdamsMoulton{Steps: 1}},
		{Method: dp, Tolerance: probode.Tolerance{Relative: 1}}} {
		if s.Method.String() != a.out.Method.String() || s.Controlled() != a.out.controlled() {
			others, seeds = append(others, s), append(seeds, a.seed(3000, uint64(n)))
		}
	}
	s := certify.EnoughSettings{Settings: certify.Settings{Seed: a.s.Chains.Seed}, Threshold: a.out.Threshold, Number: 10}
	all, err := c.Enough(s, others...)
	if err != nil {
		return a.ctx.Err()
	}
	for n, enough := range all {
		if !enough.Found {
			continue
		}
		t := trial{kind: "other solver", name: enough.Solver.String(), foretold: Remedy{
			Kind: "other solver", Name: fmt.Sprintf("%v (foretold)", enough.Solver), Bias: enough.At.Shift, Ratio: math.NaN(),
			Seconds: solves * c.Seconds(enough.Solver), Note: "by the certificate, without sampling: assess it before it is relied on",
		}}
		if t.foretold.Seconds < 2*fine.cost() {
			a.sampleOther(&t, enough.Solver, seeds[n])
		}
		a.tried = append(a.tried, t)
	}
	return a.ctx.Err()
}

// sampleOther samples with another method. Modes of its own it may have too.
func (a *assessor) sampleOther(t *trial, by certify.Solver, seed uint64) {
	q := a.at(by.StepSize)
	q.Method = by.Method
	if by.Controlled() {
		q.Mesh = probode.Adaptive{Tolerance: by.Tolerance}
	}
	var err error
	if q.Modes, err = q.FindModes(a.ctx, bayes.ModeSearch{Seed: a.s.Chains.Seed, Workers: a.s.Chains.Workers, From: a.known}); err != nil {
		return // it stays foretold
	}
	if d, err := a.sampleBriefly(q, bayes.Deterministic{}, seed); err == nil {
		t.inf, t.paired = d.summed, a.ownWeights(d)
	}
}
