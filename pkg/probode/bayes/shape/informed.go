package shape

import (
	"errors"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// Informed returns the directions of ξ about which the data are informative near the
// given θ and ξ. If the number of informed directions exceeds `most`, Informed leaves out
// the least important ones. If the method is a one-step method, the elements of ξ between
// two observation times affect later states only through the state at the second time. To
// first order, the data are therefore informative about at most d directions of ξ between
// two observation times, where d is the dimension of the state. The directions are found
// from the gradients of random combinations of the states. The result is nil if the
// gradients of the path with respect to ξ are not available.
func Informed(e *bayes.Density, theta, xi []float64, most int) []Block {
	var blocks []Block
	times, components := 0, 1
	for _, x := range e.Posterior().Experiments {
		times += len(x.Data.T)
		components = max(components, x.Problem.Dim())
	}
	// To limit the number of directions, several observation times may be treated as one.
	together := (times*components + most - 1) / most
	at := 0
	for i := range e.Posterior().Experiments {
		r := e.Part(i)
		n := r.NoiseLen()
		if n > 0 {
			found, err := partInformed(r, e.Posterior().Experiments[i], theta, xi, at, together)
			if err != nil {
				return nil
			}
			blocks = append(blocks, found...)
		}
		at += n
	}
	return blocks
}

// partInformed returns the directions of ξ, from element `at` on, about which one
// experiment has information.
func partInformed(r *bayes.Part, x bayes.Experiment, theta, xi []float64, at, together int) (blocks []Block, err error) {
	if r.Grid() == nil {
		return nil, errors.ErrUnsupported
	}
	xi = xi[at : at+r.NoiseLen()]
	// The space of informed directions between two observation times has d dimensions, or
	// more if a step uses earlier states.
	d := x.Problem.Dim()
	gradients := make([][]float64, 2*d)
	rng := probode.Stream(0x626c6f636b)
	w := make([]float64, d*len(x.Data.T))
	for i := range gradients {
		for k := range w {
			w[k] = rng.NormFloat64()
		}
		gradients[i] = make([]float64, len(xi))
		if err := r.NoiseGradient(gradients[i], w, theta, xi); err != nil {
			return nil, err
		}
	}
	times, normals := r.Grid().Solver().Times(), r.Grid().Solver().Normals()
	rounding := 1e-9 * (times[len(times)-1] - times[0])
	from := 0
	for row := 0; row < len(x.Data.T); row += together {
		last := x.Data.T[min(row+together, len(x.Data.T))-1] - rounding
		step, _ := slices.BinarySearch(times, last)
		to := min(step*normals, len(xi))
		if to <= from {
			continue
		}
		m := mat.NewDense(to-from, len(gradients), nil)
		for k, g := range gradients {
			m.SetCol(k, g[from:to])
		}
		for _, weights := range span(m, d) {
			blocks = append(blocks, Block{From: at + from, To: at + to, weights: weights})
		}
		from = to
	}
	return blocks, nil
}

// span returns an orthonormal basis of the columns, at most the `most` largest singular
// directions.
func span(m *mat.Dense, most int) (basis [][]float64) {
	const negligible = 1e-6
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDThin) {
		return nil
	}
	var u mat.Dense
	svd.UTo(&u)
	for k, v := range svd.Values(nil) {
		if k < most && v > negligible*svd.Values(nil)[0] {
			basis = append(basis, mat.Col(nil, k, &u))
		}
	}
	return basis
}
