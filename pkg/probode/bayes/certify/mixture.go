package certify

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
)

// draws from the mixture of Gaussian approximations, and counts those at which the
// reference fails.
func (c *Certifier) draws(number int, seed uint64) (out []*expansion, lost int, err error) {
	var modes []*expansion
	for _, m := range c.reached() {
		modes = append(modes, m.at)
	}
	if len(modes) == 0 {
		return nil, 0, cmp.Or(c.ctx.Err(), fmt.Errorf("certify: the search found no mode of the posterior computed with %s", describe(c.reference)))
	}
	factors, shares := gaussians(modes)
	rng := probode.Stream(seed, 0x656e6f756768)
	for range number {
		pick, from := rng.Float64(), 0
		for from < len(modes)-1 && pick > shares[from] {
			pick -= shares[from]
			from++
		}
		if factors[from] == nil {
			continue
		}
		z := mat.NewVecDense(len(c.p.Params), nil)
		for k := range z.Len() {
			z.SetVec(k, rng.NormFloat64())
		}
		z.MulVec(factors[from], mat.VecDenseCopyOf(z))
		z.AddVec(z, mat.NewVecDense(z.Len(), slices.Clone(modes[from].X)))
		l, err := expand(c.fine, z.RawVector().Data, modes[0].widths())
		if c.ctx.Err() != nil {
			return nil, 0, c.ctx.Err()
		}
		if err != nil {
			lost++
			continue
		}
		// The expansion at a draw uses the covariance at the nearest mode.
		best := slices.MinFunc(modes, func(a, b *expansion) int { return cmp.Compare(a.distance(l.X), b.distance(l.X)) })
		l.cov, l.sd, l.own = best.cov, best.sd, nil
		out = append(out, l)
	}
	return out, lost, nil
}

// gaussians returns a nil factor for a covariance that is singular in floating point.
func gaussians(modes []*expansion) (factors []*mat.TriDense, shares []float64) {
	top := math.Inf(-1)
	for _, l := range modes {
		var chol mat.Cholesky
		var factor *mat.TriDense
		mass := l.Value
		if chol.Factorize(l.cov) {
			mass += chol.LogDet() / 2
			factor = new(mat.TriDense)
			chol.LTo(factor)
		}
		factors, shares, top = append(factors, factor), append(shares, mass), max(top, mass)
	}
	var sum float64
	for i := range shares {
		shares[i] = math.Exp(shares[i] - top)
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return factors, shares
}

func (l *expansion) distance(u []float64) float64 {
	var sum float64
	for k, sd := range l.sd {
		sum += (u[k] - l.X[k]) * (u[k] - l.X[k]) / (sd * sd)
	}
	return math.Sqrt(sum)
}
