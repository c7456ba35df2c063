package probode

import (
	"errors"
	"fmt"
	"math"
)

// A localizer estimates local errors, as an Estimator does.
type localizer interface {
	LocalError(dst []float64, i int, x, next, theta []float64) error
}

// newLocalizer returns an estimator of the local errors of a stepper on the grid g. If
// the stepper is an Estimator, newLocalizer returns the stepper itself. For other
// steppers, newLocalizer returns a value of the type `doubling`. If a stepper that is not
// an Estimator uses values from earlier steps, newLocalizer returns an error.
func newLocalizer(p *Problem, m Method, g *Grid, step Stepper) (localizer, error) {
	if e, ok := step.(Estimator); ok {
		return e, nil
	}
	if remembers(step) {
		return nil, fmt.Errorf("%v uses values from earlier steps and does not estimate local errors: use a one-step method, a method with LocalError, or ScaleStep on a uniform grid", m)
	}
	return newDoubling(p, m, g)
}

// The function remembers() reports whether a Stepper stores values from earlier steps.
func remembers(step Stepper) bool {
	r, ok := step.(Rememberer)
	return ok && r.Memory() > 0
}

// Doubled is a one-step method whose local errors are estimated by step doubling. This
// estimate replaces the error estimate of the field Method, if there is one. If `next` is
// the result of one step, and next₂ the result of two steps of half the length, the
// estimate is
//
//	(next − next₂) · 2^q / (2^q − 1),
//
// where q is the order of the method. The field Method computes the path. To use this
// estimate in some steps of another method, make a Stepper of Doubled and call the
// LocalError method of this Stepper.
type Doubled struct{ Method }

func (m Doubled) String() string { return m.Method.String() + ", doubled" }

func (m Doubled) Stepper(p *Problem, g *Grid) (Stepper, error) {
	errs, err := newDoubling(p, m.Method, g)
	if err != nil {
		return nil, err
	}
	step, err := m.Method.Stepper(p, g)
	return &doubled{step, errs}, err
}

// The type `doubled` is the Stepper of a Doubled method.
type doubled struct {
	Stepper
	*doubling
}

// The type `doubling` estimates the local errors of a method on the grid g. Each step is
// compared with two steps of half the length. The resulting estimates have the same order
// as the method. An embedded formula gives an estimate of lower order, which is good
// enough for choosing steps but not for scaling noise. On the FitzHugh–Nagumo problem,
// for example, the embedded estimate of Radau5 is fifty times too large at a tolerance of
// 10⁻³, and 300 times too large at 10⁻⁵.
type doubling struct {
	g    *Grid
	half Stepper // makes the two steps of half the length
	two  *Grid   // the grid of these two steps
	mid  []float64
	gain float64 // 2^q/(2^q − 1)
}

func newDoubling(p *Problem, m Method, g *Grid) (*doubling, error) {
	power := math.Exp2(float64(m.Order()))
	d := &doubling{g: g, two: &Grid{t: make([]float64, 3)}, mid: make([]float64, p.Dim()), gain: power / (power - 1)}
	var err error
	if d.half, err = m.Stepper(p, d.two); err != nil {
		return nil, err
	}
	if remembers(d.half) {
		return nil, fmt.Errorf("%v uses values from earlier steps: want a one-step method for step doubling", m)
	}
	return d, nil
}

func (d *doubling) LocalError(dst []float64, i int, x, next, theta []float64) error {
	t0, t1 := d.g.t[i], d.g.t[i+1]
	mid := t0 + (t1-t0)/2
	if mid == t0 || mid == t1 { // the events are one ulp apart, so the step has no middle
		clear(dst)
		return nil
	}
	d.two.t[0], d.two.t[1], d.two.t[2] = t0, mid, t1
	if err := d.half.Start(0, x, theta); err != nil {
		return err
	}
	if err := d.half.Step(d.mid, 0, x, theta, nil, nil); err != nil {
		return err
	}
	if err := d.half.Step(dst, 1, d.mid, theta, nil, nil); err != nil {
		return err
	}
	for k, v := range dst {
		dst[k] = d.gain * (next[k] - v)
	}
	return nil
}

