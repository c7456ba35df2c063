package probode

import (
	"cmp"
	"math"

	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// An Adjoint holds the gradient of a function of a path with respect to everything that a
// step depends on. Next holds the gradient with respect to the state at the end of the
// step. Stepper.Reverse reads `Next`, and adds the contributions of the step to the
// gradients in the other fields.
type Adjoint struct {
	Next []float64 // with respect to the state at the end of the step

	X, Theta  []float64 // with respect to the state at the beginning and to θ
	Xi, Scale []float64 // with respect to the normal variates and their scales; nil if there are none

	// Time is the derivative of the function with respect to Step.T, and Length is the
	// derivative with respect to the length of the step. Time and Length are used only if
	// Moves is true.
	Time, Length float64

	// Moves is true if event times, and therefore the grid, depend on θ.
	Moves bool

	// For methods that need earlier states, Times and Path hold the times and, row by row,
	// the states of the segment. Before is the number of steps of the segment before the
	// step: the step begins at Times[Before].
	Times, Path []float64
	Before      int

	field *fieldAdjoint
}

// NewAdjoint returns an Adjoint for steps of the problem p. The slices of the new Adjoint
// are nil. If a method solves an auxiliary problem, pass the auxiliary problem to
// NewAdjoint.
func NewAdjoint(p *Problem) *Adjoint { return &Adjoint{field: newFieldAdjoint(p)} }

// Noise updates the gradients Xi and Scale for a step that adds the noise `scale` × ξ to
// the next state.
func (a *Adjoint) Noise(xi, scale []float64) {
	for k, v := range xi {
		a.Xi[k] += scale[k] * a.Next[k]
		a.Scale[k] += v * a.Next[k]
	}
}

// Field differentiates the scalar λᵀf(t, x; θ), where t = Step.T + c h. The gradient with
// respect to x is added to dx, unless dx is nil. The other derivatives of λᵀf are added
// to Theta, Time and Length.
//
// Field calls Problem.Pullback. If Pullback is nil or returns NaN, Field uses FJ and
// FTheta instead. If FTheta is nil, the gradient with respect to p parameters requires 2p
// evaluations of F. If FJ is nil, the gradient with respect to x requires 2d evaluations
// of F, or fewer if the Jacobian is banded.
func (a *Adjoint) Field(dx, lambda []float64, t, c float64, x, theta []float64) {
	e := a.field
	if f := e.p.Pullback; f != nil {
		to := dx
		if to == nil {
			to = e.unused
		}
		if dt := f(to, a.Theta, lambda, t, x, theta); dt == dt {
			a.Time += dt
			a.Length += c * dt
			return
		}
		e.matrices()
	}
	if dx != nil {
		e.jacobian(t, x, theta)
		e.jac.AddMulTransposed(dx, lambda)
	}
	e.parameters(a.Theta, lambda, t, x, theta)
	if a.Moves {
		dt := e.slope(lambda, t, x, theta)
		a.Time += dt
		a.Length += c * dt
	}
}

// SecondField is like Field, but computes the gradients of the scalar λᵀf + μᵀJu. The
// vectors λ, μ and u are constant, and f and J are evaluated at (t, x; θ). SecondField
// computes the derivative along u by a central difference, and takes twice as long as
// Field. The relative error is about 10⁻¹⁰ if the problem has a Pullback, or has both FJ
// and FTheta. Otherwise, the relative error is about 10⁻⁸.
func (a *Adjoint) SecondField(dx, lambda, mu, u []float64, t, c float64, x, theta []float64) {
	const rootEps = 1.220703125e-4 // ε^{1/4}
	e := a.field
	floor := cmp.Or(1e-3*vector.MaxAbs(x), 1)
	var most float64
	for k, v := range u {
		most = max(most, math.Abs(v)/max(math.Abs(x[k]), floor))
	}
	if most == 0 || zero(mu) {
		a.Field(dx, lambda, t, c, x, theta)
		return
	}
	if e.p.Pullback == nil && (e.p.FJ == nil || e.p.FTheta == nil) {
		e.increment = rootEps
	}
	eps, moves := e.increment/most, a.Moves
	if moves && e.p.Pullback == nil {
		if !e.p.Autonomous {
			dt := e.secondSlope(mu, u, rootEps/most, t, x, theta) + e.slope(lambda, t, x, theta)
			a.Time += dt
			a.Length += c * dt
		}
		a.Moves = false
	}
	for _, side := range [2]float64{eps, -eps} {
		for k, v := range u {
			e.beside[k] = x[k] + side*v
			e.scaled[k] = mu[k]/(2*side) + lambda[k]/2
		}
		a.Field(dx, e.scaled, t, c, e.beside, theta)
	}
	e.increment, a.Moves = cbrtEps, moves
}

// secondSlope returns the derivative of μᵀJ(t, x; θ)u with respect to t. If FJ is nil,
// secondSlope approximates Ju by a central difference with the increment `eps`.
func (e *fieldAdjoint) secondSlope(mu, u []float64, eps, t float64, x, theta []float64) (sum float64) {
	e.p.timeDifference(e.increment, t, func(c, t float64) {
		if e.p.FJ != nil {
			e.jacobian(t, x, theta)
			clear(e.ft)
			e.jac.AddMul(e.ft, c, u)
			sum += vector.Dot(mu, e.ft)
			return
		}
		for _, side := range [2]float64{eps, -eps} {
			for k, v := range u {
				e.beside[k] = x[k] + side*v
			}
			sum += c / (2 * side) * e.value(mu, t, e.beside, theta)
		}
	})
	return sum
}

// A fieldAdjoint computes gradients of f.
type fieldAdjoint struct {
	p         *Problem
	jac       *linalg.Matrix
	diff      *differencer // nil if the problem has FJ
	ftheta    []float64
	increment float64 // of central differences

	f, f1, ft      []float64
	unused         []float64
	theta1         []float64
	beside, scaled []float64 // of SecondField
}

func newFieldAdjoint(p *Problem) *fieldAdjoint {
	d, n := p.Dim(), len(p.Theta)
	e := &fieldAdjoint{p: p, increment: cbrtEps, theta1: make([]float64, n)}
	for _, v := range []*[]float64{&e.f, &e.f1, &e.ft, &e.unused, &e.beside, &e.scaled} {
		*v = make([]float64, d)
	}
	if p.Pullback == nil {
		e.matrices()
	}
	return e
}

// matrices allocates the memory for gradients that are computed without Pullback.
func (e *fieldAdjoint) matrices() {
	p := e.p
	if e.jac != nil {
		return
	}
	e.jac = p.NewJacobian()
	if p.FJ == nil {
		e.diff = newDifferencer(p)
	}
	if p.FTheta != nil {
		e.ftheta = make([]float64, p.Dim()*len(p.Theta))
	}
}

// jacobian sets jac.
func (e *fieldAdjoint) jacobian(t float64, x, theta []float64) {
	if e.diff != nil {
		e.diff.scale = e.increment / cbrtEps
		e.diff.jacobian(e.jac, t, x, theta, true)
		return
	}
	clear(e.jac.A)
	e.p.FJ(e.f, e.jac.A, t, x, theta)
	e.p.replaceX(e.jac, e.f, t, x, theta)
}

// parameters adds the gradient of λᵀf with respect to θ to dtheta.
func (e *fieldAdjoint) parameters(dtheta, lambda []float64, t float64, x, theta []float64) {
	if n := len(dtheta); e.ftheta != nil {
		clear(e.ftheta)
		e.p.FTheta(e.ftheta, t, x, theta)
		e.p.replaceTheta(e.ftheta, t, x, theta)
		for i, v := range lambda {
			if v != 0 {
				vector.AddScaled(dtheta, v, e.ftheta[i*n:(i+1)*n])
			}
		}
		return
	}
	slope, known := 0., false // λᵀ∂f/∂t
	copy(e.theta1, theta)
	for k, v := range theta {
		size := cmp.Or(math.Abs(v), 1)
		up, down := v+e.increment*size, v-e.increment*size
		e.theta1[k] = up
		right, after := e.at(lambda, t, x)
		e.theta1[k] = down
		left, before := e.at(lambda, t, x)
		e.theta1[k] = v
		dtheta[k] += (right - left) / (up - down)
		if after != before && !e.p.Autonomous {
			if !known {
				slope, known = e.slope(lambda, t, x, theta), true
			}
			dtheta[k] -= slope * (after - before) / (up - down)
		}
	}
}

// at evaluates λᵀf for the parameters theta1. The second result is the time at which f
// was evaluated. If an end of the segment depends on θ, f is evaluated at a shifted time.
// The shift preserves the relative position of the time in the segment. The time t and
// the shifted time are on the same side of every event, so F takes the same branch at
// both times.
func (e *fieldAdjoint) at(lambda []float64, t float64, x []float64) (v, at float64) {
	w := e.p.window
	if w == nil {
		return e.value(lambda, t, x, e.theta1), t
	}
	was := *w.now
	w.move(e.theta1)
	if was.from != w.now.from || was.to != w.now.to {
		switch a, b := was.from, was.to; {
		case math.IsInf(a, -1):
			t += w.now.to - b
		case math.IsInf(b, 1):
			t += w.now.from - a
		case b > a:
			t = w.now.from + (t-a)/(b-a)*(w.now.to-w.now.from)
		}
	}
	v = e.value(lambda, t, x, e.theta1)
	*w.now = was
	return v, t
}

// value returns λᵀf.
func (e *fieldAdjoint) value(lambda []float64, t float64, x, theta []float64) float64 {
	e.p.F(e.f1, t, x, theta)
	return vector.Dot(lambda, e.f1)
}

// slope returns λᵀ∂f/∂t.
func (e *fieldAdjoint) slope(lambda []float64, t float64, x, theta []float64) float64 {
	if e.p.Autonomous {
		return 0
	}
	e.p.timeSlope(e.ft, e.f1, t, x, theta)
	return vector.Dot(lambda, e.ft)
}
