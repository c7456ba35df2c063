package probode_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/trigger"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/reference"
)

// threshold is x₁′ = −k x₁, x₂′ = r where x₁ < c, and 0.05 elsewhere, with θ = (k, c, r).
func threshold() *probode.Problem {
	p := &probode.Problem{Name: "threshold", X0: []float64{10, 0}, Span: [2]float64{0, 3}, Theta: []float64{1, 5, 1.5}, Autonomous: true}
	p.F = func(dst []float64, _ float64, x, theta []float64) {
		dst[0], dst[1] = -theta[0]*x[0], 0.05
		if x[0] < theta[1] {
			dst[1] = theta[2]
		}
	}
	h := *p
	h.X0, h.Noiseless = []float64{10, 0, 0}, []int{2}
	h.F = func(dst []float64, _ float64, x, theta []float64) {
		dst[0], dst[1], dst[2] = -theta[0]*x[0], x[2]*theta[2]+(1-x[2])*0.05, 0
	}
	h.Events = []probode.Event{{Name: "below c",
		Trigger: func(_ float64, x, theta []float64) float64 { return theta[1] - x[0] },
		Jump:    func(x []float64, _ float64, _ []float64) { x[2] = 1 }}}
	p.Hybrid = &h
	return p
}

// The states and their derivatives equal the closed form, with x₂ = 0.05 τ + r (t − τ)
// after the time τ = log(10/c)/k. The derivative with respect to c comes from τ only. The
// tolerances are the solver's, times a factor of 100 for the sum of the local errors, and
// 1e-6 for derivatives, whose triggers are differentiated by central differences.
func TestHybrid(t *testing.T) {
	times, theta := []float64{0.5, 1, 3}, []float64{1.1, 4.5, 1.4}
	k, c, r := theta[0], theta[1], theta[2]
	tau := math.Log(10/c) / k
	want, slopes := make([]float64, 6), make([]float64, 18) // slopes by direction
	for n, at := range times {
		e := math.Exp(-k * at)
		want[2*n], slopes[2*n] = 10*e, -10*at*e
		want[2*n+1] = 0.05 * at
		if at > tau {
			want[2*n+1] += (r - 0.05) * (at - tau)
			slopes[2*n+1] = (r - 0.05) * tau / k
			slopes[6+2*n+1] = (r - 0.05) / (c * k)
			slopes[12+2*n+1] = at - tau
		}
	}
	near := func(what string, got, want []float64, tol float64) {
		t.Helper()
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= tol*(1+math.Abs(want[i]))) {
				t.Errorf("%s: %v, want %v", what, got, want)
				return
			}
		}
	}
	p := threshold()
	got := make([]float64, 6)
	for _, s := range []probode.Setup{
		{Mesh: reference.Accurate{}},
		{Mesh: reference.Accurate{Tolerance: probode.Tolerance{Relative: 1e-9, Absolute: []float64{1e-9, 1e-9}}}},
		{Method: methods.Radau{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-9}}},
		{Method: methods.Auto{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-9}}},
		{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-9, Absolute: []float64{1e-9, 1e-9}}}},
	} {
		path, err := s.Bind(t.Context(), p, nil, times)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []probode.Path{path, path.Clone()} {
			if err := path.States(t.Context(), got, theta, nil); err != nil {
				t.Fatal(err)
			}
			near(s.String(), got, want, 1e-7)
		}
		h, ok := path.(probode.Holdable)
		if !ok {
			continue
		}
		held, err := h.Hold(t.Context(), theta)
		if err != nil {
			t.Fatal(err)
		}
		dx := make([]float64, 18)
		if err := held.(probode.Tangential).Tangents(t.Context(), got, dx, theta, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, nil); err != nil {
			t.Fatal(err)
		}
		near("tangents", dx, slopes, 1e-6)
		w := []float64{1, -2, 0.5, 3, 2, 1}
		if err := held.States(t.Context(), got, theta, nil); err != nil {
			t.Fatal(err)
		}
		near("held", got, want, 1e-7)
		g := probode.Gradient{Theta: make([]float64, 3)}
		if err := held.(probode.Reversible).Gradient(t.Context(), &g, w, theta, nil); err != nil {
			t.Fatal(err)
		}
		sum := make([]float64, 3)
		for j := range sum {
			for i, v := range w {
				sum[j] += v * slopes[6*j+i]
			}
		}
		near("gradient", g.Theta, sum, 1e-5)
	}

	// Equal steps have no events: they cross the jump.
	path, err := probode.Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Uniform(0.01)}.Bind(t.Context(), p, nil, times)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.States(t.Context(), got, theta, nil); err != nil {
		t.Fatal(err)
	}
	near("equal steps", got, want, 0.01*r)
}

