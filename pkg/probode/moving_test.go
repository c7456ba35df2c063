package probode_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// Z is smooth in the time of an event: its derivative, by differences, is that of
// the solution, for x′ = −x with a dose of 3 at time θ, x(T) = e^{−T} + 3 e^{−(T−θ)},
// on every kind of grid; and second differences show no step.
func TestSmoothInEventTime(t *testing.T) {
	p := &Problem{Name: "decay", X0: []float64{1}, Span: [2]float64{0, 4}, Theta: []float64{1.3}, Autonomous: true,
		F:      func(f []float64, _ float64, x, _ []float64) { f[0] = -x[0] },
		FJ:     func(f, j []float64, _ float64, x, _ []float64) { f[0], j[0] = -x[0], -1 },
		Events: []Event{{Time: 2, Jump: plus(1)}, {When: lag(0), Jump: plus(3)}, {Time: 0.7, Jump: plus(-0.5)}}}
	const dt = 1e-3
	for _, m := range every() {
		h, tol := 1./64, 1e-3
		if m.Order() == 1 {
			h, tol = 1./256, 2e-2
		}
		for _, mesh := range []Mesh{Uniform(h), Through(h), Frozen{Tolerance: Tolerance{Relative: 1e-6}, Max: 2 * h}} {
			g, err := Setup{Method: m, Mesh: mesh}.Grid(ctx(), p, nil, []float64{1})
			if err != nil {
				t.Fatal(err)
			}
			s := mustSolverOn(t, p, m, g, 0)
			z := make([]float64, s.PathLen())
			var v []float64
			for k := range 41 {
				if err := s.Solve(z, []float64{1.3 + dt*float64(k-20)}, nil); err != nil {
					t.Fatal(err)
				}
				v = append(v, z[len(z)-1])
			}
			for k := 1; k < 40; k++ {
				want := 3 * math.Exp(1.3+dt*float64(k-20)-4) // and its derivatives
				if got := (v[k+1] - v[k-1]) / (2 * dt); math.Abs(got/want-1) > tol {
					t.Errorf("%v, %v: derivative %g, want %g", m, mesh, got, want)
				}
				if got := (v[k+1] - 2*v[k] + v[k-1]) / (dt * dt); math.Abs(got/want-1) > 10*tol {
					t.Errorf("%v, %v: second derivative %g, want %g", m, mesh, got, want)
				}
			}
		}
	}
}

