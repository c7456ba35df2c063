package field

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// Check returns an error if FJ, Pullback or the widths of the band contradict F at (t, x, θ),
// where f is finite. The function name returns the name of a parameter.
func (f *Field) Check(t float64, x, theta []float64, name func(k int) string) error {
	if err := f.CheckJacobian(t, x, theta); err != nil {
		return err
	}
	if err := f.checkPullback(t, x, theta, name); err != nil {
		return err
	}
	return f.checkBand(t, x, theta)
}

// CheckJacobian compares FJ at (t, x, θ) with F and with finite differences of F.
// CheckJacobian computes central, left and right differences. CheckJacobian returns an
// error if an entry of FJ differs from every computed difference by more than 10⁻³ times
// the largest entry of its row. The error names the entry that disagrees most. Central
// differences are accurate to about 10⁻⁶, so an entry that disagrees by more than 10⁻³ is
// wrong. Entries that are NaN or infinite are not compared, because methods replace them.
// If FJ is nil, CheckJacobian returns nil.
func (f *Field) CheckJacobian(t float64, x, theta []float64) error {
	if f.FJ == nil || f.CheckDense(2) != nil { // a method that uses FJ reports that
		return nil
	}
	const tol = 1e-3
	d := f.Dim
	m := f.NewJacobian()
	value, fx := make([]float64, d), make([]float64, d)
	f.FJ(value, m.A, t, x, theta)
	f.F(fx, t, x, theta)
	for i, v := range value {
		if math.Abs(v-fx[i]) > 1e-9*(math.Abs(v)+math.Abs(fx[i]))+1e-12*vector.MaxAbs(fx) {
			return fmt.Errorf("FJ gives f[%d] = %g where F gives %g, at t = %g, x = %s", i, v, fx[i], t, text.Vector(x))
		}
	}
	// At a kink of f, an entry of the Jacobian may be equal to either the left or the
	// right derivative. If large terms of f cancel, accurate differences require large
	// increments. If a component of x is zero, accurate differences may require very small
	// increments. Several kinds of differences are computed, and an entry is reported as
	// wrong only if it agrees with none of them.
	fd := f.NewJacobian()
	diff := newDifferencer(f)
	rounding := 0x1p-50 // of f, which would be mistaken for a wrong entry with very small increments
	wrong := func(i, j int, row float64) bool {
		allowed := tol*row + 1e-9*(1+math.Abs(fx[i]))
		if math.Abs(diff.scale) >= 1e-2 {
			allowed += rounding * math.Abs(fx[i]/diff.step[j])
		}
		v := m.At(i, j)
		return v-v == 0 && !(math.Abs(v-fd.At(i, j)) <= allowed)
	}
	type entry struct{ i, j int }
	var suspects map[entry]float64
	for n, way := range []struct {
		central bool
		scale   float64
	}{{true, 1}, {false, 1}, {false, -1}, {true, 100}, {true, 1e4}, {true, 1e-2}, {true, 1e-5}, {true, 1e-8}, {true, 1e-12}} {
		diff.scale = way.scale
		diff.jacobian(fd, t, x, theta, way.central)
		found := make(map[entry]float64)
		for i := range d {
			var row float64
			lo, hi := m.Columns(i)
			for j := lo; j < hi; j++ {
				row = max(row, math.Abs(fd.At(i, j)))
			}
			for j := lo; j < hi; j++ {
				if n == 0 && math.IsNaN(fd.At(i, j)) {
					continue // f is not defined on both sides, as x^1.1 at 0
				}
				if before, ok := suspects[entry{i, j}]; wrong(i, j, row) && (n == 0 || ok) {
					if n == 0 {
						before = fd.At(i, j)
					}
					found[entry{i, j}] = before
				}
			}
		}
		if suspects = found; len(suspects) == 0 {
			return nil
		}
	}
	var worst entry
	var most float64
	for e, want := range suspects {
		if size := math.Abs(m.At(e.i, e.j) - want); size > most || size == most && (e.i < worst.i || e.i == worst.i && e.j < worst.j) {
			worst, most = e, size
		}
	}
	return fmt.Errorf("FJ gives ∂f[%d]/∂x[%d] = %g where differences of F give %g, at t = %g, x = %s", worst.i, worst.j, m.At(worst.i, worst.j), suspects[worst], t, text.Vector(x))
}

// checkBand increments components of x, one at a time, and looks for changes of f outside
// the declared band: all components or, in many dimensions, some that are spread evenly.
func (f *Field) checkBand(t float64, x, theta []float64) error {
	if !f.Banded {
		return nil
	}
	d, columns := f.Dim, f.Dim
	if d > 400 {
		columns = 40
	}
	f0, f1, at := make([]float64, d), make([]float64, d), make([]float64, d)
	f.F(f0, t, x, theta)
	copy(at, x)
	for c := range columns {
		j := (2*c + 1) * d / (2 * columns)
		h := 1e-4 * max(math.Abs(x[j]), 1e-3*vector.MaxAbs(x), math.SmallestNonzeroFloat64/1e-10)
		at[j] = x[j] + h
		f.F(f1, t, at, theta)
		at[j] = x[j]
		var largest float64
		for i := range d {
			largest = max(largest, math.Abs(f1[i]-f0[i]))
		}
		for i := range d {
			if v := math.Abs(f1[i] - f0[i]); (j-i > f.Upper || i-j > f.Lower) && v > 1e-6*largest && v > 1e-10*math.Abs(f0[i]) {
				return fmt.Errorf("the Jacobian has entries outside Band (%d, %d): ∂f[%d]/∂x[%d] is %.3g at t = %g", f.Lower, f.Upper, i, j, (f1[i]-f0[i])/h, t)
			}
		}
	}
	return nil
}

// checkPullback compares Pullback at (t, x, θ) with FJ and FTheta, or with differences of F.
func (f *Field) checkPullback(t float64, x, theta []float64, name func(k int) string) error {
	if f.Pullback == nil || f.CheckDense(2) != nil {
		return nil
	}
	const tol = 1e-3
	d, n := len(x), len(theta)
	lambda, got, want := make([]float64, d), make([]float64, d+n), make([]float64, d+n)
	for k := range lambda {
		lambda[k] = math.Cos(float64(k + 1))
	}
	if dt := f.Pullback(got[:d], got[d:], lambda, t, x, theta); dt != dt {
		return nil // FJ and FTheta are used there
	}
	plain := *f
	plain.Pullback = nil
	a := NewAdjoint(&plain)
	a.Theta = want[d:]
	a.Field(want[:d], lambda, t, 0, x, theta)
	for k, v := range want {
		part, of := want[:d], fmt.Sprintf("x[%d]", k)
		if k >= d {
			part, of = want[d:], name(k-d)
		}
		if !(math.Abs(got[k]-v) <= tol*(1e-6+vector.MaxAbs(part))) && v-v == 0 {
			return fmt.Errorf("for the derivative with respect to %s, Pullback gives %g, but FJ and FTheta (or finite differences of F) give %g, at t = %g, x = %s", of, got[k], v, t, text.Vector(x))
		}
	}
	return nil
}
