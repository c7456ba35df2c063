package methods

import (
	"fmt"

	"github.com/probode/probode/pkg/probode"
)

// Gauss is the collocation method at the Gauss points, of order 2 × Stages, with
// the noise of Conrad et al. added to the state,
//
//	Z_{i+1} = Ψ(Zᵢ) + √α h^{q+1/2} ξᵢ,   ξᵢ ~ N(0, I),   q = 2 × Stages
//
// [HLW06, §II.1.3; C16, §2]. Gauss methods are symplectic and conserve quadratic
// invariants, so they are suited to long simulations in mechanics. Noise added to the
// state destroys symplecticity and the invariants; the random step lengths of RandomStep
// preserve them. Gauss is A-stable but not L-stable: a component that should decay within
// a small fraction of a step keeps its size, and its error, from one step to the next.
// For stiff problems use Radau, whose documentation also explains why the noise is added
// to the state.
//
// The stage equations are solved up to rounding errors, so that Z is a smooth function of
// (θ, ξ). Under error control the error is estimated by comparison with a step that Radau
// takes from the same state; the order of Radau is higher by one. Radau damps the
// components that should decay, but Gauss does not. The estimated error is large, and the
// steps stay small, until all fast components have decayed. If Stages = 2, step doubling
// would underestimate the error, because a full step and two half steps both leave fast
// components almost unchanged.
type Gauss struct {
	// Stages is 1 or 2; zero means 1, the implicit midpoint rule.
	Stages int
}

func (m Gauss) stages() int {
	if m.Stages < 0 || m.Stages > 2 {
		panic(fmt.Sprintf("methods: the number of stages of Gauss is %d: want 1 or 2", m.Stages))
	}
	return max(1, m.Stages)
}

func (m Gauss) String() string            { return fmt.Sprintf("Gauss%d", m.stages()) }
func (m Gauss) Order() int                { return 2 * m.stages() }
func (m Gauss) Noise(d int) probode.Noise { return additive(d, m.Order()) }

func (m Gauss) Stepper(p *probode.Problem, _ *probode.Grid) (*probode.Stepper, error) {
	table, damping := gauss1, radau2
	if m.stages() == 2 {
		table, damping = gauss2, radau3
	}
	s, err := newImplicit(p, table)
	if err != nil {
		return nil, err
	}
	out := s.stepper()
	out.LocalError = (&undamped{implicit: s, damping: damping}).localError
	return out, nil
}

// undamped takes the steps of Gauss. A comparison with Radau estimates the error, because
// Radau damps fast components and Gauss does not.
type undamped struct {
	*implicit
	damping *collocation
	other   *implicit // takes the steps of Radau; nil before the first use
}

// localError compares the step with a step that Radau takes from the same state.
func (s *undamped) localError(dst []float64, step *probode.Step) (err error) {
	if s.other == nil {
		if s.other, err = newImplicit(s.p, s.damping); err != nil {
			return err
		}
	}
	if err := s.other.make(dst, step.T, step.H, step.X, step.Theta); err != nil {
		return err
	}
	for k, v := range dst {
		dst[k] = step.Next[k] - v
	}
	return nil
}

// additive returns the noise model in which √α h^{q+1/2} ξ is added to the state.
func additive(d, order int) probode.Noise {
	return probode.Noise{Normals: d, Exponent: float64(order) + 0.5}
}
