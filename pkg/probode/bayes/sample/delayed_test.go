package sample_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// The distribution is that of the fine step, whatever the coarse one: 8 checks of 7e-6
// each. That of the coarse step alone lies more than 10 standard errors off, so
// that a second stage that did nothing would be seen.
func TestDelayedAcceptance(t *testing.T) {
	fine, fineSD := decayMoments(t, 0, decayY)
	noisy, noisySD := decayMoments(t, decayAlpha, decayY)
	p := decayPosterior(decayAlpha, decayY)
	for _, c := range []struct {
		name     string
		s        sample.DelayedAcceptance
		mean, sd float64
	}{
		{"four times", sample.DelayedAcceptance{First: probode.Setup{Mesh: probode.Uniform(0.5)}, Proposal: walk}, fine, fineSD},
		{"default rule", sample.DelayedAcceptance{First: probode.Setup{Mesh: probode.Uniform(0.25)}}, fine, fineSD},
		{"another method", sample.DelayedAcceptance{First: probode.Setup{Method: probode.RungeKutta{}, Mesh: probode.Uniform(0.5)}, Proposal: walk}, fine, fineSD},
		{"noise", sample.DelayedAcceptance{First: probode.Setup{Mesh: probode.Uniform(0.25)}, Noise: true, Proposal: walk}, noisy, noisySD},
	} {
		chains := run(t, p, c.s, 12000)
		agree(t, c.name, chains, c.mean, c.sd)
		if !strings.Contains(strings.Join(chains.Notes, "\n"), "coarse stage saved") {
			t.Errorf("%s: notes %q do not say what was spared", c.name, chains.Notes)
		}
		if c.name == "four times" {
			coarse, _ := moments(decayClassical(0.5, decayY))
			if m := chains.Summary()[0]; math.Abs(coarse-m.Mean) < 10*m.MCSE {
				t.Errorf("mean %.4f of the coarse step is too near to %.4f for a test", coarse, m.Mean)
			}
		}
	}
}

// With a first stage that is as fine as the second, each move that passes the
// first is accepted: the chain is that of Deterministic, bit for bit.
func TestDelayedAcceptanceByItself(t *testing.T) {
	p := decayPosterior(0, decayY)
	a := run(t, p, sample.Deterministic{Proposal: walk}, 500)
	b := run(t, p, sample.DelayedAcceptance{First: probode.Setup{Mesh: probode.Uniform(decayStep)}, Proposal: mcmc.AdaptiveMetropolis{Scale: []float64{0.3}}}, 500)
	for c := range a.Draws {
		for k := range a.Draws[c] {
			if a.Draws[c][k][0] != b.Draws[c][k][0] {
				t.Fatalf("chain %d, draw %d: %v and %v", c, k, a.Draws[c][k], b.Draws[c][k])
			}
		}
	}
}

func TestDelayedAcceptanceErrors(t *testing.T) {
	for want, s := range map[string]sample.DelayedAcceptance{
		"step is -1":                {First: probode.Setup{Mesh: probode.Uniform(-1)}},
		"first stage":               {First: probode.Setup{Mesh: probode.Uniform(3)}},
		"there is no noise to move": {Noise: true, First: probode.Setup{Mesh: probode.Uniform(0.5)}},
	} {
		_, err := sample.Run(context.Background(), decayPosterior(0, decayY), s, mcmc.Settings{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, want)
		}
	}
}

// A θ at which the coarse solver fails is rejected and counted, and no start.
func TestDelayedAcceptanceFailures(t *testing.T) {
	// Forward Euler of step 1 takes θ > 1.5 to negative states, where f has
	// no value; with step 1/8 it does not.
	p := decayPosterior(0, decayY)
	p.Experiments[0].Problem.F = func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * math.Sqrt(x[0]) * math.Sqrt(x[0]) }
	tries := 0
	c, err := sample.Run(context.Background(), p, sample.DelayedAcceptance{First: probode.Setup{Mesh: probode.Uniform(1)}, Proposal: walk}, mcmc.Settings{Draws: 500, Chains: 1,
		Start: func(_ int, rng *rand.Rand) []float64 {
			if tries++; tries == 1 {
				return []float64{1.5}
			}
			return []float64{0.9}
		}})
	if err != nil {
		t.Fatal(err)
	}
	if tries != 2 || c.BurnIn[0].Failed == 0 {
		t.Errorf("%d starts and %d failures", tries, c.BurnIn[0].Failed)
	}
}
