package methods_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/catalog"
	. "github.com/probode/probode/pkg/probode/methods"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
)

// differences returns ∂Z/∂θⱼ by central differences of whole solves with two
// increments, extrapolated, so that it is good to about 1e-10.
func differences(t testing.TB, s *probode.Solver, theta, xi []float64, j int) []float64 {
	t.Helper()
	return differencesOver(t, s, theta, xi, j, 2e-3*math.Abs(theta[j]))
}

func differencesOver(t testing.TB, s *probode.Solver, theta, xi []float64, j int, h float64) []float64 {
	t.Helper()
	at := append([]float64(nil), theta...)
	solve := func(h float64) []float64 {
		at[j] = theta[j] + h
		z := make([]float64, s.PathLen())
		if err := s.Solve(z, at, xi); err != nil {
			t.Fatal(err)
		}
		return z
	}
	a, b, c, d, e, f := solve(h), solve(-h), solve(h/2), solve(-h/2), solve(h/4), solve(-h/4)
	for i := range a {
		d0, d1, d2 := (a[i]-b[i])/(2*h), (c[i]-d[i])/h, (e[i]-f[i])/(h/2)
		r0, r1 := (4*d1-d0)/3, (4*d2-d1)/3
		a[i] = (16*r1 - r0) / 15
	}
	return a
}

// dosing has what moves a path: a lag and a dose that are parameters, an
// infusion whose end is one too and which F finds by a condition on t, f that
// depends on t, and an initial state that is a parameter.
func dosing() *probode.Problem {
	// θ = clearance, lag, dose, end of the infusion, initial amount
	return &probode.Problem{
		Name: "doses",
		F: func(dst []float64, t float64, x, theta []float64) {
			in := 0.
			if t < theta[3] {
				in = 2
			}
			dst[0] = in - theta[0]*x[0]/(1+x[0]) + 0.3*math.Cos(t)
			dst[1] = theta[0]*x[0] - 0.5*x[1]*x[1]*theta[2]
		},
		X0:    []float64{1, 0.5},
		Start: func(x, theta []float64) { x[0], x[1] = theta[4], 0.5*theta[4]*theta[4] },
		Span:  [2]float64{0, 3},
		Theta: []float64{0.8, 0.37, 1.2, 1.1, 0.9},
		Events: []probode.Event{
			{When: func(theta []float64) float64 { return theta[3] }},
			{When: func(theta []float64) float64 { return 1.5 + theta[1] },
				Jump: func(x []float64, t float64, theta []float64) { x[0] += theta[2] * t; x[1] *= 0.5 }},
			{Time: 2.5, Jump: func(x []float64, _ float64, theta []float64) { x[0] += theta[2] }},
		},
	}
}

func withFJ(p *probode.Problem, ftheta bool) *probode.Problem {
	q := *p
	q.FJ = func(f, jac []float64, t float64, x, theta []float64) {
		p.F(f, t, x, theta)
		jac[0] = -theta[0] / ((1 + x[0]) * (1 + x[0]))
		jac[2], jac[3] = theta[0], -x[1]*theta[2]
	}
	if ftheta {
		q.FTheta = func(dst []float64, t float64, x, theta []float64) {
			dst[0] = -x[0] / (1 + x[0])
			dst[5], dst[7] = x[0], -0.5*x[1]*x[1]
		}
	}
	return &q
}

func everyMethod() []probode.Method {
	list := []probode.Method{}
	for _, name := range append(catalog.Names(), "am0,current", "am1,current", "am2,current", "am1,predictor", "am3,predictor",
		"random:rk4", "random:gauss1", "random:radau5", "random:am1,predictor", "random:ab1") {
		m, err := catalog.Parse(name)
		if err != nil {
			panic(err)
		}
		list = append(list, m)
	}
	return list
}

// The derivative of a path is that of differences of paths, for every method,
// with noise and without, with and without FJ and FTheta, where times of events
// move and where the scale of the noise moves with them.
func TestTangents(t *testing.T) {
	base := dosing()
	for _, c := range []struct {
		name string
		p    *probode.Problem
		tol  float64
	}{
		// Where J is taken by differences it has a rounding of 1e-8, which the
		// increments of differences of paths, down to 5e-4, make 1e-5 of.
		{"F", base, 2e-5}, {"FJ", withFJ(base, false), 1e-6}, {"FJ and FTheta", withFJ(base, true), 3e-7},
	} {
		for _, m := range everyMethod() {
			for _, alpha := range []float64{0, 0.5} {
				t.Run(fmt.Sprintf("%v, %s, %g", m, c.name, alpha), func(t *testing.T) { checkTangents(t, c.p, m, alpha, c.tol) })
			}
		}
	}
}

func checkTangents(t *testing.T, p *probode.Problem, m probode.Method, alpha, tol float64) {
	s, err := probode.NewSolver(p, m, uniform(t, p, 0.13), alpha)
	if err != nil {
		t.Fatal(err)
	}
	theta := append([]float64(nil), p.Theta...)
	theta[1] += 0.02 // not where the grid was made
	compareTangents(t, s, theta, tol)
}