// Between grid points no state of the other side of an event is used: x′ = 1
// with jumps is reproduced everywhere, on grids that have been moved, too.
func TestInterpolationBetweenEvents(t *testing.T) {
	p := drift(Event{When: lag(0), Jump: plus(100)}, Event{Time: 5, Jump: plus(1000)}, Event{Time: 9.9, Jump: plus(-2)})
	p.Theta = []float64{3}
	rng := rand.New(rand.NewPCG(9, 9))
	for _, m := range []Method{adams.Bashforth{}, methods.RungeKutta{}, methods.RungeKutta{Tableau: methods.DormandPrince}} {
		for _, mesh := range []Mesh{Uniform(0.5), Through(0.7), Frozen{Tolerance: Tolerance{Relative: 1e-3}, Max: 1}} {
			g, err := Setup{Method: m, Mesh: mesh}.Grid(ctx(), p, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := mustSolverOn(t, p, m, g, 0)
			times := []float64{0, 3, 5, 9.9, 10, math.Nextafter(5, 0), math.Nextafter(5, 6)}
			for range 200 {
				times = append(times, 10*rng.Float64())
			}
			z, x := make([]float64, s.PathLen()), make([]float64, len(times))
			between := mustInterpolator(t, s, times)
			for _, at := range []float64{3, 3.4, 2.2, 5.3} {
				if err := s.Solve(z, []float64{at}, nil); err != nil {
					t.Fatal(err)
				}
				between.At(x, z)
				for i, ti := range times {
					want := ti
					for when, jump := range map[float64]float64{at: 100, 5: 1000, 9.9: -2} {
						if ti > when+1e-8 {
							want += jump
						} else if ti > when { // taken for the event itself
							want = math.NaN()
						}
					}
					if math.Abs(x[i]-want) > 1e-9 {
						t.Errorf("%v, %v, event at %g: %v at t = %v, want %v", m, mesh, at, x[i], ti, want)
					}
				}
			}
		}
	}
}

// Solver.Stepper hands out the step as it is in the path, bit for bit.
func TestStepperIsThatOfThePath(t *testing.T) {
	lagged := problems.FitzHughNagumo()
	lagged.Span[1] = 2
	lagged.Events = []Event{{When: func(theta []float64) float64 { return theta[2] / 4 }, Jump: plus(0.3)}}
	theta := []float64{0.21, 0.2, 3.3}
	for _, m := range every() {
		for _, mesh := range []Mesh{Uniform(1. / 16), Through(1. / 16)} {
			g, err := Setup{Method: m, Mesh: mesh}.Grid(ctx(), lagged, nil, []float64{0.33})
			if err != nil {
				t.Fatal(err)
			}
			s := mustSolverOn(t, lagged, m, g, 1e-3)
			z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
			if err := s.SolvePath(z, theta, xi, 1, 1); err != nil {
				t.Fatal(err)
			}
			for i := range s.Steps() {
				if s.Grid().H(i) == 0 {
					continue // the event
				}
				step, one, err := s.Stepper(i, z, theta)
				if err != nil {
					t.Fatal(err)
				}
				if i >= s.Startup() {
					one.Xi = xi[2*i : 2*i+2]
				}
				if err := step.Step(one); err != nil {
					t.Fatal(err)
				}
				if dst := one.Next; !slices.Equal(dst, z[2*i+2:2*i+4]) {
					t.Errorf("%v, %v: step %d gives %v, the path has %v", m, mesh, i, dst, z[2*i+2:2*i+4])
				}
			}
		}
	}
}

// The tangents of a path at fixed times, where a dose τ moves and the initial value is θ²:
// x(t) = θ² e^{−t} + e^{τ−t} for t > τ. Three kinds of grids agree, with a derivative of the
// initial value that the problem gives or that is taken by differences.
func TestTangentsWithMovingEvents(t *testing.T) {
	p := &Problem{
		F:  func(dst []float64, _ float64, x, _ []float64) { dst[0] = -x[0] },
		X0: []float64{1}, Theta: []float64{0.55, 1.3}, Span: [2]float64{0, 2},
		Start: func(x0, theta []float64) { x0[0] = theta[1] * theta[1] },
		Events: []Event{{When: func(theta []float64) float64 { return theta[0] }, SeenAfter: true,
			Jump: func(x []float64, _ float64, _ []float64) { x[0]++ }}},
	}
	exact := *p
	exact.StartTheta = func(dst, theta []float64) { dst[1] = 2 * theta[1] }
	times := []float64{0, 0.3, 0.55, 0.7, 1.234, 2}
	tol := Tolerance{Relative: 1e-9}
	for _, q := range []*Problem{p, &exact} {
		for _, mesh := range []Mesh{Uniform(0.01), Frozen{Tolerance: tol}, Adaptive{Tolerance: tol, Max: 0.1}} {
			path, err := Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: mesh}.Bind(t.Context(), q, nil, times)
			if err != nil {
				t.Fatal(err)
			}
			if h, ok := path.(Holdable); ok {
				if path, err = h.Hold(t.Context(), q.Theta); err != nil {
					t.Fatal(err)
				}
			}
			x, dx := make([]float64, len(times)), make([]float64, 2*len(times))
			if err := path.(Tangential).Tangents(t.Context(), x, dx, q.Theta, []float64{1, 0, 0, 1}, nil); err != nil {
				t.Fatal(err)
			}
			tau, theta := q.Theta[0], q.Theta[1]
			for n, at := range times {
				want := [2]float64{0, 2 * theta * math.Exp(-at)}
				if at >= tau {
					want[0] = math.Exp(tau - at)
				}
				for m, w := range want {
					if got := dx[m*len(times)+n]; math.Abs(got-w) > 1e-7 {
						t.Errorf("%v, t = %g: derivative %d is %.9g: want %.9g", mesh, at, m, got, w)
					}
				}
			}
		}
	}
}

