package main

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/marginal"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
)

// This file defines the posteriors and the samplers of the study. The data are simulated
// from an accurate solution with known parameters.

type question struct {
	name string
	// make returns the model for given data. truth returns the problem from which the data
	// are simulated. observe simulates the measurements of a state x.
	make    func(data *bayes.Data) *bayes.Posterior
	truth   func() *probode.Problem
	times   []float64 // of the measurements
	observe func(x []float64, rng *rand.Rand) []float64
	step    float64 // the coarsest; half and a quarter of it are used as well
}

var solver = adams.Moulton{Steps: 1}

// fineness is the coarsest step divided by that of RK4, the accurate solver.
const fineness = 16

func gaussian(sd float64, columns ...int) func([]float64, *rand.Rand) []float64 {
	return func(x []float64, rng *rand.Rand) []float64 {
		var y []float64
		for _, k := range columns {
			y = append(y, x[k]+sd*rng.NormFloat64())
		}
		return y
	}
}

func every(step, end float64) []float64 {
	var t []float64
	for i := 1; float64(i)*step <= end*(1+1e-12); i++ {
		t = append(t, float64(i)*step)
	}
	return t
}

func seen(p *probode.Problem, sd float64, states ...int) bayes.Experiment {
	return bayes.Experiment{Problem: p, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(sd)}},
		Observe: func(dst []float64, _ float64, x, _ []float64) {
			for i, k := range states {
				dst[i] = x[k]
			}
		}}
}

// inferred makes the last `normal` priors normal and the others log-normal, with nominal
// medians and sd `width`.
func inferred(x bayes.Experiment, width float64, normal int) func(*bayes.Data) *bayes.Posterior {
	return func(data *bayes.Data) *bayes.Posterior {
		x.Data = data
		m := &bayes.Posterior{Model: bayes.Model{Experiments: []bayes.Experiment{x}}}
		for k, v := range x.Problem.Theta {
			prior := bayes.Distribution(distuv.LogNormal{Mu: math.Log(v), Sigma: width})
			if k >= len(x.Problem.Theta)-normal {
				prior = distuv.Normal{Mu: v, Sigma: width}
			}
			m.Params = append(m.Params, bayes.Param{Name: x.Problem.ParamName(k), Prior: prior})
		}
		return m
	}
}

func elimination() *probode.Problem {
	return &probode.Problem{
		Name: "Michaelis–Menten elimination", States: []string{"c"}, Params: []string{"v_m", "k_m"}, Autonomous: true,
		X0: []float64{10}, Theta: []float64{2, 1}, Span: [2]float64{0, 10},
		F: func(f []float64, _ float64, x, theta []float64) { f[0] = -theta[0] * x[0] / (theta[1] + x[0]) },
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			f[0] = -theta[0] * x[0] / (theta[1] + x[0])
			jac[0] = -theta[0] * theta[1] / ((theta[1] + x[0]) * (theta[1] + x[0]))
		},
	}
}

func oscillator() *probode.Problem {
	p := problems.VanDerPol(1.5)
	p.Span[1] = 12
	return p
}

func ofCase(name string) func(*bayes.Data) *bayes.Posterior {
	c, err := cases.Named(name)
	if err != nil {
		panic(err)
	}
	return c.Model
}

var questions = append([]question{
	{name: "FitzHugh–Nagumo", make: ofCase("fitzhugh-nagumo"), truth: problems.FitzHughNagumo, times: every(1, 20), observe: gaussian(0.1, 0, 1), step: 0.2},
	{name: "lynx and hare", make: ofCase("lynx-hare"), truth: func() *probode.Problem {
		p := problems.LotkaVolterra20()
		p.Span, p.Theta, p.X0 = [2]float64{1900, 1920}, []float64{0.55, 0.028, 0.8, 0.024}, []float64{33, 6}
		return p
	}, times: func() []float64 {
		t := []float64{1900}
		for _, v := range every(1, 20) {
			t = append(t, 1900+v)
		}
		return t
	}(), observe: func(x []float64, rng *rand.Rand) []float64 {
		return []float64{x[0] * math.Exp(0.25*rng.NormFloat64()), x[1] * math.Exp(0.25*rng.NormFloat64())}
	}, step: 1},
	{name: "influenza", make: ofCase("influenza"), truth: problems.Influenza, times: every(1, 14), observe: func(x []float64, rng *rand.Rand) []float64 {
		mean := distuv.Gamma{Alpha: 10, Beta: 10 / x[1], Src: rng}.Rand() // negative binomial with φ = 10
		return []float64{distuv.Poisson{Lambda: mean, Src: rng}.Rand()}
	}, step: 1},
	{name: "drug, Michaelis–Menten", make: inferred(seen(elimination(), 0.1, 0), 0.5, 0), truth: elimination, times: every(0.5, 10), observe: gaussian(0.1, 0), step: 0.5},
	{name: "van der Pol", make: inferred(seen(oscillator(), 0.1, 0), 0.5, 0), truth: oscillator, times: every(0.6, 12), observe: gaussian(0.1, 0), step: 0.3},
	{name: "protein activation", make: inferred(seen(problems.ProteinActivation(), 0.01, 0, 1, 2, 3, 4), 0.5, 0), truth: problems.ProteinActivation,
		times: []float64{0, 1, 2, 4, 5, 7, 10, 15, 20, 30, 40, 50, 60, 80, 100}, observe: gaussian(0.01, 0, 1, 2, 3, 4), step: 2},
}, ofRodeo...)

func (q *question) model(ctx context.Context, seed uint64) (*bayes.Posterior, error) {
	p := q.truth()
	x, err := reference.Solve(ctx, p, q.times, reference.Settings{Tolerance: probode.Tolerance{Relative: 1e-12}})
	if err != nil {
		return nil, err
	}
	rng := probode.Stream(seed, 2)
	data := &bayes.Data{T: q.times}
	for i := range q.times {
		data.Y = append(data.Y, q.observe(x.X[i*p.Dim():(i+1)*p.Dim()], rng))
	}
	m := q.make(data)
	m.Method, m.Mesh, m.Alpha = methods.RungeKutta{}, probode.Uniform(q.step/fineness), 0
	return m, nil
}

type remedy struct {
	name    string
	noise   *rule          // the rule that chooses α; nil for no noise
	method  probode.Method // of the coarse posterior; nil for solver
	sampler sample.Sampler
	weigh   bool // the draws get the weights with which they represent the accurate posterior
}

var remedies = []remedy{
	{name: "ignore the error", sampler: sample.Deterministic{}},
	{name: "noise, paper's rule", noise: ruleNamed(asInPaper), sampler: sample.PCNWithinGibbs{}},
	{name: "noise, paper's rule and sampler", noise: ruleNamed(asInPaper), sampler: sample.RedrawOnAccept{}},
	{name: "noise, log score", noise: ruleNamed("log"), sampler: sample.PCNWithinGibbs{}},
	{name: "noise, log score, local", noise: ruleNamed(recommended), sampler: sample.PCNWithinGibbs{}},
	{name: "reweighting", sampler: sample.Deterministic{}, weigh: true},
	{name: "ignore the error, EK1", method: rodeoFilter, sampler: sample.Deterministic{}},
	{name: "Fenrir", method: rodeoFilter, noise: ruleNamed("log"), sampler: sample.Deterministic{Integral: marginal.Fenrir}},
	{name: "DALTON", method: rodeoFilter, noise: ruleNamed("log"), sampler: sample.Deterministic{Integral: marginal.DALTON}},
}
