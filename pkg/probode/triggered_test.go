package probode_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/reference"
)

// ball returns a ball that falls from height 1 with θ = (restitution, gravity) and bounces.
func ball(until float64) *probode.Problem {
	return &probode.Problem{Name: "ball", X0: []float64{1, 0}, Span: [2]float64{0, until}, Theta: []float64{0.8, 9.81},
		F:  func(dst []float64, _ float64, x, theta []float64) { dst[0], dst[1] = x[1], -theta[1] },
		FJ: func(f, jac []float64, _ float64, x, theta []float64) { f[0], f[1], jac[1] = x[1], -theta[1], 1 },
		Events: []probode.Event{{Name: "bounce",
			Trigger: func(_ float64, x, _ []float64) float64 { return -x[0] },
			Jump:    func(x []float64, _ float64, theta []float64) { x[1] *= -theta[0] }}},
	}
}

// bounced returns height and velocity of the ball at t.
func bounced(t, r, g float64) (x, v float64) {
	at, up := math.Sqrt(2/g), r*math.Sqrt(2*g) // of the first bounce, and the velocity after it
	if t < at {
		return 1 - g*t*t/2, -g * t
	}
	for t >= at+2*up/g {
		at, up = at+2*up/g, r*up
	}
	s := t - at
	return up*s - g*s*s/2, up - g*s
}

// refilled returns a state that decays at the rate θ₁ and jumps by θ₃ when it falls below θ₂.
func refilled(until float64) *probode.Problem {
	return &probode.Problem{Name: "refilled", X0: []float64{2}, Span: [2]float64{0, until}, Theta: []float64{0.7, 0.5, 1.2}, Autonomous: true,
		F:  func(dst []float64, _ float64, x, theta []float64) { dst[0] = -theta[0] * x[0] },
		FJ: func(f, jac []float64, _ float64, x, theta []float64) { f[0], jac[0] = -theta[0]*x[0], -theta[0] },
		Events: []probode.Event{{Name: "dose",
			Trigger: func(_ float64, x, theta []float64) float64 { return theta[1] - x[0] },
			Jump:    func(x []float64, _ float64, theta []float64) { x[0] += theta[2] }}},
	}
}

func dosed(t float64, theta []float64) float64 {
	k, low, dose := theta[0], theta[1], theta[2]
	at, x := math.Log(2/low)/k, low+dose
	if t < at {
		return 2 * math.Exp(-k*t)
	}
	for period := math.Log(x/low) / k; t >= at+period; {
		at += period
	}
	return x * math.Exp(-k*(t-at))
}

var locating = map[string]probode.Method{
	"auto":  methods.Auto{},
	"dp5":   methods.RungeKutta{Tableau: methods.DormandPrince},
	"radau": methods.Radau{},
	"bdf":   methods.BDF{},

	"reference": nil, // reference.Accurate
}

func states(t *testing.T, p *probode.Problem, s probode.Setup, times []float64) []float64 {
	t.Helper()
	path, err := s.Bind(context.Background(), p, nil, times)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, len(times)*p.Dim())
	if err := path.States(context.Background(), x, p.Theta, nil); err != nil {
		t.Fatal(err)
	}
	return x
}

// Bounces have their closed-form times to a few units in the last place, and states after
// them are those of the closed form, to the accuracy of the solver.
func TestTriggersAreLocated(t *testing.T) {
	times := []float64{0.3, 0.7, 1.5, 2.1, 2.9, 3.3}
	within := map[string]float64{"auto": 2e-12, "dp5": 2e-12, "radau": 1e-12, "bdf": 2e-9, "reference": 1e-13}
	for name, m := range locating {
		s := probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-11}}}
		if name == "reference" {
			s.Mesh = reference.Accurate{Tolerance: probode.Tolerance{Relative: 1e-13}}
		}
		p, q := ball(3.4), refilled(3.4)
		var at []float64
		bounce := p.Events[0].Jump
		p.Events[0].Jump = func(x []float64, t float64, theta []float64) {
			at = append(at, t)
			bounce(x, t, theta)
		}
		x, y := states(t, p, s, times), states(t, q, s, times)
		for i, now := range times {
			want, v := bounced(now, 0.8, 9.81)
			if d := max(math.Abs(x[2*i]-want), math.Abs(x[2*i+1]-v)); d > within[name] {
				t.Errorf("%s: the ball is off by %.2g at t = %g", name, d, now)
			}
			if d := math.Abs(y[i] - dosed(now, q.Theta)); d > within[name] {
				t.Errorf("%s: the refilled state is off by %.2g at t = %g", name, d, now)
			}
		}
		next, fall := math.Sqrt(2/9.81), 2*math.Sqrt(2/9.81)
		for i := range 7 {
			if d := math.Abs(at[i] - next); d > 10*within[name] || name != "bdf" && d > 2e-14 {
				t.Errorf("%s: bounce %d is off by %.2g", name, i+1, d)
			}
			fall *= 0.8
			next += fall
		}
	}
}

