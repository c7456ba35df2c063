package certify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/reference"
)

// The functions in this file compute the properties of a setup that certificates need:
// its step size or tolerance, its description in words, and a more accurate setup.

func tolerance(s probode.Setup) (probode.Tolerance, bool) {
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
	t, ok := tolerance(s)
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
	t, ok := tolerance(s)
	if !ok {
		return s.WithStepSize(to)
	}
	by := to / Size(s)
	t.Relative *= by
	t.Absolute = slices.Clone(t.Absolute)
	for k := range t.Absolute {
		t.Absolute[k] *= by
	}
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

// finer returns a hundredth of the tolerance, a tenth of the step, or reference.Accurate.
// Under error control it also halves the steps, which Max and the times of the data may
// limit, so that two tolerances give the same steps. reference.Accurate itself repeats a solve with a hundredth of its tolerance if the error is large,
// and gets a thousandth.
func finer(s probode.Setup) probode.Setup {
	if a, ok := s.Mesh.(reference.Accurate); ok {
		tol := accurateTolerance(a)
		if a.Relative = max(tol/1000, 1e-13); a.Relative >= tol {
			a.Relative = 10 * tol // a smaller tolerance is not possible, but the difference from a larger one bounds the error
		}
		s.Mesh = a
		return s
	}
	_, controlled := tolerance(s)
	switch {
	case controlled:
		s = Sized(s, Size(s)/100)
		if m, ok := s.Mesh.(probode.Adaptive); ok {
			s.Mesh = m.Halved()
		}
		return s
	case Size(s) > 0:
		return Sized(s, Size(s)/10)
	}
	return probode.Setup{Mesh: reference.Accurate{}}
}

// equalSteps is the classical Runge–Kutta method with n steps over the longest span.
func equalSteps(p *bayes.Posterior, n float64) probode.Setup {
	_, longest := spans(p)
	return probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(longest / n)}
}

func spans(p *bayes.Posterior) (shortest, longest float64) {
	shortest = math.Inf(1)
	for _, x := range p.Experiments {
		if x.Problem != nil {
			length := x.Problem.Span[1] - x.Problem.Span[0]
			shortest, longest = min(shortest, length), max(longest, length)
		}
	}
	return shortest, longest
}

// describe names a tolerance without `frozen` if steps are chosen anew at every θ.
func describe(s probode.Setup) string {
	var words []string
	if s.Method != nil {
		words = append(words, s.Method.String())
	}
	t, controlled := tolerance(s)
	_, frozen := s.Mesh.(probode.Frozen)
	switch {
	case frozen:
		words = append(words, t.String(), "frozen")
	case controlled:
		words = append(words, t.String())
	case s.StepSize() > 0:
		words = append(words, fmt.Sprintf("h = %.4g", s.StepSize()))
	case s.Mesh != nil:
		words = append(words, s.Mesh.String())
	}
	return strings.Join(words, ", ")
}
