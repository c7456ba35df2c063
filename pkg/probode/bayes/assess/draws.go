package assess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/internal/estimate"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

type draws struct {
	p      *bayes.Posterior
	result sample.Measurement
	all    *mcmc.Chains
	first  int      // initial number of draws in each chain; 0 for draws that exist already
	notes  []string // warnings of the sampler

	// own holds the log likelihood of each draw with the solver of the draws. If they were
	// drawn with another solver than that of p, drawn is their posterior, and weights are
	// those with which they represent p.
	own, weights [][]float64
	khat         float64 // of these weights
	drawn        *bayes.Posterior

	// estimates holds the centre and the spread of each quantity, indexed by measure and
	// quantity. The field `sound` says for each quantity whether the standard errors in the
	// field `estimates` can be trusted, and `gaps` whether a quantile may lie in a gap
	// between modes.
	estimates [measures][]CenterSpread
	sound     []bool
	gaps      []bool

	// modeOf holds the index of the mode of the reference posterior for each draw; it is
	// nil if the posterior is not divided into parts. visitedReference holds the share of
	// the draws in each of these modes, and visited the share in each mode of p. The shares
	// are nil if they are not known.
	modeOf                    [][]int
	visited, visitedReference []float64
}

// size is a multiple of the initial number of draws.
func (d *draws) size() int { return len(d.all.Draws[0]) / max(1, d.first) }

// sampler says what has made the draws.
func (d *draws) sampler() string {
	return cmp.Or(d.result.Sampler, "another program")
}

// A value of the type `sampling` generates draws, and computes the estimates that are
// compared.
type sampling struct {
	*plan
	*work
	modes      *found
	quantities []quantity
	begin      time.Time // of the assessment
}

var errTime = errors.New("the time limit")

// limited returns a context that is cancelled with the cause errTime at the end of
// Settings.MaxTime.
func (s *sampling) limited() (context.Context, context.CancelFunc) {
	if s.s.MaxTime == 0 {
		return context.WithCancel(s.ctx)
	}
	return context.WithDeadlineCause(s.ctx, s.begin.Add(s.s.MaxTime), errTime)
}

// sample runs a sampler on the posterior p, whose modes are known, and returns the draws
// and the estimates.
func (s *sampling) sample(p *bayes.Posterior, sampler sample.Sampler, chains mcmc.Settings, seed uint64) (*draws, error) {
	chains.Seed = seed
	ctx, end := s.limited()
	defer end()
	percent := 0
	chains.Progress = func(done, total int, doing string) {
		percent = 100 * done / max(1, total)
		s.say("%v, %v: %d %%, %s", sampler, p.Setup, percent, doing)
	}
	var r sample.Measurement
	err := ctx.Err() // a short run does not look at ctx
	if err == nil {
		r, err = sample.Measure(ctx, p, sampler, chains)
	}
	switch {
	case s.ctx.Err() != nil:
		return nil, s.ctx.Err()
	case err != nil && context.Cause(ctx) == errTime:
		return nil, fmt.Errorf("%w of %v was reached at %d %% of the first draws", errTime, s.s.MaxTime, percent)
	case err != nil:
		return nil, fmt.Errorf("%v, %v: %w", sampler, p.Setup, err)
	}
	d := &draws{p: p, drawn: p, first: len(r.Chains.Draws[0])}
	return d, s.take(d, r)
}

// extend doubles the number of draws, and reports whether the budget allowed it.
func (s *sampling) extend(d *draws) (bool, error) {
	if d.first == 0 {
		return false, nil
	}
	budget := growth
	if n := s.s.MaxDraws; n > 0 {
		budget = max(1, n/d.first)
	}
	size := min(2*d.size(), budget)
	if size <= d.size() {
		return false, nil
	}
	s.say("more draws, %v", d.p.Setup)
	ctx, end := s.limited()
	defer end()
	r, err := d.result.More(ctx, size*d.first)
	switch {
	case s.ctx.Err() != nil:
		return false, s.ctx.Err()
	case err != nil && context.Cause(ctx) == errTime:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("more draws, %v: %w", d.p.Setup, err)
	}
	return true, s.take(d, r)
}

// take stores r, which begins with the draws of d if there are any.
func (s *sampling) take(d *draws, r sample.Measurement) error {
	c := r.Chains
	d.result, d.all = r, c
	d.notes = nil
	for _, note := range c.Notes {
		if warning, ok := strings.CutPrefix(note, "warning: "); ok {
			d.notes = append(d.notes, warning)
		}
	}
	if len(s.quantities) > len(s.assessed) {
		var err error
		if d.modeOf, err = modes.Assign(d.p, s.modes.reference, d.all); err != nil {
			return err
		}
	}
	d.sound, d.gaps = nil, nil
	for by := range measures {
		d.estimates[by] = nil
		for _, q := range s.quantities {
			x, in := c.Parameter(q.param), belong(d.modeOf, q.part)
			m := r.Summary[q.param]
			e := CenterSpread{m.Mean, m.MCSE, m.SD, m.MCSESD}
			switch {
			case d.weights != nil:
				_, v := by.Weighed(x, nil, d.weights, in)
				widen := by.Widen(d.khat)
				v.CenterSE, v.SpreadSE = v.CenterSE*widen, v.SpreadSE*widen
				e = CenterSpread(v)
			case by == byQuantiles || q.part >= 0:
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
	if d.p.Modes != nil {
		d.visited, _ = modes.Shares(d.p, d.p.Modes, c) // nil after an error: the shares are not known
	}
	if s.modes.reference != nil {
		d.visitedReference, _ = modes.Shares(d.p, s.modes.reference, c)
	}
	return nil
}

// mixed reports whether the chains have mixed in all assessed parameters.
func (s *sampling) mixed(d *draws) bool {
	for _, k := range s.assessed {
		if !sound(d.result.Summary[k]) {
			return false
		}
	}
	return true
}

// effective returns the smallest effective sample size of an assessed parameter.
func (s *sampling) effective(d *draws) float64 {
	least := math.Inf(1)
	for _, k := range s.assessed {
		least = math.Min(least, nanOr(d.result.Summary[k].BulkESS, 0))
	}
	return least
}

// worstRHat returns the largest R̂ of all parameters.
func (d *draws) worstRHat() (worst float64) {
	for _, m := range d.result.Summary {
		worst = math.Max(worst, m.RHat)
	}
	return worst
}

func sound(m diag.Marginal) bool { return m.RHat <= mixed && m.BulkESS >= fewest }

// resampled returns up to n different draws with the given weights; nil stands for equal
// weights. Let W be the sum of all weights. For i = 0, …, n−1, resampled selects the
// first draw at which the cumulative weight exceeds W (i + ½)/n.
func (d *draws) resampled(weights [][]float64, n int) (out [][]float64) {
	all, w := d.all.Pooled(), slices.Concat(weights...)
	if weights == nil {
		w = slices.Repeat([]float64{1}, len(all))
	}
	sum, at, next := floats.Sum(w), 0.0, 0
	for k, theta := range all {
		at += w[k]
		before := next
		for next < n && at > (float64(next)+0.5)/float64(n)*sum {
			next++
		}
		if next > before && (len(out) == 0 || !slices.Equal(out[len(out)-1], theta)) {
			out = append(out, theta)
		}
	}
	return out
}

func nanOr(v, other float64) float64 {
	if math.IsNaN(v) {
		return other
	}
	return v
}
