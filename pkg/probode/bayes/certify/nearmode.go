package certify

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes/compare"
)

// The functions in this file check whether a point is so close to a mode of the posterior
// that it can be used in place of the mode. The functions do not climb to the mode.

const (
	// leastFall is the least fall along an axis as a fraction of that by the information
	// matrix.
	leastFall = 0.1
	// steepestEdge is the largest slope along a coordinate that is not tested.
	steepestEdge = 2
	// A point is not near a mode if a change of one coordinate raises the log likelihood
	// by more than muchLarger. About one in seventy draws of a one-dimensional Gaussian
	// is more than 3 below the maximum.
	muchLarger = 3
)

// expandNear expands at u itself, and reports whether u is as near to a mode as a typical
// draw: with the gradient g, gᵀ C g is then χ² with one degree of freedom for each
// coordinate. For a Gaussian the shift does not depend on the point. As the gradient
// vanishes at minima and saddle points, too, the density must fall along each axis.
// Coordinates with a precision below 1, about that of a prior on the unbounded scale, are
// not tested: near the edge of a prior the mode on that scale may be far away. All slopes
// vanish there, so u is rejected if the likelihood is much larger in the middle of the
// range.
func expandNear(x *compare.Solver, u []float64) (l *expansion, near bool, err error) {
	// Close to parameter values at which the solution blows up, finite differences can be
	// computed only with small steps.
	widths := []float64(nil)
	for h := 1e-6; ; h /= 100 {
		if l, err = expand(x, u, widths); err == nil || h < 1e-8 || x.Context().Err() != nil {
			break
		}
		widths = slices.Repeat([]float64{h}, len(u))
	}
	if err != nil {
		return nil, false, err
	}
	var full mat.SymDense
	l.chol.ToSym(&full)
	var known []int
	for k := range u {
		if full.At(k, k) >= 1 {
			known = append(known, k)
		} else if !(math.Abs(l.slope.AtVec(k)) <= steepestEdge) || l.largerInside(k) {
			return l, false, x.Context().Err()
		}
	}
	near = !l.saddle() && l.stationary(&full, known)
	return l, near, x.Context().Err()
}

// stationary decides by gradient and density for the coordinates `known`; `full` is the
// precision of all.
func (l *expansion) stationary(full *mat.SymDense, known []int) bool {
	n := len(known)
	if n == 0 {
		return true
	}
	precision, gradient := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for i, k := range known {
		gradient.SetVec(i, l.slope.AtVec(k))
		for j, m := range known[:i+1] {
			precision.SetSym(i, j, full.At(k, m))
		}
	}
	var chol mat.Cholesky
	var step mat.VecDense
	if !chol.Factorize(precision) || chol.SolveVecTo(&step, gradient) != nil && step.Len() == 0 {
		return false
	}
	// The limit is the mean of the χ² distribution plus three of its standard deviations.
	if !(mat.Dot(&step, gradient) < float64(n)+3*math.Sqrt(2*float64(n))) {
		return false
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(precision, true) {
		return false
	}
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	for i, value := range eigen.Values(nil) {
		axis := make([]float64, len(l.X))
		for j, k := range known {
			axis[k] = axes.At(j, i) / math.Sqrt(value)
		}
		// A draw may be two standard deviations from the mode, and with Laplace errors
		// the log density may be linear over that whole distance.
		if !(l.fall(axis, 1) > leastFall/2 || l.fall(axis, 2) > leastFall*2) {
			return false
		}
	}
	return true
}

// fall is averaged over both directions, and +∞ if the density cannot be evaluated at an
// end.
func (l *expansion) fall(direction []float64, distance float64) (mean float64) {
	u := make([]float64, len(l.X))
	for _, step := range []float64{-distance, distance} {
		for k := range u {
			u[k] = l.X[k] + step*direction[k]
		}
		mean += (l.Value - l.x.Surface().Value(u)) / 2
	}
	return mean
}

func (l *expansion) largerInside(k int) bool {
	u, theta := slices.Clone(l.X), make([]float64, len(l.X))
	here := l.x.LogLikelihood(l.theta)
	for _, u[k] = range []float64{-4, -2, -1, 0, 1, 2, 4} {
		l.x.Density.Constrain(theta, u)
		if l.x.LogLikelihood(theta) > here+muchLarger {
			return true
		}
	}
	return false
}

// saddle reports whether the log density curves upward in the direction that the
// indefinite precision predicts. That omits some second derivatives, so it may be wrong.
func (l *expansion) saddle() bool {
	if l.indefinite == nil {
		return false
	}
	n := len(l.X)
	// Change to coordinates in which the information matrix is the identity matrix.
	var lower mat.TriDense
	l.chol.LTo(&lower)
	var half, scaled mat.Dense
	if half.Solve(&lower, l.indefinite) != nil || scaled.Solve(&lower, half.T()) != nil {
		return false
	}
	symmetric := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			symmetric.SetSym(i, j, (scaled.At(i, j)+scaled.At(j, i))/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(symmetric, true) {
		return false
	}
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	direction := mat.NewVecDense(n, nil)
	return direction.SolveVec(lower.T(), axes.ColView(0)) == nil && l.fall(direction.RawVector().Data, 1) < 0
}
