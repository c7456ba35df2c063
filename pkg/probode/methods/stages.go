package methods

import (
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// factors holds the LU factors of the matrix (λ/h) I − J of each mode, for one Jacobian
// J: see the type `collocation`.
type factors struct {
	real []*linalg.LU // nil for a mode with a complex eigenvalue
	pair []*linalg.ComplexLU
}

func newFactors(table *collocation, jac *linalg.Matrix) (f factors) {
	f.real, f.pair = make([]*linalg.LU, len(table.modes)), make([]*linalg.ComplexLU, len(table.modes))
	for k, m := range table.modes {
		if m.im == 0 {
			f.real[k] = linalg.NewLU(jac)
		} else {
			f.pair[k] = linalg.NewComplexLU(jac)
		}
	}
	return f
}

// factorize factorises the matrices for a step of length h, and reports whether all of
// them are nonsingular.
func (f *factors) factorize(table *collocation, h float64, jac *linalg.Matrix) bool {
	for k, m := range table.modes {
		if m.im == 0 && !f.real[k].Factorize(m.re/h, jac) {
			return false
		}
		if m.im != 0 && !f.pair[k].Factorize(m.re/h, m.im/h, jac) {
			return false
		}
	}
	return true
}

// implicit is the stepper of a collocation method. The equations of the stages, h Σⱼ aᵢⱼ
// fⱼ − zᵢ = 0, are solved by simplified Newton iteration, with one Jacobian for all
// stages. With a single Jacobian, the linear system splits into one real or complex
// system of size d for each eigenvalue of A⁻¹ [HW96, §IV.8].
//
// The iteration of each step begins at z = 0 with the Jacobian at the beginning of the
// step, and ends when the remaining error is below rounding error. Therefore a path is a
// smooth function of (θ, ξ), and does not depend on earlier solves. Steps that need to be
// no more accurate than the tolerance begin and end otherwise: see approach.
type implicit struct {
	p     *probode.Problem
	table *collocation
	d     int

	eval  *field.Linearizer
	f0    []float64      // f(t, x)
	jac   *linalg.Matrix // the Jacobian that was factorised
	moved bool           // jac was evaluated elsewhere than at the beginning of the step
	factors

	t, h    float64 // of the current step
	z, f    []float64
	r       []float64 // residual
	u, v, y []float64 // updates, trial
	w, iw   []float64 // real and imaginary part of the right-hand side for a mode
	at      []float64 // x + z of a stage
	eq      equations

	kept    keptJacobian
	initial []float64 // the value of z at which approach starts

	full    *fullNewton // for steps in which one Jacobian for all stages fails
	crosses bool        // steps may cross a jump of f: see cross
	tangent *tangent    // for the derivative of a step
	reverse *reverseStages
}

func newImplicit(p *probode.Problem, table *collocation) (*implicit, error) {
	d, n := p.Dim(), table.stages
	s := &implicit{p: p, table: table, d: d}
	if err := p.Field().CheckDense(2 + 2*len(table.modes)); err != nil {
		return nil, err
	}
	s.eval, s.jac = field.NewLinearizer(p.Field()), p.Field().NewJacobian()
	s.factors = newFactors(table, s.jac)
	for _, v := range []*[]float64{&s.f0, &s.w, &s.iw, &s.at} {
		*v = make([]float64, d)
	}
	for _, v := range []*[]float64{&s.z, &s.f, &s.r, &s.u, &s.v, &s.y, &s.initial} {
		*v = make([]float64, n*d)
	}
	return s, nil
}

// stage returns the d elements of v that belong to stage j.
func (s *implicit) stage(v []float64, j int) []float64 { return v[j*s.d : (j+1)*s.d] }

// prepare computes f and J at the beginning of a step, and factorises the matrices.
func (s *implicit) prepare(t, h float64, x, theta []float64) bool {
	s.t, s.h, s.moved = t, h, false
	return s.center(t, x, theta) == nil
}

func (s *implicit) factorize() bool { return s.factors.factorize(s.table, s.h, s.jac) }

// solve sets dst to (I − hA⊗J)⁻¹ r.
func (s *implicit) solve(dst, r []float64) { s.solveBy(&s.factors, dst, r, false) }

// solveBy sets dst to (I − hA⊗J)⁻¹ r, using the factors f for the Jacobian J. If the
// argument `transposed` is true, A is replaced by Aᵀ.
func (s *implicit) solveBy(f *factors, dst, r []float64, transposed bool) {
	if s.table.stages == 1 { // the only mode is the stage itself
		lambda := s.table.modes[0].re / s.h
		for q, v := range r {
			dst[q] = lambda * v
		}
		f.real[0].Solve(dst)
		return
	}
	clear(dst)
	for k, m := range s.table.modes {
		left, right := m.left, m.right
		if transposed {
			left, right = right, left
		}
		clear(s.w)
		if m.im == 0 {
			w := s.w
			for j, l := range left {
				re := real(l) * (m.re / s.h)
				for q, v := range s.stage(r, j)[:len(w)] {
					w[q] += re * v
				}
			}
			f.real[k].Solve(w)
			for j, v := range right {
				re := real(v)
				to := s.stage(dst, j)[:len(w)]
				for q, v := range w {
					to[q] += re * v
				}
			}
			continue
		}
		clear(s.iw)
		w, iw := s.w, s.iw[:len(s.w)]
		lambda := complex(m.re/s.h, m.im/s.h)
		for j, l := range left {
			l *= lambda
			re, im := real(l), imag(l)
			for q, v := range s.stage(r, j)[:len(w)] {
				w[q] += re * v
				iw[q] += im * v
			}
		}
		f.pair[k].Solve(w, iw)
		for j, v := range right {
			re, im := 2*real(v), 2*imag(v) // with its conjugate
			to := s.stage(dst, j)[:len(w)]
			for q, v := range w {
				to[q] += re*v - im*iw[q]
			}
		}
	}
}

// A system is a set of equations that iterate() can solve: the equations of the stages,
// or the equations for their derivatives.
type system interface {
	// residual writes the residual of z into r.
	residual(s *implicit, r, z []float64)
	// jacobian stores the Jacobian at the last stage of the step in s.jac.
	jacobian(s *implicit, z []float64)
	// base returns the vector relative to which the size of z is measured.
	base() []float64
}

// equations represents the stage equations of a step from x.
type equations struct {
	x, theta []float64
	known    bool // z is 0, and f is the same at all stages
}

func (e *equations) base() []float64 { return e.x }

func (e *equations) residual(s *implicit, r, z []float64) {
	for j, c := range s.table.c {
		if e.known {
			copy(s.stage(s.f, j), s.f0)
		} else {
			s.p.F(s.stage(s.f, j), s.t+c*s.h, s.state(e.x, z, j), e.theta)
		}
	}
	e.known = false
	s.collect(r, s.f, z)
}

func (e *equations) jacobian(s *implicit, z []float64) {
	last := s.table.stages - 1
	s.eval.FJ(s.w, s.jac, s.t+s.table.c[last]*s.h, s.state(e.x, z, last), e.theta)
}

// state returns the state x + z at stage j.
func (s *implicit) state(x, z []float64, j int) []float64 {
	for k, v := range s.stage(z, j) {
		s.at[k] = x[k] + v
	}
	return s.at
}

// collect sets r to h Σⱼ aᵢⱼ fⱼ − zᵢ.
func (s *implicit) collect(r, f, z []float64) {
	for i, row := range s.table.a {
		to := s.stage(r, i)
		for k, v := range s.stage(z, i) {
			to[k] = -v
		}
		for j, a := range row {
			vector.AddScaled(to, a*s.h, s.stage(f, j))
		}
	}
}

// norms returns two norms of the update u. The first norm is the largest ratio of a
// component of |u| to the size of the corresponding component of the state. The second
// norm is the largest component of |u|, divided by the size of the largest component of
// the state.
func (s *implicit) norms(u, z, x []float64) (each, all float64) {
	top := 0x1p-940 // below this, rounding errors of numbers ten digits smaller underflow
	// max would be much slower than these comparisons, because max() handles NaN and −0 as
	// special cases.
	zLast, uLast := z[len(z)-len(x):], u[len(z)-len(x):]
	for k, v := range x {
		if a := math.Abs(v); a > top {
			top = a
		}
		if a := math.Abs(v + zLast[k] + uLast[k]); a > top {
			top = a
		}
	}
	floor, largest := 1e-10*top, 0.
	for j := range s.table.stages {
		from := s.stage(z, j)[:len(x)]
		for k, v := range s.stage(u, j)[:len(x)] {
			if v == 0 {
				continue
			}
			unit := floor
			if a := math.Abs(x[k]); a > unit {
				unit = a
			}
			if a := math.Abs(x[k] + from[k] + v); !(a <= unit) {
				unit = a
			}
			if v = math.Abs(v); v-v != 0 || unit != unit {
				return math.NaN(), math.NaN()
			}
			r := v / unit
			if r > each {
				each = r
			}
			if unit < top {
				if v > largest {
					largest = v
				}
			} else if r > all {
				all = r
			}
		}
	}
	if r := largest / top; r > all {
		all = r
	}
	return each, all
}

// A tangent holds the equations for the derivatives of the stages,
//
//	dzᵢ = Σⱼ aᵢⱼ (h (gⱼ + Jⱼ dzⱼ) + dh fⱼ),
//
// where gⱼ is the part of the derivative of fⱼ that comes from x, θ and t. The equations
// are linear. An iteration solves them with the matrix factors from the stage equations,
// unless a direct solution is faster: see direct.
type tangent struct {
	at   []*field.Differentiator // at the stages
	g, f []float64               // s×d
	z    []float64
	x    []float64 // the derivative of the state
	h    float64   // the derivative of the step length
}

func (e *tangent) base() []float64 { return e.x }

func (e *tangent) residual(s *implicit, r, z []float64) {
	for j, at := range e.at {
		f := s.stage(e.f, j)
		copy(f, s.stage(e.g, j))
		vector.AddScaled(f, e.h/s.h, at.F())
		at.Jacobian().AddMul(f, 1, s.stage(z, j))
	}
	s.collect(r, e.f, z)
}

func (e *tangent) jacobian(s *implicit, _ []float64) {
	copy(s.jac.A, e.at[len(e.at)-1].Jacobian().A)
}