// A thermostat without hysteresis switches without end as soon as x reaches 20. The Path
// then solves the problem itself, with an error of the size of the tolerance, and has no
// derivatives.
func TestHybridWithoutEnd(t *testing.T) {
	p := &probode.Problem{Name: "thermostat", X0: []float64{18}, Span: [2]float64{0, 5}, Autonomous: true}
	p.F = func(dst []float64, _ float64, x, _ []float64) {
		if dst[0] = -1; x[0] < 20 {
			dst[0] = 1
		}
	}
	h := *p
	h.X0 = []float64{18, 1}
	h.F = func(dst []float64, _ float64, x, _ []float64) { dst[0], dst[1] = 2*x[1]-1, 0 }
	for on := range 2 {
		h.Events = append(h.Events, probode.Event{Name: "switch",
			Trigger: func(_ float64, x, _ []float64) float64 { return float64(1-2*on) * (x[0] - 20) },
			Jump:    func(x []float64, _ float64, _ []float64) { x[1] = float64(on) }})
	}
	p.Hybrid = &h
	mesh := probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-4}, MaxSteps: 1e5}
	path, err := probode.Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: mesh}.Bind(t.Context(), p, nil, []float64{1, 5})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float64, 2)
	if err := path.States(t.Context(), got, nil, nil); err != nil {
		t.Fatal(err)
	}
	if math.Abs(got[0]-19) > 1e-6 || math.Abs(got[1]-20) > 0.02 {
		t.Errorf("%v: want 19 and 20", got)
	}
	// If the problem itself cannot be solved either, the error says why.
	mesh.MaxSteps = 50
	few, err := probode.Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: mesh}.Bind(t.Context(), p, nil, []float64{1, 5})
	if err == nil {
		err = few.States(t.Context(), make([]float64, 2), nil, nil)
	}
	if err == nil || !strings.Contains(err.Error(), "f jumps again and again near t = 2, because switch keeps changing") || !strings.Contains(err.Error(), "more than 50 steps") {
		t.Errorf("error %v", err)
	}
	if h, ok := path.(probode.Holdable); ok {
		held, err := h.Hold(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := held.(probode.Tangential); ok {
			t.Error("the Path has derivatives, which lack the times of the switches")
		}
	}
}

// If the events of the Hybrid follow one another without end, the error of a solve of the
// problem itself says where they do. The error of a context that has ended does not.
func TestSolveHybridWithoutEnd(t *testing.T) {
	endless := &trigger.EndlessError{Name: "event switch", Time: 2}
	p := &probode.Problem{Name: "plain", X0: []float64{1}, Hybrid: &probode.Problem{Name: "hybrid", X0: []float64{1, 1}}}
	for _, fault := range []error{errors.New("too many steps"), context.Canceled} {
		err := p.SolveHybrid(probode.Tolerance{}, func(q *probode.Problem, _ probode.Tolerance) error {
			if q.Dim() == 1 {
				return fault
			}
			return fmt.Errorf("solver: %w", endless)
		})
		says := strings.Contains(fmt.Sprint(err), "f jumps again and again near t = 2, because switch keeps changing")
		if !errors.Is(err, fault) || says == (fault == context.Canceled) {
			t.Errorf("fault: %v: error %v", fault, err)
		}
	}
}

// Dry friction that sticks is solved within 600,000 calls of f, or refused within 50,000,
// also if the body stops just before the end of the span: a search near a region of such
// points meets hundreds of them. With friction 1 the force and the friction are equal when
// the body stops, so that it moves on only by rounding errors.
func TestStickingIsBounded(t *testing.T) {
	for _, c := range []struct{ friction, end float64 }{{0.7, 10}, {1, 10}, {1.3, 10}, {2, 10},
		{0.7, 2.0002 * math.Pi}, {1.3, 1.0001 * math.Pi}, {2, 1.0001 * math.Pi}} { // sticks from 2π or π on
		friction := c.friction
		for name, m := range locating {
			if name == "reference" {
				continue
			}
			calls := 0
			p := &probode.Problem{Name: "friction", X0: []float64{3, 0}, Span: [2]float64{0, c.end}, Autonomous: true,
				F: func(dst []float64, _ float64, x, _ []float64) {
					calls++
					dst[0], dst[1] = x[1], -x[0]+friction
					if x[1] > 0 {
						dst[1] -= 2 * friction
					}
				}}
			h := *p
			h.X0, h.Noiseless = []float64{3, 0, 0}, []int{2}
			h.F = func(dst []float64, _ float64, x, _ []float64) {
				calls++
				dst[0], dst[1], dst[2] = x[1], -x[0]+friction*(1-2*x[2]), 0
			}
			h.Events = []probode.Event{
				{Trigger: func(_ float64, x, _ []float64) float64 { return x[1] }, Jump: func(x []float64, _ float64, _ []float64) { x[2] = 1 }},
				{Trigger: func(_ float64, x, _ []float64) float64 { return -x[1] }, Jump: func(x []float64, _ float64, _ []float64) { x[2] = 0 }}}
			p.Hybrid = &h
			mesh := probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}, MaxSteps: 1e6}
			_, err := probode.Setup{Method: m, Mesh: mesh}.Bind(context.Background(), p, nil, []float64{1, c.end})
			if calls > 600000 || err != nil && calls > 50000 || err != nil && !strings.Contains(err.Error(), "steps advanced") && !strings.Contains(err.Error(), "no convergence") {
				t.Errorf("friction %g to %g, %s: %d calls of f, %v", friction, c.end, name, calls, err)
			}
		}
	}
}
