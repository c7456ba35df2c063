package probode_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
)

// What cannot be is refused at once, in one line that names it.
func TestRefusedAtOnce(t *testing.T) {
	fhn := problems.FitzHughNagumo
	ok := Settings{StepSize: 0.1, Alpha: 0.1}
	with := func(change func(*Settings)) Settings {
		s := ok
		change(&s)
		return s
	}
	large := func(d int, jacobian bool) *Problem {
		p := &Problem{Name: "large", X0: make([]float64, d), Span: [2]float64{0, 1}, Autonomous: true,
			F: func(f []float64, _ float64, x, _ []float64) { copy(f, x) }}
		if jacobian {
			p.FJ = func(f, j []float64, _ float64, x, _ []float64) { panic("it was called") }
		}
		return p
	}
	integrate := func(c context.Context, p *Problem, m Method, n int, s Settings) error {
		_, err := Integrate(c, p, m, n, s)
		return err
	}
	calibrated := func(c context.Context, p *Problem, m Method, s calibrate.Settings) error {
		_, err := calibrate.Run(c, p, m, s)
		return err
	}
	solver := func(p *Problem, m Method, g *Grid) error {
		_, err := NewSolver(p, m, g, 0)
		return err
	}
	long := problems.Lorenz96(40)
	long.Span = [2]float64{0, 20}
	tiny := fhn()
	tiny.Span[1] = 1e9
	for _, c := range []struct {
		want string
		err  func() error
	}{
		{"paths would take", func() error { return integrate(ctx(), fhn(), adams.Bashforth{}, math.MaxInt, ok) }},
		{"paths would take", func() error {
			return integrate(ctx(), fhn(), adams.Bashforth{}, math.MaxInt/2, with(func(s *Settings) { s.KeepPaths = true }))
		}},
		{"paths would take", func() error {
			return calibrated(ctx(), fhn(), adams.Bashforth{}, calibrate.Settings{StepSize: 0.1, Paths: math.MaxInt})
		}},
		{"a path of 1000000000 steps in 40 dimensions would take", func() error {
			return integrate(ctx(), long, adams.Bashforth{}, 1, with(func(s *Settings) { s.StepSize = 2e-8 }))
		}},
		{"would need 1e+18 steps", func() error {
			return integrate(ctx(), tiny, adams.Bashforth{}, 1, with(func(s *Settings) { s.StepSize = 1e-9 }))
		}},
		{"a Jacobian of 100000 × 100000 elements is too large", func() error { return integrate(ctx(), large(1e5, false), adams.Moulton{}, 1, ok) }},
		{"a Jacobian of 100000 × 100000 elements is too large", func() error { return integrate(ctx(), large(1e5, true), adams.Moulton{}, 1, ok) }},
		{"workers is -1: want 1 to", func() error {
			return integrate(ctx(), fhn(), adams.Bashforth{}, 1, with(func(s *Settings) { s.Workers = -1 }))
		}},
		{"workers is 1000000000: want 1 to", func() error {
			return calibrated(ctx(), fhn(), adams.Bashforth{}, calibrate.Settings{StepSize: 0.1, Workers: 1e9})
		}},
		{"time NaN is not on the grid", func() error {
			return integrate(ctx(), fhn(), adams.Bashforth{}, 1, with(func(s *Settings) { s.Times = []float64{1, math.NaN()} }))
		}},
		{"want finite numbers", func() error {
			return integrate(ctx(), fhn(), adams.Bashforth{}, 1, with(func(s *Settings) { s.Times, s.Mesh = []float64{math.NaN(), 1}, Through(0.1) }))
		}},
		{"(Linearize) is 7: want Newton, Current or Predictor", func() error { return integrate(ctx(), fhn(), adams.Moulton{Linearize: 7}, 1, ok) }},
		{"(Linearize) is 7: want", func() error {
			_, err := Setup{Method: adams.Moulton{Linearize: 7}, Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-3}}}.Grid(ctx(), fhn(), nil, nil)
			return err
		}},
		{"the problem is nil", func() error { return integrate(ctx(), nil, adams.Moulton{}, 1, ok) }},
		{"the problem is nil", func() error { return calibrated(ctx(), nil, adams.Moulton{}, calibrate.Settings{StepSize: 1}) }},
		{"the problem is nil", func() error { return solver(nil, adams.Moulton{}, nil) }},
		{"the method is nil", func() error { return integrate(ctx(), fhn(), nil, 1, ok) }},
		{"the method is nil", func() error { return calibrated(ctx(), fhn(), nil, calibrate.Settings{StepSize: 1}) }},
		{"the grid is nil", func() error { return solver(fhn(), adams.Moulton{}, nil) }},
		{"parameter theta2 is NaN: want a finite number", func() error {
			return integrate(ctx(), fhn(), adams.Moulton{}, 1, with(func(s *Settings) { s.Theta = []float64{1, math.NaN(), 1} }))
		}},
		{"alpha is NaN", func() error {
			return integrate(ctx(), fhn(), adams.Moulton{}, 1, with(func(s *Settings) { s.Alpha = math.NaN() }))
		}},
		{"the grid covers [0, 20], but the span is [0, 1]", func() error { return solver(riccati(), methods.RungeKutta{}, mustUniform(t, fhn(), 1)) }},
	} {
		start := time.Now()
		if err := c.err(); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, c.want)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%q: said after %v", c.want, took)
		}
	}
	// An explicit method has no need of the Jacobian.
	if err := integrate(ctx(), large(1e5, true), adams.Bashforth{}, 1, Settings{StepSize: 0.5}); err != nil {
		t.Errorf("an explicit method in many dimensions: %v", err)
	}
}

