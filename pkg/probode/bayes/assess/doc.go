// Package assess measures how the error of a solver changes a posterior.
//
// Run draws from the reference posterior, which is computed with an accurate solver. Each
// candidate is another way to solve the equations: a method with a step size or a
// tolerance, or a method whose error is part of the model. Run computes the posterior of
// each candidate and compares it with the reference posterior. The result is one of three
// verdicts: the solver's error does not matter, it matters, or it is not known, with the
// reason.
//
// # Weights and runs
//
// Let x be the solution of the accurate solver and Z the solution of a candidate. With
// the weights
//
//	wᵢ ∝ p(Y | Z(θᵢ)) / p(Y | x(θᵢ)),
//
// draws θᵢ from the reference posterior represent the posterior of the candidate. The
// weights cost one solution per draw. The difference between two means over the same
// draws has a Monte Carlo error that tends to zero with the difference, whereas the
// difference between two runs contains the Monte Carlo errors of both. A candidate gets a
// run of its own only if weights cannot represent it: if it has noise; if only one of the
// two posteriors has a certain mode, or Metropolis moves lead from the draws to regions
// without draws; and if k̂ or the effective number of weighted draws is outside its limit.
//
// All runs are extended until each verdict is known or the budget is spent.
//
// Package certify bounds the effect of the solver's error without sampling; the report
// contains its certificates.
package assess
