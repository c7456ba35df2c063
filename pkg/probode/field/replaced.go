package field

import (
	"cmp"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// A derivative of f can be infinite at a point, as that of x^½ is at x = 0, and the
// formula of a derivative can be undefined there. Often the point is the initial state,
// which the solution leaves at once. Such derivatives are replaced by difference quotients
// over a short distance. Newton's method converges with them. They do not matter to the
// derivative of a path if neither the state nor θ moves in their direction. A Solver finds
// out whether they matter by changing the distance.

// A Replacement tells whether derivatives of f were replaced.
type Replacement struct {
	T     float64 // where; NaN if none was replaced
	Short bool    // use a shorter distance
}

// distance returns the distance for difference quotients that replace a
// derivative at time t, relative to the size of the variable.
func (f *Field) distance(t float64) float64 {
	h := Central
	if r := f.Replaced; r != nil {
		if r.T = t; r.Short {
			h /= 16
		}
	}
	return h
}

// replaceX replaces the elements of the Jacobian m that are not finite, unless f is not
// finite either. It reports whether there were any.
func (f *Field) replaceX(m *linalg.Matrix, value []float64, t float64, x, theta []float64) bool {
	if vector.Finite(m.A) || !vector.Finite(value) {
		return false
	}
	quotients, diff, distance := f.NewJacobian(), newDifferencer(f), f.distance(t)
	for _, side := range [2]float64{1, -1} { // f may be undefined on one side
		diff.scale = side * distance / oneSided
		diff.jacobian(quotients, t, x, theta, false)
		for i, v := range m.A {
			if v-v != 0 {
				m.A[i] = quotients.A[i]
			}
		}
	}
	return true
}

// replaceTheta does the same for ∂f/∂θ in row-major order.
func (f *Field) replaceTheta(slopes []float64, t float64, x, theta []float64) {
	n := len(theta)
	if vector.Finite(slopes) {
		return
	}
	distance, at := f.distance(t), slices.Clone(theta)
	here, beside := make([]float64, len(x)), make([]float64, len(x))
	f.F(here, t, x, theta)
	for j, v := range theta {
		for _, side := range [2]float64{1, -1} {
			at[j] = v + side*distance*cmp.Or(math.Abs(v), 1)
			f.F(beside, t, x, at)
			for i := range here {
				if w := &slopes[i*n+j]; *w-*w != 0 {
					*w = (beside[i] - here[i]) / (at[j] - v)
				}
			}
		}
		at[j] = v
	}
}
