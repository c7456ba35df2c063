package methods

import (
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// This file implements the directional derivatives of steps: see probode.Stepper.

// differentiate solves the linear equations for the derivatives of the stages.
func (s *implicit) differentiate(dnext []float64, step *probode.Step, tg *probode.Tangents) error {
	if s.tangent == nil {
		s.newTangent()
	}
	e := s.tangent
	for j, c := range s.table.c {
		e.at[j].At(s.t+c*s.h, s.state(step.X, s.z, j), step.Theta, nil)
	}
	direct := s.direct(tg.M)
	for m := range tg.M {
		dtheta, dx, dt, dh := tg.Direction(m)
		e.x, e.h = dx, dh
		for j, c := range s.table.c {
			e.at[j].Along(s.stage(e.g, j), dx, dtheta, dt+c*dh)
		}
		if direct {
			clear(e.z)
			e.residual(s, s.r, e.z)
			s.full.solve(s, e.z, s.r)
		} else if err := s.solveTangent(); err != nil {
			return err
		}
		to := dnext[m*s.d : (m+1)*s.d]
		copy(to, dx)
		for j, d := range s.table.d {
			vector.AddScaled(to, d, s.stage(e.z, j))
		}
		tg.AddNoise(to, m, step.Xi)
	}
	return nil
}

func (s *implicit) newTangent() {
	n := s.table.stages * s.d
	s.tangent = &tangent{g: make([]float64, n), f: make([]float64, n), z: make([]float64, n)}
	for range s.table.stages {
		s.tangent.at = append(s.tangent.at, field.NewDifferentiator(s.p.Field(), true))
	}
}

// direct factorises the matrix of the equations for the derivatives if that takes less
// time than m iterative solutions. The method reports whether it has factorised the
// matrix.
//
// In d dimensions with n stages, the factorisation takes about (2/3)(nd)³
// multiplications. An iterative solution takes about six iterations of about 4(nd)²
// multiplications each. Therefore the factorisation is faster if nd < 36m. With
// banded matrices the method always iterates, because each iteration then takes far fewer
// multiplications than 4(nd)².
func (s *implicit) direct(m int) bool {
	if s.jac.Banded || s.table.stages*s.d >= 36*m {
		return false
	}
	if s.newton() == nil {
		return false
	}
	jac := make([]*linalg.Matrix, 0, 8)
	for _, at := range s.tangent.at {
		jac = append(jac, at.Jacobian())
	}
	return s.full.eliminate(s, jac)
}

// solveTangent solves the equations for the derivatives.
func (s *implicit) solveTangent() error {
	e := s.tangent
	clear(e.z)
	err := s.iterate(e.z, e)
	if err == nil {
		return nil
	}
	if s.newton() == nil {
		return err
	}
	return s.full.tangent(s, e)
}
