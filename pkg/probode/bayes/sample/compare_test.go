package sample_test

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// All samplers on one model through one call. Each correct one agrees with
// quadrature for its own distribution, 2 checks of 7e-6 each, 16 in all; the paper's
// sampler and the expected likelihood do not, by more than 5 standard errors.
func TestCompare(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := decayPosterior(decayAlpha, decayY)
	type dist struct{ mean, sd float64 }
	of := func(mean, sd float64) dist { return dist{mean, sd} }
	classical, noisy := of(decayMoments(t, 0, decayY)), of(decayMoments(t, decayAlpha, decayY))
	// In this order: sampler, its distribution, the range of its work.
	cases := []struct {
		s        sample.Sampler
		dist     dist
		lo, hi   float64
		deviates bool
	}{
		{sample.Deterministic{Proposal: walk}, classical, 1, 1, false},
		{sample.PCNWithinGibbs{Proposal: walk}, noisy, 1.9, 2.1, false},
		{sample.PseudoMarginal{Particles: 8, Proposal: walk}, noisy, 0, 8.1, false},
		{sample.PseudoMarginal{Particles: 8, Correlation: 0.9, Proposal: walk}, noisy, 0, 8.1, false},
		{sample.RedrawOnAccept{Proposal: walk}, noisy, 1, 2, true},
		{sample.PseudoMarginal{Particles: 2, Proposal: walk, Expected: true}, noisy, 4, 4, true},
	}
	var samplers []sample.Sampler
	for _, c := range cases {
		samplers = append(samplers, c.s)
	}
	out, err := sample.Compare(context.Background(), p, samplers, mcmc.Settings{Draws: 5000, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		r := out[i]
		if c.deviates {
			m := r.Chains.Summary()[0]
			zm, zs := (m.Mean-c.dist.mean)/m.MCSE, (m.SD-c.dist.sd)/diag.MCSESD(r.Chains.Parameter(0))
			t.Logf("%v: mean off by %+.3f sd (%.1f standard errors), sd by %+.1f %% (%.1f)", c.s, (m.Mean-c.dist.mean)/c.dist.sd, zm, 100*(m.SD/c.dist.sd-1), zs)
			if math.Abs(zm) < 5 && math.Abs(zs) < 5 {
				t.Errorf("%v: no deviation: mean %.4f for %.4f, sd %.4f for %.4f", c.s, m.Mean, c.dist.mean, m.SD, c.dist.sd)
			}
		} else {
			agreeWeighted(t, r.Sampler, r.Chains, c.dist.mean, c.dist.sd)
		}
		// A move to where the prior is zero, or past a filter that has died,
		// takes no solve, so that the bounds need some room below.
		if !(r.Solves >= 0.98*c.lo && r.Solves <= 1.001*c.hi) {
			t.Errorf("%v: %.3f solves a draw, want %g to %g", c.s, r.Solves, c.lo, c.hi)
		}
		if !(r.Seconds > 0 && r.ESS > 0) {
			t.Errorf("%v: %g s, ESS %g", c.s, r.Seconds, r.ESS)
		}
	}
	table := out.String()
	for _, want := range []string{"solves/draw", "pcn"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
}

// The same seed gives the same numbers, for any number of workers, the times
// apart; and starts are common to the samplers.
func TestCompareIsDeterministic(t *testing.T) {
	p := decayPosterior(decayAlpha, decayY)
	samplers := []sample.Sampler{sample.Deterministic{}, sample.PCNWithinGibbs{}}
	var all []sample.Comparison
	for _, workers := range []int{1, 3} {
		c, err := sample.Compare(context.Background(), p, samplers, mcmc.Settings{Draws: 50, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		for i := range c {
			c[i].Seconds, c[i].Preparation, c[i].Drawing = 0, 0, 0
		}
		all = append(all, c)
	}
	if !reflect.DeepEqual(all[0], all[1]) {
		t.Error("the comparison depends on the number of workers")
	}
}

func TestCompareErrors(t *testing.T) {
	out, err := sample.Compare(context.Background(), decayPosterior(0, decayY), []sample.Sampler{sample.Deterministic{Proposal: walk}, sample.PCNWithinGibbs{}}, mcmc.Settings{Draws: 10})
	if len(out) != 1 || err == nil || !strings.HasPrefix(err.Error(), "pcn: ") {
		t.Errorf("%d results, error %v", len(out), err)
	}
}
