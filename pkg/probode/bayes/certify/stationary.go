package certify

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
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
func expandNear(x *expecter, by *bayes.Density, u []float64) (l *linearised, near bool, err error) {
	// Where a solution ends nearby, as at the edge of a blow-up, narrow differences
	// may still do.
	widths := []float64(nil)
	for h := 1e-6; ; h /= 100 {
		if l, err = linearise(x, by, u, widths); err == nil || h < 1e-8 || x.ctx.Err() != nil {
			break
		}
		widths = slices.Repeat([]float64{h}, len(u))
	}
	if err != nil {
		return nil, false, err
	}
	if l.saddle {
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
		if better, err := l.betterInside(x, by, k); err != nil || better {
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
	near, err = l.top(x, by, known, precision)
	return l, near, err
}

// betterInside tells whether the log likelihood is larger by more than three where
// coordinate k alone is in the bulk of its scale; of one coordinate, one draw in seventy
// is as far below its mode.
func (l *linearised) betterInside(x *expecter, by *bayes.Density, k int) (bool, error) {
	u, theta := slices.Clone(l.X), make([]float64, len(l.X))
	by.Constrain(theta, u)
	_, here, err := x.at(theta)
	if err != nil {
		return false, err
	}
	for _, at := range []float64{-4, -2, -1, 0, 1, 2, 4} {
		u[k] = at
		by.Constrain(theta, u)
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
func (l *linearised) top(x *expecter, by *bayes.Density, known []int, precision *mat.SymDense) (bool, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(precision, true) {
		return false, nil
	}
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	u, theta := make([]float64, len(l.X)), make([]float64, len(l.X))
	fall := func(axis int, step float64) (float64, error) {
		copy(u, l.X)
		for j, k := range known {
			u[k] += step * axes.At(j, axis)
		}
		lp := by.Constrain(theta, u)
		_, ll, err := x.at(theta)
		if x.ctx.Err() != nil {
			return 0, x.ctx.Err()
		}
		if err != nil || math.IsNaN(lp+ll) {
			return math.Inf(1), nil
		}
		return l.Value - lp - ll, nil
	}
	for i, value := range eigen.Values(nil) {
		falls := false
		// A draw may be two standard deviations from its mode, and the log density of
		// Laplace errors is straight up to there.
		for _, width := range []float64{1, 2} {
			up, err := fall(i, width/math.Sqrt(value))
			if err != nil {
				return false, err
			}
			down, err := fall(i, -width/math.Sqrt(value))
			if err != nil {
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
