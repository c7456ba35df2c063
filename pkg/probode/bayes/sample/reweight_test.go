package sample_test

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/reference"
)

// weighted returns mean and standard deviation of a function of the draws by
// their weights, with the standard error of the mean: that of weighted
// independent draws, widened by what the chain's dependence costs.
func weighted(c *mcmc.Chains, f func(theta float64) float64) (mean, sd, se float64) {
	var w, w1 float64
	each := func(do func(w, v float64)) {
		for i, chain := range c.Draws {
			for k, x := range chain {
				lw := 0.0
				if c.LogWeights != nil {
					lw = c.LogWeights[i][k]
				}
				do(math.Exp(lw), f(x[0]))
			}
		}
	}
	each(func(p, v float64) { w += p; w1 += p * v })
	mean = w1 / w
	var v2, e2, n float64
	each(func(p, v float64) { v2 += p * (v - mean) * (v - mean); e2 += p * p * (v - mean) * (v - mean); n++ })
	return mean, math.Sqrt(v2 / w), math.Sqrt(e2*n/diag.BulkESS(c.Parameter(0))) / w
}

// agreeWeighted is agree for draws with weights; the error of the standard
// deviation is that of the mean of (θ − mean)².
func agreeWeighted(t *testing.T, name string, c *mcmc.Chains, mean, sd float64) {
	t.Helper()
	m, s, se := weighted(c, func(x float64) float64 { return x })
	if z := (m - mean) / se; !(math.Abs(z) <= 4.5) {
		t.Errorf("%s: mean %.4f, want %.4f (%.1f standard errors)", name, m, mean, z)
	}
	v, _, ve := weighted(c, func(x float64) float64 { return (x - mean) * (x - mean) })
	if z := (v - sd*sd) / ve; !(math.Abs(z) <= 4.5) {
		t.Errorf("%s: sd %.4f, want %.4f (%.1f standard errors)", name, s, sd, z)
	}
}

func reweighted(t *testing.T, p *bayes.Posterior, chains *mcmc.Chains, accurate probode.Setup) *mcmc.Chains {
	t.Helper()
	out, err := sample.Reweight(context.Background(), p, chains, accurate, 0)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Draws of a coarse step stand for the exact solution, or a finer step, within
// Monte Carlo error: 8 checks of 7e-6 each. Without weights they are more than
// 10 standard errors off.
func TestReweight(t *testing.T) {
	exact, exactSD := moments(decayClassical(0, decayY))
	fine, fineSD := moments(decayClassical(0.03125, decayY))
	p := decayPosterior(0, decayY)
	coarse := run(t, p, sample.Deterministic{Proposal: walk}, 4000)
	for _, c := range []struct {
		name     string
		accurate probode.Setup
		mean, sd float64
	}{
		{"reference", probode.Setup{}, exact, exactSD},
		{"rough reference", probode.Setup{Mesh: reference.Accurate{Tolerance: probode.Tolerance{Relative: 1e-6}}}, exact, exactSD},
		{"finer step", probode.Setup{Mesh: probode.Uniform(0.03125)}, fine, fineSD},
		// The error 4e-5 of RK4 at h = 1/4 is 1e-3 posterior standard deviations.
		{"another method", probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.25)}, exact, exactSD},
	} {
		chains := reweighted(t, p, coarse, c.accurate)
		if !(chains.KHat < 0.7) {
			t.Errorf("%s: k̂ = %.2f", c.name, chains.KHat)
		}
		agreeWeighted(t, c.name, chains, c.mean, c.sd)
		chains.LogWeights = nil
		if m, _, se := weighted(chains, func(x float64) float64 { return x }); math.Abs(m-c.mean) < 10*se {
			t.Errorf("%s: the draws agree without weights: mean %.4f, want another than %.4f", c.name, m, c.mean)
		}
	}
}

// Draws of p(θ, ξ | Y) can be reweighted too: 2 checks of 7e-6.
func TestReweightNoise(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	mean, sd := moments(decayClassical(0, decayY))
	p := decayPosterior(0.2, decayY)
	c := reweighted(t, p, run(t, p, sample.PCNWithinGibbs{Proposal: walk}, 8000), probode.Setup{})
	if !(c.KHat < 0.7) {
		t.Errorf("k̂ = %.2f", c.KHat)
	}
	agreeWeighted(t, "pcn", c, mean, sd)
}

