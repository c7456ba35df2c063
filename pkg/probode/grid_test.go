package probode_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/methods"
)

// drift is x′ = 1 on [0, 10] with the given events, so that a state is the
// time that has passed plus the jumps.
func drift(events ...Event) *Problem {
	return &Problem{Name: "drift", X0: []float64{0}, Span: [2]float64{0, 10}, Events: events,
		F: func(f []float64, _ float64, _, _ []float64) { f[0] = 1 }}
}

func plus(amount float64) func(x []float64, t float64, theta []float64) {
	return func(x []float64, _ float64, _ []float64) { x[0] += amount }
}

func lag(k int) func(theta []float64) float64 {
	return func(theta []float64) float64 { return theta[k] }
}

func mustGrid(t testing.TB) func(g *Grid, err error) *Grid {
	return func(g *Grid, err error) *Grid {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
}

// Times that were given are grid points to the last bit, whatever the other
// points are, and a uniform grid has points where t0 + h i rounds to.
func TestGridTimesAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		p := drift(Doses(0, 1, 10*rng.Float64(), 10*rng.Float64())...)
		p.Span = [2]float64{-3 * rng.Float64(), 10 + rng.Float64()}
		times := make([]float64, 20)
		for i := range times {
			times[i] = p.Span[0] + (p.Span[1]-p.Span[0])*rng.Float64()
		}
		for name, g := range map[string]*Grid{
			"given": mustGrid(t)(NewGrid(p, nil, times)), "through": mustGrid(t)(Setup{Mesh: Through(0.3)}.Grid(ctx(), p, nil, times)),
			"frozen": mustGrid(t)(Setup{Method: methods.RungeKutta{}, Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-3}}}.Grid(ctx(), p, nil, times))} {
			for _, want := range append(slices.Clone(times), p.Span[0], p.Span[1], p.Events[0].Time, p.Events[1].Time) {
				if !slices.Contains(g.Times(), want) {
					t.Fatalf("%s: no grid point at %v", name, want)
				}
			}
			for i := range g.Steps() {
				if !(g.Times()[i] <= g.Times()[i+1]) {
					t.Fatalf("%s: times are not in order at %d", name, i)
				}
				if name == "through" && g.H(i) > 0.3*(1+1e-9) {
					t.Fatalf("a step of %g where at most 0.3 is allowed", g.H(i))
				}
			}
			// Halving keeps every point.
			fine := g.Refine()
			for _, want := range g.Times() {
				if !slices.Contains(fine.Times(), want) {
					t.Fatalf("%s, halved: no grid point at %v", name, want)
				}
			}
			if events := 2; fine.Steps() != 2*g.Steps()-events {
				t.Fatalf("%s: %d steps halved are %d", name, g.Steps(), fine.Steps())
			}
		}
	}
	g := mustUniform(t, drift(), 0.1)
	if h, ok := g.Uniform(); !ok || h != 0.1 || g.Times()[37] != 10*37./100 {
		t.Errorf("uniform grid: h = %v, t37 = %v", h, g.Times()[37])
	}
}

