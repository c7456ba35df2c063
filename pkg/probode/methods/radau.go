package methods

import (
	"fmt"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// Radau is the Radau IIA method, of order q = 2 × Stages − 1, with the noise of
// Conrad et al. added to the state,
//
//	Z_{i+1} = Ψ(Zᵢ) + √α h^{q+1/2} ξᵢ,   ξᵢ ~ N(0, I)
//
// [HW96, §IV.5; C16, §2]. Radau is suited to stiff problems, because it damps fast
// components for any step size. Radau is stiffly accurate: the last stage of a step is
// the next state.
//
// In adams.Moulton, the noise is added to the derivative. If Radau added √α h^{q−1/2} J ξ
// to every stage derivative, the next state would move by √α h^{q−1/2} (R(hJ) − I) ξ,
// where R is the stability function. For nonstiff components, the next state would move
// by about √α h^{q+1/2} J ξ, which has the same order in h as noise that is added to the
// state. For stiff components R is almost zero, so noise in the derivative would move the
// next state by −√α h^{q−1/2} ξ. Radau adds the noise to the state, because noise in the
// derivative would be too large, by a factor of 1/h, for exactly those components in
// which Radau damps errors. As a further advantage, noise in the state does not depend on
// the Jacobian. On a frozen grid the scale of the noise is the estimated local error of
// each component, which is small for damped components: see probode.ScaleLocal.
//
// The stage equations are solved up to rounding errors, so that Z is a smooth function of
// (θ, ξ). Under error control an embedded formula of lower order estimates the error, and
// a linear filter damps the stiff components of this estimate [HW96, §IV.8].
type Radau struct {
	// Stages is 2 or 3; zero means 3.
	Stages int
}

func (m Radau) stages() int {
	switch m.Stages {
	case 0:
		return 3
	case 2, 3:
		return m.Stages
	}
	panic(fmt.Sprintf("methods: the number of stages of Radau is %d: want 2 or 3", m.Stages))
}

func (m Radau) String() string            { return fmt.Sprintf("Radau%d", m.Order()) }
func (m Radau) Order() int                { return 2*m.stages() - 1 }
func (m Radau) Noise(d int) probode.Noise { return additive(d, m.Order()) }

func (m Radau) Stepper(p *probode.Problem, _ *probode.Grid) (*probode.Stepper, error) {
	s, err := m.filtered(p)
	if err != nil {
		return nil, err
	}
	out := s.stepper()
	out.LocalError = s.localError
	return out, nil
}

func (m Radau) filtered(p *probode.Problem) (*filtered, error) {
	table := radau3()
	if m.stages() == 2 {
		table = radau2()
	}
	s, err := newImplicit(p, table)
	if err != nil {
		return nil, err
	}
	s.crosses = true
	return &filtered{implicit: s}, nil
}

// filtered is an implicit stepper that estimates its own error.
type filtered struct {
	*implicit
	own *linalg.LU // factors of (γ/h) I − J if no mode has them
}

// localError is ((γ/h) I − J)⁻¹ (f(t, x) − Σᵢ ℓᵢ(0) f(t + cᵢh, x + zᵢ)) [HW96, equation
// IV.8.19]. The second factor is the difference between f(t, x) and the value at t that
// is extrapolated from f at the stages. The first factor damps the stiff components of
// the difference.
func (s *filtered) localError(dst []float64, step *probode.Step) error {
	h := step.H
	if s.moved && !s.prepare(step.T, h, step.X, step.Theta) {
		return probode.ErrSingular
	}
	copy(dst, s.f0)
	for j, e := range s.table.e {
		vector.AddScaled(dst, e/h, s.stage(s.z, j))
	}
	for k, m := range s.table.modes {
		if m.im == 0 && m.re == s.table.gamma {
			s.real[k].Solve(dst)
			return nil
		}
	}
	if s.own == nil {
		s.own = linalg.NewLU(s.jac)
	}
	if !s.own.Factorize(s.table.gamma/h, s.jac) {
		return probode.ErrSingular
	}
	s.own.Solve(dst)
	return nil
}
