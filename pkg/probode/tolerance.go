package probode

import (
	"fmt"
	"math"
	"slices"
)

// A Tolerance bounds the local error of a step, component by component, by
// Absolute + Relative |x|.
type Tolerance struct {
	Relative float64
	// Absolute has either a single element for all components, or one element for each
	// component. If Absolute is nil, the absolute tolerance of a component is at most
	// Relative/1000 times the largest magnitude that this component has in the run. For a
	// component that does not begin at zero, only the values so far count. If a
	// component begins at zero and stays small, the run is repeated with the size that the
	// component has reached. Rounding errors of f are always permitted.
	Absolute []float64
}

// Times returns the tolerance multiplied by a positive factor.
func (t Tolerance) Times(factor float64) Tolerance {
	t.Relative *= factor
	t.Absolute = slices.Clone(t.Absolute)
	for k := range t.Absolute {
		t.Absolute[k] *= factor
	}
	return t
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

func (t Tolerance) String() string {
	switch len(t.Absolute) {
	case 0:
		return fmt.Sprintf("rtol = %g", t.Relative)
	case 1:
		return fmt.Sprintf("rtol = %g, atol = %g", t.Relative, t.Absolute[0])
	}
	return fmt.Sprintf("rtol = %g, atol by component", t.Relative)
}
