package assess

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Does the error of the solver matter for the posterior? Assess looks at the
// question from three sides, at each step h of a ladder: the posterior p_h of
// someone who trusts the solver, that of someone who has its error in the
// model, and the accurate posterior p, the same for all h. The first two come
// from chains. The third has none of its own: draws θᵢ of p_h are weighed by
//
//	wᵢ ∝ p(Y | x(θᵢ)) / p(Y | Z_h(θᵢ)),   x the accurate solution,
//
// and their weighted means are those of p. It does not only cost less than
// another chain. The difference of the two means over the same draws,
//
//	bias = mean θᵢ − mean wᵢθᵢ   (mean wᵢ = 1),
//
// has a Monte Carlo error that vanishes with the bias, where the difference of
// two chains would be lost in their noise.

// Run answers whether the numerical error of p.Method matters for the
// posterior, and at which step. At each of s.Steps it
//
//   - finds the mode of the deterministic posterior and calibrates α there, and
//     at three draws, unless p.Alpha is a parameter, which is then sampled, or
//     known and not zero;
//   - samples by Deterministic and by s.Sampler;
//   - sets means and standard deviations against those of the accurate posterior,
//     of probode.Reference: the deterministic draws of the smallest step,
//     weighed. If they are too far off for that (k̂ > 0.7), other solvers are
//     tried; see Report.ReferenceBy.
//
// All numbers but times are decided by s.Chains.Seed. The error says what is
// wrong with p or s, that nothing could be sampled at the smallest step, or that
// ctx ended; the Report then holds what had been done, nil if nothing.
func Run(ctx context.Context, p *bayes.Posterior, s Settings) (*Report, error) {
	if ctx == nil {
		return nil, errors.New("assess: the context is nil")
	}
	ctx, hook := progress.Begin(ctx, "assessment")
	if s.Progress == nil {
		s.Progress = hook
	}
	a, err := newAssessor(ctx, p, s)
	if err != nil {
		return nil, err
	}
	if err := a.run(); err != nil {
		if a.out.Steps[a.finest()].Deterministic == nil {
			return nil, err
		}
		a.conclude()
		return a.out, err
	}
	a.conclude()
	return a.out, nil
}

// say reports progress.
func (a *assessor) say(format string, args ...any) {
	if a.s.Progress != nil {
		a.s.Progress(a.done, a.total, fmt.Sprintf(format, args...))
	}
}

// step is called at the end of a piece of work.
func (a *assessor) step() error {
	a.done = min(a.done+1, a.total)
	return a.ctx.Err()
}

// run does the work, from the smallest step, on which the accurate posterior
// rests, to the largest.
func (a *assessor) run() error {
	if err := a.findModes(); err != nil {
		return err
	}
	if err := a.certify(); err != nil {
		return err
	}
	top, last := a.out.Steps[0].solver(), a.out.Steps[a.finest()].solver()
	solvers := []certify.Solver{top, last}
	if len(a.out.Steps) == 1 {
		solvers = solvers[:1]
	}
	a.out.Profile = a.certifier.Profile(solvers...)
	if err := a.ctx.Err(); err != nil {
		return err
	}
	var fine *draws
	for i := a.finest(); i >= 0; i-- {
		st := &a.out.Steps[i]
		if a.modes[i] == nil {
			a.done += 2
			continue
		}
		d, err := a.deterministic(i)
		switch {
		case a.ctx.Err() != nil:
			return a.ctx.Err() // it may have ended between pieces, and err be nil
		case err != nil && i == a.finest():
			return err
		case err != nil:
			st.Err = err.Error()
			a.done += 2
		}
		if i == a.finest() {
			fine = d
			if err := a.accurate(fine); err != nil {
				return err
			}
			if a.source != nil {
				if err := a.check(); err != nil {
					return err
				}
			}
			if err := a.errors(); err != nil {
				return err
			}
		}
	}
	if err := a.look(); err != nil {
		return err
	}
	for i := a.finest(); i >= 0; i-- {
		st := &a.out.Steps[i]
		if st.Deterministic == nil {
			a.done += 3
			continue
		}
		if err := a.probabilistic(i); err != nil {
			if a.ctx.Err() != nil {
				return err
			}
			st.Err = err.Error()
		}
	}
	a.say("remedies")
	if err := a.try(); err != nil {
		return err
	}
	a.done = a.total
	a.say("done")
	return nil
}

// sample runs one sampler and keeps of its draws what is needed.
func (a *assessor) sample(p *bayes.Posterior, sampler bayes.Sampler, seed uint64) (*draws, error) {
	s := a.s.Chains
	s.Seed = seed
	s.Progress = func(g mcmc.Progress) { a.say("%v, %s: %v", sampler, setting(p), g) }
	r, err := bayes.Measure(a.ctx, p, sampler, s)
	if err != nil {
		return nil, fmt.Errorf("%v, %s: %w", sampler, setting(p), err)
	}
	if err := a.ctx.Err(); err != nil {
		return nil, err // what follows takes seconds with many draws
	}
	d := &draws{p: p, first: len(r.Chains.Draws[0])}
	if err := a.take(d, r); err != nil {
		return nil, err
	}
	if !a.s.Auto {
		d.result = bayes.Result{} // nobody goes on with it: let go of its memory
	}
	return d, nil
}

