package shape

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// The second derivatives at a mode are taken by differences whose steps are laplaceStep
// standard deviations of the posterior itself, along its own axes. On a ridge the
// curvatures differ by many powers of ten, and no other steps do: the error of a difference
// is relative to the largest curvature that its points feel, and must be small against the
// smallest. The error is O(laplaceStep²) times what makes the density other than Gaussian,
// and the rounding of the log density over laplaceStep², about 1e-14·|f|/1e-4.
const laplaceStep = 0.01

// flat is the standard deviation beyond which a direction counts as one without curvature,
// on the unconstrained scale.
const flat = 10

// Laplace returns the covariance of the Gaussian approximation at the mode p.X: the inverse
// of the second derivatives of −log density there, nil if they are not positive definite.
// shape is that covariance, or the nearest proper one: its axes have a length of at most
// flat where there is no curvature, and the same length where the curvature has the wrong
// sign. Both are nil if the density is not finite around the mode.
//
// values evaluates the log density at many points at once, −∞ where there is none. Where the
// density has kinks it has no second derivatives, and Fisher's information takes their
// place: over a standard deviation many kinks together are the curvature that it expects.
func (p *Point) Laplace(values func([][]float64) ([]float64, error)) (cov, shape *mat.SymDense, err error) {
	if p.U != nil {
		cov, shape = laplace(func(points [][]float64) []float64 {
			out := make([]float64, len(points))
			for i, u := range points {
				r := Distance(u, p.X, p.Information)
				out[i] = r * r / 2
			}
			return out
		}, p.X, p.Information)
		return cov, shape, nil
	}
	cov, shape = laplace(func(points [][]float64) []float64 {
		out, failed := values(points)
		if failed != nil {
			err = failed
		}
		for k, f := range out {
			if out[k] = -f; math.IsInf(f, 0) {
				out[k] = 1e300 // a wall
			}
		}
		return out
	}, p.X, p.Information)
	return cov, shape, err
}

// laplace is Laplace with f = −log density.
//
// The axes, the columns of w, are not known beforehand. They begin as those of the metric,
// a first guess at the second derivatives, or else as multiples of the unit vectors, and are
// replaced by the principal axes of what is found, until in their coordinates f is ½|z|².
func laplace(f func([][]float64) []float64, u []float64, metric *mat.SymDense) (cov, shape *mat.SymDense) {
	d := len(u)
	f0 := f([][]float64{u})[0]
	w := mat.NewDense(d, d, nil)
	// bends returns the second derivatives along sums of axes.
	bends := func(sums ...[]int) []float64 {
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
		values := f(points)
		for i, v := range values {
			if !(math.Abs(v) < 1e200) {
				values[i] = math.NaN() // over an edge
			}
		}
		out := make([]float64, len(sums))
		for i := range out {
			out[i] = (values[2*i] - f0 + (values[2*i+1] - f0)) / (laplaceStep * laplaceStep)
		}
		return out
	}
	// fits tells that an axis with this second derivative has the right length,
	// and by how much it should be longer. Far off the right length a parabola
	// says little, so that it is approached in bounded strides.
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
			v := bends([]int{k})[0]
			ok, by := fits(v)
			if math.IsNaN(v) {
				by = 0.1
			}
			if ok || by > 1 && w.At(k, k) == flat {
				break
			}
			w.Set(k, k, min(by*w.At(k, k), flat))
		}
	}
	var axes *mat.Dense // along which the Hessian is diagonal, with these values
	var values []float64
	for range 20 {
		hess := mat.NewSymDense(d, nil)
		var sums [][]int
		for i := range d {
			sums = append(sums, []int{i})
			for j := range i {
				sums = append(sums, []int{i, j})
			}
		}
		for n, v := range bends(sums...) {
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
		return nil, nil
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
		return nil, nil // too thin for the arithmetic
	}
	if proper {
		return shape, shape
	}
	return nil, shape
}

// axesOf sets the columns of w to the axes of the covariance with the inverse
// metric, and reports whether it has a proper one.
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
