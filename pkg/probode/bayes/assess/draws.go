package assess

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/internal/estimate"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

type draws struct {
	p       *bayes.Posterior
	pair    *pairing // the modes of p; nil if they are not known
	target  sample.TargetDistribution
	summed  *Inference
	failed  float64  // share of evaluations after burn-in that failed
	drawing float64  // the part of the time of the run that is proportional to the number of draws
	notes   []string // warnings of the sampler

	// estimates holds the centre and the spread of each quantity, indexed by measure and
	// quantity. The field `sound` says for each quantity whether the standard errors in the
	// field `estimates` can be trusted.
	estimates [measures][]CenterSpread
	sound     []bool
	gaps      []bool // by quantity: see Effect.Gap
	// For each mode in the field `pair`, the field `visited` holds the share of the draws
	// that belong to this mode. The field visitedReference holds the share of the draws
	// in each mode of the reference posterior. The fields `visited` and
	// `visitedReference` are nil if the shares are not known.
	visited, visitedReference []float64

	result sample.Measurement
	first  int // initial number of draws in each chain
	all    *mcmc.Chains
	few    *mcmc.Chains // evenly spaced draws at which the equations are solved accurately

	// The weighted draws represent the posterior computed with the setup in the field
	// `to`. If the field `shared` is true, the field `to` holds the setup for one of the
	// assessed steps (see sampling.weighted). If the field `shared` is false, the field
	// `to` holds the setup of the reference.
	to     probode.Setup
	shared bool

	// raw holds the log weights that have been computed for the draws in the field `few`.
	// The field `weights` holds the smoothed weights, whose mean is 1. The fields `raw` and
	// `weights` are nil until the weights are computed. The fields `shifts` and `accurate`
	// hold estimates from the weights, indexed by measure and quantity. The field `shifts`
	// holds the effects of the solver's error. The field `accurate` holds the centres and
	// the spreads of the reference posterior.
	raw, weights [][]float64
	khat, limit  float64 // k̂ of the weights, and the largest k̂ that can be trusted
	missed       float64 // approximate share of the reference posterior that the weighted draws do not reach
	shifts       [measures][]estimate.Difference
	accurate     [measures][]CenterSpread

	// Draws are assigned to the modes of the reference posterior. The slice modeOf holds
	// the index of the mode for each draw in the field `all`. The slice modeOfFew holds
	// the index of the mode for each draw in the field `few`. The slices modeOf and
	// modeOfFew are nil if the posterior is not divided into parts.
	modeOf, modeOfFew [][]int

	// The chains are divided into parts of equal length, and the field `few` holds the
	// last draw of each part. The fields `center` and `log` hold the contribution of each
	// part to the errors of the centre and of the log spread. The fields `center` and
	// `log` are indexed by measure, quantity, chain, and position of the draw in `few`.
	// See estimate.Measure.Stretches.
	center, log [measures][][][]float64
}

// size is a multiple of the initial number of draws.
func (d *draws) size() int { return len(d.all.Draws[0]) / d.first }

// thousand returns the seconds for 1000 effective draws, or NaN.
func (d *draws) thousand() float64 {
	if s := 1000 * d.drawing / (d.summed.ESSPerSecond * d.summed.Seconds); s > 0 && !math.IsInf(s, 0) {
		return s
	}
	return math.NaN()
}

// cost returns the seconds for 1000 effective draws with all preparation and burn-in.
func (d *draws) cost() float64 { return d.summed.Seconds - d.drawing + d.thousand() }

type sampling struct {
	*plan
	*work
	modes      *found
	quantities []quantity
	weighing   float64       // time of the accurate solutions at the draws in seconds
	begin      time.Time     // of the assessment
	within     time.Duration // after begin, in which sampling has to end; 0 means no limit
	impatient  bool          // sampling ends as soon as twice the time that is left would not do
}

var errTime = errors.New("not sampled within the time limit")

func (s *sampling) limited() (context.Context, context.CancelFunc) {
	if s.within == 0 {
		return context.WithCancel(s.ctx)
	}
	return context.WithDeadlineCause(s.ctx, s.begin.Add(s.within), errTime)
}