// Derivatives through events are those of the closed forms, and the held path at another θ
// is the solution there.
func TestTriggerTangents(t *testing.T) {
	times, ctx := []float64{0.3, 0.7, 1.5, 2.1, 2.9, 3.3}, context.Background()
	exact := map[string]func(at float64, theta []float64) []float64{
		"ball": func(at float64, theta []float64) []float64 {
			x, v := bounced(at, theta[0], theta[1])
			return []float64{x, v}
		},
		"refilled": func(at float64, theta []float64) []float64 { return []float64{dosed(at, theta)} },
	}
	for name, m := range locating {
		if name == "reference" {
			continue // it has no derivatives
		}
		for _, p := range []*probode.Problem{ball(3.4), refilled(3.4)} {
			s := probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-11}}}
			held := holdAt(t, p, s, times).Clone().(probode.Tangential)
			d, k := p.Dim(), len(p.Theta)
			n := len(times) * d
			x, dx, unit := make([]float64, n), make([]float64, k*n), make([]float64, k*k)
			for i := range k {
				unit[i*k+i] = 1
			}
			if err := held.Tangents(ctx, x, dx, p.Theta, unit, nil); err != nil {
				t.Fatal(err)
			}
			value := func(j int, h, at float64) []float64 {
				theta := slices.Clone(p.Theta)
				theta[j] += h
				return exact[p.Name](at, theta)
			}
			const h = 1e-4
			for j := range k {
				for i, at := range times {
					a, b, c, e := value(j, h, at), value(j, -h, at), value(j, 2*h, at), value(j, -2*h, at)
					for l := range d {
						want := (8*(a[l]-b[l]) - (c[l] - e[l])) / (12 * h) // its error is about 1e-9 of a derivative of 100
						if got := dx[j*n+i*d+l]; math.Abs(got-want) > 3e-8*(1+math.Abs(want)) {
							t.Errorf("%s, %s: derivative %d of component %d at t = %g is %.10g, want %.10g", name, p.Name, j, l, at, got, want)
						}
					}
				}
			}
			far := slices.Clone(p.Theta)
			far[0] *= 1.01
			if err := held.States(ctx, x, far, nil); err != nil {
				t.Fatal(err)
			}
			for i, at := range times {
				for l, want := range exact[p.Name](at, far) {
					if got := x[i*d+l]; math.Abs(got-want) > 1e-7 { // the grid was made for another θ
						t.Errorf("%s, %s: component %d at t = %g is %.10g on the held grid, want %.10g", name, p.Name, l, at, got, want)
					}
				}
			}
			if far[0] *= 3; held.States(ctx, x, far, nil) == nil {
				t.Errorf("%s, %s: no error at a θ with other events", name, p.Name)
			}
		}
	}
}

