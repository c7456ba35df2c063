// Package probode solves ordinary differential equations with probabilistic integrators.
// A probabilistic integrator returns not a single solution but a distribution over
// solutions. If the noise scale is calibrated, the spread of the solutions is about as
// large as the error of the method.
//
// The package implements the implicit probabilistic integrators of Teymur, Lie, Sullivan
// & Calderhead [T18], which are of Adams–Moulton type. The package also implements the
// explicit integrators of Conrad et al. [C16] and Teymur et al. [T16]. A numerical path
// is a deterministic function Z(θ, ξ) of the parameters θ and of standard normal variates
// ξ; ξ = 0 gives the classical method. A Solver computes the path Z(θ, ξ).
//
// # Where to start
//
//   - A Problem holds f, the initial state, the span and, if there are doses or
//     switches, the events.
//   - Integrate computes an ensemble: means, spreads and quantiles over time.
//   - A Solver computes single paths. SolveTangents computes the derivatives of a
//     path, and Gradient computes the gradient of a function of a path.
//   - Package adams has the methods of the paper, and package methods has others.
//   - Package calibrate chooses the noise scale α, so that the spread matches the
//     error.
//   - Package bayes infers θ from data, and includes the solver's error in the
//     model. Package bayes/assess says whether this error matters.
//   - Package model reads models from files, and package problems holds test
//     problems.
//   - Package reference computes accurate solutions, and package mcmc runs Markov
//     chains.
//
// # Which method
//
// adams.Moulton{} is the backward Euler method, for problems that may be stiff.
// adams.Moulton{Steps: 1} is the trapezoidal rule, which has order 2 and is still
// A-stable. A larger value of Steps gives a higher order but a smaller region of
// stability. A step of adams.Bashforth or methods.RungeKutta costs less than a step of
// adams.Moulton, but both are suitable only for problems that are not stiff. Package
// methods contains Radau and BDF for stiff problems, Gauss for mechanical systems, and
// methods with random time steps. Package filter contains Gaussian filters. The page docs/choosing-a-method.md compares all these methods, and
// docs/adding-a-method.md shows how to write a method of your own.
//
// A Mesh determines the steps: steps of equal size (Uniform), steps that end at the
// observation times (Through), or the steps of one error-controlled run (Frozen).
//
// # Notation
//
//	paper        code
//	f, J         Problem.F, Problem.FJ
//	θ, X₀        Problem.Theta, Problem.X0 and Start
//	Z            the result of Solver.Solve
//	ξ            DrawNoise, PerturbNoise
//	h            StepSize, Grid.H
//	s            Steps of adams.Bashforth and adams.Moulton
//	β₋₁, β_j     adams.MoultonCoefficients
//	α            Alpha: it multiplies the variance of the noise
//	Γ            (h β₋₁)⁻¹ I − J
//	H            α h^{2s+1} J Jᵀ, the scale in derivative space
//	Σ_Z          α h^{2s+1} I, the covariance of the explicit methods
//	r(z)         steplaw.Law.Residual
//
// # Differences from the paper
//
// The authors of [T18] linearise f at the current state, which makes each step cheap
// (adams.Moulton with Linearize: Current). The linearisation limits the order of the
// method to 2. By default, adams.Moulton solves the implicit equation by Newton's method,
// and its order is s+1. The command reproduce repeats every experiment of [T18], and
// writes a report that compares the results with those of the paper.
//
// # The code
//
// The files, in an order in which each uses little of those after it:
//
//   - problem.go, events.go, check.go and errors.go: what is solved
//   - grid.go: the times of the steps
//   - method.go: what a method does in a step
//   - solver.go, scaling.go and noise.go: a path
//   - tangent.go and adjoint.go: its derivatives
//   - interpolator.go and path.go: its states at given times
//   - setup.go and mesh.go: how a problem is solved
//   - tolerance.go, localerror.go, controller.go and adaptive.go: error control
//   - triggered.go and hybrid.go: events whose times depend on the state
//   - ensemble.go: many paths
//
// The package imports the standard library, internal packages of this module, and two
// packages that know nothing of problems: linalg holds matrices and their factors, and
// field computes derivatives of f. All other packages import this one.
//
// # References
//
//   - [T18] Teymur, Lie, Sullivan & Calderhead (2018), Implicit probabilistic
//     integrators for ODEs, NeurIPS 31. Equation numbers are those of this
//     paper.
//   - [T16] Teymur, Zygalakis & Calderhead (2016), Probabilistic linear
//     multistep methods, NeurIPS 29.
//   - [C16] Conrad, Girolami, Särkkä, Stuart & Zygalakis (2016), Statistical
//     analysis of differential equations: introducing probability measures on
//     numerical solutions, Statistics and Computing 27.
//   - Griewank & Walther (2008), Evaluating Derivatives, 2nd edition.
//   - [HNW93] Hairer, Nørsett & Wanner (1993), Solving Ordinary Differential
//     Equations I, 2nd edition, Springer. Hairer & Wanner (1996) is volume II.
//   - Cotter, Roberts, Stuart & White (2013), MCMC methods for functions,
//     Statistical Science 28.
package probode
