// Package mcmc uses Markov chain Monte Carlo to draw from a probability density that is
// known up to a constant.
//
// The package has two parts, transitions and chains, each of which can be used without
// the other:
//
//   - Transitions: a [Kernel] moves one chain by one iteration. [Metropolis] is the
//     Metropolis–Hastings kernel. Its proposals are those of [AdaptiveMetropolis], which
//     learns the shape of the target. Kernels that move more than the parameters can use a
//     [Proposal] by itself. A density that is computed in any way, for example by
//     integrating out the solution of an equation, is a [LogDensity]. [NUTS] is the
//     no-U-turn sampler, for targets that have a gradient, and [Hamiltonian] is for those
//     that are nearly Gaussian as well. [Tempering] is for targets with several modes.
//   - Chains: [Run] advances any number of chains on all cores and returns [Chains],
//     which are the same to the last bit for any number of workers. [Chains.Summary]
//     computes means, quantiles and diagnostics, and [Chains.Warnings] explains in words
//     what they show.
//
// Package mcmc/diag contains diagnostics for draws from any source. Package mcmc/store
// keeps the draws in files, so that a run can be stopped, resumed and extended.
//
// The package contains no code for differential equations. If a density depends on the
// numerical solution of an equation, its [LogDensity] returns an error wherever the
// solver fails.
//
// # References
//
//   - Haario, H., Saksman, E., Tamminen, J. (2001). An adaptive Metropolis
//     algorithm. Bernoulli 7(2), 223–242.
//   - Roberts, G. O., Gelman, A., Gilks, W. R. (1997). Weak convergence and
//     optimal scaling of random walk Metropolis algorithms. Annals of Applied
//     Probability 7(1), 110–120.
//   - Andrieu, C., Thoms, J. (2008). A tutorial on adaptive MCMC. Statistics and
//     Computing 18(4), 343–373.
//   - Rudolf, D., Sprungk, B. (2018). On a generalization of the preconditioned
//     Crank–Nicolson Metropolis algorithm. Foundations of Computational
//     Mathematics 18(2), 309–343.
//   - Kamatani, K. (2018). Efficient strategy for the Markov chain Monte Carlo in
//     high-dimension with heavy-tailed target probability distribution. Bernoulli
//     24(4B), 3711–3750.
//   - Geyer, C. J. (1991). Markov chain Monte Carlo maximum likelihood. Computing Science
//     and Statistics 23, 156–163.
//   - Okabe, T., Kawata, M., Okamoto, Y., Mikami, M. (2001). Replica-exchange Monte Carlo
//     method for the isobaric–isothermal ensemble. Chemical Physics Letters 335, 435–439.
//   - Syed, S., Bouchard-Côté, A., Deligiannidis, G., Doucet, A. (2022). Non-reversible
//     parallel tempering: a scalable highly parallel MCMC scheme. Journal of the Royal
//     Statistical Society B 84(2), 321–350.
//   - Hoffman, M. D., Gelman, A. (2014). The no-U-turn sampler: adaptively setting path
//     lengths in Hamiltonian Monte Carlo. Journal of Machine Learning Research 15,
//     1593–1623.
//   - Nesterov, Y. (2009). Primal-dual subgradient methods for convex problems.
//     Mathematical Programming 120(1), 221–259.
//   - Betancourt, M. (2016). Diagnosing suboptimal cotangent disintegrations in
//     Hamiltonian Monte Carlo. arXiv 1604.00695.
//   - Betancourt, M. (2017). A conceptual introduction to Hamiltonian Monte Carlo. arXiv
//     1701.02434.
//   - Beskos, A., Pinski, F. J., Sanz-Serna, J. M., Stuart, A. M. (2011). Hybrid Monte
//     Carlo on Hilbert spaces. Stochastic Processes and their Applications 121(10),
//     2201–2230.
//   - Shahbaba, B., Lan, S., Johnson, W. O., Neal, R. M. (2014). Split Hamiltonian Monte
//     Carlo. Statistics and Computing 24(3), 339–349.
package mcmc

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// A LogDensity is the logarithm of a density, up to an additive constant.
//
// −Inf means that x lies outside the support: a move to x is rejected. An error, NaN or
// +Inf means that the density could not be evaluated, for example because a differential
// equation has no numerical solution at x. A move to a point at which the density cannot
// be evaluated is rejected and counted as failed. Failed moves are counted separately,
// because they may keep the chain out of a region that has posterior mass.
//
// A LogDensity must not change x or keep a reference to x. Chains run at the same time,
// so a LogDensity that owns a workspace can be used by only one chain.
type LogDensity func(x []float64) (logDensity float64, err error)

