// Package mcmc draws from a probability density that is known up to a constant, by
// Markov chain Monte Carlo.
//
// It has two parts, each of use without the other:
//
//   - transitions: a [Kernel] moves one chain by one iteration. [Metropolis] is
//     that of Metropolis and Hastings. Its proposals follow a [Rule]:
//     [AdaptiveMixture], the one to take, learns in burn-in what it needs to know
//     of the target; [AdaptiveMetropolis] is the random walk of Haario et al. A
//     [Proposal] can be had alone, for kernels that move more than the parameters;
//   - chains: [Run] advances any number of chains on all cores and returns
//     [Chains], the same to the last bit for any number of workers. Their
//     [Chains.Summary] holds means, quantiles and diagnostics, and
//     [Chains.Warnings] says in words what these show.
//
// How far draws can be trusted is computed by mcmc/diag, on draws from any source.
// Runs to files, which can be stopped, resumed and extended, are those of
// mcmc/store.
//
// The package knows nothing of differential equations. A density that rests on
// a numerical solution enters as a [Target], whose evaluations may fail.
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
package mcmc

import "math/rand/v2"

// A Target is the logarithm of a density, up to an additive constant.
//
// −Inf says that x lies outside the support: a move there is rejected, as any
// other. An error, NaN or +Inf says that the density could not be evaluated,
// as when a differential equation has no numerical solution at x: such a move
// is rejected too, but counted as failed, for a posterior from which failures
// cut a piece is not the posterior that was asked for.
//
// A Target must neither change nor keep x. Chains run at the same time, so a
// Target that owns a workspace serves one chain only.
type Target func(x []float64) (logDensity float64, err error)

// A Kernel is one chain's transition: a position, and the random move from it
// that leaves the wanted distribution as it is. What the kernel holds beside the
// position — latent variables, a density, an adapted proposal — is its own
// affair. A Kernel need not be safe for concurrent use.
type Kernel interface {
	// Init places the chain at a copy of x, with all counts at zero. Latent
	// variables are drawn from rng. It is an error if the density at x is
	// zero or cannot be evaluated; the kernel may then be placed again.
	Init(x []float64, rng *rand.Rand) error

	// Step makes one iteration.
	Step(rng *rand.Rand)

	// Position returns the coordinates that are to be recorded, the same
	// number at all times. It is a view, valid until the next Step, and not
	// to be changed.
	Position() []float64

	// Stats returns the counts since Init.
	Stats() Stats

	// State takes down, or gives back to a kernel of the same making, all
	// that Step and Position depend on. It is called between iterations.
	State(a *Archive)
}

// A Generator is a Kernel that has more to tell about its position than the
// coordinates, such as its log density or what the model predicts there. See
// Settings.Generated.
type Generator interface {
	// Generate writes the quantities at the present position to dst.
	Generate(dst []float64)
}

// Interruptible is a Kernel whose Step or Generate may break off before its end,
// as when a context ends within a long evaluation.
type Interruptible interface {
	Kernel
	// Interrupted reports whether Step or Generate broke off. The iteration
	// then does not count, and the chain makes no other.
	Interrupted() bool
}

// A Rule says how a chain in d dimensions proposes its moves.
type Rule interface {
	// New returns the proposal of one chain. Whatever it is to learn has to
	// be learned in the first burnIn iterations.
	New(d, burnIn int) Proposal
}

// A Proposal is a Rule at work: the rule, and what it has learned from one
// chain.
type Proposal interface {
	// Propose sets dst to a random move from x, which it does not change,
	// and returns log q(x | dst) − log q(dst | x), to be added to the log
	// ratio of the target's densities. It is zero for a symmetric proposal.
	Propose(dst, x []float64, rng *rand.Rand) float64

	// Observe tells the proposal the outcome of the move: the chain's
	// position after it, and the probability with which the move was, or
	// would have been, accepted. It is to be called once an iteration,
	// whether the move was accepted or not: a position in which the chain
	// stays counts as often as it stays.
	Observe(x []float64, probability float64)

	// State takes down or gives back what has been learned.
	State(a *Archive)
}

// Moves counts proposed moves of one kind.
type Moves struct {
	Proposed int // moves proposed
	Accepted int // of these, moves made
	Failed   int // of these, moves rejected because the target could not be evaluated
}

// Rate returns the share of proposed moves that were accepted, NaN if none was
// proposed.
func (m Moves) Rate() float64 { return float64(m.Accepted) / float64(m.Proposed) }

// Stats counts what a kernel did: its moves of the parameters and, for a kernel
// that updates latent variables by an accept/reject step of their own, the
// moves of those.
type Stats struct {
	Moves
	Latent Moves
}

func (m Moves) plus(sign int, n Moves) Moves {
	return Moves{m.Proposed + sign*n.Proposed, m.Accepted + sign*n.Accepted, m.Failed + sign*n.Failed}
}

// plus returns s + sign·t.
func (s Stats) plus(sign int, t Stats) Stats {
	return Stats{s.Moves.plus(sign, t.Moves), s.Latent.plus(sign, t.Latent)}
}
