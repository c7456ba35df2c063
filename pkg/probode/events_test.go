package probode_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"gonum.org/v1/gonum/interp"
	"gonum.org/v1/gonum/mat"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/filter"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// broken is x′ = 2 c(t) t x² on [0, 1] from 1/2, with c = 1 before .37, 2 from
// there on, 1 again from θ = .83 on, and with a half of x taken away at .37 and a
// third at .61. 1/x is a parabola between events, so that the solution
// is known.
func broken() *Problem {
	rate := func(t, end float64) float64 {
		if t < 0.37 || t > end {
			return 1
		}
		return 2
	}
	return &Problem{
		Name: "broken", X0: []float64{0.5}, Span: [2]float64{0, 1}, Theta: []float64{0.83},
		F: func(f []float64, t float64, x, theta []float64) { f[0] = 2 * rate(t, theta[0]) * t * x[0] * x[0] },
		FJ: func(f, j []float64, t float64, x, theta []float64) {
			c := rate(t, theta[0])
			f[0], j[0] = 2*c*t*x[0]*x[0], 4*c*t*x[0]
		},
		Events: []Event{
			{Time: 0.61, Jump: func(x []float64, _ float64, _ []float64) { x[0] *= 2. / 3 }},
			{Time: 0.37, Jump: func(x []float64, _ float64, _ []float64) { x[0] /= 2 }},
			{When: lag(0)},
		},
	}
}

// brokenAt is the solution just before time t.
func brokenAt(t, end float64) float64 {
	x, at, c := 0.5, 0.0, 1.0
	to := func(next float64) {
		next = min(next, t)
		x = 1 / (1/x - c*(next*next-at*at))
		at = next
	}
	cuts := []float64{0.37, 0.61, end}
	sort.Float64s(cuts)
	for _, cut := range cuts {
		if to(cut); cut >= t {
			return x
		}
		switch cut {
		case 0.37:
			x, c = x/2, 2
		case 0.61:
			x *= 2. / 3
		default:
			c = 1
		}
	}
	to(t)
	return x
}

// Across jumps and changes of f every method keeps its order, also where an
// event has moved. Halving is exact, by Refine. In one dimension some error
// constants nearly vanish, so that an order may show that is above its own.
func TestOrderAcrossEvents(t *testing.T) {
	for _, m := range every() {
		h := 1. / 128
		if m.Order() <= 2 {
			h = 1. / 512
		} else if m == Method(methods.RungeKutta{Tableau: methods.DormandPrince}) {
			h = 1. / 16 // soon down to rounding
		}
		coarse := mustUniform(t, broken(), h)
		for _, end := range []float64{0.83, 0.79, 0.5} {
			var e [2]float64
			for i, g := range []*Grid{coarse, coarse.Refine()} {
				s := mustSolverOn(t, broken(), m, g, 0)
				z := make([]float64, s.PathLen())
				if err := s.Solve(z, []float64{end}, nil); err != nil {
					t.Fatal(err)
				}
				for k, at := range s.Times() {
					if k == 0 || s.Times()[k-1] < at { // not behind an event
						e[i] = max(e[i], math.Abs(z[k]-brokenAt(at, end)))
					}
				}
			}
			if got := math.Log2(e[0] / e[1]); got < float64(m.Order())-0.25 {
				t.Errorf("%v, event at %g: observed order %.2f (%.1e), want %d", m, end, got, e[1], m.Order())
			}
		}
	}
}

// everywhere returns the methods of the package methods besides those of every.
func everywhere() []Method {
	return append(every(), methods.Gauss{Stages: 1}, methods.Gauss{Stages: 2}, methods.Radau{Stages: 2}, methods.Radau{Stages: 3},
		methods.RandomStep{Method: methods.RungeKutta{}}, methods.RandomStep{Method: adams.Moulton{Steps: 1}, Power: 1})
}

