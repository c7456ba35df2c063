package assess

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// Run compares the posterior of each candidate with the reference posterior, and judges
// medians and central 68 % intervals, and then means and standard deviations. Run
//
//   - finds the modes of each posterior, and certifies each setup without sampling;
//   - draws from the reference posterior, and measures the error of its solver;
//   - computes the posterior of each candidate by weights or by a run of its own;
//   - doubles the draws until each verdict is known or the budget is spent.
//
// Apart from computing times, all numbers in the Report are determined by the seed
// s.Chains.Seed, unless s.MaxTime is set. Run returns an error if there is a mistake in p
// or s, or if ctx is cancelled. The Report then holds the results so far, or is nil if
// there are none. If the reference posterior cannot be sampled, all verdicts are
// Undecided, and the Report says why.
func Run(ctx context.Context, p *bayes.Posterior, s Settings) (*Report, error) {
	ctx, hook := progress.Begin(ctx, "assessment")
	if s.Progress == nil {
		s.Progress = hook
	}
	pl, err := newPlan(p, s)
	if err != nil {
		return nil, err
	}
	n := len(pl.setups)
	a := &assessment{out: pl.report(), weightings: make([]*weighting, n), scales: make([]*bayes.CalibratedAlpha, n)}
	a.runs, a.failures = make([]*draws, len(a.out.Candidates)), make([]string, len(a.out.Candidates))
	w := &work{ctx: ctx, show: pl.s.Progress, total: 2*n + len(a.runs) + 2}
	begin := time.Now()
	found, err := findModes(w, pl)
	if err != nil {
		return nil, err
	}
	a.sampling = &sampling{plan: pl, work: w, modes: found, begin: begin, quantities: quantities(pl.assessed, found.reference)}
	err = a.run()
	a.done = a.total
	a.say("done")
	a.conclude()
	return a.out, cmp.Or(err, ctx.Err())
}

// assessment holds the state of Run and the results so far.
type assessment struct {
	*sampling
	out    *Report
	looked int // number of times that the candidates were judged

	// y holds draws from the reference posterior. It is nil if there are none; the field
	// `why` then says why. The other fields describe y: the error of its solver and, by
	// assessed parameter, the tail index, and whether the tails are too heavy for a mean.
	y     *draws
	why   string
	own   referenceError
	tails []float64
	heavy []bool

	stray   float64 // see strays
	strayBy string

	weightings []*weighting             // by setup; nil if there are no weights
	scales     []*bayes.CalibratedAlpha // by setup; nil if α was not calibrated
	runs       []*draws                 // by candidate; nil without a run of its own
	failures   []string                 // by candidate: why a run of its own failed
}

// setupOf returns the index of the setup of candidate i.
func (a *assessment) setupOf(i int) int {
	if a.s.Noise != nil {
		return i / 2
	}
	return i
}

func (a *assessment) run() error {
	if m := a.modes.reference; m != nil {
		a.out.ReferenceModes, a.out.Unsearched = shares(m), m.Unnoticed()
	}
	if err := a.certify(); err != nil {
		return err
	}
	if err := a.drawReference(); err != nil || a.y == nil {
		return err
	}
	for {
		if a.mixed(a.y) { // otherwise nothing could be said of any candidate
			for i := range a.out.Candidates {
				if err := a.infer(i); err != nil {
					return err
				}
			}
			a.looked++
		}
		if a.judge(); a.looked == mostLooks || a.s.MaxTime > 0 && time.Since(a.begin) > a.s.MaxTime {
			return nil
		}
		more, err := a.extendAll()
		if err != nil || !more {
			return err
		}
	}
}

// certify computes the profile of the log likelihood, and a certificate for each setup.
// The certificate is based on the modes of two posteriors: the reference posterior, and
// the posterior of the setup.
func (a *assessment) certify() error {
	a.say("certificate")
	c, err := certify.New(a.ctx, a.p, a.reference())
	if err != nil {
		return a.ctx.Err() // the report then has no certificates
	}
	for _, m := range a.out.ReferenceModes {
		c.AddMode(m.Theta)
	}
	for i := range a.out.Candidates {
		x, f := a.out.Candidates[i], &a.modes.setups[a.setupOf(i)]
		if f.modes != nil {
			x.Unsearched = f.modes.Missed()
		}
		if x.Noisy {
			continue
		}
		// A climb from a phantom to a mode of the reference posterior ends far from the
		// phantom. The certificate therefore says that the reference posterior has no
		// mode near the phantom.
		var own [][]float64
		for _, m := range f.own {
			own = append(own, m.Theta)
		}
		if x.Certificate, err = c.Compare(a.setups[a.setupOf(i)].Setup, own); err != nil {
			if a.ctx.Err() != nil {
				return a.ctx.Err()
			}
			x.Certificate = nil
		}
		a.advance()
	}
	ends := []probode.Setup{a.setups[0].Setup, a.setups[len(a.setups)-1].Setup}
	a.out.Profile = c.Profile(ends[:min(2, len(a.setups))]...)
	return a.ctx.Err()
}

// drawReference draws from the reference posterior, and measures the error of its solver.
// If it cannot be sampled, drawReference stores the reason.
func (a *assessment) drawReference() error {
	if a.modes.reference == nil {
		a.why = fmt.Sprintf(saidNoModes, a.modes.err)
		return nil
	}
	y, err := a.given()
	if err == nil && y == nil {
		y, err = a.chooseAndSample(a.accurate(), a.modes.reference, a.seed(0))
	}
	if err != nil {
		a.why = fmt.Sprintf(saidNoDraws, err)
		return a.ctx.Err()
	}
	a.y = y
	a.advance()
	return a.describe()
}

