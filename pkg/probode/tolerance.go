package probode

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/internal/rounding"
	"github.com/probode/probode/pkg/probode/internal/vector"
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

// A yardstick expresses local errors in units of a tolerance.
type yardstick struct {
	*Tolerance
	p     *Problem  // as steppers see it
	peak  []float64 // largest absolute value of each component so far
	scale []float64 // estimate of peak at the end of the run; 0 if it is not known

	f, other, noise, at []float64 // workspace of careful
}

func newYardstick(t *Tolerance, p *Problem) yardstick {
	y := yardstick{Tolerance: t, p: p}
	for _, v := range []*[]float64{&y.peak, &y.scale, &y.f, &y.other, &y.noise, &y.at} {
		*v = make([]float64, p.Dim())
	}
	return y
}

// begin starts a run in the state x. A component that does not begin at zero is not
// compared with others even in the first run.
func (y *yardstick) begin(x []float64) {
	clear(y.peak)
	y.notice(x)
	for k, v := range y.peak {
		if y.scale[k] == 0 && len(y.Absolute) == 0 {
			y.scale[k] = v
		}
	}
}

// notice updates the largest absolute value of each component.
func (y *yardstick) notice(x []float64) {
	for k, v := range x {
		if v = math.Abs(v); v > y.peak[k] {
			y.peak[k] = v
		}
	}
}

// The size of a component whose scale is not known is taken to be at least `share` times
// the largest component of the state, until a run has shown its true size.
const share = 1e-3

// learn is called at the end of a run. It reports whether the errors of a component were
// compared with a size that the component has never had. In this case the run must be
// repeated, and learn stores the scale of the component for the next run.
func (y *yardstick) learn() (again bool) {
	if len(y.Absolute) > 0 {
		return false
	}
	top := vector.MaxAbs(y.peak)
	for k, v := range y.peak {
		if v > 0 && v < cmp.Or(y.scale[k], share*top) {
			y.scale[k], again = v/2, true // the next run may find a slightly smaller value
		}
	}
	return again
}

// size returns the permitted error of component k in a step from the value a to the value
// b. The argument `top` is the largest absolute value of any component so far.
func (y *yardstick) size(k int, a, b, top float64) float64 {
	x := math.Abs(a)
	if v := math.Abs(b); !(v <= x) {
		x = v
	}
	switch len(y.Absolute) {
	case 0:
		if v := 1e-3 * y.peak[k]; v > x {
			x = v
		}
		if scale := y.scale[k]; scale == 0 {
			top *= share
		} else {
			top = scale
		}
		if v := 1e-3 * top; v > x {
			x = v
		}
		if x = y.Relative * x; x == 0 {
			x = math.SmallestNonzeroFloat64
		}
		return x
	case 1:
		k = 0
	}
	return y.Absolute[k] + y.Relative*x
}

// worst divides the local error of each component by the tolerance for this component,
// and returns the largest quotient. The step begins at time t in the state x, has the
// length h, which is the fraction `part` of the span, and ends in the state `next`.
func (y *yardstick) worst(local, x, next []float64, t, h, part float64, theta []float64) float64 {
	worst, top, doubtful := 0., vector.MaxAbs(y.peak), false
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
		e = math.Abs(e)
		r := e / y.size(k, x[k], next[k], top)
		if !(r <= worst) {
			if worst = r; e != e {
				return math.Inf(1)
			}
		}
		doubtful = doubtful || r > 0.1 && y.scale[k] > 0 && y.peak[k] < share*top
	}
	if doubtful {
		return y.careful(local, x, next, t, h, top, theta)
	}
	return worst
}

// careful does what worst does, but permits the rounding errors of f, which may be a large
// part of the change of a small component, and which no step is short enough to avoid.
func (y *yardstick) careful(local, x, next []float64, t, h, top float64, theta []float64) float64 {
	const several = 64 // the rounding errors of the values of f in a step add up
	rounding.Errors(y.noise, y.f, y.at, y.other, x, func(dst, x []float64) { y.p.F(dst, t, x, theta) })
	worst := 0.0
	for k, e := range local {
		worst = max(worst, math.Abs(e)/(y.size(k, x[k], next[k], top)+several*h*y.noise[k]))
	}
	return worst
}
