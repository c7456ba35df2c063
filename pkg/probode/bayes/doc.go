// Package bayes infers the parameters of an ordinary differential equation
// from data when the equation is solved numerically, with the error of the
// solver as part of the model. With ξ the standard normals behind a numerical
// path and Z(θ, ξ) that path, the joint distribution is
//
//	p(θ, ξ | Y) ∝ p(Y | Z(θ, ξ)) p(θ) p(ξ)   [T18, equation 11]
//
// whose marginal p(θ | Y) is the result of the inference.
//
// # From an equation and data to an answer
//
// A Posterior names the parameters with their priors, and holds one or more
// Experiments: an equation, its data, what of the state is observed, and the
// distribution of the errors. FindMode and CalibrateAlpha find the noise scale of the
// solver where the posterior is; Sample draws by a Sampler; Predict tells what
// new data would look like. Assess does all that over a ladder of step sizes
// and says whether the solver's error matters. Stream is Sample for runs too
// long for one sitting or one machine.
//
// # Which sampler
//
//	sampler               stationary distribution             solves a draw       use it
//	DelayedAcceptance    p(θ | Y) of an accurate    1, and an accurate  by default, with Accurate; else where the fine step is expensive
//	                     solver, p₀(θ | Y) of a     or fine one where
//	                     finer step, or p(θ, ξ | Y) the first accepts
//	Deterministic        p₀(θ | Y), ξ = 0           1                   where certify.Run says that the solver's error is negligible
//	Reweighted           p₀(θ | Y) of an accurate   1, and an accurate  to check a coarse posterior; k̂ says whether it worked
//	                     solver                     one for each kept
//	PCNWithinGibbs       p(θ, ξ | Y)                2                   for the posterior of the paper
//	PseudoMarginal       p(θ | Y)                   N                   the same, where θ and ξ are moved together badly
//	ExpectedLikelihood   near p(θ | Y)              2 N                 to compare with Conrad et al.
//	RedrawOnAccept       depends on the proposal    1 to 2              to reproduce the paper's Figure 2
//
// All but the last two are exact: their draws have the distribution stated, up to
// Monte Carlo error, of the weights of Reweighted too. Compare runs several on one
// model.
//
// # What noise in the model is for
//
// p(θ, ξ | Y) is the paper's answer to a solver that cannot be had more accurate: it
// is wider where the solver knows less, and says so of the path too. It does not
// undo an error that keeps its sign, and widens what it does not move: over the
// cases of the command, at steps where the error matters, the bias of the worst
// parameter stays what it is or grows in seven of eight (docs/why-noise-does-not-help.md).
// Where a smaller step, another method or an accurate second look can be paid for,
// each of them is nearer to the posterior of the exact solution and most are
// cheaper; package assess measures which, for the model at hand. So the default is
// DelayedAcceptance with Accurate, which is right whatever the step, and costs an
// accurate solve for about every second draw.
//
// # References
//
//   - [T18] Teymur, Lie, Sullivan & Calderhead (2018), Implicit Probabilistic
//     Integrators for ODEs, NeurIPS.
//   - Andrieu & Roberts (2009), The pseudo-marginal approach for efficient
//     Monte Carlo computations, Annals of Statistics 37, 697.
//   - Christen & Fox (2005), Markov chain Monte Carlo using an approximation,
//     Journal of Computational and Graphical Statistics 14, 795.
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
