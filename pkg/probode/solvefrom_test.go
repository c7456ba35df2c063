package probode_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// A path that is solved in pieces is that of Solve, bit for bit: for every
// method and every cut, the start included, with all rows that are not yet
// known made NaN and another path solved between the pieces. One problem has an
// FJ that does not round as F does, another depends on time, and others take J
// by differences.
func TestSolveFrom(t *testing.T) {
	rounding := problems.FitzHughNagumo()
	fj := rounding.FJ
	rounding.FJ = func(f, jac []float64, t float64, x, theta []float64) {
		fj(f, jac, t, x, theta)
		f[0] *= 1 + 1e-13
	}
	differences := problems.FitzHughNagumo()
	differences.FJ = nil
	for _, p := range []*Problem{rounding, differences, riccati(), coupled(), problems.Brusselator(5)} {
		p.Span[1] = p.Span[0] + 0.5
		for _, m := range every() {
			s := mustSolver(t, p, m, 1./16, 0.01)
			xi, other := make([]float64, s.NoiseLen()), make([]float64, s.NoiseLen())
			DrawNoise(xi, 1, 1)
			DrawNoise(other, 1, 2)
			n, d := s.Steps(), p.Dim()
			memory := make([]float64, s.MemoryLen())
			for _, noise := range [][]float64{nil, xi} {
				want := solve(t, s, noise)
				for from := range n + 1 {
					for to := from; to <= n; to++ {
						z := make([]float64, s.PathLen())
						for i := range z {
							z[i] = math.NaN()
						}
						for _, piece := range [][2]int{{0, from}, {from, to}, {to, n}} {
							if err := s.SolveFrom(z, memory, p.Theta, noise, piece[0], piece[1]); err != nil {
								t.Fatal(err)
							}
							if got := z[:(piece[1]+1)*d]; !slices.Equal(got, want[:len(got)]) {
								t.Fatalf("%s, %v: steps %d to %d differ from Solve", p.Name, m, piece[0], piece[1])
							}
							if rest := z[(piece[1]+1)*d:]; len(rest) > 0 && !math.IsNaN(rest[0]) {
								t.Fatalf("%s, %v: steps %d to %d write beyond", p.Name, m, piece[0], piece[1])
							}
							solve(t, s, other)
						}
					}
				}
			}
			// Of the path only the row that a piece begins with is read.
			z := solve(t, s, xi)
			last := z[len(z)-1]
			if err := s.SolveFrom(z, memory, p.Theta, xi, 0, n-1); err != nil {
				t.Fatal(err)
			}
			for i := range (n - 1) * d {
				z[i] = math.NaN()
			}
			before := slices.Clone(memory)
			if err := s.SolveFrom(z, memory, p.Theta, xi, n-1, n); err != nil || z[len(z)-1] != last {
				t.Errorf("%s, %v: the last step reads more than it says: %v", p.Name, m, err)
			}
			if a := testing.AllocsPerRun(3, func() { copy(memory, before); s.SolveFrom(z, memory, p.Theta, xi, n-1, n) }); a != 0 {
				t.Errorf("%s, %v: %g allocations in SolveFrom", p.Name, m, a)
			}
		}
	}
}

func TestSolveFromRefuses(t *testing.T) {
	s := mustSolver(t, riccati(), adams.Moulton{Steps: 2}, 0.25, 1)
	z := make([]float64, s.PathLen())
	for _, steps := range [][2]int{{-1, 2}, {3, 2}, {0, 5}} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, "want 0 ≤ from ≤ to ≤ 4") {
					t.Errorf("steps %v: panic %q", steps, got)
				}
			}()
			s.SolveFrom(z, make([]float64, s.MemoryLen()), nil, nil, steps[0], steps[1])
		}()
	}
	defer func() {
		if got, want := fmt.Sprint(recover()), fmt.Sprintf("memory has length 1: want %d", s.MemoryLen()); !strings.Contains(got, want) {
			t.Errorf("wrong memory: panic %q, want %q", got, want)
		}
	}()
	s.SolveFrom(z, make([]float64, 1), nil, nil, 0, 1)
}

