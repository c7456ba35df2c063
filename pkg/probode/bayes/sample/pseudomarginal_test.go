package sample_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// Each pseudo-marginal sampler draws from p(θ | Y), whatever the number of
// paths, and its chosen paths from p(Z | θ, Y): the mean of y_hat is that of the
// closed form. 6 samplers with 2 checks of 7e-6, see agree, and one for each of 4
// values: false alarms 36·7e-6 = 3e-4 if errors are known.
func TestPseudoMarginal(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	mean, sd := decayMoments(t, decayAlpha, decayY)
	logp := func(theta float64) float64 {
		m, cov := decayLaw(theta, decayAlpha)
		dist, _ := distmv.NewNormal(m, cov, nil)
		return dist.LogProb(decayY) + decayPrior.LogProb(theta)
	}
	norm := expect(logp, func(float64) float64 { return 1 })
	var want []float64 // E Z(tᵢ) given Y
	for i := range decayY {
		want = append(want, expect(logp, func(theta float64) float64 {
			m, cov := decayLaw(theta, decayAlpha)
			var w mat.VecDense
			dev := mat.NewVecDense(len(m), nil)
			for k := range m {
				dev.SetVec(k, decayY[k]-m[k])
			}
			if err := w.SolveVec(cov, dev); err != nil {
				t.Fatal(err)
			}
			// Z − Y has the covariance σ²I with Y.
			return decayY[i] - decaySigma*decaySigma*w.AtVec(i)
		})/norm)
	}
	for _, s := range []sample.Sampler{
		sample.PseudoMarginal{Proposal: walk, Particles: 3},
		sample.PseudoMarginal{Proposal: walk},
		sample.PseudoMarginal{Proposal: walk, Correlation: 0.9},
		sample.PseudoMarginal{},
	} {
		c := run(t, decayPosterior(decayAlpha, decayY), s, 4000)
		agree(t, s.String(), c, mean, sd)
		for i, w := range want {
			var x [][]float64
			var sum, n float64
			for _, chain := range c.Generated {
				var y []float64
				for _, g := range chain {
					y = append(y, g[1+i])
					sum += g[1+i]
					n++
				}
				x = append(x, y)
			}
			if z := (sum/n - w) / diag.MCSEMean(x); !(math.Abs(z) <= 4.5) {
				t.Errorf("%v: Z(%g) has the mean %.4f, want %.4f (%.1f standard errors)", s, decayTimes[i], sum/n, w, z)
			}
		}
		if r := c.Stats[0].Latent; r.Failed > 0 || r.Accepted != r.Proposed || r.Proposed == 0 {
			t.Errorf("%v: paths %+v", s, r)
		}
		t.Logf("%v: %v", s, c.Notes[len(c.Notes)-1])
	}
}

// A path that fails has weight zero and is counted; θ at which all fail are
// rejected. Here x′ = 0 from 0 fails above 1/2 at t = 1, and for θ > 0, so that
// with z = √α h^{3/2} ξ at hand p(Y, no failure | θ) does not depend on θ ≤ 0:
// the chain draws from the prior, cut off there.
func TestPathsThatFail(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := &probode.Problem{Name: "walls", X0: []float64{0}, Theta: []float64{0}, Span: [2]float64{0, 3}, Params: []string{"theta"},
		F: func(f []float64, _ float64, x, th []float64) {
			f[0] = 0
			if th[0] > 0 || x[0] > 0.5 {
				f[0] = math.Inf(1)
			}
		}}
	post := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "theta", Prior: distuv.Uniform{Min: -1, Max: 1}}},
			Experiments: []bayes.Experiment{{Problem: p, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(1)}},
				Data: &bayes.Data{T: []float64{1, 2, 3}, Y: [][]float64{{0}, {0}, {0}}}}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(1), Alpha: 1},
	}
	for _, s := range []sample.Sampler{
		sample.PseudoMarginal{Particles: 6},
		sample.PseudoMarginal{Particles: 6, Correlation: 0.5}, sample.PseudoMarginal{Expected: true},
	} {
		c, err := sample.Run(context.Background(), post, s, mcmc.Settings{Draws: 5000, Seed: 1,
			Start: func(_ int, rng *rand.Rand) []float64 { return []float64{-rng.Float64()} }})
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range c.Stats {
			if share := float64(st.Latent.Failed) / float64(st.Latent.Proposed); share < 0.05 || st.Failed == 0 {
				t.Errorf("%v: counts %+v", s, st)
			}
		}
		for _, d := range c.Draws[0] {
			if d[0] > 0 {
				t.Fatalf("%v: θ = %g was accepted", s, d[0])
			}
		}
		if s.Algorithm().Target == sample.Marginal { // 4 checks of 7e-6
			agree(t, s.String(), c, -0.5, math.Sqrt(1./12))
		}
	}
}

// Monte Carlo within Metropolis has p(θ | Y) only in the limit. With 40 paths,
// at a variance of log L̂ near 0.05, moments are off by less than 4 % of the
// standard deviation, which is allowed for here beside 4.5 standard errors (2
// checks, 1.4e-5); with a single path the standard deviation is far too large.
func TestExpectedLikelihood(t *testing.T) {
	mean, sd := decayMoments(t, decayAlpha, decayY)
	c := run(t, decayPosterior(decayAlpha, decayY), sample.PseudoMarginal{Proposal: walk, Particles: 40, Expected: true}, 1000)
	m := c.Summary()[0]
	if d := math.Abs(m.Mean - mean); d > 0.04*sd+4.5*m.MCSE {
		t.Errorf("40 paths: mean %.4f, want %.4f ± %.4f", m.Mean, mean, m.MCSE)
	}
	if d := math.Abs(m.SD - sd); d > 0.04*sd+4.5*diag.MCSESD(c.Parameter(0)) {
		t.Errorf("40 paths: sd %.4f, want %.4f", m.SD, sd)
	}
	c = run(t, decayPosterior(decayAlpha, decayY), sample.PseudoMarginal{Proposal: walk, Particles: 1, Expected: true}, 3000)
	m = c.Summary()[0]
	z := (m.SD - sd) / diag.MCSESD(c.Parameter(0))
	t.Logf("1 path: mean %.3f and sd %.3f, want %.3f and %.3f", m.Mean, m.SD, mean, sd)
	if z < 10 {
		t.Errorf("1 path: sd %.4f is %.1f standard errors from %.4f: expected more than 10", m.SD, z, sd)
	}
}
