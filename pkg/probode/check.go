package probode

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/internal/memory"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// The fields of a Problem must be consistent. FJ must return the Jacobian of F, and
// Pullback must agree with this Jacobian. The Jacobian must have no nonzero entry outside
// Band. If Autonomous is set, f must not depend on t. In every component that Noiseless
// lists, f must be 0. F must set every element of dst. A Solver checks the fields at the
// initial state, and at a few points of the first path. Later paths are not checked.

// fits returns an error if a path does not fit in memory.
func fits(p *Problem, g *Grid, n Noise) error {
	d := p.Dim()
	if err := memory.Check(fmt.Sprintf("a path of %d steps in %d dimensions", g.Steps(), d), g.Steps()+1, d+n.Normals); err != nil {
		return fmt.Errorf("%s: %w", p.Title(), err)
	}
	return nil
}

// mostElements is the largest number of elements of a Jacobian. Elements outside
// Problem.Band are not counted. With more elements, one step of an implicit method takes
// many seconds.
const mostElements = 4096 * 4096

// CheckDense returns an error if the Jacobian has more than 4096² elements, or if an
// implicit method would need more memory than there is. The argument `matrices` is the
// number of d×d matrices that the method allocates. Elements outside Problem.Band are not
// counted. An implicit method calls CheckDense before it allocates its matrices.
func (p *Problem) CheckDense(matrices int) error {
	d := p.Dim()
	width := d
	if p.Band != nil {
		width = min(d, p.Band.Lower+p.Band.Upper+1)
	}
	if float64(d)*float64(width) > mostElements {
		return fmt.Errorf("a Jacobian of %d × %d elements is too large for an implicit method: use an explicit method such as dp5, or set a narrow Band if the Jacobian is banded", d, width)
	}
	if p.Band != nil {
		return nil
	}
	if err := memory.Check(fmt.Sprintf("a dense Jacobian in %d dimensions", d), d, d, matrices); err != nil {
		return fmt.Errorf("%w: give Band if it is banded", err)
	}
	return nil
}

// checkStart checks whether the fields of the problem p are consistent at the start of
// its span.
func checkStart(p *Problem) (err error) {
	x0 := make([]float64, p.Dim())
	t := p.Span[0]
	defer p.recovered(&err, &t, x0, p.Theta)
	p.Initial(x0, p.Theta)
	if !sane(x0) {
		return nil // a solve reports it, at the parameters in use
	}
	t = beside(p, t, p.Theta)
	return checkAt(p, t, x0, p.Theta)
}

// beside returns the smallest floating-point number ≥ t at which there is no event.
func beside(p *Problem, t float64, theta []float64) float64 {
	for k := 0; k < len(p.Events); k++ {
		if p.Events[k].at(theta) == t {
			t, k = math.Nextafter(t, math.Inf(1)), -1
		}
	}
	return t
}

// checkAt checks whether the fields of the problem p are consistent at (t, x, θ).
func checkAt(p *Problem, t float64, x, theta []float64) error {
	f, again := make([]float64, p.Dim()), make([]float64, p.Dim())
	p.F(f, t, x, theta)
	for i := range again {
		again[i] = 1 + math.Abs(f[i])
	}
	p.F(again, t, x, theta)
	for i, v := range f {
		if v != again[i] && v == v {
			return fmt.Errorf("%s: F does not set dst[%d], adds to its old value, or is not deterministic: two calls at t = %g give %g and %g; F must set every element", p.Title(), i, t, v, again[i])
		}
	}
	for _, k := range p.Noiseless {
		if f[k] != 0 {
			return fmt.Errorf("%s: Noiseless contains %d, but f[%d] is %g at t = %g: want 0", p.Title(), k, k, f[k], t)
		}
	}
	if p.Autonomous {
		later := p.Span[0] + 0.381966*(p.Span[1]-p.Span[0])
		if later == t {
			later = p.Span[1]
		}
		later = beside(p, later, theta)
		p.F(again, later, x, theta)
		for i, v := range f {
			if v != again[i] && v == v && again[i] == again[i] {
				return fmt.Errorf("%s: Autonomous is set, but f depends on t: f[%d] is %g at t = %g and %g at t = %g", p.Title(), i, v, t, again[i], later)
			}
		}
	}
	if !vector.Finite(f) {
		return nil // a step from here fails and reports it
	}
	if err := p.CheckJacobian(t, x, theta); err != nil {
		return err
	}
	if err := checkPullback(p, t, x, theta); err != nil {
		return err
	}
	return checkBand(p, t, x, theta)
}

