package bayes

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// PCNWithinGibbs alternates two Metropolis moves, one of θ with ξ fixed and
// one of ξ with θ fixed,
//
//	θ′ ~ q(· | θ),              accepted with  min(1, p(Y|Z(θ′,ξ)) p(θ′) q(θ|θ′) / p(Y|Z(θ,ξ)) p(θ) q(θ′|θ))
//	ξ′ = √(1−β²) ξ + β η,       accepted with  min(1, p(Y|Z(θ,ξ′)) / p(Y|Z(θ,ξ)))
//
// the second being preconditioned Crank–Nicolson, which is reversible for
// p(ξ) = N(0, I) whatever the number of steps [Cotter et al. 2013].
//
// Stationary law: p(θ, ξ | Y). Cost: two solves and N·d normals a draw, about
// 2.5 deterministic draws. The zero value is ready for use; it is the default
// of this package.
type PCNWithinGibbs struct {
	// Proposal makes the moves of θ; nil stands for a rule that needs no
	// tuning.
	Proposal mcmc.Rule

	// Beta is the step β of the move of ξ, in (0, 1]. Zero asks for one that
	// is found during burn-in, so that a quarter of the moves is accepted,
	// and then kept.
	Beta float64

	// Moves is the number of moves of ξ in an iteration; zero means 1.
	Moves int
}

func (PCNWithinGibbs) String() string        { return "pcn" }
func (s PCNWithinGibbs) proposal() mcmc.Rule { return s.Proposal }

func (s PCNWithinGibbs) validate(p *Posterior) error {
	if !(s.Beta >= 0 && s.Beta <= 1) || s.Moves < 0 {
		return fmt.Errorf("bayes: PCNWithinGibbs with Beta %g and Moves %d: want Beta in [0, 1] and Moves ≥ 0", s.Beta, s.Moves)
	}
	return noisy(s, p)
}

func (s PCNWithinGibbs) kernel(e *evaluator, rule mcmc.Rule, burnIn int) mcmc.Kernel {
	k := &pcn{state: newState(e, rule, burnIn, true), moves: max(1, s.Moves), beta: s.Beta}
	k.next = make([]float64, len(k.xi))
	if s.Beta == 0 {
		k.beta, k.adapt = 0.1, burnIn
	}
	return k
}

type pcn struct {
	*state
	next  []float64 // proposed ξ
	beta  float64
	moves int
	adapt int // iterations of adaptation left
	n     int // moves of ξ so far
}

func (k *pcn) Step(rng *rand.Rand) {
	k.moveTheta(rng)
	for range k.moves {
		probode.PerturbNoise(k.next, k.xi, k.beta, k.latent)
		ll, err := k.e.logLikelihood(k.theta, k.next)
		k.stats.Latent.Proposed++
		accepted := 0.0
		e := k.latent.ExpFloat64() // −log U
		switch {
		case err != nil || math.IsNaN(ll):
			k.stats.Latent.Failed++
		case ll-k.ll >= -e:
			k.stats.Latent.Accepted++
			k.xi, k.next, k.ll = k.next, k.xi, ll
			k.keepFit()
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

func (k *pcn) State(a *mcmc.Archive) {
	k.state.State(a)
	a.Float(&k.beta)
	a.Int(&k.adapt)
	a.Int(&k.n)
}

func (k *pcn) learned() (what, value string) {
	return "step β of the moves of ξ, by chain:", fmt.Sprintf("%.2g", k.beta)
}
