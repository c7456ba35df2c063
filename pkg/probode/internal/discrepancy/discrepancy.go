// Package discrepancy computes the noise of implicit methods with a random discrepancy in
// the equation for the next state [T18, equations 9 to 11]. Let v be the scaled normal
// variates of a step, and let J be the Jacobian at the beginning of the step. The noise
// of the next state is
//
//	u = Γ⁻¹Jv,   Γ = inv × I − J,
//
// where `inv` is (h β₋₁)⁻¹ for an Adams method and (γh)⁻¹ for a backward differentiation
// formula.
package discrepancy

import (
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// A Noise computes u and its derivatives for the steps of one Stepper. The Noise and the
// Stepper share J, the value of f at the same point, and the factors of Γ.
type Noise struct {
	U  []float64 // u
	Mu []float64 // Γ⁻ᵀλ: see Transposed

	eval *field.Linearizer
	f    []float64
	jac  *linalg.Matrix // J
	lu   *linalg.LU     // of Γ

	v, w, x []float64 // v or v + u, and workspace
	none    []float64 // zeros

	transpose *linalg.Matrix // Jᵀ
	back      *linalg.LU     // of Γᵀ; nil before the first gradient
}

// New returns the Noise of a Stepper. The Stepper uses the Linearizer `eval`, and stores
// the value of f, J and the factors of Γ in the other arguments.
func New(eval *field.Linearizer, f []float64, jac *linalg.Matrix, lu *linalg.LU) *Noise {
	n := &Noise{eval: eval, f: f, jac: jac, lu: lu}
	for _, v := range []*[]float64{&n.U, &n.Mu, &n.v, &n.w, &n.x, &n.none} {
		*v = make([]float64, jac.D)
	}
	return n
}

// Add adds Jv to dst.
func (n *Noise) Add(dst, xi, scale []float64) {
	for k, v := range xi {
		n.v[k] = scale[k] * v
	}
	n.jac.AddMul(dst, 1, n.v)
}

// Set computes u. The factors of Γ must have been computed from the current J.
func (n *Noise) Set(xi, scale []float64) {
	clear(n.U)
	n.Add(n.U, xi, scale)
	n.lu.Solve(n.U)
}

// Differentiate computes u from the Jacobian J at (t, x, θ), where x is the state at the
// beginning of the step s, and adds the derivatives du to dnext:
//
//	Γ du = dJ (u + v) + J dv − dinv u
func (n *Noise) Differentiate(dnext []float64, diff *field.Differentiator, inv, t float64, s *probode.Step, tg *probode.Tangents) error {
	diff.At(t, s.X, s.Theta, nil)
	copy(n.jac.A, diff.Jacobian().A)
	if !n.lu.Factorize(inv, n.jac) {
		return probode.ErrSingular
	}
	n.Set(s.Xi, s.Scale)
	vector.AddScaled(n.v, 1, n.U)
	for m := range tg.M {
		dtheta, dx, dt, dh := tg.Direction(m)
		diff.SecondAlong(n.w, n.v, dx, dtheta, dt+dh)
		vector.AddScaled(n.w, inv*dh/s.H, n.U)
		clear(n.x)
		tg.AddNoise(n.x, m, s.Xi)
		n.jac.AddMul(n.w, 1, n.x)
		n.lu.Solve(n.w)
		vector.AddScaled(dnext[m*n.jac.D:(m+1)*n.jac.D], 1, n.w)
	}
	return nil
}

// Transposed evaluates f and J at (t, x, θ), and sets Mu to Γ⁻ᵀλ.
func (n *Noise) Transposed(inv, t float64, x, theta, lambda []float64) error {
	n.eval.FJ(n.f, n.jac, t, x, theta)
	n.transpose = n.jac.Transpose(n.transpose)
	if n.back == nil {
		n.back = linalg.NewLU(n.transpose)
	}
	if !n.back.Factorize(inv, n.transpose) {
		return probode.ErrSingular
	}
	copy(n.Mu, lambda)
	n.back.Solve(n.Mu)
	return nil
}

// Reverse computes u and Γ⁻ᵀλ, where λ is the gradient with respect to the next state, and
// propagates gradients back through the noise of the step s, whose Jacobian is evaluated
// at (t, s.X, s.Theta). The gradient with respect to the step length does not include the
// part that comes from `inv`: the caller must add this part.
func (n *Noise) Reverse(a *probode.Adjoint, inv, t float64, s *probode.Step) error {
	if err := n.Transposed(inv, t, s.X, s.Theta, a.Next); err != nil {
		return err
	}
	if !n.lu.Factorize(inv, n.jac) {
		return probode.ErrSingular
	}
	n.Set(s.Xi, s.Scale)
	vector.AddScaled(n.v, 1, n.U)
	a.SecondField(a.X, n.none, n.Mu, n.v, t, 1, s.X, s.Theta)
	n.ReverseNormals(a, s.Xi, s.Scale)
	return nil
}

// ReverseNormals adds the gradients of μᵀJv with respect to the normal variates and their
// scales.
func (n *Noise) ReverseNormals(a *probode.Adjoint, xi, scale []float64) {
	clear(n.x)
	n.transpose.AddMul(n.x, 1, n.Mu)
	for k, v := range n.x {
		a.Xi[k] += scale[k] * v
		a.Scale[k] += xi[k] * v
	}
}
