package probode_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/methods"
)

// Cases that are easily forgotten: starts at which everything vanishes, units
// that are far from one, events that all but coincide, Solvers that are changed
// and copied on the way.

// manyMethods has one method of each kind that can be run under error control.
func manyMethods() []Method {
	return []Method{methods.RungeKutta{}, adams.Bashforth{Steps: 3}, adams.Moulton{Steps: 2}, adams.Moulton{Steps: 1, Linearize: adams.Current},
		methods.Gauss{Stages: 2}, methods.Radau{Stages: 3}, methods.RandomStep{Method: methods.RungeKutta{}}}
}

// x′ = 6t⁵ from zero: x, f and four more derivatives vanish at the start, and
// the relative error of a step does not fall with its length.
func TestFrozenFromNothing(t *testing.T) {
	for _, m := range manyMethods() {
		for _, start := range []float64{0, 1} {
			p := &Problem{Name: "flat", X0: []float64{start}, Span: [2]float64{0, 3},
				F: func(dst []float64, t float64, _, _ []float64) { dst[0] = 6 * math.Pow(t, 5) }}
			g, err := Setup{Method: m, Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-6}}}.Grid(context.Background(), p, nil, nil)
			if err != nil {
				t.Errorf("%v from %g: %v", m, start, err)
				continue
			}
			s, err := NewSolver(p, m, g, 0)
			if err != nil {
				t.Fatal(err)
			}
			z := make([]float64, s.PathLen())
			if err := s.Solve(z, nil, nil); err != nil {
				t.Fatal(err)
			}
			// Local errors of 10⁻⁶ of x in each of N steps; x grows, so that
			// they sum up to less than N·10⁻⁶ x.
			if n := float64(g.Steps()); !(math.Abs(z[len(z)-1]-729-start) < 1e-6*n*(729+start)) || n > 1e4 {
				t.Errorf("%v from %g: x(3) = %g in %g steps, want %g in fewer than 10⁴", m, start, z[len(z)-1], n, 729+start)
			}
			if strain, err := s.Strain(nil); err != nil || !(strain <= 1+1e-6) {
				t.Errorf("%v from %g: strain %g (%v) where the grid was made, want at most 1", m, start, strain, err)
			}
		}
	}
}

// forced is an oscillator with the given units of time and of both components,
// from time t0 on.
func forced(unit, t0 float64, size [2]float64) *Problem {
	f := func(f []float64, t float64, x, _ []float64) {
		f[0] = x[1] / size[1] * size[0] / unit
		f[1] = (math.Sin((t-t0)/unit) - x[0]/size[0]) * size[1] / unit
	}
	return &Problem{Name: "forced", X0: []float64{size[0], 0}, Span: [2]float64{t0, t0 + 10*unit}, F: f,
		FJ: func(v, jac []float64, t float64, x, theta []float64) {
			f(v, t, x, theta)
			jac[1], jac[2] = size[0]/size[1]/unit, -size[1]/size[0]/unit
		}}
}

// The units of time and state change nothing but the last digits.
func TestUnits(t *testing.T) {
	one := [2]float64{1, 1}
	for _, m := range manyMethods() {
		for _, frozen := range []bool{false, true} {
			solve := func(unit, t0 float64, size [2]float64) (steps int, x [2]float64) {
				p := forced(unit, t0, size)
				var mesh Mesh = Uniform(unit / 8)
				if frozen {
					mesh = Frozen{Tolerance: Tolerance{Relative: 1e-6, Absolute: []float64{1e-9 * size[0], 1e-9 * size[1]}}}
				}
				g, err := Setup{Method: m, Mesh: mesh}.Grid(context.Background(), p, nil, nil)
				if err != nil {
					t.Fatalf("%v, %g, %g, %g: %v", m, unit, t0, size, err)
				}
				s, err := NewSolver(p, m, g, 0)
				if err != nil {
					t.Fatalf("%v, %g, %g, %g: %v", m, unit, t0, size, err)
				}
				z := make([]float64, s.PathLen())
				if err := s.Solve(z, nil, nil); err != nil {
					t.Fatalf("%v, %g, %g, %g: %v", m, unit, t0, size, err)
				}
				return g.Steps(), [2]float64{z[len(z)-2] / size[0], z[len(z)-1] / size[1]}
			}
			steps, want := solve(1, 0, one)
			for _, c := range []struct {
				unit, t0 float64
				size     [2]float64
			}{{1e-30, 0, one}, {1e-12, 0, one}, {1e9, 0, one}, {1e15, 0, one}, {1, 1.7e9, one}, {3600, 1.7e9, one},
				{1, 0, [2]float64{1e-12, 1e-12}}, {1, 0, [2]float64{1e-9, 1e9}}, {1e6, 0, [2]float64{1e12, 1e-12}}} {
				n, x := solve(c.unit, c.t0, c.size)
				more := steps/50 + 1
				if c.t0 > 0 { // times are rounded to 2.4e-7, which estimates of local errors of 1e-6 take for errors
					more = steps / 2
				}
				if math.Abs(x[0]-want[0]) > 1e-5 || math.Abs(x[1]-want[1]) > 1e-5 || n > steps+more || n < steps-more {
					t.Errorf("%v, unit %g, from %g, sizes %g: %g in %d steps, want %g in %d", m, c.unit, c.t0, c.size, x, n, want, steps)
				}
			}
		}
	}
}