// pumped has two states with everything that moves the times of events: a trigger on both
// states, on the time and on θ, one that the jump of the first makes true, a time that
// depends on θ, and jumps that are not linear.
func pumped(pullbacks bool) *probode.Problem {
	p := &probode.Problem{Name: "pumped", X0: []float64{2, 0.1}, Span: [2]float64{0, 6}, Theta: []float64{0.7, 0.9, 1.2, 1.1},
		F: func(dst []float64, t float64, x, theta []float64) {
			dst[0], dst[1] = -theta[0]*x[0]*(1+x[1]), x[0]-theta[3]*x[1]+0.1*math.Sin(t)
		},
		FJ: func(f, jac []float64, t float64, x, theta []float64) {
			f[0], f[1] = -theta[0]*x[0]*(1+x[1]), x[0]-theta[3]*x[1]+0.1*math.Sin(t)
			jac[0], jac[1], jac[2], jac[3] = -theta[0]*(1+x[1]), -theta[0]*x[0], 1, -theta[3]
		},
		FTheta:     func(dst []float64, _ float64, x, _ []float64) { dst[0], dst[7] = -x[0]*(1+x[1]), -x[1] },
		Start:      func(x0, theta []float64) { x0[0], x0[1] = 1+theta[2], 0.1 },
		StartTheta: func(dst, _ []float64) { dst[2] = 1 },
	}
	p.Events = []probode.Event{
		{Name: "low", Trigger: func(t float64, x, theta []float64) float64 { return theta[1]*theta[1] - x[0] - 0.05*x[1]*x[1] - 0.01*t },
			Jump: func(x []float64, t float64, theta []float64) { x[0] += theta[2] * (1 + 0.01*t) * x[1] },
			JumpPullback: func(lambda, dtheta, x []float64, t float64, theta []float64) float64 {
				dtheta[2] += lambda[0] * (1 + 0.01*t) * x[1]
				lambda[1] += lambda[0] * theta[2] * (1 + 0.01*t)
				return lambda[0] * theta[2] * 0.01 * x[1]
			}},
		{Name: "high", Trigger: func(_ float64, x, theta []float64) float64 { return x[0] - 1.3*theta[1] },
			Jump: func(x []float64, _ float64, theta []float64) { x[1] = theta[3] * x[1] * x[1] },
			JumpPullback: func(lambda, dtheta, x []float64, _ float64, theta []float64) float64 {
				dtheta[3] += lambda[1] * x[1] * x[1]
				lambda[1] *= 2 * theta[3] * x[1]
				return 0
			}},
		{Name: "dose", When: func(theta []float64) float64 { return 4 * theta[3] },
			Jump: func(x []float64, _ float64, theta []float64) { x[0] += 3 * theta[1] },
			JumpPullback: func(lambda, dtheta, _ []float64, _ float64, _ []float64) float64 {
				dtheta[1] += 3 * lambda[0]
				return 0
			}},
	}
	if !pullbacks {
		for k := range p.Events {
			p.Events[k].JumpPullback = nil
		}
	}
	return p
}

// The gradient of a sum of states, with any weights, by one pass backwards equals that from
// derivatives along the parameters, also after a solve at another θ.
func TestTriggerGradient(t *testing.T) {
	times, ctx := []float64{0.3, 0.7, 1.5, 2.1, 2.9, 4.4, 5.7}, context.Background()
	for name, m := range locating {
		if name == "reference" {
			continue // it has no derivatives
		}
		for _, p := range []*probode.Problem{pumped(true), pumped(false)} {
			held := holdAt(t, p, probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-5}}}, times)
			k, n := len(p.Theta), len(times)*p.Dim()
			x, dx, unit, weights := make([]float64, n), make([]float64, k*n), make([]float64, k*k), make([]float64, n)
			for i := range k {
				unit[i*k+i] = 1
			}
			probode.DrawNoise(weights, 1, 1)
			for _, change := range []float64{1, 1.001} {
				theta := slices.Clone(p.Theta)
				theta[0] *= change
				if err := held.Tangents(ctx, x, dx, theta, unit, nil); err != nil {
					t.Fatal(err)
				}
				want, most := make([]float64, k), 0.
				for i := range want {
					for j, v := range weights {
						want[i] += v * dx[i*n+j]
					}
					most = max(most, math.Abs(want[i]))
				}
				if err := held.States(ctx, x, theta, nil); err != nil {
					t.Fatal(err)
				}
				g := &probode.Gradient{Theta: make([]float64, k), Alpha: 1}
				if err := held.(probode.Reversible).Gradient(ctx, g, weights, theta, nil); err != nil {
					t.Fatal(err)
				}
				for i, v := range want {
					if math.Abs(g.Theta[i]-v) > 1e-9*most || g.Alpha != 0 {
						t.Errorf("%s: derivative %d is %.12g, want %.12g, off by %.2g", name, i, g.Theta[i], v, math.Abs(g.Theta[i]-v)/most)
					}
				}
			}
		}
	}
}

