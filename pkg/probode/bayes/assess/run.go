package assess

import (
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

// Run answers whether the numerical error of p.Method matters for the posterior, and from
// which step on. It compares three posteriors: that of someone who trusts the solver, that
// of someone who has its error in the model, and the accurate one. At each step of the
// ladder Run
//
//   - finds the modes of the deterministic posterior, and calibrates α at one of them and
//     at three draws, unless α is a parameter, which is then sampled;
//   - samples by Deterministic and by s.Sampler;
//   - compares means and standard deviations with those of the accurate posterior, which
//     the deterministic draws of the smallest step give when they are weighed. If they are
//     too far off for that (k̂ > 0.7), Run tries other solvers: see Report.ReferenceBy.
//
// s.Chains.Seed decides all numbers but times. The error says what is wrong with p or s,
// that nothing could be sampled at the smallest step, or that ctx ended; the Report then
// holds what had been done, nil if nothing.
func Run(ctx context.Context, p *bayes.Posterior, s Settings) (*Report, error) {
	if ctx == nil {
		return nil, errors.New("assess: the context is nil")
	}
	ctx, hook := progress.Begin(ctx, "assessment")
	if s.Progress == nil {
		s.Progress = hook
	}
	pl, err := newPlan(p, s)
	if err != nil {
		return nil, err
	}
	a := &assessment{begin: time.Now(), out: pl.report(), runs: make([]*draws, len(pl.ladder)), noisy: make([]*estimated, len(pl.ladder))}
	w := &work{ctx: ctx, show: pl.s.Progress, total: 6*len(pl.ladder) + 2}
	err = a.run(w, pl)
	if err != nil && a.out.Steps[pl.finest()].Deterministic == nil {
		return nil, err
	}
	a.conclude()
	return a.out, err
}

// An assessment is the state of Run: what has been done so far.
type assessment struct {
	*sampling
	begin     time.Time
	out       *Report
	certifier *certify.Certifier
	runs      []*draws     // deterministic, by step; nil where there are none
	noisy     []*estimated // with noise in the model
	y         *yardstick   // nil if the accurate posterior is not known
	tried     []trial      // remedies beyond the ladder

	accurateSeconds float64 // of one accurate solution
}

// run does the work, from the smallest step, on which the accurate posterior rests, to the
// largest.
func (a *assessment) run(w *work, pl *plan) error {
	modes, err := findModes(w, pl)
	if err != nil {
		return err
	}
	a.sampling = newSampling(w, pl, modes)
	a.keepModes()
	if err := a.certify(); err != nil {
		return err
	}
	if err := a.deterministic(); err != nil {
		return err
	}
	if err := a.interim(); err != nil {
		return err
	}
	if err := a.probabilistic(); err != nil {
		return err
	}
	a.say("remedies")
	if err := a.try(); err != nil {
		return err
	}
	a.done = a.total
	a.say("done")
	return nil
}

// keepModes puts the modes into the report.
func (a *assessment) keepModes() {
	if m := a.modes.reference; m != nil {
		a.out.ReferenceModes = modesOf(m)
	}
	for i, f := range a.modes.steps {
		st := &a.out.Steps[i]
		if f.modes == nil {
			st.Err = f.err.Error()
			continue
		}
		st.Mode, st.Modes, st.Missing = f.first, f.own, f.missed
		st.Unsearched, st.Doubtful = f.modes.Missed(), f.modes.Doubtful()
	}
}

// certify makes the certificate of each step, at the modes of the reference posterior and
// those of the step, and the profile of the log likelihood.
func (a *assessment) certify() error {
	a.say("certificate")
	c, err := certify.New(a.ctx, a.p, a.plan.reference())
	if err != nil {
		return err
	}
	if a.modes.reference != nil {
		for _, m := range a.modes.reference.Modes {
			if m.Mass > minor {
				c.AddMode(m.Theta)
			}
		}
	}
	a.certifier = c
	var ends []probode.Setup
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		// A climb by the reference from a phantom of the step ends far away.
		var own [][]float64
		for _, m := range st.Modes {
			if m.Mass > minor {
				own = append(own, m.Theta)
			}
		}
		if st.Certificate, err = c.Compare(a.plan.setup(st), own); err != nil {
			if a.ctx.Err() != nil {
				return err
			}
			st.Certificate = nil
		}
		if i == 0 || i == a.finest() {
			ends = append(ends, a.plan.setup(st))
		}
	}
	a.out.Profile = c.Profile(ends...)
	return a.ctx.Err()
}

