package modes

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
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
	nearest, u := assigner(m.Modes), make([]float64, len(p.Params))
	out := make([][]int, len(chains.Draws))
	for i, c := range chains.Draws {
		out[i] = make([]int, len(c))
		for k, theta := range c {
			out[i][k] = -1
			if e.Unconstrain(u, theta) == nil {
				out[i][k] = nearest(u)
			}
		}
	}
	return out, nil
}

// assigner returns a function for the index of the mode to which a point on the unconstrained
// scale belongs.
func assigner(modes []*bayes.Mode) func(u []float64) int {
	factors := make([]mat.Cholesky, len(modes))
	known := make([]bool, len(modes))
	for k, mode := range modes {
		known[k] = mode.Shape != nil && factors[k].Factorize(mode.Shape)
	}
	return func(u []float64) int {
		diff, solved := mat.NewVecDense(len(u), nil), mat.NewVecDense(len(u), nil)
		best, at := math.Inf(-1), 0
		for k, mode := range modes {
			if !known[k] {
				continue
			}
			floats.SubTo(diff.RawVector().Data, u, mode.U)
			if factors[k].SolveVecTo(solved, diff) != nil {
				continue
			}
			if f := mode.LogP - mat.Dot(diff, solved)/2; f > best {
				best, at = f, k
			}
		}
		return at
	}
}

// weigh divides the sum of the Gaussian masses of modes among them by importance sampling, with
// points around each mode from Student's t distribution and smoothed weights for the mixture of
// these distributions. Laplace's method may be wrong by any factor where a peak is far from
// Gaussian, as at a cliff.
func (q *search) weigh(ctx context.Context, modes []*bayes.Mode) error {
	const around = 300
	nu := float64(5 + len(modes[0].U))
	var mixture []*distmv.StudentsT
	var points [][]float64
	src := rand.NewPCG(1, 0)
	for _, m := range modes {
		t, ok := distmv.NewStudentsT(m.U, m.Shape, nu, src)
		if !ok {
			return nil // nothing is known of the masses
		}
		mixture = append(mixture, t)
		for range around {
			points = append(points, t.Rand(nil))
		}
	}
	logs, err := q.values(ctx, points, nil)
	if err != nil {
		return err
	}
	each, in, nearest := make([]float64, len(mixture)), make([]int, len(points)), assigner(modes)
	for i, u := range points {
		for k, t := range mixture {
			each[k] = t.LogProb(u)
		}
		logs[i] -= floats.LogSumExp(each)
		in[i] = nearest(u)
	}
	logs, khat := diag.ParetoSmooth(logs)
	if math.IsNaN(khat) {
		return nil // the density is zero at all points
	}
	shares, gaussian := make([]float64, len(modes)), make([]float64, len(modes))
	for i, log := range logs {
		shares[in[i]] += math.Exp(log)
	}
	for k, m := range modes {
		gaussian[k] = m.LogMass
	}
	total := floats.LogSumExp(gaussian)
	for k, m := range modes {
		m.LogMass = total + math.Log(shares[k])
	}
	return nil
}
