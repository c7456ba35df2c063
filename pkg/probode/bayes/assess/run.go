package assess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/bayes/sample"
)

// Run finds out whether the numerical error of p.Method matters for the posterior, and
// which step size is small enough. Run compares two posteriors with the reference
// posterior: the deterministic posterior, which treats the solver as exact, and the
// posterior with the solver's error in the model. For each step size or tolerance, Run
//
//   - finds the modes of the deterministic posterior, and calibrates α at one of them and
//     at three draws, unless α is a parameter, which is then sampled;
//   - samples with the samplers Deterministic and s.Sampler, or computes weights for
//     draws that were made with an accurate solver (see the package documentation);
//   - compares medians and central 68 % intervals, and then means and standard
//     deviations, with those of the reference posterior.
//
// After weighting, the deterministic draws at the smallest step usually represent the
// reference posterior. If the k̂ of the weights is above its limit, the deterministic
// draws are too far from the reference posterior, and Run tries other solvers (see
// Report.ReferenceBy). The limit of k̂ is 0.7, or less if there are few draws.
//
// Apart from computing times, all numbers in the Report are determined by the seed
// s.Chains.Seed, unless s.MaxTime is set. Run returns an error if there is a mistake in p
// or s, if the posterior at the smallest step cannot be sampled, or if ctx is cancelled.
// If Run returns an error, the Report holds the results so far, or is nil if there are
// none.
func Run(ctx context.Context, p *bayes.Posterior, s Settings) (*Report, error) {
	ctx, hook := progress.Begin(ctx, "assessment")
	if s.Progress == nil {
		s.Progress = hook
	}
	pl, err := newPlan(p, s)
	if err != nil {
		return nil, err
	}
	n := len(pl.ladder)
	begin := time.Now()
	a := &assessment{looked: 1, out: pl.report(), scales: make([]scale, n), runs: make([]*draws, n), noisy: make([]*draws, n)}
	w := &work{ctx: ctx, show: pl.s.Progress, total: 6*n + 2}
	err = a.run(w, pl, begin)
	if err != nil && a.runs[pl.finest()] == nil {
		return nil, err
	}
	a.conclude()
	return a.out, cmp.Or(err, ctx.Err())
}

func (a *assessment) run(w *work, pl *plan, begin time.Time) error {
	found, err := findModes(w, pl)
	if err != nil {
		return err
	}
	a.sampling = &sampling{plan: pl, work: w, modes: found, begin: begin, quantities: quantities(pl.assessed, found.reference)}
	if m := found.reference; m != nil {
		a.out.ReferenceModes, a.out.Unsearched = shares(m), m.Unnoticed()
	}
	for _, part := range []func() error{a.certify, a.deterministic, a.interim, a.probabilistic, a.try} {
		if err := part(); err != nil {
			return err
		}
	}
	a.done = a.total
	a.say("done")
	return nil
}

// certify uses the modes of both posteriors for the certificate of a step.
func (a *assessment) certify() error {
	a.say("certificate")
	c, err := certify.New(a.ctx, a.p, a.reference())
	if err != nil {
		return err
	}
	a.certifier = c
	for _, m := range a.out.ReferenceModes {
		c.AddMode(m.Theta)
	}
	var ends []probode.Setup
	for i := range a.out.Steps {
		st, f := &a.out.Steps[i], &a.modes.steps[i]
		if f.err != nil {
			st.Err = f.err.Error()
		} else {
			st.Unsearched = f.modes.Missed()
		}
		// A climb from a phantom to a mode of the reference posterior ends far from the
		// phantom. The certificate therefore says that the reference posterior has no
		// mode near the phantom.
		var own [][]float64
		for _, m := range f.own {
			own = append(own, m.Theta)
		}
		if st.Certificate, err = c.Compare(a.ladder[i].setup, own); err != nil {
			if a.ctx.Err() != nil {
				return err
			}
			st.Certificate = nil
		}
		if i == 0 || i == a.finest() {
			ends = append(ends, a.ladder[i].setup)
		}
	}
	a.out.Profile = c.Profile(ends...)
	return a.ctx.Err()
}

