package probode_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// localErrors returns the sizes of the local errors of a solver on a uniform
// grid, which are its noise for α = 1 over √(T/h).
func localErrors(t *testing.T, s *Solver) []float64 {
	t.Helper()
	if err := s.SetScaling(ScaleLocal, s.Problem().Theta); err != nil {
		t.Fatal(err)
	}
	s.SetAlpha(1)
	z := solve(t, s, nil)
	d := s.Problem().Dim()
	out := make([]float64, s.NoiseLen())
	span := s.Times()[s.Steps()] - s.Times()[0]
	for i := range s.Steps() {
		for k := range d {
			xi := make([]float64, s.NoiseLen())
			xi[i*d+k] = 1
			out[i*d+k] = (solve(t, s, xi)[(i+1)*d+k] - z[(i+1)*d+k]) / math.Sqrt(span/s.Grid().H(i))
		}
	}
	return out
}

// The local errors are those of the steps: the distance of each to the solution
// through the state at which it began, by many steps of another method, to
// leading order. Where the error crosses zero that says nothing.
func TestLocalErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, m := range every() {
		const n = 64
		s := mustSolver(t, coupled(), m, 1./n, 0)
		z := solve(t, s, nil)
		l := localErrors(t, s)
		truth := make([]float64, len(l))
		var largest [4]float64
		for i := range n {
			p := coupled()
			p.X0 = z[4*i : 4*i+4]
			p.Span = [2]float64{s.Times()[i], s.Times()[i+1]}
			g := mustGrid(t)(Setup{Mesh: Through(1. / n / 8)}.Grid(ctx(), p, nil, nil))
			y := solve(t, mustSolverOn(t, p, methods.RungeKutta{Tableau: methods.DormandPrince}, g, 0), nil)
			for k := range 4 {
				truth[4*i+k] = math.Abs(y[len(y)-4+k] - z[4*i+4+k])
				largest[k] = max(largest[k], truth[4*i+k])
			}
		}
		bad, count := 0, 0
		for i := 4; i < n; i++ { // behind the start
			for k := range 4 {
				e := truth[4*i+k]
				if e < 0.1*largest[k] || e < 1e-13 {
					continue
				}
				if count++; math.Abs(l[4*i+k]/e-1) > 0.35 {
					bad++
				}
			}
		}
		share := 10
		if am, ok := m.(adams.Moulton); ok && am.Linearize == adams.Current && am.Steps > 2 {
			share = 3 // the errors of the steps before count here, h times the Jacobian of them
		}
		// DormandPrince's estimate is the error of its method of order 4, which is
		// larger.
		if dp := m == Method(methods.RungeKutta{Tableau: methods.DormandPrince}); !dp && (bad > count/share || count < 20) {
			t.Errorf("%v: %d of %d local errors are off by more than a third", m, bad, count)
		} else if dp {
			for i := range l {
				if truth[i] > 2*l[i]+1e-14 {
					t.Errorf("%v: local error %g in place of %g", m, l[i], truth[i])
				}
			}
		}
	}
}

// Richardson's error is the true one to leading order, across events that have
// moved and segments that are closed.
func TestRichardsonWithEvents(t *testing.T) {
	for _, m := range []Method{adams.Bashforth{}, adams.Bashforth{Steps: 3}, adams.Moulton{Steps: 1}, methods.RungeKutta{Tableau: methods.Heun}} {
		p := broken()
		p.Events = append(p.Events, Event{When: func(theta []float64) float64 { return theta[0] }}, Event{When: func([]float64) float64 { return 2 }})
		s := mustSolver(t, p, m, 1./128, 0)
		for _, end := range []float64{0.83, 0.75, 0.9} {
			theta := []float64{end}
			e, err := calibrate.Richardson(ctx(), s, theta)
			if err != nil {
				t.Fatal(err)
			}
			z := make([]float64, s.PathLen())
			if err := s.Solve(z, theta, nil); err != nil {
				t.Fatal(err)
			}
			var largest float64
			for i, at := range s.Times() {
				if i == 0 || s.Times()[i-1] < at {
					largest = max(largest, math.Abs(z[i]-brokenAt(at, end)))
				}
			}
			for i, at := range s.Times() {
				if i > 0 && s.Times()[i-1] == at {
					continue
				}
				if want := z[i] - brokenAt(at, end); math.Abs(e.E[i]-want) > 0.1*largest {
					t.Errorf("%v, event at %g: error %g at t = %.4f, want %g", m, end, e.E[i], at, want)
				}
			}
		}
	}
}

