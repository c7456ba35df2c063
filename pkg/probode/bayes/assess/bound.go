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

// If chains do not mix, the accurate posterior is not known, but the solver's error may
// still be known to be harmless. If the difference between two log likelihoods varies by
// at most r over a region, the ratio w of the two normalised posterior densities lies
// between m and m eʳ there, with m ≤ 1, and its mean is 1. For every posterior
// distribution on the region,
//
//   - the sd of w is at most sinh(r/2), so by the Cauchy–Schwarz inequality no mean moves
//     by more than sinh(r/2) standard deviations;
//   - w and 1/w are at most eʳ, so no sd changes by a factor of more than e^{r/2};
//   - no probability changes by more than tanh(r/4).
//
// None of these bounds can be improved: each is attained or approached by distributions
// for which w takes only two values.

// A Bound limits the effect of the solver's error on a posterior that could not be
// sampled. The bound holds for every distribution over the points that the chains have
// reached, except for the few points outside Range.
type Bound struct {
	Points int     // different points at which the log likelihoods were compared
	RHat   float64 // the largest R̂ of the chains, far above 1 if they have not mixed
	// At each point the log likelihood computed with the step differs from that of the
	// reference. Range is an interval that contains these differences except for the
	// smallest 0.1 % and the largest 0.1 %. Whole is an interval that contains all these
	// differences.
	Range, Whole [2]float64
	// Verdict is Negligible if the bounds are within the threshold, Whole is shorter than
	// 1, there are at least fifty points, the reference is accurate at these points, both
	// posteriors have the same modes, and there is a certificate. Otherwise Verdict is
	// Undecided. The certificate is needed because chains that hardly move explore only a
	// small region.
	Verdict Verdict
}

const (
	left    = 1000 // one point in so many is left out at either end of Bound.Range
	longest = 1    // the longest Bound.Whole for a verdict
)

func (b *Bound) length() float64 { return b.Range[1] - b.Range[0] }

// The method covered() returns the percentage of the points whose differences lie in
// Range.
func (b *Bound) covered() float64 {
	return 100 * float64(b.Points-2*(b.Points/left)) / float64(b.Points)
}

// Shift returns the bound on the shift of a mean, in standard deviations.
func (b *Bound) Shift() float64 { return math.Sinh(b.length() / 2) }

// Ratio returns the bound on the factor by which a standard deviation changes.
func (b *Bound) Ratio() float64 { return math.Exp(b.length() / 2) }

// Probability returns the bound on the change of a probability.
func (b *Bound) Probability() float64 { return math.Tanh(b.length() / 4) }

// The method bound() compares the steps with the reference at the weighted draws of y,
// whose chains have not mixed. If the smallest step has the verdict Negligible, no
// further sampling is needed, and bound() stores the reason in the field slow.
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

// drawAccurate samples an accurate posterior and computes weights for the draws. The
// weights have to be finished within the time limit, so sampling has to stop earlier.
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
	return a.standard(d, fmt.Sprintf("the weighted draws computed with %v, %s, and generated by %v", q.Method, setting(q), sampler)), nil
}