func TestNoAllocationInSolve(t *testing.T) {
	for _, p := range []*Problem{problems.FitzHughNagumo(), problems.Lorenz96(8), problems.Brusselator(10)} {
		p.Span[1] = p.Span[0] + 1
		for _, m := range every() {
			s := mustSolver(t, p, m, 1./128, 0.01)
			z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
			DrawNoise(xi, 1, 1)
			if n := testing.AllocsPerRun(3, func() {
				if err := s.Solve(z, p.Theta, xi); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%s, %v: %g allocations in a solve", p.Name, m, n)
			}
		}
	}
}

func TestBadInput(t *testing.T) {
	ok := func() *Problem { return problems.FitzHughNagumo() }
	for _, c := range []struct {
		name        string
		p           *Problem
		step, alpha float64
		want        string
	}{
		{"negative step", ok(), -1, 0, "the step is -1: want a finite number > 0"},
		{"long step", ok(), 30, 0, "the step is 30: want at most 20, the length of the span"},
		{"alpha", ok(), 0.1, -1, "alpha is -1: want a finite number ≥ 0"},
		{"NaN alpha", ok(), 0.1, math.NaN(), "alpha is NaN"},
		{"no F", &Problem{Name: "p", X0: []float64{1}, Span: [2]float64{0, 1}}, 0.1, 0, "F is nil"},
		{"no X0", &Problem{Name: "p", F: ok().F, Span: [2]float64{0, 1}}, 0.1, 0, "X0 is empty"},
		{"span", &Problem{Name: "p", F: ok().F, X0: []float64{1}}, 0.1, 0, "Span is [0, 0]"},
		{"wrong J", func() *Problem {
			p := ok()
			fj := p.FJ
			p.FJ = func(f, j []float64, t float64, x, th []float64) { fj(f, j, t, x, th); j[1] = -j[1] }
			return p
		}(), 0.1, 0, "FJ gives ∂f[0]/∂x[1] = -3 where differences of F give 3"},
		{"wrong f", func() *Problem {
			p := ok()
			fj := p.FJ
			p.FJ = func(f, j []float64, t float64, x, th []float64) { fj(f, j, t, x, th); f[1]++ }
			return p
		}(), 0.1, 0, "FJ gives f[1]"},
		{"narrow band", func() *Problem {
			p := problems.Lorenz96(6)
			p.FJ, p.Band = nil, &Bandwidth{1, 1}
			return p
		}(), 0.1, 0, "entries outside Band (1, 1)"},
	} {
		g, err := UniformGrid(c.p, nil, c.step)
		if err == nil {
			_, err = NewSolver(c.p, adams.Moulton{}, g, c.alpha)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", c.name, err, c.want)
		}
	}
}

// Γ is singular where hβ₋₁λ = 1.
func TestSingularGamma(t *testing.T) {
	p := &Problem{Name: "growth", X0: []float64{1}, Span: [2]float64{0, 1},
		F: func(f []float64, _ float64, x, _ []float64) { f[0] = 4 * x[0] }}
	p.FJ = func(f, j []float64, _ float64, x, _ []float64) { f[0], j[0] = 4*x[0], 4 }
	s := mustSolver(t, p, adams.Moulton{}, 0.25, 1)
	if err := s.Solve(make([]float64, s.PathLen()), nil, nil); !errors.Is(err, ErrSingular) {
		t.Errorf("error %v, want ErrSingular", err)
	}
}

// z = 1 + h(1 + z²) has no real root for h > 0.21.
func TestNewtonFailureIsAnError(t *testing.T) {
	p := &Problem{Name: "blow-up", X0: []float64{1}, Span: [2]float64{0, 1},
		F: func(f []float64, _ float64, x, _ []float64) { f[0] = 1 + x[0]*x[0] }}
	s := mustSolver(t, p, adams.Moulton{}, 0.25, 0)
	err := s.Solve(make([]float64, s.PathLen()), nil, nil)
	if !errors.Is(err, ErrNewton) {
		t.Errorf("error %v, want ErrNewton", err)
	}
}

func TestStartDependsOnTheta(t *testing.T) {
	p := &Problem{Name: "decay", X0: []float64{0}, Theta: []float64{2, 5}, Span: [2]float64{0, 1},
		F:     func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
		Start: func(x0, th []float64) { x0[0] = th[1] }}
	s := mustSolver(t, p, methods.RungeKutta{}, 0.01, 0)
	z := make([]float64, s.PathLen())
	if err := s.Solve(z, []float64{1, 3}, nil); err != nil {
		t.Fatal(err)
	}
	// RK4 at h = 0.01 has an error of h⁴/120 relative.
	if want := 3 * math.Exp(-1); math.Abs(z[100]-want) > 1e-9 {
		t.Errorf("x(1) = %v, want %v", z[100], want)
	}
}
