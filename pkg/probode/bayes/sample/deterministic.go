package sample

import (
	"math/rand/v2"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Deterministic is a sampler that updates θ with the Metropolis algorithm, and solves the
// equations without noise (ξ = 0).
//
// Stationary distribution: p₀(θ | Y) ∝ p(Y | Z(θ, 0)) p(θ). Deterministic ignores the
// error of the solver. Cost: one solve for each draw. Use Deterministic for comparison
// with other samplers, or if the step is known to be small enough.
type Deterministic struct {
	// Proposal is the rule that proposes moves of θ; nil stands for a rule that needs no
	// tuning.
	Proposal mcmc.Rule
}

func (Deterministic) String() string                 { return "deterministic" }
func (s Deterministic) Proposals() mcmc.Rule         { return s.Proposal }
func (s Deterministic) Check(d *bayes.Density) error { return nil }

// Target returns p₀(θ | Y).
func (s Deterministic) Target() Target { return Target{Distribution: Classical, Reweightable: true} }

// Kernel returns the kernel of one chain.
func (Deterministic) Kernel(e *bayes.Density, rule mcmc.Rule, burnIn int) mcmc.Kernel {
	return &deterministic{newState(e, rule, burnIn, false)}
}

type deterministic struct{ *state }

func (k *deterministic) Step(rng *rand.Rand) { k.moveTheta(rng) }
