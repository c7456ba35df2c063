package reference

import (
	"math"

	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// The elements of implicitSubsteps are odd multiples of 2, so that the result for an
// infinitely stiff component has the same sign in every row. The numbers of substeps
// increase faster than those of the explicit rule, to keep the weights of the
// extrapolation small (Bader & Deuflhard 1983).
var implicitSubsteps = []int{2, 6, 10, 14, 22, 34, 50, 74}

// newImplicit returns the implicit rule, or nil if its matrices do not fit in memory.
func (e *integration) newImplicit(run int) *rule {
	d := e.p.Dim()
	if e.p.Field().CheckDense(4) != nil {
		return nil
	}
	r := newRule(implicit, implicitSubsteps, run)
	e.implicitWork(r.work, r.n)
	r.fj = field.NewLinearizer(e.p.Field())
	r.jac = e.p.Field().NewJacobian()
	r.lu = linalg.NewLU(r.jac)
	r.delta = make([]float64, d)
	if !e.p.Autonomous {
		r.ft = make([]float64, d)
	}
	return r
}

// implicitWork sets work[j] to the cost of a step that computes the rows 0, …, j of the
// extrapolation scheme. Row j consists of n[j] substeps. The cost includes evaluations of
// f, evaluations of the Jacobian, and the solution of linear systems. A call of f is
// assumed to cost ten operations for each component.
func (e *integration) implicitWork(work []float64, n []int) {
	d := float64(e.p.Dim())
	lower, upper := d-1, d-1
	factors := d * d / 15
	if b := e.p.Band; b != nil {
		lower, upper = float64(b.Lower), float64(b.Upper)
		factors = lower * (lower + upper + 1) / 10
	}
	solution := (2*lower + upper + 1) / 10
	sum := 2.0
	if e.p.FJ == nil {
		sum += min(lower+upper+1, d)
	}
	for j, n := range n {
		sum += max(1, factors) + float64(n)*(1+solution)
		work[j] = sum
	}
}

// solve computes the increment of x over a step H, and writes it to dst. The step
// consists of n substeps, in which the following rule is applied:
//
//	y_{i+1} − y_{i−1} = 2h f(tᵢ, yᵢ) + hJ (y_{i+1} − 2yᵢ + y_{i−1})
//
// Here J is ∂f/∂x at the beginning of the step. Like the midpoint rule, this rule is
// symmetric in time, so its error has an expansion in even powers of h. With c = 1/h, the
// increments Δᵢ = y_{i+1} − yᵢ are computed from
//
//	Δ₀ = (cI − J)⁻¹ (f(t₀, y₀) + h ∂f/∂t)
//	Δᵢ = Δ_{i−1} + 2 (cI − J)⁻¹ (f(tᵢ, yᵢ) − cΔ_{i−1})
//
// The result is the mean of y_{n−1} and y_{n+1}. In very stiff components, the rule gives
// y_{i+1} ≈ −y_{i−1}, so the mean damps these components. The term ∂f/∂t arises because t
// is treated as one more component of the state. An approximation of ∂f/∂t is sufficient.
// solve reports whether cI − J has an inverse.
func (r *rule) solve(e *integration, dst []float64, H float64, n int) bool {
	h := H / float64(n)
	c := 1 / h
	if !r.lu.Factorize(c, r.jac) {
		return false
	}
	delta := r.delta
	copy(delta, e.f0)
	for k, v := range r.ft {
		delta[k] += h * v
	}
	r.lu.Solve(delta)
	copy(dst, delta)
	for i := 1; ; i++ {
		e.eval(e.f, dst, float64(i)*h)
		for k := range e.f {
			e.f[k] -= c * delta[k]
		}
		r.lu.Solve(e.f)
		if i == n {
			break
		}
		for k, v := range e.f {
			delta[k] += 2 * v
			dst[k] += delta[k]
		}
	}
	for k, v := range e.f {
		dst[k] += v
	}
	return true
}

// plausible reports whether the result of a step H agrees with f in the middle of the
// step. If f is not smooth, rows may agree on a wrong result by chance. To detect wrong
// results, the method interpolates between the beginning and the end of the step. The
// interpolant is the cubic Hermite polynomial for the states and slopes at both ends of
// the step. In the middle of the step, the slope of the polynomial is compared with f.
// The matrix (I/H − J)⁻¹ is applied to the difference between the two slopes, to damp
// stiff components. The cubic is not accurate, so a difference of up to half of the
// largest slope is accepted. At an equilibrium all slopes consist of rounding errors, so
// their differences are as large as the slopes themselves. Therefore a difference is also
// accepted if its effect on the state is no larger than a few rounding errors.
func (r *rule) plausible(e *integration, H float64) bool {
	if !r.lu.Factorize(1/H, r.jac) {
		return false
	}
	dx, mid, slope := e.tab[0], r.delta, e.prev
	e.eval(e.endF, dx, H)
	for k, f0 := range e.f0 {
		mid[k] = dx[k]/2 + H/8*(f0-e.endF[k])
		slope[k] = 1.5*dx[k]/H - (f0+e.endF[k])/4
	}
	e.eval(e.f, mid, H/2)
	if !vector.Finite(e.f) || !vector.Finite(e.endF) {
		return false
	}
	for k, f := range e.f {
		slope[k] -= f
	}
	r.lu.Solve(slope)
	for k, off := range slope {
		largest := max(math.Abs(dx[k]), H*math.Abs(e.f0[k]), H*math.Abs(e.endF[k]), H*math.Abs(e.f[k]))
		if math.Abs(off) > max(0.5*largest, 4*epsilon*math.Abs(e.x[k])) && !e.leaves(k, H, shortest) {
			return false
		}
	}
	return true
}
