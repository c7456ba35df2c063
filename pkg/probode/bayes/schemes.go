package bayes

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// A Scheme is a way to draw θ, with or without ξ. The schemes differ in the
// law that the chains settle into, which each documents.
type Scheme interface {
	// String returns a short name for tables.
	String() string
	kernel(*path) mcmc.Kernel
}

var (
	_ Scheme = Deterministic{}
	_ Scheme = PCNWithinGibbs{}
	_ Scheme = RedrawOnAccept{}
)

// Sample runs chains of the scheme on p. Names of parameters are taken from
// the problem where s gives none. Chains that propose a θ at which the ODE
// cannot be solved reject it and count it as failed.
//
// The error says what is wrong with p, that no chain could begin, or that ctx
// ended; see mcmc.Run.
func Sample(ctx context.Context, p *Posterior, scheme Scheme, s mcmc.Settings) (*mcmc.Chains, error) {
	if _, err := newPath(p); err != nil {
		return nil, err
	}
	if s.Names == nil {
		for k := range p.Problem.Theta {
			s.Names = append(s.Names, p.Problem.ParamName(k))
		}
	}
	return mcmc.Run(ctx, func(int) mcmc.Kernel {
		e, err := newPath(p)
		if err != nil {
			panic("bayes: " + err.Error()) // it was made before
		}
		return scheme.kernel(e)
	}, s)
}

// Deterministic is random-walk Metropolis on θ with the classical solution,
// ξ = 0.
//
// Stationary law: p₀(θ | Y) ∝ p(Y | Z(θ, 0)) p(θ), with the solver's error
// ignored. Cost: one solve a draw.
type Deterministic struct {
	// Proposal is the random walk of θ.
	Proposal mcmc.AdaptiveMetropolis
}

func (Deterministic) String() string { return "deterministic" }

func (s Deterministic) kernel(e *path) mcmc.Kernel {
	return &mcmc.Metropolis{
		Proposal: s.Proposal,
		Target: func(theta []float64) (float64, error) {
			lp := e.post.Prior.LogProb(theta)
			if math.IsInf(lp, -1) {
				return lp, nil
			}
			ll, err := e.logLikelihood(theta, nil)
			return lp + ll, err
		},
	}
}

// PCNWithinGibbs alternates two Metropolis moves, one of θ with ξ fixed and
// one of ξ with θ fixed,
//
//	θ′ ~ q(· | θ),              accepted with  min(1, p(Y|Z(θ′,ξ)) p(θ′) / p(Y|Z(θ,ξ)) p(θ))
//	ξ′ = √(1−β²) ξ + β η,       accepted with  min(1, p(Y|Z(θ,ξ′)) / p(Y|Z(θ,ξ)))
//
// the second being preconditioned Crank–Nicolson, which is reversible for
// p(ξ) = N(0, I) whatever the number of steps [Cotter et al. 2013].
//
// Stationary law: p(θ, ξ | Y). Cost: two solves and N·d normals a draw, about
// 2.5 deterministic draws. The zero value is ready for use; it is the default
// of this package.
type PCNWithinGibbs struct {
	// Proposal is the random walk of θ.
	Proposal mcmc.AdaptiveMetropolis
	// Beta is the step β of the move of ξ, in (0, 1]. Zero asks for one that
	// is found during the first AdaptFor iterations, so that a quarter of the
	// moves is accepted, and then kept.
	Beta float64
	// AdaptFor is the number of iterations in which β is found; zero means
	// 1000. It should not be longer than the burn-in.
	AdaptFor int
	// Moves is the number of moves of ξ in an iteration; zero means 1.
	Moves int
}

func (PCNWithinGibbs) String() string { return "pcn" }

func (s PCNWithinGibbs) kernel(e *path) mcmc.Kernel {
	if s.Beta < 0 || s.Beta > 1 || s.Moves < 0 || s.AdaptFor < 0 {
		panic(fmt.Sprintf("bayes: PCNWithinGibbs with Beta %g, Moves %d, AdaptFor %d: want Beta in [0, 1], the others ≥ 0", s.Beta, s.Moves, s.AdaptFor))
	}
	k := &pcnKernel{state: newState(e, s.Proposal), moves: max(1, s.Moves), beta: s.Beta}
	k.next = make([]float64, len(k.xi))
	if s.Beta == 0 {
		k.beta, k.adapt = 0.1, s.AdaptFor
		if k.adapt == 0 {
			k.adapt = 1000
		}
	}
	return k
}

type pcnKernel struct {
	*state
	next  []float64 // proposed ξ
	beta  float64
	moves int
	adapt int // iterations of adaptation left
	n     int // moves of ξ so far
}

