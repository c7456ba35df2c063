package sample

import (
	"cmp"
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// SplitHMC moves θ by a form of Hamiltonian Monte Carlo that solves Hamilton's equations
// exactly for the Gaussian approximation at the highest mode (see mcmc.Hamiltonian). It uses
// the gradient of the log density with the classical solution, ξ = 0, on the
// unconstrained scale, as NUTS does.
//
// Stationary distribution: p₀(θ | Y) with the Setup, or with the posterior's setup if
// there is none. Cost: one or two solutions and gradients for each nearly independent
// draw, if the posterior is nearly Gaussian. If it is not, NUTS is better.
type SplitHMC struct {
	// Setup solves the equations; the zero value stands for the setup of the posterior.
	Setup probode.Setup

	// These are the highest mode and the precision of its Gaussian approximation, which
	// Prepare finds.
	mean      []float64
	precision *mat.SymDense
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
	var chol mat.Cholesky
	s.mean, s.precision = m.U, new(mat.SymDense)
	if m.Cov == nil || !chol.Factorize(m.Cov) || chol.InverseTo(s.precision) != nil {
		return nil, nil, fmt.Errorf("sample: %v: the highest mode has no Gaussian approximation: want NUTS or another sampler", s)
	}
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
	return newHamiltonian(e, &gaussian{mean: s.mean}, s.precision, 0, burnIn)
}
