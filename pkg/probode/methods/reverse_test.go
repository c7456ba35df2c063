package methods_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/probode/probode/pkg/probode/catalog"
	. "github.com/probode/probode/pkg/probode/methods"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/filter"
	"github.com/probode/probode/pkg/probode/gp"
	"github.com/probode/probode/pkg/probode/problems"
)

// compareGradient compares the gradient of w·Z, for random w, with derivatives along the
// parameters, with extrapolated differences along directions in ξ, and with the
// derivative in α.
func compareGradient(t *testing.T, s *probode.Solver, theta []float64, tol float64) {
	t.Helper()
	p, n := len(theta), s.PathLen()
	var xi []float64
	if s.Alpha() > 0 {
		xi = make([]float64, s.NoiseLen())
		probode.DrawNoise(xi, 1, 0)
	}
	w, z, dz, identity := make([]float64, n), make([]float64, n), make([]float64, n*p), make([]float64, p*p)
	probode.DrawNoise(w, 2, 0)
	for j := range p {
		identity[j*(p+1)] = 1
	}
	if err := s.SolveTangents(z, dz, theta, identity, xi); err != nil {
		t.Fatal(err)
	}
	g := &probode.Gradient{Theta: make([]float64, p), Xi: make([]float64, len(xi))}
	if xi == nil {
		g.Xi = nil
	}
	if err := s.Gradient(g, w, z, theta, xi); err != nil {
		t.Fatal(err)
	}
	want, size := make([]float64, p), 0.
	for j := range p {
		for i, v := range w {
			want[j] += v * dz[j*n+i]
		}
		size = math.Max(size, math.Abs(want[j]))
	}
	for j, v := range want {
		if !(math.Abs(g.Theta[j]-v) <= tol*size) {
			t.Errorf("%v: derivative in θ%d is %.12g: want %.12g, off by %.2g", s.Method(), j, g.Theta[j], v, math.Abs(g.Theta[j]-v)/size)
		}
	}
	if xi == nil {
		return
	}
	// w·Z along a direction in ξ, and along α
	value := func(xi []float64, alpha float64) (v float64) {
		was := s.Alpha()
		defer s.SetAlpha(was)
		s.SetAlpha(alpha)
		if err := s.Solve(z, theta, xi); err != nil {
			t.Fatal(err)
		}
		for i, c := range w {
			v += c * z[i]
		}
		return v
	}
	difference := func(f func(h float64) float64, h float64) float64 {
		d := func(h float64) float64 { return (f(h) - f(-h)) / (2 * h) }
		d0, d1, d2 := d(h), d(h/2), d(h/4)
		r0, r1 := (4*d1-d0)/3, (4*d2-d1)/3
		return (16*r1 - r0) / 15
	}
	along := make([]float64, len(xi))
	probode.DrawNoise(along, 3, 0)
	var got float64
	for k, v := range along {
		got += v * g.Xi[k]
	}
	at := make([]float64, len(xi))
	expect := difference(func(h float64) float64 {
		for k, v := range along {
			at[k] = xi[k] + h*v
		}
		return value(at, s.Alpha())
	}, 0.02)
	if !(math.Abs(got-expect) <= 30*tol*math.Max(1, math.Abs(expect))) {
		t.Errorf("%v: derivative in ξ is %.12g: want %.12g", s.Method(), got, expect)
	}
	expect = difference(func(h float64) float64 { return value(xi, s.Alpha()*(1+h)) }, 0.05)
	if got := g.Alpha * s.Alpha(); !(math.Abs(got-expect) <= 30*tol*math.Max(1, math.Abs(expect))) {
		t.Errorf("%v: derivative in log α is %.12g: want %.12g", s.Method(), got, expect)
	}
}

// reversible returns the methods that compute gradients in one pass backwards: all but the
// Gaussian filters and the Gaussian process solvers.
func reversible() (list []probode.Method) {
	for _, m := range everyMethod() {
		switch m.(type) {
		case filter.EK, gp.Interrogation, gp.Block:
		default:
			list = append(list, m)
		}
	}
	return list
}

