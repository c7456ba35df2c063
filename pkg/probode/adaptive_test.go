package probode_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// At every θ an Adaptive path is the run that Frozen makes there, to the last bit
// but for how the grid's points are rounded; used at many θ it forgets the last one.
func TestAdaptiveIsFrozenAtEveryTheta(t *testing.T) {
	p := problems.FitzHughNagumo()
	times := []float64{0, 0.3, 5, 12.5, 20}
	m := methods.RungeKutta{Tableau: methods.DormandPrince}
	tol := probode.Tolerance{Relative: 1e-3}
	s, err := probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: tol}}.Bind(context.Background(), p, nil, times)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float64, len(times)*2)
	for _, theta := range [][]float64{{0.2, 0.2, 3}, {0.3, 0.1, 2.5}, {0.2, 0.2, 3}} {
		if err := s.States(context.Background(), got, theta, nil); err != nil {
			t.Fatal(err)
		}
		g, err := probode.Setup{Method: m, Mesh: probode.Frozen{Tolerance: tol}}.Grid(context.Background(), p, theta, times)
		if err != nil {
			t.Fatal(err)
		}
		solver, err := probode.NewSolver(p, m, g, 0)
		if err != nil {
			t.Fatal(err)
		}
		z := make([]float64, solver.PathLen())
		if err := solver.Solve(z, theta, nil); err != nil {
			t.Fatal(err)
		}
		index, err := g.Index(times)
		if err != nil {
			t.Fatal(err)
		}
		for n, i := range index {
			for k := range 2 {
				if want := z[2*i+k]; math.Abs(got[2*n+k]-want) > 1e-11*(1+math.Abs(want)) {
					t.Errorf("θ = %v, t = %g: %.15g, want %.15g", theta, times[n], got[2*n+k], want)
				}
			}
		}
		if s.Work() < g.Steps() {
			t.Errorf("θ = %v: %d steps tried, the grid has %d", theta, s.Work(), g.Steps())
		}
	}
}

// A dose at a time that depends on θ: before it, at it, and after it the state is
// x(t) = e^{−t} + e^{−(t−τ)} for t > τ. The global error at the tolerance 10⁻⁸ is
// far below 10⁻⁶.
func TestAdaptiveAtEvents(t *testing.T) {
	p := &probode.Problem{
		F:  func(dst []float64, _ float64, x, _ []float64) { dst[0] = -x[0] },
		X0: []float64{1}, Theta: []float64{0.5}, Span: [2]float64{0, 2},
		Events: []probode.Event{{When: func(theta []float64) float64 { return theta[0] }, Jump: func(x []float64, _ float64, _ []float64) { x[0]++ }}},
	}
	times := []float64{0, 0.5, 1, 2}
	s, err := probode.Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-8}}}.Bind(context.Background(), p, nil, times)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float64, len(times))
	for _, tau := range []float64{0.5, 1.7, 3, 0.2} {
		if err := s.States(context.Background(), got, []float64{tau}, nil); err != nil {
			t.Fatal(err)
		}
		for n, at := range times {
			want := math.Exp(-at)
			if at > tau {
				want += math.Exp(tau - at)
			}
			if math.Abs(got[n]-want) > 1e-6 {
				t.Errorf("τ = %g, t = %g: %g, want %g", tau, at, got[n], want)
			}
		}
	}
}

// What cannot be solved in the steps that are allowed is an error that says so.
func TestAdaptiveStops(t *testing.T) {
	p := problems.FitzHughNagumo()
	s := probode.Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}, MaxSteps: 10}}
	if _, err := s.Bind(context.Background(), p, nil, []float64{20}); err == nil {
		t.Error("no error after 10 steps")
	}
	// The times of data do not count, which may be many.
	var times []float64
	for i := range 1000 {
		times = append(times, 20*float64(i+1)/1000)
	}
	s.Mesh = probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-3}, MaxSteps: 200}
	for _, times := range [][]float64{{20}, times} {
		if _, err := s.Bind(context.Background(), p, nil, times); err != nil {
			t.Errorf("%d times: %v", len(times), err)
		}
	}
	for _, a := range []probode.Adaptive{{}, {Tolerance: probode.Tolerance{Relative: 1e-3}, MaxSteps: -1}} {
		if _, err := (probode.Setup{Method: methods.RungeKutta{}, Mesh: a}).Bind(context.Background(), p, nil, nil); err == nil {
			t.Errorf("%+v: no error", a)
		}
	}
}