// describe stores the numbers that describe the reference posterior.
func (a *assessment) describe() (err error) {
	y := a.y
	a.out.Drawn = fmt.Sprintf("%d × %d draws by %v", len(y.all.Draws), len(y.all.Draws[0]), y.sampler())
	a.heavy, a.tails = nil, nil
	for j, k := range a.assessed {
		heavy, index := diag.HeavyTails(y.all.Parameter(k))
		a.heavy, a.tails = append(a.heavy, heavy), append(a.tails, index)
		q := &a.out.Params[j]
		q.HeavyTails, q.Median, q.Mean = heavy, y.estimates[byQuantiles][j], y.estimates[byMoments][j]
		if a.hole(a.modes.reference, y.visitedReference, q.Mean, j).size > unvisitedSize {
			q.Mean = unknown()
		}
	}
	a.own, err = a.checkReference(y)
	return err
}

// infer computes the posterior of candidate i: by weights if they represent it, or else by
// a run of its own.
func (a *assessment) infer(i int) error {
	x, at := a.out.Candidates[i], a.setupOf(i)
	f := &a.modes.setups[at]
	if x.Verdict != Undecided || a.runs[i] != nil || a.failures[i] != "" {
		return a.ctx.Err()
	}
	// Draws that do not represent the reference posterior are a run of their own.
	apart := a.s.given() && at == a.madeBy && a.y.result.Sampler != ""
	if !x.Noisy && !apart && (f.modes == nil || !f.differs()) {
		w := cmp.Or(a.weightings[at], &weighting{setup: a.setups[at].Setup, modes: f.modes})
		err := a.weigh(w, a.y)
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		if a.weightings[at] = w; err != nil {
			a.weightings[at] = nil
		} else if a.represents(w, a.y) {
			return nil
		}
	}
	if f.modes == nil {
		a.failures[i] = f.err.Error()
		return nil
	}
	d, err := a.ownRun(x, at, a.seed(uint64(at), uint64(1+i-at)))
	for err == nil && d.size() < a.y.size() {
		var more bool
		if more, err = a.extend(d); !more {
			break
		}
	}
	if err != nil {
		a.failures[i] = err.Error()
		return a.ctx.Err()
	}
	a.runs[i] = d
	a.advance()
	return a.ctx.Err()
}

// ownRun draws from the posterior of x, whose setup has the index `at`.
func (a *assessment) ownRun(x *Candidate, at int, seed uint64) (*draws, error) {
	f := &a.modes.setups[at]
	if x.Noisy {
		p := a.frozen(at, f.first)
		p.Modes = f.modes
		if err := a.calibrate(at, p); err != nil {
			return nil, err
		}
		return a.sample(p, a.s.Noise, a.s.Chains, seed)
	}
	if a.s.given() && at == a.madeBy {
		p := a.of(at)
		p.Modes = f.modes
		d, err := a.fromDraws(p)
		if err != nil {
			return nil, err
		}
		for k, share := range d.visited {
			if m := f.modes.Modes[k]; m.Cov != nil && m.Mass > minor && share == 0 {
				return nil, fmt.Errorf(saidLacking, a.out.at(m.Theta), m.Mass)
			}
		}
		return d, nil
	}
	return a.chooseAndSample(a.of(at), f.modes, seed)
}

// chooseAndSample draws from a posterior without noise, whose modes are m.
func (a *assessment) chooseAndSample(p *bayes.Posterior, m *bayes.Modes, seed uint64) (*draws, error) {
	p.Modes = m
	best, err := sample.Choose(a.ctx, p, nil, a.s.Chains)
	if err != nil {
		return nil, err
	}
	return a.sample(p, best.Sampler, a.s.Chains, seed)
}

// calibrate sets p.Alpha to the value of α that fits the solver's error at the mode,
// unless α is given or a parameter.
func (a *assessment) calibrate(i int, p *bayes.Posterior) error {
	if p.AlphaParam != "" {
		return nil
	}
	a.say("alpha, %v", &a.setups[i])
	c, err := bayes.CalibrateAlpha(a.ctx, p, a.modes.setups[i].first, a.s.Calibrate)
	if err != nil {
		return fmt.Errorf("no noise: %w", err)
	}
	a.scales[i] = c
	p.Alpha = cmp.Or(a.p.Alpha, c.Alpha)
	return nil
}

// extendAll doubles the draws of the reference posterior, and those of the candidates that
// are not decided and have runs of their own. It reports whether there are more draws.
func (a *assessment) extendAll() (more bool, err error) {
	if !a.own.enough(a.out.Threshold) {
		return false, nil // more draws do not make the solver more accurate
	}
	open := false
	for i := range a.out.Candidates {
		if x := a.out.Candidates[i]; x.Verdict == Undecided && a.failures[i] == "" {
			open = true
			if d := a.runs[i]; d != nil {
				grown, err := a.extend(d)
				if err != nil {
					return false, err
				}
				more = more || grown
			}
		}
	}
	if !open {
		return false, nil
	}
	grown, err := a.extend(a.y)
	if err != nil || !grown {
		return more, err
	}
	return true, a.describe()
}

// conclude fills in the rest of the report.
func (a *assessment) conclude() {
	o := a.out
	a.judge()
	for i, x := range o.Candidates {
		x.Modes = slices.Clone(a.modes.setups[a.setupOf(i)].own)
	}
	if a.y != nil {
		least := a.effective(a.y)
		for _, d := range a.runs {
			if d != nil {
				least = math.Min(least, a.effective(d))
			}
		}
		o.Unseen = unseenMass(least)
	}
	o.Claims = a.claims()
}
