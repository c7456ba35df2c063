// Package filter solves differential equations by Gaussian filtering. The prior of the
// solution is a Gaussian process, an integrated Wiener process of order q. The equation
// itself is the observation: in every step the filter conditions on
//
//	x′(t) − f(t, x(t)) = 0,
//
// linearised at the prediction. The result is a mean and a covariance at every time, at
// about the cost of one implicit solve.
//
// EK is a probode.Method based on this filter. The mean that EK computes is the solution
// of a classical method of order q. EK can be used wherever a method is needed in this
// module.
//
// The implementation uses square roots of covariances in Nordsieck coordinates [KH24],
// and starts from the exact Taylor series of order q. Rounding errors are therefore small
// at all orders up to 11, even with small steps.
//
// A Marginal computes a likelihood by Fenrir [T22] or DALTON [WL24]. Both methods
// integrate out the uncertain solution. Package bayes/marginal uses a Marginal to compute
// posteriors.
//
// References: [KH16] Kersting & Hennig (2016), Active uncertainty calibration in Bayesian
// ODE solvers, UAI; [B22] Bosch, Tronarp & Hennig (2022), Pick-and-mix information
// operators for probabilistic ODE solvers, AISTATS; [S19] Schober, Särkkä & Hennig, Statistics and Computing 29, 99; [T19]
// Tronarp, Kersting, Särkkä & Hennig, Statistics and Computing 29, 1297; [KH24] Krämer &
// Hennig (2024), Stable implementation of probabilistic ODE solvers, Journal of Machine
// Learning Research 25; [T22] Tronarp, Bosch & Hennig (2022), Fenrir: physics-enhanced
// regression for initial value problems, ICML; [WL24] Wu & Lysy (2024), Data-adaptive
// probabilistic likelihood approximation for ordinary differential equations, AISTATS.
package filter