// No function of a problem is ever called with the time of an event, by any
// method, in a solve, in an error-controlled run, in the checks, and in the
// search for the reason of a failure.
func TestFunctionsNeverSeeEvents(t *testing.T) {
	p := broken()
	f, fj, events := p.F, p.FJ, []float64{0.37, 0.61, 0.83}
	sides := make(map[float64]bool)
	look := func(t float64, theta []float64) {
		events[2] = theta[0]
		if slices.Contains(events, t) {
			panic(fmt.Sprintf("at an event, %v", t))
		}
		if t < 0 || t > 1 {
			panic(fmt.Sprintf("outside of the span, %v", t))
		}
		sides[t] = true
	}
	p.F = func(dst []float64, t float64, x, theta []float64) { look(t, theta); f(dst, t, x, theta) }
	p.FJ = func(dst, j []float64, t float64, x, theta []float64) { look(t, theta); fj(dst, j, t, x, theta) }
	for _, differences := range []bool{false, true} {
		q := *p
		if differences {
			q.FJ = nil
		}
		for _, m := range everywhere() {
			for _, mesh := range []Mesh{Uniform(0.04), Through(0.04), Frozen{Tolerance: Tolerance{Relative: 1e-4}}} {
				clear(sides)
				g, err := Setup{Method: m, Mesh: mesh}.Grid(ctx(), &q, nil, []float64{0.2, 0.61, 0.7})
				if err != nil {
					t.Fatal(err)
				}
				s := mustSolverOn(t, &q, m, g, 0.1)
				z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
				for _, end := range []float64{0.83, 0.77, 0.61} {
					if err := s.SolvePath(z, []float64{end}, xi, 1, 1); err != nil {
						t.Fatalf("%v, %v: %v", m, mesh, err)
					}
				}
				if _, err := calibrate.Richardson(ctx(), s, q.Theta); err != nil {
					t.Fatal(err)
				}
				// The sides of an event are looked at, one ulp from it, by a method
				// that evaluates f there.
				if _, ok := m.(adams.Moulton); ok && !(sides[math.Nextafter(0.37, 0)] && sides[math.Nextafter(0.61, 0)]) {
					t.Errorf("%v, %v: f just before an event is not used", m, mesh)
				}
			}
		}
	}
}

// An infusion, and an input that is linear between its times, against the
// solution of y′ = u(t) − k y in closed form, at the order of the method.
func TestInputs(t *testing.T) {
	const k = 0.7
	times := []float64{0.3, 1.1, 1.7, 3.2, 4.4, 5.05}
	values := []float64{2, -1, 4, 0.5, 3, 1}
	for name, u := range map[string]*Input{
		"steps": {Times: times, Values: values, Constant: true}, "linear": {Times: times, Values: values}, "infusion": Infusion(3, 0.9, 2.3)} {
		p := &Problem{Name: name, X0: []float64{0.2}, Span: [2]float64{0, 6}, Events: u.Events(),
			F: func(f []float64, t float64, x, _ []float64) { f[0] = u.At(t) - k*x[0] }}
		// Between a and b, with u(a) = v and slope r:
		// y(b) = e y(a) + v (1−e)/k + r ((b−a)/k − (1−e)/k²), e = exp(−k(b−a)).
		exact := func(at float64) float64 {
			y, a := 0.2, 0.0
			for _, b := range append(slices.Clone(u.Times), 6) {
				if b = min(b, at); b > a {
					v, w := u.At(a), u.At(math.Nextafter(b, 0))
					r := (w - v) / (b - a)
					e := math.Exp(-k * (b - a))
					y = e*y + v*(1-e)/k + r*((b-a)/k-(1-e)/(k*k))
					a = b
				}
			}
			return y
		}
		for _, m := range []Method{adams.Bashforth{Steps: 3}, adams.Moulton{}, adams.Moulton{Steps: 3}, methods.RungeKutta{}, methods.RungeKutta{Tableau: methods.DormandPrince}} {
			h := 1. / 8
			if m.Order() == 1 {
				h = 1. / 256
			}
			g := mustUniform(t, p, h)
			var e [2]float64
			for i, g := range []*Grid{g, g.Refine()} {
				s := mustSolverOn(t, p, m, g, 0)
				for n, y := range solve(t, s, nil) {
					e[i] = max(e[i], math.Abs(y-exact(s.Times()[n])))
				}
			}
			if got := math.Log2(e[0] / e[1]); math.Abs(got-float64(m.Order())) > 0.35 {
				t.Errorf("%s, %v: observed order %.2f (%.1e), want %d", name, m, got, e[1], m.Order())
			}
		}
	}
}

