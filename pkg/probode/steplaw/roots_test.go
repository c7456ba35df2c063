package steplaw_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/steplaw"
)

func TestStepRoots(t *testing.T) {
	// Backward Euler for x′ = x − x³ from 0 with h = 2: z/2 = z − z³.
	p := scalar(func(x float64) float64 { return x - x*x*x }, func(x float64) float64 { return 1 - 3*x*x })
	roots := stepAt(t, p, adams.Moulton{Linearize: adams.Current}, []float64{0}, 2, 0.1).Roots()
	if len(roots) != 3 || math.Abs(roots[0][0]) > 1e-12 {
		t.Fatalf("roots %v: want 0 first and ±√½", roots)
	}
	near(t, "sum of the outer roots", roots[1][0]+roots[2][0], 0, 1, 1e-9)
	near(t, "outer root", math.Abs(roots[1][0]), math.Sqrt(0.5), 0, 1e-9)

	// With h = 1 backward Euler on FitzHugh–Nagumo has three solutions from the
	// unstable state, and with h = 0.1 one.
	fhn := problems.FitzHughNagumo()
	for h, want := range map[float64]int{0.1: 1, 1: 3} {
		l := stepAt(t, fhn, adams.Moulton{Linearize: adams.Current}, []float64{0, 0}, h, 0.2)
		r := make([]float64, 2)
		for _, z := range l.Roots() {
			l.Residual(r, z)
			near(t, "r at a root", math.Hypot(r[0], r[1]), 0, 1, 1e-8)
		}
		if len(l.Roots()) != want {
			t.Errorf("h = %g: roots %v, want %d", h, l.Roots(), want)
		}
		// The distribution must have the mass of all modes: a grid knows no roots.
		if m := moments(t, l); h == 1 {
			near(t, "normaliser with three modes", m.LogNormalizer, newGrid(l, m, 600).log, 1, 1e-6)
		}
	}
}

func TestStepImproper(t *testing.T) {
	sine := scalar(func(x float64) float64 { return 2*x + math.Sin(x) }, func(x float64) float64 { return 2 + math.Cos(x) })
	tilted := &Problem{Name: "tilted", X0: []float64{1, 2}, Span: [2]float64{0, 1},
		// Along (1, −1) the matrix has the eigenvalue 2 = 1/h, and what is
		// added to it is bounded.
		F: func(f []float64, _ float64, x, _ []float64) {
			f[0], f[1] = 0.5*x[0]-1.5*x[1]+math.Tanh(x[0]), -1.5*x[0]+0.5*x[1]
		}}
	for _, p := range []*Problem{sine, tilted} {
		l := stepAt(t, p, adams.Moulton{Linearize: adams.Current}, p.X0, 0.5, 0.1)
		_, err := l.Moments()
		var at *SolveError
		if !errors.Is(err, steplaw.ErrImproper) || !errors.As(err, &at) || at.Step != 0 {
			t.Errorf("%s: Moments gives %v", p.Name, err)
		}
	}
	// x′ = λx with hλ = 1: r does not depend on z at all, and Γ = 0.
	growth := scalar(func(x float64) float64 { return 2 * x }, func(float64) float64 { return 2 })
	s := solver(t, growth, adams.Moulton{Linearize: adams.Current}, 0.5, 0.1)
	if _, err := steplaw.New(s, 0, []float64{1}, nil); !errors.Is(err, ErrSingular) {
		t.Errorf("hλ = 1: %v", err)
	}
	// What is proper must not be called improper.
	for _, p := range problems.All() {
		x0 := make([]float64, p.Dim())
		p.Initial(x0, p.Theta)
		h := (p.Span[1] - p.Span[0]) / 1000
		s := solver(t, p, adams.Moulton{Linearize: adams.Current}, h, 0.1)
		l, err := steplaw.New(s, 0, x0, p.Theta)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Moments(); errors.Is(err, steplaw.ErrImproper) {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

func TestStepSingular(t *testing.T) {
	// S + I + R is conserved, so det J = 0; without FJ differences must see it.
	for _, fj := range []bool{true, false} {
		p := problems.Robertson()
		if !fj {
			p.FJ = nil
		}
		z := []float64{0.9, 1e-5, 0.1}
		l := stepAt(t, p, adams.Moulton{Linearize: adams.Current}, z, 0.1, 0.1)
		if _, err := l.Moments(); !errors.Is(err, steplaw.ErrSingularH) || !strings.Contains(err.Error(), "adams.Moulton itself") {
			t.Errorf("FJ %v: %v", fj, err)
		}
		if v := l.LogDensity(z); !math.IsNaN(v) {
			t.Errorf("FJ %v: log density is %g without H⁻¹", fj, v)
		}
	}
	// Units of the state that differ by 10¹⁶ do not make J singular.
	const u = 1e16
	p := &Problem{Name: "units", X0: []float64{1, u}, Span: [2]float64{0, 1},
		F: func(f []float64, _ float64, x, _ []float64) { f[0], f[1] = -x[0]+x[1]/u, -2*x[1]+u*x[0]/2 },
		FJ: func(f, j []float64, _ float64, x, _ []float64) {
			f[0], f[1] = -x[0]+x[1]/u, -2*x[1]+u*x[0]/2
			j[0], j[1], j[2], j[3] = -1, 1/u, u/2, -2
		}}
	if v := stepAt(t, p, adams.Moulton{}, p.X0, 0.1, 0.1).LogDensity(p.X0); math.IsNaN(v) {
		t.Error("units of different size: no log density")
	}
}
