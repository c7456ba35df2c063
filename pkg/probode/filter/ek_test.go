package filter

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
)

// states returns the states at the times, for the nominal θ and no noise.
func states(t *testing.T, p *probode.Problem, m probode.Method, mesh probode.Mesh, times ...float64) []float64 {
	t.Helper()
	path, err := probode.Setup{Method: m, Mesh: mesh}.Bind(context.Background(), p, nil, times)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float64, len(times)*p.Dim())
	if err := path.States(context.Background(), dst, p.Theta, nil); err != nil {
		t.Fatal(err)
	}
	return dst
}

// The values come from arithmetic with 40 digits.
func TestValues(t *testing.T) {
	for _, c := range []struct{ h, v, r float64 }{{.1, 1.7129812010623, .94650684346668}, {.05, 1.6968817112741, .94956869758793}} {
		x := states(t, problems.FitzHughNagumo(), EK{Q: 2}, probode.Uniform(c.h), 10)
		if math.Abs(x[0]-c.v) > 1e-12 || math.Abs(x[1]-c.r) > 1e-12 {
			t.Errorf("h = %g: the mean is %.14g, %.14g: want %.14g, %.14g", c.h, x[0], x[1], c.v, c.r)
		}
	}
}

// The global error falls at least as fast as h^q.
func TestOrder(t *testing.T) {
	p := problems.LotkaVolterra()
	p.Span = [2]float64{0, 5}
	want := states(t, p, EK{Q: 11}, probode.Uniform(.02), 5)
	for q := 1; q <= 8; q++ {
		for _, m := range []EK{{Q: q}, {Q: q, Jacobian: Cubature}, {Q: q, Width: 1}, {Q: q, Jacobian: Zero}} {
			if q > 4 && (m.Width == 1 || m.Jacobian == Zero) {
				continue // not stable with these steps
			}
			var e [2]float64
			for i, h := range []float64{.025, .0125} {
				x := states(t, p, m, probode.Uniform(h), 5)
				e[i] = math.Hypot(x[0]-want[0], x[1]-want[1])
			}
			if slope := math.Log2(e[0] / e[1]); !(slope > float64(q)-0.1) {
				t.Errorf("%v: errors %.2g, order %.2f", m, e, slope)
			}
		}
	}
}

// A path with noise that is computed in pieces is the same as one computed at once.
func TestPieces(t *testing.T) {
	p := problems.FitzHughNagumo()
	for _, m := range []EK{{Q: 3}, {Q: 2, Jacobian: Zero}} {
		g, err := probode.NewGrid(p, nil, []float64{.1, .25, .4, .5, .6, .75, .9, 1, 20})
		if err != nil {
			t.Fatal(err)
		}
		s, err := probode.NewSolver(p, m, g, 0.3)
		if err != nil {
			t.Fatal(err)
		}
		whole, parts, xi := make([]float64, s.PathLen()), make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
		probode.DrawNoise(xi, 1, 2)
		memory := make([]float64, s.MemoryLen())
		if err := s.SolveFrom(whole, memory, p.Theta, xi, 0, 8); err != nil {
			t.Fatal(err)
		}
		for _, r := range [][2]int{{0, 3}, {3, 4}, {4, 8}} {
			if err := s.Clone().SolveFrom(parts, memory, p.Theta, xi, r[0], r[1]); err != nil {
				t.Fatal(err)
			}
		}
		if fmt.Sprint(whole) != fmt.Sprint(parts) {
			t.Errorf("%v: the path in pieces is %v: want %v", m, parts, whole)
		}
	}
}
