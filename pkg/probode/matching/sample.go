package matching

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Sample draws θ from the density q. Sample updates θ and ξ jointly by mcmc.NUTS. The
// chains begin at draws of θ from the prior and at ξ = 0, unless s.Start is set. The
// points that s.Start returns must be on the unconstrained scale, and contain both θ and
// ξ. If s.BurnIn is zero, the burn-in takes 600 iterations. The result includes the
// quantities of mcmc.NUTSQuantities, so that Chains.Warnings reports divergent paths.
func Sample(ctx context.Context, q *Density, s mcmc.Settings) (*mcmc.Chains, error) {
	s.Generated = mcmc.NUTSQuantities()
	p, d := q.e.Posterior(), q.e.Dim()
	s.BurnIn = cmp.Or(s.BurnIn, 600)
	if s.Start == nil {
		s.Start = func(_ int, rng *rand.Rand) []float64 {
			x := make([]float64, q.Dim())
			if err := q.e.Clone().Unconstrain(x[:d], p.DrawPrior(rng)); err != nil {
				x[0] = math.NaN() // begins anew
			}
			return x
		}
	}
	chains, err := mcmc.Run(ctx, func(int) mcmc.Kernel {
		q := q.clone()
		return &mcmc.NUTS{BurnIn: s.BurnIn, Target: q.LogDensity, CovAt: q.covariance}
	}, s)
	if chains != nil {
		chains.Names = p.Names()
		for _, chain := range chains.Draws {
			for k, x := range chain {
				theta := make([]float64, d)
				q.e.Constrain(theta, x[:d])
				chain[k] = theta
			}
		}
	}
	return chains, err
}

// covariance returns the inverse of the Fisher information at x, from differences.
func (q *Density) covariance(x []float64) mat.Symmetric {
	const h = 1e-4
	n := len(x)
	at, rows := slices.Clone(x), [2][]float64{make([]float64, n), make([]float64, n)}
	slopes, jac := mat.NewDense(n, n, nil), mat.NewDense(len(q.residuals), n, nil)
	for k := range x {
		for side, grad := range rows {
			sign := float64(1 - 2*side)
			at[k] = x[k] + sign*h
			if _, err := q.gradient(grad, at, false); err != nil {
				return nil
			}
			for i, v := range q.residuals {
				jac.Set(i, k, jac.At(i, k)+sign*v/(2*h))
			}
			for i, v := range grad {
				slopes.Set(i, k, slopes.At(i, k)-sign*v/(2*h))
			}
		}
		at[k] = x[k]
	}
	information := new(mat.SymDense)
	information.SymOuterK(1, jac.T())
	for i := range n {
		for j := range i + 1 {
			information.SetSym(i, j, information.At(i, j)+(slopes.At(i, j)+slopes.At(j, i))/2)
		}
	}
	return shape.Inverse(information)
}
