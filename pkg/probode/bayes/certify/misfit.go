package certify

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// The discrepancy D compares the expected data of two setups, but not the derivatives of
// these data. Unless all residuals are zero, the difference between these derivatives
// causes an additional shift of the mode:
//
//	C (∂(m' − m)/∂u)ᵀ s,   s = ∂ log p(y | m)/∂m.
//
// Averaged over data sets, this additional shift is zero. If the model explains the data,
// the size of this shift is about D times the relative error of the derivatives. If the
// model does not explain the data, this shift can be larger than the first-order shift.
// For example, a model does not explain the data if it omits effects that are larger than
// the assumed errors.

// misfits reports whether χ² is more than four standard deviations above its mean.
func (l *expansion) misfits() bool {
	var sum, n float64
	for _, o := range l.data {
		if o.Information > 0 {
			sum += o.Score * o.Score / o.Information
			n++
		}
	}
	return sum > n+4*math.Sqrt(2*n)
}

// pull compares the first-order shift of each parameter, from the expected data of x,
// with that from the slope of the log posterior of x, and returns the largest difference
// in standard deviations.
func (l *expansion) pull(x *compare.Solver) (most float64, err error) {
	to := x.At(l.theta)
	if to.Err != nil {
		return math.NaN(), to.Err
	}
	_, shift := l.shift(to.Expected)
	copy(x.Surface().Steps, l.widths())
	at := shape.Point{X: l.X}
	if !x.Surface().Expand(&at) {
		return math.NaN(), cmp.Or(x.Context().Err(), errNoDerivatives)
	}
	moved := at.Slope()
	moved.SubVec(moved, l.slope)
	moved.MulVec(l.cov, mat.VecDenseCopyOf(moved))
	for k := range shift {
		if v := math.Abs(moved.AtVec(k)/l.sd[k] - shift[k]); !(v <= most) {
			most = v
		}
	}
	return most, nil
}