// A solution that runs away, a pole, or an undefined f ends a run soon, with an error that
// says which, also where the implicit part of Auto meets it: a second component follows the
// first one fast.
func TestAdaptiveSaysWhyItEnds(t *testing.T) {
	const most = 40000 // evaluations
	dp5 := methods.RungeKutta{Tableau: methods.DormandPrince}
	for _, c := range []struct {
		name, want string
		at         float64 // where it ends
		f          func(x float64) float64
	}{
		{"x' = x", "runs away", 230.26, func(x float64) float64 { return x }},
		{"x' = 10⁶ x", "runs away", 230.26e-6, func(x float64) float64 { return 1e6 * x }},
		{"x' = x^1.1", "runs away", 10, func(x float64) float64 { return math.Pow(math.Abs(x), 1.1) }},
		{"x' = x²", "becomes infinite", 1, func(x float64) float64 { return x * x }},
		{"x' = exp x", "becomes infinite", math.Exp(-1), math.Exp},
		{"x' = −1/x", "becomes infinite", 0.5, func(x float64) float64 { return -1 / x }},
		{"x' = −√x − 0.1", "f is not finite", 2 - 0.2*math.Log(11), func(x float64) float64 { return -math.Sqrt(x) - 0.1 }},
		{"x' = −1 + log(x)/100", "f is not finite", 0.99019, func(x float64) float64 { return -1 + 0.01*math.Log(x) }},
	} {
		for _, by := range []struct {
			m    probode.Method
			rate float64
		}{{dp5, 0}, {methods.Auto{}, 0}, {methods.Auto{}, 1e6}} {
			calls := 0
			p := &probode.Problem{Name: c.name, X0: []float64{1, 1}, Span: [2]float64{0, 1000}, F: func(dst []float64, _ float64, x, _ []float64) {
				calls++
				dst[0], dst[1] = c.f(x[0]), by.rate*(x[0]-x[1])
			}}
			_, err := probode.Setup{Method: by.m, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}}}.Bind(t.Context(), p, nil, []float64{1000})
			if err == nil || !strings.Contains(err.Error(), c.want) || calls > most {
				t.Errorf("%s, %v, %g: error %v after %d evaluations: want %q after at most %d", c.name, by.m, by.rate, err, calls, c.want, most)
				continue
			}
			var at float64
			_, after, _ := strings.Cut(err.Error(), "at t = ")
			if fmt.Sscanf(after, "%g", &at); math.Abs(at-c.at) > 1e-3*c.at {
				t.Errorf("%s, %v, %g: %v: want t = %g", c.name, by.m, by.rate, err, c.at)
			}
		}
	}
}

// Every method sees a pulse that begins at t₀, however short, also if the state is zero
// there. Its dose is 1, and without it the state would be e^{−t} or zero. The tolerance of a step is 10⁻⁶, and the equation damps
// errors, so the error of the state is far below 10⁻³.
func TestAdaptiveSeesPulseAtTheStart(t *testing.T) {
	for _, c := range []struct{ width, start float64 }{{0.1, 1}, {1e-3, 1}, {1e-6, 1}, {1e-9, 1}, {0.1, 0}, {1e-6, 0}, {1e-9, 0}} {
		width := c.width
		// The dose of c (1 − e^{−s}) e^{−s}, s = t/width, is c width/2.
		p := &probode.Problem{X0: []float64{c.start}, Span: [2]float64{0, 5}, F: func(dst []float64, t float64, x, _ []float64) {
			s := t / width
			dst[0] = -2/width*math.Expm1(-s)*math.Exp(-s) - x[0]
		}}
		decay := func(rate float64) float64 { return (math.Exp(-rate*3) - math.Exp(-3)) / (1 - rate) }
		want := c.start*math.Exp(-3) + 2/width*(decay(1/width)-decay(2/width))
		for _, m := range []probode.Method{methods.RungeKutta{Tableau: methods.DormandPrince}, adams.Bashforth{Steps: 2}, adams.Moulton{Steps: 2}, methods.BDF{}, methods.Radau{}, methods.Auto{}} {
			s, err := probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}}}.Bind(context.Background(), p, nil, []float64{3})
			if err != nil {
				t.Fatal(err)
			}
			var got [1]float64
			if err := s.States(context.Background(), got[:], nil, nil); err != nil || math.Abs(got[0]-want) > 1e-3*want {
				t.Errorf("%v, width %g, from %g: %g, %v, want %g", m, width, c.start, got[0], err, want)
			}
		}
	}
}