// A trigger that crosses 0 where the state is 0 up to rounding has a derivative. With
// x = θ₁t − 1 and a jump by θ₂ at x = 0, x(2) = 2θ₁ − 1 + θ₂. The other states are 0
// throughout, and very large.
func TestTriggerWhereStateIsZero(t *testing.T) {
	p := &probode.Problem{Name: "zero", X0: []float64{-1, 0, 1e9}, Span: [2]float64{0, 3}, Theta: []float64{1, 0.3},
		F:      func(f []float64, _ float64, _, theta []float64) { f[0], f[1], f[2] = theta[0], 0, 0 },
		FJ:     func(f, _ []float64, _ float64, _, theta []float64) { f[0], f[1], f[2] = theta[0], 0, 0 },
		FTheta: func(dst []float64, _ float64, _, _ []float64) { dst[0] = 1 },
		Events: []probode.Event{{Name: "zero", Trigger: func(_ float64, x, _ []float64) float64 { return math.Exp(x[0]) - 1 + x[1] },
			Jump: func(x []float64, _ float64, theta []float64) { x[0] += theta[1] }}}}
	held := holdAt(t, p, probode.Setup{Method: locating["dp5"], Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-5}}}, []float64{2})
	x, dx := make([]float64, 3), make([]float64, 6)
	if err := held.Tangents(context.Background(), x, dx, p.Theta, []float64{1, 0, 0, 1}, nil); err != nil {
		t.Fatal(err)
	}
	if math.Abs(x[0]-1.3) > 1e-9 || math.Abs(dx[0]-2) > 1e-9 || math.Abs(dx[3]-1) > 1e-9 {
		t.Errorf("x = %v with derivatives %v: want 1.3, 2 and 1", x[0], dx)
	}
}

// Derivatives exist if the trigger stays negative, and so no event depends on θ, while another
// event happens at the start, where a segment is empty. With x′ = −θ₁x and x(0) = 1 + 1 the
// derivative of x(1) is −2e^(−θ₁).
func TestTriggerThatNeverHappens(t *testing.T) {
	p := &probode.Problem{Name: "start", X0: []float64{1}, Span: [2]float64{0, 1}, Theta: []float64{0.7},
		F: func(f []float64, _ float64, x, theta []float64) { f[0] = -theta[0] * x[0] },
		Events: []probode.Event{{Time: 0, Jump: func(x []float64, _ float64, _ []float64) { x[0]++ }},
			{Name: "never", Trigger: func(_ float64, x, _ []float64) float64 { return x[0] - 5 }}}}
	held := holdAt(t, p, probode.Setup{Method: locating["dp5"], Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-8}}}, []float64{1})
	x, dx := make([]float64, 1), make([]float64, 1)
	if err := held.Tangents(context.Background(), x, dx, p.Theta, []float64{1}, nil); err != nil {
		t.Fatal(err)
	}
	if want := 2 * math.Exp(-0.7); math.Abs(x[0]-want) > 1e-7 || math.Abs(dx[0]+want) > 1e-6 {
		t.Errorf("x = %v with the derivative %v: want %v and %v", x, dx, want, -want)
	}
}

// If the state begins on a threshold and rises, the event happens at the start, and rounding
// must not move it before the start. With x′ = θ₁x and x(0) = 1.85, halved at once, the
// derivative of x(1) is 0.925e^θ₁.
func TestTriggerAtTheStart(t *testing.T) {
	p := &probode.Problem{Name: "threshold", X0: []float64{1.85}, Span: [2]float64{0, 1}, Theta: []float64{0.52},
		F: func(f []float64, _ float64, x, theta []float64) { f[0] = theta[0] * x[0] },
		Events: []probode.Event{{Name: "halve", Trigger: func(_ float64, x, _ []float64) float64 { return x[0] - 1.85 },
			Jump: func(x []float64, _ float64, _ []float64) { x[0] /= 2 }}}}
	for _, k := range []float64{0.1, 0.3, 0.52, 0.6} {
		p.Theta[0] = k
		held := holdAt(t, p, probode.Setup{Method: locating["dp5"], Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-8}}}, []float64{1})
		x, dx := make([]float64, 1), make([]float64, 1)
		if err := held.Tangents(context.Background(), x, dx, p.Theta, []float64{1}, nil); err != nil {
			t.Fatal(err)
		}
		if want := 0.925 * math.Exp(k); math.Abs(x[0]-want) > 1e-7 || math.Abs(dx[0]-want) > 1e-6 {
			t.Errorf("x = %v with the derivative %v: want %v for both", x, dx, want)
		}
	}
}

func holdAt(t *testing.T, p *probode.Problem, s probode.Setup, times []float64) probode.Tangential {
	t.Helper()
	path, err := s.Bind(context.Background(), p, nil, times)
	if err != nil {
		t.Fatal(err)
	}
	held, err := path.(probode.Holdable).Hold(context.Background(), p.Theta)
	if err != nil {
		t.Fatal(err)
	}
	return held.(probode.Tangential)
}

