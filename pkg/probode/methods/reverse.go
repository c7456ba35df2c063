package methods

import (
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// This file implements the propagation of gradients back through steps: see
// probode.Stepper.

// reverseStages holds the transposed stage equations. If λ is the gradient with respect
// to the next state, the gradients μᵢ with respect to the stages zᵢ satisfy
//
//	μⱼ = dⱼ λ + Jⱼᵀ gⱼ,   gⱼ = h Σᵢ aᵢⱼ μᵢ,
//
// where gⱼ is the gradient with respect to fⱼ. solve computes μ and g by simplified
// Newton iteration with the Jacobian of the middle stage.
type reverseStages struct {
	jac []*linalg.Matrix // transposed, at the stages
	factors
	mu, g []float64 // s×d
	next  []float64
	full  *fullNewton // the transposed stage equations; nil before the first use
}

func newReverseStages(s *implicit) *reverseStages {
	n := s.table.stages * s.d
	e := &reverseStages{mu: make([]float64, n), g: make([]float64, n), next: make([]float64, s.d)}
	for range s.table.stages {
		e.jac = append(e.jac, s.jac.Transpose(nil))
	}
	e.factors = newFactors(s.table, e.jac[0])
	return e
}

// back solves the stage equations of the step and then the transposed stage equations.
func (s *implicit) back(a *probode.Adjoint, step *probode.Step) error {
	x, theta := step.X, step.Theta
	if s.reverse == nil {
		s.reverse = newReverseStages(s)
	}
	e := s.reverse
	if err := s.make(e.next, step.T, step.H, x, theta); err != nil {
		return err
	}
	for j, c := range s.table.c {
		s.eval.FJ(s.w, s.jac, s.t+c*s.h, s.state(x, s.z, j), theta)
		s.jac.Transpose(e.jac[j])
	}
	if err := e.solve(s, a.Next); err != nil {
		return err
	}
	vector.AddScaled(a.X, 1, a.Next)
	for j, c := range s.table.c {
		a.Field(a.X, s.stage(e.g, j), s.t+c*s.h, c, s.state(x, s.z, j), theta)
		if a.Moves {
			for k, v := range s.stage(e.mu, j) {
				a.Length += v * s.stage(s.z, j)[k] / s.h
			}
		}
	}
	a.Noise(step.Xi, step.Scale)
	return nil
}

// solve computes the gradients mu and g.
func (e *reverseStages) solve(s *implicit, lambda []float64) error {
	const (
		most  = 50
		done  = 1e-15 // remaining error, relative to the largest component
		noise = 1e-12 // updates that may be rounding errors
	)
	clear(e.mu)
	if !e.factorize(s.table, s.h, e.jac[s.table.stages/2]) {
		return e.direct(s, lambda)
	}
	before := math.Inf(1)
	for range most {
		e.residual(s, lambda)
		s.solveBy(&e.factors, s.u, s.r, true)
		size, unit := vector.MaxAbs(s.u), vector.MaxAbs(e.mu)
		vector.AddScaled(e.mu, 1, s.u)
		rate := size / before
		unit = max(unit, vector.MaxAbs(e.mu))
		switch {
		case size-size != 0 || rate > 0.5 && size > noise*unit:
			return e.direct(s, lambda)
		case size == 0 || rate > 0.5 || rate > 0 && size*rate <= done*unit:
			e.slopes(s)
			return nil
		}
		before = size
	}
	return e.direct(s, lambda)
}

// slopes computes gⱼ = h Σᵢ aᵢⱼ μᵢ for each stage j.
func (e *reverseStages) slopes(s *implicit) {
	clear(e.g)
	for i, row := range s.table.a {
		from := s.stage(e.mu, i)
		for j, a := range row {
			vector.AddScaled(s.stage(e.g, j), a*s.h, from)
		}
	}
}

// residual sets r to dⱼ λ + Jⱼᵀ gⱼ − μⱼ.
func (e *reverseStages) residual(s *implicit, lambda []float64) {
	e.slopes(s)
	for j, d := range s.table.d {
		to, mu := s.stage(s.r, j), s.stage(e.mu, j)
		for k, v := range lambda {
			to[k] = d*v - mu[k]
		}
		e.jac[j].AddMul(to, 1, s.stage(e.g, j))
	}
}

// direct solves the transposed stage equations by LU factorisation, with a separate
// Jacobian for each stage. One step of iterative refinement follows.
func (e *reverseStages) direct(s *implicit, lambda []float64) error {
	all := s.newton()
	if all == nil {
		return probode.ErrNewton
	}
	if !all.factorize(s, s.z) {
		return probode.ErrSingular
	}
	if e.full == nil {
		e.full = &fullNewton{sort: all.sort, lu: linalg.NewLU(all.all.Transpose(nil))}
	}
	if e.full.all = all.all.Transpose(e.full.all); !e.full.lu.Factorize(1, e.full.all) {
		return probode.ErrSingular
	}
	clear(e.mu)
	for range 2 {
		e.residual(s, lambda)
		e.full.solve(s, s.u, s.r)
		vector.AddScaled(e.mu, 1, s.u)
	}
	e.slopes(s)
	if !vector.Finite(e.mu) {
		return probode.ErrSingular
	}
	return nil
}

// reverse treats the factor H/h of a random step as a further parameter of the wrapped
// method.
func (r *randomStep) reverse(a *probode.Adjoint, s *probode.Step) error {
	one, err := r.scale(s)
	if err != nil {
		return err
	}
	if r.adjoint == nil {
		r.adjoint = probode.NewAdjoint(r.scaled)
		r.adjoint.Theta = make([]float64, r.n+1)
	}
	b := r.adjoint
	clear(b.Theta)
	b.Next, b.X, b.Times, b.Path, b.Before, b.Moves, b.Time, b.Length = a.Next, a.X, a.Times, a.Path, a.Before, a.Moves, 0, 0
	if err := r.inner.Reverse(b, one); err != nil {
		return err
	}
	for k := range s.Theta {
		a.Theta[k] += b.Theta[k]
	}
	a.Time += b.Time
	a.Length += b.Length
	if dc := b.Theta[r.n]; s.Xi != nil {
		reach := math.Sqrt(3) / s.H
		a.Xi[0] += dc * reach * s.Scale[0] * math.Sqrt(2/math.Pi) * math.Exp(-s.Xi[0]*s.Xi[0]/2)
		a.Scale[0] += dc * reach * math.Erf(s.Xi[0]/math.Sqrt2)
		a.Length -= dc * (r.theta[r.n] - 1) / s.H
	}
	return nil
}
