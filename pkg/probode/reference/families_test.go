package reference

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
)

// judge solves p at times and compares with the exact solution: the error is
// below the claim, or it is an error. It returns the error, if there was one.
func judge(t *testing.T, name string, p *probode.Problem, times []float64, s Settings, exact func(t float64) []float64) error {
	t.Helper()
	r, err := Solve(context.Background(), p, times, s)
	if err != nil {
		return err
	}
	d := p.Dim()
	for i, at := range times {
		for k, want := range exact(at) {
			// The exact solution itself is rounded.
			if got := r.X[i*d+k]; !(math.Abs(got-want) <= r.Error[i*d+k]+8e-16*math.Abs(want)) {
				t.Errorf("%s: x[%d](%.9g) = %.17g, want %.17g: error %.3g above the claimed %.3g", name, k, at, got, want, math.Abs(got-want), r.Error[i*d+k])
			}
		}
	}
	return nil
}

// A state that is zero, and stays so or begins to move with a dose.
func TestZeroStart(t *testing.T) {
	decay := &probode.Problem{
		Name: "decay",
		F:    func(dst []float64, _ float64, x, _ []float64) { dst[0] = -x[0] },
		X0:   []float64{0}, Span: [2]float64{0, 5},
	}
	for _, s := range []Settings{{}, {Tolerance: relative(1e-6)}, {Tolerance: relative(1e-10), Global: true}, {fixed: implicit}, {Tolerance: probode.Tolerance{Absolute: []float64{1e-9}}}} {
		if err := judge(t, "decay", decay, []float64{0, 1, 5}, s, func(float64) []float64 { return []float64{0} }); err != nil {
			t.Error(err)
		}
	}
	dosed := *decay
	dosed.Events = probode.Doses(0, 2, 1.5)
	for _, s := range []Settings{{}, {Tolerance: relative(1e-6)}, {Tolerance: relative(1e-10), Global: true}} {
		err := judge(t, "dosed", &dosed, []float64{0, 1, 1.5, 2, 5}, s, func(t float64) []float64 {
			if t <= 1.5 {
				return []float64{0}
			}
			return []float64{2 * math.Exp(1.5-t)}
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// x′ = −sign(x) comes to rest at 0 after |x₀|: no step there is short enough,
// and chance agreements of the rows must not hide that.
func TestSign(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	sign := map[string]func(x float64) float64{
		"sign(0) = 1": func(x float64) float64 { return math.Copysign(1, x) },
		"sign(0) = 0": func(x float64) float64 {
			if x == 0 {
				return 0
			}
			return math.Copysign(1, x)
		},
	}
	for name, sign := range sign {
		errs, honest := 0, 0
		for range 300 {
			x0 := 2 * rng.Float64()
			if rng.IntN(2) == 0 {
				x0 = math.Round(16*x0) / 16 // substeps hit 0 exactly
			}
			p := &probode.Problem{
				Name:       "sign",
				F:          func(dst []float64, _ float64, x, _ []float64) { dst[0] = -sign(x[0]) },
				X0:         []float64{x0},
				Span:       [2]float64{0, 2},
				Autonomous: rng.IntN(2) == 0,
			}
			s := Settings{Tolerance: relative(math.Pow(10, -14+10*rng.Float64())), MaxSteps: 1500}
			switch rng.IntN(3) {
			case 0:
				s.Absolute = []float64{math.Pow(10, -12+9*rng.Float64())}
			case 1:
				s.fixed = family(rng.IntN(3))
			}
			err := judge(t, fmt.Sprintf("%s, x0 = %.17g, rtol %.3g, atol %.3g, family %d, autonomous %t", name, x0, s.Relative, s.Absolute, s.fixed, p.Autonomous), p, []float64{0.5, 1, 2}, s, func(t float64) []float64 {
				return []float64{max(0, x0-t)}
			})
			if err != nil {
				errs++
			} else {
				honest++
			}
		}
		// With an absolute tolerance the end is found now and then.
		if errs < 200 {
			t.Errorf("%s: %d errors and %d solutions: how are these known?", name, errs, honest)
		}
	}
}

// Where f has kinks and jumps that the solution crosses the error is known, or
// it is an error: a force that only changes its sign, and a rate with a bend.
func TestKinks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	bang := func(dst []float64, _ float64, x, _ []float64) { dst[0], dst[1] = x[1], -math.Copysign(1, x[0]) }
	bend := func(dst []float64, _ float64, x, _ []float64) { dst[0] = math.Abs(x[0]) - 1 }
	for range 60 {
		s := Settings{Tolerance: relative(math.Pow(10, -14+10*rng.Float64()))}
		a := rng.Float64()
		quarter := math.Sqrt(2 * a) // of a period; arcs are parabolas
		p := &probode.Problem{Name: "bang", F: bang, X0: []float64{a, 0}, Span: [2]float64{0, 3}, Autonomous: true}
		_ = judge(t, fmt.Sprintf("bang from %g, %v", a, s.Tolerance), p, []float64{1, 2, 3}, s, func(t float64) []float64 {
			switch t = math.Mod(t, 4*quarter); {
			case t <= quarter:
				return []float64{a - t*t/2, -t}
			case t <= 3*quarter:
				u := t - 2*quarter
				return []float64{-a + u*u/2, u}
			}
			u := t - 4*quarter
			return []float64{a - u*u/2, -u}
		})
		p = &probode.Problem{Name: "bend", F: bend, X0: []float64{a}, Span: [2]float64{0, 3}, Autonomous: rng.IntN(2) == 0}
		zero := -math.Log1p(-a)
		err := judge(t, fmt.Sprintf("bend from %g, %v", a, s.Tolerance), p, []float64{0.5, 3}, s, func(t float64) []float64 {
			if t <= zero {
				return []float64{1 - (1-a)*math.Exp(t)}
			}
			return []float64{math.Expm1(zero - t)}
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// A pulse in f that is not an event is found if it is larger than a thousandth
// of the span: the answer is right, or an error says that f jumps.
func TestPulse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	for n := range 60 {
		start, width, height := 3.0, 0.01, 100.0
		if n > 0 {
			start, width, height = 9*rng.Float64(), 0.01*(1+20*rng.Float64()), math.Pow(10, -2+5*rng.Float64())
		}
		end := start + width
		p := &probode.Problem{
			Name: "pulse",
			F: func(dst []float64, t float64, x, _ []float64) {
				dst[0] = -x[0]
				if t >= start && t < end {
					dst[0] += height
				}
			},
			X0: []float64{1}, Span: [2]float64{0, 10},
		}
		s := Settings{}
		if n%2 == 1 {
			s.Tolerance = relative(math.Pow(10, -10+6*rng.Float64()))
		}
		exact := func(t float64) []float64 {
			x := math.Exp(-t)
			if t > start {
				x += height * math.Exp(start-t) * math.Expm1(min(t, end)-start)
			}
			return []float64{x}
		}
		err := judge(t, fmt.Sprintf("pulse of %g on [%g, %g], rtol %g", height, start, end, s.Relative), p, []float64{4, 10}, s, exact)
		// As events it is solved.
		p.Events = []probode.Event{{Time: start}, {Time: end}}
		if err := judge(t, "pulse with events", p, []float64{4, 10}, s, exact); err != nil {
			t.Error(err)
		}
		if n == 0 && (err == nil || !strings.Contains(err.Error(), "f may jump")) {
			t.Errorf("a pulse that is not an event: error %v: want one that says that f jumps", err)
		}
	}
}

// Boluses of short width in y′ = input − k y, given as events.
func TestBolus(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, width := range []float64{0.7, 0.1, 0.02, 0.002} {
		for range 20 {
			k := math.Pow(10, -1+2*rng.Float64())
			starts := []float64{rng.Float64(), 1 + 2*rng.Float64()}
			const dose = 5.0
			p := &probode.Problem{Name: "bolus", X0: []float64{0}, Span: [2]float64{0, 4}, Theta: []float64{k}}
			var in []*probode.Input
			for _, at := range starts {
				u := probode.Infusion(dose/width, at, at+width)
				in = append(in, u)
				p.Events = append(p.Events, u.Events()...)
			}
			p.F = func(dst []float64, t float64, x, theta []float64) {
				dst[0] = in[0].At(t) + in[1].At(t) - theta[0]*x[0]
			}
			exact := func(t float64) []float64 {
				var x float64
				for _, at := range starts {
					if end := min(t, at+width); t > at {
						x += dose / width / k * math.Exp(-k*(t-end)) * -math.Expm1(-k*(end-at))
					}
				}
				return []float64{x}
			}
			for _, s := range []Settings{{}, {Tolerance: relative(1e-7)}, {Tolerance: relative(1e-7), MaxStep: math.Inf(1)}} {
				if err := judge(t, fmt.Sprintf("width %g, k %g, starts %g", width, k, starts), p, []float64{starts[0], starts[0] + width/2, starts[0] + width, 2, 4}, s, exact); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