// A clock has x′ = 1 and y′ = 0. Its triggers compare x with numbers, and its jumps write
// their numbers as digits to y, in their order.
func clock(events ...probode.Event) *probode.Problem {
	p := &probode.Problem{Name: "clock", X0: []float64{0, 0}, Span: [2]float64{0, 4},
		F: func(dst []float64, _ float64, _, _ []float64) { dst[0], dst[1] = 1, 0 }}
	for k, e := range events {
		more := e.Jump
		e.Name = fmt.Sprint("event ", k+1)
		e.Jump = func(x []float64, t float64, theta []float64) {
			x[1] = 10*x[1] + float64(k+1)
			if more != nil {
				more(x, t, theta)
			}
		}
		p.Events = append(p.Events, e)
	}
	return p
}

func passes(limit float64) probode.Event {
	return probode.Event{Trigger: func(_ float64, x, _ []float64) float64 { return x[0] - limit }}
}

func TestOrderOfTriggers(t *testing.T) {
	set := func(e probode.Event, to float64) probode.Event {
		e.Jump = func(x []float64, _ float64, _ []float64) { x[0] = to }
		return e
	}
	start := passes(-1)
	start.AtStart = true
	timed := set(probode.Event{Time: 1}, 3)
	for name, c := range map[string]struct {
		p    *probode.Problem
		want float64
	}{
		"the first in a step counts":              {clock(passes(2.5), passes(2.4)), 21},
		"two at once, in their order":             {clock(passes(2.5), passes(2.5)), 12},
		"a jump makes another true":               {clock(passes(3), set(passes(1), 3.5)), 21},
		"a jump makes another false":              {clock(passes(2), set(passes(1.5), -5)), 2},
		"again after its jump made it false":      {clock(set(passes(1.1), 0)), 111},
		"true at the start":                       {clock(passes(-1)), 0},
		"true at the start, but false before":     {clock(start), 1},
		"a timed event makes a trigger true":      {clock(passes(2.9), timed), 21},
		"an event at the start that sets another": {clock(passes(2), set(start, 2.5)), 21},
	} {
		for kind, mesh := range map[string]probode.Mesh{"adaptive": probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}}, "reference": reference.Accurate{}} {
			s := probode.Setup{Method: locating["dp5"], Mesh: mesh}
			x := states(t, c.p, s, []float64{4.0})
			if x[1] != c.want {
				t.Errorf("%s, %s: %v, want %v", name, kind, x[1], c.want)
			}
			if kind == "adaptive" {
				held, y := holdAt(t, c.p, s, []float64{3.9}), make([]float64, 2)
				if err := held.States(context.Background(), y, nil, nil); err != nil || y[1] != c.want {
					t.Errorf("%s, held: %v, %v, want %v", name, y[1], err, c.want)
				}
			}
		}
	}
}

// What cannot be solved ends with an error that names the event.
func TestTriggerErrors(t *testing.T) {
	to := func(x1 float64) func(x []float64, _ float64, _ []float64) {
		return func(x []float64, _ float64, _ []float64) { x[0] = x1 }
	}
	again := clock(probode.Event{Trigger: passes(1).Trigger, Jump: to(-2)},
		probode.Event{Trigger: func(_ float64, x, _ []float64) float64 { return -1 - x[0] }, Jump: to(2)})
	odd := clock(probode.Event{Trigger: func(_ float64, x, _ []float64) float64 { return math.Log(1 - x[0]) }})
	dp := probode.Setup{Method: locating["dp5"]}
	loose := probode.Tolerance{Relative: 1e-6}
	for _, c := range []struct {
		p    *probode.Problem
		mesh probode.Mesh
		want string
	}{
		{ball(6), probode.Adaptive{Tolerance: loose}, "bounce happens again and again at t = 4.0"},
		{ball(6), reference.Accurate{}, "bounce happens again and again at t = 4.0"},
		{again, probode.Adaptive{Tolerance: loose}, "more than 1000 jumps"},
		{odd, probode.Adaptive{Tolerance: loose}, "event 1 is NaN"},
		{ball(1), probode.Uniform(0.01), "bounce has a trigger"},
		{ball(1), probode.Through(0.01), "bounce has a trigger"},
		{ball(1), probode.Frozen{Tolerance: loose}, "bounce has a trigger"},
	} {
		dp.Mesh = c.mesh
		path, err := dp.Bind(context.Background(), c.p, nil, []float64{1, c.p.Span[1]})
		if err == nil {
			err = path.States(context.Background(), make([]float64, 4), c.p.Theta, nil)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s on %v: %v, want %q", c.p.Name, c.mesh, err, c.want)
		}
	}
}

