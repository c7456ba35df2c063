package methods_test

import (
	"math"
	"slices"
	"testing"

	. "github.com/probode/probode/pkg/probode/methods"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
)

// alternating is stiff where θ₀ exp(2 x₁) is large, at the crests of x₁ = 3 cos ωt, ω² = 1 + θ₂/10, and
// not in between. It is disturbed at a time that is a parameter.
func alternating() *probode.Problem {
	return &probode.Problem{
		Name: "alternating",
		F: func(f []float64, _ float64, x, th []float64) {
			f[0], f[1], f[2] = th[0]*math.Exp(2*x[1])*(th[1]*x[1]*x[2]-x[0]), x[2], -(1+th[2]/10)*x[1]
		},
		FJ: func(f, jac []float64, _ float64, x, th []float64) {
			r, off := th[0]*math.Exp(2*x[1]), th[1]*x[1]*x[2]-x[0]
			f[0], f[1], f[2] = r*off, x[2], -(1+th[2]/10)*x[1]
			jac[0], jac[1], jac[2] = -r, 2*r*off+r*th[1]*x[2], r*th[1]*x[1]
			jac[5], jac[7] = 1, -(1 + th[2]/10)
		},
		FTheta: func(dst []float64, _ float64, x, th []float64) {
			r, off := math.Exp(2*x[1]), th[1]*x[1]*x[2]-x[0]
			dst[0], dst[1], dst[12] = r*off, th[0]*r*x[1]*x[2], -x[1]/10
		},
		X0: []float64{0, 3, 0}, Span: [2]float64{0, 20}, Theta: []float64{20, 0.3, 1.1, 7.5, 0.4}, Autonomous: true,
		Events: []probode.Event{{When: func(th []float64) float64 { return th[3] }, Jump: func(x []float64, _ float64, th []float64) { x[0] += th[4] },
			JumpPullback: func(lambda, dtheta, _ []float64, _ float64, _ []float64) float64 { dtheta[4] += lambda[0]; return 0 }}},
	}
}

// turns returns the numbers of steps of DP5 and of Radau5 on the grid g, and the number of
// changes between them.
func turns(g *probode.Grid) (explicit, implicit, changes int) {
	last := 1
	for i := range g.Steps() {
		if g.H(i) == 0 {
			continue
		}
		if g.Order(i) != last {
			changes++
		}
		if last = g.Order(i); last == 1 {
			explicit++
		} else {
			implicit++
		}
	}
	return explicit, implicit, changes
}

// The end values of the test set, at small tolerances, by runs with new steps.
func TestAutoEndValues(t *testing.T) {
	for _, c := range stiffCases() {
		for _, rel := range []float64{1e-6, 1e-7, 1e-8} {
			absolute := slices.Clone(c.absolute)
			for k := range absolute {
				absolute[k] *= rel / 1e-5
			}
			path, err := probode.Setup{Method: Auto{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: rel, Absolute: absolute}}}.Bind(t.Context(), c.p, nil, c.p.Span[1:])
			if err != nil {
				t.Fatal(err)
			}
			x := make([]float64, c.p.Dim())
			if err := path.States(t.Context(), x, c.p.Theta, nil); err != nil {
				t.Fatal(err)
			}
			for k, v := range c.want {
				unit := math.Abs(v)
				if c.absolute != nil {
					unit += absolute[k] / rel
				}
				// As in TestStiff. The errors of the moments at which van der Pol's
				// oscillator jumps add up.
				if math.Abs(x[k]-v) > 100*rel*unit {
					t.Errorf("%s, %g: component %d is %.10g: want %.10g (%.2g of the tolerance)", c.p.Name, rel, k, x[k], v, math.Abs(x[k]-v)/rel/unit)
				}
			}
		}
	}
}

