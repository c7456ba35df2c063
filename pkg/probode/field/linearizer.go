package field

import (
	"cmp"
	"math"

	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// A Linearizer computes f and its Jacobian at a point, with FJ or by finite differences of
// F. A Linearizer has a workspace, so each goroutine needs a Linearizer of its own.
type Linearizer struct {
	of   *Field
	diff *differencer // nil if there is FJ
}

// NewLinearizer returns a Linearizer of f.
func NewLinearizer(f *Field) *Linearizer {
	if f.FJ != nil {
		return &Linearizer{of: f}
	}
	return &Linearizer{of: f, diff: newDifferencer(f)}
}

// FJ writes f(t, x; θ) to f, and ∂f/∂x to m. The matrix m must have the shape of the
// matrix that NewJacobian returns. Elements that are not finite are replaced by
// difference quotients.
func (e *Linearizer) FJ(f []float64, m *linalg.Matrix, t float64, x, theta []float64) {
	e.Evaluate(f, m, t, x, theta)
	e.Repair(f, m, t, x, theta)
}

// Evaluate is like FJ, but leaves elements that are not finite. A method that factorises
// cI − J calls Evaluate, and Repair only if the factorisation fails.
func (e *Linearizer) Evaluate(f []float64, m *linalg.Matrix, t float64, x, theta []float64) {
	if e.diff == nil {
		clear(m.A)
		e.of.FJ(f, m.A, t, x, theta)
		return
	}
	e.diff.jacobian(m, t, x, theta, false)
	copy(f, e.diff.f0)
}

// Repair replaces the elements of m that are not finite by difference quotients, and
// reports whether there were any. The arguments are those of the last call of Evaluate.
func (e *Linearizer) Repair(f []float64, m *linalg.Matrix, t float64, x, theta []float64) bool {
	return e.diff == nil && e.of.replaceX(m, f, t, x, theta)
}

// Exact reports whether f and J come from FJ. If so, J has no
// finite-difference error, but f may differ from the result of F by rounding errors.
func (e *Linearizer) Exact() bool { return e.diff == nil }

// A differencer computes Jacobians by finite differences of F without allocating memory.
// If the Jacobian is banded, the differencer increments several components of x at once.
// Each component of F depends on at most one of the incremented components. With this
// method, kl+ku+1 increments are enough for any d (Curtis, Powell & Reid 1974).
type differencer struct {
	of         *Field
	x, f0, f1  []float64
	step       []float64
	low, up, g int     // kl, ku, number of groups
	scale      float64 // factor of the increments: 1 except in checks; negative for the other side
}

func newDifferencer(f *Field) *differencer {
	d := f.Dim
	q := &differencer{of: f, low: f.Lower, up: f.Upper, g: min(d, f.Lower+f.Upper+1), scale: 1,
		x: make([]float64, d), f0: make([]float64, d), f1: make([]float64, d), step: make([]float64, d)}
	return q
}

// jacobian fills m with ∂f/∂x at (t, x, θ) by forward or central differences. The
// increment balances the truncation error and the rounding error. For forward
// differences, the increment of x_j is |x_j| ε^{1/2}; for central differences, the
// increment is |x_j| ε^{1/3}.
func (q *differencer) jacobian(m *linalg.Matrix, t float64, x, theta []float64, central bool) {
	eps := oneSided
	if central {
		eps = Central
	}
	// If a component is zero or very small, its increment depends on the largest
	// component.
	floor := cmp.Or(1e-3*vector.MaxAbs(x), 1)
	floor = max(floor, 0x1p-900) // smaller increments have no accurate digits
	for j := range x {
		h := q.scale * eps * max(math.Abs(x[j]), floor)
		q.step[j] = (x[j] + h) - x[j] // a difference that is exact in floating point
	}
	if !central {
		q.of.F(q.f0, t, x, theta)
	}
	d := len(x)
	for g := range q.g {
		copy(q.x, x)
		for j := g; j < d; j += q.g {
			q.x[j] = x[j] + q.step[j]
		}
		q.of.F(q.f1, t, q.x, theta)
		width := 1.0
		if central {
			for j := g; j < d; j += q.g {
				q.x[j] = x[j] - q.step[j]
			}
			q.of.F(q.f0, t, q.x, theta)
			width = 2
		}
		for j := g; j < d; j += q.g {
			for i := max(0, j-q.up); i <= min(d-1, j+q.low); i++ {
				m.Set(i, j, (q.f1[i]-q.f0[i])/(width*q.step[j]))
			}
		}
	}
}
