package shape

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// laplaceStep is the step along principal axes in standard deviations. On a ridge
// curvatures differ by powers of ten, and a direction that combines axes has the error of
// the largest: O(laplaceStep²) times the deviation from a Gaussian, and rounding, about
// 1e-14 |f|/laplaceStep². Differences of d gradients are better than those of d (d + 1)
// values: fewer, and with rounding divided by laplaceStep only.
const laplaceStep = 0.01

// A direction has no curvature if its standard deviation on the unconstrained scale
// exceeds `flat`.
const flat = 10

// Laplace returns the covariance `cov` of the Gaussian approximation at the mode p.X. Let
// H be the matrix of second derivatives of −log density at the mode. If H is positive
// definite, `cov` is the inverse of H; otherwise `cov` is nil. If H is positive definite,
// the result `shape` is equal to `cov`. Otherwise `shape` is a covariance matrix that is
// computed from corrected curvatures. Curvatures of the wrong sign are replaced by their
// absolute values. Along an axis without curvature, the standard deviation is set to the
// constant `flat`. Both `cov` and `shape` are nil if the density is not finite around the
// mode.
//
// values evaluates the log density at many points at once, and returns −∞ for points
// where the density cannot be computed. gradients returns the gradients of the log
// density at many points, or NaN at points without a gradient. If `gradients` is nil,
// Laplace uses only values. Laplace ends with the first error that one of the two
// functions returns. If the density has kinks, it has no second derivatives, and the
// Fisher information replaces them. The sum of many functions with kinks is nearly
// quadratic over a distance of one standard deviation, and its curvature is equal to the
// Fisher information.
func (p *Point) Laplace(values func([][]float64) ([]float64, error), gradients func([][]float64) ([][]float64, error)) (cov, shape *mat.SymDense, err error) {
	if p.U != nil {
		return laplace(func(points [][]float64) ([]float64, error) {
			out := make([]float64, len(points))
			for i, u := range points {
				r := Distance(u, p.X, p.Information)
				out[i] = r * r / 2
			}
			return out, nil
		}, nil, p.X, p.Information)
	}
	return laplace(func(points [][]float64) ([]float64, error) {
		out, err := values(points)
		for k, f := range out {
			if out[k] = -f; math.IsInf(f, 0) {
				out[k] = 1e300 // outside the support
			}
		}
		return out, err
	}, gradients, p.X, p.Information)
}

// laplace is for f = −log density; slopes, if not nil, returns gradients of the log
// density. The columns of w are first the principal axes of `metric` (nil: unit vectors),
// and then in each iteration those of the Hessian, until second derivatives along them
// are about ±1.
func laplace(f func([][]float64) ([]float64, error), slopes func([][]float64) ([][]float64, error), u []float64, metric *mat.SymDense) (cov, shape *mat.SymDense, err error) {
	d := len(u)
	at, err := f([][]float64{u})
	if err != nil {
		return nil, nil, err
	}
	f0 := at[0]
	w := mat.NewDense(d, d, nil)
	// bends returns the second derivative of f along each of the given directions. A
	// direction is a column of w or a sum of columns, and is specified by the indices of
	// these columns.
	bends := func(sums ...[]int) ([]float64, error) {
		var points [][]float64
		for _, axes := range sums {
			for _, sign := range [2]float64{1, -1} {
				x := slices.Clone(u)
				for _, k := range axes {
					for i := range x {
						x[i] += sign * laplaceStep * w.At(i, k)
					}
				}
				points = append(points, x)
			}
		}
		values, err := f(points)
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			if !(math.Abs(v) < 1e200) {
				values[i] = math.NaN() // outside the support
			}
		}
		out := make([]float64, len(sums))
		for i := range out {
			out[i] = (values[2*i] - f0 + (values[2*i+1] - f0)) / (laplaceStep * laplaceStep)
		}
		return out, nil
	}
	// An axis has the right length if the second derivative of f along this axis is between
	// ½ and 2 in absolute value. fits reports whether an axis has the right length, and
	// returns a factor that corrects the length. The factor is bounded, because a parabola
	// is a poor approximation along an axis that is far too long or too short.
	fits := func(v float64) (ok bool, by float64) {
		v = math.Abs(v)
		return v > 0.5 && v < 2, 1 / math.Sqrt(min(max(v, 0.01), 1e4))
	}

	known := metric != nil && axesOf(w, metric)
	for k := range d {
		if known {
			break
		}
		w.Set(k, k, 1)
		for range 20 {
			v, err := bends([]int{k})
			if err != nil {
				return nil, nil, err
			}
			ok, by := fits(v[0])
			if math.IsNaN(v[0]) {
				by = 0.1
			}
			if ok || by > 1 && w.At(k, k) == flat {
				break
			}
			w.Set(k, k, min(by*w.At(k, k), flat))
		}
	}
	var axes *mat.Dense // the axes along which the Hessian is diagonal
	var values []float64
	for range 20 {
		hess, err := turns(slopes, u, w)
		if err == nil && (hess == nil || slices.ContainsFunc(hess.RawSymmetric().Data, math.IsNaN)) {
			hess, err = pairs(d, bends)
		}
		if err != nil {
			return nil, nil, err
		}
		var eigen mat.EigenSym
		if slices.ContainsFunc(hess.RawSymmetric().Data, math.IsNaN) || !eigen.Factorize(hess, true) {
			break
		}
		var q mat.Dense
		eigen.VectorsTo(&q)
		axes, values = mat.NewDense(d, d, nil), eigen.Values(nil)
		axes.Mul(w, &q)
		done := true
		for k, v := range values {
			column := axes.ColView(k)
			ok, by := fits(v)
			if length := mat.Norm(column, 2); by*length > flat {
				by = flat / length
				ok = by < 1.5
			}
			done = done && ok
			for i := range d {
				w.Set(i, k, by*column.AtVec(i))
			}
		}
		if done {
			break
		}
	}
	if axes == nil {
		return nil, nil, nil
	}
	shape = mat.NewSymDense(d, nil)
	proper := true
	for k, v := range values {
		column := axes.ColView(k)
		variance := 1 / math.Abs(v)
		if most := flat / mat.Norm(column, 2); !(v > 0 && variance < most*most) {
			proper = false
			variance = min(variance, most*most)
		}
		shape.SymRankOne(shape, variance, column)
	}
	var chol mat.Cholesky
	if !chol.Factorize(shape) {
		return nil, nil, nil // the density is too narrow for floating-point numbers
	}
	if proper {
		return shape, shape, nil
	}
	return nil, shape, nil
}

