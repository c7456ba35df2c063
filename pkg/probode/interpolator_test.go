package probode_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

func mustInterpolator(t testing.TB, s *Solver, times []float64) *Interpolator {
	t.Helper()
	p, err := s.Interpolator(times)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Between the grid points a path has the order of its method, as at them, and
// there is no error that the points do not have: the worst of 1009 times, which
// fall everywhere into the steps, is that of the grid but for a tenth. With
// DormandPrince the interpolation shows, whose order is higher. The steps are
// those of TestOrders, and so is the tolerance.
func TestInterpolationOrder(t *testing.T) {
	const n = 1009
	times := make([]float64, n)
	for i := range times {
		times[i] = (float64(i) + 0.5) / n
	}
	truth := func(t float64) []float64 {
		sin, cos := math.Sincos(t * t)
		return []float64{math.Exp(sin), math.Exp(5 * sin), 1 + sin, cos}
	}
	worst := func(times, x []float64) float64 {
		var e float64
		for i, ti := range times {
			for k, want := range truth(ti) {
				e = max(e, math.Abs(x[4*i+k]-want))
			}
		}
		return e
	}
	dp5 := Method(methods.RungeKutta{Tableau: methods.DormandPrince})
	for _, m := range every() {
		h, ratio := 1./256, 2.
		switch {
		case m.Order() <= 2:
			h = 1. / 1024
		case m == dp5:
			h, ratio = 1./16, 16
		}
		var grid, between [2]float64
		for i := range grid {
			s := mustSolver(t, coupled(), m, h, 0)
			z := solve(t, s, nil)
			x := make([]float64, 4*n)
			mustInterpolator(t, s, times).At(x, z)
			grid[i], between[i] = worst(s.Times(), z), worst(times, x)
			h /= ratio
		}
		got := math.Log(between[0]/between[1]) / math.Log(ratio)
		if off := got - float64(m.Order()); off < -0.2 || off > 0.2 && m != dp5 {
			t.Errorf("%v: observed order %.2f between the grid points (%.1e), want %d", m, got, between[1], m.Order())
		}
		if between[1] > 1.1*grid[1] && m != dp5 {
			t.Errorf("%v: error %.1e between the grid points, %.1e at them", m, between[1], grid[1])
		}
	}
}

// Polynomials of degree q+1 in time are reproduced everywhere in the span, also
// far from t = 0, where times are known to 1e-13, which is 1e-14 of the span.
// In units of that, the coefficients are below 1 and the slope of a polynomial
// below 1 + … + 6 = 21; rounding of the sum adds less, as the sizes of the
// weights add up to at most 5 for seven points.
func TestInterpolationExactForPolynomials(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, m := range every() {
		p := &Problem{Name: "p", X0: []float64{0, 0}, Span: [2]float64{1900, 1920},
			F: func(f []float64, _ float64, _, _ []float64) { clear(f) }}
		s := mustSolver(t, p, m, 2, 0)
		c := make([]float64, 2*(m.Order()+2))
		for i := range c {
			c[i] = 2*rng.Float64() - 1
		}
		poly := func(k int, at float64) float64 {
			u, sum := (at-1900)/20, 0.
			for j := m.Order() + 1; j >= 0; j-- {
				sum = sum*u + c[2*j+k]
			}
			return sum
		}
		z := make([]float64, s.PathLen())
		for i, at := range s.Times() {
			z[2*i], z[2*i+1] = poly(0, at), poly(1, at)
		}
		times := []float64{1919.99, 1900.01} // any order
		for range 50 {
			times = append(times, 1900+20*rng.Float64())
		}
		x := make([]float64, 2*len(times))
		mustInterpolator(t, s, times).At(x, z)
		for i, at := range times {
			for k := range 2 {
				if want := poly(k, at); math.Abs(x[2*i+k]-want) > 21*1e-14 {
					t.Errorf("%v: %v at t = %v, want %v", m, x[2*i+k], at, want)
				}
			}
		}
	}
}

// At grid points, however their times were computed, the path is copied.
func TestInterpolationAtGridPoints(t *testing.T) {
	p := problems.LotkaVolterra20()
	p.Span = [2]float64{1900, 1920}
	s := mustSolver(t, p, adams.Moulton{Steps: 2}, 0.1, 0.01)
	xi := make([]float64, s.NoiseLen())
	DrawNoise(xi, 1, 1)
	z := solve(t, s, xi)
	sums, at := make([]float64, 201), 1900.
	for i := range sums {
		sums[i] = at
		at = math.Round((at+0.1)*10) / 10
	}
	for _, times := range [][]float64{nil, s.Times(), sums} {
		x := make([]float64, len(z))
		mustInterpolator(t, s, times).At(x, z)
		for i := range x {
			if x[i] != z[i] {
				t.Fatalf("element %d: %v, want %v", i, x[i], z[i])
			}
		}
	}
}

// On a stiff problem, λh = 10⁴, no error comes in between the points.
func TestInterpolationStiff(t *testing.T) {
	const lambda = 1e6
	p := &Problem{
		Name: "Prothero–Robinson", X0: []float64{1}, Span: [2]float64{0, 1},
		F: func(f []float64, t float64, x, _ []float64) { f[0] = -lambda*(x[0]-math.Cos(t)) - math.Sin(t) },
	}
	s := mustSolver(t, p, adams.Moulton{Steps: 1}, 0.01, 0)
	x := make([]float64, 1)
	for at := 0.003; at < 1; at += 0.01 {
		mustInterpolator(t, s, []float64{at}).At(x, solve(t, s, nil))
		// The cubic at an end is off by h⁴/24 = 4e-10; the path by the defect
		// of the trapezoidal rule over λ, 1e-10 or less.
		if e := math.Abs(x[0] - math.Cos(at)); e > 1e-9 {
			t.Errorf("error %.1e at t = %g", e, at)
		}
	}
}

// Row reads the path up to Last and not beyond, and a grid with fewer than
// q+1 points is used whole.
func TestInterpolationLast(t *testing.T) {
	for _, test := range []struct {
		m    Method
		step float64
		time float64
		last int
	}{
		{adams.Bashforth{}, 0.125, 0.26, 3}, // 1, 2, 3 about 2
		{adams.Bashforth{}, 0.125, 0.37, 4},
		{adams.Bashforth{}, 0.125, 0.25, 2},
		{adams.Bashforth{Steps: 2}, 0.125, 0.3, 4},
		{methods.RungeKutta{}, 0.125, 0.01, 5},
		{methods.RungeKutta{}, 0.125, 0.99, 8},
		{methods.RungeKutta{}, 0.125, 0.5001, 7},
		{methods.RungeKutta{}, 0.5, 0.1, 2},
	} {
		s := mustSolver(t, riccati(), test.m, test.step, 0)
		p := mustInterpolator(t, s, []float64{0, test.time})
		if got := p.Last(1); got != test.last {
			t.Errorf("%v, t = %g: last grid point %d, want %d", test.m, test.time, got, test.last)
		}
		z := solve(t, s, nil)
		for i := test.last + 1; i < len(z); i++ {
			z[i] = math.NaN()
		}
		x := make([]float64, 1)
		// A quadratic through a step of 1/2 is off by some 1e-2.
		if p.Row(x, z, 1); !(math.Abs(x[0]-1/(2-test.time*test.time)) < 0.03) {
			t.Errorf("%v: x(%g) = %v", test.m, test.time, x[0])
		}
	}
}

func TestInterpolatorErrors(t *testing.T) {
	s := mustSolver(t, riccati(), methods.RungeKutta{}, 0.1, 0)
	for _, test := range []struct {
		times []float64
		want  string
	}{
		{[]float64{0.2, 1.5, 2}, "Riccati: time 1.5 is outside the span [0, 1]"},
		{[]float64{1, -0.01}, "Riccati: time -0.01 is outside the span [0, 1]"},
		{[]float64{math.NaN()}, "Riccati: time NaN is outside"},
		{[]float64{math.Inf(1)}, "Riccati: time +Inf is outside"},
	} {
		if _, err := s.Interpolator(test.times); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%v: error %v, want %q", test.times, err, test.want)
		}
	}
	if _, err := s.Interpolator([]float64{-1e-12, 1 + 1e-12}); err != nil {
		t.Errorf("the ends to within rounding: %v", err)
	}
}