func (s *sampling) sample(p *bayes.Posterior, f *pairing, sampler sample.Sampler, chains mcmc.Settings, seed uint64) (*draws, error) {
	p.Modes = f.modes
	chains.Seed = seed
	limited, end := s.limited()
	defer end()
	ctx, giveUp := context.WithCancelCause(limited)
	defer giveUp(nil)
	begin := time.Now()
	chains.Progress = func(done, total int, doing string) {
		s.say("%v, %s: %d %%, %s", sampler, setting(p), 100*done/max(1, total), doing)
		// The first iterations of a chain may be slower than the later ones, so the
		// predicted time may be too long. Sampling is given up only if it is predicted to
		// take more than twice the time that is left.
		spent, left := time.Since(begin).Seconds(), time.Until(s.begin.Add(s.within)).Seconds()
		if s.impatient && spent > s.within.Seconds()/10 && spent*float64(total-done) > 2*left*float64(done) {
			giveUp(errTime)
		}
	}
	var r sample.Measurement
	err := ctx.Err() // a short run does not look at ctx
	if err == nil {
		r, err = sample.Measure(ctx, p, sampler, chains)
	}
	if err != nil && context.Cause(ctx) == errTime {
		err = fmt.Errorf("%w: %v", errTime, s.within)
	}
	if err != nil {
		return nil, fmt.Errorf("%v, %s: %w", sampler, setting(p), err)
	}
	if err := s.ctx.Err(); err != nil {
		return nil, err // with many draws the code below takes seconds
	}
	d := &draws{p: p, pair: f, target: sampler.Target().Distribution, first: len(r.Chains.Draws[0]), to: s.s.Accurate, khat: math.NaN(), limit: math.NaN()}
	if err := s.take(d, r); err != nil {
		return nil, err
	}
	if !s.s.Auto {
		d.result = sample.Measurement{} // no draws will be added, so release its memory
	}
	return d, nil
}

func (s *sampling) more(d *draws, size int) (changed bool, err error) {
	if size <= d.size() {
		return false, nil
	}
	s.say("more draws, %s", setting(d.p))
	ctx, end := s.limited()
	defer end()
	r, err := d.result.More(ctx, size*d.first)
	if err != nil && context.Cause(ctx) == errTime {
		return false, errTime
	}
	if err != nil {
		return false, fmt.Errorf("more draws, %s: %w", setting(d.p), err)
	}
	return true, s.take(d, r)
}

// take stores r, which begins with the draws of d if there are any.
func (s *sampling) take(d *draws, r sample.Measurement) error {
	c := r.Chains
	d.result, d.all = r, c
	s.summarise(d, r)
	// The number of weighted draws is proportional to the number of all draws. So the
	// number of iterations between successive weighted draws stays the same when draws
	// are added. In each chain of d.few, the draws that already have weights come first.
	n := min(d.first, max(8, s.s.Weighed/len(c.Draws))) * (len(c.Draws[0]) / d.first)
	d.few = fewer(c, n)
	if len(s.quantities) > len(s.assessed) {
		var err error
		if d.modeOf, err = modes.Assign(d.p, s.modes.reference, d.all); err != nil {
			return err
		}
		if d.modeOfFew, err = modes.Assign(d.p, s.modes.reference, d.few); err != nil {
			return err
		}
	}
	d.sound, d.gaps = nil, nil
	for by := range measures {
		d.center[by], d.log[by], d.estimates[by] = nil, nil, nil
		for _, q := range s.quantities {
			x, in := c.Parameter(q.param), belong(d.modeOf, q.part)
			center, log := by.Stretches(x, in, n)
			d.center[by], d.log[by] = append(d.center[by], center), append(d.log[by], log)
			m := d.summed.Summary[q.param]
			e := CenterSpread{m.Mean, m.MCSE, m.SD, m.MCSESD}
			if by == byQuantiles || q.part >= 0 {
				e = CenterSpread(by.Apply(x, in))
			}
			d.estimates[by] = append(d.estimates[by], e)
			if by == byQuantiles {
				// A part of the posterior has too few draws if the standard error of the
				// centre is more than a seventh of the spread.
				d.sound = append(d.sound, sound(m) && (q.part < 0 || e.Spread/e.CenterSE >= math.Sqrt(fewest)))
				d.gaps = append(d.gaps, estimate.Jumps(x, in))
			}
		}
	}
	d.visited, d.visitedReference = nil, nil
	d.visited, _ = modes.Shares(d.p, d.pair.modes, c) // nil after an error: the shares are not known
	if s.modes.reference != nil {
		d.visitedReference, _ = modes.Shares(d.p, s.modes.reference, c)
	}
	return nil
}

