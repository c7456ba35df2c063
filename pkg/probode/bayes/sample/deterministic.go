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
	// Proposal proposes moves of θ. Nil stands for mcmc.AdaptiveMetropolis with Pull, and with
	// the shape of the posterior at its heaviest mode, that learns during the burn-in.
	Proposal *mcmc.AdaptiveMetropolis

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

// Algorithm draws from p₀(θ | Y) or, with an Integral, from p(θ | Y).
func (s Deterministic) Algorithm() Algorithm {
	if s.Integral != nil {
		return s.integrated()
	}
	return Algorithm{Target: Classical, Walk: s.Proposal,
		Kernel: func(e *bayes.Density, walk mcmc.AdaptiveMetropolis, burnIn int) mcmc.Kernel {
			return &deterministic{newState(e, walk, burnIn, false)}
		}}
}

// integrated returns an error from Check if the Integral does not apply. A note is added if
// the size of the measurement errors is an unknown parameter. With large steps, an uncertain
// solution may fit the random errors of the data, so that the size of these errors is
// underestimated.
func (s Deterministic) integrated() Algorithm {
	a := Algorithm{Target: Marginal, Walk: s.Proposal,
		Check: func(d *bayes.Density) error {
			_, err := d.Integrated(s.Integral)
			return err
		},
		Kernel: func(d *bayes.Density, walk mcmc.AdaptiveMetropolis, burnIn int) mcmc.Kernel {
			e, err := d.Integrated(s.Integral)
			if err != nil {
				panic("sample: " + err.Error()) // Check found no error
			}
			return &deterministic{newState(e, walk, burnIn, false)}
		}}
	a.Prepare = func(_ context.Context, d *bayes.Density, _ func() (*bayes.Modes, error)) (Algorithm, error) {
		if spreads := slices.Sorted(maps.Keys(d.Posterior().Spreads())); len(spreads) > 0 {
			a.Notes = []string{fmt.Sprintf("the size of the measurement errors is unknown (%s). If the step is coarse, the solution computed by %v may fit the noise in the data, so that the measurement errors seem too small: sample again with half the step, and compare the draws", strings.Join(spreads, ", "), s)}
		}
		return a, nil
	}
	return a
}

type deterministic struct{ *state }

func (k *deterministic) Step(rng *rand.Rand) { k.moveTheta(rng) }
