package field

import (
	"cmp"
	"math"

	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// A Differentiator computes directional derivatives of f at a point (t, x, θ). FJ supplies
// the derivatives with respect to x, and FTheta supplies those with respect to θ. If FJ or FTheta is nil, finite differences of F take its place. A
// Differentiator has a workspace, so each goroutine needs a Differentiator of its own.
type Differentiator struct {
	of     *Field
	lin    *Linearizer // nil if differences of F include x
	jac    *linalg.Matrix
	ftheta []float64

	t           float64
	x, theta, f []float64 // the point, and f there
	inverse     []float64 // of the size of each component of theta
	x1, theta1  []float64 // a point nearby
	f1, f2, u   []float64
	ft          []float64 // ∂f/∂t; empty if it is not known
	jac1        *linalg.Matrix
}

// NewDifferentiator returns a Differentiator of f. If FJ is nil and
// `jacobian` is true, the Differentiator computes the whole Jacobian at each point by
// finite differences. For an implicit method `jacobian` should be true, because the steps
// of the method need the Jacobian.
func NewDifferentiator(f *Field, jacobian bool) *Differentiator {
	d, n := f.Dim, f.Params
	e := &Differentiator{of: f}
	if f.FJ != nil || jacobian {
		e.lin, e.jac = NewLinearizer(f), f.NewJacobian()
	}
	if f.FTheta != nil {
		e.ftheta = make([]float64, d*n)
	}
	for _, v := range []*[]float64{&e.x, &e.f, &e.x1, &e.f1, &e.f2, &e.u} {
		*v = make([]float64, d)
	}
	e.theta, e.theta1, e.inverse = make([]float64, n), make([]float64, n), make([]float64, n)
	for k := range e.theta {
		e.inverse[k] = 1 // for a parameter that is zero
	}
	return e
}

// At sets the point at which the derivatives are computed. The argument `f` is the value
// f(t, x; θ), or nil if the value is not known.
func (e *Differentiator) At(t float64, x, theta, f []float64) {
	e.t, e.ft = t, e.ft[:0]
	copy(e.x, x)
	for k, v := range theta {
		if v == e.theta[k] {
			continue // true for most points of a path
		}
		e.theta[k], e.inverse[k] = v, 1
		if v != 0 {
			e.inverse[k] = 1 / math.Abs(v)
		}
	}
	switch {
	case e.lin != nil:
		e.lin.FJ(e.f, e.jac, t, x, theta)
	case f != nil:
		copy(e.f, f)
	default:
		e.of.F(e.f, t, x, theta)
	}
	if e.ftheta != nil {
		clear(e.ftheta)
		e.of.FTheta(e.ftheta, t, x, theta)
		e.of.replaceTheta(e.ftheta, t, x, theta)
	}
}

// F returns the value of f at the point that was set by At.
func (e *Differentiator) F() []float64 { return e.f }

// Jacobian returns ∂f/∂x at the point that was set by At, or nil if the Differentiator
// does not compute the Jacobian.
func (e *Differentiator) Jacobian() *linalg.Matrix { return e.jac }

// Along sets dst to the derivative of f at (t, x, θ) in the direction (dt, dx, dtheta).
func (e *Differentiator) Along(dst, dx, dtheta []float64, dt float64) {
	// An increment of ε^{1/2} balances the truncation error and the rounding error. If
	// only θ changes, a larger increment gives a smaller error. The truncation error is
	// small, because f is linear in most parameters. The rounding error can be large,
	// because f is often a small difference of large terms.
	eps := 0x1p-26
	clear(dst)
	if e.jac != nil {
		e.jac.AddMul(dst, 1, dx)
		dx, eps = nil, 0x1p-22
	}
	if e.ftheta != nil {
		n := len(dtheta)
		for j, v := range dtheta {
			if v == 0 {
				continue // true for all but one, if the direction is a parameter
			}
			for i := range dst {
				dst[i] += e.ftheta[i*n+j] * v
			}
		}
		dtheta = nil
	}
	if e.of.Autonomous {
		dt = 0
	}
	if dt != 0 && vector.Zero(dx) && vector.Zero(dtheta) {
		if len(e.ft) == 0 {
			e.ft = append(e.ft, e.f1...)
			e.of.timeSlope(e.ft, e.f1, e.t, e.x, e.theta)
		}
		vector.AddScaled(dst, dt, e.ft)
		return
	}
	eps *= e.reach(dx, dtheta, dt)
	if math.IsInf(eps, 1) {
		return // nothing moves
	}
	if w := e.of.Window; w != nil && vector.Zero(dtheta) {
		// If θ does not change, the event times are fixed, so t must not cross an event.
		if t := e.t + eps*dt; t > w.To || t < w.From {
			eps = -eps
		}
	}
	e.field(e.f1, eps, dx, dtheta, dt)
	per := 1 / eps
	for i := range dst {
		dst[i] += (e.f1[i] - e.f[i]) * per
	}
}

// SecondAlong sets dst to the derivative of Ju in the direction (dt, dx, dtheta). J is
// the Jacobian, and u is a constant vector. SecondAlong uses central differences of FJ,
// or mixed second differences of F.
func (e *Differentiator) SecondAlong(dst, u, dx, dtheta []float64, dt float64) {
	const rootEps = 1.220703125e-4 // ε^{1/4}
	clear(dst)
	if e.of.Autonomous {
		dt = 0
	}
	reach := e.reach(dx, dtheta, dt)
	if math.IsInf(reach, 1) || vector.Zero(u) {
		return
	}
	if e.of.FJ != nil {
		if e.jac1 == nil {
			e.jac1 = e.of.NewJacobian()
		}
		eps := Central * reach
		for _, side := range [2]float64{1, -1} {
			restore := e.move(side*eps, dx, dtheta)
			clear(e.jac1.A)
			e.of.FJ(e.f1, e.jac1.A, e.t+side*eps*dt, e.x1, e.theta1)
			restore.back()
			e.jac1.AddMul(dst, side/(2*eps), u)
		}
		return
	}
	eps, eta := rootEps*reach, rootEps*e.reach(u, nil, 0)
	for _, side := range [2]float64{1, -1} {
		restore := e.move(side*eps, dx, dtheta)
		t := e.t + side*eps*dt
		for k, v := range u {
			e.u[k] = e.x1[k] + eta*v
		}
		e.of.F(e.f1, t, e.u, e.theta1)
		for k, v := range u {
			e.u[k] = e.x1[k] - eta*v
		}
		e.of.F(e.f2, t, e.u, e.theta1)
		restore.back()
		for k := range dst {
			dst[k] += side * (e.f1[k] - e.f2[k]) / (4 * eps * eta)
		}
	}
}

// reach returns the factor by which the changes dt, dx and dtheta must be multiplied so
// that the largest relative change of a component is 1. The factor is +Inf if no
// component changes.
func (e *Differentiator) reach(dx, dtheta []float64, dt float64) float64 {
	var most, floor float64
	if len(dx) > 0 {
		floor = cmp.Or(1e-3*vector.MaxAbs(e.x), 1)
	}
	for k, v := range dx {
		most = max(most, math.Abs(v)/max(math.Abs(e.x[k]), floor))
	}
	for k, v := range dtheta {
		most = max(most, math.Abs(v)*e.inverse[k])
	}
	if dt != 0 {
		most = max(most, math.Abs(dt)/(math.Abs(e.t)+1e-2*e.of.Length))
	}
	return 1 / most
}

// field evaluates f at the current point plus eps times (dt, dx, dtheta), and writes the
// value to dst.
func (e *Differentiator) field(dst []float64, eps float64, dx, dtheta []float64, dt float64) {
	restore := e.move(eps, dx, dtheta)
	x, theta := e.x1, e.theta1
	if dx == nil {
		x = e.x
	}
	if dtheta == nil {
		theta = e.theta
	}
	e.of.F(dst, e.t+eps*dt, x, theta)
	restore.back()
}

// move sets x1 and theta1. F is called only inside a segment. If an end of the segment
// depends on θ, move shifts the end to its time at theta1. As a result, an if statement
// in F that compares t with the event time takes the same branch for theta and theta1.
func (e *Differentiator) move(eps float64, dx, dtheta []float64) moved {
	copy(e.theta1, e.theta)
	for k, v := range dtheta {
		e.theta1[k] += eps * v
	}
	if copy(e.x1, e.x); dx != nil {
		vector.AddScaled(e.x1, eps, dx)
	}
	w := e.of.Window
	if w == nil {
		return moved{}
	}
	was := moved{w, w.Interval}
	w.move(e.theta1)
	return was
}

// moved holds the interval as it was before move changed it.
type moved struct {
	window *Window // nil if there is none
	was    Interval
}

func (m moved) back() {
	if m.window != nil {
		m.window.Interval = m.was
	}
}