// The gradient that comes from one pass backwards is the one that derivatives along the
// parameters give, for every method, with noise and without, where events move, and with
// the starts of multistep methods after events.
func TestGradient(t *testing.T) {
	base := dosing()
	exact := withFJ(base, true)
	exact.Events = slices.Clone(base.Events)
	exact.Events[1].JumpPullback = func(lambda, dtheta, _ []float64, t float64, theta []float64) float64 {
		dtheta[2] += lambda[0] * t
		lambda[1] *= 0.5
		return lambda[0] * theta[2]
	}
	without := *exact
	without.Pullback = func(_, _, _ []float64, _ float64, _, _ []float64) float64 { return math.NaN() }
	for _, c := range []struct {
		name string
		p    *probode.Problem
		tol  float64
	}{
		{"F", base, 2e-5}, {"FJ", withFJ(base, false), 3e-7}, {"FJ and FTheta", withFJ(base, true), 1e-9}, {"also jumps", exact, 1e-9},
		{"a Pullback that returns NaN", &without, 1e-6}, // in t, differences of differences
	} {
		for _, m := range reversible() {
			for _, alpha := range []float64{0, 0.5} {
				t.Run(fmt.Sprintf("%v, %s, %g", m, c.name, alpha), func(t *testing.T) {
					s, err := probode.NewSolver(c.p, m, uniform(t, c.p, 0.13), alpha)
					if err != nil {
						t.Fatal(err)
					}
					theta := append([]float64(nil), c.p.Theta...)
					theta[1] += 0.02 // not where the grid was made
					compareGradient(t, s, theta, c.tol)
				})
			}
		}
	}
}

// On grids of error-controlled runs, where the noise is scaled by local errors, on stiff
// problems, and without events.
func TestGradientOnFrozenGrids(t *testing.T) {
	p := withFJ(dosing(), true)
	for _, name := range []string{"radau5", "dp5", "ab3", "am2", "gauss2", "bdf", "bdf1", "bdf4", "random:radau5", "auto"} {
		m, err := catalog.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := probode.NewSolver(p, m, frozen(t, p, m, probode.Tolerance{Relative: 1e-4}), 1e-3)
		if err != nil {
			t.Fatal(err)
		}
		compareGradient(t, s, p.Theta, 1e-9)
	}
	doubled, err := probode.NewSolver(p, probode.Doubled{Method: Gauss{}}, uniform(t, p, 0.13), 0.1)
	if err != nil {
		t.Fatal(err)
	}
	compareGradient(t, doubled, p.Theta, 1e-9)
	fhn := problems.FitzHughNagumo()
	fhn.Span[1] = 5
	for _, m := range reversible() {
		s, err := probode.NewSolver(fhn, m, uniform(t, fhn, 0.02), 0.1)
		if err != nil {
			t.Fatal(err)
		}
		compareGradient(t, s, fhn.Theta, 1e-6) // tangents without FTheta
	}
	for _, p := range []*probode.Problem{problems.HIRES(), problems.Robertson()} {
		for _, m := range []probode.Method{Radau{}, BDF{}, BDF{Steps: 3}, Auto{}} {
			g := frozen(t, p, m, probode.Tolerance{Relative: 1e-4, Absolute: []float64{1e-9}})
			s, err := probode.NewSolver(p, m, g, 0)
			if err != nil {
				t.Fatal(err)
			}
			compareGradient(t, s, p.Theta, 1e-5)
		}
	}
}

