package probode

import (
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/internal/vector"
)

// A Tolerance bounds the local error of a step, component by component, by
// Absolute + Relative |x|.
type Tolerance struct {
	Relative float64
	// Absolute has either a single element for all components, or one element for each
	// component. If Absolute is nil, the absolute tolerance of a component is Relative
	// times a typical size of the component. The typical size is 1/1000 of the largest
	// magnitude that the component has had so far, but at least 10⁻⁶ of the largest
	// magnitude that any component has had. A component that stays below 10⁻⁶ of the
	// largest component, such as the concentration of a trace substance, needs its own
	// value of Absolute. If the initial state is zero, the rate of change in the first
	// step is extrapolated over the whole span to estimate a typical size.
	Absolute []float64
}

func (t Tolerance) check(d int) error {
	if !(t.Relative >= 0) || math.IsInf(t.Relative, 1) {
		return fmt.Errorf("the relative tolerance is %g: want a finite number ≥ 0", t.Relative)
	}
	if t.Absolute != nil && len(t.Absolute) != 1 && len(t.Absolute) != d {
		return fmt.Errorf("there are %d absolute tolerances: want one for all components, or one for each of the %d components", len(t.Absolute), d)
	}
	for _, a := range t.Absolute {
		if !(a >= 0) || math.IsInf(a, 1) || a == 0 && t.Relative == 0 {
			return fmt.Errorf("the absolute tolerance is %g: want a finite number > 0, or 0 if the relative tolerance is > 0", a)
		}
	}
	if t.Absolute == nil && t.Relative == 0 {
		return fmt.Errorf("the tolerances are zero: want a relative or an absolute tolerance > 0")
	}
	return nil
}

// wide extends the tolerance t of a problem to a larger problem of dimension d. The first
// components of the larger problem are those of the original problem. The additional
// components are constant between events.
func (t Tolerance) wide(d int) Tolerance {
	if len(t.Absolute) > 1 {
		t.Absolute = slices.Clone(t.Absolute)
		for len(t.Absolute) < d {
			t.Absolute = append(t.Absolute, slices.Min(t.Absolute))
		}
	}
	return t
}

// The method size() returns the permitted error of component k in a step. The component
// has the value a at the beginning of the step and b at its end. The argument `peak` is
// the largest absolute value of component k so far, and the argument `top` is the largest
// absolute value of any component so far.
func (t *Tolerance) size(k int, a, b, peak, top float64) float64 {
	x := math.Abs(a)
	if v := math.Abs(b); !(v <= x) {
		x = v
	}
	switch len(t.Absolute) {
	case 0:
		if v := 1e-3 * peak; v > x {
			x = v
		}
		if v := 1e-6 * top; v > x {
			x = v
		}
		if x = t.Relative * x; x == 0 {
			x = math.SmallestNonzeroFloat64
		}
		return x
	case 1:
		k = 0
	}
	return t.Absolute[k] + t.Relative*x
}

func (t Tolerance) String() string {
	switch len(t.Absolute) {
	case 0:
		return fmt.Sprintf("rtol = %g", t.Relative)
	case 1:
		return fmt.Sprintf("rtol = %g, atol = %g", t.Relative, t.Absolute[0])
	}
	return fmt.Sprintf("rtol = %g, atol by component", t.Relative)
}

// The method worst() divides the local error of each component by the tolerance for this
// component, and returns the largest quotient. The local errors are those of a step from
// the state x to the state `next`. The argument `peak` holds the largest absolute value
// of each component up to x, and the argument `part` is the length of the step as a
// fraction of the span.
func (t Tolerance) worst(local, x, next, peak []float64, part float64) float64 {
	worst, top := 0., vector.MaxAbs(peak)
	if top == 0 {
		// For the equation x′ = t⁵ with x(0) = 0, the relative error of the first step is
		// the same for every length of the step. Therefore, if the state is zero at the
		// beginning of a step, the error of the step is compared with the size that the
		// state would reach over the whole span.
		top = min(vector.MaxAbs(next)/part, math.MaxFloat64)
	}
	top = max(top, vector.MaxAbs(next))
	for k, e := range local {
		// The built-in function max would be much slower than these comparisons, because
		// it treats NaN and −0 separately.
		r := math.Abs(e) / t.size(k, x[k], next[k], peak[k], top)
		if !(r <= worst) {
			if worst = r; e != e {
				return math.Inf(1)
			}
		}
	}
	return worst
}
