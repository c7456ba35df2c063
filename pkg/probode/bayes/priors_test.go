package bayes_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// flatLikelihood is the posterior that is its prior.
func flatLikelihood(prior bayes.Distribution) *bayes.Posterior {
	return &bayes.Posterior{
		Model: bayes.Model{
			Params:      []bayes.Param{{Name: "p", Prior: prior}},
			Experiments: []bayes.Experiment{{Problem: idle("p"), Data: nothing, Errors: []bayes.Likelihood{bayes.Gaussian{bayes.Known(1)}}}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(1)},
	}
}

// A density that is infinite at the upper end is no density there: for u > 37.4
// the parameter is rounded to the end itself.
func TestInfiniteDensityAtAnEnd(t *testing.T) {
	for _, prior := range []bayes.Distribution{distuv.Beta{Alpha: 0.5, Beta: 0.5}, distuv.Beta{Alpha: 0.1, Beta: 0.1}} {
		e, err := bayes.NewDensity(context.Background(), flatLikelihood(prior))
		if err != nil {
			t.Fatal(err)
		}
		theta := []float64{0}
		for _, u := range []float64{38, 40, 500, 1000, -1000} {
			if lp := e.Constrain(theta, []float64{u}); !math.IsInf(lp, -1) {
				t.Errorf("%+v: log density %g at u = %g, θ = %g", prior, lp, u, theta[0])
			}
		}
		for _, u := range []float64{-600, -37, 0, 30} {
			if lp := e.Constrain(theta, []float64{u}); math.IsInf(lp, 0) {
				t.Errorf("%+v: log density %g at u = %g, θ = %g", prior, lp, u, theta[0])
			}
		}
	}
}

// Jeffreys' prior of a share, with a flat likelihood: 32 chains with a proposal so
// wide that they try the end often. None stays where it is for 100 draws of 500,
// which at an acceptance above 0.2 has a probability below 0.8¹⁰⁰·16000 = 3e-6;
// and the shares below the quantiles of 1/4, 1/2 and 3/4 are right to 4.5
// standard errors, 3 checks of 7e-6.
func TestJeffreysPrior(t *testing.T) {
	dist := distuv.Beta{Alpha: 0.5, Beta: 0.5}
	c, err := sample.Run(context.Background(), flatLikelihood(dist), sample.Deterministic{Proposal: &mcmc.AdaptiveMetropolis{Scale: []float64{12 / 2.38}, AdaptAfter: -1}}, mcmc.Settings{Draws: 500, Chains: 32, BurnIn: 200, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	x := c.Parameter(0)
	for i, chain := range x {
		longest, run := 0, 0
		for k := range chain {
			if run++; k > 0 && chain[k] != chain[k-1] {
				run = 1
			}
			longest = max(longest, run)
		}
		if longest >= 100 {
			t.Errorf("chain %d stayed for %d draws, at last at %g", i+1, longest, chain[len(chain)-1])
		}
	}
	for _, prob := range []float64{0.25, 0.5, 0.75} {
		q := dist.Quantile(prob)
		below := make([][]float64, len(x))
		for i, chain := range x {
			for _, v := range chain {
				b := 0.0
				if v < q {
					b = 1
				}
				below[i] = append(below[i], b)
			}
		}
		share := stat.Mean(slices.Concat(below...), nil)
		if z := (share - prob) / diag.MCSEMean(below); math.Abs(z) > 4.5 {
			t.Errorf("share below the quantile of %g: %.4f, %.1f standard errors off", prob, share, z)
		}
	}
}