// Between two events that are one rounding apart there is a step that has no
// half.
func TestEventsOneRoundingApart(t *testing.T) {
	first := 1.0
	second := math.Nextafter(first, 2)
	p := &Problem{Name: "two doses", X0: []float64{1}, Span: [2]float64{0, 2}, Events: append(Doses(0, 1, first), Doses(0, 2, second)...),
		F: func(dst []float64, _ float64, x, _ []float64) { dst[0] = -x[0] }}
	for _, m := range manyMethods() {
		for _, c := range []struct {
			mesh Mesh
			near float64 // the order-2 method is off by 1.8e-3 at h = 1/8
		}{{Uniform(0.125), 5e-3}, {Frozen{Tolerance: Tolerance{Relative: 1e-8}}, 1e-5}} {
			for _, scaling := range []Scaling{ScaleStep, ScaleLocal} {
				e, err := Integrate(context.Background(), p, m, 4, Settings{Mesh: c.mesh, Scaling: scaling, Times: []float64{first, second, 2}, Alpha: 1e-8})
				if err != nil {
					t.Errorf("%v, %v: %v", m, c.mesh, err)
					continue
				}
				for i, want := range []float64{math.Exp(-1), math.Exp(-1) + 1, (math.Exp(-1) + 3) * math.Exp(-1)} {
					if got := e.Deterministic[0][i]; !(math.Abs(got-want) < c.near) {
						t.Errorf("%v, %v: x = %g at t = %.17g, want %g", m, c.mesh, got, e.T[i], want)
					}
				}
			}
		}
	}
}

