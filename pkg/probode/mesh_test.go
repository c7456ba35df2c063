package probode_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/methods"
)

// decay falls by e in the time 1/θ and is driven, so that steps differ.
func decay() *Problem {
	return &Problem{
		Name: "driven decay",
		F: func(dst []float64, t float64, x, theta []float64) {
			dst[0] = -theta[0] * (x[0] - math.Cos(t))
			dst[1] = x[0] - x[1]
		},
		X0: []float64{0, 1}, Span: [2]float64{0, 10}, Theta: []float64{30},
	}
}

func freeze(t *testing.T, p *Problem, m Method, f Frozen, times []float64) *Grid {
	t.Helper()
	g, err := Setup{Method: m, Mesh: f}.Grid(context.Background(), p, nil, times)
	if err != nil {
		t.Fatalf("%v: %v", m, err)
	}
	return g
}

func solved(t *testing.T, p *Problem, m Method, g *Grid, theta []float64) []float64 {
	t.Helper()
	s, err := NewSolver(p, m, g, 0)
	if err != nil {
		t.Fatal(err)
	}
	z := make([]float64, s.PathLen())
	if err := s.Solve(z, theta, nil); err != nil {
		t.Fatal(err)
	}
	return z
}

var controlled = []Method{
	methods.RungeKutta{Tableau: methods.DormandPrince}, methods.RungeKutta{}, methods.RungeKutta{Tableau: methods.Midpoint},
	adams.Bashforth{Steps: 2}, adams.Bashforth{Steps: 4}, adams.Moulton{}, adams.Moulton{Steps: 1}, adams.Moulton{Steps: 3},
	adams.Moulton{Steps: 1, Linearize: adams.Current}, adams.Moulton{Steps: 2, Linearize: adams.Predictor},
}

// A frozen grid has the times that were asked for, a local error for each step
// that the tolerance allows, and a solution that follows the tolerance.
func TestFrozenMeetsTolerance(t *testing.T) {
	p := decay()
	theta := p.Theta[0]
	// x₁ in closed form: the response of a decay of rate θ to cos t, from 0.
	want := func(t float64) float64 {
		r := theta / (1 + theta*theta)
		return r * (theta*math.Cos(t) + math.Sin(t) - theta*math.Exp(-theta*t))
	}
	times := []float64{0.123, 3, 7.77}
	for _, m := range controlled {
		steps := 0
		for _, tol := range []float64{1e-3, 1e-6} {
			if m.Order() == 1 && tol < 1e-5 {
				continue // some 10⁵ steps
			}
			f := Frozen{Tolerance: Tolerance{Relative: tol, Absolute: []float64{tol}}}
			g := freeze(t, p, m, f, times)
			index, err := g.Index(times)
			if err != nil {
				t.Fatalf("%v: %v", m, err)
			}
			z := solved(t, p, m, g, p.Theta)
			if len(g.Local()) != 2*g.Steps() {
				t.Fatalf("%v: %d local errors in %d steps", m, len(g.Local()), g.Steps())
			}
			// What is kept is by step doubling, what chose the steps by an
			// embedded formula where there is one: at a tolerance of 10⁻³ they
			// differ by some tens of per cent.
			for i, e := range g.Local() {
				if allowed := tol * (1 + math.Max(math.Abs(z[i]), math.Abs(z[i+2]))); e > 2*allowed {
					t.Errorf("%v, %g: local error %g in step %d, want at most %g", m, tol, e, i/2, allowed)
					break
				}
			}
			// The problem forgets within 1/θ, so that few local errors add up.
			for _, i := range index {
				if off := math.Abs(z[2*i] - want(g.Times()[i])); off > 30*tol {
					t.Errorf("%v, %g: off by %.2g at t = %g", m, tol, off, g.Times()[i])
				}
			}
			if g.Steps() <= steps {
				t.Errorf("%v: %d steps at the finer tolerance, %d at the coarser", m, g.Steps(), steps)
			}
			steps = g.Steps()
		}
	}
}

