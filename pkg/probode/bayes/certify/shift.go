package certify

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// By how much the mode of a posterior moves, where it is linearised, with what another
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
func (l *linearised) focus(params []int) float64 {
	sums, along := make([]float64, len(l.u)), mat.NewVecDense(len(l.u), nil)
	for i, w := range l.weight {
		if w == 0 {
			continue
		}
		c := w
		if l.curved != nil {
			c = l.curved[i]
		}
		along.MulVec(l.cov, l.jac.RowView(i))
		for k := range sums {
			a := c * along.AtVec(k) / l.sd[k]
			sums[k] += a * a / w
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
func (l *linearised) shift(expected []float64) (d float64, shift []float64) {
	n := len(l.u)
	score := mat.NewVecDense(n, nil)
	for i, o := range l.data {
		delta := expected[o.at] - l.m[o.at]
		if l.sure[i] && delta != 0 {
			// Nothing but this datum can be by the reference; by the other it can.
			w := information(o.l, expected[o.at], o.own)
			if math.IsNaN(w) {
				w = math.Inf(1)
			}
			d += w * delta * delta
		}
		d += l.weight[i] * delta * delta
		w := l.weight[i]
		if l.curved != nil {
			w = l.curved[i]
		}
		score.AddScaledVec(score, -w*delta, l.jac.RowView(i))
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
func (l *linearised) shiftOwn(expected []float64, score, delta *mat.VecDense) {
	taken := mat.NewVecDense(len(l.data), nil) // GΔu
	shifted, theta := slices.Clone(l.m), slices.Clone(l.theta)
	through := mat.VecDenseCopyOf(score) // what is expected, of parameters that change that, too
	for range 2 {                        // at first without what the own parameters do
		taken.MulVec(l.jac, delta)
		for i, o := range l.data {
			shifted[o.at] = expected[o.at] + taken.AtVec(i)
		}
		for _, k := range l.own {
			h := 1e-5 * max(math.Abs(l.theta[k]), 1e-3)
			var f [2]float64
			for i, sign := range []float64{-1, 1} {
				theta[k] = l.theta[k] + sign*h
				f[i] = l.logLikelihood(shifted, theta) - l.logLikelihood(l.m, theta)
			}
			theta[k] = l.theta[k]
			s := (f[1] - f[0]) / (2 * h) * l.dtheta[k]
			for j := 0; j < len(l.u) && l.crossed != nil; j++ {
				s += l.crossed.At(k, j) * delta.AtVec(j)
			}
			if !math.IsNaN(s) && !math.IsInf(s, 0) {
				score.SetVec(k, through.AtVec(k)+s)
			}
		}
		delta.MulVec(l.cov, score)
	}
	for i := range l.data {
		l.data[i].bind(l.p, l.theta, l.m)
	}
}