// Where events move, the tangents and the gradient of a path at fixed times are those of
// its states as they are computed, interpolation included: central differences with two
// increments, extrapolated, agree up to their error of 1e-10.
func TestDerivativesBetweenMovingPoints(t *testing.T) {
	p := &Problem{
		F: func(dst []float64, t float64, x, th []float64) {
			dst[0], dst[1] = math.Sin(t)-th[1]*x[0]*x[1], th[1]*x[0]-x[1]
		},
		FJ: func(f, jac []float64, t float64, x, th []float64) {
			f[0], f[1] = math.Sin(t)-th[1]*x[0]*x[1], th[1]*x[0]-x[1]
			jac[0], jac[1], jac[2], jac[3] = -th[1]*x[1], -th[1]*x[0], th[1], -1
		},
		FTheta: func(dst []float64, _ float64, x, _ []float64) { dst[1], dst[3] = -x[0]*x[1], x[0] },
		X0:     []float64{1, 0.5}, Theta: []float64{0.55, 1.3}, Span: [2]float64{0, 2},
		Events: []Event{{When: func(theta []float64) float64 { return theta[0] },
			Jump: func(x []float64, _ float64, th []float64) { x[0] += th[1] }}},
	}
	times := []float64{0.31, 0.5, 0.7, 1.234, 1.9}
	p.Start = func(x0, th []float64) { x0[0], x0[1] = th[1]*th[1], 0.5 }
	given := *p
	given.StartTheta = func(dst, th []float64) { dst[1] = 2 * th[1] }
	for k, mesh := range []Mesh{Uniform(0.1), Frozen{Tolerance: Tolerance{Relative: 1e-3}}} {
		path, err := Setup{Method: methods.RungeKutta{}, Mesh: mesh, Alpha: 0.01}.Bind(t.Context(), []*Problem{p, &given}[k], nil, times)
		if err != nil {
			t.Fatal(err)
		}
		theta, xi := []float64{0.53, 1.2}, make([]float64, path.NoiseLen())
		DrawNoise(xi, 1, 1)
		n := 2 * len(times)
		w, x, dx := make([]float64, n), make([]float64, n), make([]float64, 2*n)
		DrawNoise(w, 1, 2)
		value := func(j int, h float64) (sum float64) {
			at := slices.Clone(theta)
			at[j] += h
			if err := path.States(t.Context(), x, at, xi); err != nil {
				t.Fatal(err)
			}
			return vector.Dot(w, x)
		}
		var want [2]float64
		for j := range want {
			slope := func(h float64) float64 { return (value(j, h) - value(j, -h)) / (2 * h) }
			want[j] = (4*slope(1e-4) - slope(2e-4)) / 3
		}
		if err := path.(Tangential).Tangents(t.Context(), x, dx, theta, []float64{1, 0, 0, 1}, xi); err != nil {
			t.Fatal(err)
		}
		g := &Gradient{Theta: make([]float64, 2), Xi: make([]float64, len(xi))}
		if err := path.(Reversible).Gradient(t.Context(), g, w, theta, xi); err != nil {
			t.Fatal(err)
		}
		// A method without abilities has the gradient from differences of paths.
		if err := path.States(t.Context(), x, theta, nil); err != nil {
			t.Fatal(err)
		}
		still, bare := &Gradient{Theta: make([]float64, 2)}, &Gradient{Theta: make([]float64, 2)}
		if err := path.(Reversible).Gradient(t.Context(), still, w, theta, nil); err != nil {
			t.Fatal(err)
		}
		other, err := Setup{Method: plain{methods.RungeKutta{}}, Mesh: Fixed{Grid: path.(Gridded).Solver().Grid()}, Scaling: ScaleStep}.Bind(t.Context(), p, nil, times)
		if err != nil {
			t.Fatal(err)
		}
		if err := other.States(t.Context(), x, theta, nil); err != nil {
			t.Fatal(err)
		}
		if err := other.(Reversible).Gradient(t.Context(), bare, w, theta, nil); err != nil {
			t.Fatal(err)
		}
		for j, v := range still.Theta {
			if math.Abs(bare.Theta[j]-v) > 1e-7*math.Abs(v) {
				t.Errorf("%v, θ%d: without abilities %.12g: want %.12g", mesh, j, bare.Theta[j], v)
			}
		}
		for j, v := range want {
			if forward := vector.Dot(w, dx[j*n:]); math.Abs(forward-v) > 1e-9*math.Abs(v) || math.Abs(g.Theta[j]-v) > 1e-9*math.Abs(v) {
				t.Errorf("%v, θ%d: tangents %.12g, gradient %.12g: want %.12g", mesh, j, forward, g.Theta[j], v)
			}
		}
	}
}

// Two events at the same time that θ moves apart leave no derivative: it would depend on f
// between them. Events that move together do.
func TestEventsThatMoveApart(t *testing.T) {
	p := &Problem{X0: []float64{1}, Theta: []float64{1}, Params: []string{"a"}, Span: [2]float64{0, 2},
		F: func(dst []float64, _ float64, x, _ []float64) { dst[0] = -x[0] }}
	at := func(theta []float64) float64 { return theta[0] }
	for _, c := range []struct {
		second Event
		fine   bool
	}{{Event{Time: 1, Jump: plus(1)}, false}, {Event{When: at, Jump: plus(1)}, true}, {Event{Time: 1.5, Jump: plus(1)}, true}} {
		p.Events = []Event{{When: at, Jump: plus(1)}, c.second}
		for _, m := range []Method{methods.RungeKutta{}, methods.Radau{}} {
			s := mustSolver(t, p, m, 0.1, 0)
			z, dz := make([]float64, s.PathLen()), make([]float64, s.PathLen())
			err := s.SolveTangents(z, dz, p.Theta, []float64{1}, nil)
			if back := s.Gradient(&Gradient{Theta: make([]float64, 1)}, dz, z, p.Theta, nil); (back == nil) != (err == nil) {
				t.Errorf("%v: forwards %v, backwards %v", m, err, back)
			}
			if (err == nil) != c.fine || err != nil && !strings.Contains(err.Error(), "happen at the same time and a moves them apart") {
				t.Errorf("%v: %v", m, err)
			}
		}
	}
}
