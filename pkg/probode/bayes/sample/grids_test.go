package sample_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
)

// frozen is decay with an unknown rate on a grid with error control, made at the
// given rate.
func frozen(at, tolerance float64) *bayes.Posterior {
	p := decayPosterior(0, decayY)
	p.Method = methods.RungeKutta{Tableau: methods.DormandPrince}
	p.Mesh = probode.Frozen{Tolerance: probode.Tolerance{Relative: tolerance}}
	p.GridAt = []float64{at}
	return p
}

// Grids frozen at two distant draws give the same posterior: the chains have the
// same random numbers, and the paths differ by about the tolerance.
func TestFrozenGridsAgree(t *testing.T) {
	var draws [][][]float64
	for _, at := range []float64{0.5, 1.5} {
		c, err := sample.Run(context.Background(), frozen(at, 1e-7), sample.Deterministic{Proposal: walk}, mcmc.Settings{Draws: 500, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(c.Notes, func(s string) bool { return strings.HasPrefix(s, "warning") }); i >= 0 {
			t.Errorf("frozen at %g: %s", at, c.Notes[i])
		}
		draws = append(draws, c.Pooled())
	}
	differ := 0
	for i, x := range draws[0] {
		if math.Abs(x[0]-draws[1][i][0]) > 1e-3 {
			differ++
		}
	}
	// A chain parts where a decision falls within the tolerance, which is of
	// the order 1e-5 of 4·1500 decisions.
	if differ > len(draws[0])/4 {
		t.Errorf("%d of %d draws differ", differ, len(draws[0]))
	}
}

// A grid that was frozen where the solution hardly changes does not serve where
// it does, and says so.
func TestFrozenGridThatDoesNotServe(t *testing.T) {
	p := frozen(1e-3, 1e-6)
	p.Params[0].Prior = distuv.Uniform{Min: 0, Max: 10}
	c, err := sample.Run(context.Background(), p, sample.Deterministic{Proposal: walk}, mcmc.Settings{Draws: 200, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(c.Notes, func(s string) bool {
		return strings.HasPrefix(s, "warning: the frozen grid of experiment 1 is too coarse")
	}) {
		t.Errorf("no warning among %q", c.Notes)
	}
}

// A method that takes one normal a step goes through pCN with its joint moves, and
// agrees with the pseudo-marginal sampler, which shares nothing with them: two
// comparisons within four standard errors, a false alarm in 1.3e-4.
func TestRandomStepsUnderJointMoves(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := decayPosterior(0.3, decayY)
	m, err := catalog.Parse("random:ab1")
	if err != nil {
		t.Fatal(err)
	}
	p.Method = m
	c, err := sample.Compare(context.Background(), p, []sample.Sampler{sample.PCNWithinGibbs{}, sample.PseudoMarginal{}}, mcmc.Settings{Draws: 4000, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	a, b := c[0].Chains.Summary()[0], c[1].Chains.Summary()[0]
	if z := (a.Mean - b.Mean) / math.Hypot(a.MCSE, b.MCSE); math.Abs(z) > 4 {
		t.Errorf("means %g and %g, %.1f standard errors apart", a.Mean, b.Mean, z)
	}
	if z := (a.SD - b.SD) / math.Hypot(a.MCSESD, b.MCSESD); math.Abs(z) > 4 {
		t.Errorf("sds %g and %g, %.1f standard errors apart", a.SD, b.SD, z)
	}
	if !strings.Contains(strings.Join(c[0].Chains.Notes, "\n"), "joint moves of θ and ξ use a Gaussian approximation") {
		t.Errorf("no joint moves: %q", c[0].Chains.Notes)
	}
}
