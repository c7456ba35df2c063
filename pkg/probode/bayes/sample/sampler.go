package sample

import (
	"context"
	"fmt"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/reference"
)

// A Sampler is a way to draw θ, with or without ξ. Whatever implements it, in
// this package or outside of it, goes through Run, Store, Compare, and the
// checks and judgements of package assess. The optional abilities Proposer,
// Preparer and Finisher, and Tuned of its kernels, are used where present.
type Sampler interface {
	// String returns a short name for tables.
	String() string

	// Target says which distribution the draws have.
	Target() Target

	// Check reports a setting that cannot be, or why d cannot be served.
	Check(d *bayes.Density) error

	// Kernel returns the kernel of one chain, which owns d: nothing else uses
	// it. rule makes proposals of θ on the unconstrained scale that need no
	// tuning; what a kernel tunes, it tunes in the first burnIn iterations.
	//
	// Starts come and Position answers on the natural scale, in the order of
	// Posterior.Params. The kernel has to be a mcmc.Generator, too, which
	// writes what Density.Generate does.
	Kernel(d *bayes.Density, rule mcmc.Rule, burnIn int) mcmc.Kernel
}

// A Target says which distribution the draws of a sampler have.
type Target struct {
	Distribution TargetDistribution

	// Reweightable says that importance weights can take the draws to another
	// solver: that each comes with the log likelihood of the path that belongs
	// to it, as a draw of p(θ, Z | Y).
	Reweightable bool

	// Setup is that of the Accurate distribution.
	Setup probode.Setup
}

// TargetDistribution is the distribution of a Target.
type TargetDistribution int

const (
	// NoTarget: none that can be named, or one that depends on the proposal.
	NoTarget TargetDistribution = iota
	// Joint is p(θ, ξ | Y): the error of the solver is part of the model.
	Joint
	// Marginal is p(θ | Y) = ∫ p(θ, ξ | Y) dξ, drawn without moving ξ.
	Marginal
	// Classical is p₀(θ | Y): the classical solution, ξ = 0, is taken for exact.
	Classical
	// Accurate is p(θ | Y) of an accurate solver.
	Accurate
)

func (t TargetDistribution) String() string {
	switch t {
	case Joint:
		return "p(θ, ξ | Y)"
	case Marginal:
		return "p(θ | Y)"
	case Classical:
		return "p₀(θ | Y)"
	case Accurate:
		return "p(θ | Y) of an accurate solver"
	}
	return "none that can be named"
}

// Noisy reports whether the solver's noise is part of the model behind the
// target.
func (t Target) Noisy() bool {
	return t.Distribution != Classical && t.Distribution != Accurate
}

// A Proposer is a Sampler whose user may have chosen the proposals of θ. If they
// have, no mode is looked for to guess the shape of the posterior.
type Proposer interface {
	Sampler
	// Proposals returns the user's rule, nil for that of this package.
	Proposals() mcmc.Rule
}

// A Preparer is a Sampler that has something to find out once for all chains.
type Preparer interface {
	Sampler
	// Prepare returns the sampler whose kernels are to run, and notes for the
	// user. d is the density that the kernels get clones of; mode looks for the mode
	// of the deterministic posterior, or returns the one that is known.
	Prepare(ctx context.Context, d *bayes.Density, mode func() (*bayes.Mode, error)) (Sampler, []string, error)
}

// A Finisher is a Sampler that has something to do when all chains are there.
type Finisher interface {
	Sampler
	// Finish returns what stands for the chains that the kernels made.
	Finish(ctx context.Context, p *bayes.Posterior, chains *mcmc.Chains) (*mcmc.Chains, error)
}

// Tuned is a kernel that has something to tell of what it tuned.
type Tuned interface {
	mcmc.Kernel
	// Tuned returns what was tuned, in words that go with a list of chains, and
	// the value that this chain found.
	Tuned() (what, value string)
}

// Run draws from p by the sampler. Parameters are moved on an unconstrained
// scale, where proposals learn the shape of the posterior during burn-in and
// are then left as they are; see Param.Natural for the exception. Draws are on
// the natural scale, in the order of p.Params. Beside each draw stand in
// Chains.Generated the quantities
//
//	lp__         log posterior density on the unconstrained scale, up to a constant
//	y_hat.1, …   what the model expects of each value of the data, by experiment, row and column
//	log_lik.1, … its log probability, of those values that are not missing
//
// A nil s.Start has the chains begin around the mode of the deterministic
// posterior, or at draws of the prior where no mode is found: Chains.Notes say
// which. To have them begin at draws of the prior anyway, see DrawPrior. A zero
// s.BurnIn means 1000 iterations and 250 more for each parameter. Names are those
// of p. A move to a θ at which the ODE cannot be solved is rejected and counted as
// failed.
//
// The same seed gives different samplers the same starts and, for each chain,
// the same random numbers for the proposals of θ and their acceptance, and
// others for ξ.
//
// The error says what is wrong with p, that no chain could begin, that ctx
// ended, or that a function of the model or the sampler panicked; in the last two
// cases the chains hold the draws made before. A path that takes long is broken
// off when ctx ends. See mcmc.Run.
func Run(ctx context.Context, p *bayes.Posterior, sampler Sampler, s mcmc.Settings) (*mcmc.Chains, error) {
	job, err := prepare(ctx, p, sampler, s)
	if err != nil {
		return nil, err
	}
	return job.run(ctx, 0)
}

// chosen returns the user's rule, or that of this package if there is none.
func chosen(users, ours mcmc.Rule) mcmc.Rule {
	if users != nil {
		return users
	}
	return ours
}

// noisy reports that a sampler that moves ξ has none to move.
func noisy(s Sampler, d *bayes.Density) error {
	p := d.Posterior()
	switch {
	case p.AlphaParam == "" && p.Alpha == 0:
		return fmt.Errorf("sample: %v: Alpha is 0, so that there is no noise to move: calibrate it (CalibrateAlpha), or use Deterministic", s)
	case d.NoiseLen() == 0:
		return fmt.Errorf("sample: %v: %v has no noise: want steps that stay, such as probode.Frozen, or Deterministic", s, p.Mesh)
	}
	return nil
}

// orReference returns the setup of an accurate solution, that of reference.Accurate where
// none is given.
func orReference(s probode.Setup) probode.Setup {
	if s.Mesh == nil && s.Method == nil {
		s.Mesh = reference.Accurate{}
	}
	return s
}
