package certify

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The functions in this file compute how far the mode of a posterior moves if another
// solver computes the expected data. The functions use an expansion of the log posterior.
// These functions also compute an upper bound on the shift.

// focus returns the largest possible ratio of a parameter's shift, in standard
// deviations, to the discrepancy D. If this ratio is below 1, focus() returns 1. For
// datum i, let cᵢ be its curvature, wᵢ its information, and aᵢ the covariance of its
// expected value with the parameter. Let s be the standard deviation of the parameter. By
// the Cauchy–Schwarz inequality
//
//	Σᵢ cᵢδᵢaᵢ/s ≤ √(Σᵢ (cᵢaᵢ/s)²/wᵢ) D.
//
// The square root in this bound is at most 1 if cᵢ = wᵢ for all data and the precision is
// well above zero in every direction. Directions of almost zero precision may occur if
// the likelihood has parameters of its own, such as σ, because C then includes mixed
// derivatives.
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

// The argument of shift holds the expected data computed by another solver. The results
// are the discrepancy D between this solver and the reference, and the shift of each
// parameter in standard deviations.
func (l *expansion) shift(expected []float64) (d float64, shift []float64) {
	n := len(l.X)
	score := mat.NewVecDense(n, nil)
	for i, o := range l.data {
		delta := expected[o.At] - l.m[o.At]
		w := o.Information
		if o.Certain && delta != 0 {
			// The reference predicts this observation with probability 1 and gives it no
			// Fisher information. The Fisher information is therefore computed from the
			// expected data of the other solver.
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

// shiftOwn adds the shift of the likelihood's own parameters. If the other parameters
// move by Δu, the difference between the expected data changes from δ to e. The score of
// the likelihood's own parameters changes by
//
//	Σᵢ ∂/∂σ log p(yᵢ | mᵢ + eᵢ, σ) − ∂/∂σ log p(yᵢ | mᵢ, σ),   e = δ + GΔu.
//
// For Gaussian errors with residuals r, this change is (2/σ³) Σ (−rᵢeᵢ + eᵢ²/2). If C
// already accounts for the terms of first order in GΔu, shiftOwn subtracts these terms
// from the change.
func (l *expansion) shiftOwn(expected []float64, score, delta *mat.VecDense) {
	shifted, theta := slices.Clone(l.m), slices.Clone(l.theta)
	through := mat.VecDenseCopyOf(score) // the part due to the expected data
	for range 2 {                        // first without the shift of the likelihood's own parameters
		for _, o := range l.data {
			shifted[o.At] = expected[o.At] + floats.Dot(o.Jacobian, delta.RawVector().Data)
		}
		for _, k := range l.own {
			h := 1e-5 * max(math.Abs(l.theta[k]), 1e-3)
			var f [2]float64
			for i, sign := range []float64{-1, 1} {
				theta[k] = l.theta[k] + sign*h
				f[i] = l.x.density.LogLikelihoodChange(l.m, shifted, theta)
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