func (k *pcnKernel) Step(rng *rand.Rand) {
	k.moveTheta(rng)
	for range k.moves {
		probode.PerturbNoise(k.next, k.xi, k.beta, rng)
		ll, err := k.path.logLikelihood(k.theta, k.next)
		k.stats.Latent.Proposed++
		accepted := 0.0
		e := rng.ExpFloat64() // −log U
		switch {
		case err != nil || math.IsNaN(ll):
			k.stats.Latent.Failed++
		case ll-k.ll >= -e:
			k.stats.Latent.Accepted++
			k.xi, k.next, k.ll = k.next, k.xi, ll
			accepted = 1
		}
		if k.adapt > 0 {
			// Robbins–Monro on log β for an acceptance rate of 1/4.
			k.n++
			k.beta = min(1, k.beta*math.Exp((accepted-0.25)*4/math.Pow(float64(k.n), 0.6)))
		}
	}
	if k.adapt > 0 {
		k.adapt--
	}
}

// RedrawOnAccept is the scheme of the paper's appendix, to the letter: θ is
// moved by Metropolis with ξ fixed, and whenever a move is accepted ξ is drawn
// anew from p(ξ) without an accept/reject step of its own; on rejection it is
// kept.
//
// Stationary law: the density ν(θ) p(ξ) / A_q(θ, ξ), where A_q is the
// probability that a move from (θ, ξ) is accepted and ν the invariant law of
// θ at the times of acceptance. It depends on the proposal q, and is neither
// p(θ, ξ | Y) nor the cut posterior ∫ p(θ | ξ, Y) p(ξ) dξ: publish q with it.
// Use PCNWithinGibbs for inference. Cost: one solve a draw, and another one
// with N·d normals for each accepted move.
type RedrawOnAccept struct {
	// Proposal is the random walk of θ.
	Proposal mcmc.AdaptiveMetropolis
}

func (RedrawOnAccept) String() string { return "paper" }

func (s RedrawOnAccept) kernel(e *path) mcmc.Kernel {
	return &redrawKernel{newState(e, s.Proposal)}
}

type redrawKernel struct{ *state }

func (k *redrawKernel) Step(rng *rand.Rand) {
	if !k.moveTheta(rng) {
		return
	}
	normals(k.xi, rng)
	k.stats.Latent.Proposed++
	ll, err := k.path.logLikelihood(k.theta, k.xi)
	if err != nil || math.IsNaN(ll) {
		// φ[k+1,k+1] is zero and the next move that can be evaluated is
		// accepted, as the algorithm has it.
		k.stats.Latent.Failed++
		k.ll = math.Inf(-1)
		return
	}
	k.stats.Latent.Accepted++
	k.ll = ll
}

// A state is a position (θ, ξ) with its likelihood, and the Metropolis move of
// θ that the schemes share.
type state struct {
	path            *path
	rule            mcmc.AdaptiveMetropolis
	walk            *mcmc.Proposal
	theta, proposed []float64
	xi              []float64
	logPrior, ll    float64
	stats           mcmc.Stats
}

func newState(e *path, rule mcmc.AdaptiveMetropolis) *state {
	d := len(e.post.Problem.Theta)
	return &state{path: e, rule: rule, theta: make([]float64, d), proposed: make([]float64, d),
		xi: make([]float64, e.solver.NoiseLen())}
}

// Init places the chain at x with ξ drawn from p(ξ).
func (s *state) Init(x []float64, rng *rand.Rand) error {
	if len(x) != len(s.theta) {
		panic(fmt.Sprintf("bayes: start of %d parameters: want %d", len(x), len(s.theta)))
	}
	copy(s.theta, x)
	normals(s.xi, rng)
	s.walk = s.rule.Proposal(len(x))
	s.stats = mcmc.Stats{}
	s.logPrior = s.path.post.Prior.LogProb(x)
	if math.IsInf(s.logPrior, -1) || math.IsNaN(s.logPrior) {
		return fmt.Errorf("bayes: the prior density at %.4g is zero", x)
	}
	var err error
	if s.ll, err = s.path.logLikelihood(x, s.xi); err != nil {
		return err
	}
	if math.IsNaN(s.ll) || math.IsInf(s.ll, 0) {
		return fmt.Errorf("bayes: the log likelihood at %.4g is %g", x, s.ll)
	}
	return nil
}

// moveTheta makes a Metropolis move of θ with ξ fixed and reports whether it
// was accepted.
func (s *state) moveTheta(rng *rand.Rand) bool {
	s.walk.Propose(s.proposed, s.theta, rng)
	s.stats.Proposed++
	accepted := false
	e := rng.ExpFloat64() // −log U, drawn in any case: see mcmc.Metropolis
	if lp := s.path.post.Prior.LogProb(s.proposed); !math.IsInf(lp, -1) {
		ll, err := s.path.logLikelihood(s.proposed, s.xi)
		switch {
		case err != nil || math.IsNaN(lp+ll):
			s.stats.Failed++
		case lp+ll-s.logPrior-s.ll >= -e:
			s.stats.Accepted++
			s.theta, s.proposed = s.proposed, s.theta
			s.logPrior, s.ll = lp, ll
			accepted = true
		}
	}
	s.walk.Observe(s.theta)
	return accepted
}

// Position returns θ.
func (s *state) Position() []float64 { return s.theta }

// Stats returns the counts since Init.
func (s *state) Stats() mcmc.Stats { return s.stats }

func normals(dst []float64, rng *rand.Rand) {
	for i := range dst {
		dst[i] = rng.NormFloat64()
	}
}