// A GradientDensity is a LogDensity that also writes its gradient to grad. The rules for
// a LogDensity also apply to a GradientDensity. If the function returns −Inf or an error,
// the gradient has no meaning.
type GradientDensity func(grad, x []float64) (logDensity float64, err error)

var errNotFinite = errors.New("the log density or its gradient is not finite: want finite numbers")

func checked(logp float64, err error) (float64, error) {
	if err == nil && (math.IsNaN(logp) || math.IsInf(logp, 1)) {
		err = errNotFinite
	}
	if err != nil {
		return math.NaN(), err
	}
	return logp, nil
}

func (f GradientDensity) checked(grad, x []float64) (float64, error) {
	logp, err := checked(f(grad, x))
	if sum := floats.Sum(grad); math.IsInf(logp, -1) || !math.IsNaN(sum) && !math.IsInf(sum, 0) {
		return logp, err
	}
	return checked(math.NaN(), err)
}

func startError(x []float64, logp float64, err error) error {
	if math.IsInf(logp, -1) {
		err = errors.New("the density is zero: want a point at which it is positive")
	}
	if err != nil {
		return fmt.Errorf("mcmc: target at %v: %w", x, err)
	}
	return nil
}

// A Kernel stores the position of one chain and performs its random moves. Each move
// leaves the target distribution invariant. In addition to the position, a kernel may
// store latent variables, a density or an adapted proposal. A kernel need not be safe for
// concurrent use.
type Kernel interface {
	// Init sets the position of the chain to a copy of x, sets all counts to zero, and
	// draws latent variables from rng. Init returns an error if the density at x is zero
	// or cannot be evaluated. After an error, Init may be called again.
	Init(x []float64, rng *rand.Rand) error

	// Step makes one iteration.
	Step(rng *rand.Rand)

	// Position returns the coordinates to be recorded. The number of coordinates does not
	// change. The slice is valid until the next Step and must not be changed.
	Position() []float64

	// Stats returns the counts of moves since Init.
	Stats() Stats

	// State stores in the Archive `a` everything on which Step and Position depend. If
	// `a` is open for reading, State instead restores the state of the kernel. The kernel
	// must have been made with the same arguments as the stored kernel. State is called
	// between iterations.
	State(a *Archive)
}

// A Generator is a Kernel that also returns quantities other than the coordinates, such
// as the log density or the predictions of the model. See Settings.Generated.
type Generator interface {
	// Generate writes the quantities at the current position to dst.
	Generate(dst []float64)
}

// Interruptible is a Kernel whose Init, Step or Generate may return early, for example
// when a context ends during a long evaluation.
type Interruptible interface {
	Kernel
	// Interrupted reports whether Init, Step or Generate returned early. An interrupted
	// iteration does not count, and the chain runs no further iterations.
	Interrupted() bool
}

// Moves counts proposed moves of one kind.
type Moves struct {
	Proposed int // moves proposed
	Accepted int // those that were accepted
	Failed   int // those rejected because the target could not be evaluated
}

// Rate returns the share of proposed moves that were accepted, or NaN if none was
// proposed.
func (m Moves) Rate() float64 { return float64(m.Accepted) / float64(m.Proposed) }

// Stats counts the moves of a kernel. Moves counts the moves of the parameters. Latent
// counts the moves of latent variables, if the kernel updates them by a separate
// accept/reject step.
type Stats struct {
	Moves
	Latent Moves
}

func (m Moves) plus(sign int, n Moves) Moves {
	return Moves{m.Proposed + sign*n.Proposed, m.Accepted + sign*n.Accepted, m.Failed + sign*n.Failed}
}

func (s Stats) plus(sign int, t Stats) Stats {
	return Stats{s.Moves.plus(sign, t.Moves), s.Latent.plus(sign, t.Latent)}
}

func (a *Archive) moves(m *Moves) {
	a.Int(&m.Proposed)
	a.Int(&m.Accepted)
	a.Int(&m.Failed)
}

// Stats writes or reads counts.
func (a *Archive) Stats(s *Stats) {
	a.moves(&s.Moves)
	a.moves(&s.Latent)
}