// ring is x′ᵢ = xᵢ₋₁ − xᵢ on a ring: its band is as wide as its matrix. calls counts F.
func ring(d int, calls *int) *Problem {
	p := &Problem{Name: "ring", X0: make([]float64, d), Span: [2]float64{0, 1}, Autonomous: true}
	p.F = func(f []float64, _ float64, x, _ []float64) {
		*calls++
		for i := range f {
			f[i] = x[(i+d-1)%d] - x[i]
		}
	}
	p.FJ = func(f, _ []float64, t float64, x, theta []float64) { p.F(f, t, x, theta) }
	return p
}

// Thousands of sparse states: an explicit method answers without the Jacobian, and an
// implicit one refuses at once, with or without a wide Band. Where a matrix can be used, it
// is checked.
func TestManyStates(t *testing.T) {
	calls := 0
	for _, band := range []*Bandwidth{nil, {Lower: 1, Upper: 9999}} {
		p := ring(10000, &calls)
		p.Band = band
		calls = 0
		if _, err := Integrate(context.Background(), p, methods.RungeKutta{}, 1, Settings{StepSize: 0.25}); err != nil || calls > 400 { // the check of the band needs 246
			t.Errorf("RK4: %v after %d evaluations", err, calls)
		}
		if _, err := Integrate(context.Background(), p, adams.Moulton{}, 1, Settings{StepSize: 0.25}); err == nil || !strings.Contains(err.Error(), "10000 × 10000 elements is too large") {
			t.Errorf("AM0: %v", err)
		}
	}
	if _, err := Integrate(context.Background(), ring(500, &calls), methods.RungeKutta{}, 1, Settings{StepSize: 0.25}); err == nil || !strings.Contains(err.Error(), "FJ gives") {
		t.Errorf("FJ writes nothing: %v", err)
	}
}

