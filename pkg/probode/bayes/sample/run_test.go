package sample_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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
	"github.com/probode/probode/pkg/probode/methods"
)

// decay is x′ = −θx from 1, solved by forward Euler with h = 1/8 and α = 4, so
// that the solver's noise is as large as that of the data. Z is linear in ξ,
//
//	Z_{i+1} = (1 − hθ) Zᵢ + √α h^{3/2} ξᵢ,
//
// so that Y given θ is Gaussian and p(θ | Y) is known up to one integral over
// θ.
const (
	decayStep  = 0.125
	decayAlpha = 4
	decaySigma = 0.1
)

var decayTimes = []float64{0.5, 1, 1.5, 2}

func decay() *probode.Problem {
	return &probode.Problem{
		Name: "decay", X0: []float64{1}, Theta: []float64{1}, Span: [2]float64{0, 2}, Autonomous: true,
		F: func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
	}
}

var decayPrior = distuv.Normal{Mu: 1, Sigma: 0.5}

// decayPosterior moves θ on its own scale, which for a normal prior is the
// unconstrained one too.
func decayPosterior(alpha float64, y []float64) *bayes.Posterior {
	d := &bayes.Data{T: decayTimes}
	for _, v := range y {
		d.Y = append(d.Y, []float64{v})
	}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "theta1", Prior: decayPrior}},
			Experiments: []bayes.Experiment{{Problem: decay(), Data: d,
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(decaySigma)}}}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(decayStep), Alpha: alpha},
	}
}

// decayLaw returns the mean and covariance of Y given θ.
func decayLaw(theta, alpha float64) ([]float64, *mat.SymDense) {
	a := 1 - decayStep*theta
	v := alpha * math.Pow(decayStep, 3)
	index := make([]int, len(decayTimes))
	mean := make([]float64, len(decayTimes))
	for i, t := range decayTimes {
		index[i] = int(math.Round(t / decayStep))
		mean[i] = math.Pow(a, float64(index[i]))
	}
	cov := mat.NewSymDense(len(index), nil)
	for i, m := range index {
		for j := i; j < len(index); j++ {
			n := index[j]
			var sum float64
			for k := 1; k <= m; k++ {
				sum += math.Pow(a, float64(m-k+n-k))
			}
			cov.SetSym(i, j, v*sum)
		}
		cov.SetSym(i, i, cov.At(i, i)+decaySigma*decaySigma)
	}
	return mean, cov
}

// decayMoments returns mean and standard deviation of p(θ | Y).
func decayMoments(t *testing.T, alpha float64, y []float64) (mean, sd float64) {
	t.Helper()
	return moments(func(theta float64) float64 {
		mu, cov := decayLaw(theta, alpha)
		dist, ok := distmv.NewNormal(mu, cov, nil)
		if !ok {
			t.Fatal("covariance is not positive definite")
		}
		return dist.LogProb(y) + decayPrior.LogProb(theta)
	})
}

// moments returns mean and standard deviation of the distribution of θ with the given
// log density by the trapezoidal rule, which converges geometrically here.
func moments(logp func(theta float64) float64) (mean, sd float64) {
	w := expect(logp, func(float64) float64 { return 1 })
	mean = expect(logp, func(theta float64) float64 { return theta }) / w
	return mean, math.Sqrt(expect(logp, func(theta float64) float64 { return (theta - mean) * (theta - mean) }) / w)
}

// expect integrates g over a distribution of θ that is not normalised.
func expect(logp, g func(theta float64) float64) float64 {
	const n = 4000
	var sum float64
	for i := range n {
		theta := -2 + 6*float64(i)/n
		sum += math.Exp(logp(theta)) * g(theta)
	}
	return sum * 6 / n
}

// decayClassical returns the log density, up to a constant, of the posterior of
// decay with the classical forward Euler solution of step h, or the exact
// solution for h = 0.
func decayClassical(h float64, y []float64) func(theta float64) float64 {
	return func(theta float64) float64 {
		lp := decayPrior.LogProb(theta)
		for i, t := range decayTimes {
			m := math.Exp(-theta * t)
			if h > 0 {
				m = math.Pow(1-h*theta, math.Round(t/h))
			}
			lp += distuv.Normal{Mu: m, Sigma: decaySigma}.LogProb(y[i])
		}
		return lp
	}
}

// agree checks mean and standard deviation of the draws against mean and sd,
// each within 4.5 Monte Carlo standard errors, which fails a correct sampler with
// probability 2·7e-6 = 1.4e-5, and below 1e-3 with standard errors that are 20 %
// too small.
func agree(t *testing.T, name string, c *mcmc.Chains, mean, sd float64) {
	t.Helper()
	x, m := c.Parameter(0), c.Summary()[0]
	if z := (m.Mean - mean) / m.MCSE; !(math.Abs(z) <= 4.5) {
		t.Errorf("%s: mean %.4f, want %.4f (%.1f standard errors)", name, m.Mean, mean, z)
	}
	if z := (m.SD - sd) / diag.MCSESD(x); !(math.Abs(z) <= 4.5) {
		t.Errorf("%s: sd %.4f, want %.4f (%.1f standard errors)", name, m.SD, sd, z)
	}
}

