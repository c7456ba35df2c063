package probode

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// This file computes the gradient of a function of a path. With many parameters, it is
// too expensive to differentiate the path with respect to each parameter and each normal
// variate ξ. The adjoint method computes the whole gradient in a single backward pass
// through the steps. Let Z_{i+1} = Φᵢ(Zᵢ, θ, ξᵢ), and let wᵢ be the gradient of the
// function with respect to Zᵢ, with all later states held fixed. Then the gradient λᵢ
// with respect to Zᵢ, including the effect of Zᵢ on all later states, is
//
//	λ_N = w_N,   λᵢ = wᵢ + (∂Φᵢ/∂Z)ᵀ λ_{i+1},
//
// and the gradient with respect to θ is Σ (∂Φᵢ/∂θ)ᵀ λ_{i+1} + (∂x₀/∂θ)ᵀ λ₀. The gradient
// with respect to the normal variates of step i is (∂Φᵢ/∂ξ)ᵀ λ_{i+1} [HNW93, §II.6;
// Griewank & Walther 2008, §3]. The adjoint method gives the exact gradient of the
// numerical solution.

// An Adjoint holds the gradient of a function of a path with respect to everything that a
// step depends on. Next holds the gradient with respect to the state at the end of the
// step. Stepper.Reverse reads `Next`, and adds the contributions of the step to the
// gradients in the other fields. The gradient with respect to θ and the times, and what f
// adds to it, belong to the field.Adjoint.
type Adjoint struct {
	field.Adjoint

	Next []float64 // with respect to the state at the end of the step

	X         []float64 // with respect to the state at the beginning
	Xi, Scale []float64 // with respect to the normal variates and their scales; nil if there are none

	// For methods that need earlier states, Times and Path hold the times and, row by row,
	// the states of the segment. Before is the number of steps of the segment before the
	// step: the step begins at Times[Before].
	Times, Path []float64
	Before      int
}

// NewAdjoint returns an Adjoint for steps of the problem p. The slices of the new Adjoint
// are nil. If a method solves an auxiliary problem, pass the auxiliary problem to
// NewAdjoint.
func NewAdjoint(p *Problem) *Adjoint { return &Adjoint{Adjoint: *field.NewAdjoint(p.Field())} }

// Noise updates the gradients Xi and Scale for a step that adds the noise `scale` × ξ to
// the next state.
func (a *Adjoint) Noise(xi, scale []float64) {
	for k, v := range xi {
		a.Xi[k] += scale[k] * a.Next[k]
		a.Scale[k] += v * a.Next[k]
	}
}

// A Gradient is the gradient of a function of a path.
type Gradient struct {
	Theta []float64 // with respect to θ
	Xi    []float64 // with respect to ξ, N×n; may be nil if it is not needed
	Alpha float64   // with respect to α; 0 without noise
}

// Gradient computes the gradient of a function of the path z and stores it in g. The
// argument w holds the derivatives of the function with respect to the states of the
// path, and has the same length as z. Solve must have computed the path z for θ and ξ. If
// event times depend on θ, the grid points move with θ, and z holds the states at the
// moved points.
//
// Computing the gradient requires one backward pass through the steps, for any number of
// parameters. If the problem has FJ, and also FTheta or Pullback, the gradient is exact
// up to rounding and a few central differences. The relative error of a central
// difference is about 10⁻¹⁰. Central differences are used for the derivatives of event
// times, of jumps without JumpPullback, and of Start without StartTheta. If event times
// depend on θ, ∂f/∂t is computed by central differences. If the noise depends on the
// Jacobian, the derivatives of the Jacobian are also computed by central differences. If
// the problem has neither Pullback nor FJ, each evaluation of f in a step requires 2d
// further evaluations of F. If the problem has neither Pullback nor FTheta, each
// evaluation of f in a step requires 2p further evaluations of F. The intermediate
// results of the steps are not stored, so memory is needed only for z and w.
//
// If the Stepper of the method has no Reverse, Gradient computes the derivatives of the
// path with respect to each parameter, as SolveTangents does; if g.Xi is not nil, Gradient
// returns errors.ErrUnsupported.
func (s *Solver) Gradient(g *Gradient, w, z, theta, xi []float64) error {
	return s.gradient(g, w, nil, z, theta, xi)
}