func TestInputAt(t *testing.T) {
	times, values := []float64{1, 2, 4}, []float64{10, 20, -20}
	for _, c := range []struct{ t, steps, linear float64 }{
		{-5, 0, 10}, {1, 10, 10}, {1.5, 10, 15}, {2, 20, 20}, {3, 20, 0}, {4, -20, -20}, {9, -20, -20}} {
		if got := (&Input{Times: times, Values: values, Constant: true}).At(c.t); got != c.steps {
			t.Errorf("steps at %g: %g, want %g", c.t, got, c.steps)
		}
		if got := (&Input{Times: times, Values: values}).At(c.t); got != c.linear {
			t.Errorf("linear at %g: %g, want %g", c.t, got, c.linear)
		}
	}
}

// A spline is that of gonum, and each derivative is the central difference of the one
// before it, also of a linear input. Beyond the times the values are constant.
func TestSpline(t *testing.T) {
	times, values := []float64{1, 2, 4, 4.5, 7}, []float64{10, 20, -20, 3, 3}
	var want interp.NaturalCubic
	if err := want.Fit(times, values); err != nil {
		t.Fatal(err)
	}
	spline := Spline(times, values)
	for x := 1.05; x < 7; x += 0.1 {
		if v, w := spline.At(x), want.Predict(x); math.Abs(v-w) > 1e-12 {
			t.Errorf("spline at %g: %v, want %v", x, v, w)
		}
		for _, u := range []*Input{spline, {Times: times, Values: values}} {
			for order := range 4 {
				const h = 1e-4
				d := (u.Derivative(order, x+h) - u.Derivative(order, x-h)) / (2 * h)
				if v := u.Derivative(order+1, x); math.Abs(v-d) > 1e-4*(1+math.Abs(d)) {
					t.Errorf("derivative %d at %g: %v, want %v", order+1, x, v, d)
				}
			}
		}
	}
	if spline.At(0) != 10 || spline.At(9) != 3 || spline.Derivative(1, 0) != 0 || spline.Derivative(1, 7) != 0 {
		t.Errorf("beyond its times the spline is not constant")
	}
}

// compartments is a model of repeated oral doses: gut, blood and tissue.
func compartments(doses ...float64) (*Problem, *mat.Dense) {
	const ka, ke, k12, k21 = 1.2, 0.3, 0.5, 0.2
	a := mat.NewDense(3, 3, []float64{-ka, 0, 0, ka, -ke - k12, k21, 0, k12, -k21})
	return &Problem{
		Name: "oral doses", X0: []float64{0, 0, 0}, Span: [2]float64{0, 40}, Autonomous: true, Events: Doses(0, 100, doses...),
		F: func(f []float64, _ float64, x, _ []float64) {
			f[0], f[1], f[2] = -ka*x[0], ka*x[0]-(ke+k12)*x[1]+k21*x[2], k12*x[1]-k21*x[2]
		},
		FJ: func(f, j []float64, _ float64, x, _ []float64) {
			f[0], f[1], f[2] = -ka*x[0], ka*x[0]-(ke+k12)*x[1]+k21*x[2], k12*x[1]-k21*x[2]
			copy(j, a.RawMatrix().Data)
		},
	}, a
}