// CheckJacobian compares FJ at (t, x, θ) with F and with finite differences of F.
// CheckJacobian computes central, left and right differences. CheckJacobian returns an
// error if an entry of FJ differs from every computed difference by more than 10⁻³ times
// the largest entry of its row. The error names the entry that disagrees most. Central
// differences are accurate to about 10⁻⁶, so an entry that disagrees by more than 10⁻³ is
// wrong. Entries that are NaN or infinite are not compared, because methods replace them.
// If FJ is nil, CheckJacobian returns nil.
func (p *Problem) CheckJacobian(t float64, x, theta []float64) error {
	if p.FJ == nil || p.CheckDense(2) != nil { // a method that uses FJ reports that
		return nil
	}
	const tol = 1e-3
	d := p.Dim()
	m := p.NewJacobian()
	f, fx := make([]float64, d), make([]float64, d)
	p.FJ(f, m.A, t, x, theta)
	p.F(fx, t, x, theta)
	for i := range f {
		if math.Abs(f[i]-fx[i]) > 1e-9*(math.Abs(f[i])+math.Abs(fx[i]))+1e-12*vector.MaxAbs(fx) {
			return fmt.Errorf("%s: FJ gives f[%d] = %g where F gives %g, at t = %g, x = %s", p.Title(), i, f[i], fx[i], t, text.Vector(x))
		}
	}
	// At a kink of f, an entry of the Jacobian may be equal to either the left or the
	// right derivative. If large terms of f cancel, accurate differences require large
	// increments. If a component of x is zero, accurate differences may require very small
	// increments. Several kinds of differences are computed, and an entry is reported as
	// wrong only if it agrees with none of them.
	fd := p.NewJacobian()
	diff := newDifferencer(p)
	rounding := 4 * epsilon // of f, which would be mistaken for a wrong entry with very small increments
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
	}{{true, 1}, {false, 1}, {false, -1}, {true, 100}, {true, 1e-2}, {true, 1e-5}, {true, 1e-8}, {true, 1e-12}} {
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
	return fmt.Errorf("%s: FJ gives ∂f[%d]/∂x[%d] = %g where differences of F give %g, at t = %g, x = %s", p.Title(), worst.i, worst.j, m.At(worst.i, worst.j), suspects[worst], t, text.Vector(x))
}

// checkBand computes dense one-sided differences at (t, x, θ), and looks for entries
// outside the declared band.
//
// In more than 400 dimensions, the dense matrix would cost too much, so checkBand
// increments only a few components of x and checks that f changes only within the band.
func checkBand(p *Problem, t float64, x, theta []float64) error {
	if p.Band == nil {
		return nil
	}
	d := p.Dim()
	if d > 400 {
		return checkWideBand(p, t, x, theta)
	}
	dense := *p
	dense.Band = nil
	m := dense.NewJacobian()
	newDifferencer(&dense).jacobian(m, t, x, theta, false)
	scale := vector.MaxAbs(m.A)
	for i := range d {
		for j := range d {
			if (j-i > p.Band.Upper || i-j > p.Band.Lower) && math.Abs(m.At(i, j)) > 1e-6*scale {
				return fmt.Errorf("%s: the Jacobian has entries outside Band (%d, %d): ∂f[%d]/∂x[%d] is %.3g at t = %g", p.Title(), p.Band.Lower, p.Band.Upper, i, j, m.At(i, j), t)
			}
		}
	}
	return nil
}

// checkWideBand increments a few components of x, one at a time.
func checkWideBand(p *Problem, t float64, x, theta []float64) error {
	const columns = 40
	d := p.Dim()
	f0, f1, at := make([]float64, d), make([]float64, d), make([]float64, d)
	p.F(f0, t, x, theta)
	copy(at, x)
	for c := range min(columns, d) {
		j := (2*c + 1) * d / (2 * columns)
		h := 1e-4 * max(math.Abs(x[j]), 1e-3*vector.MaxAbs(x), math.SmallestNonzeroFloat64/1e-10)
		at[j] = x[j] + h
		p.F(f1, t, at, theta)
		at[j] = x[j]
		var largest float64
		for i := range d {
			largest = max(largest, math.Abs(f1[i]-f0[i]))
		}
		for i := range d {
			if v := math.Abs(f1[i] - f0[i]); (j-i > p.Band.Upper || i-j > p.Band.Lower) && v > 1e-6*largest && v > 1e-10*math.Abs(f0[i]) {
				return fmt.Errorf("%s: the Jacobian has entries outside Band (%d, %d): ∂f[%d]/∂x[%d] is %.3g at t = %g", p.Title(), p.Band.Lower, p.Band.Upper, i, j, (f1[i]-f0[i])/h, t)
			}
		}
	}
	return nil
}

// checkPullback compares Pullback at (t, x, θ) with FJ and FTheta, or with differences of F.
func checkPullback(p *Problem, t float64, x, theta []float64) error {
	if p.Pullback == nil || p.CheckDense(2) != nil {
		return nil
	}
	const tol = 1e-3
	d, n := len(x), len(theta)
	lambda, got, want := make([]float64, d), make([]float64, d+n), make([]float64, d+n)
	for k := range lambda {
		lambda[k] = math.Cos(float64(k + 1))
	}
	if dt := p.Pullback(got[:d], got[d:], lambda, t, x, theta); dt != dt {
		return nil // FJ and FTheta are used there
	}
	plain := *p
	plain.Pullback = nil
	a := NewAdjoint(&plain)
	a.Theta = want[d:]
	a.Field(want[:d], lambda, t, 0, x, theta)
	for k, v := range want {
		part, name := want[:d], fmt.Sprintf("x[%d]", k)
		if k >= d {
			part, name = want[d:], p.ParamName(k-d)
		}
		if !(math.Abs(got[k]-v) <= tol*(1e-6+vector.MaxAbs(part))) && v-v == 0 {
			return fmt.Errorf("%s: for the derivative with respect to %s, Pullback gives %g, but FJ and FTheta (or finite differences of F) give %g, at t = %g, x = %s", p.Title(), name, got[k], v, t, text.Vector(x))
		}
	}
	return nil
}

// sane reports whether all elements of x are finite and not too large.
func sane(x []float64) bool {
	for _, v := range x {
		if !(math.Abs(v) < TooLarge) {
			return false
		}
	}
	return true
}
