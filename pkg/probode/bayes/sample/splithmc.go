package sample

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// SplitHMC moves θ by a form of Hamiltonian Monte Carlo that solves Hamilton's equations
// exactly for the Gaussian approximation at the highest mode (see mcmc.SplitHMC). It uses
// the gradient of the log density with the classical solution, ξ = 0, on the
// unconstrained scale, as NUTS does.
//
// Stationary distribution: p₀(θ | Y) of the Setup, or of the posterior's setup if there
// is none. Cost: one or two solutions and gradients for each nearly independent draw, if
// the posterior is nearly Gaussian. If it is not, NUTS is better.
type SplitHMC struct {
	// Setup solves the equations; the zero value stands for the setup of the posterior.
	Setup probode.Setup

	// These are a mode and its Gaussian approximation, which Prepare finds.
	mean []float64
	cov  mat.Symmetric
}

func (SplitHMC) String() string { return "split hmc" }

// Target returns p₀(θ | Y).
func (s SplitHMC) Target() Target { return NUTS{Setup: s.Setup}.Target() }

// Check tries to compute a gradient.
func (s SplitHMC) Check(d *bayes.Density) error { return differentiable(s, d, s.Setup) }

// Prepare takes the Gaussian approximation from the mode.
func (s SplitHMC) Prepare(ctx context.Context, d *bayes.Density, modes func() (*bayes.Modes, error)) (Sampler, []string, error) {
	found, err := modes()
	if err != nil || ctx.Err() != nil {
		return nil, nil, cmp.Or(err, ctx.Err())
	}
	m := found.Highest()
	if m.Cov == nil {
		return nil, nil, fmt.Errorf("sample: %v: the highest mode has no Gaussian approximation: want NUTS or another sampler", s)
	}
	s.mean, s.cov = m.U, m.Cov
	return s, nil, nil
}

// BurnIn returns 100 iterations, because the shape of the posterior is known.
func (SplitHMC) BurnIn(int) int { return 100 }

// Kernel returns the kernel of one chain.
func (s SplitHMC) Kernel(d *bayes.Density, _ mcmc.Rule, burnIn int) mcmc.Kernel {
	e, err := solvedBy(d, s.Setup)
	if err != nil {
		panic("sample: " + err.Error()) // Check has made it
	}
	k := &splitHMC{natural: newNatural(e)}
	k.SplitHMC = mcmc.SplitHMC{BurnIn: burnIn, Mean: s.mean, Cov: s.cov,
		Target: func(grad, u []float64) (float64, error) { return gradient(e, k.work, grad, u) }}
	return k
}

// splitHMC is the kernel of SplitHMC, on the natural scale.
type splitHMC struct {
	mcmc.SplitHMC
	natural
}

func (k *splitHMC) Init(x []float64, rng *rand.Rand) error {
	return k.init(x, rng, k.SplitHMC.Init)
}

// Position returns θ.
func (k *splitHMC) Position() []float64 { return k.at(k.SplitHMC.Position()) }

func (k *splitHMC) Generate(dst []float64) {
	k.generate(dst, k.SplitHMC.Position(), k.LogDensity())
}