// gradient computes the gradient of a function of the path and of the times of the grid
// points. The argument `times` holds the derivatives of the function with respect to the
// times of the grid points; it may be nil.
func (s *Solver) gradient(g *Gradient, w, times, z, theta, xi []float64) error {
	if len(w) != s.PathLen() || len(z) != len(w) || len(g.Theta) != len(s.p.Theta) || len(theta) != len(g.Theta) {
		panic(fmt.Sprintf("probode: w and z have lengths %d and %d: want %d for both; θ and its gradient have lengths %d and %d: want %d for both", len(w), len(z), s.PathLen(), len(theta), len(g.Theta), len(s.p.Theta)))
	}
	if n := s.NoiseLen(); xi != nil && len(xi) != n || g.Xi != nil && len(g.Xi) != n {
		panic(fmt.Sprintf("probode: ξ and its gradient have lengths %d and %d: want N·n = %d (or a nil slice)", len(xi), len(g.Xi), n))
	}
	clean := func() {
		clear(g.Theta)
		clear(g.Xi)
		g.Alpha = 0
	}
	if s.step.Reverse == nil {
		clean()
		return s.forwardGradient(g, w, times, z, theta, xi)
	}
	if s.reverse == nil {
		s.reverse = newReverseRun(s)
	}
	if err := s.apart(theta); err != nil {
		return err
	}
	return s.exists(func() error {
		clean()
		return s.reverse.run(g, w, times, z, theta, xi)
	}, g.Theta, g.Xi)
}

// forwardGradient computes the gradient from the derivatives of the path with respect to
// each parameter.
func (s *Solver) forwardGradient(g *Gradient, w, times, z, theta, xi []float64) error {
	if g.Xi != nil {
		return fmt.Errorf("%s: %v has no gradient with respect to ξ: %w", s.p.Title(), s.m, errors.ErrUnsupported)
	}
	if xi != nil {
		g.Alpha = math.NaN() // not known
	}
	const most = 1 << 24 // bounds the memory
	p := len(theta)
	each := max(1, min(p, most/len(z)))
	path, dz := make([]float64, len(z)), make([]float64, each*len(z))
	for first := 0; first < p; first += each {
		n := min(each, p-first)
		along := make([]float64, n*p)
		for k := range n {
			along[k*p+first+k] = 1
		}
		if err := s.SolveTangents(path, dz[:n*len(z)], theta, along, xi); err != nil {
			return err
		}
		for k := range n {
			g.Theta[first+k] = vector.Dot(w, row(dz, k, len(z)))
		}
	}
	return s.eventGradient(g.Theta, times, theta)
}

// eventGradient adds to the gradient dtheta the effect of those grid points that move
// with θ.
func (s *Solver) eventGradient(dtheta, times, theta []float64) error {
	if times == nil {
		return nil
	}
	r := newReverseRun(s)
	for j := range s.g.seg {
		r.pass(j, times)
	}
	r.when(dtheta, theta)
	return nil
}

// A reverseRun goes backwards through the steps of a Solver.
type reverseRun struct {
	Adjoint
	s     *Solver
	xi    []float64 // gradient of the normal variates of a step, if nobody asks for them
	scale []float64
	clean []float64 // a state without noise
	marks []float64 // gradients with respect to the times of events, in order of time

	x, theta, left, right []float64
	exact                 []float64 // ∂x₀/∂θ
}

func newReverseRun(s *Solver) *reverseRun {
	d, p, n := s.d, len(s.p.Theta), s.Normals()
	r := &reverseRun{Adjoint: *NewAdjoint(s.inside), s: s, marks: make([]float64, len(s.g.events)), theta: make([]float64, p)}
	for _, v := range []*[]float64{&r.X, &r.Next, &r.clean, &r.x, &r.left, &r.right} {
		*v = make([]float64, d)
	}
	r.xi, r.scale = make([]float64, n), make([]float64, n)
	return r
}

