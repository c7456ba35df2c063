package methods

import (
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// take takes a step.
func (s *implicit) take(step *probode.Step) error {
	if err := s.make(step.Next, step.T, step.H, step.X, step.Theta); err != nil {
		return err
	}
	for k, v := range step.Xi {
		step.Next[k] += step.Scale[k] * v
	}
	return nil
}

// stepper returns the Stepper of the method.
func (s *implicit) stepper() *probode.Stepper {
	return &probode.Stepper{Step: s.take, Differentiate: s.differentiate, Reverse: s.back}
}

// make computes a step of length h, without noise, from the state x at time t.
func (s *implicit) make(dst []float64, t, h float64, x, theta []float64) error {
	if !s.prepare(t, h, x, theta) {
		return probode.ErrSingular
	}
	clear(s.z)
	s.eq = equations{x, theta, s.p.Autonomous}
	if err := s.iterate(s.z, &s.eq); err != nil {
		if s.newton() != nil {
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
		if d != 0 {
			vector.AddScaled(dst, d, s.stage(s.z, j))
		}
	}
	return nil
}

// iterate solves the equations `sys` by simplified Newton iteration, starting from z.
//
// An update is halved until the next update would be smaller [Deuflhard 2004, §3.3]. Both
// updates are computed with the same LU factors. If the updates decrease slowly, the
// Jacobian is computed again. Let r be the ratio of the sizes of the last update and the
// update before it. The remaining error is estimated as the last update multiplied by
// r/(1 − r). The iteration ends when the remaining error is smaller than the rounding
// errors. The iteration also ends when the updates are only rounding errors and therefore
// no longer decrease.
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
			vector.AddScaled(z, 1, s.v)
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

// cross solves the stage equations of a step that begins at x. The undamped iteration
// begins at z = 0 and accepts updates that grow. If f jumps when a component of the state
// passes a threshold, the equations may have a solution beyond the threshold. The updates
// grow when a stage crosses the threshold, so a damped iteration cannot converge to a
// solution beyond the threshold. The error of a step across a jump is as large as h times
// the jump. A method may step across a jump of f only if its error estimate detects the
// jump. Step doubling does not detect every jump: a step and its two halves may make the
// same error.
func (s *implicit) cross(t, h float64, x, theta []float64) error {
	if !s.prepare(t, h, x, theta) {
		return probode.ErrSingular
	}
	clear(s.z)
	if !s.undamped(s.z, 20, 1e-12, nil) {
		return probode.ErrNewton
	}
	return nil
}
