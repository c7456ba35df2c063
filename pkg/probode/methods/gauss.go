package methods

import (
	"fmt"

	"github.com/probode/probode/pkg/probode"
)

// Gauss is the collocation method at the Gauss points, of order 2·Stages, with
// the noise of Conrad et al. added to the state,
//
//	Z_{i+1} = Ψ(Zᵢ) + √α h^{q+1/2} ξᵢ,   ξᵢ ~ N(0, I),   q = 2·Stages
//
// [HLW06, §II.1.3; C16, §2]. It is symplectic and keeps quadratic invariants,
// so that it serves mechanics over long times; the noise breaks both, those of
// RandomStep do not. It is A-stable, but does not damp: a component that decays
// within a small part of a step keeps its size, and with it any error, from one
// step to the next. For stiff problems see Radau, and there too why the noise is
// in the state.
//
// The equations of the stages are solved to rounding, so that Z is a smooth
// function of (θ, ξ). Under error control its error is the difference to a step
// of Radau, of one order more, from the same state. That sees what should have
// been damped, and makes the steps small until it is; two steps of half the
// length, which keep it as one does, would not.
type Gauss struct {
	// Stages is 1 or 2; zero means 1, the implicit midpoint rule.
	Stages int
}

func (m Gauss) stages() int {
	if m.Stages < 0 || m.Stages > 2 {
		panic(fmt.Sprintf("methods: Gauss with %d stages: want 1 or 2", m.Stages))
	}
	return max(1, m.Stages)
}

func (m Gauss) String() string            { return fmt.Sprintf("Gauss%d", m.stages()) }
func (m Gauss) Order() int                { return 2 * m.stages() }
func (m Gauss) Noise(d int) probode.Noise { return additive(d, m.Order()) }

func (m Gauss) Stepper(p *probode.Problem, g *probode.Grid) (probode.Stepper, error) {
	table, damping := gauss1(), radau2()
	if m.stages() == 2 {
		table, damping = gauss2(), radau3()
	}
	s, err := newImplicit(p, g, table)
	if err != nil {
		return nil, err
	}
	return &undamped{implicit: s, damping: damping}, nil
}

// An undamped is an implicit stepper whose error is estimated by a method that
// damps.
type undamped struct {
	*implicit
	damping *collocation
	other   *implicit // with it, made when it is first asked for
}

// LocalError is the difference to the step of the other method.
func (s *undamped) LocalError(dst []float64, i int, x, next, theta []float64) (err error) {
	if s.other == nil {
		if s.other, err = newImplicit(s.p, s.g, s.damping); err != nil {
			return err
		}
	}
	if err := s.other.Step(dst, i, x, theta, nil, nil); err != nil {
		return err
	}
	for k, v := range dst {
		dst[k] = next[k] - v
	}
	return nil
}

// additive is the noise √α h^{q+1/2} ξ in each component of the state.
func additive(d, order int) probode.Noise {
	return probode.Noise{Normals: d, Exponent: float64(order) + 0.5}
}
