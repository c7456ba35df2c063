package reference

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
)

// Inputs that begin at a time which is no event take a state away from exactly zero. No
// error of the state has a size to be compared with there, and none is refused for it.
// The solutions are known; the claimed errors hold, and are small where f is continuous.
func TestInputsFromZero(t *testing.T) {
	const end = 2.0
	for name, c := range map[string]struct {
		f     func(t, x, c float64) float64
		exact func(c float64) float64
		claim float64
	}{
		"ramp":        {func(t, _, c float64) float64 { return max(0, t-c) }, func(c float64) float64 { return (end - c) * (end - c) / 2 }, 1e-7},
		"cube":        {func(t, _, c float64) float64 { return math.Pow(max(0, t-c), 3) }, func(c float64) float64 { return math.Pow(end-c, 4) / 4 }, 1e-7},
		"root":        {func(t, _, c float64) float64 { return math.Sqrt(max(0, t-c)) }, func(c float64) float64 { return math.Pow(end-c, 1.5) / 1.5 }, 1e-7},
		"washed out":  {func(t, x, c float64) float64 { return step(t-c) - x }, func(c float64) float64 { return -math.Expm1(c - end) }, 1e-7},
		"stiff":       {func(t, x, c float64) float64 { return 1e4 * (max(0, t-c) - x) }, func(c float64) float64 { return end - c - 1e-4*-math.Expm1(-1e4*(end-c)) }, 1e-7},
		"stairs":      {func(t, _, c float64) float64 { return math.Floor(t / c) }, stairs, 0.1},
		"growing out": {func(t, x, c float64) float64 { return max(0, t-c) + x }, func(c float64) float64 { return math.Expm1(end-c) - (end - c) }, 1e-7},
	} {
		for _, at := range []float64{0.3, 0.5, 0.70710678118, 1.9} {
			for _, relative := range []float64{0, 1e-8, 1e-6} {
				for _, start := range []float64{0, 1900} {
					what := fmt.Sprintf("%s from %g, relative tolerance %g, span from %g", name, at, relative, start)
					p := &probode.Problem{X0: []float64{0, 0}, Span: [2]float64{start, start + end},
						F: func(dst []float64, t float64, x, _ []float64) { dst[0], dst[1] = c.f(t-start, x[0], at), x[0]-x[1] }}
					s, err := Solve(context.Background(), p, []float64{start + end}, Settings{Tolerance: probode.Tolerance{Relative: relative}})
					if err != nil {
						t.Errorf("%s: %v", what, err)
						continue
					}
					want := c.exact(at)
					off := math.Abs(s.X[0] - want)
					// t − 1900 is exact to 2.3e-13 only.
					if off > s.Error[0]+1e-12*start/1900 || start == 0 && relative <= 1e-8 && s.Error[0] > c.claim {
						t.Errorf("%s: %.15g ± %.2g, want %.15g", what, s.X[0], s.Error[0], want)
					}
				}
			}
		}
	}
}

func step(t float64) float64 {
	if t < 0 {
		return 0
	}
	return 1
}

func stairs(c float64) float64 {
	n := math.Floor(2 / c)
	return c*n*(n-1)/2 + (2-n*c)*n
}

// A pulse that begins at t₀ or with an event, however short, is not overlooked, whether the
// state is zero or not. Its dose is 1. In x′ = u(t) − x with u = c (1 − e^{−t/a}) e^{−t/b}, each exponential of u adds
// the solution of x′ = e^{−βt} − x, which is (e^{−βt} − e^{−t})/(1 − β).
func TestPulseAtTheStart(t *testing.T) {
	decay := func(t, rate float64) float64 { return (math.Exp(-rate*t) - math.Exp(-t)) / (1 - rate) }
	for _, start := range []float64{0, 2} {
		for _, b := range []float64{0.1, 1e-3, 1e-5, 1e-7, 1e-9} {
			for i, a := range []float64{0.1 * b, b, 10 * b, 0.1 * b, b, 10 * b} {
				slow, fast := 1/b, 1/a+1/b
				c := 1 / (b - 1/fast)
				x0 := float64(i % 2)
				p := &probode.Problem{X0: []float64{x0, 0}, Span: [2]float64{0, 5}, Events: []probode.Event{{Time: start}},
					F: func(dst []float64, t float64, x, _ []float64) {
						dst[0], dst[1] = -x[0], x[0]-x[1]
						if since := t - start; since > 0 {
							dst[0] += c * -math.Expm1(-since/a) * math.Exp(-since/b)
						}
					}}
				for _, s := range []Settings{{}, {Tolerance: relative(1e-6)}, {fixed: explicit}, {fixed: implicit}} {
					exact := func(t float64) []float64 {
						return []float64{x0*math.Exp(-t) + c*(decay(t-start, slow)-decay(t-start, fast))}
					}
					// Times near an event at 2 are known to 4e-16 only, which is all of the
					// pulse if b is 1e-9 or less.
					if start > 0 && b < 1e-6 {
						continue
					}
					if err := judge(t, fmt.Sprintf("pulse from %g, a = %g, b = %g, %+v", start, a, b, s), p, []float64{3, 5}, s, exact); err != nil {
						t.Errorf("pulse from %g, a = %g, b = %g, %+v: %v", start, a, b, s, err)
					}
				}
			}
		}
	}
}

