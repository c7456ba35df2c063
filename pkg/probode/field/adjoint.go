package field

import (
	"cmp"
	"math"

	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// An Adjoint holds the gradient of a function of a path with respect to θ and to the times
// of a step. A step that begins at time T and has the length h evaluates f at the times
// t = T + c h. An Adjoint has a workspace, so each goroutine needs an Adjoint of its own.
type Adjoint struct {
	Theta []float64 // with respect to θ

	// Time is the derivative of the function with respect to T, and Length is the derivative
	// with respect to h. Time and Length are used only if Moves is true.
	Time, Length float64

	// Moves is true if event times, and therefore the grid, depend on θ.
	Moves bool

	of        *Field
	jac       *linalg.Matrix
	diff      *differencer // nil if there is FJ
	ftheta    []float64
	increment float64 // of central differences

	f, f1, ft      []float64
	theta1         []float64
	beside, scaled []float64 // of SecondField
}

// NewAdjoint returns an Adjoint of f.
func NewAdjoint(f *Field) *Adjoint {
	a := &Adjoint{of: f, increment: Central, theta1: make([]float64, f.Params)}
	for _, v := range []*[]float64{&a.f, &a.f1, &a.ft, &a.beside, &a.scaled} {
		*v = make([]float64, f.Dim)
	}
	if f.Pullback == nil {
		a.matrices()
	}
	return a
}

// Field differentiates the scalar λᵀf(t, x; θ), where t = T + c h. The gradient with
// respect to x is added to dx, unless dx is nil. The other derivatives of λᵀf are added
// to Theta, Time and Length.
//
// Field calls Pullback. If Pullback is nil or returns NaN, Field uses FJ and FTheta
// instead. If FTheta is nil, the gradient with respect to p parameters requires 2p
// evaluations of F. If FJ is nil, the gradient with respect to x requires 2d evaluations
// of F, or fewer if the Jacobian is banded.
func (a *Adjoint) Field(dx, lambda []float64, t, c float64, x, theta []float64) {
	if f := a.of.Pullback; f != nil {
		to := dx
		if to == nil {
			to = a.ft // nobody reads it
		}
		if dt := f(to, a.Theta, lambda, t, x, theta); dt == dt {
			a.Time += dt
			a.Length += c * dt
			return
		}
		a.matrices()
	}
	if dx != nil {
		a.jacobian(t, x, theta)
		a.jac.AddMulTransposed(dx, lambda)
	}
	a.parameters(a.Theta, lambda, t, x, theta)
	if a.Moves {
		dt := a.slope(lambda, t, x, theta)
		a.Time += dt
		a.Length += c * dt
	}
}

// SecondField is like Field, but computes the gradients of the scalar λᵀf + μᵀJu. The
// vectors λ, μ and u are constant, and f and J are evaluated at (t, x; θ). SecondField
// computes the derivative along u by a central difference, and takes twice as long as
// Field. The relative error is about 10⁻¹⁰ if there is Pullback, or both FJ and FTheta.
// Otherwise, the relative error is about 10⁻⁸.
func (a *Adjoint) SecondField(dx, lambda, mu, u []float64, t, c float64, x, theta []float64) {
	const rootEps = 1.220703125e-4 // ε^{1/4}
	floor := cmp.Or(1e-3*vector.MaxAbs(x), 1)
	var most float64
	for k, v := range u {
		most = max(most, math.Abs(v)/max(math.Abs(x[k]), floor))
	}
	if most == 0 || vector.Zero(mu) {
		a.Field(dx, lambda, t, c, x, theta)
		return
	}
	if a.of.Pullback == nil && (a.of.FJ == nil || a.of.FTheta == nil) {
		a.increment = rootEps
	}
	eps, moves := a.increment/most, a.Moves
	if moves && a.of.Pullback == nil {
		if !a.of.Autonomous {
			dt := a.secondSlope(mu, u, rootEps/most, t, x, theta) + a.slope(lambda, t, x, theta)
			a.Time += dt
			a.Length += c * dt
		}
		a.Moves = false
	}
	for _, side := range [2]float64{eps, -eps} {
		for k, v := range u {
			a.beside[k] = x[k] + side*v
			a.scaled[k] = mu[k]/(2*side) + lambda[k]/2
		}
		a.Field(dx, a.scaled, t, c, a.beside, theta)
	}
	a.increment, a.Moves = Central, moves
}

// secondSlope returns the derivative of μᵀJ(t, x; θ)u with respect to t. If FJ is nil,
// secondSlope approximates Ju by a central difference with the increment `eps`.
func (a *Adjoint) secondSlope(mu, u []float64, eps, t float64, x, theta []float64) (sum float64) {
	a.of.timeDifference(a.increment, t, func(c, t float64) {
		if a.of.FJ != nil {
			a.jacobian(t, x, theta)
			clear(a.ft)
			a.jac.AddMul(a.ft, c, u)
			sum += vector.Dot(mu, a.ft)
			return
		}
		for _, side := range [2]float64{eps, -eps} {
			for k, v := range u {
				a.beside[k] = x[k] + side*v
			}
			sum += c / (2 * side) * a.value(mu, t, a.beside, theta)
		}
	})
	return sum
}

// matrices allocates the memory for gradients that are computed without Pullback.
func (a *Adjoint) matrices() {
	f := a.of
	if a.jac != nil {
		return
	}
	a.jac = f.NewJacobian()
	if f.FJ == nil {
		a.diff = newDifferencer(f)
	}
	if f.FTheta != nil {
		a.ftheta = make([]float64, f.Dim*f.Params)
	}
}

// jacobian sets jac.
func (a *Adjoint) jacobian(t float64, x, theta []float64) {
	if a.diff != nil {
		a.diff.scale = a.increment / Central
		a.diff.jacobian(a.jac, t, x, theta, true)
		return
	}
	clear(a.jac.A)
	a.of.FJ(a.f, a.jac.A, t, x, theta)
	a.of.replaceX(a.jac, a.f, t, x, theta)
}

// parameters adds the gradient of λᵀf with respect to θ to dtheta.
func (a *Adjoint) parameters(dtheta, lambda []float64, t float64, x, theta []float64) {
	if n := len(dtheta); a.ftheta != nil {
		clear(a.ftheta)
		a.of.FTheta(a.ftheta, t, x, theta)
		a.of.replaceTheta(a.ftheta, t, x, theta)
		for i, v := range lambda {
			if v != 0 {
				vector.AddScaled(dtheta, v, a.ftheta[i*n:(i+1)*n])
			}
		}
		return
	}
	slope, known := 0., false // λᵀ∂f/∂t
	copy(a.theta1, theta)
	for k, v := range theta {
		size := cmp.Or(math.Abs(v), 1)
		up, down := v+a.increment*size, v-a.increment*size
		a.theta1[k] = up
		right, after := a.at(lambda, t, x)
		a.theta1[k] = down
		left, before := a.at(lambda, t, x)
		a.theta1[k] = v
		dtheta[k] += (right - left) / (up - down)
		if after != before && !a.of.Autonomous {
			if !known {
				slope, known = a.slope(lambda, t, x, theta), true
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
func (a *Adjoint) at(lambda []float64, t float64, x []float64) (v, at float64) {
	w := a.of.Window
	if w == nil {
		return a.value(lambda, t, x, a.theta1), t
	}
	was := w.Interval
	w.move(a.theta1)
	if was.From != w.From || was.To != w.To {
		switch a, b := was.From, was.To; {
		case math.IsInf(a, -1):
			t += w.To - b
		case math.IsInf(b, 1):
			t += w.From - a
		case b > a:
			t = w.From + (t-a)/(b-a)*(w.To-w.From)
		}
	}
	v = a.value(lambda, t, x, a.theta1)
	w.Interval = was
	return v, t
}

// value returns λᵀf.
func (a *Adjoint) value(lambda []float64, t float64, x, theta []float64) float64 {
	a.of.F(a.f1, t, x, theta)
	return vector.Dot(lambda, a.f1)
}

// slope returns λᵀ∂f/∂t.
func (a *Adjoint) slope(lambda []float64, t float64, x, theta []float64) float64 {
	if a.of.Autonomous {
		return 0
	}
	a.of.timeSlope(a.ft, a.f1, t, x, theta)
	return vector.Dot(lambda, a.ft)
}