// A state that touches a threshold: x = (t − 1)² + θ is below 0 for θ < 0 only. If it only
// touches 0, the derivative of the time does not exist, and it is an error to ask for it.
func TestGrazing(t *testing.T) {
	p := &probode.Problem{Name: "grazing", X0: []float64{1, 0}, Span: [2]float64{0, 2}, Theta: []float64{0.01},
		F:     func(dst []float64, t float64, _, _ []float64) { dst[0], dst[1] = 2*(t-1), 0 },
		Start: func(x0, theta []float64) { x0[0], x0[1] = 1+theta[0], 0 },
		Events: []probode.Event{{Name: "touch", Trigger: func(_ float64, x, _ []float64) float64 { return -x[0] },
			Jump: func(x []float64, _ float64, _ []float64) { x[1]++ }}}}
	s := probode.Setup{Method: locating["dp5"], Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-8}, Max: 0.01}}
	if x := states(t, p, s, []float64{2}); x[1] != 0 {
		t.Error("an event where the state stays positive")
	}
	held, x := holdAt(t, p, s, []float64{2}), make([]float64, 2)
	if err := held.States(context.Background(), x, []float64{-0.01}, nil); err == nil || !strings.Contains(err.Error(), "touch also happens") {
		t.Errorf("the event that the held grid does not have: %v", err)
	}
	p.Theta = []float64{-1e-4} // it falls below 0 from .99 to 1.01
	if x := states(t, p, s, []float64{2}); x[1] != 1 {
		t.Error("no event where the state falls below 0")
	}
	held = holdAt(t, p, s, []float64{2})
	if err := held.States(context.Background(), x, []float64{1e-4}, nil); err == nil {
		t.Error("no error where the event no longer happens")
	}
}

// A trigger that becomes true within a step and false at its end is not missed if the
// step ends at a known time: x = t crosses 1 while t < 1.05, and
// jumps by 4.
func TestTriggerThatEndsWithAStep(t *testing.T) {
	p := &probode.Problem{Name: "window", X0: []float64{0}, Span: [2]float64{0, 2},
		F: func(dst []float64, _ float64, _, _ []float64) { dst[0] = 1 },
		Events: []probode.Event{{Time: 1.05}, {Name: "in time",
			Trigger: func(t float64, x, _ []float64) float64 { return min(x[0]-1, 1.05-t) },
			Jump:    func(x []float64, _ float64, _ []float64) { x[0] += 4 }}},
	}
	for _, mesh := range []probode.Mesh{probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}}, reference.Accurate{}} {
		setup := probode.Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: mesh}
		path, err := setup.Bind(context.Background(), p, nil, []float64{2})
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, 1)
		if err := path.States(context.Background(), x, p.Theta, nil); err != nil || math.Abs(x[0]-6) > 1e-12 {
			t.Errorf("%v: %v, %v: want 6", mesh, x, err)
		}
	}
}

// In x₁ = cos t the event happens three times in 19 units of time, whenever x₁ falls below
// −0.9999. Each time this lasts for 0.028, far less than a step. The event counts itself.
// The tolerances are below the depth of the dips.
func TestDipsWithinSteps(t *testing.T) {
	p := &probode.Problem{Name: "dips", X0: []float64{1, 0, 0}, Span: [2]float64{0, 19}, Autonomous: true,
		F: func(dst []float64, _ float64, x, _ []float64) { dst[0], dst[1], dst[2] = x[1], -x[0], 0 },
		Events: []probode.Event{{Name: "dip",
			Trigger: func(_ float64, x, _ []float64) float64 { return -0.9999 - x[0] },
			Jump:    func(x []float64, _ float64, _ []float64) { x[2]++ }}}}
	for _, s := range []probode.Setup{
		{Mesh: reference.Accurate{}},
		{Mesh: reference.Accurate{Tolerance: probode.Tolerance{Relative: 1e-6}}},
		{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}}},
		{Method: methods.Radau{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-5}}},
		{Method: methods.BDF{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-7}}},
	} {
		path, err := s.Bind(t.Context(), p, nil, []float64{19})
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, 3)
		if err := path.States(t.Context(), x, nil, nil); err != nil {
			t.Fatal(err)
		}
		if x[2] != 3 || math.Abs(x[0]-math.Cos(19)) > 1e-3 {
			t.Errorf("%v: %g dips, x = %g: want 3 and %g", s, x[2], x[0], math.Cos(19))
		}
	}
}

