// Package reference computes accurate solutions and conservative estimates of their
// errors. Use the solutions to measure the errors of other solvers.
package reference

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
)

// A family is one of the two basic rules that can be extrapolated: the explicit rule or
// the implicit rule.
type family int

const (
	either family = iota // chosen during the integration
	explicit
	implicit
)

const (
	// coarsest is the largest allowed relative tolerance for the error of a step.
	coarsest = 1e-4
	// loosest is the largest relative tolerance of the looser integration.
	loosest = 1e-3
)

// Settings holds the options of Solve. With the zero value, the solution has nearly full
// precision.
type Settings struct {
	// Tolerance is a bound on the estimated error of one step in each component. If
	// Relative is zero and Absolute is nil, Relative is set to 1e-14. Nonzero values of
	// Relative must be at least 1e-15, because rounding errors prevent higher accuracy.
	// Values above 1e-4 are replaced by 1e-4. If Absolute is nil, the permitted error is
	// Relative times the size of the component. The size of a component is its absolute
	// value, but at least 10⁻⁶ times its largest absolute value so far. If a component
	// begins at zero and stays small, the integration is repeated with the size that the
	// component has reached.
	probode.Tolerance

	// Global makes Tolerance a bound on Solution.Error instead of a bound on the error of
	// a step: the integration is repeated with smaller steps until
	//
	//	Error ≤ Absolute + Relative × |X|
	//
	// for all components and times. If Error remains above this bound, Solve returns an
	// error. If Absolute is nil, the absolute tolerance of a component is Relative/1000
	// times the largest absolute value of this component so far.
	Global bool

	// MaxStep is the maximum length of a step; f is called at least once in every
	// interval of length MaxStep/8. Zero means no maximum if the problem is Autonomous.
	// If the problem is not Autonomous, zero means 1/128 of the span, because f may
	// contain pulses. If MaxStep is 1/128 of the span, Solve detects every pulse whose
	// length is at least 1/1000 of the span. The value math.Inf(1) means no maximum. If
	// there is no maximum, Solve is faster, but it may miss a short pulse in f whose
	// beginning is not an event.
	MaxStep float64

	// Theta is θ; nil means Problem.Theta.
	Theta []float64

	// MaxSteps is the maximum number of steps between the start and the last time. One
	// more step is allowed for each requested time and each event. Zero means 1e6, or 2e4 if
	// f jumps again and again, as in a thermostat without hysteresis.
	MaxSteps int

	fixed family // for tests: the family of steps to use throughout
}

// A Solution is an accurate solution at chosen times.
type Solution struct {
	// Times are the requested times, and X contains the states at these times, in
	// row-major order: X[i*d+k] is component k at Times[i].
	Times, X []float64

	// Error is a conservative estimate of the global error of X and has the same shape as
	// X. The documentation of Solve explains how this estimate is computed, and which
	// errors no solver can detect.
	Error []float64

	// The following numbers are sums over all integrations.
	steps       int // accepted steps
	rejected    int // rejected steps
	evaluations int // calls of F and FJ
	implicit    int // accepted steps of the implicit rule
}

// complete replaces zero values of settings by the defaults, and checks the settings.
func (s *Settings) complete(p *probode.Problem) error {
	if s.Relative == 0 && s.Absolute == nil {
		s.Relative = 1e-14
	}
	if !s.Global && s.Relative < 1 {
		s.Relative = min(s.Relative, coarsest)
	}
	s.MaxSteps = cmp.Or(s.MaxSteps, 1e6)
	if s.Theta == nil {
		s.Theta = p.Theta
	}
	s.Theta = slices.Clone(s.Theta)
	if s.MaxStep == 0 {
		s.MaxStep = math.Inf(1)
		if !p.Autonomous {
			s.MaxStep = (p.Span[1] - p.Span[0]) / 128
		}
	}
	d := p.Dim()
	switch {
	case s.MaxSteps < 0:
		return fmt.Errorf("MaxSteps is %d: want ≥ 0", s.MaxSteps)
	case !(s.MaxStep > 0):
		return fmt.Errorf("MaxStep is %g: want > 0", s.MaxStep)
	case len(s.Theta) != len(p.Theta):
		return fmt.Errorf("%d parameters: want %d", len(s.Theta), len(p.Theta))
	case s.Relative != 0 && !(s.Relative >= 1e-15 && s.Relative < 1):
		return fmt.Errorf("the relative tolerance is %g: want a number in [1e-15, 1), or 0 if all absolute tolerances are > 0", s.Relative)
	case s.Absolute != nil && len(s.Absolute) != 1 && len(s.Absolute) != d:
		return fmt.Errorf("there are %d absolute tolerances: want one for all components, or one for each of the %d components", len(s.Absolute), d)
	}
	for k, v := range s.Theta {
		if v-v != 0 {
			return fmt.Errorf("parameter %s is %g: want a finite number", p.ParamName(k), v)
		}
	}
	for _, a := range s.Absolute {
		if !(a >= 0) || math.IsInf(a, 1) || a == 0 && s.Relative == 0 {
			return fmt.Errorf("an absolute tolerance is %g: want a finite number > 0, or 0 if the relative tolerance is > 0", a)
		}
	}
	return nil
}

// permitted returns the error that the tolerances permit in component k. The argument x
// is the size of the component.
func (s *Settings) permitted(k int, x float64) float64 {
	e := s.Relative * x
	switch len(s.Absolute) {
	case 0:
	case 1:
		e += s.Absolute[0]
	default:
		e += s.Absolute[k]
	}
	return e
}

// smallest returns the size of component k for which the absolute and the relative
// tolerance permit the same error.
func (s *Settings) smallest(k int) float64 {
	if s.Absolute == nil {
		return 0
	}
	relative := cmp.Or(s.Relative, loosest)
	return s.permitted(k, 0) / relative
}
