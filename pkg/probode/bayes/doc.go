// Package bayes defines posteriors of the parameters of an ordinary differential
// equation, with the error of the numerical solver as part of the model. Let Z(θ, ξ) be
// the numerical solution, where ξ are standard normal variables that perturb the steps of
// the solver. The joint distribution is
//
//	p(θ, ξ | Y) ∝ p(Y | Z(θ, ξ)) p(θ) p(ξ)   [T18, equation 11]
//
// and the result of the inference is its marginal p(θ | Y).
//
// A Posterior has a Model and a Setup. The Model holds the parameters with their priors,
// and one or more Experiments. Each Experiment holds an equation, its data, the observed
// functions of the state, and the distributions of the observations. The Setup specifies
// how the equations are solved. NewDensity returns the density, CalibrateAlpha calibrates
// the noise scale of the solver, Predict draws new data, and Simulate generates data for
// tests. Other tasks have packages of their own:
//
//	bayes/modes    searches for the modes of a posterior
//	bayes/compare  compares two solvers at values of the parameters
//	bayes/sample   draws from it with one of several samplers
//	bayes/certify  bounds the effect of the solver's error, without sampling
//	bayes/assess   says whether the solver's error matters, and what to use
//	bayes/sbc      tests a sampler
//	bayes/marginal integrates the uncertain solution out, by Gaussian filters
//	bayes/cases    contains complete models with data
//
// # The purpose of noise in the model
//
// For a solver that cannot be made more accurate, the paper [T18] proposes to infer θ and
// ξ jointly from p(θ, ξ | Y). A larger uncertainty about the numerical solution gives a
// wider posterior of θ, and a wider distribution of the path. Noise with mean zero does
// not correct a systematic error of the solver. Package bayes/cases contains eight
// complete models. With large steps, noise in the model reduces the largest bias in only
// one of the eight models (docs/which-uncertainty.md). A smaller step, another method,
// and reweighting of the draws with an accurate solver bring the result closer to the
// posterior under the exact solution, and usually cost less. Package assess says which
// steps are small enough.
//
// # References
//
//   - [T18] Teymur, Lie, Sullivan & Calderhead (2018), Implicit Probabilistic
//     Integrators for ODEs, NeurIPS.
//   - Andrieu & Roberts (2009), The pseudo-marginal approach for efficient
//     Monte Carlo computations, Annals of Statistics 37, 697.
//   - Conrad, Girolami, Särkkä, Stuart & Zygalakis (2017), Statistical analysis
//     of differential equations: introducing probability measures on numerical
//     solutions, Statistics and Computing 27, 1065.
//   - Cotter, Roberts, Stuart & White (2013), MCMC methods for functions:
//     modifying old algorithms to make them faster, Statistical Science 28, 424.
//   - Deligiannidis, Doucet & Pitt (2018), The correlated pseudomarginal method,
//     Journal of the Royal Statistical Society B 80, 839.
//   - Modrák, Moon, Kim, Bürkner, Huurre, Faltejsková, Gelman & Vehtari (2023),
//     Simulation-based calibration checking for Bayesian computation: the choice
//     of test quantities shapes sensitivity, Bayesian Analysis.
//   - Säilynoja, Bürkner & Vehtari (2022), Graphical test for discrete uniformity
//     and its applications in goodness-of-fit evaluation and multiple sample
//     comparison, Statistics and Computing 32, 32.
//   - Talts, Betancourt, Simpson, Vehtari & Gelman (2018), Validating Bayesian
//     inference algorithms with simulation-based calibration, arXiv:1804.06788.
//   - Vehtari, Simpson, Gelman, Yao & Gabry (2024), Pareto smoothed importance
//     sampling, Journal of Machine Learning Research 25(72), 1.
package bayes
