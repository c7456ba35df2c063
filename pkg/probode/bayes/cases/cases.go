// Package cases holds complete models with embedded data. Some of the models come from
// publications and are used as examples and for comparisons. The other models are hard
// for solvers or samplers. See Names and Named.
package cases

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// lynxHare returns the predator–prey model of Carpenter's Stan case study. The data are
// the numbers of hare and lynx pelts, in thousands, in each year from 1900 to 1920
// (columns hare and lynx). The equations are the Lotka–Volterra equations with unknown
// initial values. The priors and the likelihood are
//
//	θ1, θ3 ~ N(1, 0.5²), θ2, θ4 ~ N(0.05, 0.05²), all positive
//	hare0, lynx0 ~ LogNormal(log 10, 1)
//	log y ~ N(log z, σ²), σ ~ LogNormal(−1, 1) for each species
//
// The numbers of pelts in the first year are observations of the initial values. The
// solver, RK4 with ten steps per year, is accurate. Choose a less accurate solver to see
// the effect of its error.
//
// Source: Carpenter (2018), Predator-Prey Population Dynamics: the
// Lotka-Volterra model in Stan.
func lynxHare(data *bayes.Data) *bayes.Posterior {
	p := problems.LotkaVolterra20()
	p.Name = "lynx and hare"
	p.States = []string{"hare", "lynx"}
	p.Params = []string{"theta1", "theta2", "theta3", "theta4"}
	p.Span = [2]float64{1900, 1920}
	p.TimeUnit = "years"
	p.Theta = []float64{0.55, 0.028, 0.8, 0.024}
	p.X0 = []float64{33, 6}
	start := distuv.LogNormal{Mu: math.Log(10), Sigma: 1}
	size := distuv.LogNormal{Mu: -1, Sigma: 1}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{
				{Name: "theta1", Prior: bayes.Positive(1, 0.5)},
				{Name: "theta2", Prior: bayes.Positive(0.05, 0.05)},
				{Name: "theta3", Prior: bayes.Positive(1, 0.5)},
				{Name: "theta4", Prior: bayes.Positive(0.05, 0.05)},
				{Name: "hare0", Prior: start},
				{Name: "lynx0", Prior: start},
				{Name: "sigma_hare", Prior: size},
				{Name: "sigma_lynx", Prior: size},
			},
			Experiments: []bayes.Experiment{{
				Problem: p.UnknownStart(), Data: data,
				Errors: []bayes.Likelihood{
					bayes.LogNormal{Sigma: bayes.Unknown("sigma_hare")},
					bayes.LogNormal{Sigma: bayes.Unknown("sigma_lynx")},
				},
			}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.1)},
	}
}

// influenza returns the model of Grinsztajn et al. for an outbreak of influenza in a
// boarding school. The data are the numbers of boys confined to bed on days 1 to 14
// (column in_bed). The equations are the SIR equations of Kermack and McKendrick for 763
// boys, one of whom is infected on day 0. The priors and the likelihood are
//
//	beta ~ N(2, 1), gamma ~ N(0.4, 0.5²), both positive
//	y ~ NegativeBinomial(I, φ), 1/φ ~ Exponential(5)
//
// Since 1/φ has an exponential prior, φ has an inverse gamma prior. The parameter φ
// is called phi in the model. The solver, RK4 with ten steps per day, is accurate.
//
// Source: Grinsztajn, Semenova, Margossian & Riou (2021), Bayesian workflow for
// disease transmission modeling in Stan, Statistics in Medicine 40, 6209.
func influenza(data *bayes.Data) *bayes.Posterior {
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{
				{Name: "beta", Prior: bayes.Positive(2, 1)},
				{Name: "gamma", Prior: bayes.Positive(0.4, 0.5)},
				{Name: "phi", Prior: distuv.InverseGamma{Alpha: 1, Beta: 5}},
			},
			Experiments: []bayes.Experiment{{
				Problem: problems.Influenza(), Data: data,
				Observe: func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[1] },
				Errors:  []bayes.Likelihood{bayes.NegativeBinomial{Phi: bayes.Unknown("phi")}},
			}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.1)},
	}
}

// fitzHughNagumo returns the model of §3.2 of Teymur et al. (2018). The data have two
// columns, V and R, both with Gaussian errors of variance 0.01. The prior is uniform on
// (0, 10)³. As in Teymur et al. (2018), the parameters are sampled without a
// transformation. The solver is the backward Euler method, linearised at the current
// state. The step size is 0.05, and the noise scale α is 0.2.
func fitzHughNagumo(data *bayes.Data) *bayes.Posterior {
	p := problems.FitzHughNagumo()
	post := posterior(p, data, bayes.Gaussian{Sigma: bayes.Known(0.1)},
		probode.Setup{Method: adams.Moulton{Linearize: adams.Current}, Mesh: probode.Uniform(0.05), Alpha: 0.2})
	for k := range p.Theta {
		post.Params = append(post.Params, bayes.Param{
			Name: p.ParamName(k), Prior: distuv.Uniform{Min: 0, Max: 10}, Natural: true,
		})
	}
	return post
}