func pairs(d int, bends func(sums ...[]int) ([]float64, error)) (*mat.SymDense, error) {
	hess := mat.NewSymDense(d, nil)
	var sums [][]int
	for i := range d {
		sums = append(sums, []int{i})
		for j := range i {
			sums = append(sums, []int{i, j})
		}
	}
	values, err := bends(sums...)
	for n, v := range values {
		if axes := sums[n]; len(axes) == 1 {
			hess.SetSym(axes[0], axes[0], v)
		} else {
			hess.SetSym(axes[0], axes[1], v)
		}
	}
	for i := range d {
		for j := range i {
			hess.SetSym(i, j, (hess.At(i, j)-hess.At(i, i)-hess.At(j, j))/2)
		}
	}
	return hess, err
}

// turns computes the Hessian in the columns of w by differences of gradients, or returns
// nil without them.
func turns(slopes func([][]float64) ([][]float64, error), u []float64, w *mat.Dense) (*mat.SymDense, error) {
	if slopes == nil {
		return nil, nil
	}
	d := len(u)
	var points [][]float64
	for k := range d {
		for _, sign := range [2]float64{1, -1} {
			x := slices.Clone(u)
			for i := range x {
				x[i] += sign * laplaceStep * w.At(i, k)
			}
			points = append(points, x)
		}
	}
	all, err := slopes(points)
	if err != nil {
		return nil, err
	}
	change, product := mat.NewDense(d, d, nil), mat.NewDense(d, d, nil)
	for k := range d {
		for i := range d {
			change.Set(i, k, (all[2*k+1][i]-all[2*k][i])/(2*laplaceStep))
		}
	}
	product.Mul(w.T(), change)
	hess := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			hess.SetSym(i, j, (product.At(i, j)+product.At(j, i))/2)
		}
	}
	return hess, nil
}

// axesOf takes the principal axes of the inverse of `metric`, if that is positive
// definite.
func axesOf(w *mat.Dense, metric *mat.SymDense) bool {
	var eigen mat.EigenSym
	if !eigen.Factorize(metric, true) {
		return false
	}
	var q mat.Dense
	eigen.VectorsTo(&q)
	for k, v := range eigen.Values(nil) {
		if !(v > 0) {
			return false
		}
		length := min(1/math.Sqrt(v), flat)
		for i := range q.RawMatrix().Rows {
			w.Set(i, k, length*q.At(i, k))
		}
	}
	return true
}
