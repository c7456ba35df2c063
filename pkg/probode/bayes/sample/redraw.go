package sample

import (
	"math/rand/v2"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// RedrawOnAccept is exactly the sampler in the appendix of Teymur et al. (2018). The
// Metropolis algorithm updates θ with ξ fixed. When a move is accepted, a new ξ is drawn
// from p(ξ) without an accept/reject step; when a move is rejected, ξ does not change.
//
// Stationary distribution: the density ν(θ) p(ξ) / A_q(θ, ξ), where A_q is the
// probability that a move from (θ, ξ) is accepted. The values of θ right after each
// accepted move form a Markov chain, and ν is its invariant distribution. The stationary
// distribution depends on the proposal q, and is neither p(θ, ξ | Y) nor the cut
// posterior ∫ p(θ | ξ, Y) p(ξ) dξ. Always publish the proposal together with the results.
// Cost: one solve for each draw, and another solve and a new ξ for each accepted move.
// Use RedrawOnAccept to reproduce the results of Teymur et al. (2018); for inference, use
// PCNWithinGibbs.
type RedrawOnAccept struct {
	// Proposal proposes moves of θ. Nil stands for mcmc.AdaptiveMetropolis with Pull, and with
	// the shape of the posterior at its heaviest mode, that learns during the burn-in.
	Proposal *mcmc.AdaptiveMetropolis
}

func (RedrawOnAccept) String() string { return "paper" }

// Algorithm has NoTarget, because the stationary distribution depends on the proposal.
func (s RedrawOnAccept) Algorithm() Algorithm {
	return Algorithm{Target: NoTarget, Walk: s.Proposal,
		Check: func(d *bayes.Density) error { return noisy(s, d) },
		Kernel: func(e *bayes.Density, walk mcmc.AdaptiveMetropolis, burnIn int) mcmc.Kernel {
			return &redraw{newState(e, walk, burnIn, true)}
		}}
}

type redraw struct{ *state }

func (k *redraw) Step(rng *rand.Rand) {
	if !k.moveTheta(rng) {
		return
	}
	k.chance.draw(k.xi, k.latent)
	k.stats.Latent.Proposed++
	// If the likelihood, which is φ[k+1,k+1] in Teymur et al. (2018), is unknown, renew sets
	// it to zero.
	if !k.renew() {
		k.stats.Latent.Failed++
		return
	}
	k.stats.Latent.Accepted++
	k.keepFit() // also where the likelihood is zero
}
