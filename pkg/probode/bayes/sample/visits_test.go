package sample_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// mirrored has d parameters, of which the data give the square of the first: two modes of
// equal mass, at −2 and 2, each with an sd of .025.
func mirrored(d int) *bayes.Posterior {
	theta := make([]float64, d)
	theta[0] = 2
	p := &bayes.Posterior{Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(1)}}
	for range theta {
		p.Params = append(p.Params, bayes.Param{Prior: distuv.Normal{Mu: 0, Sigma: 2}})
	}
	y := make([]float64, d)
	y[0] = 4
	x := bayes.Experiment{
		Problem: &probode.Problem{X0: []float64{0}, Theta: theta, Span: [2]float64{0, 1}, Autonomous: true,
			F:      func(f []float64, _ float64, _, _ []float64) { f[0] = 0 },
			FTheta: func(dst []float64, _ float64, _, _ []float64) { clear(dst) }},
		Data: &bayes.Data{T: []float64{1}, Y: [][]float64{y}},
		Observe: func(dst []float64, _ float64, x, th []float64) {
			copy(dst, th)
			dst[0] = th[0]*th[0] + x[0]
		},
	}
	for k := range theta {
		p.Params[k].Name = x.Problem.ParamName(k)
		x.Errors = append(x.Errors, bayes.Gaussian{Sigma: bayes.Known(0.1)})
	}
	p.Experiments = []bayes.Experiment{x}
	return p
}

// Two known modes, between which chains do not move, are a caution for every sampler but
// tempering. Of 4 chains, 2 start in each mode.
func TestKnownModesAreACaution(t *testing.T) {
	for _, c := range []struct {
		s     sample.Sampler
		d     int
		alpha float64
		stay  bool
	}{
		{sample.NUTS{}, 20, 0, true},
		{sample.Deterministic{}, 2, 0, true},
		{sample.PCNWithinGibbs{}, 2, 0.01, true},
		{sample.Tempering{}, 2, 0, false},
	} {
		p := mirrored(c.d)
		p.Alpha = c.alpha
		var err error
		start := make([]float64, c.d)
		start[0] = 1
		other := make([]float64, c.d)
		other[0] = -1
		p.Modes, err = modes.Find(context.Background(), p, modes.Settings{Seed: 1, From: [][]float64{start, other}, Points: -1, Starts: 1})
		if err != nil {
			t.Fatal(err)
		}
		chains, err := sample.Run(context.Background(), p, c.s, mcmc.Settings{Draws: 2400, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Contains(strings.Join(chains.Notes, "\n"), "warning: the chains differ in their share of draws in the mode at ")
		if len(p.Modes.Modes) != 2 || said != c.stay {
			t.Errorf("%v: %d modes, notes %q", c.s, len(p.Modes.Modes), chains.Notes)
		}
		positive := 0.0
		for _, x := range chains.Pooled() {
			if x[0] > 0 {
				positive++
			}
		}
		if share := positive / 9600; math.Abs(share-0.5) > 0.2 {
			t.Errorf("%v: %.2f of the draws are positive", c.s, share)
		}
	}
}

// Chains that agree know the shares of the modes better than Gaussian approximations do; a share
// of .03 that half of the chains lack changes no probability much; chains that each stay in a
// mode say nothing about the shares.
func TestVisits(t *testing.T) {
	p := mirrored(1)
	p.Modes = &bayes.Modes{}
	cov := mat.NewSymDense(1, []float64{6e-4})
	for i, x := range []float64{2, -2} {
		p.Modes.Modes = append(p.Modes.Modes, &bayes.Mode{Theta: []float64{x}, U: []float64{x}, Cov: cov, Shape: cov, Mass: []float64{.9, .1}[i]})
	}
	const draws = 1000
	for _, c := range []struct {
		negative [4]int // of 1000 draws of each chain
		warnings int
	}{
		{[4]int{500, 480, 510, 490}, 0},
		{[4]int{30, 0, 0, 30}, 0},
		{[4]int{0, 0, draws, draws}, 2},
		{[4]int{100, 500, 400, 100}, 2},
		{[4]int{}, 1},
	} {
		rng := rand.New(rand.NewPCG(1, 0))
		chains := &mcmc.Chains{Names: []string{"p"}}
		for _, n := range c.negative {
			x := make([][]float64, draws)
			for i, at := range rng.Perm(draws) {
				if x[i] = []float64{2}; at < n {
					x[i][0] = -2
				}
			}
			chains.Draws = append(chains.Draws, x)
		}
		notes := sample.Visits(p, chains)
		if n := strings.Count(strings.Join(notes, "\n"), "warning: "); n != c.warnings {
			t.Errorf("draws in the second mode %v: %d warnings, want %d: %q", c.negative, n, c.warnings, notes)
		}
	}
}
