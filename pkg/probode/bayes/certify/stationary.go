package certify

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// arched is the least share of the fall one standard deviation away, as the information
// predicts it, that the density must show.
const arched = 0.1

// edgeSlope is the slope of the log density up to which a coordinate may be left out.
const edgeSlope = 2

// expandNear expands the posterior at u without a climb. near says whether u stands for a
// mode: whether by gradient and curvature it is as near to one as draws of a Gaussian
// posterior are, of which gᵀ C g has the distribution χ² with as many degrees of freedom
// as there are coordinates. The solver's error moves the mode of a Gaussian posterior by
// −C GᵀWδ wherever the posterior is expanded.
//
// The information is positive at a minimum or a saddle, too, where the gradient is zero
// as well. So the density has to fall along each axis of the Gaussian, on the average of
// both sides.
//
// Coordinates that are known to no better than 1, on a scale on which a prior is about
// as wide, are left out: an optimum at the edge of a prior is far from the mode of its
// density on an unbounded scale, and the data do not mind. The slope there is at most 1.
// Since all slopes vanish near an edge, betterInside checks that the data do not mind:
// nowhere in the bulk of the scale may the likelihood be much larger.
func expandNear(x *evaluator, u []float64) (l *expansion, near bool, err error) {
	// Where a solution ends nearby, as at the edge of a blow-up, narrow differences
	// may still do.
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
	if l.saddle() {
		return l, false, nil
	}
	var full mat.SymDense
	l.chol.ToSym(&full)
	var known []int
	for k := range u {
		if full.At(k, k) >= 1 {
			known = append(known, k)
		} else if !(math.Abs(l.slope.AtVec(k)) <= edgeSlope) {
			return l, false, nil
		}
	}
	for k := range u {
		if slices.Contains(known, k) {
			continue
		}
		if better, err := l.betterInside(x, k); err != nil || better {
			return l, false, err
		}
	}
	n := len(known)
	if n == 0 {
		return l, true, nil
	}
	precision, gradient := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for i, k := range known {
		gradient.SetVec(i, l.slope.AtVec(k))
		for j, m := range known[:i+1] {
			precision.SetSym(i, j, full.At(k, m))
		}
	}
	var chol mat.Cholesky
	step := mat.NewVecDense(n, nil)
	if !chol.Factorize(precision) || chol.SolveVecTo(step, gradient) != nil && step.Len() == 0 {
		return l, false, nil
	}
	// Three standard deviations of χ² above its mean.
	if !(mat.Dot(step, gradient) < float64(n)+3*math.Sqrt(2*float64(n))) {
		return l, false, nil
	}
	near, err = l.top(x, known, precision)
	return l, near, err
}

// betterInside tells whether the log likelihood is larger by more than three where
// coordinate k alone is in the bulk of its scale; of one coordinate, one draw in seventy
// is as far below its mode.
func (l *expansion) betterInside(x *evaluator, k int) (bool, error) {
	u, theta := slices.Clone(l.X), make([]float64, len(l.X))
	x.density.Constrain(theta, u)
	_, here, err := x.at(theta)
	if err != nil {
		return false, err
	}
	for _, at := range []float64{-4, -2, -1, 0, 1, 2, 4} {
		u[k] = at
		x.density.Constrain(theta, u)
		_, there, err := x.at(theta)
		if x.ctx.Err() != nil {
			return false, x.ctx.Err()
		}
		if err == nil && there > here+3 {
			return true, nil
		}
	}
	return false, nil
}

// top tells whether the log density, of which precision is the information on the known
// coordinates, falls along all axes.
func (l *expansion) top(x *evaluator, known []int, precision *mat.SymDense) (bool, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(precision, true) {
		return false, nil
	}
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	u := make([]float64, len(l.X))
	fall := func(axis int, step float64) float64 {
		copy(u, l.X)
		for j, k := range known {
			u[k] += step * axes.At(j, axis)
		}
		return l.Value - x.surface.Value(u)
	}
	for i, value := range eigen.Values(nil) {
		falls := false
		// A draw may be two standard deviations from its mode, and the log density of
		// Laplace errors is straight up to there.
		for _, width := range []float64{1, 2} {
			up, down := fall(i, width/math.Sqrt(value)), fall(i, -width/math.Sqrt(value))
			if err := x.ctx.Err(); err != nil {
				return false, err
			}
			if falls = (up+down)/2 > arched*width*width/2; falls {
				break
			}
		}
		if !falls {
			return false, nil
		}
	}
	return true, nil
}

// saddle reports whether the log density rises, in the mean of both sides, along the
// direction in which it should rise most by the indefinite precision, measured by the
// information. That precision may be wrong: it leaves out a part of what is between two
// parameters of the likelihood.
func (l *expansion) saddle() bool {
	both := l.indefinite
	if both == nil {
		return false
	}
	n := len(l.X)
	var lower mat.TriDense
	l.chol.LTo(&lower)
	var half, scaled mat.Dense
	if half.Solve(&lower, both) != nil || scaled.Solve(&lower, half.T()) != nil {
		return false
	}
	sym := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			sym.SetSym(i, j, (scaled.At(i, j)+scaled.At(j, i))/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(sym, true) {
		return false
	}
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	way := mat.NewVecDense(n, nil)
	if way.SolveVec(lower.T(), axes.ColView(0)) != nil {
		return false
	}
	fall, u := 0.0, make([]float64, n)
	for _, side := range []float64{-1, 1} {
		for k := range u {
			u[k] = l.X[k] + side*way.AtVec(k)
		}
		value := l.x.surface.Value(u)
		if math.IsInf(value, 0) {
			return false
		}
		fall += l.Value - value
	}
	return fall < 0
}
