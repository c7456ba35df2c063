package sample_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
)

// The distribution is that of the fine step, whatever the coarse one: 8 checks of 7e-6
// each. That of the coarse step alone lies more than 10 standard errors off, so
// that a second stage that did nothing would be seen.
func TestDelayedAcceptance(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
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
		{"another method", sample.DelayedAcceptance{First: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.5)}, Proposal: walk}, fine, fineSD},
		{"noise", sample.DelayedAcceptance{First: probode.Setup{Mesh: probode.Uniform(0.25)}, Noise: true, Proposal: walk}, noisy, noisySD},
	} {
		chains := run(t, p, c.s, 12000)
		agree(t, c.name, chains, c.mean, c.sd)
		if !strings.Contains(strings.Join(chains.Notes, "\n"), "fraction of the moves of θ that the first stage rejected") {
			t.Errorf("%s: notes %q do not say how many moves the first stage rejected", c.name, chains.Notes)
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
		"step is -1":                  {First: probode.Setup{Mesh: probode.Uniform(-1)}},
		"first stage":                 {First: probode.Setup{Mesh: probode.Uniform(3)}},
		"there is no noise to sample": {Noise: true, First: probode.Setup{Mesh: probode.Uniform(0.5)}},
	} {
		_, err := sample.Run(context.Background(), decayPosterior(0, decayY), s, mcmc.Settings{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, want)
		}
	}
}

// A chain that starts where the coarse solver fails, or comes to where it does, goes on by
// the fine one alone.
func TestDelayedAcceptanceFailures(t *testing.T) {
	// Forward Euler of step 1 takes θ > 1.5 to negative states, where f has
	// no value; with step 1/8 it does not.
	p := decayPosterior(0, decayY)
	p.Experiments[0].Problem.F = func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * math.Sqrt(x[0]) * math.Sqrt(x[0]) }
	for _, start := range []float64{1.5, 0.9} {
		c, err := sample.Run(context.Background(), p, sample.DelayedAcceptance{First: probode.Setup{Mesh: probode.Uniform(1)}, Proposal: walk}, mcmc.Settings{Draws: 500, Chains: 1,
			Start: func(int, *rand.Rand) []float64 { return []float64{start} }})
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(c.Notes, "\n"); !strings.Contains(notes, "onwards, only the second stage is used") || strings.Contains(notes, "(from iteration 1 on") != (start == 1.5) {
			t.Errorf("start %g: notes %q", start, notes)
		}
	}
}

// A first stage that is unstable above k = 2.785/h cuts a part of the posterior off, of
// which its draws would show nothing. The chains go over to the accurate solver, and mean
// and sd are within 5 standard errors of quadrature; where the first stage is good, or only
// moves the posterior, they do not.
func TestDelayedAcceptanceTestsItsFirstStage(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	times, y := []float64{2, 4, 6}, []float64{0.06, -0.05, 0.03}
	for _, c := range []struct {
		name  string
		prior bayes.Distribution
		h     float64
		alone bool
	}{
		{"log-normal, unstable", distuv.LogNormal{Mu: 1, Sigma: 1}, 0.5, true},
		{"log-normal, unstable above 11", distuv.LogNormal{Mu: 1, Sigma: 1}, 0.25, true},
		{"uniform, unstable", distuv.Uniform{Min: 0, Max: 30}, 0.125, true},
		{"uniform, stable", distuv.Uniform{Min: 0, Max: 30}, 0.05, false},
	} {
		data := &bayes.Data{T: times}
		for _, v := range y {
			data.Y = append(data.Y, []float64{v})
		}
		p := &bayes.Posterior{
			Model: bayes.Model{
				Params: []bayes.Param{{Name: "k", Prior: c.prior}},
				Experiments: []bayes.Experiment{{
					Problem: &probode.Problem{Name: "washout", Params: []string{"k"}, X0: []float64{1}, Theta: []float64{3}, Span: [2]float64{0, 6},
						F: func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] }},
					Data: data, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.1)}},
				}},
			},
			Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(c.h)},
		}
		var w, w1, w2 float64
		for i := range 100000 {
			k, l := c.prior.Quantile((float64(i)+0.5)/100000), 0.0
			for j, at := range times {
				r := (y[j] - math.Exp(-k*at)) / 0.1
				l -= r * r / 2
			}
			l = math.Exp(l)
			w, w1, w2 = w+l, w1+l*k, w2+l*k*k
		}
		mean := w1 / w
		sd := math.Sqrt(w2/w - mean*mean)
		for seed := range uint64(4) {
			accurate := probode.Setup{Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6, Absolute: []float64{1e-8}}}, Method: methods.RungeKutta{Tableau: methods.DormandPrince}}
			chains, err := sample.Run(context.Background(), p, sample.DelayedAcceptance{Second: accurate}, mcmc.Settings{Draws: 2000, BurnIn: 1000, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			m := chains.Summary()[0]
			if math.Abs(m.Mean-mean) > 5*m.MCSE || math.Abs(m.SD-sd) > 5*m.MCSESD || m.RHat > 1.05 {
				t.Errorf("%s, seed %d: %.2f ± %.2f, sd %.2f ± %.2f, R̂ %.2f: want %.2f and %.2f; %q", c.name, seed, m.Mean, m.MCSE, m.SD, m.MCSESD, m.RHat, mean, sd, chains.Notes)
			}
			if notes := strings.Join(chains.Notes, "\n"); strings.Contains(notes, "only the second stage is used") != c.alone {
				t.Errorf("%s, seed %d: notes %q", c.name, seed, notes)
			}
		}
	}
}