func (r *reverseRun) run(g *Gradient, w, times, z, theta, xi []float64) (err error) {
	s, d, n := r.s, r.s.d, r.s.Normals()
	i := s.Steps()
	defer func() { // a function of the problem may panic
		if v := recover(); v != nil {
			err = s.Fail(i, theta, row(z, i, d), &PanicError{v, stack()})
		}
	}()
	if !vector.Finite(theta) {
		return s.Fail(0, theta, nil, ErrParameter)
	}
	if err := s.g.move(theta); err != nil {
		return s.Fail(0, theta, nil, err)
	}
	if len(r.xi) != n {
		r.xi, r.scale = make([]float64, n), make([]float64, n)
	}
	clear(r.marks)
	clear(r.scale)
	r.Theta, r.Moves = g.Theta, s.g.moving
	copy(r.X, row(w, i, d))
	active := !vector.Zero(r.X) // before the last point at which w is not zero, all gradients are zero
	for j := len(s.g.seg) - 1; j >= 0; j-- {
		seg := &s.g.seg[j]
		s.now.Interval = seg.now
		if times != nil {
			r.pass(j, times)
		}
		started := false
		for i = seg.to - 1; i >= seg.from; i-- {
			if s.stop.Ended() {
				return s.Fail(i, theta, row(z, i, d), s.cause())
			}
			r.Next, r.X = r.X, r.Next
			copy(r.X, w[i*d:(i+1)*d])
			if !active {
				active = !vector.Zero(r.X)
				continue
			}
			if s.g.t[i] == s.g.t[i+1] {
				vector.AddScaled(r.X, 1, r.Next)
				continue
			}
			if !started {
				started = true
				r.Times, r.Path = s.g.t[seg.from:seg.to+1], z[seg.from*d:(seg.to+1)*d]
				if err := s.begin(seg.from, z, theta); err != nil {
					return s.Fail(i, theta, row(z, i, d), err)
				}
			}
			r.Before = i - seg.from
			r.Xi, r.Scale = nil, nil
			normals := s.normalsOf(xi, i, n)
			if normals != nil {
				r.Xi, r.Scale = r.xi, r.scale
				if g.Xi != nil {
					r.Xi = g.Xi[i*n : (i+1)*n]
				} else {
					clear(r.xi)
				}
			}
			if err := r.step(g, i, j, z, theta, normals); err != nil {
				return s.Fail(i, theta, row(z, i, d), err)
			}
		}
		if i = seg.from - 1; i >= 0 { // the event before the segment
			r.jump(j-1, row(z, i, d), theta)
			vector.AddScaled(r.X, 1, row(w, i, d))
			active = active || !vector.Zero(r.X)
		}
	}
	i = 0
	r.start(theta)
	r.when(g.Theta, theta)
	return nil
}

// step propagates gradients back through step i of segment j.
func (r *reverseRun) step(g *Gradient, i, j int, z, theta, xi []float64) error {
	s := r.s
	r.Time, r.Length = 0, 0
	if xi != nil {
		s.scaleAt(i)
	}
	normals, scales := r.Xi, r.Scale
	if s.scaling == ScaleLocal {
		if xi != nil {
			r.Noise(xi, s.scale)
		}
		r.Xi, r.Scale = nil, nil
	}
	if err := s.step.Reverse(&r.Adjoint, s.taken(i, z, theta, xi, r.clean)); err != nil {
		return err
	}
	r.Xi, r.Scale = normals, scales
	var along float64 // derivative with respect to the logarithm of all scales
	for k, v := range r.Scale {
		along += v * s.scale[k]
		r.Scale[k] = 0
	}
	if xi != nil && s.alpha > 0 {
		g.Alpha += along / (2 * s.alpha)
	}
	if r.Moves {
		if s.scaling != ScaleLocal {
			r.Length += along * s.noise.Exponent / s.g.H(i)
		}
		part := &s.g.seg[j]
		a, b := part.frac[i-part.from], part.frac[i+1-part.from]
		r.ends(j, r.Time*(1-a)-r.Length*(b-a), r.Time*a+r.Length*(b-a))
	}
	return nil
}