// Derivatives along unknown starts and parameters that move an event, with
// noise of both kinds, after a path was solved in part, and by a clone.
func TestTangentsOfUnknownStartWithEvents(t *testing.T) {
	f := func(f []float64, _ float64, x, th []float64) { f[0], f[1] = -th[0]*x[0], th[0]*x[0]-th[1]*x[1] }
	p := (&Problem{Name: "late dose", X0: []float64{1, 2}, Theta: []float64{.5, .3}, Span: [2]float64{0, 4}, F: f,
		FJ: func(v, jac []float64, t float64, x, th []float64) {
			f(v, t, x, th)
			jac[0], jac[2], jac[3] = -th[0], th[0], -th[1]
		},
		FTheta: func(dst []float64, _ float64, x, _ []float64) { dst[0], dst[2], dst[3] = -x[0], x[0], -x[1] },
		Events: []Event{{When: func(th []float64) float64 { return 1 + th[0] }, Jump: func(x []float64, _ float64, th []float64) { x[0] += 1 + th[1]*x[1] }}},
	}).UnknownStart()
	theta, unit := []float64{.6, .35, 1.2, 1.9}, make([]float64, 16)
	for k := range theta {
		unit[k*5] = 1
	}
	for _, m := range manyMethods() {
		for _, mesh := range []Mesh{Uniform(0.25), Frozen{Tolerance: Tolerance{Relative: 1e-5}}} {
			for _, scaling := range []Scaling{ScaleStep, ScaleLocal} {
				g, err := Setup{Method: m, Mesh: mesh}.Grid(context.Background(), p, p.Theta, nil)
				if err != nil {
					t.Fatalf("%v: %v", m, err)
				}
				s, err := NewSolver(p, m, g, 1)
				if err != nil {
					t.Fatalf("%v: %v", m, err)
				}
				if err := s.SetScaling(scaling, p.Theta); err != nil {
					t.Fatalf("%v: %v", m, err)
				}
				s.SetAlpha(0.01)
				other := s.Clone()
				xi := make([]float64, s.NoiseLen())
				DrawNoise(xi, 1, 1)
				z, want := make([]float64, s.PathLen()), make([]float64, s.PathLen())
				if err := s.SolveFrom(z, make([]float64, s.MemoryLen()), theta, xi, 0, 5); err != nil {
					t.Fatalf("%v: %v", m, err)
				}
				dz := make([]float64, len(theta)*len(z))
				if err := s.SolveTangents(z, dz, theta, unit, xi); err != nil {
					t.Fatalf("%v, %v: %v", m, mesh, err)
				}
				if err := other.Solve(want, theta, xi); err != nil {
					t.Fatalf("%v: %v", m, err)
				}
				for i, v := range want {
					if z[i] != v {
						t.Fatalf("%v, %v: z[%d] is %g, and %g by the clone", m, mesh, i, z[i], v)
					}
				}
				left, right := make([]float64, len(z)), make([]float64, len(z))
				for k := range theta {
					const eps = 1e-5 // truncation 1e-10, rounding 1e-11
					at := append([]float64(nil), theta...)
					at[k] += eps
					if err := other.Solve(right, at, xi); err != nil {
						t.Fatal(err)
					}
					at[k] -= 2 * eps
					if err := other.Solve(left, at, xi); err != nil {
						t.Fatal(err)
					}
					for i := range z {
						if d := (right[i] - left[i]) / (2 * eps); math.Abs(d-dz[k*len(z)+i]) > 1e-7 {
							t.Fatalf("%v, %v, scaling %d: dz[%d] along %d is %g, want %g", m, mesh, scaling, i, k, dz[k*len(z)+i], d)
						}
					}
				}
			}
		}
	}
}

// A Solver takes as many normals as its scaling asks for.
func TestNormalsOfScaling(t *testing.T) {
	p := forced(1, 0, [2]float64{1, 1})
	g, err := UniformGrid(p, nil, 0.125)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSolver(p, methods.RandomStep{Method: methods.RungeKutta{}}, g, 1)
	if err != nil {
		t.Fatal(err)
	}
	for scaling, want := range map[Scaling]int{ScaleLocal: 2, ScaleStep: 1} {
		if err := s.SetScaling(scaling, nil); err != nil || s.Normals() != want {
			t.Errorf("%v: %d normals (%v), want %d", scaling, s.Normals(), err, want)
		}
	}
}

// A context that is released gives way to the one before it.
func TestBindWithin(t *testing.T) {
	p := forced(1, 0, [2]float64{1, 1})
	g, err := UniformGrid(p, nil, 0.125)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSolver(p, methods.RungeKutta{}, g, 1)
	if err != nil {
		t.Fatal(err)
	}
	z := make([]float64, s.PathLen())
	why := errors.New("enough")
	outer, end := context.WithCancelCause(context.Background())
	inner, endInner := context.WithCancel(context.Background())
	release := s.Bind(outer)
	releaseInner := s.Bind(inner)
	endInner()
	// A Solver hears of the end soon, and not at the same time.
	ended := func() (err error) {
		for range 100000 {
			if err = s.Solve(z, nil, nil); err != nil {
				break
			}
		}
		return err
	}
	if err := ended(); !errors.Is(err, context.Canceled) {
		t.Errorf("the inner context has ended: %v", err)
	}
	if releaseInner(); s.Solve(z, nil, nil) != nil {
		t.Error("the inner context still holds")
	}
	end(why)
	if err := ended(); !errors.Is(err, why) {
		t.Errorf("the outer context has ended: %v", err)
	}
	if release(); s.Solve(z, nil, nil) != nil {
		t.Error("the outer context still holds")
	}
}