// Tolerances for the global error hold at each of many times over twelve decades.
func TestRobertsonToTheEnd(t *testing.T) {
	p := &probode.Problem{Name: "Robertson", X0: []float64{1, 0, 0}, Span: [2]float64{0, 1e11}, Autonomous: true,
		F: func(f []float64, _ float64, x, _ []float64) {
			a, b, c := 0.04*x[0], 1e4*x[1]*x[2], 3e7*x[1]*x[1]
			f[0], f[1], f[2] = b-a, a-b-c, c
		}}
	var times []float64
	for at := 0.4; at < 1e11; at *= 10 {
		times = append(times, at)
	}
	times = append(times, 1e11)
	// The usual published solution, good to four digits of each component.
	want := [][]float64{0: {0.98517, 3.3864e-5, 0.014794}, 12: {2.0833e-8, 8.3333e-14, 1}}
	for _, tol := range [][2]float64{{1e-7, 1e-16}, {1e-9, 1e-12}, {1e-6, 1e-12}} {
		s, err := Solve(context.Background(), p, times, Settings{Global: true, Tolerance: probode.Tolerance{Relative: tol[0], Absolute: []float64{tol[1]}}})
		if err != nil {
			t.Errorf("%v: %v", tol, err)
			continue
		}
		for i, x := range s.X {
			if s.Error[i] > tol[0]*math.Abs(x)+tol[1] {
				t.Errorf("%v: ±%g for %g", tol, s.Error[i], x)
			}
			if w := want[min(i/3, 12)]; (i < 3 || i >= 36) && math.Abs(x-w[i%3]) > 1e-4*w[i%3] {
				t.Errorf("%v at %g: %g, want %g", tol, times[i/3], x, w[i%3])
			}
		}
	}
}

// An absolute tolerance lets a component that is almost gone lose its digits, which
// says nothing about the others: y₁ here is 2e-8 at the end.
func TestAbsoluteToleranceOfAFadedComponent(t *testing.T) {
	for _, tol := range [][2]float64{{1e-7, 1e-13}, {1e-8, 1e-13}} {
		s, err := Solve(context.Background(), until(problems.Robertson(), 1e11), []float64{1e11}, Settings{Global: true, Tolerance: probode.Tolerance{Relative: tol[0], Absolute: []float64{tol[1]}}})
		if err != nil {
			t.Errorf("%v: %v", tol, err)
			continue
		}
		for k, want := range []float64{0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050} {
			if permitted := tol[0]*want + tol[1]; math.Abs(s.X[k]-want) > permitted {
				t.Errorf("%v: y%d is %g: want %g ± %g", tol, k+1, s.X[k], want, permitted)
			}
		}
	}
}

// Components that begin at zero and stay far below the others, with terms in f that
// cancel, as in mechanics from rest.
func TestFromRest(t *testing.T) {
	pendulum := func(a, b float64) *probode.Problem {
		return &probode.Problem{Name: "double pendulum", X0: []float64{a, b, 0, 0}, Span: [2]float64{0, 3}, Autonomous: true,
			F: func(f []float64, _ float64, x, _ []float64) {
				const g = 9.81
				sin, cos := math.Sincos(x[0] - x[1])
				over := 1 / (2 - cos*cos)
				f[0], f[1] = x[2], x[3]
				f[2] = over * (-2*g*math.Sin(x[0]) + g*cos*math.Sin(x[1]) - sin*(x[3]*x[3]+x[2]*x[2]*cos))
				f[3] = over * (2*(g*math.Sin(x[0])*cos-g*math.Sin(x[1])+x[2]*x[2]*sin) + x[3]*x[3]*sin*cos)
			}}
	}
	// The last of a chain of masses feels the first by t⁸ only.
	chain := &probode.Problem{Name: "chain", X0: []float64{1, 0, 0, 0, 0, 0, 0, 0}, Span: [2]float64{0, 3}, Autonomous: true,
		F: func(f []float64, _ float64, x, _ []float64) {
			for i := range 4 {
				left, right := 0., 0.
				if i > 0 {
					left = x[i-1]
				}
				if i < 3 {
					right = x[i+1]
				}
				f[i], f[4+i] = x[4+i], (left-x[i])+(right-x[i])
			}
		}}
	for _, p := range []*probode.Problem{pendulum(math.Pi/2, math.Pi/2), pendulum(1, 1), pendulum(-0.3, -0.3), chain} {
		loose, err := Solve(t.Context(), p, []float64{1, 3}, Settings{Tolerance: relative(1e-9), MaxSteps: 5000})
		if err != nil {
			t.Error(err)
			continue
		}
		tight, err := Solve(t.Context(), p, []float64{1, 3}, Settings{MaxSteps: 5000})
		if err != nil {
			t.Error(err)
			continue
		}
		for i, x := range tight.X {
			if off := math.Abs(x - loose.X[i]); off > loose.Error[i]+tight.Error[i] || tight.Error[i] > 1e-9*(1+math.Abs(x)) {
				t.Errorf("%s: %g ± %.2g, and with a loose tolerance %g ± %.2g", p.Name, x, tight.Error[i], loose.X[i], loose.Error[i])
			}
		}
	}
}