// The quantities are those of the accurate solution, the draws those of the
// sampler, and neither depends on the number of workers.
func TestReweightQuantities(t *testing.T) {
	p := decayPosterior(0, decayY)
	coarse := run(t, p, sample.Deterministic{Proposal: walk}, 300)
	var all []*mcmc.Chains
	for _, workers := range []int{1, 3} {
		c, err := sample.Reweight(context.Background(), p, coarse, probode.Setup{}, workers)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if !reflect.DeepEqual(all[0], all[1]) {
		t.Error("the result depends on the number of workers")
	}
	c := all[0]
	if !reflect.DeepEqual(c.Draws, coarse.Draws) || coarse.LogWeights != nil {
		t.Error("draws or the given chains have changed")
	}
	logp := decayClassical(0, decayY)
	base := logp(1)
	for k, g := range c.Generated[1] {
		theta := c.Draws[1][k][0]
		for i, at := range decayTimes {
			// The tolerance of the reference, 1e-10, over some steps.
			if want := math.Exp(-theta * at); math.Abs(g[1+i]-want) > 1e-8 {
				t.Fatalf("y_hat %v, want %v", g[1+i], want)
			}
		}
		if got, want := g[0]-c.Generated[1][0][0], logp(theta)-base-(logp(c.Draws[1][0][0])-base); math.Abs(got-want) > 1e-5 {
			t.Fatalf("lp__ changes by %v, want %v", got, want)
		}
	}
	if !strings.Contains(strings.Join(c.Notes, "\n"), "reference with tolerance 1e-10") {
		t.Errorf("notes %q", c.Notes)
	}
}

func TestReweightErrors(t *testing.T) {
	p := decayPosterior(0, decayY)
	coarse := run(t, p, sample.Deterministic{Proposal: walk}, 20)
	weights := *coarse
	weights.LogWeights = [][]float64{}
	other := *coarse
	other.Names = []string{"x"}
	for want, try := range map[string]struct {
		c *mcmc.Chains
		a probode.Setup
	}{
		"already have weights":                   {&weights, probode.Setup{}},
		"the chains belong to a different model": {&other, probode.Setup{}},
		"step is -1":                             {coarse, probode.Setup{Mesh: probode.Uniform(-1)}},
		"step is 3":                              {coarse, probode.Setup{Mesh: probode.Uniform(3)}},
		"want a number in [1e-15, 1)":            {coarse, probode.Setup{Mesh: reference.Accurate{Tolerance: probode.Tolerance{Relative: 1e-20}}}},
	} {
		_, err := sample.Reweight(context.Background(), p, try.c, try.a, 0)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, want)
		}
	}
}

// A draw that was rounded to an end of the support has a weight like its neighbours; a draw
// outside the support is an error.
func TestReweightAtAnEnd(t *testing.T) {
	p := decayPosterior(0, decayY)
	p.Params = []bayes.Param{{Name: "theta1", Prior: distuv.Uniform{Min: 0.1, Max: 3}}}
	coarse := run(t, p, sample.Deterministic{Proposal: walk}, 20)
	for theta, fails := range map[float64]bool{0.1: false, 3: false, math.Nextafter(0.1, 0): true, 3.5: true} {
		coarse.Draws[1][10], coarse.Draws[1][11] = []float64{theta}, []float64{math.Max(0.1001, math.Min(theta, 2.9999))}
		c, err := sample.Reweight(context.Background(), p, coarse, probode.Setup{}, 0)
		if fails != (err != nil && strings.Contains(err.Error(), "not inside the support")) {
			t.Errorf("θ = %g: error %v", theta, err)
		}
		if err == nil && math.IsInf(c.LogWeights[1][10], 0) {
			t.Errorf("θ = %g: log weight %g", theta, c.LogWeights[1][10])
		}
	}
}

// Where the accurate solver fails the weight is zero, and this is said; where
// it fails everywhere that is an error.
func TestReweightFailures(t *testing.T) {
	p := decayPosterior(0, decayY)
	coarse := run(t, p, sample.Deterministic{Proposal: walk}, 200)
	for _, limit := range []float64{1, -1} {
		q := *p
		problem := decay()
		problem.F = func(f []float64, _ float64, x, th []float64) {
			f[0] = -th[0] * x[0]
			if th[0] > limit {
				f[0] = math.NaN()
			}
		}
		q.Experiments = []bayes.Experiment{{Problem: problem, Data: p.Experiments[0].Data, Errors: p.Experiments[0].Errors}}
		c, err := sample.Reweight(context.Background(), &q, coarse, probode.Setup{}, 0)
		if limit < 0 {
			if err == nil || !strings.Contains(err.Error(), "the accurate solver fails at all 800 draws") {
				t.Errorf("error %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, chain := range c.Draws {
			for k, x := range chain {
				if zero := math.IsInf(c.LogWeights[i][k], -1); zero != (x[0] > limit) {
					t.Fatalf("θ = %g has log weight %g", x[0], c.LogWeights[i][k])
				}
			}
		}
		if !strings.Contains(strings.Join(c.Notes, "\n"), "have weight zero") {
			t.Errorf("notes %q", c.Notes)
		}
		lpd, err := bayes.LogPredictive(&q, c)
		if err != nil || math.IsNaN(lpd[0]) {
			t.Errorf("log predictive density %v, %v", lpd, err)
		}
		out, err := bayes.Predict(context.Background(), &q, c, nil, 1)
		if err != nil || len(out[0].Fit) != 800 {
			t.Fatalf("prediction: %v", err)
		}
		for _, fit := range out[0].Fit {
			if math.IsNaN(fit[0][0]) {
				t.Fatal("a draw of weight zero is among the predictions")
			}
		}
	}
}
