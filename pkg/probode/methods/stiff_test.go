package methods_test

import (
	"context"

	. "github.com/probode/probode/pkg/probode/methods"

	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/problems"
)

// A stiffCase is a problem of the test set for initial value problem solvers
// [HW96, §IV.10], with the solution at the end that the test set publishes.
type stiffCase struct {
	p        *probode.Problem
	absolute []float64
	want     []float64
}

func stiffCases() []stiffCase {
	rober := problems.Robertson()
	rober.Span[1] = 1e11
	vdpol := problems.VanDerPol(1e6)
	vdpol.Span[1] = 2
	orego := problems.Oregonator()
	orego.Span[1] = 360
	return []stiffCase{
		{rober, []float64{1e-6, 1e-10, 1e-6}, []float64{0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050}},
		{vdpol, nil, []float64{0.1706167732170483e1, -0.8928097010247975}},
		{problems.HIRES(), nil, []float64{0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2,
			0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2}},
		{orego, nil, []float64{0.1000814870318523e1, 0.1228178521549917e4, 0.1320554942846706e3}},
	}
}

func frozen(t testing.TB, p *probode.Problem, m probode.Method, tol probode.Tolerance) *probode.Grid {
	t.Helper()
	g, err := probode.Setup{Method: m, Mesh: probode.Frozen{Tolerance: tol}}.Grid(context.Background(), p, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Radau and BDF solve the stiff problems on frozen grids, with and without FJ.
func TestStiff(t *testing.T) {
	for _, c := range stiffCases() {
		for _, fj := range []bool{true, false} {
			p := *c.p
			if !fj {
				p.FJ = nil
			}
			for _, m := range []probode.Method{Radau{Stages: 3}, Radau{Stages: 2}, BDF{}, BDF{Steps: 5}, Auto{}} {
				rel := 1e-5
				g := frozen(t, &p, m, probode.Tolerance{Relative: rel, Absolute: c.absolute})
				z := end(path(t, &p, m, g, 0, nil), p.Dim())
				for k, v := range c.want {
					unit := math.Abs(v)
					if c.absolute != nil {
						unit += c.absolute[k] / rel
					}
					// Local errors of the Oregonator's spikes grow about a
					// hundredfold towards the end.
					if math.Abs(z[k]-v) > 100*rel*unit {
						t.Errorf("%s, %v, FJ %v: component %d is %.8g in %d steps, want %.8g", p.Name, m, fj, k, z[k], g.Steps(), v)
					}
				}
				if g.Steps() > 2500 {
					t.Errorf("%s, %v, FJ %v: %d steps", p.Name, m, fj, g.Steps())
				}
			}
		}
	}
}

// Gauss methods do not damp: y₂ of Robertson's problem, which the transient
// leaves at some 10⁻⁹ where it should fall to 10⁻¹³, must not be taken for right.
// Step doubling did: it left twelve times the tolerance.
func TestGaussSeesWhatItDoesNotDamp(t *testing.T) {
	c := stiffCases()[0]
	tol := probode.Tolerance{Relative: 1e-6, Absolute: c.absolute}
	radau := frozen(t, c.p, Radau{}, tol)
	for _, m := range []Gauss{{Stages: 1}, {Stages: 2}} {
		g := frozen(t, c.p, m, tol)
		z := end(path(t, c.p, m, g, 0, nil), 3)
		for k, v := range c.want {
			// Local errors of some steps of a transient may add up.
			if off := math.Abs(z[k] - v); off > 3*(c.absolute[k]+tol.Relative*math.Abs(v)) {
				t.Errorf("%v: component %d is %.6g, want %.6g", m, k, z[k], v)
			}
		}
		t.Logf("%v: %d steps, Radau5 %d", m, g.Steps(), radau.Steps())
	}
}

// With noise the paths of stiff problems are solved too, and scatter about the
// classical one by little. The scale is between those that calibration gives:
// from 10⁻¹¹ for Robertson, where the factor √(T/h) is 10⁷ at the beginning of a
// span of 10¹¹, to 10⁻³ for the Oregonator.
func TestStiffNoise(t *testing.T) {
	for _, c := range stiffCases() {
		p, m := c.p, Radau{}
		tol := probode.Tolerance{Relative: 1e-5, Absolute: c.absolute}
		ens, err := probode.Integrate(context.Background(), p, m, 20, probode.Settings{Mesh: probode.Frozen{Tolerance: tol}, Alpha: 1e-6, Seed: 1, Times: []float64{p.Span[1]}})
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if ens.Failed > 0 {
			t.Errorf("%s: %d of 20 paths fail: %v", p.Name, ens.Failed, ens.Failure)
		}
		for k := range c.want {
			sd, x := ens.SD[k][0], math.Abs(ens.Deterministic[k][0])
			unit := x
			if c.absolute != nil {
				unit += c.absolute[k] / tol.Relative
			}
			if !(sd > 0) || sd > 0.05*unit {
				t.Errorf("%s: component %d is %.6g ± %.2g", p.Name, k, x, sd)
			}
		}
	}
}

// Z depends on (θ, ξ) alone and not on how its equations were solved: another
// Jacobian, by differences and in full in place of exact and banded, takes other
// iterations to the same path.
func TestIterationsLeaveNoTrace(t *testing.T) {
	cases := stiffCases()
	for _, p := range []*probode.Problem{cases[1].p, cases[2].p, problems.Brusselator(10), problems.FitzHughNagumo()} {
		other := *p
		other.FJ, other.Band = nil, nil
		for _, m := range []probode.Method{Gauss{}, Gauss{Stages: 2}, Radau{Stages: 2}, Radau{}, BDF{}, BDF{Steps: 3}, adams.Moulton{}, adams.Moulton{Steps: 1}} {
			for _, rel := range []float64{1e-2, 1e-6} {
				if _, ok := m.(Radau); !ok && rel < 1e-3 {
					rel = 1e-4
				}
				g := frozen(t, p, m, probode.Tolerance{Relative: rel})
				z, y := path(t, p, m, g, 0, nil), path(t, &other, m, g, 0, nil)
				d := p.Dim()
				size := make([]float64, d)
				for i, v := range z {
					size[i%d] = math.Max(size[i%d], math.Abs(v))
				}
				for i, v := range z {
					// A path amplifies what differs in a step: van der Pol's
					// oscillator, whose jumps move in time, without bound; the
					// end of HIRES, whose time long steps move, by 10⁵ (5e-10
					// at eight tolerances about 0.01). checkOneSteps is strict.
					if p.Dim() > 2 && math.Abs(v-y[i]) > 1e-9*size[i%d] {
						t.Errorf("%s, %v, rtol %g: component %d is off by %.2g of %.2g at step %d of %d", p.Name, m, rel, i%d, math.Abs(v-y[i]), size[i%d], i/d, g.Steps())
						break
					}
				}
				checkOneSteps(t, p, &other, m, g, z)
			}
		}
	}
}

// checkOneSteps compares single steps from the states of a path.
func checkOneSteps(t *testing.T, p, other *probode.Problem, m probode.Method, g *probode.Grid, z []float64) {
	t.Helper()
	a, err := m.Stepper(p, g)
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Stepper(other, g)
	if err != nil {
		t.Fatal(err)
	}
	d := p.Dim()
	one, two := make([]float64, d), make([]float64, d)
	for i := range g.Steps() {
		s := stepOf(g, i, z, one, p.Theta)
		if err := a.Step(&s); err != nil {
			t.Fatal(err)
		}
		s.Next = two
		if err := b.Step(&s); err != nil {
			t.Fatal(err)
		}
		var size float64
		for _, v := range one {
			size = math.Max(size, math.Abs(v))
		}
		if off := distance(one, two); off > 1e-11*size {
			t.Errorf("%s, %v: step %d moves by %.2g of %.2g with the Jacobian", p.Name, m, i, off, size)
			return
		}
	}
}

// The Brusselator with diffusion, of 80 components in a band, on a frozen grid,
// with noise and without.
func TestStiffBanded(t *testing.T) {
	p := problems.Brusselator(40)
	want := end(path(t, p, Radau{}, frozen(t, p, Radau{}, probode.Tolerance{Relative: 1e-9}), 0, nil), 80)
	for _, fj := range []bool{true, false} {
		q := *p
		if !fj {
			q.FJ = nil
		}
		ens, err := probode.Integrate(context.Background(), &q, Radau{}, 10, probode.Settings{
			Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-5}}, Alpha: 1e-6, Seed: 1, Times: []float64{10}})
		if err != nil || ens.Failed > 0 {
			t.Fatalf("FJ %v: %v, %v", fj, err, ens)
		}
		for k, v := range want {
			if math.Abs(ens.Deterministic[k][0]-v) > 1e-4 || !(ens.SD[k][0] > 0) || ens.SD[k][0] > 1e-3 {
				t.Fatalf("FJ %v: component %d is %.8g ± %.2g, want %.8g", fj, k, ens.Deterministic[k][0], ens.SD[k][0], v)
			}
		}
	}
}

