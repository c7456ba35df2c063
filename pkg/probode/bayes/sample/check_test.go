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
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
)

// An exactCase is a posterior whose solution is known in closed form.
type exactCase struct {
	name     string
	priors   []bayes.Distribution
	problem  probode.Problem // without parameters and their names
	times, y []float64
	sigma    float64
	x        func(t float64, th []float64) float64 // NaN where there is no solution
}

func (c *exactCase) posterior(setup probode.Setup) *bayes.Posterior {
	p := &bayes.Posterior{Setup: setup}
	q := c.problem
	q.Name = c.name
	for k, prior := range c.priors {
		name := string(rune('a' + k))
		p.Params = append(p.Params, bayes.Param{Name: name, Prior: prior})
		q.Params, q.Theta = append(q.Params, name), append(q.Theta, prior.Quantile(0.5))
	}
	data := &bayes.Data{T: c.times}
	for _, y := range c.y {
		data.Y = append(data.Y, []float64{y})
	}
	p.Experiments = []bayes.Experiment{{Problem: &q, Data: data, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(c.sigma)}}}}
	return p
}

func decayRate(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] }

// exactCases lists posteriors whose draws were wrong when they came from a grid for one θ:
// explicit methods are unstable at large rates, and steps for one pulse pass over others.
var exactCases = []exactCase{
	{name: "washout, log-normal", priors: []bayes.Distribution{distuv.LogNormal{Mu: 1, Sigma: 1}},
		problem: probode.Problem{X0: []float64{1}, Span: [2]float64{0, 6}, Autonomous: true, F: decayRate},
		times:   []float64{2, 4, 6}, y: []float64{0.06, -0.05, 0.03}, sigma: 0.1,
		x: func(t float64, th []float64) float64 { return math.Exp(-th[0] * t) }},
	{name: "washout, heavy tail", priors: []bayes.Distribution{bayes.Truncated{Of: distuv.StudentsT{Sigma: 1, Nu: 1}, Max: math.Inf(1)}},
		problem: probode.Problem{X0: []float64{10}, Span: [2]float64{0, 10}, Autonomous: true, F: decayRate},
		times:   []float64{3, 10}, y: []float64{4.64, 3.96}, sigma: 3,
		x: func(t float64, th []float64) float64 { return 10 * math.Exp(-th[0]*t) }},
	{name: "dose, wide prior", priors: []bayes.Distribution{distuv.Uniform{Min: 0.05, Max: 20}, distuv.Uniform{Min: 0.01, Max: 100}},
		problem: probode.Problem{X0: []float64{0.5}, Span: [2]float64{0, 6}, Autonomous: true, F: decayRate,
			Events: []probode.Event{{Time: 1.5, Jump: func(x []float64, _ float64, th []float64) { x[0] += th[1] }}}},
		times: []float64{2, 6}, y: []float64{0.5, 0.1}, sigma: 0.4,
		x: func(t float64, th []float64) float64 {
			return 0.5*math.Exp(-th[0]*t) + th[1]*math.Exp(-th[0]*(t-1.5))
		}},
	{name: "pulse at an unknown time", priors: []bayes.Distribution{distuv.Uniform{Min: 0.01, Max: 5}, distuv.Uniform{Min: 0.1, Max: 50}, distuv.Uniform{Min: 0.5, Max: 6}},
		problem: probode.Problem{X0: []float64{1}, Span: [2]float64{0, 8},
			F: func(f []float64, t float64, x, th []float64) {
				f[0] = th[1]*math.Exp(-math.Pow((t-th[2])/0.05, 2)) - th[0]*x[0]
			}},
		times: []float64{1, 2, 3, 4, 5, 6, 8}, y: []float64{0.61, 0.37, 0.45, 0.47, 0.3, 0.2, 0.05}, sigma: 0.1,
		x: func(t float64, th []float64) float64 {
			const w = 0.05
			k, h := th[0], th[0]*w/2
			return math.Exp(-k*t) + th[1]*w*math.Sqrt(math.Pi)/2*math.Exp(h*h-k*(t-th[2]))*(math.Erf((t-th[2])/w-h)+math.Erf(th[2]/w+h))
		}},
	{name: "reset at an unknown time", priors: []bayes.Distribution{distuv.Uniform{Min: 0.05, Max: 3}, distuv.Uniform{Min: 0, Max: 6}},
		problem: probode.Problem{X0: []float64{0.5}, Span: [2]float64{0, 5.2}, Autonomous: true,
			F: func(f []float64, _ float64, x, th []float64) { f[0] = 1 - th[0]*x[0] },
			Events: []probode.Event{{When: func(th []float64) float64 { return th[1] }, SeenAfter: true,
				Jump: func(x []float64, _ float64, _ []float64) { x[0] = 0.2 }}}},
		times: []float64{2.1, 2.7, 5.2}, y: []float64{0.705, 1.095, 1.164}, sigma: 0.1,
		x: func(t float64, th []float64) float64 {
			x0 := 0.5
			if t > th[1] {
				x0, t = 0.2, t-th[1]
			}
			return 1/th[0] + (x0-1/th[0])*math.Exp(-th[0]*t)
		}},
	{name: "growth without end", priors: []bayes.Distribution{distuv.Uniform{Min: 0.01, Max: 1}},
		problem: probode.Problem{X0: []float64{1}, Span: [2]float64{0, 2}, Autonomous: true,
			F: func(f []float64, _ float64, x, th []float64) { f[0] = th[0] * x[0] * x[0] }},
		times: []float64{2}, y: []float64{100}, sigma: 1e6,
		x: func(t float64, th []float64) float64 {
			if th[0]*t >= 1 {
				return math.NaN()
			}
			return 1 / (1 - th[0]*t)
		}},
}

