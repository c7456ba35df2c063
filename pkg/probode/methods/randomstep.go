package methods

import (
	"errors"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/field"
)

// RandomStep makes a one-step method probabilistic by giving each step a random length
// [AG20]. If q is the order of Method and p is the order of the noise, the length of a
// step is
//
//	H = h + √(3α) h^{p+1/2} (2Φ(ξ) − 1),   ξ ~ N(0, 1),
//
// instead of h. H is uniformly distributed with mean h and variance α h^{2p+1}, and ξ = 0
// gives the classical method. The mean square order is min(p, q), and the weak order is
// min(2p, q).
//
// Method takes every step of a path. If Method preserves linear invariants, quadratic
// invariants or positivity, each path also preserves them, up to rounding errors. If
// Method is symplectic, the energy is nearly preserved over long times.
//
// Method takes steps of length h with the vector field (H/h) f. If f does not depend on
// t, a step of length h with (H/h) f equals a step of length H with f. If f depends on t,
// f is evaluated only at times in [tᵢ, tᵢ + h]. The random step length H must be
// positive. If √(3α) h^{p−1/2} ≥ 1, every step with noise fails, so calibration excludes
// these values of α.
//
// Method must be a one-step method. The one-step Adams methods are AB1, AM0 and AM1. On
// the grid of an error-controlled solve, the default scaling is probode.ScaleLocal, which
// adds noise to the state instead of making the step lengths random. With
// probode.ScaleStep, the step lengths are random on every grid.
type RandomStep struct {
	// Method takes the steps.
	Method probode.Method
	// Power is the order p of the noise, at least 1/2; zero means the order of Method.
	Power float64
}

// errStepSize reports a noise scale for which random step lengths could be zero or
// negative.
var errStepSize = errors.New("the noise scale is so large that random steps could be negative: use a smaller alpha or a smaller step")

func (m RandomStep) method() probode.Method {
	if m.Method == nil {
		panic("methods: RandomStep.Method is nil: want a one-step method")
	}
	return m.Method
}

func (m RandomStep) power() float64 {
	if m.Power == 0 {
		return float64(m.method().Order())
	}
	return m.Power
}

func (m RandomStep) String() string {
	if m.Power == 0 {
		return fmt.Sprintf("%v, random steps", m.method())
	}
	return fmt.Sprintf("%v, random steps (p = %g)", m.method(), m.Power)
}

func (m RandomStep) Order() int { return m.method().Order() }

func (m RandomStep) Noise(int) probode.Noise {
	return probode.Noise{Normals: 1, Exponent: m.power() + 0.5}
}

func (m RandomStep) Stepper(p *probode.Problem, g *probode.Grid) (*probode.Stepper, error) {
	if !(m.power() >= 0.5) || math.IsInf(m.power(), 1) {
		return nil, fmt.Errorf("the Power of RandomStep is %g: want a finite number ≥ 1/2", m.Power)
	}
	r := &randomStep{n: len(p.Theta), theta: make([]float64, len(p.Theta)+1), scaled: p.Wrapped(field.Wrap{More: 1, Factor: true})}
	var err error
	if r.inner, err = m.method().Stepper(r.scaled, g); err != nil {
		return nil, err
	}
	if r.inner.Memory > 0 {
		return nil, fmt.Errorf("%v uses earlier steps, but random steps need a one-step method", m.Method)
	}
	s := &probode.Stepper{Start: r.start, Step: r.step}
	if r.inner.LocalError != nil {
		s.LocalError = r.localError
	}
	if r.inner.Differentiate != nil {
		s.Differentiate = r.differentiate
	}
	if r.inner.Reverse != nil {
		s.Reverse = r.reverse
	}
	return s, nil
}

// A randomStep takes the steps of RandomStep: `inner` takes each step with the vector field
// (H/h) f.
type randomStep struct {
	inner *probode.Stepper
	n     int          // number of parameters of the problem
	theta []float64    // θ and then H/h
	one   probode.Step // the step as inner takes it

	tangents probode.Tangents // with the derivatives of H/h
	scaled   *probode.Problem // whose field is f multiplied by c
	adjoint  *probode.Adjoint // with the gradient with respect to H/h
}

func (r *randomStep) start(s *probode.Step) error {
	if r.inner.Start == nil {
		return nil
	}
	return r.inner.Start(r.with(s, 1))
}

// with returns s without noise, for the vector field c f.
func (r *randomStep) with(s *probode.Step, c float64) *probode.Step {
	copy(r.theta, s.Theta)
	r.theta[r.n] = c
	r.one = *s
	r.one.Theta, r.one.Xi, r.one.Scale = r.theta, nil, nil
	return &r.one
}

// scale returns s without noise, for the vector field (H/h) f.
func (r *randomStep) scale(s *probode.Step) (*probode.Step, error) {
	if s.Xi == nil {
		return r.with(s, 1), nil
	}
	reach := math.Sqrt(3) * s.Scale[0] / s.H
	if !(reach < 1) {
		return nil, fmt.Errorf("%w (√(3α) h^(p−1/2) is %.3g: want a number < 1)", errStepSize, reach)
	}
	return r.with(s, 1+reach*math.Erf(s.Xi[0]/math.Sqrt2)), nil // 2Φ(ξ) − 1 = erf(ξ/√2)
}

func (r *randomStep) step(s *probode.Step) error {
	one, err := r.scale(s)
	if err != nil {
		return err
	}
	return r.inner.Step(one)
}

func (r *randomStep) localError(dst []float64, s *probode.Step) error {
	return r.inner.LocalError(dst, r.with(s, 1))
}

// differentiate treats the factor H/h of a random step as a further parameter of the
// wrapped method.
func (r *randomStep) differentiate(dnext []float64, s *probode.Step, tg *probode.Tangents) error {
	one, err := r.scale(s)
	if err != nil {
		return err
	}
	wide := r.n + 1
	if len(r.tangents.Theta) != tg.M*wide {
		r.tangents.Theta = make([]float64, tg.M*wide)
	}
	w := &r.tangents
	w.M, w.X, w.Time, w.Length = tg.M, tg.X, tg.Time, tg.Length
	for m := range tg.M {
		dtheta, _, _, dh := tg.Direction(m)
		copy(w.Theta[m*wide:], dtheta)
		dc := 0.
		if s.Xi != nil {
			dc = -(r.theta[r.n] - 1) / s.H * dh
			if tg.Scale != nil {
				dc += math.Sqrt(3) * tg.Scale[m] / s.H * math.Erf(s.Xi[0]/math.Sqrt2)
			}
		}
		w.Theta[m*wide+r.n] = dc
	}
	return r.inner.Differentiate(dnext, one, w)
}
