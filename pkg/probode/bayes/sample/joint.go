package sample

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// If the noise of the solver is large, θ and ξ are strongly dependent, and a chain that
// updates θ and ξ alternately mixes very slowly. The data contain information about
// averages of ξ over intervals of time. These averages are represented by the scaled sums
//
//	v_b = Σ_{i∈b} ξᵢ/√n_b,
//
// with one sum for each component and each block b of n_b steps. Under the prior the sums
// are independent N(0, 1). The posterior of (θ, v) is close to a Gaussian distribution,
// which Fisher scoring finds with a few hundred solves. Proposals based on the Gaussian
// approximation yield nearly independent draws.

// gaussian is a Gaussian approximation N(m, (UᵀU)⁻¹) to the distribution of (θ, v), with
// θ on the unconstrained scale.
type gaussian struct {
	blocks []shape.Block
	mean   []float64
	u      blas64.Triangular // upper factor of the precision
}

// findGaussian searches for the Gaussian approximation to the distribution of (θ, v). The
// search starts at θ = u on the unconstrained scale, and at v = 0. findGaussian returns
// nil if there is no approximation, either because the density is not smooth or because
// the data do not determine all parameters.
func findGaussian(ctx context.Context, e *bayes.Density, u []float64, blocks []shape.Block) *gaussian {
	x := make([]float64, len(u)+len(blocks))
	copy(x, u)
	ctx, hook := progress.Begin(ctx, "joint moves")
	f := shape.NewSurface(e, blocks...)
	f.Forward = true
	if hook != nil {
		f.Progress = func(done, total int) { hook(done, total, fmt.Sprintf("derivative %d of %d", done, total)) }
		defer hook(1, 1, "")
	}
	c := f.Ascent(x, f.Value(x))
	c.Climb(ctx, f, 0.02, 60) // the ascent ends 0.2 standard deviations from the mode
	var chol mat.Cholesky
	if c.Failed || ctx.Err() != nil || !chol.Factorize(c.Information) || chol.Cond() > 1e14 || slices.ContainsFunc(x, math.IsNaN) {
		return nil
	}
	return &gaussian{blocks, x, chol.RawU().(*mat.TriDense).RawTriangular()}
}

// both is implemented by rules that propose joint moves of θ and ξ.
type both interface {
	// propose draws a proposal y from the current position x = (u, xi), and writes y to the
	// arguments `uNew` and `next`. The result is
	//
	//	log q(x|y) − log q(y|x) + log p(next) − log p(xi),
	//
	// where q is the density of the proposal and p is the prior density of ξ.
	propose(uNew, u, next, xi []float64, b float64, c chance, rng *rand.Rand) float64
}

// A jointMover makes the joint moves of one chain. A joint move is autoregressive in x =
// (θ, v),
//
//	y = m + √(1−b²) (x − m) + b U⁻¹ z,   z ~ N(0, I),
//
// which is reversible for the approximation N(m, (UᵀU)⁻¹). A pCN move with step b changes
// the remaining components of ξ. The pCN move is reversible for the prior of ξ.
type jointMover struct {
	*gaussian
	w, y blas64.Vector
}

func newJoint(s *gaussian) *jointMover {
	n := len(s.mean)
	return &jointMover{s, blas64.Vector{N: n, Inc: 1, Data: make([]float64, n)}, blas64.Vector{N: n, Inc: 1, Data: make([]float64, n)}}
}

func (j *jointMover) propose(uNew, u, next, xi []float64, b float64, c chance, rng *rand.Rand) float64 {
	d := len(u)
	w, y := j.w.Data, j.y.Data
	var logq float64
	for k, m := range j.mean {
		if k < d {
			w[k] = u[k] - m
			continue
		}
		v := j.blocks[k-d].Sum(xi)
		w[k] = v - m
		logq += v * v / 2
	}
	blas64.Trmv(blas.NoTrans, j.u, j.w)
	logq -= blas64.Dot(j.w, j.w) / 2
	c.perturb(y, w, b, rng)
	logq += blas64.Dot(j.y, j.y) / 2
	blas64.Trsv(blas.NoTrans, j.u, j.y)
	c.perturb(next, xi, b, rng)
	for k, m := range j.mean {
		x := y[k] + m
		if k < d {
			uNew[k] = x
			continue
		}
		i := k - d
		j.blocks[i].Add(next, x-j.blocks[i].Sum(next))
		logq -= x * x / 2
	}
	return logq
}
