package sample

import (
	"context"
	"fmt"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// A Sampler is an algorithm that draws θ, alone or together with ξ. Every Sampler, from
// this package or another package, can be used with Run, Store, Compare, and package
// assess. A Sampler may also implement Proposer, Preparer, Quantifier or
// Learner, and its kernels may implement Tuned.
type Sampler interface {
	// String returns a short name for tables.
	String() string

	// Target returns the distribution of the draws. Draws that have a Target can have
	// weights for another solver: see Reweight.
	Target() Target

	// Check returns an error if a setting is not allowed, or if the sampler cannot draw
	// from the posterior of d.
	Check(d *bayes.Density) error

	// Kernel returns the kernel of one chain. No other code uses the density d after this
	// call. The argument `rule` proposes moves of θ on the unconstrained scale. If the
	// Sampler is a Proposer and the user has chosen a rule, Kernel receives the user's
	// rule. Otherwise Kernel receives a rule that needs no tuning. A kernel may tune
	// itself only in the first `burnIn` iterations.
	//
	// In the methods Init and Position of the kernel, θ is on the natural scale, and its
	// elements are in the order of Posterior.Params. The kernel must also be an
	// mcmc.Generator that writes the quantities of Density.Generate.
	Kernel(d *bayes.Density, rule mcmc.Rule, burnIn int) mcmc.Kernel
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

// A Proposer is a Sampler that lets the user choose the rule that proposes moves of θ.
// The default rule is based on the modes of the posterior. A rule chosen by the user does
// not need the modes.
type Proposer interface {
	Sampler
	// Proposals returns the user's rule; nil stands for the rule of this package.
	Proposals() mcmc.Rule
}

// A Preparer is a Sampler that needs a preliminary computation, which is shared by all
// chains.
type Preparer interface {
	Sampler
	// Prepare returns the sampler whose kernels will run, and notes for the user. Each
	// kernel uses a clone of the density d. modes searches for the modes of the
	// deterministic posterior, or returns the modes if they are already known.
	Prepare(ctx context.Context, d *bayes.Density, modes func() (*bayes.Modes, error)) (Sampler, []string, error)
}

// A Quantifier is a Sampler whose kernels also return statistics of their moves. The
// names of these statistics end in __. In each draw, the statistics come after the log
// density and before the other quantities of Density.Generate.
type Quantifier interface {
	Sampler
	Quantities() []string
}

// A Learner is a Sampler with its own default number of burn-in iterations.
type Learner interface {
	Sampler
	BurnIn(parameters int) int
}

// Tuned is a kernel that tunes a quantity and reports its value.
type Tuned interface {
	mcmc.Kernel
	// Tuned returns the name of the tuned quantity, and its value in this chain. A note
	// of the run gives the name of the quantity and its values in all chains.
	Tuned() (what, value string)
}

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
