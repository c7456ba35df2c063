package methods_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode/methods"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/filter"
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
	for _, m := range everyMethod() {
		if _, random := m.(RandomStep); random {
			continue
		}
		h := 1. / 16
		above := 0.25
		switch m.(type) {
		case Gauss, Radau:
			h = 1. / 4
		case filter.EK:
			above = 1.25 // the order may be q+1
		}
		if m.Order() == 8 {
			h, above = 1, 1.5 // with smaller steps the error is that of rounding
		}
		coarse := distance(end(path(t, p, m, uniform(t, p, h), 0, nil), 2), want)
		fine := distance(end(path(t, p, m, uniform(t, p, h/4), 0, nil), 2), want)
		if order := math.Log2(coarse/fine) / 2; order < float64(m.Order())-0.25 || order > float64(m.Order())+above {
			t.Errorf("%v: order %.2f, want %d (errors %.2g, %.2g)", m, order, m.Order(), coarse, fine)
		}
	}
}

// A component that only events change is constant between them, whatever the noise, and
// its normals have no effect on the others; those have noise. The sums in multistep methods
// and Newton's iterations round.
func TestNoiselessComponents(t *testing.T) {
	for d := 2; d <= 4; d++ {
		p := &probode.Problem{Name: "a rate that events set", X0: []float64{1, 0.7, 2, 0.5}[:d], Span: [2]float64{0, 3}, Noiseless: []int{1},
			F: func(f []float64, _ float64, x, _ []float64) {
				f[0], f[1] = 1-x[1]*x[0], 0
				for k := 2; k < len(f); k++ {
					f[k] = x[k-2] - x[k]
				}
			},
			Events: []probode.Event{{Time: 1.1, Jump: func(x []float64, _ float64, _ []float64) { x[1] = 0.3 }}}}
		for _, m := range everyMethod() {
			s, err := probode.NewSolver(p, m, uniform(t, p, 0.1), 0.5)
			if err != nil {
				t.Fatal(err)
			}
			for _, scaling := range []probode.Scaling{probode.ScaleStep, probode.ScaleLocal} {
				if err := s.SetScaling(scaling, nil); err != nil {
					if strings.Contains(err.Error(), "does not estimate local errors") && scaling == probode.ScaleLocal {
						continue // package gp
					}
					t.Fatal(err)
				}
				xi := make([]float64, s.NoiseLen())
				probode.DrawNoise(xi, 1, 2)
				z, classical, again := make([]float64, s.PathLen()), make([]float64, s.PathLen()), make([]float64, s.PathLen())
				if err := errors.Join(s.Solve(z, nil, xi), s.Solve(classical, nil, nil)); err != nil {
					t.Fatal(err)
				}
				after := false
				for i, at := range s.Times() {
					want := 0.7
					if after = after || i > 0 && at == s.Times()[i-1]; after {
						want = 0.3
					}
					if got := z[i*d+1]; math.Abs(got-want) > 1e-13 {
						t.Errorf("%v, %v, d = %d: the component is %.17g at t = %g: want %g", m, scaling, d, got, at, want)
						break
					}
				}
				if z[len(z)-d] == classical[len(z)-d] {
					t.Errorf("%v, %v, d = %d: the first component has no noise", m, scaling, d)
				}
				if n := s.Normals(); n == d {
					for i := 1; i < len(xi); i += n {
						xi[i]++
					}
					if err := s.Solve(again, nil, xi); err != nil || !slices.Equal(z, again) {
						t.Errorf("%v, %v, d = %d: normals without effect change the path, %v", m, scaling, d, err)
					}
				}
			}
		}
		for k, want := range map[int]string{0: "Noiseless contains 0, but f[0] is 0.3", d: "Noiseless contains"} {
			wrong := *p
			wrong.Noiseless = []int{k}
			if _, err := probode.NewSolver(&wrong, RungeKutta{}, uniform(t, p, 0.1), 0); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("component %d: error %v, want %q", k, err, want)
			}
		}
	}
}

// The error estimates of Radau5 and Radau3 have the orders 4 and 3.
func TestErrorEstimate(t *testing.T) {
	p := pendulum()
	for _, m := range []Radau{{Stages: 2}, {Stages: 3}} {
		estimate := func(h float64) (estimated, made float64) {
			p.Span[1] = h
			g := uniform(t, p, h)
			s, err := m.Stepper(p, g)
			if err != nil {
				t.Fatal(err)
			}
			next, errs := make([]float64, 2), make([]float64, 2)
			one := probode.Step{T: g.Times()[0], End: g.Times()[1], H: g.H(0), X: p.X0, Next: next, Theta: p.Theta}
			if err := s.Step(&one); err != nil {
				t.Fatal(err)
			}
			if err := s.LocalError(errs, &one); err != nil {
				t.Fatal(err)
			}
			return math.Hypot(errs[0], errs[1]), distance(next, end(path(t, p, m, uniform(t, p, h/32), 0, nil), 2))
		}
		one, made := estimate(0.1)
		two, _ := estimate(0.05)
		if order := math.Log2(one / two); math.Abs(order-float64(m.Order()+3)/2) > 0.3 {
			t.Errorf("%v: the estimate goes with h to the %.2f, want %d", m, order, (m.Order()+3)/2)
		}
		if !(one > made) {
			t.Errorf("%v: estimated error %.2g, made %.2g", m, one, made)
		}
	}
}

// stepOf returns step i of the path z on the grid g, without noise.
func stepOf(g *probode.Grid, i int, z, next, theta []float64) probode.Step {
	d := len(next)
	return probode.Step{T: g.Times()[i], End: g.Times()[i+1], H: g.H(i), Order: g.Order(i), Index: i, X: z[i*d : (i+1)*d], Next: next, Theta: theta}
}

// The first slope of a step is the last one of the step before it, or that of the attempt that
// failed, so an attempt takes as many evaluations as there are stages.
func TestEvaluationsUnderErrorControl(t *testing.T) {
	for _, tableau := range []*Tableau{DormandPrince, DormandPrince8} {
		p, calls := pendulum(), 0
		f := p.F
		p.F = func(dst []float64, t float64, x, theta []float64) { calls++; f(dst, t, x, theta) }
		by := probode.Setup{Method: RungeKutta{Tableau: tableau}, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-9}, Max: math.Inf(1)}}
		g, err := by.Grid(t.Context(), p, nil, []float64{4})
		if err != nil {
			t.Fatal(err)
		}
		by.Mesh = probode.Adaptive(by.Mesh.(probode.Frozen))
		path, err := by.Bind(t.Context(), p, nil, []float64{4})
		if err != nil {
			t.Fatal(err)
		}
		calls = 0
		if err := path.States(t.Context(), make([]float64, 2), p.Theta, nil); err != nil {
			t.Fatal(err)
		}
		// One attempt in twenty may fail, and the first length takes two evaluations.
		if float64(calls) > float64(len(tableau.B))*(1.05*float64(g.Steps())+3)+4 {
			t.Errorf("%s: %d evaluations for %d steps", tableau.Name, calls, g.Steps())
		}
	}
}
