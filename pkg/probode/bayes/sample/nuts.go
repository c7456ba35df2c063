package sample

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// NUTS updates θ with the no-U-turn sampler (see mcmc.NUTS), on the unconstrained scale.
// The sampler needs the gradient of the log density, computed with the classical
// solution, ξ = 0.
//
// The solver must provide the derivatives of its path. On a fixed grid, the solver
// computes the derivatives by differentiating each of its steps. If the solver chooses
// the steps for every θ separately, the gradient is computed as if the steps did not
// depend on θ.
//
// Stationary distribution: p₀(θ | Y). Cost: several leapfrog steps for each draw, each
// with one solve and one gradient. The draws are nearly independent. NUTS is the cheapest
// sampler for more than about ten parameters, and for strongly correlated parameters.
type NUTS struct{}

func (NUTS) String() string { return "nuts" }

// Algorithm draws from p₀(θ | Y). The initial mass matrix comes from the shape of the
// posterior at the highest mode. In a hierarchical model, most of the posterior probability
// is far from the mode. After each window of the burn-in, the kernel therefore computes a
// new mass matrix from the Fisher information at the mean of the draws in the window.
func (s NUTS) Algorithm() Algorithm {
	a := Algorithm{Target: Classical, Quantities: mcmc.NUTSQuantities(), Check: func(d *bayes.Density) error { return differentiable(s, d) },
		// The shape of the posterior near the mode is known, for any number of parameters.
		BurnIn: func(int) int { return 150 }}
	a.Prepare = func(ctx context.Context, d *bayes.Density, modes func() (*bayes.Modes, error)) (Algorithm, error) {
		var highest bayes.Mode
		if found, err := modes(); err == nil && found.Highest().Shape != nil {
			highest = *found.Highest()
		}
		a.Kernel = func(e *bayes.Density, _ mcmc.AdaptiveMetropolis, burnIn int) mcmc.Kernel {
			nuts := &mcmc.NUTS{BurnIn: burnIn, Mean: highest.U, CovAt: shapeAt(e),
				Target: func(grad, u []float64) (float64, error) { return e.Gradient(grad, nil, u, nil) }}
			if highest.Shape != nil {
				nuts.Cov = highest.Shape
			}
			k := newNatural(e)
			k.unconstrained = nuts
			return &k
		}
		return a, ctx.Err()
	}
	return a
}

// differentiable returns an error if the solver of d does not provide derivatives with
// respect to θ.
func differentiable(s Sampler, d *bayes.Density) error {
	e := d.Clone()
	u, grad := make([]float64, e.Dim()), make([]float64, e.Dim())
	theta := e.Posterior().DrawPrior(probode.Stream(0x6e757473))
	if err := e.Unconstrain(u, theta); err != nil {
		return nil
	}
	if _, err := e.Gradient(grad, nil, u, nil); errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("sample: %v: the solutions computed by %v have no derivatives with respect to θ: use a method such as RK4 or Radau5, with fixed steps or with error control", s, e.Posterior().Setup)
	}
	return nil
}

// shapeAt returns a function that computes the inverse of the Fisher information at u.
// The result of this function is nil if the computation fails.
func shapeAt(e *bayes.Density) func(u []float64) mat.Symmetric {
	surface := sync.OnceValue(func() *shape.Surface { return shape.NewSurface(e) })
	return func(u []float64) mat.Symmetric {
		p := shape.Point{X: slices.Clone(u)}
		if !surface().Expand(&p) {
			return nil
		}
		return shape.Inverse(p.Information)
	}
}
