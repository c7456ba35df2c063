package methods

import (
	"math"

	"github.com/probode/probode/pkg/probode"
)

// The type factors holds the LU factors of the matrix (λ/h) I − J of each mode, for one
// Jacobian J: see collocation.
type factors struct {
	real []*probode.LU // nil for a mode with a complex eigenvalue
	pair []*probode.ComplexLU
}

func newFactors(table *collocation, jac *probode.Matrix) (f factors) {
	f.real, f.pair = make([]*probode.LU, len(table.modes)), make([]*probode.ComplexLU, len(table.modes))
	for k, m := range table.modes {
		if m.im == 0 {
			f.real[k] = probode.NewLU(jac)
		} else {
			f.pair[k] = probode.NewComplexLU(jac)
		}
	}
	return f
}

// The method factorize() factorises the matrices for a step of length h, and reports
// whether all of them are nonsingular.
func (f *factors) factorize(table *collocation, h float64, jac *probode.Matrix) bool {
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

// The type implicit is the stepper of a collocation method. The equations of the
// stages, h Σⱼ aᵢⱼ fⱼ − zᵢ = 0, are solved by simplified Newton iteration: with one
// Jacobian for all stages, the linear systems split into one real or complex system of
// size d for each eigenvalue of A⁻¹ [HW96, §IV.8].
//
// The iteration of each step begins at z = 0 with the Jacobian at the beginning of the
// step, and ends when the remaining error is below rounding error. Therefore a path is a
// smooth function of (θ, ξ), and does not depend on earlier solves.
type implicit struct {
	p     *probode.Problem
	g     *probode.Grid
	table *collocation
	d     int

	eval  *probode.Linearizer
	f0    []float64       // f(t, x)
	jac   *probode.Matrix // the Jacobian that was factorised
	moved bool            // jac was evaluated elsewhere than at the beginning of the step
	factors

	t, h    float64 // of the current step
	z, f    []float64
	r       []float64 // residual
	u, v, y []float64 // updates, trial
	w, iw   []float64 // real and imaginary part of the right-hand side for a mode
	at      []float64 // x + z of a stage
	eq      equations

	full    *fullNewton // for steps in which one Jacobian for all stages fails
	crosses bool        // steps may cross a jump of f: see cross
	tangent *tangent    // for the derivative of a step
	reverse *reverseStages
}

func newImplicit(p *probode.Problem, g *probode.Grid, table *collocation) (*implicit, error) {
	d, n := p.Dim(), table.stages
	s := &implicit{p: p, g: g, table: table, d: d}
	if err := p.CheckDense(2 + 2*len(table.modes)); err != nil {
		return nil, err
	}
	s.eval, s.jac = probode.NewLinearizer(p), p.NewJacobian()
	s.factors = newFactors(table, s.jac)
	for _, v := range []*[]float64{&s.f0, &s.w, &s.iw, &s.at} {
		*v = make([]float64, d)
	}
	for _, v := range []*[]float64{&s.z, &s.f, &s.r, &s.u, &s.v, &s.y} {
		*v = make([]float64, n*d)
	}
	return s, nil
}

// The method stage() returns the d elements of v that belong to stage j.
func (s *implicit) stage(v []float64, j int) []float64 { return v[j*s.d : (j+1)*s.d] }

func (s *implicit) Start(int, []float64, []float64) error { return nil }

func (s *implicit) Step(dst []float64, i int, x, theta, xi, scale []float64) error {
	if err := s.make(dst, s.g.Times()[i], s.g.H(i), x, theta); err != nil {
		return err
	}
	for k, v := range xi {
		dst[k] += scale[k] * v
	}
	return nil
}

// The method make() takes a step of length h from the state x at time t, without noise.
func (s *implicit) make(dst []float64, t, h float64, x, theta []float64) error {
	s.linearize(t, h, x, theta)
	if !s.factorize() {
		return probode.ErrSingular
	}
	clear(s.z)
	s.eq = equations{x, theta, s.p.Autonomous}
	if err := s.iterate(s.z, &s.eq); err != nil {
		if s.full == nil {
			s.full = newFullNewton(s)
		}
		if s.full != nil {
			clear(s.z)
			err = s.full.iterate(s, s.z)
		}
		if err != nil && s.crosses {
			err = s.cross(t, h, x, theta)
		}
		if err != nil {
			return err
		}
	}
	copy(dst, x)
	for j, d := range s.table.d {
		if d == 0 {
			continue
		}
		for k, z := range s.stage(s.z, j) {
			dst[k] += d * z
		}
	}
	return nil
}

// The method linearize() computes f and J at the beginning of a step.
func (s *implicit) linearize(t, h float64, x, theta []float64) {
	s.t, s.h = t, h
	s.eval.FJ(s.f0, s.jac, s.t, x, theta)
	s.moved = false
}

func (s *implicit) factorize() bool { return s.factors.factorize(s.table, s.h, s.jac) }

// The method solve() sets dst to (I − hA⊗J)⁻¹ r.
func (s *implicit) solve(dst, r []float64) { s.solveBy(&s.factors, dst, r, false) }

// solveBy sets dst to (I − hA⊗J)⁻¹ r, using the factors f for the Jacobian J. If the
// argument transposed is true, A is replaced by Aᵀ.
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
	// The method residual() writes the residual of z into r.
	residual(s *implicit, r, z []float64)
	// The method jacobian() recomputes the Jacobian that s holds, at a point nearer to the
	// solution.
	jacobian(s *implicit, z []float64)
	// The method base() returns the vector with which the size of z is compared.
	base() []float64
}

