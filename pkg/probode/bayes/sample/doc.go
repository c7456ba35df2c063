// Package sample draws from posterior distributions that are defined with package bayes.
//
// Choose looks for a sampler that suits a posterior. Run keeps the draws in memory, and
// Store writes them to files. CheckSolver says how much the error of the solver matters for
// the draws. Compare runs several samplers on one model.
// Reweight computes weights for draws made with a coarse solver, so that the weighted
// draws represent the posterior computed with an accurate solver.
//
//	sampler              stationary distribution     solves for each draw    when to use it
//	Deterministic        p₀(θ | Y), ξ = 0            1                       if the solver's error is negligible
//	Hamiltonian          p(θ, ξ | Y)                 3 to 6, with gradients  for the posterior of the paper
//	PCNWithinGibbs       p(θ, ξ | Y)                 2                       for the same, without gradients
//	PseudoMarginal       p(θ | Y)                    N                       for the same, if joint moves of θ and ξ fail; with
//	                                                                         Expected, to compare with Conrad et al.
//	NUTS                 p₀(θ | Y), ξ = 0            some, with gradients    with more than about fifteen parameters
//	Tempering            p₀(θ | Y), ξ = 0            14                      with up to about fifteen parameters, or several modes
//	RedrawOnAccept       depends on the proposal     1 to 2                  to reproduce Figure 2 of the paper
//
// Deterministic{Integral: marginal.Fenrir} and Deterministic{Integral: marginal.DALTON}
// draw from p(θ | Y), and compute the likelihood with a Gaussian filter. Each draw needs at
// least two passes of the filter.
//
// All samplers except RedrawOnAccept, and PseudoMarginal with Expected, are exact: apart
// from Monte Carlo error, the draws have the distribution given in the table.
package sample
