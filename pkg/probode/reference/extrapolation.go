package reference

import (
	"cmp"
	"math"

	"github.com/probode/probode/pkg/probode/internal/rounding"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// row computes row j of the extrapolation scheme for a step H. The results tab[0] and
// tab[1] are T_{j,j} and T_{j,j−1}. The method reports whether T_{j,j} is finite.
func (e *integration) row(j int, H float64) bool {
	n := e.rule.n
	if e.rule.family == implicit {
		if !e.rule.solve(e, e.tab[j], H, n[j]) {
			return false
		}
	} else {
		e.midpoint(e.tab[j], e.smooth[j], H, n[j])
		extrapolate(e.smooth, n, j)
	}
	extrapolate(e.tab, n, j)
	return vector.Finite(e.tab[0])
}

// extrapolate replaces row j − 1 of the extrapolation scheme by row j, whose first
// element T_{j,1} is tab[j].
func extrapolate(tab [][]float64, n []int, j int) {
	for m := j - 1; m >= 0; m-- {
		r := float64(n[j]) / float64(n[m])
		w := 1 / (r*r - 1)
		a, b := tab[m], tab[m+1]
		for k, v := range b {
			a[k] = v + (v-a[k])*w
		}
	}
}

// distance divides the estimated error of each component in a step H by the permitted
// error, and returns the largest of these ratios. The permitted error is the tolerance
// times the argument `part`. For the implicit rule, the estimated error is T_{j,j} −
// T_{j,j−1}. For the explicit rule, the estimated error is the maximum of T_{j,j} −
// T_{j,j−1} and the difference between the results with and without smoothing. If f is
// smooth, smoothing changes the result by far less than T_{j,j} − T_{j,j−1}. If f is not
// smooth, for example f = −sign(x), all rows may give the same wrong result, but the
// comparison with the smoothed result reveals the error.
func (e *integration) distance(j int, H, part float64) float64 {
	var largest float64
	for k, dx := range e.tab[0] {
		largest = max(largest, e.peak[k], math.Abs(e.x[k]+dx))
	}
	// The derivative of a component that begins at zero may be a sum of terms that
	// cancel. An example is the second velocity of a double pendulum released from rest.
	// Near the start, where the component is tiny, its rounding errors exceed the
	// permitted error. Small errors that do not decrease from row to row are taken to be
	// rounding errors, and are ignored, unless the component is tiny throughout.
	ignored := 0.0
	if e.rule.family == explicit && e.set.Absolute == nil && j > 1 {
		ignored = 16 * epsilon * H * vector.MaxAbs(e.f0)
	}
	var dist float64
	measured := false // the rounding errors of f
	for k, dx := range e.tab[0] {
		err := math.Abs(dx - e.tab[1][k])
		if e.rule.family == explicit {
			err = max(err, math.Abs(dx-e.smooth[0][k]))
		}
		stays := err > e.before[k]/4
		e.before[k] = err
		if e.scale[k] == 0 && stays && err < ignored && math.Abs(e.x[k]) < 1e-6*largest {
			continue
		}
		if err == 0 { // even in a component that has been zero so far
			continue
		}
		size := e.size(k, max(math.Abs(e.x[k]), math.Abs(e.x[k]+dx)), largest)
		unit := part * max(e.set.permitted(k, size), 1e-15*size)
		// A component that has been zero may become nonzero because of an input. Rounding
		// makes the time of the input uncertain, and therefore also the value of the
		// component shortly after the input.
		if e.leaves(k, H, shortest) {
			unit = max(unit, math.Abs(dx)+math.Abs(e.tab[1][k])+math.Abs(e.smooth[0][k]))
		} else if since := e.t - e.left[k] + H; since > 0 {
			unit = max(unit, shortest*ulp(e.t)/since*size)
		}
		if e.scale[k] > 0 && err > unit {
			if !measured {
				measured = true
				rounding.Errors(e.noise, e.prev, e.at, e.f, e.x, func(dst, x []float64) { e.p.F(dst, e.t, x, e.theta) })
			}
			unit += 16 * H * e.noise[k]
		}
		// The permitted error includes the rounding error of the increment, which even
		// the shortest step cannot avoid.
		dist = max(dist, err/(unit+0x1p-50*math.Abs(dx)+math.SmallestNonzeroFloat64))
	}
	return dist
}

// size returns the divisor that converts an absolute error of component k to a relative
// error. The argument x is the absolute value of the component, and usually the divisor.
// Without an absolute tolerance, the divisor is positive unless all states are zero. The
// argument `largest` is the maximum of the absolute values of the components. It stands
// for the size of component k if the field scale does not contain this size.
func (e *integration) size(k int, x, largest float64) float64 {
	if e.set.Absolute == nil {
		x = max(x, 1e-6*e.peak[k], e.set.Relative*cmp.Or(e.scale[k], largest))
	}
	return x
}

// learn is called at the end of an integration. It reports whether a component was so
// small that its errors were compared with other components. In this case the
// integration must be repeated, and learn stores the sizes of such components.
func (e *integration) learn() (again bool) {
	if e.set.Absolute != nil {
		return false
	}
	largest := vector.MaxAbs(e.peak)
	for k, v := range e.peak {
		if v > 0 && v < e.set.Relative*cmp.Or(e.scale[k], largest) {
			e.scale[k], again = v, true
		}
	}
	return again
}

// advance takes a step of length H with the increment tab[0].
func (e *integration) advance(H float64) {
	for k, dx := range e.tab[0] {
		if dx != 0 && e.leaves(k, H, 1<<20) {
			e.left[k] = e.t
		}
		e.x[k], e.low[k] = twoSum(e.x[k], e.low[k]+dx)
		e.peak[k] = max(e.peak[k], math.Abs(e.x[k]))
	}
	e.t, e.tLow = twoSum(e.t, e.tLow+H)
	e.steps++
	if e.rule.family == implicit {
		e.implicitOnes++
	}
	e.fresh = false
}