// deterministic begins with the smallest step, whose weighted draws usually represent the
// reference posterior.
func (a *assessment) deterministic() error {
	if err := a.share(); err != nil || a.slow != "" {
		return err
	}
	for i := a.finest(); i >= 0; i-- {
		if a.modes.steps[i].modes == nil {
			a.advance(2)
			continue
		}
		a.within = a.plan.s.MaxTime
		if a.plan.s.Auto && a.within == 0 && i == a.finest() {
			a.within = patience
		}
		err := a.deterministicAt(i)
		switch {
		case a.ctx.Err() != nil:
			return a.ctx.Err() // the context may have ended between two pieces of work, and then err is nil
		case errors.Is(err, errTime) && i == a.finest():
			a.slow = fmt.Sprintf(saidSlow, a.within, sample.Deterministic{})
			return nil
		case err != nil && i == a.finest():
			return err
		case err != nil:
			a.out.Steps[i].Err = err.Error()
			a.advance(2)
		}
		if i < a.finest() {
			continue
		}
		if a.y == nil {
			y, err := a.accuratePosterior(a.runs[i], a.modes.steps[i].first)
			if y != nil {
				if err := a.measureBy(y); err != nil {
					return err
				}
			}
			if err != nil {
				return err
			}
		}
		for k := range a.ladder {
			a.paths = append(a.paths, a.pathError(a.of(k), a.modes.steps[i].first))
		}
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
	}
	return nil
}

func (a *assessment) deterministicAt(i int) error {
	if a.shares(i) {
		d, err := a.weighted(a.y.draws, i, nil)
		if err != nil && a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		if err == nil && a.usable(d) && d.whole() {
			a.runs[i], a.out.Steps[i].Deterministic = d, d.summed
			a.out.Steps[i].Err = fmt.Sprintf(saidNoNoise, a.y.summed.Sampler, a.plan.s.Sampler)
			return a.advance(2)
		}
	}
	d, err := a.sample(a.of(i), &a.modes.steps[i], sample.Deterministic{}, a.plan.s.Chains, a.seed(uint64(i)))
	if err != nil {
		return err
	}
	if err := a.advance(1); err != nil {
		return err
	}
	a.say("accurate solutions, %v", &a.ladder[i])
	if err := a.weigh(d); err != nil && a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	d.pair.visit(d.visited, a.mixed(d))
	a.runs[i], a.out.Steps[i].Deterministic = d, d.summed
	if a.p.AlphaParam == "" {
		if err := a.calibrate(i, d.three()); err != nil {
			return err
		}
	}
	return a.advance(1)
}

// calibrate says in Rung.Err why α cannot be calibrated, for example because the error is
// too small.
func (a *assessment) calibrate(i int, draws [][]float64) error {
	a.say("alpha, %v", &a.ladder[i])
	mode := a.modes.steps[i].first
	p := a.frozen(i, mode)
	c, err := bayes.CalibrateAlpha(a.ctx, p, mode, a.plan.s.Calibrate)
	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	if err != nil {
		a.out.Steps[i].Err = fmt.Sprintf("no noise: %v", err)
		return nil
	}
	s := scale{alpha: c.Alpha, star: c, warnings: c.Warnings}
	if v := a.p.Alpha; v > 0 {
		s.alpha = v
	}
	for _, theta := range draws {
		v := math.NaN()
		if c, err := bayes.CalibrateAlpha(a.ctx, p, theta, a.plan.s.Calibrate); err == nil {
			v = c.Alpha
		} else if a.ctx.Err() != nil {
			return err
		}
		s.at = append(s.at, v)
	}
	a.scales[i] = s
	return nil
}

func (a *assessment) probabilistic() error {
	for i := a.finest(); i >= 0; i-- {
		st, s := &a.out.Steps[i], &a.scales[i]
		if a.runs[i] == nil || a.p.AlphaParam == "" && s.star == nil {
			a.advance(3) // α could not be calibrated; Err says why
			continue
		}
		p := a.frozen(i, a.modes.steps[i].first)
		if a.p.AlphaParam == "" {
			p.Alpha = s.alpha
		}
		d, err := a.sample(p, &a.modes.steps[i], a.plan.s.Sampler, a.plan.s.Chains, a.seed(uint64(i), 1))
		if err != nil {
			if a.ctx.Err() != nil {
				return err
			}
			st.Err = err.Error()
			continue
		}
		if name := a.p.AlphaParam; name != "" {
			s.alpha = d.summed.Summary[slices.Index(a.out.Names, name)].Mean
		}
		d.forget()
		a.noisy[i], st.Probabilistic = d, d.summed
		if err := a.advance(2); err != nil {
			return err
		}
	}
	return nil
}

func (a *assessment) conclude() {
	j := a.judge()
	o := a.out
	for i := range o.Steps {
		o.Steps[i].Modes = a.modes.steps[i].own
	}
	for _, st := range slices.Backward(o.Steps) {
		if st.verdict() != Negligible {
			break
		}
		o.Largest = st.Size()
	}
	if j.y != nil {
		o.Unseen = 0
		for _, d := range a.trusted() {
			o.Unseen = math.Max(o.Unseen, a.unseen(d, j.y))
		}
	}
	o.Remedies = a.remedies(j)
	o.Claims = a.claims(j)
}
