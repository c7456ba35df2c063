package sample

import (
	"context"
	"fmt"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// A Sampler is a way to draw θ, alone or together with ξ, with its settings. Every Sampler,
// from this package or another package, can be used with Run, Store, Compare, and packages
// sbc and assess.
type Sampler interface {
	// String returns a short name for tables.
	String() string

	// Algorithm returns how the sampler draws.
	Algorithm() Algorithm
}

// An Algorithm is how a Sampler draws, and what it needs for that. Target and Kernel are
// required.
type Algorithm struct {
	// Target is the distribution of the draws. Draws that have a Target can have weights for
	// another solver: see Reweight.
	Target Target

	// Kernel returns the kernel of one chain. No other code uses the density d after this
	// call. The argument `walk` proposes moves of θ on the unconstrained scale. A kernel may
	// tune itself only in the first `burnIn` iterations.
	//
	// In the methods Init and Position of the kernel, θ is on the natural scale, and its
	// elements are in the order of Posterior.Params. The kernel must also be an
	// mcmc.Generator that writes the quantities of Density.Generate.
	Kernel func(d *bayes.Density, walk mcmc.AdaptiveMetropolis, burnIn int) mcmc.Kernel

	// Walk is the argument `walk` of Kernel. If Walk is nil, moves are proposed with Pull,
	// and with the shape of the posterior at its heaviest mode, and are learned during the
	// burn-in.
	Walk *mcmc.AdaptiveMetropolis

	// Check, if not nil, returns an error if a setting is not allowed, or if the sampler
	// cannot draw from the posterior of d.
	Check func(d *bayes.Density) error

	// Prepare, if not nil, is called once for all chains, after Check. It returns the
	// Algorithm that draws, of which Check and Prepare are not called. `modes` searches for
	// the modes of the deterministic posterior, or returns the modes if they are already
	// known.
	Prepare func(ctx context.Context, d *bayes.Density, modes func() (*bayes.Modes, error)) (Algorithm, error)

	// BurnIn returns the default number of burn-in iterations for a number of parameters. Nil
	// stands for 1000 plus 250 for each parameter.
	BurnIn func(parameters int) int

	// Quantities names statistics that the kernels add to each draw, after the log density
	// and before the other quantities of Density.Generate. The names end in __.
	Quantities []string

	// Tuned, if not nil, returns the name of a quantity that a kernel has tuned, and its
	// value in this chain.
	Tuned func(k mcmc.Kernel) (what, value string)

	// Name, if not empty, is the name of the sampler that draws in place of this one. Notes
	// are sentences for the user. Both are results of Prepare.
	Name  string
	Notes []string
}

// Check returns an error if a setting of s is not allowed, or if s cannot draw from the
// posterior of d.
func Check(s Sampler, d *bayes.Density) error {
	if check := s.Algorithm().Check; check != nil {
		return check(d)
	}
	return nil
}

// A Target is the distribution of the draws of a sampler.
type Target int

const (
	// NoTarget means that the distribution is unknown or depends on the proposal.
	NoTarget Target = iota
	// Joint is p(θ, ξ | Y), in which the error of the solver is part of the model.
	Joint
	// Marginal is p(θ | Y) = ∫ p(θ, ξ | Y) dξ. Only θ is part of the state of the chain.
	Marginal
	// Classical is p₀(θ | Y) ∝ p(Y | Z(θ, 0)) p(θ), in which the classical solution, ξ =
	// 0, is taken as exact.
	Classical
)

func (t Target) String() string {
	return [...]string{"none that can be named", "p(θ, ξ | Y)", "p(θ | Y)", "p₀(θ | Y)"}[t]
}

// Noisy reports whether the target distribution includes the solver's noise.
func (t Target) Noisy() bool { return t != Classical }

// noisy returns an error if the solver has no noise ξ that the sampler could update.
func noisy(s Sampler, d *bayes.Density) error {
	p := d.Posterior()
	switch {
	case p.AlphaParam == "" && p.Alpha == 0:
		return fmt.Errorf("sample: %v: Alpha is 0, so there is no noise to sample: calibrate Alpha with CalibrateAlpha, or use Deterministic", s)
	case d.NoiseLen() == 0:
		return fmt.Errorf("sample: %v: %v adds no noise: use a mesh whose steps do not depend on θ, such as probode.Frozen, or the sampler Deterministic", s, p.Mesh)
	}
	return nil
}