// The type equations represents the stage equations of a step from x.
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
			s.evaluate(s.stage(s.f, j), c, e.x, s.stage(z, j), e.theta)
		}
	}
	e.known = false
	s.collect(r, s.f, z)
}

func (e *equations) jacobian(s *implicit, z []float64) {
	last := s.table.stages - 1
	for k, v := range s.stage(z, last) {
		s.at[k] = e.x[k] + v
	}
	s.eval.FJ(s.w, s.jac, s.t+s.table.c[last]*s.h, s.at, e.theta)
}

// The method evaluate() writes the value of f at a stage to dst.
func (s *implicit) evaluate(dst []float64, c float64, x, z, theta []float64) {
	for k, v := range z {
		s.at[k] = x[k] + v
	}
	s.p.F(dst, s.t+c*s.h, s.at, theta)
}

// The method collect() sets r to h Σⱼ aᵢⱼ fⱼ − zᵢ.
func (s *implicit) collect(r, f, z []float64) {
	for i, row := range s.table.a {
		to := s.stage(r, i)
		for k, v := range s.stage(z, i) {
			to[k] = -v
		}
		for j, a := range row {
			a *= s.h
			for k, v := range s.stage(f, j) {
				to[k] += a * v
			}
		}
	}
}

// The method iterate() solves the system, starting from z.
//
// An update is halved until the next update, computed with the same factors, is smaller
// [Deuflhard 2004, §3.3]. If the updates decrease slowly, the Jacobian is computed again.
// The iteration ends when the remaining error, estimated as the update times the rate at
// which the updates decrease, is below rounding error, or when the updates no longer
// decrease because they are rounding errors themselves.
func (s *implicit) iterate(z []float64, sys system) error {
	const (
		most  = 100   // iterations
		done  = 1e-16 // remaining error, relative to each component
		noise = 1e-12 // updates that may be rounding errors, relative to the largest component
		slow  = 0.25  // rate of convergence above which a new Jacobian is computed
	)
	sys.residual(s, s.r, z)
	s.solve(s.u, s.r)
	size, largest := s.norms(s.u, z, sys.base())
	if size == 0 {
		return nil
	}
	lambda, fresh := 1., false
	for range most {
		if size-size != 0 {
			return probode.ErrNewton
		}
		var next, top float64
		for lambda = min(1, 4*lambda); ; lambda /= 2 {
			for k, v := range s.u {
				s.y[k] = z[k] + lambda*v
			}
			sys.residual(s, s.r, s.y)
			s.solve(s.v, s.r)
			if next, top = s.norms(s.v, s.y, sys.base()); next <= (1-lambda/4)*size {
				break
			}
			if largest <= noise { // u is a rounding error, or f jumps within this small distance
				s.settle(z, sys, nil)
				return nil
			}
			if lambda < 1e-4 {
				return probode.ErrNewton
			}
		}
		copy(z, s.y)
		rate := next / size
		if lambda == 1 && (next*rate <= done*(1-rate) || next <= done || rate > 0.5 && top <= noise) {
			for k, v := range s.v {
				z[k] += v
			}
			return nil
		}
		size, largest = next, top
		s.u, s.v = s.v, s.u
		if (rate > slow || lambda < 1) && !(fresh && lambda == 1 && rate < 0.5) {
			sys.jacobian(s, z)
			s.moved, fresh = true, true
			if !s.factorize() {
				return probode.ErrSingular
			}
			s.solve(s.u, s.r)
			size, largest = s.norms(s.u, z, sys.base())
		}
	}
	return probode.ErrNewton
}

