package matching

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Sample draws θ from a posterior that GaussianProcess has returned. Sample updates θ and
// ξ jointly by mcmc.NUTS, with a metric based on the Fisher information. The chains begin
// at draws of θ from the prior and at ξ = 0, unless s.Start is set. The points that
// s.Start returns must be on the unconstrained scale, and contain both θ and ξ. If
// s.BurnIn is zero, the burn-in takes 600 iterations. The result includes the quantities
// of mcmc.NUTSQuantities, so that Chains.Warnings reports divergent paths.
func Sample(ctx context.Context, p *bayes.Posterior, s mcmc.Settings) (*mcmc.Chains, error) {
	if _, ok := p.Setup.Mesh.(process); !ok {
		return nil, fmt.Errorf("matching: the mesh of the posterior is %v: want a posterior that GaussianProcess returned", p.Setup.Mesh)
	}
	s.Generated = mcmc.NUTSQuantities()
	e, err := bayes.NewDensity(ctx, p)
	if err != nil {
		return nil, err
	}
	d, n := e.Dim(), e.NoiseLen()
	s.BurnIn = cmp.Or(s.BurnIn, 600)
	if s.Start == nil {
		s.Start = func(_ int, rng *rand.Rand) []float64 {
			x := make([]float64, d+n)
			if err := e.Clone().Unconstrain(x[:d], p.DrawPrior(rng)); err != nil {
				x[0] = math.NaN() // begins anew
			}
			return x
		}
	}
	chains, err := mcmc.Run(ctx, func(int) mcmc.Kernel {
		e := e.Clone()
		return &mcmc.NUTS{BurnIn: s.BurnIn, CovAt: func(x []float64) mat.Symmetric { return inverseInformation(e, x) },
			Target: func(grad, x []float64) (float64, error) {
				lp, err := e.Gradient(grad[:d], grad[d:], x[:d], x[d:])
				for i, v := range x[d:] {
					lp -= v * v / 2
					grad[d+i] -= v
				}
				return lp, err
			}}
	}, s)
	if chains != nil {
		chains.Names = p.Names()
		for _, chain := range chains.Draws {
			for k, x := range chain {
				theta := make([]float64, d)
				e.Constrain(theta, x[:d])
				chain[k] = theta
			}
		}
	}
	return chains, err
}

func inverseInformation(e *bayes.Density, x []float64) mat.Symmetric {
	var blocks []shape.Block
	for i := range e.NoiseLen() {
		blocks = append(blocks, shape.Block{From: i, To: i + 1, By: 1, Scale: 1})
	}
	surface, at := shape.NewSurface(e, blocks...), shape.Point{X: slices.Clone(x)}
	if surface.Forward = true; !surface.Expand(&at) {
		return nil
	}
	var chol mat.Cholesky
	inverse := new(mat.SymDense)
	if !chol.Factorize(at.Information) || chol.InverseTo(inverse) != nil {
		return nil
	}
	return inverse
}