// Doses in a two-compartment model against the matrix exponential, with a state
// of zeros until the first. On uniform grids methods keep their order; a grid
// made to a tolerance keeps to it.
func TestDosesAgainstMatrixExponential(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	doses := []float64{2, 10, 18.5, 26, 40}
	p, a := compartments(doses...)
	exact := func(at float64) []float64 { // just before time at
		sum := mat.NewVecDense(3, nil)
		for _, d := range doses {
			if d < at {
				var m, e mat.Dense
				m.Scale(at-d, a)
				e.Exp(&m)
				sum.AddScaledVec(sum, 100, e.ColView(0))
			}
		}
		return sum.RawVector().Data
	}
	worst := func(s *Solver) (e float64) {
		z := solve(t, s, nil)
		for i, at := range s.Times() {
			if i > 0 && s.Times()[i-1] == at {
				continue
			}
			for k, want := range exact(at) {
				e = max(e, math.Abs(z[3*i+k]-want))
			}
		}
		return e
	}
	for _, m := range []Method{adams.Bashforth{Steps: 2}, adams.Moulton{Steps: 1}, adams.Moulton{Steps: 4}, adams.Moulton{Steps: 2, Linearize: adams.Predictor}, methods.RungeKutta{}, methods.RungeKutta{Tableau: methods.DormandPrince}} {
		g := mustUniform(t, p, 0.1)
		e := [2]float64{worst(mustSolverOn(t, p, m, g, 0)), worst(mustSolverOn(t, p, m, g.Refine(), 0))}
		if got := math.Log2(e[0] / e[1]); math.Abs(got-float64(m.Order())) > 0.4 {
			t.Errorf("%v: observed order %.2f (%.1e), want %d", m, got, e[1], m.Order())
		}
		for _, tol := range []Tolerance{{Relative: 1e-5}, {Relative: 1e-5, Absolute: []float64{1e-4}}} {
			g, err := Setup{Method: m, Mesh: Frozen{Tolerance: tol}}.Grid(ctx(), p, nil, []float64{5, 12, 40})
			if err != nil {
				t.Errorf("%v: %v", m, err)
				continue
			}
			s := mustSolverOn(t, p, m, g, 0)
			// States are of size 100. The local errors of some hundred steps may
			// add up, and decay.
			if e := worst(s); e > 100*1e-5*30 || g.Steps() > 4000 && m.Order() > 1 {
				t.Errorf("%v, %v: error %.1e with %d steps", m, tol, e, g.Steps())
			}
			// Before the first dose nothing happens, and that takes few steps.
			if first, err := g.Index([]float64{2}); err != nil || first[0] > 25 {
				t.Errorf("%v, %v: %v steps in a state of zeros, %v", m, tol, first, err)
			}
		}
	}
}

// The start of a multistep method behind an event carries noise, with the scale
// of the method; at the start of the path it does not. For x′ = −k x all is known.
func TestStartBehindAnEventCarriesNoise(t *testing.T) {
	const k, alpha = 0.8, 0.3
	p := &Problem{Name: "decay", X0: []float64{1}, Span: [2]float64{0, 2}, Autonomous: true, Events: Doses(0, 1, 1),
		F:  func(f []float64, _ float64, x, _ []float64) { f[0] = -k * x[0] },
		FJ: func(f, j []float64, _ float64, x, _ []float64) { f[0], j[0] = -k*x[0], -k }}
	for _, m := range every() {
		// Steps that differ behind the event, so that coefficients do.
		g := mustGrid(t)(NewGrid(p, nil, []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.1, 1.15, 1.2, 1.3, 1.35, 1.4, 1.5, 1.7}))
		s := mustSolverOn(t, p, m, g, alpha)
		z := solve(t, s, nil)
		index, err := g.Index([]float64{1})
		if err != nil {
			t.Fatal(err)
		}
		xi := make([]float64, s.NoiseLen())
		for i := range g.Steps() {
			clear(xi)
			xi[i] = 1
			got := solve(t, s, xi)[i+1] - z[i+1]
			h := g.H(i)
			want := math.Sqrt(alpha) * math.Pow(h, m.Noise(1).Exponent)
			starting := i > index[0] && i <= index[0]+m.Noise(1).Quiet
			if am, ok := m.(adams.Moulton); ok && (starting || i < 5 && i >= s.Startup()) {
				beta, _ := adams.MoultonCoefficients(am.Steps) // equal steps up to .5
				want *= -k / (1/(h*beta) + k)
			} else if ok {
				want = math.NaN() // the formula of the next steps is that of another test
			}
			if i < s.Startup() || i == index[0] {
				want = 0
			}
			if math.Abs(got-want) > 1e-14 || got == 0 && want != 0 {
				t.Errorf("%v: noise %g in step %d of length %.3g, want %g", m, got, i, h, want)
			}
			if want != want && !(math.Abs(got) > 1e-9) {
				t.Errorf("%v: noise %g in step %d", m, got, i)
			}
		}
	}
	// A dose at the very start is an event, too.
	p.Events = Doses(0, 1, 0)
	s := mustSolver(t, p, adams.Bashforth{Steps: 3}, 0.1, alpha)
	if s.Startup() != 1 {
		t.Errorf("%d steps without noise, want the dose alone", s.Startup())
	}
	if c, err := calibrate.Run(ctx(), p, adams.Bashforth{Steps: 3}, calibrate.Settings{StepSize: 0.1, Paths: 100}); err != nil {
		t.Errorf("calibration with a dose at the start: %+v, %v", c, err)
	}
}

