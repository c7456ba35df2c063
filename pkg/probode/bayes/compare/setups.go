package compare

import (
	"cmp"
	"context"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/reference"
)

// Tolerance returns the tolerance of a Setup under error control. For any other Setup the
// second result is false.
func Tolerance(s probode.Setup) (probode.Tolerance, bool) {
	switch m := s.Mesh.(type) {
	case probode.Adaptive:
		return m.Tolerance, true
	case probode.Frozen:
		return m.Tolerance, true
	}
	return probode.Tolerance{}, false
}

// Size returns the step size of s or, under error control, the relative tolerance of s.
// If the relative tolerance is zero, the function returns the largest absolute tolerance.
// Size returns 0 for a setup without steps or tolerances.
func Size(s probode.Setup) float64 {
	t, ok := Tolerance(s)
	switch {
	case !ok:
		return s.StepSize()
	case t.Relative > 0 || t.Absolute == nil:
		return t.Relative
	}
	return slices.Max(t.Absolute)
}

// Sized returns a copy of s with another step size. Under error control, the argument
// `to` is the new relative tolerance, and the absolute tolerances change in proportion.
// If the relative tolerance of s is zero, `to` is the new value of the largest absolute
// tolerance.
func Sized(s probode.Setup, to float64) probode.Setup {
	t, ok := Tolerance(s)
	if !ok {
		return s.WithStepSize(to)
	}
	t = t.Times(to / Size(s))
	switch m := s.Mesh.(type) {
	case probode.Adaptive:
		m.Tolerance = t
		s.Mesh = m
	case probode.Frozen:
		m.Tolerance = t
		s.Mesh = m
	}
	return s
}

func accurateTolerance(a reference.Accurate) float64 { return cmp.Or(a.Relative, 1e-10) }

// Finer returns a Setup from which the error of s can be told. If s chooses its steps at
// every θ, it is s with a hundredth of the tolerance and halved steps, because Max and the
// times of the data may limit the steps, and not the tolerance. reference.Accurate repeats
// a solve with a hundredth of its tolerance if the error is large, and gets a thousandth.
// For any other Setup it is catalog.Default with a hundredth of the tolerance and halved
// steps.
func Finer(s probode.Setup) probode.Setup {
	s = tighter(s)
	if m, ok := s.Mesh.(probode.Adaptive); ok {
		s.Mesh = m.InParts(2)
	}
	return s
}

// tighter is Finer without halved steps.
func tighter(s probode.Setup) probode.Setup {
	if a, ok := s.Mesh.(reference.Accurate); ok {
		tol := accurateTolerance(a)
		if a.Relative = max(tol/1000, 1e-13); a.Relative >= tol {
			a.Relative = 10 * tol // a smaller tolerance is not possible, but the difference from a larger one bounds the error
		}
		s.Mesh = a
		return s
	}
	m, ok := s.Mesh.(probode.Adaptive)
	if !ok {
		s = catalog.Default()
		m = s.Mesh.(probode.Adaptive)
	}
	m.Tolerance = m.Times(0.01)
	s.Mesh = m
	return s
}

// Sufficient reduces the tolerance or step size of s, at most eight times, until D between
// s and Finer(s) is at most `limit` at all points.
func (p Points) Sufficient(ctx context.Context, s probode.Setup, limit float64) (enough probode.Setup, found bool, err error) {
	for range 8 {
		if a, ok := s.Mesh.(reference.Accurate); ok {
			a = reference.Accurate{Tolerance: probode.Tolerance{Relative: accurateTolerance(a) / 10}}
			if s.Mesh = a; a.Relative < 0.99e-12 {
				return s, false, nil // there is no more accurate solution to compare it with
			}
		} else {
			s = Sized(s, Size(s)/2)
		}
		all, err := p.Differences(ctx, s, Finer(s))
		if err != nil {
			return s, false, err
		}
		if !slices.ContainsFunc(all, func(d Difference) bool { return !(d.D <= limit) }) {
			return s, true, nil
		}
	}
	return s, false, nil
}