// A panic of a function of the problem, wherever it is called, is an error that
// gives the place and the stack, and nothing else ends.
func TestPanicsAreErrors(t *testing.T) {
	base := func() *Problem {
		p := riccati()
		p.Theta = []float64{0.375}
		p.Start = func(x0, _ []float64) { x0[0] = 0.5 }
		p.Events = []Event{{Time: 0.625, Jump: func(x []float64, _ float64, _ []float64) { x[0] *= 0.9 }}, {When: lag(0)}}
		return p
	}
	boom := func(at, t float64) {
		if t >= at {
			panic("boom")
		}
	}
	changes := map[string]func(p *Problem, at float64){
		"F": func(p *Problem, at float64) {
			f := p.F
			p.F = func(dst []float64, t float64, x, theta []float64) { boom(at, t); f(dst, t, x, theta) }
		},
		"FJ": func(p *Problem, at float64) {
			f := p.FJ
			p.FJ = func(dst, j []float64, t float64, x, theta []float64) { boom(at, t); f(dst, j, t, x, theta) }
		},
		"Start": func(p *Problem, at float64) { p.Start = func([]float64, []float64) { panic("boom") } },
		"Jump":  func(p *Problem, at float64) { p.Events[0].Jump = func([]float64, float64, []float64) { panic("boom") } },
		"When":  func(p *Problem, at float64) { p.Events[1].When = func([]float64) float64 { panic("boom") } },
	}
	for name, change := range changes {
		for _, at := range []float64{0, 0.5} {
			for _, m := range []Method{adams.Moulton{}, adams.Moulton{Steps: 2, Linearize: adams.Predictor}} {
				p := base()
				change(p, at)
				for job, do := range map[string]func() error{
					"ensemble": func() error {
						_, err := Integrate(ctx(), p, m, 10, Settings{StepSize: 1. / 16, Alpha: 0.1})
						return err
					},
					"calibration": func() error {
						_, err := calibrate.Run(ctx(), p, m, calibrate.Settings{StepSize: 1. / 16})
						return err
					},
					"frozen grid": func() error {
						_, err := Integrate(ctx(), p, m, 10, Settings{Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-3}}, Alpha: 0.1})
						return err
					},
				} {
					err := do()
					var pe *PanicError
					if !errors.As(err, &pe) || pe.Value != "boom" || !strings.Contains(string(pe.Stack), "robust_test.go") {
						t.Errorf("%s, %v, %s: error %v", name, m, job, err)
						continue
					}
					text := err.Error()
					for _, want := range []string{"at t = ", "theta = [0.375]", "boom", "robust_test.go"} {
						if !strings.Contains(text, want) {
							t.Errorf("%s, %v, %s: no %q in %s", name, m, job, want, text)
						}
					}
					if at == 0.5 && (name == "F" || name == "FJ") && strings.Contains(text, "at t = 0,") {
						t.Errorf("%s, %v, %s: a panic at t = %g is said to be at the start", name, m, job, at)
					}
				}
			}
		}
	}
	// In the goroutines of an ensemble, only after the classical solution: a path
	// that fails is counted, the others stay.
	p := riccati()
	f := p.F
	p.F = func(dst []float64, t float64, x, theta []float64) {
		if x[0] > 1.0005 {
			panic("too large")
		}
		f(dst, t, x, theta)
	}
	e, err := Integrate(ctx(), p, adams.Bashforth{}, 200, Settings{StepSize: 1. / 16, Alpha: 1, Workers: 3})
	var pe *PanicError
	if err != nil || e.Failed == 0 || e.N == 0 || !errors.As(e.Failure, &pe) {
		t.Errorf("paths that panic: %v, %+v", err, e)
	}
}

