package probode

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode/internal/yardstick"
)

// localError returns the function that estimates the local errors of a method with the
// given Stepper: its own or, if it has none, step doubling.
func localError(p *Problem, m Method, s *Stepper) (func(dst []float64, s *Step) error, error) {
	switch {
	case s.LocalError != nil:
		return s.LocalError, nil
	case s.Memory > 0:
		return nil, fmt.Errorf("%v uses values from earlier steps and does not estimate local errors: use a one-step method, a method with LocalError, or ScaleStep on a uniform grid", m)
	}
	return doubling(p, m)
}

// Doubled is a one-step method whose local errors are estimated by step doubling. This
// estimate replaces the error estimate of Method, if there is one. If `next` is the
// result of one step, and next₂ the result of two steps of half the length, the estimate
// is
//
//	(next − next₂) · 2^q / (2^q − 1),
//
// where q is the order of the method. The estimate has the same order as the method. An
// embedded formula gives an estimate of lower order, which is good enough for choosing
// steps but not for scaling noise. On the FitzHugh–Nagumo problem, for example, the
// embedded estimate of Radau5 is fifty times too large at a tolerance of 10⁻³, and 300
// times too large at 10⁻⁵.
//
// Method computes the path. To use this estimate in some steps of another method, make a
// Stepper of Doubled and call its LocalError.
type Doubled struct{ Method }

func (m Doubled) String() string { return m.Method.String() + ", doubled" }

func (m Doubled) Stepper(p *Problem, g *Grid) (*Stepper, error) {
	s, err := m.Method.Stepper(p, g)
	if err != nil {
		return nil, err
	}
	s.LocalError, err = doubling(p, m.Method)
	return s, err
}

// doubling returns a function that compares a step of m with two steps of half the length.
func doubling(p *Problem, m Method) (func(dst []float64, s *Step) error, error) {
	half, err := m.Stepper(p, nil)
	if err != nil {
		return nil, err
	}
	if half.Memory > 0 {
		return nil, fmt.Errorf("%v uses values from earlier steps: want a one-step method for step doubling", m)
	}
	power, mid, one := math.Exp2(float64(m.Order())), make([]float64, p.Dim()), new(Step)
	gain := power / (power - 1)
	return func(dst []float64, s *Step) error {
		t := s.T + (s.End-s.T)/2
		if t == s.T || t == s.End { // the events are one ulp apart, so the step has no middle
			clear(dst)
			return nil
		}
		*one = Step{T: s.T, End: t, H: t - s.T, X: s.X, Next: mid, Theta: s.Theta}
		if half.Start != nil {
			if err := half.Start(one); err != nil {
				return err
			}
		}
		one.Order = s.Order
		if err := half.Step(one); err != nil {
			return err
		}
		one.T, one.End, one.H, one.X, one.Next = t, s.End, s.End-t, mid, dst
		if err := half.Step(one); err != nil {
			return err
		}
		for k, v := range dst {
			dst[k] = gain * (s.Next[k] - v)
		}
		return nil
	}, nil
}

// localErrors returns the sizes of the local errors of the classical path at θ. The path
// is computed on the grid of s, and the result is an N×d array.
func (s *Solver) localErrors(theta []float64) ([]float64, error) {
	out := make([]float64, s.Steps()*s.d)
	errs, err := localError(s.inside, s.m, s.step)
	if err == nil && s.step.Memory == 0 {
		errs, err = doubling(s.inside, s.m)
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
	errs, err := localError(s.inside, s.m, s.step)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.p.Title(), err)
	}
	var worst float64
	yard := yardstick.New(s.g.tol.Relative, s.g.tol.Absolute, s.d, s.inside.F)
	copy(yard.Scale, s.g.scale)
	err = s.eachLocal(errs, theta, func(i int, local, x, next []float64) {
		yard.Notice(x)
		t := s.g.t[i]
		worst = max(worst, yard.Worst(local, x, next, t, s.g.H(i), s.g.H(i)/(s.g.span[1]-s.g.span[0]), theta))
	})
	return worst, err
}

// eachLocal calls do with the local error of each step of the classical path.
func (s *Solver) eachLocal(errs func([]float64, *Step) error, theta []float64, do func(i int, local, x, next []float64)) error {
	s.follower = &localRun{s, make([]float64, s.d), errs, do}
	defer func() { s.follower = nil }()
	return s.Solve(make([]float64, s.PathLen()), theta, nil)
}

// A localRun estimates local errors while a Solver computes a path.
type localRun struct {
	s     *Solver
	local []float64
	errs  func(dst []float64, s *Step) error
	do    func(i int, local, x, next []float64)
}

func (l *localRun) start([]float64)                          {}
func (l *localRun) jump(_, _ int, _, _ []float64, _ float64) {}

func (l *localRun) step(i, _ int, z, theta, _ []float64) error {
	one := l.s.at(i, z, theta)
	if one.T == one.End {
		return nil
	}
	x, next := one.X, one.Next
	if err := l.errs(l.local, one); err != nil {
		return err
	}
	l.do(i, l.local, x, next)
	return nil
}