// The default solver is right wherever the prior has mass, and not only near a mode: at 300
// draws from the prior, the log likelihood differs from the closed form by less than 0.002
// plus 10⁻⁴ of itself, or there is no solution in either.
func TestDefaultSolverAllOverThePrior(t *testing.T) {
	for _, c := range exactCases {
		p := c.posterior(catalog.Default())
		if c.name == "growth without end" {
			p.GridAt = []float64{0.3} // the solution exists
		}
		e, err := bayes.NewDensity(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		rng := probode.Stream(1)
		for range 300 {
			theta := p.DrawPrior(rng)
			want := -float64(len(c.y)) * math.Log(c.sigma*math.Sqrt(2*math.Pi))
			for i, at := range c.times {
				want -= math.Pow((c.y[i]-c.x(at, theta))/c.sigma, 2) / 2
			}
			got, err := e.LogLikelihood(theta, nil)
			if math.IsNaN(want) != (err != nil) || err == nil && math.Abs(got-want) > 2e-3+1e-4*math.Abs(want) {
				t.Errorf("%s, θ = %v: %v, %v: want %v", c.name, theta, got, err, want)
			}
		}
	}
}

// The medians of two posteriors are 0.6 and 0.02 standard deviations apart if the draws come
// from Euler's method with steps of 1/4 and 1/128. CheckSolver tells this from 100 draws, and
// a mistake as large as half of it would be 3 standard errors of the median of 100 draws.
func TestCheckSolver(t *testing.T) {
	p := decayPosterior(0, decayY)
	right, sd := moments(decayClassical(0, decayY))
	for _, h := range []float64{0.25, 1. / 128} {
		q := p.SolvedBy(probode.Setup{Mesh: probode.Uniform(h)})
		c, err := sample.CheckSolver(context.Background(), q, run(t, q, sample.Deterministic{Proposal: walk}, 2000), 0)
		if err != nil {
			t.Fatal(err)
		}
		mean, _ := moments(decayClassical(h, decayY))
		want := math.Abs(mean-right) / sd
		if c.Draws != 100 || c.Failed != 0 || math.Abs(c.Shift-want) > 0.03+0.3*want || c.Matters() != (want > 0.1) {
			t.Errorf("h = %g: %+v, want a shift of %.3g", h, c, want)
		}
		if said := c.String(); strings.Contains(said, "shifts no median") == c.Matters() {
			t.Errorf("h = %g: %q", h, said)
		}
	}
	// The solution of x′ = a x² ends at t = 1/a. Steps that are too long pass over the end.
	p = exactCases[5].posterior(catalog.Default())
	p.GridAt = []float64{0.3}
	chains := &mcmc.Chains{Names: []string{"a"}, Quantities: []string{"lp__", "y_hat.1", "log_lik.1"}, Draws: [][][]float64{{{0.4}, {0.51}}}, Generated: [][][]float64{{{0, 5, -14.7}, {0, -50, -14.7}}}}
	if c, err := sample.CheckSolver(context.Background(), p, chains, 0); err != nil || c.Failed != 1 || !c.Matters() || !strings.Contains(c.String(), "at 1 of 2 draws") {
		t.Errorf("%+v, %v", c, err)
	}
}

// The unit of a shift is not a standard deviation that grows with the number of draws, and
// an error within one of two distant modes is seen. Euler's method with steps of ½ makes
// 5.25a of x(2) = 8a, of which x/(1 + |x|) is observed, so that the tails are those of the
// Cauchy prior. In the case alias, the modes of ω are 3.7 apart, and RK4 with h = .095
// moves each of them by a tenth of its width.
func TestCheckSolverInTailsAndModes(t *testing.T) {
	tails := (&exactCase{name: "power", priors: []bayes.Distribution{distuv.StudentsT{Sigma: 1, Nu: 1}},
		problem: probode.Problem{X0: []float64{0}, Span: [2]float64{0, 2}, F: func(f []float64, t float64, _, th []float64) { f[0] = 3 * th[0] * t * t }},
		times:   []float64{2}, y: []float64{0.75}, sigma: 0.2}).posterior(probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.5)})
	tails.Experiments[0].Observe = func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[0] / (1 + math.Abs(x[0])) }
	alias, err := cases.Named("alias")
	if err != nil {
		t.Fatal(err)
	}
	modes := alias.Posterior()
	modes.Mesh = probode.Uniform(0.095)
	for name, p := range map[string]*bayes.Posterior{"tails": tails, "modes": modes} {
		chains, err := sample.Run(context.Background(), p, sample.Tempering{}, mcmc.Settings{Draws: 500, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if c, err := sample.CheckSolver(context.Background(), p, chains, 0); err != nil || !c.Matters() {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// A grid that was chosen at b = 1 cannot be stretched to b > 4, where the data, which show no
// reset, put most of the mass. No draw lies there, and a note says so. With steps that are
// chosen at every θ nothing fails.
func TestMissingRegion(t *testing.T) {
	for _, setup := range []probode.Setup{catalog.Default(), {Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 0.1}}}} {
		c := exactCases[4]
		c.y = []float64{1.11, 1.16, 1.24}
		p := c.posterior(setup)
		p.GridAt = []float64{0.8, 1}
		chains, err := sample.Run(context.Background(), p, sample.Tempering{Temperatures: 4}, mcmc.Settings{Chains: 2, Draws: 100, BurnIn: 100, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, frozen := setup.Mesh.(probode.Frozen)
		if notes := strings.Join(chains.Notes, "\n"); strings.Contains(notes, "the draws lack this region") != frozen {
			t.Errorf("%v: %s", setup, notes)
		}
	}
}

// Half of the prior lies where solutions run to infinity before the last datum. The density is
// zero there, so nothing is missing.
func TestNothingMissing(t *testing.T) {
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "x1_0", Prior: distuv.Uniform{Min: 0.1, Max: 1.9}}},
			Experiments: []bayes.Experiment{{
				Problem: (&probode.Problem{
					F:      func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[0] * x[0] },
					X0:     []float64{1},
					Params: []string{}, Theta: []float64{}, Span: [2]float64{0, 1},
				}).UnknownStart(),
				Data:   &bayes.Data{T: []float64{1}, Y: [][]float64{{1}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(2)}},
			}},
		},
		Setup: catalog.Default(),
	}
	chains, err := sample.Run(context.Background(), p, sample.Tempering{Temperatures: 4}, mcmc.Settings{Chains: 4, Draws: 250, BurnIn: 250, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, s := range chains.Stats {
		failed += s.Failed
	}
	if said := strings.Join(append(chains.Warnings(), chains.Notes...), "\n"); failed < 50 || strings.Contains(said, "fail") {
		t.Errorf("%d evaluations failed; %s", failed, said)
	}
}

// Half of the prior needs more steps than the solver may take, and more than the one that looks
// where solvers fail. The data say nothing, so that half of the posterior is missing, and nobody
// can tell.
func TestUnknownWhetherMissing(t *testing.T) {
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "k", Prior: distuv.Uniform{Min: 0, Max: 1}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{
					F: func(dst []float64, at float64, _, th []float64) {
						w := 5.
						if th[0] > 0.5 {
							w = 1e6
						}
						dst[0] = w * math.Cos(w*at)
					},
					X0: []float64{0}, Theta: []float64{0.2}, Params: []string{"k"}, Span: [2]float64{0, 1},
				},
				Data:   &bayes.Data{T: []float64{1}, Y: [][]float64{{0}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(100)}},
			}},
		},
		Setup: probode.Setup{Method: methods.Auto{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}, MaxSteps: 500}},
	}
	chains, err := sample.Run(t.Context(), p, sample.Deterministic{}, mcmc.Settings{Chains: 1, Draws: 60, BurnIn: 60, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(chains.Notes, "\n"); !strings.Contains(said, "it is not known whether the draws lack a part of the posterior") {
		t.Error(said)
	}
}
