package methods_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	. "github.com/probode/probode/pkg/probode/methods"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
)

// The errors of paths under error control fall with the tolerance, as its power
// of about one, and the run's orders and errors are those of the frozen grid.
func TestBDFUnderErrorControl(t *testing.T) {
	p := problems.FitzHughNagumo()
	want := path(t, p, Radau{}, frozen(t, p, Radau{}, probode.Tolerance{Relative: 1e-12}), 0, nil)
	want = end(want, 2)
	for _, m := range []BDF{{}, {Steps: 3}, {Steps: 5}} {
		var errs []float64
		for _, rel := range []float64{1e-4, 1e-6, 1e-8} {
			g := frozen(t, p, m, probode.Tolerance{Relative: rel})
			errs = append(errs, distance(end(path(t, p, m, g, 0, nil), 2), want))
			s, err := probode.NewSolver(p, m, g, 0)
			if err != nil {
				t.Fatal(err)
			}
			if strain, err := s.Strain(p.Theta); err != nil || strain > 1 || strain < 0.3 {
				t.Errorf("%v, %g: strain %g, %v: want one that the run has accepted", m, rel, strain, err)
			}
			seen := map[int]bool{}
			for i := range g.Steps() {
				seen[g.Order(i)] = true
			}
			if m.Steps > 0 && (len(seen) > 1 || !seen[0]) || m.Steps == 0 && (seen[0] || !seen[1] || !seen[4]) {
				t.Errorf("%v, %g: orders %v", m, rel, seen)
			}
		}
		for i := range 2 {
			if drop := math.Log10(errs[i] / errs[i+1]); drop < 1 || drop > 3 {
				t.Errorf("%v: errors %.2g", m, errs)
			}
		}
	}
}

// Orders that a run has chosen stay with the grid where it is refined, and where
// events move: a finer grid has smaller errors, and pieces of a path are the path.
func TestBDFKeepsItsOrders(t *testing.T) {
	p := withFJ(dosing(), true)
	want := end(path(t, p, Radau{}, frozen(t, p, Radau{}, probode.Tolerance{Relative: 1e-12}), 0, nil), 2)
	g := frozen(t, p, BDF{}, probode.Tolerance{Relative: 1e-5})
	fine := g.Refine()
	at := 0
	for i := range g.Steps() {
		halves := 1
		if g.H(i) > 0 {
			halves = 2
		}
		for range halves {
			if fine.Order(at) != g.Order(i) || (g.Order(i) == 0) != (g.H(i) == 0) {
				t.Fatalf("step %d of order %d has a half of order %d", i, g.Order(i), fine.Order(at))
			}
			at++
		}
	}
	coarse, finer := distance(end(path(t, p, BDF{}, g, 0, nil), 2), want), distance(end(path(t, p, BDF{}, fine, 0, nil), 2), want)
	if !(finer < coarse/3) {
		t.Errorf("errors %.2g and, with half the steps, %.2g", coarse, finer)
	}
	theta := slices.Clone(p.Theta)
	theta[1], theta[3] = 0.41, 0.93
	for _, m := range []BDF{{}, {Steps: 1}, {Steps: 2}, {Steps: 5}} {
		g := frozen(t, p, m, probode.Tolerance{Relative: 1e-4})
		checkPieces(t, p, m, g, theta, 1e-3, probode.ScaleLocal)
		checkPieces(t, p, m, g, theta, 0.1, probode.ScaleStep)
		checkPieces(t, p, m, uniform(t, p, 0.07), theta, 0.1, probode.ScaleStep)
	}
	fhn := problems.FitzHughNagumo()
	for k := range 6 {
		checkPieces(t, fhn, BDF{Steps: k}, uneven(t, fhn, 250, 1.15, 3), fhn.Theta, 0.1, probode.ScaleStep)
	}
}

// checkPieces solves a path in pieces, with another path between them.
func checkPieces(t *testing.T, p *probode.Problem, m probode.Method, g *probode.Grid, theta []float64, alpha float64, scaling probode.Scaling) {
	t.Helper()
	s, err := probode.NewSolver(p, m, g, alpha)
	if err == nil {
		err = s.SetScaling(scaling, p.Theta)
	}
	if err != nil {
		t.Fatal(err)
	}
	xi, other := make([]float64, s.NoiseLen()), make([]float64, s.NoiseLen())
	probode.DrawNoise(xi, 1, 1)
	probode.DrawNoise(other, 1, 2)
	want, z, memory := make([]float64, s.PathLen()), make([]float64, s.PathLen()), make([]float64, s.MemoryLen())
	if err := s.Solve(want, theta, xi); err != nil {
		t.Fatal(err)
	}
	for from := 0; from < s.Steps(); {
		to := min(from+1+from%4, s.Steps())
		if err := s.SolveFrom(z, memory, theta, xi, from, to); err != nil {
			t.Fatal(err)
		}
		if d := p.Dim(); !slices.Equal(z[from*d:(to+1)*d], want[from*d:(to+1)*d]) {
			t.Fatalf("%v, %v: steps %d to %d of %d differ", m, g, from, to, s.Steps())
		}
		scratch := make([]float64, s.PathLen())
		if err := s.Solve(scratch, p.Theta, other); err != nil {
			t.Fatal(err)
		}
		from = to
	}
}

// A jump of f that nothing declares is met by error control, from whichever
// order, and so are right-hand sides that no step can be made with at first.
func TestBDFMeetsJumps(t *testing.T) {
	p := &probode.Problem{Name: "switch", X0: []float64{0, 1}, Span: [2]float64{0, 3},
		F: func(dst []float64, t float64, x, _ []float64) {
			dst[0] = math.Cos(t)
			if t > math.Sqrt2 {
				dst[0] += 50
			}
			dst[1] = -1e3 * (x[1] - math.Sqrt(x[1]*x[1]+dst[0]*dst[0])/2)
		}}
	want := math.Sin(3) + 50*(3-math.Sqrt2)
	for _, m := range []BDF{{}, {Steps: 2}, {Steps: 5}} {
		for _, rel := range []float64{1e-3, 1e-6} {
			g := frozen(t, p, m, probode.Tolerance{Relative: rel})
			if off := math.Abs(end(path(t, p, m, g, 0, nil), 2)[0] - want); off > 30*rel*want {
				t.Errorf("%v, %g: off by %.2g in %d steps", m, rel, off, g.Steps())
			}
		}
	}
	// Γ is singular where γhλ = 1: with a step that is given it is an error,
	// under error control another step is taken.
	growth := &probode.Problem{Name: "growth", X0: []float64{1}, Span: [2]float64{0, 1}, F: func(f []float64, _ float64, x, _ []float64) { f[0] = 4 * x[0] }}
	growth.FJ = func(f, j []float64, _ float64, x, _ []float64) { f[0], j[0] = 4*x[0], 4 }
	s, err := probode.NewSolver(growth, BDF{Steps: 1}, uniform(t, growth, 0.25), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Solve(make([]float64, s.PathLen()), nil, nil); !errors.Is(err, probode.ErrSingular) {
		t.Errorf("error %v, want ErrSingular", err)
	}
	g, err := probode.Setup{Method: BDF{}, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-4}}}.Grid(context.Background(), growth, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if x := end(path(t, growth, BDF{}, g, 0, nil), 1)[0]; math.Abs(x/math.Exp(4)-1) > 0.02 {
		t.Errorf("x(1) = %g, want %g", x, math.Exp(4))
	}
}
