package methods

import (
	"fmt"
	"math"

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
// On a grid the stage equations are solved up to rounding errors, so that Z is a smooth
// function of (θ, ξ). Where the steps are chosen anew for every θ, in the runs of
// probode.Adaptive, the iteration begins with the polynomial through the stages of the
// step before, keeps the Jacobian and the factors while it converges with them, and stops
// at a hundredth of the tolerance [HW96, §IV.8]. Under error control an embedded formula of lower order estimates the error, and
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
	out.Start, out.Step, out.LocalError = s.begin, s.take, s.localError
	return out, nil
}

func (m Radau) filtered(p *probode.Problem) (*filtered, error) {
	table := radau3
	if m.stages() == 2 {
		table = radau2
	}
	s, err := newImplicit(p, table)
	if err != nil {
		return nil, err
	}
	s.crosses = true
	f := &filtered{implicit: s, past: make([]float64, len(s.z))}
	f.forget()
	return f, nil
}

// filtered is an implicit stepper that estimates its own error.
type filtered struct {
	*implicit
	own *linalg.LU // factors of (γ/h) I − J if no mode has them

	end  float64   // of the step that was solved last; NaN if there is none
	past []float64 // z of the step before this one
	at0  float64   // the end of that step
	h0   float64   // its length
}

func (s *filtered) begin(*probode.Step) error {
	s.forget()
	return nil
}

// forget discards what steps of earlier segments have left.
func (s *filtered) forget() { s.kept, s.end, s.at0 = keptJacobian{}, math.NaN(), math.NaN() }

// take takes a step.
func (s *filtered) take(step *probode.Step) error {
	if s.end == step.T {
		s.z, s.past = s.past, s.z
		s.at0, s.h0 = s.end, s.h
	}
	s.end = math.NaN()
	if step.Permitted == nil || !s.near(step) {
		if err := s.implicit.take(step); err != nil {
			return err
		}
	}
	s.end = step.End
	return nil
}

// near takes a step that needs to be no more accurate than the tolerance.
func (s *filtered) near(step *probode.Step) bool {
	s.t, s.h = step.T, step.H
	s.extrapolate(step)
	s.eq = equations{step.X, step.Theta, false}
	if !s.approach(step.T, step.X, step.Permitted) {
		return false
	}
	for k, v := range s.stage(s.z, s.table.stages-1) { // the last stage is the next state
		step.Next[k] = step.X[k] + v
	}
	step.Rough = true
	return true
}

// extrapolate sets s.initial to the values at the stages of the polynomial through the
// stages of the step before, if there was one. If a component would change its sign, the
// iteration starts at z = 0, because it could converge to another solution, such as a
// negative concentration.
func (s *filtered) extrapolate(step *probode.Step) {
	const longest = 8 // the length of the step, in lengths of the step before
	n, w := s.table.stages, step.H/s.h0
	clear(s.initial)
	if s.at0 != step.T || w > longest {
		return
	}
	last := s.stage(s.past, n-1)
	for j, c := range s.table.c {
		to, at := s.stage(s.initial, j), 1+c*w
		for k, v := range last {
			to[k] = -v
		}
		for i, ci := range s.table.c { // the polynomial is 0 at the beginning of the step
			l := at / ci
			for m, cm := range s.table.c {
				if m != i {
					l *= (at - cm) / (ci - cm)
				}
			}
			vector.AddScaled(to, l, s.stage(s.past, i))
		}
		for k, v := range to {
			if x := step.X[k]; (x+v)*x < 0 {
				clear(s.initial)
				return
			}
		}
	}
}

// localError is ((γ/h) I − J)⁻¹ (f(t, x) − Σᵢ ℓᵢ(0) f(t + cᵢh, x + zᵢ)) [HW96, equation
// IV.8.19]. The second factor is the difference between f(t, x) and the value at t that
// is extrapolated from f at the stages. The first factor damps the stiff components of
// the difference.
func (s *filtered) localError(dst []float64, step *probode.Step) error {
	h := step.H
	switch {
	case step.Permitted != nil:
		s.p.F(s.f0, step.T, step.X, step.Theta)
	case s.moved && !s.prepare(step.T, h, step.X, step.Theta):
		return probode.ErrSingular
	}
	copy(dst, s.f0)
	for j, e := range s.table.e {
		vector.AddScaled(dst, e/h, s.stage(s.z, j))
	}
	for k, m := range s.table.modes {
		if m.im == 0 && m.re == s.table.gamma {
			s.real[k].Solve(dst)
			for i := range dst {
				dst[i] *= s.stale()
			}
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