// A context that ends is obeyed within a path: in the first classical one, in an
// error-controlled run, in the checks, in an indicator, and in the paths, with an
// F that takes 5 ms a call. A call may be made of a few more evaluations.
func TestContextEndsWithinAPath(t *testing.T) {
	slow := problems.FitzHughNagumo()
	slow.FJ = nil
	f := slow.F
	var from atomic.Int64 // evaluations before F is slow
	var calls atomic.Int64
	slow.F = func(dst []float64, t float64, x, theta []float64) {
		if calls.Add(1) > from.Load() {
			time.Sleep(5 * time.Millisecond)
		}
		f(dst, t, x, theta)
	}
	for _, m := range []Method{adams.Bashforth{Steps: 2}, adams.Moulton{}, methods.RungeKutta{}} {
		for _, late := range []int64{0, 500, 3000} {
			for name, do := range map[string]func(c context.Context) error{
				"ensemble": func(c context.Context) error {
					_, err := Integrate(c, slow, m, 1000, Settings{StepSize: 0.01, Alpha: 0.1})
					return err
				},
				"calibration": func(c context.Context) error {
					_, err := calibrate.Run(c, slow, m, calibrate.Settings{StepSize: 0.01})
					return err
				},
				"frozen grid": func(c context.Context) error {
					_, err := Setup{Method: m, Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-10}}}.Grid(c, slow, nil, nil)
					return err
				},
			} {
				from.Store(late)
				calls.Store(0)
				c, cancel := context.WithTimeoutCause(ctx(), 30*time.Millisecond, errors.New("enough"))
				var told atomic.Int64 // evaluations when the context ended
				context.AfterFunc(c, func() { told.Store(calls.Load()) })
				start := time.Now()
				err := do(c)
				over := calls.Load() - told.Load()
				cancel()
				if err == nil || !strings.Contains(err.Error(), "enough") {
					if took := time.Since(start); took > 30*time.Millisecond {
						t.Errorf("%v, %s: error %v", m, name, err)
					}
				}
				// 60 evaluations are the start and the checks of one point, and
				// each worker may be in the middle of a run of steps. They are
				// counted, since time says nothing on a busy machine.
				if most := int64(80 * runtime.GOMAXPROCS(0)); told.Load() > 0 && over > most {
					t.Errorf("%v, %s, slow after %d: stopped after %d more evaluations, want at most %d", m, name, late, over, most)
				}
			}
		}
	}
	// A Solver that was bound to a context that ended serves again when released.
	s := mustSolver(t, riccati(), methods.RungeKutta{}, 0.25, 0)
	c, cancel := context.WithCancel(ctx())
	release := s.Bind(c)
	clone := s.Clone()
	cancel()
	for !errors.Is(s.Solve(make([]float64, s.PathLen()), nil, nil), context.Canceled) {
		time.Sleep(time.Millisecond) // the end is told by a goroutine
	}
	if err := clone.Solve(make([]float64, s.PathLen()), nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a clone is not stopped: %v", err)
	}
	release()
	solve(t, s, nil)
}

// What a Problem promises and does not keep is found.
func TestBrokenPromises(t *testing.T) {
	line := func(p Problem) *Problem {
		p.X0, p.Span, p.Name = []float64{1}, [2]float64{0, 10}, "broken"
		return &p
	}
	wide := &Problem{Name: "broken", X0: make([]float64, 500), Span: [2]float64{0, 10}, Band: &Bandwidth{1, 1},
		F: func(f []float64, t float64, x, _ []float64) {
			for i := range f {
				f[i] = -x[i] + x[(i+7)%len(x)] + 1
			}
		}}
	later := func(t, from, v float64) float64 {
		if t > from {
			return v
		}
		return 0
	}
	for _, c := range []struct {
		name string
		p    *Problem
		want string
	}{
		{"autonomous", line(Problem{Autonomous: true, F: func(f []float64, t float64, x, _ []float64) { f[0] = math.Cos(t) - x[0] }}), "Autonomous is set, but f depends on t"},
		{"autonomous, later", line(Problem{Autonomous: true, F: func(f []float64, t float64, x, _ []float64) { f[0] = later(t, 6, 1) - x[0] }}), "Autonomous is set, but f depends on t"},
		{"Jacobian", line(Problem{F: func(f []float64, _ float64, x, _ []float64) { f[0] = -x[0] * x[0] },
			FJ: func(f, j []float64, _ float64, x, _ []float64) { f[0], j[0] = -x[0]*x[0], -2 }}), "FJ gives ∂f[0]/∂x[0] = -2 where"},
		{"f of FJ", line(Problem{F: func(f []float64, t float64, x, _ []float64) { f[0] = -x[0] },
			FJ: func(f, j []float64, t float64, x, _ []float64) { f[0], j[0] = -x[0]+later(t, 4, 0.1), -1 }}), "FJ gives f[0]"},
		{"adds", line(Problem{F: func(f []float64, _ float64, x, _ []float64) { f[0] += -x[0] }}), "F does not set dst[0]"},
		{"leaves", line(Problem{F: func(f []float64, t float64, x, _ []float64) {
			if t < 4 {
				f[0] = -x[0]
			}
		}}), "F does not set dst[0]"},
		{"band", func() *Problem {
			p := problems.Lorenz96(6)
			p.Band, p.FJ = &Bandwidth{1, 1}, nil
			return p
		}(), "outside Band (1, 1)"},
		{"wide band", wide, "outside Band (1, 1)"},
	} {
		for _, m := range []Method{adams.Moulton{Linearize: adams.Current}, adams.Bashforth{}} {
			if _, err := Integrate(ctx(), c.p, m, 1, Settings{StepSize: (c.p.Span[1] - c.p.Span[0]) / 100}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %v: error %v, want %q", c.name, m, err, c.want)
			}
		}
	}
}