// What is done to a Problem after UnknownStart does not reach the copy.
func TestUnknownStartIsACopy(t *testing.T) {
	p := &Problem{Name: "copied", X0: []float64{1, 2}, Span: [2]float64{0, 1}, Events: Doses(0, 1, 0.5),
		F: func(dst []float64, _ float64, _, _ []float64) { clear(dst) }}
	q := p.UnknownStart(0)
	p.X0[1], p.Events[0].Jump, p.F = 9, nil, nil
	x := make([]float64, 2)
	if q.Initial(x, q.Theta); x[0] != 1 || x[1] != 2 {
		t.Errorf("starts at %g, want 1 and 2", x)
	}
	e, err := Integrate(context.Background(), q, methods.RungeKutta{}, 1, Settings{Mesh: Through(0.25), Times: []float64{1}})
	if err != nil || e.Deterministic[0][0] != 2 || e.Deterministic[1][0] != 2 {
		t.Errorf("%v, %v: want both components at 2", e, err)
	}
}

// More workers than paths, and a context that has ended before anything began.
func TestIdleWorkersAndEndedContext(t *testing.T) {
	p := forced(1, 0, [2]float64{1, 1})
	s := Settings{StepSize: 0.125, Alpha: 1, Quantiles: []float64{0.5}}
	s.Workers = 1
	one, err := Integrate(context.Background(), p, methods.RungeKutta{}, 3, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Workers = 64
	many, err := Integrate(context.Background(), p, methods.RungeKutta{}, 3, s)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range one.Quantile[0][1] {
		if many.Quantile[0][1][i] != v || many.SD[1][i] != one.SD[1][i] {
			t.Fatalf("64 workers for 3 paths change the result at %d", i)
		}
	}
	ended, end := context.WithCancel(context.Background())
	end()
	for name, mesh := range map[string]Mesh{"uniform": Uniform(0.125), "frozen": Frozen{Tolerance: Tolerance{Relative: 1e-6}}} {
		if _, err := Integrate(ended, p, methods.RungeKutta{}, 3, Settings{Mesh: mesh, Alpha: 1}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a context that has ended: %v", name, err)
		}
	}
}

// Times at a dose, of an event that is seen before and of one that is seen
// after, and times that lie outside of the span.
func TestTimesAtEvents(t *testing.T) {
	for _, after := range []bool{false, true} {
		p := &Problem{Name: "dose", X0: []float64{1}, Span: [2]float64{0, 2}, Events: Doses(0, 1, 1),
			F: func(dst []float64, _ float64, _, _ []float64) { dst[0] = 0 }}
		p.Events[0].SeenAfter = after
		want := 1.
		if after {
			want = 2
		}
		for _, mesh := range []Mesh{Through(0.3), Frozen{Tolerance: Tolerance{Relative: 1e-6}}} {
			e, err := Integrate(context.Background(), p, methods.RungeKutta{}, 2, Settings{Mesh: mesh, Times: []float64{0.5, 1, 1.5}})
			if err != nil {
				t.Fatalf("%v: %v", mesh, err)
			}
			if x := e.Deterministic[0]; x[0] != 1 || x[1] != want || x[2] != 2 {
				t.Errorf("%v, seen after %v: %g, want 1, %g and 2", mesh, after, x, want)
			}
			for _, outside := range []float64{-1, 3, math.Inf(1), math.NaN()} {
				if _, err := Integrate(context.Background(), p, methods.RungeKutta{}, 2, Settings{Mesh: mesh, Times: []float64{outside}}); err == nil {
					t.Errorf("%v: time %g is accepted", mesh, outside)
				}
			}
		}
	}
}

// A tableau whose embedded weights belong to no stage is refused.
func TestEmbeddedWeights(t *testing.T) {
	tab := *methods.RK4
	tab.Embedded = []float64{1}
	_, err := Integrate(context.Background(), riccati(), methods.RungeKutta{Tableau: &tab}, 1, Settings{StepSize: 0.1})
	if err == nil || !strings.Contains(err.Error(), "the length of Embedded is 1") {
		t.Errorf("four stages and one embedded weight: error %v", err)
	}
}
