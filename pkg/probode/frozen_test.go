package probode_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

func mustFrozen(t testing.TB, p *Problem, m Method, tol float64, times ...float64) *Grid {
	t.Helper()
	return mustGrid(t)(Setup{Method: m, Mesh: Frozen{Tolerance: Tolerance{Relative: tol, Absolute: []float64{tol}}}}.Grid(ctx(), p, nil, times))
}

// coupledError is the largest error of s on the problem coupled.
func coupledError(s *Solver, z []float64) (e float64) {
	for i, at := range s.Times() {
		sin, cos := math.Sincos(at * at)
		for c, x := range []float64{math.Exp(sin), math.Exp(5 * sin), 1 + sin, cos} {
			e = max(e, math.Abs(z[4*i+c]-x)/(1+math.Abs(x)))
		}
	}
	return e
}

// On grids of random steps, of which neighbours have ratios up to three, every
// method has its order: the error against halved grids falls by 2^q.
func TestOrderOnRandomGrids(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, m := range every() {
		n := 128
		if m.Order() <= 2 {
			n = 512
		} else if m == Method(methods.RungeKutta{Tableau: methods.DormandPrince}) {
			n = 24 // soon down to rounding
		}
		at, times := 0.0, []float64{}
		for range n {
			at += 0.5 + rng.Float64()
			times = append(times, at)
		}
		for i := range times {
			times[i] /= at
		}
		g := mustGrid(t)(NewGrid(coupled(), nil, times))
		var e [2]float64
		for i, g := range []*Grid{g.Refine(), g.Refine().Refine()} {
			s := mustSolverOn(t, coupled(), m, g, 0)
			e[i] = coupledError(s, solve(t, s, nil))
		}
		if got := math.Log2(e[0] / e[1]); math.Abs(got-float64(m.Order())) > 0.35 {
			t.Errorf("%v: observed order %.2f (%.1e), want %d", m, got, e[1], m.Order())
		}
	}
}

// The error of a run to a tolerance is proportional to it, or nearly: with local
// errors of the tolerance in each step, steps go like tol^{1/(q+1)} and the
// global error like tol^{q/(q+1)} for methods whose step counts all of its
// error, whatever that is at. The bounds leave what one factor of ten
// in the tolerance may mean. Few steps are tried in vain.
func TestToleranceIsKept(t *testing.T) {
	for _, m := range every() {
		tols := []float64{1e-4, 1e-5, 1e-6, 1e-7}
		if m.Order() == 1 {
			tols = []float64{1e-3, 1e-4, 1e-5, 1e-6}
		}
		var e, steps []float64
		for _, tol := range tols {
			g := mustFrozen(t, coupled(), m, tol)
			s := mustSolverOn(t, coupled(), m, g, 0)
			e = append(e, coupledError(s, solve(t, s, nil)))
			steps = append(steps, float64(g.Steps()))
			if strain, err := s.Strain(nil); err != nil || strain > 1.0001 {
				t.Errorf("%v: strain %v at the θ of the grid, %v", m, strain, err)
			}
		}
		n := len(tols) - 1
		q := float64(m.Order())
		decades := math.Log10(tols[0] / tols[n])
		if rate, want := math.Log10(e[0]/e[n])/decades, q/(q+1); rate < want-0.2 || rate > 1.3 {
			t.Errorf("%v: errors %.1e fall like tol^%.2f, want about %.2f", m, e, rate, want)
		}
		if rate, want := math.Log10(steps[n]/steps[0])/decades, 1/(q+1); rate < 0.5*want || rate > 1.35*want {
			t.Errorf("%v: steps %v grow like tol^-%.2f, want %.2f", m, steps, rate, want)
		}
		// Amplified by the problem, of which a component changes by e¹⁰.
		if e[n] > 5e3*tols[n]*steps[n] {
			t.Errorf("%v: error %.1e at tolerance %g in %g steps", m, e[n], tols[n], steps[n])
		}
	}
}

// Few steps of the controller are rejected, which the number of evaluations
// tells: DormandPrince takes 6 in a step, the last of them for the estimate, and in a step
// that is accepted 12 more for the local error that is kept.
func TestFewRejections(t *testing.T) {
	for _, p := range []*Problem{problems.FitzHughNagumo(), problems.VanDerPol(10), problems.LotkaVolterra(), problems.RestrictedThreeBody()} {
		var calls atomic.Int64
		f := p.F
		p.F = func(dst []float64, t float64, x, theta []float64) { calls.Add(1); f(dst, t, x, theta) }
		g := mustFrozen(t, p, methods.RungeKutta{Tableau: methods.DormandPrince}, 1e-6)
		if tried := float64(calls.Load()-12*int64(g.Steps())) / 6; tried > 1.2*float64(g.Steps()) {
			t.Errorf("%s: %.0f steps were tried for %d", p.Name, tried, g.Steps())
		}
	}
}