var decayY = []float64{0.75, 0.31, 0.29, 0.07}

// walk is a proposal that fits the posterior's scale.
var walk = &mcmc.AdaptiveMetropolis{Scale: []float64{0.3}}

func run(t *testing.T, p *bayes.Posterior, s sample.Sampler, draws int) *mcmc.Chains {
	t.Helper()
	c, err := sample.Run(context.Background(), p, s, mcmc.Settings{
		Draws: draws, Seed: 1,
		Start: func(_ int, rng *rand.Rand) []float64 { return []float64{1 + 0.5*rng.NormFloat64()} },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Mean and standard deviation of the draws against quadrature: 20 checks of
// 7e-6 each, see agree.
func TestPosteriorMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, c := range []struct {
		s     sample.Sampler
		alpha float64 // of the closed form
	}{
		{sample.Deterministic{Proposal: walk}, 0},
		{sample.Deterministic{}, 0},
		{sample.NUTS{}, 0},
		{sample.Tempering{Temperatures: 4}, 0},
		{sample.PCNWithinGibbs{Proposal: walk}, decayAlpha},
		{sample.PCNWithinGibbs{Proposal: walk, Blocks: -1}, decayAlpha},
		{sample.PCNWithinGibbs{}, decayAlpha},
		{sample.Hamiltonian{}, decayAlpha},
		{sample.Hamiltonian{}, 100 * decayAlpha},
		{sample.Hamiltonian{}, 1e-8},
	} {
		mean, sd := decayMoments(t, c.alpha, decayY)
		p := decayPosterior(decayAlpha, decayY)
		if c.alpha > 0 {
			p.Alpha = c.alpha
		}
		agree(t, c.s.String(), run(t, p, c.s, 10000), mean, sd)
	}
}

// The appendix's sampler settles into a distribution that depends on the proposal. With
// two fixed proposals, one 30 times narrower, its standard deviations differ
// by more than 20 standard errors, and both are away from p(θ | Y); the
// correct sampler gives the same distribution with either.
func TestRedrawOnAcceptDependsOnTheProposal(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	_, want := decayMoments(t, decayAlpha, decayY)
	var sd, se [2]float64
	for i, scale := range []float64{0.6, 0.02} {
		c := run(t, decayPosterior(decayAlpha, decayY),
			sample.RedrawOnAccept{Proposal: &mcmc.AdaptiveMetropolis{Scale: []float64{scale}, AdaptAfter: -1}}, 50000)
		sd[i], se[i] = c.Summary()[0].SD, diag.MCSESD(c.Parameter(0))
	}
	if z := math.Abs(sd[0]-sd[1]) / math.Hypot(se[0], se[1]); z < 20 {
		t.Errorf("sd %.4f and %.4f under two proposals: %.1f standard errors apart, expected more than 20", sd[0], sd[1], z)
	}
	if math.Abs(sd[0]-want) < 10*se[0] {
		t.Errorf("sd %.4f agrees with that of the posterior, %.4f", sd[0], want)
	}
}

func TestWorkersDoNotChangeDraws(t *testing.T) {
	for _, s := range []sample.Sampler{
		sample.Deterministic{Proposal: walk}, sample.PCNWithinGibbs{Proposal: walk}, sample.RedrawOnAccept{Proposal: walk},
		sample.PseudoMarginal{Proposal: walk, Particles: 4}, sample.PseudoMarginal{Proposal: walk, Particles: 2, Expected: true},
	} {
		var first [][][]float64
		for _, workers := range []int{1, 3} {
			c, err := sample.Run(context.Background(), decayPosterior(decayAlpha, decayY), s, mcmc.Settings{
				Draws: 50, BurnIn: 50, Chains: 3, Workers: workers,
				Start: func(_ int, rng *rand.Rand) []float64 { return []float64{rng.Float64()} }})
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = c.Draws
			} else if !slices.EqualFunc(first, c.Draws, func(a, b [][]float64) bool {
				return slices.EqualFunc(a, b, slices.Equal[[]float64])
			}) {
				t.Errorf("%v: draws depend on the number of workers", s)
			}
		}
	}
}

// That the equations cannot be solved where the prior is drawn does not mean that paths of
// error-controlled runs have no derivatives: nearly everywhere in this prior they need more steps
// than a run may take, or run away.
func TestGradientsOfRunsThatFail(t *testing.T) {
	p := &probode.Problem{Name: "stiff", X0: []float64{1}, Theta: []float64{1}, Span: [2]float64{0, 5},
		F: func(f []float64, _ float64, x, th []float64) { f[0] = th[0] * (2 - x[0]) },
	}
	post := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "theta1", Prior: distuv.Normal{Sigma: 1e5}}},
			Experiments: []bayes.Experiment{{Problem: p, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.1)}},
				Data: &bayes.Data{T: []float64{1, 2}, Y: [][]float64{{1.6}, {1.9}}}}},
		},
	}
	for _, m := range []probode.Method{methods.RungeKutta{Tableau: methods.DormandPrince}, methods.Radau{}, methods.BDF{}, methods.Auto{}} {
		post.Setup = probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}, MaxSteps: 300}}
		d, err := bayes.NewDensity(t.Context(), post)
		if err != nil {
			t.Fatal(err)
		}
		if err := sample.Check(sample.NUTS{}, d); err != nil {
			t.Errorf("%v: %v", m, err)
		}
		grad := make([]float64, 1)
		if _, err := d.Gradient(grad, nil, []float64{-1e5}, nil); err == nil || errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v: %v where the solution runs away", m, err)
		}
		if _, err := d.Gradient(grad, nil, []float64{1}, nil); err != nil || grad[0] == 0 {
			t.Errorf("%v: gradient %v, %v", m, grad, err)
		}
	}
}