func TestNoAllocationInInterpolation(t *testing.T) {
	s := mustSolver(t, coupled(), adams.Moulton{Steps: 4}, 0.125, 0)
	z := solve(t, s, nil)
	p := mustInterpolator(t, s, []float64{0, 0.1, 0.2, 0.7})
	x := make([]float64, 16)
	if n := testing.AllocsPerRun(10, func() { p.At(x, z) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func ExampleSolver_Interpolator() {
	p := problems.Logistic()
	g, err := UniformGrid(p, nil, 0.125)
	if err != nil {
		panic(err)
	}
	s, err := NewSolver(p, methods.RungeKutta{}, g, 0)
	if err != nil {
		panic(err)
	}
	times := []float64{0.1, 1.234}
	between, err := s.Interpolator(times)
	if err != nil {
		panic(err)
	}
	z := make([]float64, s.PathLen())
	if err := s.Solve(z, p.Theta, nil); err != nil {
		panic(err)
	}
	x := make([]float64, len(times))
	between.At(x, z)
	for i, t := range times {
		fmt.Printf("x(%g) = %.3f, exactly %.3f\n", t, x[i], 1/(1+9*math.Exp(-3*t)))
	}
	// Output:
	// x(0.1) = 0.130, exactly 0.130
	// x(1.234) = 0.818, exactly 0.818
}
