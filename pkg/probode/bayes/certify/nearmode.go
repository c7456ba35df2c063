package certify

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// The functions in this file check whether a point is so close to a mode of the posterior
// that it can be used in place of the mode. The functions do not climb to the mode.

const (
	// leastFall is the smallest acceptable fall of the log density along an axis, as a
	// fraction of the fall that the information matrix predicts.
	leastFall = 0.1
	// steepestEdge is the largest permitted slope of the log density along a coordinate
	// that expandNear does not test.
	steepestEdge = 2
	// muchLarger is a difference of log likelihoods. If a change of one coordinate raises
	// the log likelihood by more than muchLarger, the point is not near a mode. About one in
	// seventy draws from a one-dimensional Gaussian has a log density more than 3 below the
	// maximum.
	muchLarger = 3
)

// expandNear expands the posterior at the point u itself, without a climb to a mode. The
// result `near` says whether u is as near to a mode as a typical draw from the posterior.
// Let g be the gradient of the log density of a Gaussian with covariance C. At draws from
// this Gaussian, gᵀ C g has a χ² distribution with one degree of freedom for each
// coordinate. A point as far from the mode as a typical draw is accepted: for a Gaussian
// posterior, the computed shift of the mode does not depend on the point of expansion.
//
// At minima and saddle points the gradient is also zero, and the Fisher information may
// be positive definite. Therefore the density is also required to fall along each axis of
// the Gaussian.
//
// Coordinates with a precision below 1 are not tested. On the unbounded scale, the
// precision of a prior is about 1. Near the edge of a bounded prior, the mode of the
// density on the unbounded scale may be far from u, although the model fits the data
// equally well at both points. Near an edge of the support, all slopes on the unbounded
// scale vanish, so a point there can look like a mode. Therefore expandNear rejects u if
// the likelihood is much larger in the middle of the range than at u.
func expandNear(x *evaluator, u []float64) (l *expansion, near bool, err error) {
	// Close to parameter values at which the solution blows up, finite differences can be
	// computed only with small steps.
	widths := []float64(nil)
	for h := 1e-6; ; h /= 100 {
		if l, err = expand(x, u, widths); err == nil || h < 1e-8 || x.ctx.Err() != nil {
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
			return l, false, x.ctx.Err()
		}
	}
	near = !l.saddle() && l.stationary(&full, known)
	return l, near, x.ctx.Err()
}

// stationary uses the gradient and the density to decide whether the point is near a mode
// in the coordinates listed in `known`. The argument `full` is the precision matrix of
// all coordinates.
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

// fall returns the decrease of the log density over the given distance, averaged over the
// given direction and the opposite direction. The decrease is +∞ if the density cannot be
// evaluated at one of the two end points.
func (l *expansion) fall(direction []float64, distance float64) (mean float64) {
	u := make([]float64, len(l.X))
	for _, step := range []float64{-distance, distance} {
		for k := range u {
			u[k] = l.X[k] + step*direction[k]
		}
		mean += (l.Value - l.x.surface.Value(u)) / 2
	}
	return mean
}

// largerInside reports whether the likelihood becomes much larger when coordinate k is
// moved into the middle of its range and the other coordinates stay fixed.
func (l *expansion) largerInside(k int) bool {
	u, theta := slices.Clone(l.X), make([]float64, len(l.X))
	here := l.x.logLikelihood(l.theta)
	for _, u[k] = range []float64{-4, -2, -1, 0, 1, 2, 4} {
		l.x.density.Constrain(theta, u)
		if l.x.logLikelihood(theta) > here+muchLarger {
			return true
		}
	}
	return false
}

// saddle reports whether the log density curves upward in some direction, as it does at a
// saddle point. The indefinite precision matrix predicts this direction. The prediction
// may be wrong, because the matrix omits some second derivatives with respect to the
// likelihood's own parameters.
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