// NaN of F and in θ is called that; absurd states are no success.
func TestNaNIsCalledThat(t *testing.T) {
	nan := math.NaN()
	field := func(from float64) *Problem {
		return &Problem{Name: "p", X0: []float64{1}, Theta: []float64{1}, Span: [2]float64{0, 1},
			F: func(f []float64, t float64, x, theta []float64) {
				if f[0] = -theta[0] * x[0]; t > from {
					f[0] = nan
				}
			}}
	}
	for _, m := range every() {
		for _, from := range []float64{-1, 0.52, 0.99} {
			if _, err := Integrate(ctx(), field(from), m, 1, Settings{StepSize: 1. / 32}); !errors.Is(err, ErrField) || !strings.Contains(err.Error(), "NaN") {
				// An explicit method may have no need of f at the end.
				if _, ok := m.(adams.Moulton); ok || from < 0.9 {
					t.Errorf("%v, NaN from t = %g on: error %v", m, from, err)
				}
			}
			if from > 0.9 {
				continue
			}
			if _, err := (Setup{Method: m, Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-3}}}).Grid(ctx(), field(from), nil, nil); err == nil {
				t.Errorf("%v, NaN from t = %g on: a grid", m, from)
			}
		}
		s := mustSolver(t, field(2), m, 1./32, 0)
		z := make([]float64, s.PathLen())
		if err := s.Solve(z, []float64{nan}, nil); !errors.Is(err, ErrParameter) {
			t.Errorf("%v: NaN in θ: %v", m, err)
		}
		_, implicit := m.(adams.Moulton)
		if err := s.Solve(z, []float64{-1e7}, nil); err == nil && !implicit { // grows by 3e5 in a step
			t.Errorf("%v: a path at %g is a success", m, z[len(z)-1])
		}
	}
	p := field(2)
	p.X0 = []float64{1e152}
	if _, err := Integrate(ctx(), p, methods.RungeKutta{}, 1, Settings{StepSize: 0.25}); !errors.Is(err, ErrStart) {
		t.Errorf("a start at 1e152: %v", err)
	}
	p = field(2)
	p.Events = []Event{{Name: "dose", Time: 0.5, Jump: func(x []float64, _ float64, _ []float64) { x[0] = nan }}}
	if _, err := Integrate(ctx(), p, methods.RungeKutta{}, 1, Settings{StepSize: 0.25}); !errors.Is(err, ErrDiverged) || !strings.Contains(err.Error(), "dose") {
		t.Errorf("NaN after a dose: %v", err)
	}
}