// InParts(2) takes about twice as many steps, and its error is much smaller, whether the
// tolerance, the largest step or the given times limit the steps. It locates events, too: x′ = −x until x = 1/2,
// when x is set to 1.
func TestInParts(t *testing.T) {
	p := &probode.Problem{Name: "decay", X0: []float64{1}, Span: [2]float64{0, 3}, Autonomous: true,
		F: func(dst []float64, _ float64, x, _ []float64) { dst[0] = -x[0] },
		Events: []probode.Event{{Trigger: func(_ float64, x, _ []float64) float64 { return 0.5 - x[0] },
			Jump: func(x []float64, _ float64, _ []float64) { x[0] = 1 }}}}
	want := math.Exp(-math.Mod(3, math.Ln2))
	dense := make([]float64, 60)
	for i := range dense {
		dense[i] = 0.05 * float64(i+1)
	}
	for _, m := range []probode.Method{methods.RungeKutta{Tableau: methods.DormandPrince}, methods.Radau{}, methods.BDF{}} {
		for what, c := range map[string]struct {
			mesh  probode.Adaptive
			times []float64
		}{
			"the tolerance":    {probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}}, []float64{3}},
			"the largest step": {probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-3}, Max: 0.05}, []float64{3}},
			"the times":        {probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-3}}, dense},
		} {
			var work [2]int
			var errs [2]float64
			for i, mesh := range []probode.Adaptive{c.mesh, c.mesh.InParts(2)} {
				path, err := probode.Setup{Method: m, Mesh: mesh}.Bind(t.Context(), p, nil, c.times)
				if err != nil {
					t.Fatal(err)
				}
				x := make([]float64, len(c.times))
				if err := path.States(t.Context(), x, nil, nil); err != nil {
					t.Fatal(err)
				}
				work[i], errs[i] = path.Work(), math.Abs(x[len(x)-1]-want)
			}
			most := 0.05 // of the error, for order 5
			if _, variable := m.(methods.BDF); variable {
				most = 0.7 // the first steps have order 1
			}
			if f := float64(work[1]) / float64(work[0]); !(f > 1.5 && f < 3) || !(errs[1] < most*errs[0]) {
				t.Errorf("%v, limited by %s: %d steps with errors of %.3g", m, what, work, errs)
			}
		}
	}
}

// A component that begins at zero and stays small needs a second run, which shows its size.
// Bind learns the size once: later runs at similar θ take half the steps, and do not depend
// on the θ in between.
func TestAdaptiveLearnsSizesOnce(t *testing.T) {
	p := &probode.Problem{X0: []float64{1, 0}, Theta: []float64{1}, Span: [2]float64{0, 10}, Autonomous: true,
		F: func(f []float64, _ float64, x, th []float64) { f[0], f[1] = -x[0], 1e-9*th[0]*x[0]-2*x[1] }}
	path, err := probode.Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}}}.Bind(t.Context(), p, nil, []float64{5, 10})
	if err != nil {
		t.Fatal(err)
	}
	first := path.Work()
	x, y := make([]float64, 4), make([]float64, 4)
	states := func(dst []float64, path probode.Path, theta float64) {
		if err := path.States(t.Context(), dst, []float64{theta}, nil); err != nil {
			t.Fatal(err)
		}
	}
	states(x, path, 1.1)
	if later := path.Work(); later > first*2/3 {
		t.Errorf("%d steps, and %d in Bind", later, first)
	}
	if want := 1.1e-9 * (math.Exp(-5) - math.Exp(-10)); math.Abs(x[1]/want-1) > 1e-5 {
		t.Errorf("the small component is %g, want %g", x[1], want)
	}
	other := path.Clone()
	states(y, other, 1e-3)
	states(y, other, 1.1)
	if !slices.Equal(x, y) {
		t.Errorf("%v, and %v after another θ", x, y)
	}
}