// A θ at which the path diverges is rejected and counted.
func TestFailedSolvesAreCounted(t *testing.T) {
	p := &probode.Problem{Name: "blow-up", X0: []float64{1}, Theta: []float64{0}, Span: [2]float64{0, 2},
		F: func(f []float64, _ float64, x, th []float64) {
			f[0] = 0
			if th[0] > 0 {
				f[0] = math.Inf(1)
			}
		}}
	post := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "theta1", Prior: distuv.Uniform{Min: -1, Max: 1}, Natural: true}},
			Experiments: []bayes.Experiment{{Problem: p, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(1)}},
				Data: &bayes.Data{T: []float64{1}, Y: [][]float64{{1}}}}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.5), Alpha: 0.1},
	}
	for _, s := range []sample.Sampler{sample.Deterministic{Proposal: walk}, sample.PCNWithinGibbs{Proposal: walk}, sample.RedrawOnAccept{Proposal: walk}} {
		c, err := sample.Run(context.Background(), post, s, mcmc.Settings{Draws: 200, BurnIn: -1, Chains: 1,
			Start: func(int, *rand.Rand) []float64 { return []float64{-0.5} }})
		if err != nil {
			t.Fatal(err)
		}
		if c.Stats[0].Failed == 0 {
			t.Errorf("%v: no failed solves in %+v", s, c.Stats[0])
		}
		for _, d := range c.Draws[0] {
			if d[0] > 0 {
				t.Fatalf("%v: θ = %g was accepted", s, d[0])
			}
		}
	}
}

func TestReadCSV(t *testing.T) {
	d, err := bayes.ReadCSV(strings.NewReader("# Hudson Bay\nyear, note ,hare,lynx\n1900,a,30,4\n1901,b,47.2,\n1902,,NaN,9.8\n"), "year", "lynx", "hare")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(d.T, d.Y, d.Names); got != "[1900 1901 1902] [[4 30] [NaN 47.2] [9.8 NaN]] [lynx hare]" {
		t.Errorf("read %s", got)
	}
	for in, want := range map[string]string{
		"":                "the file is empty",
		"t,y\n":           "no observations",
		"t,y\n1,2\n1,3\n": "time 1 comes after 1",
		"t,x\n1,2\n":      `no column "y": the header has t, x`,
		"t,y\n1,two\n":    `line 2, column "y": "two" is not a number`,
		"t,y\n,2\n":       `line 2, column "t": "" is not a number`,
		"t,y\n1,2,3\n":    "wrong number of fields",
		"t,y\n1,Inf\n":    "is +Inf",
		"t,y\nNaN,1\n":    "time 1 is NaN",
		"t,y\n1,\n2,NA\n": `column "y" contains no numbers`,
	} {
		if _, err := bayes.ReadCSV(strings.NewReader(in), "t", "y"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", in, err, want)
		}
	}
	// The same numbers are no evidence for a second time, and times are none.
	for want, columns := range map[string][]string{
		`column "y" is requested twice`:              {"y", "z", "y"},
		`column "t" contains the times`:              {"y", "t"},
		`column "none" contains no numbers: leave i`: {"y", "none"},
	} {
		if _, err := bayes.ReadCSV(strings.NewReader("t,y,z,none\n1,2,3,\n2,,NaN,NA\n"), "t", columns...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", columns, err, want)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := sample.Run(ctx, decayPosterior(1, decayY), sample.PCNWithinGibbs{}, mcmc.Settings{Start: func(int, *rand.Rand) []float64 { return []float64{1} }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
