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

// focus returns the largest ratio of a shift, in standard deviations s, to D, at least 1.
// With curvature cᵢ, information wᵢ and covariance aᵢ with datum i, Σᵢ cᵢδᵢaᵢ/s ≤ √(Σᵢ
// (cᵢaᵢ/s)²/wᵢ) D by Cauchy and Schwarz. The root is at most 1 if cᵢ = wᵢ and the
// precision is well above zero in every direction. That may fail if the likelihood has
// parameters of its own, because C then includes mixed derivatives.
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

// shift returns D of other expected data, and the shift of each parameter in standard
// deviations.
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
			if w = l.x.Surface().DataAt(expected, l.theta)[i].Information; w == 0 {
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

// shiftOwn adds the shift of the likelihood's own parameters. As the others move by Δu,
// the difference of the expected data changes from δ to e = δ + GΔu, and the score by Σᵢ
// ∂/∂σ log p(yᵢ | mᵢ + eᵢ, σ) − ∂/∂σ log p(yᵢ | mᵢ, σ), for Gaussian errors with
// residuals r by (2/σ³) Σ (−rᵢeᵢ + eᵢ²/2). Terms of first order in GΔu that C accounts
// for are subtracted.
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
				f[i] = l.x.Density.LogLikelihoodChange(l.m, shifted, theta)
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
