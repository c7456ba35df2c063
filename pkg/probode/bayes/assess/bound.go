package assess

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// If chains do not mix, the reference posterior is not known. It may still be possible to
// show that the solver's error is harmless. Suppose that the difference between two log
// likelihoods varies by at most r over a region. Let w be the ratio of the two normalised
// posterior densities. The mean of w is 1, and there is a number m ≤ 1 such that m ≤ w ≤
// m eʳ in the whole region. The following bounds hold for every posterior distribution on
// the region:
//
//   - the sd of w is at most sinh(r/2), so by the Cauchy–Schwarz inequality no mean moves
//     by more than sinh(r/2) standard deviations;
//   - w and 1/w are at most eʳ, so no sd changes by a factor of more than e^{r/2};
//   - no probability changes by more than tanh(r/4).
//
// None of these bounds can be improved: each is attained or approached by distributions
// for which w takes only two values.

// longest is the largest length of Bound.Whole with which a verdict is possible.
const longest = 1

// bound is for chains of y that have not mixed: it compares log likelihoods with those of
// the reference at the weighted draws. If the smallest step is negligible, sampling ends.
func (a *assessment) bound(y *standard) error {
	// The reference has to be accurate at all points, not only where the weights are large.
	z, even := *y, *y.draws
	z.draws, even.weights = &even, make([][]float64, len(y.weights))
	for c, w := range y.weights {
		even.weights[c] = slices.Repeat([]float64{1}, len(w))
	}
	own, err := a.checkReference(&z)
	if err != nil {
		return err
	}
	worst := y.summed.worstRHat()
	for i := range a.ladder {
		if a.modes.steps[i].modes == nil {
			continue
		}
		d := *y.draws
		d.to, d.raw = a.ladder[i].setup, nil
		a.say("solutions at the draws, %v", &a.ladder[i])
		if err := a.rawWeights(&d); err != nil {
			return a.ctx.Err()
		}
		var off []float64
		for c, raw := range d.raw {
			for k, v := range raw {
				if k > 0 && slices.Equal(d.few.Draws[c][k], d.few.Draws[c][k-1]) {
					continue // the chain has not moved
				}
				off = append(off, nanOr(v-y.raw[c][k], math.Inf(1))) // NaN if neither can be solved
			}
		}
		slices.Sort(off)
		n, out, st := len(off), len(off)/left, &a.out.Steps[i]
		b := &Bound{Points: n, RHat: worst, Range: [2]float64{off[out], off[n-1-out]}, Whole: [2]float64{off[0], off[n-1]}, Verdict: Undecided}
		limit := a.out.Threshold
		sure := n >= fewest && own.enough(limit) && verdictOnModes(a.modes.steps[i].own) == Negligible && st.Certificate != nil && st.Certificate.Certified(limit)
		if sure && b.Ratio() <= 1+limit && off[n-1]-off[0] <= longest { // Shift is smaller than Ratio − 1
			b.Verdict = Negligible
		}
		st.Bound = b
	}
	if b := a.out.Steps[a.finest()].Bound; b != nil && b.Verdict == Negligible {
		a.own, a.slow = own, fmt.Sprintf(saidNotMixed, worst)
	}
	return a.ctx.Err()
}

// drawAccurate ends some time before the limit, because the weights take time, too.
func (a *assessment) drawAccurate(q *bayes.Posterior, sampler sample.Sampler, chains mcmc.Settings, seed uint64, limit, rest time.Duration) (*standard, error) {
	a.within = limit - rest
	d, err := a.sample(q, &pairing{modes: q.Modes}, sampler, chains, seed)
	if err != nil {
		return nil, err
	}
	a.say("accurate solutions")
	a.within = limit
	whole := a.ctx
	ctx, end := a.limited()
	a.ctx = ctx
	err = a.weigh(d)
	a.ctx = whole
	late := context.Cause(ctx) == errTime
	end()
	switch {
	case late:
		return nil, errTime
	case err != nil:
		return nil, err
	}
	return a.standard(d, fmt.Sprintf("the weighted draws (solver: %v, %s; sampler: %v)", q.Method, setting(q), sampler)), nil
}