// plain is a method that shows a Solver nothing but its steps, and memorious one
// that remembers and estimates nothing.
type plain struct{ Method }
type memorious struct{ Method }

func (m plain) Stepper(p *Problem, g *Grid) (*Stepper, error) {
	s, err := m.Method.Stepper(p, g)
	return &Stepper{Start: s.Start, Step: s.Step}, err
}
func (m memorious) Stepper(p *Problem, g *Grid) (*Stepper, error) {
	s, err := m.Method.Stepper(p, g)
	return &Stepper{Start: s.Start, Step: s.Step, Memory: s.Memory, Save: s.Save, Restore: s.Restore}, err
}

// A one-step method from outside without abilities has error control by step
// doubling; one that remembers and estimates nothing is refused in words.
func TestMethodsWithoutAbilities(t *testing.T) {
	m := plain{methods.RungeKutta{Tableau: methods.DormandPrince}}
	g := mustFrozen(t, coupled(), m, 1e-6)
	s := mustSolverOn(t, coupled(), m, g, 1)
	if e := coupledError(s, solve(t, s, nil)); e > 1e-3 || s.MemoryLen() != 0 {
		t.Errorf("error %g in %d steps", e, g.Steps())
	}
	if _, err := calibrate.Run(ctx(), coupled(), m, calibrate.Settings{Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-3}}, Paths: 40}); err != nil {
		t.Error(err)
	}
	want := "uses values from earlier steps and does not estimate local errors"
	_, err := Setup{Method: memorious{adams.Bashforth{Steps: 3}}, Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-3}}}.Grid(ctx(), coupled(), nil, nil)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("frozen grid: error %v, want %q", err, want)
	}
	b := mustSolver(t, coupled(), memorious{adams.Bashforth{Steps: 3}}, 1./16, 1)
	if err := b.SetScaling(ScaleLocal, nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("ScaleLocal: error %v, want %q", err, want)
	}
	if z, y := solve(t, b, nil), solve(t, mustSolver(t, coupled(), adams.Bashforth{Steps: 3}, 1./16, 1), nil); maxDiff(z, y) != 0 {
		t.Errorf("the path differs by %g", maxDiff(z, y))
	}
}

// Doubled gives any one-step method the estimate that a method without one has,
// and leaves its paths and derivatives as they are; a method with a past is refused.
func TestDoubled(t *testing.T) {
	p, inner := problems.FitzHughNagumo(), methods.RungeKutta{Tableau: methods.DormandPrince}
	p.Span[1] = 2
	g, want := mustFrozen(t, p, Doubled{inner}, 1e-6), mustFrozen(t, p, plain{inner}, 1e-6)
	if !slices.Equal(g.Times(), want.Times()) || !slices.Equal(g.Local(), want.Local()) {
		t.Error("the grid is not that of step doubling")
	}
	if own := mustFrozen(t, p, inner, 1e-6); slices.Equal(g.Times(), own.Times()) {
		t.Error("the grid is that of the embedded estimate")
	}
	a, b := mustSolverOn(t, p, Doubled{inner}, g, 1), mustSolverOn(t, p, inner, g, 1)
	tangents := func(s *Solver) []float64 {
		z, dz := make([]float64, s.PathLen()), make([]float64, s.PathLen())
		if err := s.SolveTangents(z, dz, p.Theta, []float64{1, 1, 1}, nil); err != nil {
			t.Fatal(err)
		}
		return append(z, dz...)
	}
	if maxDiff(tangents(a), tangents(b)) != 0 {
		t.Error("the path or its derivative is not that of the method")
	}
	if _, err := NewSolver(p, Doubled{adams.Bashforth{Steps: 3}}, g, 0); err == nil || !strings.Contains(err.Error(), "AB3 uses values from earlier steps") {
		t.Errorf("a method with a past: %v", err)
	}
}