// An event is a step of length zero; at its time the point before it is seen,
// or that after it where the event says so, and states are those before and
// after, in the order in which the events are listed.
func TestEventsInGrid(t *testing.T) {
	double := func(x []float64, _ float64, _ []float64) { x[0] *= 2 }
	for _, c := range []struct {
		name   string
		events []Event
		at     float64 // of the events
		before float64 // the state that is seen without SeenAfter
		after  float64 // behind them
	}{
		{"in the middle", []Event{{Time: 3, Jump: plus(5)}}, 3, 3, 8},
		{"at the start", []Event{{Time: 0, Jump: plus(5)}}, 0, 0, 5},
		{"at the end", []Event{{Time: 10, Jump: plus(5)}}, 10, 10, 15},
		{"two at a time", []Event{{Time: 4, Jump: plus(1)}, {Time: 4, Jump: double}}, 4, 4, 10},
		{"two at a time, the other way", []Event{{Time: 4, Jump: double}, {Time: 4, Jump: plus(1)}}, 4, 4, 9},
		{"two at the start", []Event{{Time: 0, Jump: plus(1)}, {Time: 0, Jump: double}}, 0, 0, 2},
		{"no jump", []Event{{Time: 5}}, 5, 5, 5},
		{"before the span", []Event{{Time: -1, Jump: plus(9)}}, 5, 5, 5},
		{"behind the span", []Event{{Time: 11, Jump: plus(9)}}, 5, 5, 5},
	} {
		for _, seen := range []bool{false, true} {
			p := drift(slices.Clone(c.events)...)
			for k := range p.Events {
				p.Events[k].SeenAfter = seen
			}
			for name, g := range map[string]*Grid{
				"uniform": mustUniform(t, p, 0.5), "given": mustGrid(t)(NewGrid(p, nil, []float64{5})), "through": mustGrid(t)(Setup{Mesh: Through(2)}.Grid(ctx(), p, nil, []float64{5})),
				"frozen": mustGrid(t)(Setup{Method: methods.RungeKutta{}, Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-6}}}.Grid(ctx(), p, nil, []float64{5})),
				"halved": mustUniform(t, p, 1).Refine()} {
				s := mustSolverOn(t, p, methods.RungeKutta{}, g, 0)
				z := solve(t, s, nil)
				index, err := g.Index([]float64{c.at})
				if err != nil {
					t.Fatal(err)
				}
				want := c.before
				if seen {
					want = c.after
				}
				if got := z[index[0]]; math.Abs(got-want) > 1e-12 {
					t.Errorf("%s, %s, seen after %v: %g at t = %g, want %g", c.name, name, seen, got, c.at, want)
				}
				if end := c.after + 10 - c.at; math.Abs(z[len(z)-1]-end) > 1e-12 {
					t.Errorf("%s, %s: ends at %g, want %g", c.name, name, z[len(z)-1], end)
				}
				x := make([]float64, 1)
				mustInterpolator(t, s, []float64{c.at}).At(x, z)
				if x[0] != z[index[0]] {
					t.Errorf("%s, %s: %g between the points, %g at them", c.name, name, x[0], z[index[0]])
				}
			}
		}
	}
}

// Segment gives the stretch between events that a step is in.
func TestSegment(t *testing.T) {
	p := drift(Doses(0, 1, 0, 4, 4, 10)...)
	g := mustUniform(t, p, 1)
	if want := []float64{0, 0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 8, 9, 10, 10}; !slices.Equal(g.Times(), want) {
		t.Fatalf("times %v, want %v", g.Times(), want)
	}
	for i := range g.Steps() {
		if g.H(i) == 0 {
			continue // an event
		}
		from, to := g.Segment(i)
		want := [2]int{1, 5}
		if i > 5 {
			want = [2]int{7, 13}
		}
		if [2]int{from, to} != want {
			t.Errorf("step %d: segment %d to %d, want %v", i, from, to, want)
		}
	}
}

func stretched(err error) bool {
	return err != nil && strings.Contains(err.Error(), "the event times are too far from those for which the grid was made")
}