// deterministic makes deterministic inference at each step and, after the smallest, finds
// the accurate posterior and the error of each step's path.
func (a *assessment) deterministic() error {
	for i := a.finest(); i >= 0; i-- {
		st := &a.out.Steps[i]
		if a.modes.steps[i].modes == nil {
			a.advance(2)
			continue
		}
		err := a.deterministicAt(i)
		switch {
		case a.ctx.Err() != nil:
			return a.ctx.Err() // the context may have ended between pieces of work, with err nil
		case err != nil && i == a.finest():
			return err
		case err != nil:
			st.Err = err.Error()
			a.advance(2)
		}
		if i < a.finest() {
			continue
		}
		y, err := a.accuratePosterior(a.runs[i], st.KHat, st.Mode)
		if y != nil {
			if err := a.measureBy(y); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		if err := a.pathErrors(st.Mode); err != nil {
			return err
		}
	}
	return nil
}

// deterministicAt samples at step i, weighs the draws, and calibrates α.
func (a *assessment) deterministicAt(i int) error {
	st := &a.out.Steps[i]
	p := a.of(i)
	p.Modes = a.modes.steps[i].modes
	d, err := a.sample(p, sample.Deterministic{}, a.seed(uint64(i)))
	if err != nil {
		return err
	}
	if err := a.advance(1); err != nil {
		return err
	}
	a.say("accurate solutions, %v", st)
	if st.KHat, _ = a.weigh(d); a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	st.KHatLimit, a.runs[i] = d.limit(a.assessed), d
	weighModes(st.Modes, p.Modes, d, a.assessed)
	st.Deterministic = d.summed
	if a.p.AlphaParam == "" {
		if err := a.calibrate(i, d); err != nil {
			return err
		}
	}
	return a.advance(1)
}

// calibrate finds α at the mode of step i and at three draws. Where α cannot be
// calibrated, such as where the error is nowhere large enough, Err says why.
func (a *assessment) calibrate(i int, d *draws) error {
	st := &a.out.Steps[i]
	a.say("alpha, %v", st)
	p := a.frozen(i, st.Mode)
	c, err := bayes.CalibrateAlpha(a.ctx, p, st.Mode, a.plan.s.Calibrate)
	if a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	if err != nil {
		st.Err = fmt.Sprintf("no noise: %v", err)
		return nil
	}
	st.AlphaWarnings = c.Warnings
	st.AlphaStar, st.AlphaSE, st.Alpha = c.Alpha, c.SE, c.Alpha
	if v := a.p.Alpha; v > 0 {
		st.Alpha = v
	}
	for _, theta := range d.three {
		v := math.NaN()
		if c, err := bayes.CalibrateAlpha(a.ctx, p, theta, a.plan.s.Calibrate); err == nil {
			v = c.Alpha
		} else if a.ctx.Err() != nil {
			return err
		}
		st.AlphaAt = append(st.AlphaAt, v)
	}
	return nil
}

// measureBy takes y for the accurate posterior, and measures the reference's own error.
func (a *assessment) measureBy(y *yardstick) (err error) {
	a.y = y
	o := a.out
	o.ReferenceBy, o.KHat, o.KHatLimit, o.Worth = y.by, y.khat, y.limit, y.worth
	for j := range o.Params {
		q, m := &o.Params[j], y.exact[j]
		q.Quantiles, q.TailIndex = y.measures[j] == byQuantiles, y.tails[j]
		q.Mean, q.MeanSE, q.SD, q.SDSE = m.mean, m.meanSE, m.sd, m.sd*m.logSE
	}
	before := o.Reference.Seconds
	o.Reference, err = a.checkReference(y)
	o.Reference.Seconds += before
	return err
}

// pathErrors computes the error of the path at each step, at one θ.
func (a *assessment) pathErrors(theta []float64) error {
	steps := a.out.Steps
	for i := range steps {
		steps[i].Error = pathError(a.ctx, a.of(i), theta, a.plan.s.Accurate)
	}
	for i := range a.finest() {
		c, f := &steps[i], &steps[i+1]
		c.Order = math.Log(c.Error/f.Error) / math.Log(c.Size()/f.Size())
	}
	return a.ctx.Err()
}

// probabilistic makes the inferences with the solver's error in the model.
func (a *assessment) probabilistic() error {
	for i := a.finest(); i >= 0; i-- {
		st := &a.out.Steps[i]
		if st.Deterministic == nil || a.p.AlphaParam == "" && math.IsNaN(st.Alpha) {
			a.advance(3) // α could not be calibrated, which Err says
			continue
		}
		p := a.frozen(i, st.Mode)
		p.Modes = a.modes.steps[i].modes
		if a.p.AlphaParam == "" {
			p.Alpha = st.Alpha
		}
		d, err := a.sample(p, a.plan.s.Sampler, a.seed(uint64(i), 1))
		if err != nil {
			if a.ctx.Err() != nil {
				return err
			}
			st.Err = err.Error()
			continue
		}
		if name := a.p.AlphaParam; name != "" {
			st.Alpha = d.summed.Summary[slices.Index(a.out.Names, name)].Mean
		}
		a.noisy[i], st.Probabilistic = &d.estimated, d.summed
		if err := a.advance(2); err != nil {
			return err
		}
	}
	return nil
}

// judge compares the runs of all steps with the accurate posterior.
func (a *assessment) judge() *judge {
	j := &judge{threshold: a.out.Threshold, z: a.out.decisive(), allowed: a.out.known() && a.out.trusted(), quantities: a.quantities, params: len(a.assessed), y: a.y}
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		if d := a.noisy[i]; d != nil {
			j.compare(d, nil)
		}
		d := a.runs[i]
		if d == nil {
			continue
		}
		var own []shift
		if _, missed := st.phantoms(); st.weighed() && missed < minor {
			own = j.shifts(d)
		}
		j.compare(&d.estimated, own)
		st.Unvisited = a.withhold(d, a.modes.steps[i].modes, a.y, st.Probabilistic)
	}
	return j
}

// conclude reaches the verdict.
func (a *assessment) conclude() {
	j := a.judge()
	for _, t := range a.tried {
		if t.run != nil {
			j.compare(&t.run.estimated, t.own)
		}
	}
	a.out.Reference.Seconds += a.weighing
	a.out.largest()
	a.out.Remedies = a.remedies(j)
	ev := evidence{p: a.p, assessed: a.assessed}
	if a.y != nil {
		ev.source, ev.sourceBy = a.y.source.summed, fmt.Sprintf("%v with %s", a.y.source.p.Method, setting(a.y.source.p))
	}
	a.out.claim(ev)
}
