package methods

import (
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
)

// path solves p at its nominal parameter.
func path(t testing.TB, p *probode.Problem, m probode.Method, g *probode.Grid, alpha float64, xi []float64) []float64 {
	t.Helper()
	s, err := probode.NewSolver(p, m, g, alpha)
	if err != nil {
		t.Fatal(err)
	}
	z := make([]float64, s.PathLen())
	if err := s.Solve(z, p.Theta, xi); err != nil {
		t.Fatal(err)
	}
	return z
}

func uniform(t testing.TB, p *probode.Problem, h float64) *probode.Grid {
	t.Helper()
	g, err := probode.UniformGrid(p, nil, h)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// end is the last row of a path.
func end(z []float64, d int) []float64 { return z[len(z)-d:] }

func distance(a, b []float64) float64 {
	var m float64
	for k := range a {
		m = max(m, math.Abs(a[k]-b[k]))
	}
	return m
}

// pendulum is smooth, not linear and depends on t.
func pendulum() *probode.Problem {
	return &probode.Problem{
		Name: "driven pendulum",
		F: func(dst []float64, t float64, x, theta []float64) {
			dst[0] = x[1]
			dst[1] = -theta[0]*math.Sin(x[0]) - theta[1]*x[1] + math.Cos(t)
		},
		X0: []float64{1, 0.3}, Span: [2]float64{0, 4}, Theta: []float64{2, 0.3},
	}
}

// The error of each method falls with its order. The fine solution is that of
// Radau5 with steps so small that its own error is below 1e-13.
func TestOrders(t *testing.T) {
	p := pendulum()
	want := end(path(t, p, Radau{}, uniform(t, p, 1./512), 0, nil), 2)
	for _, m := range []probode.Method{Gauss{}, Gauss{Stages: 2}, Radau{Stages: 2}, Radau{}} {
		h := 1. / 4
		coarse := distance(end(path(t, p, m, uniform(t, p, h), 0, nil), 2), want)
		fine := distance(end(path(t, p, m, uniform(t, p, h/4), 0, nil), 2), want)
		if order := math.Log2(coarse/fine) / 2; math.Abs(order-float64(m.Order())) > 0.25 {
			t.Errorf("%v: order %.2f, want %d (errors %.2g, %.2g)", m, order, m.Order(), coarse, fine)
		}
	}
}