// On a frozen grid Z is smooth in θ: third differences of step 1e-3 are of the
// size of the third derivative and its rounding, and a grid made for each θ
// does not have that.
func TestFrozenGridIsSmoothInTheta(t *testing.T) {
	p := problems.FitzHughNagumo()
	p.Span[1] = 6
	const dt = 1e-3
	for _, m := range []Method{adams.Bashforth{Steps: 3}, adams.Moulton{Steps: 2}, methods.RungeKutta{Tableau: methods.DormandPrince}} {
		for _, noise := range []bool{false, true} {
			frozen := mustSolverOn(t, p, m, mustFrozen(t, p, m, 1e-4), 1e-4)
			var xi []float64
			if noise {
				xi = make([]float64, frozen.NoiseLen())
				DrawNoise(xi, 1, 1)
			}
			rough := func(adapt bool) (worst float64) {
				var v []float64
				for k := range 100 {
					theta := slices.Clone(p.Theta)
					theta[2] += dt * float64(k-50)
					s := frozen
					if adapt {
						q := *p
						q.Theta = theta
						s = mustSolverOn(t, &q, m, mustFrozen(t, &q, m, 1e-4), 0)
					}
					z := make([]float64, s.PathLen())
					x := xi
					if adapt {
						x = nil
					}
					if err := s.Solve(z, theta, x); err != nil {
						t.Fatal(err)
					}
					v = append(v, z[len(z)-2])
				}
				for k := 3; k < len(v); k++ {
					worst = max(worst, math.Abs(v[k]-3*v[k-1]+3*v[k-2]-v[k-3]))
				}
				return worst
			}
			// The third derivative is 41, times dt³ = 1e-9; Newton's method leaves
			// 1e-12.
			smooth, adaptive := rough(false), 0.0
			if !noise {
				adaptive = rough(true)
			}
			if smooth > 6e-8 || !noise && adaptive < 20*smooth {
				t.Errorf("%v, noise %v: differences %.1e on a frozen grid, %.1e with a grid for each θ", m, noise, smooth, adaptive)
			}
		}
	}
}

// Strain tells where a grid no longer serves, and is refused for grids that were
// not made to a tolerance.
func TestStrain(t *testing.T) {
	p := problems.VanDerPol(1)
	for _, m := range []Method{adams.Bashforth{Steps: 2}, adams.Moulton{Steps: 1}, methods.RungeKutta{}, methods.RungeKutta{Tableau: methods.DormandPrince}} {
		s := mustSolverOn(t, p, m, mustFrozen(t, p, m, 1e-6), 0)
		theta := slices.Clone(p.Theta)
		theta[0] *= 3
		here, err := s.Strain(p.Theta)
		there, err2 := s.Strain(theta)
		if err != nil || err2 != nil || here > 1.0001 || here < 0.3 || there < 5 {
			t.Errorf("%v: strain %.3g at home, %.3g far away; %v, %v", m, here, there, err, err2)
		}
	}
	if _, err := mustSolver(t, riccati(), methods.RungeKutta{}, 0.25, 0).Strain(nil); err == nil || !strings.Contains(err.Error(), "were not chosen to meet a tolerance") {
		t.Errorf("a uniform grid: error %v", err)
	}
}

// Problems whose time scales span many decades, from states with zeros, with no
// absolute tolerance given; and in units of the state from 1e-12 to 1e12, in
// which the grid is the same.
func TestFrozenStiff(t *testing.T) {
	rober := problems.Robertson()
	rober.Span[1] = 1e5
	for _, m := range []Method{adams.Moulton{}, adams.Moulton{Steps: 1}} {
		g := mustGrid(t)(Setup{Method: m, Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-3}}}.Grid(ctx(), rober, nil, []float64{40, 1e5}))
		s := mustSolverOn(t, rober, m, g, 1e-6) // α* is about 1e-5
		z := solve(t, s, nil)
		i, err := g.Index([]float64{40})
		if err != nil {
			t.Fatal(err)
		}
		// x(40) of Hairer & Wanner's test set is .7158, .9185e-5, .2842.
		for k, want := range []float64{0.7158, 0.9185e-5, 0.2842} {
			if got := z[3*i[0]+k]; math.Abs(got/want-1) > 0.02 {
				t.Errorf("%v: component %d is %g at t = 40, want %g", m, k, got, want)
			}
		}
		xi := make([]float64, s.NoiseLen())
		if err := s.SolvePath(z, rober.Theta, xi, 1, 1); err != nil {
			t.Errorf("%v: with noise: %v", m, err)
		}
	}
	var first *Grid
	for _, unit := range []float64{1, 0x1p-40, 0x1p40, 0x1p-100} /* no rounding differs */ {
		p, _ := compartments(3, 17)
		for k := range p.Events {
			p.Events[k].Jump = plus(100 * unit)
		}
		g := mustGrid(t)(Setup{Method: methods.RungeKutta{}, Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-4}}}.Grid(ctx(), p, nil, nil))
		if first == nil {
			first = g
		} else if !slices.Equal(g.Times(), first.Times()) {
			t.Errorf("in units of %g the grid has %d steps in place of %d", unit, g.Steps(), first.Steps())
		}
	}
	// A chain that grows from zero like t, t², … in each component.
	chain := &Problem{Name: "chain", X0: make([]float64, 5), Span: [2]float64{0, 3},
		F: func(f []float64, _ float64, x, _ []float64) {
			f[0] = 1
			copy(f[1:], x[:4])
		}}
	for _, m := range []Method{adams.Bashforth{}, adams.Moulton{Steps: 1}, adams.Bashforth{Steps: 4}, methods.RungeKutta{Tableau: methods.DormandPrince}} {
		g, err := Setup{Method: m, Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-3}}}.Grid(ctx(), chain, nil, nil)
		if err != nil {
			t.Errorf("%v: %v", m, err)
			continue
		}
		z := solve(t, mustSolverOn(t, chain, m, g, 0), nil)
		if got, want := z[len(z)-1], math.Pow(3, 5)/120; math.Abs(got/want-1) > 0.05 {
			t.Errorf("%v: the chain ends at %g, want %g", m, got, want)
		}
	}
}