// The checks raise no false alarm: on all problems of the module, on kinks, on
// inputs with their events, in large and small units, and at states of zero.
func TestNoFalseAlarms(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	list := problems.All()
	kink := func(name string, f func(x float64) (v, slope float64)) *Problem {
		return &Problem{Name: name, X0: []float64{0, -0.01}, Span: [2]float64{0, 1},
			F: func(dst []float64, _ float64, x, _ []float64) {
				a, _ := f(x[0])
				b, _ := f(x[1])
				dst[0], dst[1] = a, 0.02+b
			},
			FJ: func(dst, j []float64, _ float64, x, _ []float64) {
				a, ja := f(x[0])
				b, jb := f(x[1])
				dst[0], dst[1], j[0], j[3] = a, 0.02+b, ja, jb
			}}
	}
	list = append(list,
		kink("max(x, 0)", func(x float64) (float64, float64) {
			if x > 0 {
				return x, 1
			}
			return 0, 0
		}),
		kink("|x|", func(x float64) (float64, float64) { return math.Abs(x), math.Copysign(1, x) }),
		kink("saturation", func(x float64) (float64, float64) {
			if math.Abs(x) < 0.005 {
				return 200 * x, 200
			}
			return math.Copysign(1, x), 0
		}))
	u := Infusion(3, 0.2, 0.6)
	list = append(list, &Problem{Name: "infusion", X0: []float64{0}, Span: [2]float64{0, 1}, Events: u.Events(),
		F:  func(f []float64, t float64, x, _ []float64) { f[0] = u.At(t) - x[0] },
		FJ: func(f, j []float64, t float64, x, _ []float64) { f[0], j[0] = u.At(t)-x[0], -1 }})
	for _, unit := range []float64{1e-12, 1e-6, 1, 1e6, 1e12} {
		for _, rate := range []float64{1e-9, 1, 1e6} {
			// Michaelis and Menten's elimination, from zero and from elsewhere, in
			// the given units of the state and of time.
			for _, x0 := range []float64{0, 1e-4, 3} {
				p := &Problem{Name: fmt.Sprintf("in units of %g, at a rate of %g, from %g", unit, rate, x0), X0: []float64{x0 * unit, 0, 0}, Span: [2]float64{0, 1 / rate},
					F: func(f []float64, _ float64, x, _ []float64) {
						v := rate * x[0] / (unit + x[0]) * unit
						f[0], f[1], f[2] = -v, v-rate*x[1], rate*x[1]*x[1]/unit
					},
					FJ: func(f, j []float64, _ float64, x, _ []float64) {
						v := rate * x[0] / (unit + x[0]) * unit
						f[0], f[1], f[2] = -v, v-rate*x[1], rate*x[1]*x[1]/unit
						w := rate * unit * unit / (unit + x[0]) / (unit + x[0])
						j[0], j[3], j[4], j[7] = -w, w, -rate, 2*rate*x[1]/unit
					}}
				list = append(list, p)
			}
		}
	}
	for _, p := range list {
		h := (p.Span[1] - p.Span[0]) / 4096
		for _, m := range []Method{adams.Bashforth{}, adams.Moulton{Steps: 1}} {
			_, err := Integrate(ctx(), p, m, 1, Settings{StepSize: h})
			if err != nil && !errors.Is(err, ErrDiverged) && !errors.Is(err, ErrNewton) { // stiff ones may
				t.Errorf("%s, %v: %v", p.Name, m, err)
			}
		}
	}
}

// What a user's functions do to their goroutines is an error of one line, and leaves no
// goroutine behind: Goexit in F, in one path or in all, and a panic in Progress.
func TestFunctionsThatEndTheirGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for name, c := range map[string]struct {
		f    func(x []float64)
		hook func(done, total int)
		want string
	}{
		"one path":      {func(x []float64) { exitIf(x[0] > 1.0005) }, nil, "runtime.Goexit"},
		"most paths":    {func(x []float64) { exitIf(x[0] < 0.499) }, nil, "runtime.Goexit"},
		"hook":          {func([]float64) {}, func(int, int) { panic("a\nhook") }, "robust_test.go line "},
		"hook, the end": {func([]float64) {}, func(done, total int) { panicIf(done == total) }, "robust_test.go line "},
	} {
		p := riccati()
		f := p.F
		p.F = func(dst []float64, t float64, x, theta []float64) { c.f(x); f(dst, t, x, theta) }
		for _, workers := range []int{1, 3} {
			_, err := Integrate(ctx(), p, adams.Bashforth{}, 200, Settings{StepSize: 1. / 16, Alpha: 1, Workers: workers, Progress: c.hook})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s, %d workers: error %v", name, workers, err)
			}
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, and %d before", runtime.NumGoroutine(), before)
}

func exitIf(c bool) {
	if c {
		runtime.Goexit()
	}
}

func panicIf(c bool) {
	if c {
		panic("hook")
	}
}

// A method whose fields are out of range is an error wherever a method is taken.
func TestMethodsOutOfRange(t *testing.T) {
	p := riccati()
	for _, m := range []Method{adams.Bashforth{Steps: 99}, adams.Bashforth{Steps: -1}, adams.Moulton{Steps: 99}, adams.Moulton{Steps: 5, Linearize: adams.Predictor}} {
		for _, s := range []Settings{{StepSize: 1. / 16}, {Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-3}}}} {
			_, err := Integrate(ctx(), p, m, 10, s)
			if err == nil || !strings.Contains(err.Error(), "the number of steps is ") {
				t.Errorf("Integrate, %#v: error %v", m, err)
			}
			_, err = calibrate.Run(ctx(), p, m, calibrate.Settings{StepSize: s.StepSize, Mesh: s.Mesh})
			if err == nil || !strings.Contains(err.Error(), "the number of steps is ") {
				t.Errorf("calibrate, %#v: error %v", m, err)
			}
		}
	}
}