// Events that depend on θ: the solution is exact for x′ = 1, wherever the
// events are moved, across each other and out of the span; points of a segment
// keep their proportions; and the way back ends at the same bits.
func TestMovingEvents(t *testing.T) {
	p := drift(Event{Name: "a", When: lag(0), Jump: plus(100)}, Event{Name: "b", Time: 5, Jump: plus(0.5)}, Event{Name: "c", When: lag(1), Jump: plus(1000)})
	p.Theta = []float64{3, 7}
	rng := rand.New(rand.NewPCG(3, 4))
	for _, m := range []Method{methods.RungeKutta{}, adams.Moulton{Steps: 3}, adams.Bashforth{Steps: 4}} {
		given := make([]float64, 40)
		for i := range given {
			given[i] = 10 * rng.Float64()
		}
		for name, g := range map[string]*Grid{"uniform": mustUniform(t, p, 1./8), "through": mustGrid(t)(Setup{Mesh: Through(1. / 8)}.Grid(ctx(), p, nil, []float64{1.1, 6.3})),
			"frozen": mustGrid(t)(Setup{Method: m, Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-3}, Max: 0.25}}.Grid(ctx(), p, nil, []float64{2})),
			"given":  mustGrid(t)(NewGrid(p, nil, given))} {
			s := mustSolverOn(t, p, m, g, 0.1)
			if err := s.SetScaling(ScaleStep, nil); err != nil {
				t.Fatal(err)
			}
			xi := make([]float64, s.NoiseLen())
			DrawNoise(xi, 1, 1)
			home := solve(t, s, xi)
			times := slices.Clone(s.Times())
			z := make([]float64, s.PathLen())
			for _, theta := range [][]float64{{2, 8}, {3, 7}, {5, 5}, {7, 3}, {4, 2}, {3, 11}, {-1, 7}, {0, 10}, {6, 6}, {5, 5}, {10, 10}, {3.3, 3.3}} {
				if err := s.Solve(z, theta, nil); stretched(err) && name != "uniform" {
					continue // some of the random grids have few points
				} else if err != nil {
					t.Fatalf("%v, %s, θ = %v: %v", m, name, theta, err)
				}
				want := 10.5
				for k, v := range []float64{100, 1000} {
					if theta[k] >= 0 && theta[k] <= 10 {
						want += v
					}
				}
				if got := z[len(z)-1]; math.Abs(got-want) > 1e-9 {
					t.Errorf("%v, %s, θ = %v: %v at the end, want %v", m, name, theta, got, want)
				}
				// A Clone that is made here goes the same way.
				c := s.Clone()
				y := make([]float64, len(z))
				if err := c.Solve(y, p.Theta, xi); err != nil || !slices.Equal(y, home) {
					t.Errorf("%v, %s: a clone made at θ = %v has another path at home: %v", m, name, theta, err)
				}
				if !slices.Equal(s.Times(), times) && theta[0] == 3 && theta[1] == 7 {
					t.Errorf("%v, %s: times differ after a way to θ = %v", m, name, theta)
				}
			}
			if !slices.Equal(solve(t, s, xi), home) || !slices.Equal(s.Times(), times) {
				t.Errorf("%v, %s: the way back does not end at the same bits", m, name)
			}
		}
	}
}

// A grid that was made where a segment is closed, or an event outside of the
// span, serves where it opens as long as its one step is not longer than the
// others; beyond, that is said.
func TestStretched(t *testing.T) {
	p := drift(Event{Name: "early", When: lag(0)}, Event{Name: "late", When: lag(1), Jump: plus(1)})
	p.Theta = []float64{5, 5}
	for _, mesh := range []Mesh{Uniform(0.5), Through(0.5), Frozen{Tolerance: Tolerance{Relative: 1e-3}, Max: 0.5}} {
		for _, theta := range [][]float64{{5, 5}, {5, 12}, {-2, 5}, {12, 13}} {
			g, err := Setup{Method: adams.Bashforth{Steps: 2}, Mesh: mesh}.Grid(ctx(), p, theta, nil)
			if err != nil {
				t.Fatalf("%v at θ = %v: %v", mesh, theta, err)
			}
			s := mustSolverOn(t, p, adams.Bashforth{Steps: 2}, g, 1)
			z := make([]float64, s.PathLen())
			want := 10.
			if theta[1] <= 10 {
				want++
			}
			if err := s.Solve(z, theta, nil); err != nil || math.Abs(z[len(z)-1]-want) > 1e-12 {
				t.Errorf("%v at θ = %v: ends at %v, want %v: %v", mesh, theta, z[len(z)-1], want, err)
			}
		}
	}
	s := mustSolver(t, p, methods.RungeKutta{}, 0.5, 0)
	z := make([]float64, s.PathLen())
	if err := s.Solve(z, []float64{5, 5.4}, nil); err != nil {
		t.Errorf("opened by less than a step: %v", err)
	}
	var se *SolveError
	if err := s.Solve(z, []float64{5, 9}, nil); !stretched(err) || !errors.As(err, &se) {
		t.Errorf("opened by 4: error %v, want that the event times are too far away", err)
	}
	if err := s.Solve(z, p.Theta, nil); err != nil || math.Abs(z[len(z)-1]-11) > 1e-12 {
		t.Errorf("back from a stretched grid: %v, %v", z[len(z)-1], err)
	}
	if err := s.Solve(z, []float64{math.NaN(), 5}, nil); !errors.Is(err, ErrParameter) {
		t.Errorf("NaN in θ: %v", err)
	}
}