// The steps of a problem that is not stiff are those of DP5. Those of a stiff one cost, in
// steps of DP5, at most 1.3 times as much as those of Radau5 alone, of which one costs
// eight; where DP5 alone can solve it, at most 1.3 times as much as DP5. The method changes
// seldom.
func TestAutoChooses(t *testing.T) {
	short := problems.VanDerPol(1e3)
	short.Name = "van der Pol, 1e3"
	stiffer := problems.VanDerPol(1e5)
	for _, c := range []struct {
		p       *probode.Problem
		stiff   bool
		changes int // at most
	}{
		{problems.FitzHughNagumo(), false, 0}, {problems.LotkaVolterra(), false, 0}, {problems.SIR(), false, 0}, {problems.Pleiades(), false, 0},
		{problems.Lorenz63(), false, 0}, {problems.VanDerPol(1), false, 0}, {problems.Burgers(50), false, 0}, {problems.ProteinActivation(), false, 0},
		{problems.Robertson(), true, 3}, {problems.HIRES(), true, 6}, {problems.Oregonator(), true, 8},
		{short, true, 20}, {stiffer, true, 20}, {alternating(), true, 20},
	} {
		if c.p.Name == "Lorenz 63" {
			c.p.Span[1] = 5
		}
		for _, rel := range []float64{1e-2, 1e-4, 1e-6, 1e-8} {
			grid := func(m probode.Method) *probode.Grid {
				_, held := hold(t, m, c.p, rel, c.p.Span[1:])
				return held.(probode.Gridded).Solver().Grid()
			}
			g := grid(Auto{})
			explicit, implicit, changes := turns(g)
			if !c.stiff {
				if !slices.Equal(g.Times(), grid(RungeKutta{Tableau: DormandPrince}).Times()) {
					t.Errorf("%s, %g: not the steps of DP5, but %d, and %d of Radau5", c.p.Name, rel, explicit, implicit)
				}
				continue
			}
			cost, alone := explicit+8*implicit, 8*grid(Radau{}).Steps()
			if changes > c.changes || float64(cost) > 1.3*float64(alone) {
				t.Errorf("%s, %g: %d changes, and the cost is %d + 8 × %d: want at most %d changes and 1.3 × %d", c.p.Name, rel, changes, explicit, implicit, c.changes, alone)
			}
		}
	}
}

