package sample

import (
	"cmp"
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// SplitHMC updates θ with a form of Hamiltonian Monte Carlo that solves Hamilton's
// equations exactly for the Gaussian approximation at the highest mode (see
// mcmc.Hamiltonian). Like NUTS, SplitHMC needs the gradient of the log density on the
// unconstrained scale. The gradient is computed from the classical solution (ξ = 0).
//
// Stationary distribution: p₀(θ | Y). Cost: if the posterior is nearly Gaussian, the
// draws are nearly independent, and each draw needs one or two solves with a gradient. If
// the posterior is not nearly Gaussian, NUTS is more efficient.
type SplitHMC struct {
	// mean is the highest mode, and the field `precision` is the precision matrix of the
	// Gaussian approximation at this mode. Prepare sets both fields.
	mean      []float64
	precision *mat.SymDense
}

func (SplitHMC) String() string { return "split hmc" }

// Target returns p₀(θ | Y).
func (SplitHMC) Target() Target { return Classical }

// Check returns an error if no gradient can be computed.
func (s SplitHMC) Check(d *bayes.Density) error { return differentiable(s, d) }

// Prepare stores the Gaussian approximation at the highest mode.
func (s SplitHMC) Prepare(ctx context.Context, d *bayes.Density, modes func() (*bayes.Modes, error)) (Sampler, []string, error) {
	found, err := modes()
	if err != nil || ctx.Err() != nil {
		return nil, nil, cmp.Or(err, ctx.Err())
	}
	m := found.Highest()
	var chol mat.Cholesky
	s.mean, s.precision = m.U, new(mat.SymDense)
	if m.Cov == nil || !chol.Factorize(m.Cov) || chol.InverseTo(s.precision) != nil {
		return nil, nil, fmt.Errorf("sample: %v: the highest mode has no Gaussian approximation: use NUTS or another sampler", s)
	}
	return s, nil, nil
}

// BurnIn returns 100. A short burn-in is enough because the shape of the posterior is
// known.
func (SplitHMC) BurnIn(int) int { return 100 }

// Kernel returns the kernel of one chain.
func (s SplitHMC) Kernel(e *bayes.Density, _ mcmc.Rule, burnIn int) mcmc.Kernel {
	return newHamiltonian(e, &gaussian{mean: s.mean}, s.precision, 0, burnIn)
}
