package reference

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// Doses with a lag that is a parameter, seen before and after, and an input
// whose f asks for the side of a time.
func TestEvents(t *testing.T) {
	const k = 0.8
	p := &probode.Problem{
		Name: "events",
		F: func(dst []float64, t float64, x, theta []float64) {
			dst[0] = -k * x[0]
			if t == theta[0]+1 || t == 3 {
				panic("f is asked at the time of an event")
			}
			if t > 3 {
				dst[0] += 2
			}
		},
		X0: []float64{1}, Span: [2]float64{0, 5}, Theta: []float64{0.25},
		Events: []probode.Event{
			{Name: "input", Time: 3},
			{Name: "dose", When: func(theta []float64) float64 { return theta[0] + 1 },
				Jump: func(x []float64, _ float64, _ []float64) { x[0] += 5 }},
			{Name: "never", Time: 7, Jump: func(x []float64, _ float64, _ []float64) { x[0] = math.NaN() }},
		},
	}
	exact := func(lag float64, after bool) func(t float64) []float64 {
		return func(t float64) []float64 {
			x := math.Exp(-k * t)
			if t > lag+1 || t == lag+1 && after {
				x += 5 * math.Exp(-k*(t-lag-1))
			}
			if t > 3 {
				x -= 2 / k * math.Expm1(-k*(t-3))
			}
			return []float64{x}
		}
	}
	for _, lag := range []float64{0.25, 1, 1.9999, 2, 2.5, 3.99, 4} {
		for _, after := range []bool{false, true} {
			for _, s := range []Settings{{}, {Tolerance: relative(1e-6)}, {fixed: implicit}, {Tolerance: relative(1e-8), Global: true}} {
				p.Events[1].SeenAfter = after
				s.Theta = []float64{lag}
				times := []float64{0, lag + 1, 5}
				if lag < 2 {
					times = []float64{0, lag + 1, 3, 5}
				} else if lag == 4 {
					times = []float64{0, 3, 5}
				}
				if err := judge(t, "events", p, times, s, exact(lag, after)); err != nil {
					t.Error(err)
				}
			}
		}
	}
	// Dose at the very start and at the very end; two at once in their order.
	p = problems.Logistic()
	p.F = func(dst []float64, _ float64, _, _ []float64) { dst[0] = 1 }
	p.FJ = nil
	double := func(x []float64, _ float64, _ []float64) { x[0] *= 2 }
	add := func(x []float64, _ float64, _ []float64) { x[0] += 1 }
	p.Events = []probode.Event{{Time: 0, Jump: double}, {Time: 1, Jump: add}, {Time: 1, Jump: double}, {Time: 2, Jump: add, SeenAfter: true}}
	r := accurate(t, p, []float64{0, 1, 1.5, 2}, Settings{})
	for i, want := range []float64{0.1, 1.2, 4.9, 6.4} {
		if math.Abs(r.X[i]-want) > 1e-14 {
			t.Errorf("x(%g) = %.16g, want %.16g", r.Times[i], r.X[i], want)
		}
	}
}

// The true error of a solver is that before and after events, also where they
// have moved.
func TestTrueError(t *testing.T) {
	p := problems.LotkaVolterra()
	p.Events = []probode.Event{
		{When: func(theta []float64) float64 { return 2 * theta[0] }, Jump: func(x []float64, _ float64, _ []float64) { x[0] += 1 }},
		{Time: 6, Jump: func(x []float64, _ float64, _ []float64) { x[1] /= 2 }},
	}
	var last float64
	for _, h := range []float64{0.1, 0.05} {
		g, err := probode.UniformGrid(p, nil, h)
		if err != nil {
			t.Fatal(err)
		}
		s, err := probode.NewSolver(p, methods.RungeKutta{}, g, 0)
		if err != nil {
			t.Fatal(err)
		}
		theta := slices.Clone(p.Theta)
		theta[0] = 1.6
		e, err := TrueError(Settings{})(context.Background(), s, theta)
		if err != nil {
			t.Fatal(err)
		}
		if len(e.E) != s.PathLen() || len(e.Accuracy) != len(e.E) {
			t.Fatalf("%d errors, %d accuracies: want %d", len(e.E), len(e.Accuracy), s.PathLen())
		}
		worst := vector.MaxAbs(e.E)
		if last > 0 && !(last/worst > 11 && last/worst < 24) {
			t.Errorf("errors %g and %g: want a ratio of about 16", last, worst)
		}
		last = worst
	}
}

// A context that ends is obeyed within a step, a panic is an error, a NaN is
// called one, and what does not fit is refused.
func TestTrouble(t *testing.T) {
	slow := problems.Lorenz63()
	f := slow.F
	slow.FJ = nil
	slow.F = func(dst []float64, t float64, x, theta []float64) {
		time.Sleep(20 * time.Millisecond)
		f(dst, t, x, theta)
	}
	for _, s := range []Settings{{}, {fixed: implicit}} {
		synctest.Test(t, func(t *testing.T) { // in which only a sleep takes time
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			begin := time.Now()
			_, err := Solve(ctx, slow, []float64{20}, s)
			// One call of f may be under way; a step would be 30 of them.
			if d := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || d > 100*time.Millisecond {
				t.Errorf("family %d: error %v after %v", s.fixed, err, d)
			}
		})
	}

	bad := func(f func(dst, x []float64)) *probode.Problem {
		return &probode.Problem{Name: "trouble", X0: []float64{1}, Span: [2]float64{0, 2}, Theta: []float64{7},
			F: func(dst []float64, _ float64, x, _ []float64) { f(dst, x) }}
	}
	_, err := Solve(context.Background(), bad(func(dst, x []float64) {
		if x[0] > 1.5 {
			panic("out of range")
		}
		dst[0] = 1
	}), []float64{2}, Settings{})
	var p *probode.PanicError
	if !errors.As(err, &p) || p.Value != "out of range" || len(p.Stack) == 0 || !strings.Contains(err.Error(), "theta = [7]") {
		t.Errorf("a panic in F: error %v", err)
	}
	_, err = Solve(context.Background(), bad(func(dst, x []float64) { dst[0] = math.Sqrt(1.5-x[0]) + 1 }), []float64{2}, Settings{})
	if !errors.Is(err, probode.ErrField) || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("NaN from F: error %v", err)
	}
	// At rest at the edge of the domain of F, where there is no Jacobian.
	rest := bad(func(dst, x []float64) { dst[0] = math.Sqrt(1 - x[0]*x[0]) })
	if r, err := Solve(context.Background(), rest, []float64{2}, Settings{}); err != nil || r.X[0] != 1 {
		t.Errorf("at rest at the edge of the domain: %v, %v", r, err)
	}

	logistic := problems.Logistic()
	for name, s := range map[string]Settings{
		"relative tolerance is": {Tolerance: relative(math.NaN())},
		"absolute tolerance is": {Tolerance: probode.Tolerance{Relative: 1e-6, Absolute: []float64{-1}}},
		"one for each of the 1": {Tolerance: probode.Tolerance{Relative: 1e-6, Absolute: []float64{1, 2}}},
		"MaxStep is":            {MaxStep: -1},
		"MaxSteps is":           {MaxSteps: -1},
		"parameter r is NaN":    {Theta: []float64{math.NaN(), 1}},
		"1 parameters: want 2":  {Theta: []float64{1}},
	} {
		if _, err := Solve(context.Background(), logistic, []float64{1}, s); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: error %v: want one that says %q", s, err, name)
		}
	}
	if _, err := Solve(context.Background(), nil, nil, Settings{}); err == nil {
		t.Error("a nil problem is no error")
	}
}