func TestBanded(t *testing.T) {
	p := problems.Brusselator(20)
	dense := *p
	dense.Band, dense.FJ = nil, nil
	for _, m := range []probode.Method{Radau{Stages: 2}, Radau{}, Gauss{}, Gauss{Stages: 2}, BDF{Steps: 2}} {
		g := uniform(t, p, 0.1)
		a, b := path(t, p, m, g, 0, nil), path(t, &dense, m, g, 0, nil)
		if off := distance(a, b); off > 1e-11 {
			t.Errorf("%v: banded and dense differ by %.2g", m, off)
		}
	}
}

// Frozen grids with events: the answer is that of a much finer grid, for
// methods with a past as well.
func TestFrozenWithEvents(t *testing.T) {
	p := dosing()
	want := end(path(t, p, Radau{}, frozen(t, p, Radau{}, probode.Tolerance{Relative: 1e-11}), 0, nil), 2)
	for _, m := range everyMethod() {
		if _, random := m.(RandomStep); random || m.Order() < 2 {
			continue
		}
		rel := 1e-6
		g := frozen(t, p, m, probode.Tolerance{Relative: rel})
		if off := distance(end(path(t, p, m, g, 0, nil), 2), want); off > 200*rel {
			t.Errorf("%v: off by %.2g in %d steps", m, off, g.Steps())
		}
	}
}

