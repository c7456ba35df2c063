package probode_test

import (
	"math"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/catalog"
)

// In the problem x′ = θ₀ √(y/θ₁), y′ = 1, the derivative of x′ with respect to y is infinite
// at the start y = 0, and the formula of the derivative with respect to θ₁ is 0 × ∞ there.
// The solution is x = ⅔ θ₀ t^{3/2}/√θ₁. If y(0) is a parameter, the derivative ∂x/∂y(0) is
// θ₀ √(t/θ₁), but it cannot be computed by a method that evaluates f at the start.
func TestInfiniteDerivative(t *testing.T) {
	p := &Problem{Name: "p", X0: []float64{0, 0}, Theta: []float64{1.3, 0.7}, Span: [2]float64{0, 1},
		F: func(f []float64, _ float64, x, theta []float64) { f[0], f[1] = theta[0]*math.Sqrt(x[1]/theta[1]), 1 },
		FJ: func(f, j []float64, _ float64, x, theta []float64) {
			f[0], f[1] = theta[0]*math.Sqrt(x[1]/theta[1]), 1
			j[1] = theta[0] / (2 * math.Sqrt(x[1]*theta[1]))
		},
		FTheta: func(dst []float64, _ float64, x, theta []float64) {
			dst[0] = math.Sqrt(x[1] / theta[1])
			dst[1] = -theta[0] / (2 * math.Sqrt(x[1]/theta[1])) * x[1] / (theta[1] * theta[1])
		}}
	moving := p.UnknownStart(1)
	end := 2. / 3 * p.Theta[0] / math.Sqrt(p.Theta[1])
	slopes := []float64{end / p.Theta[0], -end / (2 * p.Theta[1]), p.Theta[0] / math.Sqrt(p.Theta[1])}
	for _, c := range []struct {
		name    string
		starts  bool    // it evaluates f at the start
		allowed float64 // relative error: h^{3/2}, or h
	}{
		{"dp5", true, 1e-3}, {"rk4", true, 1e-3}, {"radau5", false, 1e-3}, {"radau3", false, 1e-3}, {"gauss2", false, 1e-3},
		{"bdf2", false, 1e-2}, {"am0,newton", false, 2e-2}, {"am2,newton", true, 1e-2},
	} {
		m, err := catalog.Parse(c.name)
		if err != nil {
			t.Fatal(err)
		}
		for k, q := range []*Problem{p, moving} {
			s := mustSolver(t, q, m, 0.01, 0)
			z := make([]float64, s.PathLen())
			if err := s.Solve(z, q.Theta, nil); err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if x := z[len(z)-2]; math.Abs(x-end) > c.allowed*end {
				t.Errorf("%s: x is %g: want %g", c.name, x, end)
			}
			w, g := make([]float64, len(z)), Gradient{Theta: make([]float64, len(q.Theta))}
			w[len(w)-2] = 1
			n := len(q.Theta)
			directions, dz := make([]float64, n*n), make([]float64, n*len(z))
			for j := range n {
				directions[j*n+j] = 1
			}
			reverse, forward := s.Gradient(&g, w, z, q.Theta, nil), s.SolveTangents(z, dz, q.Theta, directions, nil)
			for _, err := range []error{reverse, forward} {
				if refused := err != nil && strings.Contains(err.Error(), "does not exist"); refused != (k == 1 && c.starts) || err != nil && !refused {
					t.Errorf("%s, unknown start %v: %v", c.name, k == 1, err)
				}
			}
			if reverse != nil {
				continue
			}
			for j, v := range g.Theta {
				allowed := 3 * c.allowed * math.Abs(slopes[j])
				if j == 2 {
					allowed = 0.1 * slopes[j] // the error is of order h^{1/2}
				}
				if also := dz[(j+1)*len(z)-2]; math.Abs(v-slopes[j]) > allowed || math.Abs(also-v) > 1e-6*math.Abs(v) {
					t.Errorf("%s: derivative %d is %g by reverse and %g by forward accumulation: want %g", c.name, j, v, also, slopes[j])
				}
			}
		}
	}
}

// A Jacobian that is NaN for a while does no harm.
func TestNaNInJacobian(t *testing.T) {
	p := &Problem{Name: "p", X0: []float64{1}, Span: [2]float64{0, 1},
		F: func(f []float64, _ float64, x, _ []float64) { f[0] = -x[0] },
		FJ: func(f, j []float64, t float64, x, _ []float64) {
			if f[0], j[0] = -x[0], -1; t > 0.51 && t < 0.56 {
				j[0] = math.NaN()
			}
		}}
	q := *p
	q.FJ = nil
	for _, lin := range []adams.Linearization{adams.Current, adams.Newton, adams.Predictor} {
		var ends [2]float64
		for k, p := range []*Problem{p, &q} {
			s := mustSolver(t, p, adams.Moulton{Linearize: lin}, 1./32, 0)
			z := make([]float64, s.PathLen())
			if err := s.Solve(z, nil, nil); err != nil {
				t.Fatal(err)
			}
			ends[k] = z[len(z)-1]
		}
		if math.Abs(ends[0]-ends[1]) > 1e-9 { // f is linear
			t.Errorf("%v: %v with FJ and %v without", lin, ends[0], ends[1])
		}
	}
}
