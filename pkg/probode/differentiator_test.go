package probode

import (
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode/internal/vector"
)

// cubic has f, J, ∂f/∂θ and second derivatives that are easily written down.
func cubic() *Problem {
	return &Problem{
		F: func(dst []float64, t float64, x, theta []float64) {
			dst[0] = theta[0]*x[0]*x[0]*x[1] + math.Sin(t)
			dst[1] = x[0] - theta[1]*theta[1]*x[1]*t
		},
		FJ: func(f, jac []float64, t float64, x, theta []float64) {
			f[0] = theta[0]*x[0]*x[0]*x[1] + math.Sin(t)
			f[1] = x[0] - theta[1]*theta[1]*x[1]*t
			jac[0], jac[1] = 2*theta[0]*x[0]*x[1], theta[0]*x[0]*x[0]
			jac[2], jac[3] = 1, -theta[1]*theta[1]*t
		},
		FTheta: func(dst []float64, t float64, x, theta []float64) {
			dst[0] = x[0] * x[0] * x[1]
			dst[3] = -2 * theta[1] * x[1] * t
		},
		X0: []float64{1, 1}, Span: [2]float64{0, 2}, Theta: []float64{1, 1},
	}
}

// Derivatives along a direction, and those of J·u, are those of the formulas,
// whatever the problem gives.
func TestDifferentiator(t *testing.T) {
	at, x, theta := 0.7, []float64{1.3, -0.4}, []float64{0.9, 1.7}
	dx, dtheta, dt := []float64{0.3, -2}, []float64{1.1, 0.4}, 0.6
	u := []float64{-0.7, 1.9}
	want := []float64{
		2*theta[0]*x[0]*x[1]*dx[0] + theta[0]*x[0]*x[0]*dx[1] + x[0]*x[0]*x[1]*dtheta[0] + math.Cos(at)*dt,
		dx[0] - theta[1]*theta[1]*at*dx[1] - 2*theta[1]*x[1]*at*dtheta[1] - theta[1]*theta[1]*x[1]*dt,
	}
	// d(J u), entry by entry.
	second := []float64{
		(2*dtheta[0]*x[0]*x[1]+2*theta[0]*(dx[0]*x[1]+x[0]*dx[1]))*u[0] + (dtheta[0]*x[0]*x[0]+2*theta[0]*x[0]*dx[0])*u[1],
		-(2*theta[1]*dtheta[1]*at + theta[1]*theta[1]*dt) * u[1],
	}
	for _, c := range []struct {
		name            string
		fj, ftheta, jac bool
		tol             float64 // increments of 1.5e-8 in all, 2.4e-7 in θ and t
	}{
		{"F alone", false, false, false, 3e-7},
		{"F, Jacobian by differences", false, false, true, 2e-6},
		{"FJ", true, false, false, 2e-6},
		{"FTheta", false, true, false, 3e-7},
		{"FJ and FTheta", true, true, false, 2e-6},
	} {
		p := cubic()
		if !c.fj {
			p.FJ = nil
		}
		if !c.ftheta {
			p.FTheta = nil
		}
		e := NewDifferentiator(p, c.jac)
		e.At(at, x, theta, nil)
		got := make([]float64, 2)
		e.Along(got, dx, dtheta, dt)
		for k := range want {
			if math.Abs(got[k]-want[k]) > c.tol*vector.MaxAbs(want) {
				t.Errorf("%s: derivative %d is %.10g, want %.10g", c.name, k, got[k], want[k])
			}
		}
		e.SecondAlong(got, u, dx, dtheta, dt)
		for k := range second {
			if math.Abs(got[k]-second[k]) > 1e-6*vector.MaxAbs(second) {
				t.Errorf("%s: derivative %d of Ju is %.10g, want %.10g", c.name, k, got[k], second[k])
			}
		}
		if n := testing.AllocsPerRun(5, func() { e.At(at, x, theta, nil); e.Along(got, dx, dtheta, dt); e.SecondAlong(got, u, dx, dtheta, dt) }); n > 0 {
			t.Errorf("%s: %g allocations", c.name, n)
		}
	}
}