// Linear systems whose eigenvectors are nearly parallel round by more than
// updates may be left over: they are solved all the same, as well as rounding
// lets them.
func TestNotNormal(t *testing.T) {
	for _, skew := range []float64{1, 1e3, 1e5} {
		rates := []float64{1, 1e4, 1e8}
		// J = S·diag(−rates)·S⁻¹ for S = I + skew·(superdiagonal).
		state := func(c []float64) []float64 { return []float64{c[0] + skew*c[1], c[1] + skew*c[2], c[2]} }
		p := &probode.Problem{
			Name: "skewed decay",
			F: func(dst []float64, _ float64, x, _ []float64) {
				c2 := x[2]
				c1 := x[1] - skew*c2
				c0 := x[0] - skew*c1
				copy(dst, state([]float64{-rates[0] * c0, -rates[1] * c1, -rates[2] * c2}))
			},
			X0: state([]float64{1, 1, 1}), Span: [2]float64{0, 1}, Autonomous: true,
		}
		p.FJ = func(f, jac []float64, t float64, x, theta []float64) {
			p.F(f, t, x, theta)
			unit, col := make([]float64, 3), make([]float64, 3)
			for j := range 3 {
				clear(unit)
				unit[j] = 1
				p.F(col, t, unit, theta)
				for i := range 3 {
					jac[3*i+j] = col[i]
				}
			}
		}
		for _, m := range []probode.Method{Radau{}, Radau{Stages: 2}, BDF{}, BDF{Steps: 4}} {
			g := frozen(t, p, m, probode.Tolerance{Relative: 1e-6})
			z := end(path(t, p, m, g, 0, nil), 3)
			if off := math.Abs(z[0] - math.Exp(-1)); off > 1e-5*skew {
				t.Errorf("%v, skew %g: off by %.2g", m, skew, off)
			}
		}
	}
}

// States that decay until they are below the numbers with all their digits, and
// to zero, are solved to the end.
func TestDecayToNothing(t *testing.T) {
	for _, m := range []probode.Method{Radau{}, Radau{Stages: 2}, BDF{}, BDF{Steps: 2}, adams.Moulton{}} {
		for _, rate := range []float64{2, 10, 1000} { // where BDF5 damps
			p := &probode.Problem{Name: "decay", Autonomous: true, X0: []float64{1, 2}, Span: [2]float64{0, 5000},
				F: func(dst []float64, _ float64, x, _ []float64) {
					dst[0], dst[1] = -rate*x[0]+x[1], -rate*x[1]-x[0]
				}}
			if z := end(path(t, p, m, uniform(t, p, 1), 0, nil), 2); math.Abs(z[0]) > 1e-290 || math.Abs(z[1]) > 1e-290 {
				t.Errorf("%v, rate %g: %g", m, rate, z)
			}
		}
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	for _, p := range []*probode.Problem{problems.HIRES(), problems.Brusselator(5)} {
		for _, m := range []probode.Method{Gauss{}, Gauss{Stages: 2}, Radau{Stages: 2}, Radau{}, RandomStep{Method: Radau{}}, BDF{}, BDF{Steps: 2}} {
			g := uniform(t, p, p.Span[1]/500)
			s, err := probode.NewSolver(p, m, g, 1e-12)
			if err != nil {
				t.Fatal(err)
			}
			z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
			solve := func() {
				if err := s.Solve(z, p.Theta, xi); err != nil {
					t.Fatal(err)
				}
			}
			if solve(); testing.AllocsPerRun(3, solve) > 0 {
				t.Errorf("%s, %v: a solve allocates", p.Name, m)
			}
		}
	}
}