// With events, too, a path in pieces is that of Solve, bit for bit: for every
// method, cut anywhere, on grids of all kinds, with another path between.
func TestSolveFromWithEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	doses, _ := compartments(0, 2, 2, 3.7)
	doses.Span[1] = 5
	lagged := problems.FitzHughNagumo()
	lagged.Span[1] = 1.5
	lagged.Events = []Event{{When: func(theta []float64) float64 { return theta[2] / 2 }, Jump: plus(0.3)}}
	for _, p := range []*Problem{doses, lagged, broken()} {
		h := (p.Span[1] - p.Span[0]) / 25
		for _, m := range everywhere() {
			for _, mesh := range []Mesh{Uniform(h), Through(h), Frozen{Tolerance: Tolerance{Relative: 0.1}, Max: h}} {
				g, err := Setup{Method: m, Mesh: mesh}.Grid(ctx(), p, nil, []float64{p.Span[0] + 3.3*h})
				if err != nil {
					t.Fatal(err)
				}
				s := mustSolverOn(t, p, m, g, 1e-6)
				xi, other := make([]float64, s.NoiseLen()), make([]float64, s.NoiseLen())
				DrawNoise(xi, 1, 1)
				DrawNoise(other, 1, 2)
				want := solve(t, s, xi)
				n, d := s.Steps(), p.Dim()
				memory := make([]float64, s.MemoryLen())
				y := make([]float64, s.PathLen())
				for from := range n + 1 {
					to := min(n, from+1+from%4)
					z := make([]float64, s.PathLen())
					for _, piece := range [][2]int{{0, from}, {from, to}, {to, n}} {
						if err := s.SolveFrom(z, memory, p.Theta, xi, piece[0], piece[1]); err != nil {
							t.Fatal(err)
						}
						if got := z[:(piece[1]+1)*d]; !slices.Equal(got, want[:len(got)]) {
							t.Fatalf("%s, %v, %v: steps %d to %d differ from Solve", p.Name, m, mesh, piece[0], piece[1])
						}
						if err := s.Solve(y, p.Theta, other); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
	}
}

// A method without derivatives says so if an event time depends on θ.
func TestNoDerivativesOfEventTimes(t *testing.T) {
	p := &Problem{Name: "late", X0: []float64{1}, Span: [2]float64{0, 2}, Theta: []float64{0.7},
		F: func(f []float64, _ float64, x, _ []float64) { f[0] = -x[0] },
		Events: []Event{{When: func(theta []float64) float64 { return theta[0] },
			Jump: func(x []float64, _ float64, _ []float64) { x[0]++ }}}}
	path, err := Setup{Method: filter.EK{Q: 2}, Mesh: Uniform(0.1)}.Bind(context.Background(), p, p.Theta, []float64{2})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 1)
	err = path.(Tangential).Tangents(context.Background(), x, x, p.Theta, []float64{1}, nil)
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "late: EK1(2) has no derivatives if the time of an event depends on θ") {
		t.Errorf("%v", err)
	}
}