func (d *draws) forget() {
	d.result, d.all, d.few, d.modeOf, d.modeOfFew = sample.Measurement{}, nil, nil, nil, nil
	d.center, d.log = [measures][][][]float64{}, [measures][][][]float64{}
}

func (d *draws) three() (out [][]float64) {
	for k := range 3 {
		chain := d.all.Draws[k%len(d.all.Draws)][:d.first]
		out = append(out, slices.Clone(chain[max(0, (k+1)*len(chain)/3-1)]))
	}
	return out
}

func (s *sampling) summarise(d *draws, r sample.Measurement) {
	c := r.Chains
	d.summed = &Inference{
		Sampler: r.Sampler.String(), Summary: r.Summary, Draws: len(c.Draws[0]), Chains: len(c.Draws),
		Solves: int(math.Round(r.Work)), Seconds: r.Seconds,
	}
	if _, ok := r.Sampler.(sample.Replacer); ok {
		d.summed.Replaced = r.Sampler.String()
	}
	d.drawing, d.failed, d.notes = r.Drawing, 0, nil
	for _, note := range c.Notes {
		if warning, ok := strings.CutPrefix(note, "warning: "); ok {
			d.notes = append(d.notes, warning)
		}
	}
	var failed, proposed int
	for _, st := range c.Stats {
		failed += st.Failed + st.Latent.Failed
		proposed += st.Proposed + st.Latent.Proposed
	}
	if proposed > 0 {
		d.failed = float64(failed) / float64(proposed)
	}
	ess := math.Inf(1)
	for _, k := range s.assessed {
		ess = math.Min(ess, d.summed.Summary[k].BulkESS)
	}
	d.summed.ESSPerSecond = ess / d.summed.Seconds
}

func (s *sampling) mixed(d *draws) bool {
	return !slices.ContainsFunc(s.assessed, func(k int) bool { return !sound(d.summed.Summary[k]) })
}

func (inf *Inference) worstRHat() (worst float64) {
	for _, m := range inf.Summary {
		worst = math.Max(worst, m.RHat)
	}
	return worst
}

func sound(m diag.Marginal) bool { return m.RHat <= mixed && m.BulkESS >= fewest }

func setting(p *bayes.Posterior) string {
	if h := p.StepSize(); h > 0 {
		return fmt.Sprintf("h = %.4g", h)
	}
	return p.Mesh.String()
}

// fewer returns n evenly spaced draws from each chain.
func fewer(c *mcmc.Chains, n int) *mcmc.Chains {
	out := &mcmc.Chains{Names: c.Names, Quantities: c.Quantities}
	for i, chain := range c.Draws {
		var x, g [][]float64
		for k := range n {
			at := (k+1)*len(chain)/n - 1
			x = append(x, slices.Clone(chain[at]))
			g = append(g, slices.Clone(c.Generated[i][at]))
		}
		out.Draws, out.Generated = append(out.Draws, x), append(out.Generated, g)
	}
	return out
}

// resampled returns up to n different draws that represent the posterior with the setup
// d.to: the first ones at which the cumulative weight exceeds W (i + ½)/n, where W is the
// sum of all weights.
func (d *draws) resampled(n int) (out [][]float64) {
	all := d.few.Pooled()
	weights := slices.Concat(d.weights...)
	var sum, at float64
	for _, w := range weights {
		sum += w
	}
	next := 0
	for i, w := range weights {
		at += w
		before := next
		for next < n && at > (float64(next)+0.5)/float64(n)*sum {
			next++
		}
		if next > before && (len(out) == 0 || !slices.Equal(out[len(out)-1], all[i])) {
			out = append(out, all[i])
		}
	}
	return out
}
