package methods

import (
	"math"

	"github.com/probode/probode/pkg/internal/memory"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// A fullNewton solves the stage equations by damped Newton iteration with a Jacobian for
// each stage. Iteration with one Jacobian for all stages costs far less. In some steps,
// for example across a fast transient, only iteration with a Jacobian for each stage
// converges.
type fullNewton struct {
	jac  []*linalg.Matrix
	all  *linalg.Matrix // hA⊗J, ordered by component and then by stage, so that a banded J gives a banded matrix
	lu   *linalg.LU
	sort []float64
}

// newton returns the fullNewton of s, and creates it at the first call. The result is nil
// if the matrix of the stage equations does not fit in memory.
func (s *implicit) newton() *fullNewton {
	n, d := s.table.stages, s.d
	if s.full != nil || !s.jac.Banded && memory.Check("the matrix of all stages", n*d, n*d, 2) != nil {
		return s.full
	}
	e := &fullNewton{sort: make([]float64, n*d)}
	for range n {
		e.jac = append(e.jac, s.p.Field().NewJacobian())
	}
	if s.jac.Banded {
		e.all = linalg.NewBanded(n*d, (s.jac.Lower+1)*n-1, (s.jac.Upper+1)*n-1)
	} else {
		e.all = linalg.NewDense(n * d)
	}
	e.lu = linalg.NewLU(e.all)
	s.full = e
	return e
}

// factorize computes the Jacobian at each stage and factorises I − hA⊗J.
func (e *fullNewton) factorize(s *implicit, z []float64) bool {
	for j, c := range s.table.c {
		s.eval.FJ(s.w, e.jac[j], s.t+c*s.h, s.state(s.eq.x, z, j), s.eq.theta)
	}
	return e.eliminate(s, e.jac)
}

// eliminate factorises I − hA⊗J with the given Jacobians of the stages.
func (e *fullNewton) eliminate(s *implicit, jac []*linalg.Matrix) bool {
	n := s.table.stages
	clear(e.all.A)
	for i, row := range s.table.a {
		for j, a := range row {
			a *= s.h
			for k := range s.d {
				lo, hi := jac[j].Columns(k)
				for l := lo; l < hi; l++ {
					e.all.Set(k*n+i, l*n+j, a*jac[j].At(k, l))
				}
			}
		}
	}
	return e.lu.Factorize(1, e.all)
}

// solve sets dst to (I − hA⊗J)⁻¹ r.
func (e *fullNewton) solve(s *implicit, dst, r []float64) {
	n := s.table.stages
	for j := range n {
		for k, v := range s.stage(r, j) {
			e.sort[k*n+j] = v
		}
	}
	e.lu.Solve(e.sort)
	for j := range n {
		to := s.stage(dst, j)
		for k := range to {
			to[k] = e.sort[k*n+j]
		}
	}
}

// iterate solves the stage equations, starting from z [Deuflhard 2004, §3.3].
func (e *fullNewton) iterate(s *implicit, z []float64) error {
	const (
		most  = 60
		noise = 1e-9 // smaller updates that do not shrink are rounding errors, not slow convergence
	)
	lambda := 1.
	s.eq.residual(s, s.r, z)
	before := math.Inf(1)
	for range most {
		if !e.factorize(s, z) {
			return probode.ErrSingular
		}
		e.solve(s, s.u, s.r)
		size, largest := s.norms(s.u, z, s.eq.x)
		if size-size != 0 {
			return probode.ErrNewton
		}
		if size <= 1e-16 || largest <= noise && size >= 0.5*before {
			return nil
		}
		for lambda = min(1, 4*lambda); ; lambda /= 2 {
			for k, v := range s.u {
				s.y[k] = z[k] + lambda*v
			}
			s.eq.residual(s, s.r, s.y)
			e.solve(s, s.v, s.r)
			if next, _ := s.norms(s.v, s.y, s.eq.x); next <= (1-lambda/4)*size {
				break
			}
			if largest <= noise {
				s.settle(z, &s.eq, e)
				return nil
			}
			if lambda < 1e-6 {
				return probode.ErrNewton
			}
		}
		before = size
		copy(z, s.y)
	}
	return probode.ErrNewton
}

// undamped updates z by Newton iteration without damping, and reports whether the
// iteration converges. The argument `most` limits the number of updates. Let r be the
// largest element of an update, divided by the size of the largest component of the
// state. If r ≤ noise and the update is more than half as large as the previous update,
// only rounding errors remain and undamped() reports convergence. The LU factors come
// from the argument `full`, or from s if `full` is nil.
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
		vector.AddScaled(z, 1, s.v)
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

// tangent solves the linear equations for the derivatives, with one step of iterative
// refinement.
func (e *fullNewton) tangent(s *implicit, sys *tangent) error {
	if !e.factorize(s, s.z) {
		return probode.ErrSingular
	}
	clear(sys.z)
	for range 2 {
		sys.residual(s, s.r, sys.z)
		e.solve(s, s.u, s.r)
		vector.AddScaled(sys.z, 1, s.u)
	}
	if !vector.Finite(sys.z) {
		return probode.ErrSingular
	}
	return nil
}

// settle makes a few undamped updates of z, beginning with the update s.u. settle changes
// z only if its updates converge. Newton's method calls settle() before it treats a tiny
// update as a rounding error. Close to a jump of f, even a necessary update can be as
// small as a rounding error. Updates that consist only of rounding errors do not
// converge, so settle() discards them.
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