// undamped makes at most the given number of undamped updates of z, and reports whether
// they converge. Updates of at most the size noise, relative to the largest component, also
// count as converged if they no longer shrink. The updates use the factors of full, or
// those of s if full is nil.
func (s *implicit) undamped(z []float64, most int, noise float64, full *fullNewton) bool {
	const done = 1e-16 // as in iterate
	before := 0.       // size of the previous update
	for range most {
		s.eq.residual(s, s.r, z)
		if full != nil {
			full.solve(s, s.v, s.r)
		} else {
			s.solve(s.v, s.r)
		}
		size, largest := s.norms(s.v, z, s.eq.x)
		for k, v := range s.v {
			z[k] += v
		}
		switch rate := size / before; {
		case size-size != 0:
			return false
		case size <= done, rate < 1 && size*rate <= done*(1-rate), rate > 0.5 && largest <= noise:
			return true
		}
		before = size
	}
	return false
}

// settle makes a few undamped updates of z, of which s.u is the first, and keeps them only
// if they converge. Newton's method calls it before it takes an update for a rounding
// error: if f jumps so close by that a correct update is as small as a rounding error, z
// must move, because time does. Rounding errors do not converge.
func (s *implicit) settle(z []float64, sys system, full *fullNewton) {
	if sys != system(&s.eq) {
		return // the equations for derivatives are linear
	}
	for k, v := range s.u {
		s.y[k] = z[k] + v
	}
	if s.undamped(s.y, 6, 0, full) {
		copy(z, s.y)
	}
}

// cross solves the equations of the stages of a step from x, beginning at z = 0, and
// accepts updates that grow. If f jumps where a component passes a value, the equations
// have a solution beyond the jump, but the update grows when a stage passes it, so no
// damped iteration gets there. The error of such a step is as large as h times the jump.
// Only a method whose error estimate shows this may take it. Step doubling does not: if f
// jumps in the middle of a step, the step and its two halves make the same error.
func (s *implicit) cross(t, h float64, x, theta []float64) error {
	s.linearize(t, h, x, theta)
	if !s.factorize() {
		return probode.ErrSingular
	}
	clear(s.z)
	if !s.undamped(s.z, 20, 1e-12, nil) {
		return probode.ErrNewton
	}
	return nil
}

// The method norms() returns the largest element of the update u in two units. The first
// result, named each, is relative to the size of the same component; the second, named
// all, is relative to the size of the largest component.
func (s *implicit) norms(u, z, x []float64) (each, all float64) {
	top := 0x1p-940 // below this, rounding errors of numbers ten digits smaller underflow
	// Comparisons are much faster than the function max(), which treats NaN and −0
	// separately.
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
