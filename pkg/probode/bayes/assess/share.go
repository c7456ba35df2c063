package assess

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/internal/estimate"
)

// The random walk of sample.Deterministic is too slow for some posteriors with several
// parameters. The reference posterior is then sampled as sample.Choose recommends, with
// catalog.Default as the solver. If these chains do not mix, a random walk is tried.
//
// Each draw gets a weight for the reference posterior, and a weight for the posterior at
// each step of the ladder. The Monte Carlo error of the difference between two posteriors
// is smaller if both are represented by the same draws than if they are sampled in
// separate runs.
//
// Weights contain no information about regions without draws. For example, the weights do
// not reveal a mode that exists only in the posterior at one of the steps. Therefore the
// posterior at a step is sampled separately in three cases:
//
//   - the search for modes has found a mode that exists only in the posterior at this
//     step, or only in the reference posterior;
//   - Metropolis moves for the posterior at this step reach regions without draws (see
//     missedAround);
//   - the weights for the posterior at this step cannot be trusted (see usable).

const (
	// A random walk works well for most shapes with fewer than manyParameters.
	manyParameters = 10
	// patience limits the sampling of the first posterior if Settings.MaxTime is zero,
	// from the beginning of Run.
	patience = 4 * time.Minute
	// The solvers are compared at one of every `explored` iterations of the random walk.
	explored = 10
)

// share samples the reference posterior by gradients or tempering, if there are many
// parameters and sample.Choose recommends it. If those chains do not mix, it tries a random
// walk, and after that bounds the effect (see Bound). If no further draws are to be made,
// `slow` has the reason.
func (a *assessment) share() error {
	if a.p.AlphaParam != "" || a.modes.reference == nil || len(a.p.Params) < manyParameters {
		return nil
	}
	q := a.p.SolvedBy(catalog.Default())
	q.Modes = a.modes.reference
	a.say("choice of the sampler")
	best, err := sample.Choose(a.ctx, q, nil, a.plan.s.Chains)
	if err != nil {
		return a.ctx.Err()
	}
	// If two posteriors share their draws, fewer draws are needed to compare them.
	chains := a.plan.s.Chains
	chains.Draws, chains.MinESS, chains.Start = min(chains.Draws, 500), math.Min(chains.MinESS, 1000), nil
	limit := cmp.Or(a.plan.s.MaxTime, patience)
	var y *standard
	var slow, good bool
	why, tried := fmt.Sprintf(saidTooLong, limit, best.Why), best.Why
	if _, ok := best.Sampler.(sample.Tempering); ok {
		chains.MinESS = 0 // the draws have nearly that many effective ones, and the time that they take is known
	}
	switch best.Sampler.(type) {
	case sample.NUTS, sample.Tempering:
		a.impatient = true
		y, err = a.drawAccurate(best.Posterior, best.Sampler, chains, a.seed(5000), limit, limit/4)
		a.impatient = false
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		slow, good = errors.Is(err, errTime), err == nil && y.usable && y.whole()
		if good && a.mixed(y.draws) {
			a.common = true
			return a.measureBy(y)
		}
	default:
		return nil
	}
	// A gradient-based sampler moves farther per iteration than a random walk, but the
	// random walk performs many more iterations per second.
	chains.MinESS, chains.Thin = 0, explored
	z, err := a.drawAccurate(best.Posterior, sample.Deterministic{}, chains, a.seed(5001), limit, limit/8)
	if err == nil {
		if z.usable && z.whole() && a.mixed(z.draws) {
			a.common = true
			return a.measureBy(z)
		}
		if err := a.bound(z); err != nil || a.slow != "" {
			return err
		}
	}
	switch {
	case good: // perhaps more draws will do
		a.common = true
		return a.measureBy(y)
	case slow && err == nil:
		a.slow = fmt.Sprintf(saidUnmixed, z.summed.worstRHat(), why)
	case slow:
		a.slow = fmt.Sprintf(saidSlow, limit, tried)
	}
	return a.ctx.Err()
}

func (a *assessment) sharing() bool {
	return slices.ContainsFunc(a.runs, func(d *draws) bool { return d != nil && d.shared })
}

// shares is false if one of the two posteriors has a mode that the other lacks.
func (a *assessment) shares(i int) bool {
	return a.common && !slices.ContainsFunc(a.modes.steps[i].own, func(m ModeShare) bool { return m.Phantom || m.Missed })
}

// weighted reweights draws y of q so that they represent the posterior p of step i. With
// the reference r, p − r = (q − r) − (q − p), and the weights of y have already given q −
// r. `raw` holds known log weights or nil.
func (s *sampling) weighted(y *draws, i int, raw [][]float64) (*draws, error) {
	s.say("solutions at the draws, %v", &s.ladder[i])
	d := *y
	d.pair, d.to, d.shared, d.raw, d.weights = &s.modes.steps[i], s.ladder[i].setup, true, raw, nil
	before := s.weighing
	if err := s.weigh(&d); err != nil {
		return nil, err
	}
	for by := range measures {
		d.estimates[by] = slices.Clone(d.accurate[by])
		for k, to := range d.shifts[by] {
			from := y.shifts[by][k]
			ratio := from.Ratio / to.Ratio
			d.shifts[by][k] = estimate.Difference{
				Center: from.Center - to.Center, CenterSE: math.Hypot(from.CenterSE, to.CenterSE),
				Ratio: ratio, RatioSE: ratio * math.Hypot(from.RatioSE/from.Ratio, to.RatioSE/to.Ratio),
			}
		}
		d.accurate[by] = y.accurate[by]
	}
	d.visited = nil // these are shares of the draws without weights
	inf := *y.summed
	inf.Sampler += ", weighted"
	inf.Summary = slices.Clone(inf.Summary)
	for k := range inf.Summary {
		inf.Summary[k].BulkESS *= d.kish()
	}
	inf.Solves, inf.Seconds = len(d.few.Draws)*len(d.few.Draws[0]), s.weighing-before
	inf.ESSPerSecond *= d.kish()
	d.drawing, d.summed = math.NaN(), &inf
	return &d, nil
}