// compareTangents compares ∂Z/∂θ with differences of paths, with noise unless α
// is zero.
func compareTangents(t *testing.T, s *probode.Solver, theta []float64, tol float64, nothing ...int) {
	t.Helper()
	n, m := len(theta), s.Method()
	var xi []float64
	if s.Alpha() > 0 {
		xi = make([]float64, s.NoiseLen())
		probode.DrawNoise(xi, 1, 0)
	}
	z, dz := make([]float64, s.PathLen()), make([]float64, s.PathLen()*n)
	identity := make([]float64, n*n)
	for j := range n {
		identity[j*(n+1)] = 1
	}
	if err := s.SolveTangents(z, dz, theta, identity, xi); err != nil {
		t.Fatal(err)
	}
	plain := make([]float64, len(z))
	if err := s.Solve(plain, theta, xi); err != nil {
		t.Fatal(err)
	}
	if distance(z, plain) != 0 {
		t.Errorf("the path differs from that of Solve by %.2g", distance(z, plain))
	}
	for j := range n {
		want := differences(t, s, theta, xi, j)
		var worst, size float64
		for i, v := range want {
			worst, size = math.Max(worst, math.Abs(v-dz[j*len(z)+i])), math.Max(size, math.Abs(v))
		}
		if !(worst <= tol*size) || (size == 0) != slices.Contains(nothing, j) {
			t.Errorf("%v: derivative in θ%d is off by %.2g of %.3g", m, j, worst, size)
		}
	}
}

// On a grid from an error-controlled run, where noise goes with local errors,
// and of stiff problems.
func TestTangentsOnFrozenGrids(t *testing.T) {
	p := withFJ(dosing(), true)
	for _, name := range []string{"radau5", "dp5", "ab3", "am2", "gauss2", "bdf", "bdf1", "bdf4"} {
		m, err := catalog.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := probode.NewSolver(p, m, frozen(t, p, m, probode.Tolerance{Relative: 1e-4}), 1e-3)
		if err != nil {
			t.Fatal(err)
		}
		compareTangents(t, s, p.Theta, 1e-6)
	}
	for _, p := range []*probode.Problem{problems.HIRES(), problems.Robertson()} {
		for _, m := range []probode.Method{Radau{}, BDF{}, BDF{Steps: 3}} {
			g := frozen(t, p, m, probode.Tolerance{Relative: 1e-4, Absolute: []float64{1e-9}})
			s, err := probode.NewSolver(p, m, g, 1e-10)
			if err != nil {
				t.Fatal(err)
			}
			// f of HIRES is the difference of terms a thousand times as large.
			compareTangents(t, s, p.Theta, 1e-5)
		}
	}
}

// A dose outside of the span, two events at one time, and no events at all.
func TestTangentsElsewhere(t *testing.T) {
	p := withFJ(dosing(), true)
	fhn := problems.FitzHughNagumo()
	fhn.Span[1] = 5
	for _, m := range everyMethod() {
		for _, theta := range [][]float64{{0.8, 1.9, 1.2, 1.1, 0.9}, {0.8, 1, 1.2, 1.1, 0.9}} {
			s, err := probode.NewSolver(p, m, uniform(t, p, 0.13), 0.3)
			if err != nil {
				t.Fatal(err)
			}
			if theta[1] == 1 { // the moving dose falls on the fixed one, where Z has a kink
				z, dz := make([]float64, s.PathLen()), make([]float64, s.PathLen())
				if err := s.SolveTangents(z, dz, theta, []float64{0, 1, 0, 0, 0}, nil); err == nil || !strings.Contains(err.Error(), "theta2 moves them apart") {
					t.Errorf("%v: %v", m, err)
				}
				if err := s.Solve(z, theta, nil); err != nil {
					t.Errorf("%v: %v", m, err)
				}
				continue
			}
			compareTangents(t, s, theta, 1e-6, 1)
		}
		s, err := probode.NewSolver(fhn, m, uniform(t, fhn, 0.02), 0.1)
		if err != nil {
			t.Fatal(err)
		}
		compareTangents(t, s, fhn.Theta, 2e-6)
	}
}

// A method without Differentiate is taken by differences, also inside of
// RandomStep.
func TestTangentsByDifferences(t *testing.T) {
	p := dosing()
	for _, m := range []probode.Method{plainMethod{Gauss{Stages: 2}}, RandomStep{Method: plainMethod{Gauss{}}}} {
		s, err := probode.NewSolver(p, m, uniform(t, p, 0.13), 0.1)
		if err != nil {
			t.Fatal(err)
		}
		compareTangents(t, s, p.Theta, 1e-6)
	}
}

// A plainMethod hides what a Stepper can do beyond its steps.
type plainMethod struct{ probode.Method }

func (m plainMethod) Stepper(p *probode.Problem, g *probode.Grid) (*probode.Stepper, error) {
	s, err := m.Method.Stepper(p, g)
	return &probode.Stepper{Start: s.Start, Step: s.Step}, err
}

// What a path cannot be solved for its derivative cannot either, with the same
// error.
func TestTangentsFail(t *testing.T) {
	p := dosing()
	for _, m := range everyMethod() {
		s, err := probode.NewSolver(p, m, uniform(t, p, 0.13), 0.1)
		if err != nil {
			t.Fatal(err)
		}
		z, dz := make([]float64, s.PathLen()), make([]float64, s.PathLen())
		theta := append([]float64(nil), p.Theta...)
		theta[0] = math.NaN()
		if err := s.SolveTangents(z, dz, theta, make([]float64, 5), nil); !errors.Is(err, probode.ErrParameter) {
			t.Errorf("%v: NaN in θ: %v", m, err)
		}
		// A direction of zeros has a derivative of zeros.
		if err := s.SolveTangents(z, dz, p.Theta, make([]float64, 5), nil); err != nil {
			t.Errorf("%v: %v", m, err)
		}
		for _, v := range dz {
			if v != 0 {
				t.Errorf("%v: derivative %g along nothing", m, v)
				break
			}
		}
	}
}