// An observation at the time of an event shows the state after it, even if rounding errors
// locate the event on the other side of the observation, and at the end of the span, too.
// In the model, x = c + a (tⁿ − Tⁿ) crosses c at T. The derivatives exist if the time of the
// event does not depend on θ, or if nothing jumps.
func TestEventsAtObservations(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct{ a, power, at, level float64 }{
		{1, 2, 3, 0}, {1.5, 2, 1.5, 0}, {2.3, 1, 7.75, -5.75}, {0.1, 1, 6.25, 8.75}, {0.05, 2, 1, 8.75}, {0.7, 1, 0.3, 3}, {0.2, 1, 7.25, -5.75}, {1.05, 2, 9.75, 0},
	} {
		for _, rest := range []float64{0, 2} {
			for _, jumps := range []float64{0, 1} {
				end := c.at + rest
				times := []float64{c.at / 2, c.at, end}[:2+min(1, int(rest))]
				p := &probode.Problem{Name: "crossing", X0: []float64{c.level - c.a*math.Pow(c.at, c.power), 0}, Span: [2]float64{0, end}, Theta: []float64{c.a, 3},
					F: func(dst []float64, t float64, x, theta []float64) {
						dst[0], dst[1] = theta[0]*c.power*math.Pow(t, c.power-1), theta[1]
					},
					Events: []probode.Event{{Name: "crossing", Trigger: func(_ float64, x, _ []float64) float64 { return x[0] - c.level },
						Jump: func(x []float64, _ float64, theta []float64) { x[1] += jumps * 5 * theta[1] }}},
				}
				for name, m := range locating {
					s := probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}}}
					if name == "reference" {
						s.Mesh = reference.Accurate{}
					}
					for n, x := range states(t, p, s, times) {
						now := times[n/2]
						want, within := p.X0[0]+c.a*math.Pow(now, c.power), 1e-5*math.Abs(p.X0[0])
						if n%2 == 1 {
							want, within = 3*now, 1e-4 // the event may be off by the tolerance
							if now >= c.at {
								want += 15 * jumps
							}
						}
						if math.Abs(x-want) > within {
							t.Errorf("%v, %s to %g: component %d is %g at t = %g, want %g", c, name, end, n%2, x, now, want)
						}
					}
					if name == "reference" || name == "bdf" { // BDF locates the event at another time, to within the tolerance
						continue
					}
					held := holdAt(t, p, s, times)
					x, dx, n := make([]float64, 2*len(times)), make([]float64, 4*len(times)), 2*len(times)
					for _, back := range []bool{false, true} {
						for k, along := range [][]float64{{1, 0}, {0, 1}} {
							var err error
							if back {
								g := probode.Gradient{Theta: make([]float64, 2)}
								w := make([]float64, n)
								for i := range times {
									w[2*i+k] = 1
								}
								err = held.(probode.Reversible).Gradient(ctx, &g, w, p.Theta, nil)
								if dx = dx[:n]; err == nil {
									clear(dx)
									dx[n-2+k] = g.Theta[k]
								}
							} else {
								dx = dx[:n]
								err = held.Tangents(ctx, x, dx, p.Theta, along, nil)
							}
							refused := jumps == 1 && (k == 0 || back)
							if (err != nil) != refused || err != nil && !strings.Contains(err.Error(), "an observation is made exactly when crossing happens") {
								t.Errorf("%v, %s to %g, jump %g: the derivative along %v fails with %v", c, name, end, jumps, along, err)
								continue
							}
							sum, want := 0.0, 0.0
							for i, now := range times {
								sum += dx[2*i+k]
								want += []float64{math.Pow(now, c.power), now}[k]
								if now >= c.at && k == 1 {
									want += 5 * jumps
								}
							}
							if err == nil && math.Abs(sum-want) > 1e-5*want {
								t.Errorf("%v, %s to %g, jump %g, back %v: the sum of the derivatives along %v is %g, want %g", c, name, end, jumps, back, along, sum, want)
							}
						}
					}
				}
			}
		}
	}
}