// take keeps of r what is needed; the draws of d before, if there were any, are the
// first of r.
func (a *assessor) take(d *draws, r bayes.Result) error {
	c := r.Chains
	d.result, d.all = r, c
	d.summed = &Inference{
		Sampler: r.Sampler.String(), Summary: c.Summary(), Draws: len(c.Draws[0]), Chains: len(c.Draws),
		Solves: int(math.Round(r.Work)), Seconds: r.Seconds, Drawing: r.Drawing,
	}
	var failed, proposed int
	for _, st := range c.Stats {
		failed += st.Failed + st.Latent.Failed
		proposed += st.Proposed + st.Latent.Proposed
	}
	if proposed > 0 {
		d.summed.Failed = float64(failed) / float64(proposed)
	}
	ess := math.Inf(1)
	for _, k := range a.assessed {
		ess = math.Min(ess, d.summed.Summary[k].BulkESS)
	}
	d.summed.ESSPerSecond = ess / d.summed.Seconds
	// As many again are weighed as draws are added, of which the first are those
	// that were weighed before.
	n := min(d.first, max(8, a.s.Weighed/len(c.Draws))) * (len(c.Draws[0]) / d.first)
	d.few = fewer(c, n)
	if err := a.divide(d); err != nil {
		return err
	}
	var estimates [measures][]moments
	for by := range measures {
		d.center[by], d.log[by] = nil, nil
		for _, q := range a.quantities {
			x, in := c.Parameter(q.param), belong(d.in, q.part)
			center, log := by.stretches(x, in, n)
			d.center[by], d.log[by] = append(d.center[by], center), append(d.log[by], log)
			m := q.whole(d.summed)
			if by == byQuantiles || q.part >= 0 {
				sound := m.sound
				m = by.estimate(x, in)
				// Its draws are few if their centre is not known to a seventh of
				// their spread.
				m.sound = sound && (q.part < 0 || m.sd/m.meanSE >= math.Sqrt(fewest))
			}
			estimates[by] = append(estimates[by], m)
		}
	}
	a.estimates[d.summed] = estimates
	if d.three == nil {
		for k := range 3 {
			chain := c.Draws[k%len(c.Draws)]
			d.three = append(d.three, slices.Clone(chain[max(0, (k+1)*len(chain)/3-1)]))
		}
	}
	return nil
}

// deterministic samples at step i, and weighs the draws.
func (a *assessor) deterministic(i int) (*draws, error) {
	st := &a.out.Steps[i]
	p := a.of(i)
	p.Modes = a.modes[i]
	d, err := a.sample(p, bayes.Deterministic{}, a.seed(uint64(i)))
	if err != nil {
		return nil, err
	}
	if err := a.step(); err != nil {
		return nil, err
	}
	a.say("accurate solutions, %v", st)
	if st.KHat, _ = a.weigh(d); a.ctx.Err() != nil {
		return nil, a.ctx.Err()
	}
	st.KHatLimit, a.runs[i] = a.limit(d), d
	a.weighModes(i, d)
	st.Deterministic = d.summed

	if a.p.AlphaParam == "" {
		a.say("alpha, %v", st)
		p = a.frozen(i)
		c, err := bayes.CalibrateAlpha(a.ctx, p, st.Mode, a.s.Calibrate)
		if a.ctx.Err() != nil {
			return d, a.ctx.Err()
		}
		if err != nil { // such as of an error that is nowhere large enough
			st.Err = fmt.Sprintf("no noise: %v", err)
			return d, a.step()
		}
		a.notes[i] = c.Warnings
		st.AlphaStar, st.AlphaSE, st.Alpha = c.Alpha, c.SE, c.Alpha
		if v := a.p.Alpha; v > 0 {
			st.Alpha = v
		}
		for _, theta := range d.three {
			v := math.NaN()
			if c, err := bayes.CalibrateAlpha(a.ctx, p, theta, a.s.Calibrate); err == nil {
				v = c.Alpha
			} else if a.ctx.Err() != nil {
				return d, err
			}
			st.AlphaAt = append(st.AlphaAt, v)
		}
	}
	return d, a.step()
}

// probabilistic samples at step i with the solver's error in the model.
func (a *assessor) probabilistic(i int) error {
	st := &a.out.Steps[i]
	p := a.frozen(i)
	p.Modes = a.modes[i]
	if a.p.AlphaParam == "" {
		if math.IsNaN(st.Alpha) {
			a.done += 2
			return nil // α could not be calibrated, which Err says
		}
		p.Alpha = st.Alpha
	}
	d, err := a.sample(p, a.s.Sampler, a.seed(uint64(i), 1))
	if err != nil {
		return err
	}
	if a.p.AlphaParam != "" {
		st.Alpha = d.summed.Summary[slices.IndexFunc(p.Params, func(q bayes.Param) bool { return q.Name == a.p.AlphaParam })].Mean
	}
	st.Probabilistic = d.summed
	a.done = min(a.done+1, a.total)
	return a.step()
}