func (s *doubled) Differentiate(dnext []float64, i int, x, next, theta, xi, scale []float64, t *Tangents) error {
	if d, ok := s.Stepper.(Differentiable); ok {
		return d.Differentiate(dnext, i, x, next, theta, xi, scale, t)
	}
	return errors.ErrUnsupported
}

func (s *doubled) Reverse(a *Adjoint, i int, x, next, theta, xi, scale []float64) error {
	if r, ok := s.Stepper.(Reverser); ok {
		return r.Reverse(a, i, x, next, theta, xi, scale)
	}
	return errors.ErrUnsupported
}

// localErrors returns the sizes of the local errors of the classical path at θ. The path
// is computed on the grid of s, and the result is an N×d array.
func (s *Solver) localErrors(theta []float64) ([]float64, error) {
	out := make([]float64, s.Steps()*s.d)
	errs, err := newLocalizer(s.inside, s.m, s.g, s.step)
	if err == nil && !remembers(s.step) {
		errs, err = newDoubling(s.inside, s.m, s.g)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.p.Title(), err)
	}
	err = s.eachLocal(errs, theta, func(i int, local, _, _ []float64) {
		for k, v := range local {
			out[i*s.d+k] = math.Abs(v)
		}
	})
	return out, err
}

// Strain returns the largest local error of the classical path at θ, divided by the
// tolerance of the run that made the grid. If the result is far above one, the steps of
// the grid are too long for this θ. Strain returns an error if the grid does not come
// from an error-controlled run.
func (s *Solver) Strain(theta []float64) (float64, error) {
	if s.g.tol == nil {
		return 0, fmt.Errorf("%s: the steps of the grid (%v) were not chosen to meet a tolerance: want a grid from an error-controlled run", s.p.Title(), s.g)
	}
	errs, err := newLocalizer(s.inside, s.m, s.g, s.step)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.p.Title(), err)
	}
	var worst float64
	yard := newYardstick(s.g.tol, s.inside)
	copy(yard.scale, s.g.scale)
	err = s.eachLocal(errs, theta, func(i int, local, x, next []float64) {
		yard.notice(x)
		t := s.g.t[i]
		worst = max(worst, yard.worst(local, x, next, t, s.g.H(i), s.g.H(i)/(s.g.span[1]-s.g.span[0]), theta))
	})
	return worst, err
}

// eachLocal calls the function do() with the local error of each step of the classical
// path.
func (s *Solver) eachLocal(errs localizer, theta []float64, do func(i int, local, x, next []float64)) (err error) {
	z := make([]float64, s.PathLen())
	if err := s.Solve(z, theta, nil); err != nil {
		return err
	}
	local := make([]float64, s.d)
	at := s.p.Span[0]
	defer s.p.recovered(&err, &at, nil, theta)
	for j := range s.g.seg {
		seg := &s.g.seg[j]
		if seg.from == seg.to || s.g.t[seg.from] == s.g.t[seg.to] {
			continue
		}
		*s.now = seg.now
		if err := s.step.Start(seg.from, row(z, seg.from, s.d), theta); err != nil {
			return s.Fail(seg.from, theta, row(z, seg.from, s.d), err)
		}
		for i := seg.from; i < seg.to; i++ {
			x, next := row(z, i, s.d), row(z, i+1, s.d)
			if at = s.g.t[i]; s.stop.Ended() {
				return s.Fail(i, theta, x, s.cause())
			}
			if err := s.step.Step(next, i, x, theta, nil, nil); err != nil {
				return s.Fail(i, theta, x, err)
			}
			if err := errs.LocalError(local, i, x, next, theta); err != nil {
				return s.Fail(i, theta, x, err)
			}
			do(i, local, x, next)
		}
	}
	return nil
}