// ends adds to r.marks the derivatives with respect to the times at which a segment
// begins and ends.
func (r *reverseRun) ends(j int, from, to float64) {
	if j > 0 {
		r.marks[j-1] += from
	}
	if j < len(r.marks) {
		r.marks[j] += to
	}
}

// pass converts derivatives with respect to the grid times in a segment to derivatives
// with respect to the two ends of the segment.
func (r *reverseRun) pass(j int, times []float64) {
	part := &r.s.g.seg[j]
	for i, a := range part.frac {
		v := times[part.from+i]
		r.ends(j, v*(1-a), v*a)
	}
}

// jump propagates gradients back through the jump of event j. The argument x is the state
// before the event. If the event has no JumpPullback, the method uses central
// differences.
func (r *reverseRun) jump(j int, x, theta []float64) {
	s := r.s
	e := s.g.events[j]
	if !e.inside || e.event.Jump == nil || vector.Zero(r.X) {
		return
	}
	t := s.g.place(j)
	if f := e.event.JumpPullback; f != nil {
		if dt := f(r.X, r.Theta, x, t, theta); e.event.When != nil {
			r.marks[j] += dt
		}
		return
	}
	r.Next, r.X = r.X, r.Next
	copy(r.x, x)
	copy(r.theta, theta)
	side := func(to []float64) {
		copy(to, r.x)
		e.event.Jump(to, t, r.theta)
	}
	// along differentiates with respect to v, of which side depends.
	along := func(v *float64, h float64) (sum float64) {
		at := *v
		*v = at + h
		side(r.right)
		width := *v
		*v = at - h
		side(r.left)
		width -= *v
		*v = at
		for k, v := range r.Next {
			sum += v * (r.right[k] - r.left[k])
		}
		return sum / width
	}
	floor := cmp.Or(1e-3*vector.MaxAbs(x), 1)
	for k, v := range x {
		r.X[k] = along(&r.x[k], field.Central*max(math.Abs(v), floor))
	}
	for k, v := range theta {
		r.Theta[k] += along(&r.theta[k], cmp.Or(field.Central*math.Abs(v), field.Central))
	}
	if e.event.When != nil {
		r.marks[j] += along(&t, field.Central*(s.g.span[1]-s.g.span[0]))
	}
}

// start adds the contributions of the initial state to the gradient with respect to θ.
func (r *reverseRun) start(theta []float64) {
	p := r.s.p
	if p.Start == nil || vector.Zero(r.X) {
		return
	}
	if n := len(theta); p.StartTheta != nil {
		if r.exact == nil {
			r.exact = make([]float64, len(r.X)*n)
		}
		clear(r.exact)
		p.StartTheta(r.exact, theta)
		for k, v := range r.X {
			vector.AddScaled(r.Theta, v, r.exact[k*n:(k+1)*n])
		}
		return
	}
	r.each(r.Theta, theta, func() (v float64) {
		p.Initial(r.x, r.theta)
		for k, c := range r.X {
			v += c * r.x[k]
		}
		return v
	})
}

// when adds to the gradient dtheta the contribution of event times that depend on θ.
func (r *reverseRun) when(dtheta, theta []float64) {
	for j, e := range r.s.g.events {
		if c := r.marks[j]; c != 0 && e.event.When != nil && e.inside {
			r.each(dtheta, theta, func() float64 { return c * e.event.When(r.theta) })
		}
	}
}

// each computes the gradient of value by central differences, and adds it to dtheta.
// value depends on r.theta.
func (r *reverseRun) each(dtheta, theta []float64, value func() float64) {
	copy(r.theta, theta)
	for k, v := range theta {
		h := cmp.Or(field.Central*math.Abs(v), field.Central)
		r.theta[k] = v + h
		up, right := r.theta[k], value()
		r.theta[k] = v - h
		dtheta[k] += (right - value()) / (up - r.theta[k])
		r.theta[k] = v
	}
}
