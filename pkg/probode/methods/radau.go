package methods

import (
	"fmt"

	"github.com/probode/probode/pkg/probode"
)

// Radau is the Radau IIA method, of order q = 2·Stages − 1, with the noise of
// Conrad et al. added to the state,
//
//	Z_{i+1} = Ψ(Zᵢ) + √α h^{q+1/2} ξᵢ,   ξᵢ ~ N(0, I)
//
// [HW96, §IV.5; C16, §2]. It is for stiff problems: it damps what decays fast
// whatever the step, and its last stage, which is the next state, lies where
// the stiff components put it.
//
// Noise in derivative space, as AdamsMoulton has it, would be √α h^{q−1/2} J ξ
// in every stage derivative. That moves the next state by
// √α h^{q−1/2} (R(hJ) − I) ξ, where R is the stability function. For
// components that are not stiff this is the noise above with hJξ in place of
// hξ. For stiff ones R vanishes, and √α h^{q−1/2} ξ is left: a power of h more
// than in the state, in just those components whose error the method damps.
// The noise here is in the state for that reason, and because no Jacobian then
// enters Z. On a frozen grid the scale is the local error of each component,
// which is small where it is damped: see probode.ScaleLocal.
//
// The equations of the stages are solved to rounding, so that Z is a smooth
// function of (θ, ξ). Under error control its error is estimated by an
// embedded formula of lower order, filtered so that stiff components do not
// spoil it [HW96, §IV.8].
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
	panic(fmt.Sprintf("methods: Radau with %d stages: want 2 or 3", m.Stages))
}

func (m Radau) String() string            { return fmt.Sprintf("Radau%d", m.Order()) }
func (m Radau) Order() int                { return 2*m.stages() - 1 }
func (m Radau) Noise(d int) probode.Noise { return additive(d, m.Order()) }

func (m Radau) Stepper(p *probode.Problem, g *probode.Grid) (probode.Stepper, error) {
	table := radau3()
	if m.stages() == 2 {
		table = radau2()
	}
	s, err := newImplicit(p, g, table)
	if err != nil {
		return nil, err
	}
	return &filtered{implicit: s}, nil
}

// A filtered is an implicit stepper that estimates its error.
type filtered struct {
	*implicit
	own *probode.LU // factors of γ/h·I − J where they are not those of a mode
}

// LocalError is (γ/h·I − J)⁻¹ (f(t, x) − Σᵢ ℓᵢ(0) f(t + cᵢh, x + zᵢ)): how
// much f at the beginning differs from what the stages say of it, brought to
// the state by a filter that stiff components do not pass [HW96, equation
// IV.8.19].
func (s *filtered) LocalError(dst []float64, i int, x, _, theta []float64) error {
	h := s.g.H(i)
	if s.moved {
		s.linearize(s.g.Times()[i], h, x, theta)
	}
	copy(dst, s.f0)
	for j, e := range s.table.e {
		for k, z := range s.stage(s.z, j) {
			dst[k] += e / h * z
		}
	}
	for k, m := range s.table.modes {
		if m.im == 0 && m.re == s.table.gamma && !s.moved {
			s.real[k].Solve(dst)
			return nil
		}
	}
	if s.own == nil {
		s.own = probode.NewLU(s.jac)
	}
	if !s.own.Factorize(s.table.gamma/h, s.jac) {
		return probode.ErrSingular
	}
	s.own.Solve(dst)
	return nil
}