// A held path has steps of both methods, the states of the run up to a hundredth of the
// tolerance for each step (see TestKeptJacobian), and the derivatives of extrapolated differences of itself, forwards and backwards. Derivatives of jumps and of
// times of events are differences with errors of 1e-10, and the gradients compared are sums
// of larger numbers. Pieces of a path are the path.
func TestAutoHolds(t *testing.T) {
	moving := alternating()
	plain, still := *moving, *moving
	plain.Events, still.Events = nil, []probode.Event{moving.Events[0]}
	still.Events[0].When, still.Events[0].Time = nil, 7.5
	times := []float64{3, 7, 11, 16, 20}
	for _, c := range []struct {
		p            *probode.Problem
		tol, forward float64 // of gradients and of derivatives
	}{{&plain, 1e-11, 1e-9}, {&still, 3e-9, 1e-9}, {moving, 1e-8, 5e-9}} {
		p := c.p
		path, held := hold(t, Auto{}, p, 1e-5, times)
		s := held.(probode.Gridded).Solver()
		if explicit, implicit, changes := turns(s.Grid()); explicit < 100 || implicit < 20 || changes < 4 {
			t.Fatalf("%d steps of DP5, %d of Radau5, %d changes", explicit, implicit, changes)
		}
		x, y := make([]float64, len(times)*3), make([]float64, len(times)*3)
		if err := path.States(t.Context(), x, p.Theta, nil); err != nil {
			t.Fatal(err)
		}
		if err := held.States(t.Context(), y, p.Theta, nil); err != nil || distance(x, y) > 1e-6 {
			t.Errorf("the held path differs from the run by %g, %v", distance(x, y), err)
		}
		compareGradient(t, s, p.Theta, c.tol)
		n := len(p.Theta)
		z, dz, identity := make([]float64, s.PathLen()), make([]float64, s.PathLen()*n), make([]float64, n*n)
		for j := range n {
			identity[j*(n+1)] = 1
		}
		if err := s.SolveTangents(z, dz, p.Theta, identity, nil); err != nil {
			t.Fatal(err)
		}
		for j := range n {
			want, size, off := differencesOver(t, s, p.Theta, nil, j, 2e-4*p.Theta[j]), 0.0, 0.0
			for i, v := range want {
				size, off = max(size, math.Abs(v)), max(off, math.Abs(dz[j*len(z)+i]-v))
			}
			if !(off <= c.forward*size) {
				t.Errorf("the derivative in θ%d is off by %.2g", j, off/size)
			}
		}
		theta := slices.Clone(p.Theta)
		theta[0] *= 1.005
		checkPieces(t, p, Auto{}, s.Grid(), theta, 1e-3, probode.ScaleLocal)
		g := frozen(t, p, Auto{}, probode.Tolerance{Relative: 1e-5})
		noisy, err := probode.NewSolver(p, Auto{}, g, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		compareGradient(t, noisy, theta, c.tol)
	}
}

// A component that rests at its steady state limits no step of DP5 by its errors, but the
// derivative of the held path with respect to its initial value is that of the solution,
// which is exp(−1000 t) or zero, and so is the gradient. One component rests at 1, one at 0,
// and two rotate around their steady state; a slow one must go on. Unstable steps would
// multiply the derivatives by more than 1e300.
func TestAutoAtRest(t *testing.T) {
	const k = 1000
	for name, c := range map[string]struct {
		at float64
		f  func(f, x []float64)
	}{
		"at 1":         {1, func(f, x []float64) { f[0] = -k * (x[0] - 1) }},
		"at 0":         {0, func(f, x []float64) { f[0] = -k * x[0] }},
		"in rotation":  {1, func(f, x []float64) { f[0], f[1] = -k*(x[0]-1)-k*x[1], k*(x[0]-1)-k*x[1] }},
		"under a wave": {1, func(f, x []float64) { f[0] = -k * (2 + x[2]) * (x[0] - 1) }},
	} {
		p := &probode.Problem{
			Name: name, Span: [2]float64{0, 10}, Theta: []float64{c.at}, X0: make([]float64, 4), Autonomous: true,
			F: func(f []float64, _ float64, x, _ []float64) {
				f[1] = 0
				c.f(f, x)
				f[2], f[3] = x[3], -x[2]
			},
			Start: func(x, th []float64) { x[0], x[3] = th[0], 1 },
		}
		for _, rel := range []float64{1e-3, 1e-6, 1e-10} {
			_, held := hold(t, Auto{}, p, rel, []float64{10})
			s := held.(probode.Gridded).Solver()
			z, dz, w, g := make([]float64, s.PathLen()), make([]float64, s.PathLen()), make([]float64, s.PathLen()), probode.Gradient{Theta: make([]float64, 1)}
			for k := range 3 {
				w[len(w)-4+k] = 1
			}
			if err := s.SolveTangents(z, dz, p.Theta, []float64{1}, nil); err != nil {
				t.Fatal(name, err)
			}
			if err := s.Gradient(&g, w, z, p.Theta, nil); err != nil {
				t.Fatal(name, err)
			}
			if end := dz[len(dz)-4]; !(math.Abs(end)+math.Abs(g.Theta[0]) < 10*rel) || math.Abs(z[len(z)-2]-math.Sin(10)) > 1e3*rel {
				t.Errorf("%s, %g: derivative %.3g, gradient %.3g, slow component %.6g: want 0, 0 and %.6g", name, rel, end, g.Theta[0], z[len(z)-2], math.Sin(10))
			}
		}
	}
}

// A run depends on nothing but θ, and allocates nothing once both parts exist, even if an
// event at the beginning leaves no first segment.
func TestAutoForgets(t *testing.T) {
	p := alternating()
	p.Events = append(p.Events, probode.Event{Time: 0, Jump: func(x []float64, _ float64, _ []float64) { x[0] = 0.5 }})
	times, x, y := []float64{3, 20}, make([]float64, 6), make([]float64, 6)
	bind := func() probode.Path {
		path, err := probode.Setup{Method: Auto{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-4}}}.Bind(t.Context(), p, nil, times)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	path, other, theta := bind(), bind(), slices.Clone(p.Theta)
	solve := func(path probode.Path, x []float64, rate float64) {
		theta[0] = rate
		if err := path.States(t.Context(), x, theta, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, rate := range []float64{20, 1e3, 1e-3} {
		solve(path, x, rate)
	}
	solve(path, x, 30)
	solve(other, y, 30)
	if !slices.Equal(x, y) {
		t.Errorf("the run differs after others by %g", distance(x, y))
	}
	const most = 50 // for each event and repetition of the run, not for each step
	if n := testing.AllocsPerRun(4, func() { solve(path, x, 50-theta[0]) }); n > most || path.Work() < 5*most {
		t.Errorf("%g allocations in %d steps", n, path.Work())
	}
}

// On a grid that no run of Auto made, Auto is Radau5, and its choices mean nothing to BDF,
// nor those of BDF to it.
func TestAutoOnOtherGrids(t *testing.T) {
	p := alternating()
	tol := probode.Tolerance{Relative: 1e-3}
	own, bdf := frozen(t, p, Auto{}, tol), frozen(t, p, BDF{}, tol)
	for _, g := range []*probode.Grid{uniform(t, p, 0.01), bdf, frozen(t, p, Radau{}, tol)} {
		if a, b := path(t, p, Auto{}, g, 0, nil), path(t, p, Radau{}, g, 0, nil); !slices.Equal(a, b) {
			t.Errorf("%v: Auto differs from Radau5 by %g", g, distance(a, b))
		}
	}
	plain, err := probode.NewGrid(p, nil, own.Times())
	if err != nil {
		t.Fatal(err)
	}
	if a, b := path(t, p, BDF{Steps: 2}, own, 0, nil), path(t, p, BDF{Steps: 2}, plain, 0, nil); distance(a, b) > 1e-9 {
		t.Errorf("BDF2 differs by %g", distance(a, b))
	}
	for _, m := range []probode.Method{BDF{}, Auto{}} {
		g := map[bool]*probode.Grid{true: own, false: bdf}[m == probode.Method(BDF{})]
		s, err := probode.NewSolver(p, m, g, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Steps() {
			if s.Grid().Order(i) != 0 {
				t.Fatalf("%v: step %d has the order %d of another method", m, i, s.Grid().Order(i))
			}
		}
	}
}

// The local errors that scale the noise are those of the method of each step: on the slow
// part of a stiff problem, step doubling with DP5 would find huge ones.
func TestAutoLocalErrors(t *testing.T) {
	p := problems.HIRES()
	g := frozen(t, p, Auto{}, probode.Tolerance{Relative: 1e-4})
	if _, implicit, _ := turns(g); implicit < 30 {
		t.Fatalf("%d steps of Radau5", implicit)
	}
	for i, v := range g.Local() {
		if !(v < 1e-4) {
			t.Fatalf("step %d of order %d has a local error of %g", i/p.Dim(), g.Order(i/p.Dim()), v)
		}
	}
}

// Steps in two parts are steps of the same methods: DP5 does not keep a stretch that Radau5
// takes in one part.
func TestAutoInParts(t *testing.T) {
	for _, p := range []*probode.Problem{problems.HIRES(), problems.Robertson(), problems.Oregonator()} {
		var work [2]int
		for n := range work {
			mesh := probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-5}}.InParts(n + 1)
			path, err := probode.Setup{Method: Auto{}, Mesh: mesh}.Bind(t.Context(), p, nil, p.Span[1:])
			if err != nil {
				t.Fatal(err)
			}
			work[n] = path.Work()
		}
		if f := float64(work[1]) / float64(work[0]); !(f > 1.9 && f < 2.9) {
			t.Errorf("%s: %d steps", p.Name, work)
		}
	}
}

// hold returns a path of m, and the same path on the grid of p.Theta.
func hold(t *testing.T, m probode.Method, p *probode.Problem, rel float64, times []float64) (path, held probode.Path) {
	t.Helper()
	path, err := probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: rel}}}.Bind(t.Context(), p, nil, times)
	if err == nil {
		held, err = path.(probode.Holdable).Hold(t.Context(), p.Theta)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path, held
}