// A grid whose times would be rounded to multiples of a large part of the step is refused by
// every mesh of a given step; all meshes with error control refuse it or are right. The exact
// solution at the end is e⁻².
func TestStepsNearRounding(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		start, length, h float64
		ok               bool
	}{
		{1e9, 1e-5, 1e-8, false}, {1e15, 2, 0.1, false}, {1.7e18, 1e4, 100, false}, {-1e15, 2, 0.1, false},
		{1.7e9, 1, 1e-3, true}, {1.7e9, 1, 2e-5, true}, {1e15, 1e4, 10, true},
	} {
		end := c.start + c.length
		rate := 2 / (end - c.start)
		for _, events := range [][]Event{nil, {{Time: c.start + c.length/2}}} {
			p := &Problem{X0: []float64{1}, Span: [2]float64{c.start, end}, Events: events, F: func(dst []float64, _ float64, x, _ []float64) { dst[0] = -rate * x[0] }}
			dp5 := methods.RungeKutta{Tableau: methods.DormandPrince}
			for _, m := range []Mesh{Uniform(c.h), Through(c.h), Frozen{Tolerance: Tolerance{Relative: 1e-6}}, Adaptive{Tolerance: Tolerance{Relative: 1e-6}}, reference.Accurate{}} {
				path, err := Setup{Method: dp5, Mesh: m}.Bind(ctx, p, nil, []float64{end})
				x := []float64{0}
				if err == nil {
					err = path.States(ctx, x, nil, nil)
				}
				given := m == Mesh(Uniform(c.h)) || m == Mesh(Through(c.h))
				switch {
				case c.ok && err != nil:
					t.Errorf("%v, %v: %v", c, m, err)
				case err == nil && math.Abs(x[0]-math.Exp(-2)) > 1e-5:
					t.Errorf("%v, %v: x is %g, want e⁻²", c, m, x[0])
				case given && !c.ok && (err == nil || !strings.Contains(err.Error(), "64 times the distance between floating-point numbers")):
					t.Errorf("%v, %v: the error is %v", c, m, err)
				}
			}
		}
	}
}

// An F that does not set dst, a span whose length overflows and a negative number of tasks.
func TestRefusedNonsense(t *testing.T) {
	ctx := context.Background()
	silent := &Problem{X0: []float64{1, 2}, Span: [2]float64{0, 1}, F: func(dst []float64, _ float64, _, _ []float64) { dst[0] = 1 }}
	if _, err := reference.Solve(ctx, silent, []float64{1}, reference.Settings{}); err == nil || !strings.Contains(err.Error(), "dst[1] is not set by F") {
		t.Errorf("reference.Solve: %v", err)
	}
	setup := Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: Adaptive{Tolerance: Tolerance{Relative: 1e-3}}}
	if _, err := setup.Bind(ctx, silent, nil, []float64{1}); err == nil || !strings.Contains(err.Error(), "dst[1] is not set by F") {
		t.Errorf("Adaptive: %v", err)
	}
	for _, span := range [][2]float64{{-1e308, 1e308}, {0, 1e308}, {1e200, 2e200}, {0, math.Inf(1)}} {
		p := &Problem{X0: []float64{1}, Span: span, F: func(dst []float64, _ float64, _, _ []float64) { dst[0] = 0 }}
		_, err := reference.Solve(ctx, p, span[1:], reference.Settings{})
		_, other := Integrate(ctx, p, methods.RungeKutta{}, 1, Settings{StepSize: 1e307})
		if err == nil || other == nil || !strings.Contains(err.Error(), "Span is") || !strings.Contains(other.Error(), "Span is") {
			t.Errorf("the span %v: %v, %v", span, err, other)
		}
	}
	if err := Ordered(ctx, -1, 2, func(_, _ int) int { return 0 }, func(int) { t.Error("committed") }); err != nil {
		t.Error(err)
	}
}
