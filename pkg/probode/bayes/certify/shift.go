package certify

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// By how much the mode of a posterior moves, where it is expansion, with what another
// solver expects of the data; and by how much at most.

// focus is by how much the bound on a shift is above D. With cᵢ the curvatures, wᵢ the
// informations and aᵢ the covariance of an expected value with the parameter, the
// shift in standard deviations s is by the inequality of Cauchy and Schwarz
//
//	Σᵢ cᵢδᵢaᵢ/s ≤ √(Σᵢ (cᵢaᵢ/s)²/wᵢ) D.
//
// With Fisher's informations for c the root is at most 1, unless what the data at hand
// tell of expected values and the likelihood's own parameters together, as of σ, leaves
// a direction in which next to nothing is known.
func (l *expansion) focus(params []int) float64 {
	sums, along := make([]float64, len(l.X)), mat.NewVecDense(len(l.X), nil)
	for i, o := range l.data {
		if o.Information == 0 {
			continue
		}
		along.MulVec(l.cov, mat.NewVecDense(len(l.X), o.Jacobian))
		for k := range sums {
			a := l.curved[i] * along.AtVec(k) / l.sd[k]
			sums[k] += a * a / o.Information
		}
	}
	most := 1.0
	for _, k := range params {
		most = max(most, math.Sqrt(sums[k]))
	}
	return most
}

// shift returns D of the expected values of another solver, and the shift of each
// parameter in standard deviations.
func (l *expansion) shift(expected []float64) (d float64, shift []float64) {
	n := len(l.X)
	score := mat.NewVecDense(n, nil)
	for i, o := range l.data {
		delta := expected[o.At] - l.m[o.At]
		w := o.Information
		if o.Certain && delta != 0 {
			// By the reference nothing but this datum can be; by the other solver it can.
			if w = l.x.surface.DataAt(expected, l.theta)[i].Information; w == 0 {
				w = math.Inf(1)
			}
		}
		d += w * delta * delta
		score.AddScaledVec(score, -l.curved[i]*delta, mat.NewVecDense(n, o.Jacobian))
	}
	delta := mat.NewVecDense(n, nil)
	delta.MulVec(l.cov, score)
	if l.own != nil {
		l.shiftOwn(expected, score, delta)
	}
	shift = make([]float64, n)
	for k := range shift {
		shift[k] = delta.AtVec(k) / l.sd[k]
	}
	return math.Sqrt(d), shift
}

// shiftOwn adds what the likelihood's own parameters do. Such as σ answer to the
// part of δ that the other parameters have not taken: their score changes by
//
//	Σᵢ ∂/∂σ log p(yᵢ | mᵢ + eᵢ, σ) − ∂/∂σ log p(yᵢ | mᵢ, σ),   e = δ + GΔu,
//
// for a Gaussian error Σ (−rᵢeᵢ + eᵢ²/2) · 2/σ³ with the residuals r. What that has of GΔu
// to first order is in C already, where C knows of σ and the others together.
func (l *expansion) shiftOwn(expected []float64, score, delta *mat.VecDense) {
	shifted, theta := slices.Clone(l.m), slices.Clone(l.theta)
	through := mat.VecDenseCopyOf(score) // what is expected, of parameters that change that, too
	for range 2 {                        // at first without what the own parameters do
		for _, o := range l.data {
			shifted[o.At] = expected[o.At] + floats.Dot(o.Jacobian, delta.RawVector().Data)
		}
		for _, k := range l.own {
			h := 1e-5 * max(math.Abs(l.theta[k]), 1e-3)
			var f [2]float64
			for i, sign := range []float64{-1, 1} {
				theta[k] = l.theta[k] + sign*h
				f[i] = l.x.density.LogLikelihoodOf(shifted, theta) - l.x.density.LogLikelihoodOf(l.m, theta)
			}
			theta[k] = l.theta[k]
			s := (f[1] - f[0]) / (2 * h) * l.dtheta[k]
			for j := 0; j < len(l.X) && l.crossed != nil; j++ {
				s += l.crossed.At(k, j) * delta.AtVec(j)
			}
			if !math.IsNaN(s) && !math.IsInf(s, 0) {
				score.SetVec(k, through.AtVec(k)+s)
			}
		}
		delta.MulVec(l.cov, score)
	}
}
