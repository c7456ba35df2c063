// Package bayes infers the parameters of an ordinary differential equation
// from data when the equation is solved numerically, with the error of the
// solver as part of the model. With ξ the standard normals behind a numerical
// path and Z(θ, ξ) that path, the joint law is
//
//	p(θ, ξ | Y) ∝ p(Y | Z(θ, ξ)) p(θ) p(ξ)   [T18, equation 11]
//
// and what is wanted is its marginal p(θ | Y). A Posterior holds the pieces;
// a Scheme says how to draw from it; Sample runs the chains.
//
// # Which scheme
//
//   - PCNWithinGibbs draws from p(θ, ξ | Y). It is the one to use.
//   - Deterministic takes ξ = 0: the posterior of someone who trusts the
//     solver. Set beside the first, it shows what the solver's error does.
//   - RedrawOnAccept is the scheme of the paper's appendix. Its law is neither
//     p(θ, ξ | Y) nor free of the proposal; it is here because the paper's
//     figure was made with it.
//
// References: [T18] is Teymur, Lie, Sullivan & Calderhead, Implicit
// Probabilistic Integrators for ODEs, NeurIPS 2018.
package bayes