func TestGridRefuses(t *testing.T) {
	nan := math.NaN()
	p, lagged := drift(), drift(Event{Name: "dose", When: func(theta []float64) float64 { return math.Sqrt(theta[0]) }})
	lagged.Theta = []float64{-1}
	panics := drift(Event{Name: "dose", When: func(theta []float64) float64 { return theta[3] }})
	frozen := func(f Frozen, p *Problem, m Method) error {
		_, err := Setup{Method: m, Mesh: f}.Grid(ctx(), p, nil, nil)
		return err
	}
	second := func(_ *Grid, err error) error { return err }
	for _, c := range []struct {
		want string
		err  error
	}{
		{"the times of the grid are [1 NaN]: want finite numbers", second(NewGrid(p, nil, []float64{1, nan}))},
		{"want finite numbers", second(Setup{Mesh: Through(1)}.Grid(ctx(), p, nil, []float64{nan}))},
		{"want finite numbers", frozenTimes(p, nan)},
		{"step is NaN", second(UniformGrid(p, nil, nan))},
		{"step is 0", second(Setup{Mesh: Through(0)}.Grid(ctx(), p, nil, nil))},
		{"1 parameters: want 0", second(NewGrid(p, []float64{1}, nil))},
		{"dose: its time is NaN", second(NewGrid(lagged, nil, nil))},
		{"runtime error: index out of range", second(NewGrid(panics, nil, nil))},
		{"Time is NaN", second(UniformGrid(drift(Event{Time: nan}), nil, 1))},
		{"the problem is nil", second(UniformGrid(nil, nil, 1))},
		{"the problem is nil", second(NewGrid(nil, nil, nil))},
		{"the problem is nil", second(Setup{Mesh: Through(1)}.Grid(ctx(), nil, nil, nil))},
		{"the problem is nil", frozen(Frozen{}, nil, methods.RungeKutta{})},
		{"the method is nil", frozen(Frozen{Tolerance: Tolerance{Relative: 1e-3}}, p, nil)},
		{"the tolerances are zero", frozen(Frozen{}, p, methods.RungeKutta{})},
		{"relative tolerance is -1", frozen(Frozen{Tolerance: Tolerance{Relative: -1}}, p, methods.RungeKutta{})},
		{"2 absolute tolerances: want one", frozen(Frozen{Tolerance: Tolerance{Absolute: []float64{1, 1}}}, p, methods.RungeKutta{})},
		{"more than 7 steps", frozen(Frozen{Tolerance: Tolerance{Relative: 1e-3}, Max: 0.1, MaxSteps: 7}, p, methods.RungeKutta{})},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, want %q", c.err, c.want)
		}
	}
	g := mustUniform(t, drift(Doses(0, 1, 2)...), 0.5)
	for _, at := range []float64{nan, math.Inf(1), 0.25, -0.5, 11} {
		if _, err := g.Index([]float64{1, at}); err == nil || !strings.Contains(err.Error(), "is not on the grid") {
			t.Errorf("time %g: error %v", at, err)
		}
	}
}

func frozenTimes(p *Problem, times ...float64) error {
	_, err := Setup{Method: methods.RungeKutta{}, Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-3}}}.Grid(ctx(), p, nil, times)
	return err
}
