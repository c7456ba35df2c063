package modes

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Shares returns, for each mode in m, the fraction of the draws that belong to this mode
// (see Assign). Shares returns an error if the chains belong to a different model.
func Shares(p *bayes.Posterior, m *bayes.Modes, chains *mcmc.Chains) ([]float64, error) {
	all, err := Assign(p, m, chains)
	if err != nil {
		return nil, err
	}
	out, n := make([]float64, len(m.Modes)), 0.0
	for _, c := range all {
		for _, k := range c {
			if k >= 0 {
				out[k]++
				n++
			}
		}
	}
	for k := range out {
		out[k] /= max(1, n)
	}
	return out, nil
}

// Assign returns, for each draw of each chain, the index in m of the mode to which the
// draw belongs. A draw belongs to the mode with the largest product of mass and Gaussian
// density at the draw. The index is −1 for a draw outside the supports of the priors.
// Assign returns an error if the chains belong to a different model.
func Assign(p *bayes.Posterior, m *bayes.Modes, chains *mcmc.Chains) ([][]int, error) {
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		return nil, err
	}
	if len(chains.Names) != len(p.Params) {
		return nil, fmt.Errorf("bayes: chains of %d parameters: want %d", len(chains.Names), len(p.Params))
	}
	factors := make([]mat.Cholesky, len(m.Modes))
	known := make([]bool, len(m.Modes))
	for k, mode := range m.Modes {
		known[k] = mode.Shape != nil && factors[k].Factorize(mode.Shape)
	}
	u := make([]float64, len(p.Params))
	diff, solved := mat.NewVecDense(len(u), nil), mat.NewVecDense(len(u), nil)
	nearest := func(theta []float64) int {
		if e.Unconstrain(u, theta) != nil {
			return -1
		}
		best, at := math.Inf(-1), 0
		for k, mode := range m.Modes {
			if !known[k] {
				continue
			}
			for i := range u {
				diff.SetVec(i, u[i]-mode.U[i])
			}
			if factors[k].SolveVecTo(solved, diff) != nil {
				continue
			}
			if f := mode.LogP - mat.Dot(diff, solved)/2; f > best {
				best, at = f, k
			}
		}
		return at
	}
	out := make([][]int, len(chains.Draws))
	for i, c := range chains.Draws {
		out[i] = make([]int, len(c))
		for k, theta := range c {
			out[i][k] = nearest(theta)
		}
	}
	return out, nil
}
