package sample

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

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

	// Integral, if not nil, replaces the likelihood of the path. The stationary
	// distribution is then p(θ | Y).
	Integral bayes.Integral
}

func (s Deterministic) String() string {
	if s.Integral != nil {
		return s.Integral.String()
	}
	return "deterministic"
}

func (s Deterministic) Proposals() mcmc.Rule { return s.Proposal }

// Check returns an error if the Integral does not apply.
func (s Deterministic) Check(d *bayes.Density) error {
	_, err := s.density(d)
	return err
}

func (s Deterministic) density(d *bayes.Density) (*bayes.Density, error) {
	if s.Integral == nil {
		return d, nil
	}
	return d.Integrated(s.Integral)
}

// Target returns p₀(θ | Y) or, with an Integral, p(θ | Y).
func (s Deterministic) Target() Target {
	if s.Integral != nil {
		return Marginal
	}
	return Classical
}

// Prepare adds a note if the size of the measurement errors is an unknown parameter. With
// large steps, an uncertain solution may fit the random errors of the data, so that the
// size of these errors is underestimated.
func (s Deterministic) Prepare(_ context.Context, d *bayes.Density, _ func() (*bayes.Modes, error)) (Sampler, []string, error) {
	spreads := slices.Sorted(maps.Keys(d.Posterior().Spreads()))
	if s.Integral == nil || len(spreads) == 0 {
		return s, nil, nil
	}
	return s, []string{fmt.Sprintf("the size of the measurement errors is unknown (%s). If the step is coarse, the solution computed by %v may fit the noise in the data, so that the measurement errors seem too small: sample again with half the step, and compare the draws", strings.Join(spreads, ", "), s)}, nil
}

// Kernel returns the kernel of one chain.
func (s Deterministic) Kernel(e *bayes.Density, rule mcmc.Rule, burnIn int) mcmc.Kernel {
	e, err := s.density(e)
	if err != nil {
		panic("sample: " + err.Error()) // Check found no error
	}
	return &deterministic{newState(e, rule, burnIn, false)}
}

type deterministic struct{ *state }

func (k *deterministic) Step(rng *rand.Rand) { k.moveTheta(rng) }