// Hold solves the equations once: explicit steps are those of the run, and need no second
// solve. Only the first Hold checks the problem. States and gradients are
// those of a path on the same grid.
func TestHoldSolvesOnce(t *testing.T) {
	dp5 := methods.RungeKutta{Tableau: methods.DormandPrince}
	kick := probode.Event{Time: 7.3, Jump: func(x []float64, _ float64, theta []float64) { x[0] += theta[0] }}
	late := kick
	late.When = func(theta []float64) float64 { return 30 * theta[1] }
	times := []float64{0, 0.3, 5, 7.3, 12.5, 20}
	for _, c := range []struct {
		name   string
		method probode.Method
		events []probode.Event
		again  bool // the grid moves with θ, or the run does not solve the equations of its steps up to rounding errors
	}{
		{"explicit", dp5, nil, false},
		{"implicit", methods.Radau{}, nil, true},
		{"converged", methods.Gauss{Stages: 2}, nil, false},
		{"either", methods.Auto{}, nil, false},
		{"doubling", methods.RungeKutta{}, nil, false},
		{"jump", dp5, []probode.Event{kick}, false},
		{"moving jump", dp5, []probode.Event{late}, true},
		{"multistep", methods.BDF{}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := problems.FitzHughNagumo()
			p.Events = c.events
			n := 0
			f, fj := p.F, p.FJ
			p.F = func(dst []float64, t float64, x, theta []float64) { n++; f(dst, t, x, theta) }
			p.FJ = func(dst, jac []float64, t float64, x, theta []float64) { n++; fj(dst, jac, t, x, theta) }
			path, err := probode.Setup{Method: c.method, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-5}}}.Bind(t.Context(), p, nil, times)
			if err != nil {
				t.Fatal(err)
			}
			type states struct{ x, gradient []float64 }
			w := make([]float64, 2*len(times))
			for i := range w {
				w[i] = math.Sin(float64(i + 1))
			}
			solve := func(path probode.Path, theta []float64) states {
				s := states{make([]float64, len(w)), make([]float64, len(theta))}
				if err := path.States(t.Context(), s.x, theta, nil); err != nil {
					t.Fatal(err)
				}
				if err := path.(probode.Reversible).Gradient(t.Context(), &probode.Gradient{Theta: s.gradient}, w, theta, nil); err != nil {
					t.Fatal(err)
				}
				return s
			}
			thetas := [][]float64{{0.2, 0.2, 3}, {0.3, 0.1, 2.5}, {0.2, 0.25, 3.1}}
			for i, theta := range thetas {
				n = 0
				run := path.Clone()
				if err := run.States(t.Context(), make([]float64, len(w)), theta, nil); err != nil {
					t.Fatal(err)
				}
				once := n
				n = 0
				held, err := path.(probode.Holdable).Hold(t.Context(), theta)
				if err != nil {
					t.Fatal(err)
				}
				if err := held.States(t.Context(), make([]float64, len(w)), theta, nil); err != nil {
					t.Fatal(err)
				}
				if i > 0 && !c.again && n > once {
					t.Errorf("θ = %v: a held path takes %d evaluations, a run %d", theta, n, once)
				}
				fixed, err := probode.Setup{Method: c.method, Mesh: probode.Fixed{Grid: held.(probode.Gridded).Solver().Grid()}}.Bind(t.Context(), p, theta, times)
				if err != nil {
					t.Fatal(err)
				}
				for _, at := range [][]float64{theta, thetas[0], theta} { // away from its θ, a held path is solved again
					got, want := solve(held, at), solve(fixed, at)
					for k, v := range slices.Concat(want.x, want.gradient) {
						if g := slices.Concat(got.x, got.gradient)[k]; !(math.Abs(g-v) <= 1e-11*(1+math.Abs(v))) {
							t.Errorf("held at %v, at %v: %.15g, want %.15g", theta, at, g, v)
						}
					}
				}
			}
		})
	}
}
