package cases

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
)

// The cases in this file are hard for solvers or for samplers. The data are values of the
// exact solution; only the data of pkMichaelisMenten contain noise.

// dragonsLogNormal returns the model y′ = β0 − β1 y with y(0) = 1. The solution y is
// observed at t = 0.5, 1, …, 5 with Gaussian errors of sd 0.1. The true β is (10, 1). The
// solver is RK4 with h = 0.5, and the priors are ln β0 ~ N(ln 10, 2²) and ln β1 ~ N(0,
// 2²). Each step multiplies the distance from the equilibrium by R(z) = 1 − z + z²/2 −
// z³/6 + z⁴/24 at z = hβ1. Because R is not monotone, the RK4 solution also fits the data
// with β1 = 4.911. The posterior computed with RK4 has a mode at β1 = 4.911, but the
// exact posterior does not.
//
// Source: O'Brien et al. (2025), arXiv:2502.11510.
func dragonsLogNormal(data *bayes.Data) *bayes.Posterior {
	return dragons(data, distuv.LogNormal{Mu: math.Log(10), Sigma: 2}, distuv.LogNormal{Mu: 0, Sigma: 2})
}

// dragonsUniform returns the same model as dragonsLogNormal, but with uniform priors on
// (0, 100) for β0 and on (0, 10) for β1.
func dragonsUniform(data *bayes.Data) *bayes.Posterior {
	return dragons(data, distuv.Uniform{Min: 0, Max: 100}, distuv.Uniform{Min: 0, Max: 10})
}

func dragons(data *bayes.Data, beta0, beta1 bayes.Distribution) *bayes.Posterior {
	p := &probode.Problem{
		Name: "dragons", States: []string{"y"}, Params: []string{"beta0", "beta1"},
		X0: []float64{1}, Theta: []float64{10, 1}, Span: [2]float64{0, 5}, Autonomous: true,
		F: func(f []float64, _ float64, x, theta []float64) { f[0] = theta[0] - theta[1]*x[0] },
	}
	return posterior(p, data, bayes.Gaussian{Sigma: bayes.Known(0.1)}, probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.5)},
		bayes.Param{Name: "beta0", Prior: beta0}, bayes.Param{Name: "beta1", Prior: beta1})
}

// posterior returns a model with one experiment, all columns of which have the same errors.
func posterior(p *probode.Problem, data *bayes.Data, errors bayes.Likelihood, s probode.Setup, params ...bayes.Param) *bayes.Posterior {
	return &bayes.Posterior{Setup: s, Model: bayes.Model{Params: params,
		Experiments: []bayes.Experiment{{Problem: p, Data: data, Errors: []bayes.Likelihood{errors}}}}}
}

// alias returns a model of the oscillator y″ = −ω² y with y(0) = 1 and y′(0) = 0. The
// solution y is observed at t = 1, 2, …, 10 with Gaussian errors of sd 0.1. The true ω is
// 1.3. The prior of ω is uniform on (0, 2π). Since the observation times are integers,
// the values ω and 2π − ω give the same data, so the posterior has two modes, each with
// half of the mass.
func alias(data *bayes.Data) *bayes.Posterior {
	p := &probode.Problem{
		Name: "oscillator", States: []string{"y", "v"}, Params: []string{"omega"},
		X0: []float64{1, 0}, Theta: []float64{1.3}, Span: [2]float64{0, 10}, Autonomous: true,
		F: func(f []float64, _ float64, x, theta []float64) { f[0], f[1] = x[1], -theta[0]*theta[0]*x[0] },
	}
	return posterior(p, data, bayes.Gaussian{Sigma: bayes.Known(0.1)}, probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.05)},
		bayes.Param{Name: "omega", Prior: distuv.Uniform{Min: 0, Max: 2 * math.Pi}})
}

// pkMichaelisMenten returns a model for the concentration c of a drug that is eliminated
// at the rate v_m c/(k_m + c). The concentration starts at c = 8, and is observed with
// log-normal errors, whose sd is 0.1 on the log scale. The data were simulated with v_m =
// 1.5 and k_m = 0.8. The priors are log-normal with median 1 and a standard deviation of
// 1 on the log scale. The solver is the trapezoidal rule with h = 1/4.
func pkMichaelisMenten(data *bayes.Data) *bayes.Posterior {
	wide := distuv.LogNormal{Sigma: 1}
	p := &probode.Problem{
		Name: "Michaelis–Menten elimination", States: []string{"concentration"}, Params: []string{"v_m", "k_m"},
		X0: []float64{8}, Theta: []float64{1.5, 0.8}, Span: [2]float64{0, 7}, Autonomous: true,
		F: func(f []float64, _ float64, x, theta []float64) { f[0] = -theta[0] * x[0] / (theta[1] + x[0]) },
	}
	return posterior(p, data, bayes.LogNormal{Sigma: bayes.Known(0.1)}, probode.Setup{Method: adams.Moulton{Steps: 1}, Mesh: probode.Uniform(0.25)},
		bayes.Param{Name: "v_m", Prior: wide}, bayes.Param{Name: "k_m", Prior: wide})
}

// boluses returns the model y′ = input − k y with y(0) = 5. The solution y is observed
// with Gaussian errors of sd 0.1. The true k is 0.5. The input gives one dose of 12 at t
// = 1 and another at t = 2. Each dose enters at a constant rate over 0.002 units of time.
// The jumps of the input are declared as events, because otherwise a solver could step
// over a dose.
func boluses(data *bayes.Data) *bayes.Posterior {
	const width = 0.002
	input := &probode.Input{Times: []float64{1, 1 + width, 2, 2 + width}, Values: []float64{12 / width, 0, 12 / width, 0}, Constant: true}
	p := &probode.Problem{
		Name: "boluses", States: []string{"y"}, Params: []string{"k"},
		X0: []float64{5}, Theta: []float64{0.5}, Span: [2]float64{0, 4},
		F:      func(f []float64, t float64, x, theta []float64) { f[0] = input.At(t) - theta[0]*x[0] },
		Events: input.Events(),
	}
	return posterior(p, data, bayes.Gaussian{Sigma: bayes.Known(0.1)}, probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Through(0.25)},
		bayes.Param{Name: "k", Prior: distuv.LogNormal{Mu: -1, Sigma: 1}})
}