// After the first call, a gradient allocates nothing.
func TestGradientAllocatesNothing(t *testing.T) {
	p := withFJ(dosing(), true)
	for _, m := range reversible() {
		s, err := probode.NewSolver(p, m, uniform(t, p, 0.13), 0.1)
		if err != nil {
			t.Fatal(err)
		}
		xi := make([]float64, s.NoiseLen())
		probode.DrawNoise(xi, 1, 0)
		z, w := make([]float64, s.PathLen()), make([]float64, s.PathLen())
		probode.DrawNoise(w, 2, 0)
		if err := s.Solve(z, p.Theta, xi); err != nil {
			t.Fatal(err)
		}
		g := &probode.Gradient{Theta: make([]float64, 5), Xi: make([]float64, len(xi))}
		if n := testing.AllocsPerRun(2, func() {
			if err := s.Gradient(g, w, z, p.Theta, xi); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v: %g allocations", m, n)
		}
	}
}

// A method that is not a Reverser has a gradient with respect to θ, from derivatives along
// the parameters, and none with respect to ξ.
func TestGradientWithoutReverse(t *testing.T) {
	p := dosing()
	for _, m := range []probode.Method{plainMethod{Gauss{Stages: 2}}, RandomStep{Method: plainMethod{Gauss{}}}} {
		s, err := probode.NewSolver(p, m, uniform(t, p, 0.13), 0)
		if err != nil {
			t.Fatal(err)
		}
		compareGradient(t, s, p.Theta, 1e-12)
		z := make([]float64, s.PathLen())
		probode.DrawNoise(z, 1, 0)
		g := &probode.Gradient{Theta: make([]float64, 5), Xi: make([]float64, s.NoiseLen())}
		if err := s.Gradient(g, z, z, p.Theta, g.Xi); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v: %v", m, err)
		}
	}
}

// The number of evaluations in a step backwards does not depend on the number of
// parameters. The first steps of multistep methods, by Runge–Kutta or Radau, take more, and
// so does an iteration of Radau that needs a new Jacobian.
func TestGradientEvaluations(t *testing.T) {
	for _, c := range []struct {
		name        string
		f, fj, pull float64 // for each step
		slack       float64 // for all steps together
	}{
		{"rk4", 3, 0, 4, 0}, {"dp5", 5, 0, 6, 0}, {"ab1", 0, 0, 1, 0}, {"ab3", 0, 0, 1, 10},
		{"am0,current", 0, 1, 2, 0}, {"am1,current", 0, 1, 2, 0}, {"am1", 0, 1, 2, 0}, {"bdf1", 0, 1, 1, 0}, {"bdf3", 0, 1, 1, 60},
		{"radau5", 30, 4, 3, 20}, {"gauss1", 10, 2, 1, 20},
	} {
		for _, n := range []int{1, 24} {
			var f, fj, pull float64
			p := groups(n)
			inner := *p
			p.F = func(dst []float64, t float64, x, th []float64) { f++; inner.F(dst, t, x, th) }
			p.FJ = func(v, jac []float64, t float64, x, th []float64) { fj++; inner.FJ(v, jac, t, x, th) }
			p.FTheta = nil
			p.Pullback = func(dx, dth, l []float64, t float64, x, th []float64) float64 {
				pull++
				return inner.Pullback(dx, dth, l, t, x, th)
			}
			m, err := catalog.Parse(c.name)
			if err != nil {
				t.Fatal(err)
			}
			s, err := probode.NewSolver(p, m, uniform(t, p, 0.05), 0)
			if err != nil {
				t.Fatal(err)
			}
			z, w := make([]float64, s.PathLen()), make([]float64, s.PathLen())
			for i := range w {
				w[i] = 1
			}
			if err := s.Solve(z, p.Theta, nil); err != nil {
				t.Fatal(err)
			}
			f, fj, pull = 0, 0, 0
			if err := s.Gradient(&probode.Gradient{Theta: make([]float64, len(p.Theta))}, w, z, p.Theta, nil); err != nil {
				t.Fatal(err)
			}
			steps := float64(s.Steps())
			if f > c.f*steps+c.slack || fj > c.fj*steps+c.slack || pull > c.pull*steps+c.slack {
				t.Errorf("%s: %g F, %g FJ and %g Pullback in %g steps: want at most %g, %g and %g in each", c.name, f, fj, pull, steps, c.f, c.fj, c.pull)
			}
		}
	}
}
