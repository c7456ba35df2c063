package sample_test

import (
	"context"
	"math"
	"strings"
	"testing"

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
		chains, err := sample.Run(context.Background(), p, c.s, mcmc.Settings{Draws: 800, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Contains(strings.Join(chains.Notes, "\n"), "warning: 4 of 4 chains stay in one of 2 known modes")
		if len(p.Modes.Modes) != 2 || said != c.stay {
			t.Errorf("%v: %d modes, notes %q", c.s, len(p.Modes.Modes), chains.Notes)
		}
		positive := 0.0
		for _, x := range chains.Pooled() {
			if x[0] > 0 {
				positive++
			}
		}
		if share := positive / 3200; math.Abs(share-0.5) > 0.2 {
			t.Errorf("%v: %.2f of the draws are positive", c.s, share)
		}
	}
}