// Strain is about one where the grid was made and more where it does not serve.
func TestStrainOfAMesh(t *testing.T) {
	p := decay()
	for _, m := range controlled {
		g := freeze(t, p, m, Frozen{Tolerance: Tolerance{Relative: 1e-4}}, nil)
		s, err := NewSolver(p, m, g, 0)
		if err != nil {
			t.Fatal(err)
		}
		own, err := s.Strain(p.Theta)
		if err != nil || !(own > 0.05 && own <= 1+1e-6) {
			t.Errorf("%v: strain %g at the grid's own θ, %v", m, own, err)
		}
		if far, err := s.Strain([]float64{150}); err == nil && !(far > 2*own) {
			t.Errorf("%v: strain %g at a faster decay, %g at the grid's own", m, far, own)
		}
	}
	s, err := NewSolver(p, methods.RungeKutta{}, freezeUniform(t, p, 0.01), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Strain(p.Theta); err == nil {
		t.Error("a uniform grid has a strain")
	}
}

func freezeUniform(t *testing.T, p *Problem, h float64) *Grid {
	t.Helper()
	g, err := UniformGrid(p, nil, h)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Grids frozen at two distant θ give the same answer at a third.
func TestFrozenElsewhere(t *testing.T) {
	p := decay()
	m := methods.RungeKutta{Tableau: methods.DormandPrince}
	var at [2][]float64
	for k, theta := range []float64{20, 40} {
		g, err := Setup{Method: m, Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-7}}}.Grid(context.Background(), p, []float64{theta}, []float64{5})
		if err != nil {
			t.Fatal(err)
		}
		z := solved(t, p, m, g, p.Theta)
		index, err := g.Index([]float64{5})
		if err != nil {
			t.Fatal(err)
		}
		at[k] = z[2*index[0] : 2*index[0]+2]
	}
	if off := math.Abs(at[0][0] - at[1][0]); off > 1e-6 {
		t.Errorf("two grids differ by %.2g", off)
	}
}

// Events divide the work, and each has a step of its own without an error.
func TestFrozenEvents(t *testing.T) {
	p := decay()
	p.Theta = append(p.Theta, 4.4)
	p.Events = append(Doses(1, 2, 0, 3, 10), Event{When: func(theta []float64) float64 { return theta[1] },
		Jump: func(x []float64, _ float64, _ []float64) { x[0]++ }})
	for _, m := range controlled {
		g := freeze(t, p, m, Frozen{Tolerance: Tolerance{Relative: 1e-3}}, []float64{4.4, 8})
		for _, at := range []float64{0, 3, 4.4, 10} {
			i := slices.Index(g.Times(), at)
			if i < 0 || g.Times()[i+1] != at {
				t.Errorf("%v: no event at %g", m, at)
			} else if e := g.Local()[2*i : 2*i+2]; e[0] != 0 || e[1] != 0 {
				t.Errorf("%v: the event at %g has a local error", m, at)
			}
		}
		// The steps move with the event.
		if z := solved(t, p, m, g, []float64{30, 4.9}); !vector.Finite(z) {
			t.Errorf("%v: not finite", m)
		}
	}
}

func TestFrozenFailures(t *testing.T) {
	p := decay()
	m := methods.RungeKutta{Tableau: methods.DormandPrince}
	blow := &Problem{F: func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[0] * x[0] }, X0: []float64{1}, Span: [2]float64{0, 2}}
	bad := &Problem{F: func(dst []float64, tt float64, x, _ []float64) { dst[0] = math.Sqrt(1 - tt) }, X0: []float64{1}, Span: [2]float64{0, 2}}
	for _, c := range []struct {
		name, want string
		p          *Problem
		f          Frozen
	}{
		{"steps", "more than 10 steps", p, Frozen{Tolerance: Tolerance{Relative: 1e-6}, MaxSteps: 10}},
		{"tolerance", "tolerance", p, Frozen{}},
		{"NaN", "tolerance", p, Frozen{Tolerance: Tolerance{Relative: math.NaN()}}},
		{"absolute", "absolute", p, Frozen{Tolerance: Tolerance{Relative: 1e-3, Absolute: []float64{1, 2, 3}}}},
		{"a blow-up", "t = 0.99", blow, Frozen{Tolerance: Tolerance{Relative: 1e-3}}},
		{"no number", "not finite", bad, Frozen{Tolerance: Tolerance{Relative: 1e-3}}},
	} {
		_, err := Setup{Method: m, Mesh: c.f}.Grid(context.Background(), c.p, nil, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want an error of one line with %q", c.name, err, c.want)
		}
	}
	slow := *p
	slow.F = func(dst []float64, t float64, x, theta []float64) {
		time.Sleep(100 * time.Microsecond)
		p.F(dst, t, x, theta)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := (Setup{Method: m, Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-9}}}).Grid(ctx, &slow, nil, nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 5*time.Second {
		t.Errorf("a context that ends: %v after %v", err, time.Since(begin))
	}
}

// A state that is zero until its first dose is no reason for tiny steps.
func TestFrozenFromZero(t *testing.T) {
	p := &Problem{
		F:  func(dst []float64, _ float64, x, _ []float64) { dst[0], dst[1] = -x[0], x[0]-0.1*x[1] },
		X0: []float64{0, 0}, Span: [2]float64{0, 20}, Events: Doses(0, 5, 1, 9),
	}
	for _, m := range controlled {
		g := freeze(t, p, m, Frozen{Tolerance: Tolerance{Relative: 1e-3}}, nil)
		if most := 3000; g.Steps() > most {
			t.Errorf("%v: %d steps", m, g.Steps())
		}
	}
}
