package certify

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
)

// D leaves out that solvers differ in the derivatives of what they expect, too: the
// residuals of the data pull with the difference, and the mode moves by
//
//	C (∂(m' − m)/∂u)ᵀ s,   s = ∂ log p(y | m)/∂m.
//
// On the average over data that is zero, and of the size of D times the relative error
// of the derivatives for data that the model explains. Where it does not explain them,
// as with a noise scale that is too small for what the model leaves out, this decides.

// misfits tells whether the data are farther from what the reference expects than their
// errors allow, by more than four standard deviations of χ².
func (l *linearised) misfits() bool {
	var sum, n float64
	for _, o := range l.data {
		if o.Information > 0 {
			sum += o.Score * o.Score / o.Information
			n++
		}
	}
	return sum > n+4*math.Sqrt(2*n)
}

// pull returns the largest shift, in standard deviations, that the derivative of the log
// posterior by x at the mode l of the reference makes beside the given one.
func (l *linearised) pull(x *expecter, by *bayes.Density, shift []float64) (float64, error) {
	defer x.e.Hold(l.theta)() // differences by a solver that adapts
	n := len(l.X)
	theta, u := make([]float64, n), slices.Clone(l.X)
	gradient := mat.NewVecDense(n, nil)
	for k, h := range l.widths() {
		var f [2]float64
		for i, sign := range []float64{-1, 1} {
			u[k] = l.X[k] + sign*h
			lp := by.Constrain(theta, u)
			_, ll, err := x.at(theta)
			if err != nil {
				return math.NaN(), err
			}
			f[i] = lp + ll
		}
		u[k] = l.X[k]
		gradient.SetVec(k, (f[1]-f[0])/(2*h)-l.slope.AtVec(k))
	}
	moved := mat.NewVecDense(n, nil)
	moved.MulVec(l.cov, gradient)
	most := 0.0
	for k := range shift {
		if v := math.Abs(moved.AtVec(k)/l.sd[k] - shift[k]); !(v <= most) {
			most = v
		}
	}
	return most, nil
}
