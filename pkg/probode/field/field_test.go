package field

import (
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode/internal/vector"
)

// cubic has f, J, ∂f/∂θ and second derivatives that are easily written down.
func cubic() *Field {
	return &Field{
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
		Dim: 2, Params: 2, Lower: 1, Upper: 1, Length: 2,
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

// A wrapped field is f(t', x; θ₀, θ₁) times θ₂, where t' is the time in the window that is
// nearest to t. The values come from the formulas of cubic.
func TestWrapped(t *testing.T) {
	f := cubic()
	f.Pullback = func(dx, dtheta, lambda []float64, t float64, x, theta []float64) float64 {
		dx[0] += lambda[0]*2*theta[0]*x[0]*x[1] + lambda[1]
		dx[1] += lambda[0]*theta[0]*x[0]*x[0] - lambda[1]*theta[1]*theta[1]*t
		dtheta[0] += lambda[0] * x[0] * x[0] * x[1]
		dtheta[1] -= lambda[1] * 2 * theta[1] * x[1] * t
		return lambda[0]*math.Cos(t) - lambda[1]*theta[1]*theta[1]*x[1]
	}
	x, theta, lambda := []float64{1.3, -0.4}, []float64{0.9, 1.7, 2.5, 8}, []float64{0.6, -1.1}
	plain := theta[:2:2]
	for _, c := range []struct {
		name       string
		wrap       Wrap
		at, factor float64
	}{
		{"times before the window", Wrap{Window: &Window{Interval: Interval{From: 0.8, To: 0.9}}}, 0.8, 1},
		{"times after the window", Wrap{Window: &Window{Interval: Interval{From: 0.1, To: 0.2}}}, 0.2, 1},
		{"further parameters", Wrap{More: 2}, 0.7, 1},
		{"a factor", Wrap{More: 2, Factor: true}, 0.7, 2.5},
		{"all", Wrap{Window: &Window{Interval: Interval{From: 0.1, To: 0.2}}, More: 1, Factor: true}, 0.2, 2.5},
	} {
		w, n := f.Wrapped(c.wrap), 2+c.wrap.More
		if w.Params != n {
			t.Fatalf("%s: %d parameters, want %d", c.name, w.Params, n)
		}
		near := func(what string, got, want []float64) {
			for k := range want {
				if !(math.Abs(got[k]-want[k]) < 1e-14) {
					t.Errorf("%s: %s is %v, want %v", c.name, what, got, want)
					return
				}
			}
		}
		value, jac, slopes := make([]float64, 2), make([]float64, 4), make([]float64, 4)
		f.FJ(value, jac, c.at, x, plain)
		f.FTheta(slopes, c.at, x, plain)
		dx, dtheta := make([]float64, 2), make([]float64, n)
		dt := c.factor * f.Pullback(dx, dtheta, lambda, c.at, x, plain)
		multiply(dx, c.factor)
		multiply(dtheta, c.factor)
		wide := make([]float64, 2*n)
		for i := range 2 {
			copy(wide[i*n:], slopes[2*i:2*i+2])
			multiply(wide[i*n:i*n+n], c.factor)
			if c.wrap.Factor {
				wide[i*n+2] = value[i]
				dtheta[2] += lambda[i] * value[i]
			}
		}
		multiply(value, c.factor)
		multiply(jac, c.factor)

		got, gotJac, gotWide := make([]float64, 2), make([]float64, 4), make([]float64, 2*n)
		w.F(got, 0.7, x, theta[:n])
		near("F", got, value)
		clear(got)
		w.FJ(got, gotJac, 0.7, x, theta[:n])
		near("f of FJ", got, value)
		near("J of FJ", gotJac, jac)
		w.FTheta(gotWide, 0.7, x, theta[:n])
		near("FTheta", gotWide, wide)
		gotX, gotTheta := make([]float64, 2), make([]float64, n)
		gotT := w.Pullback(gotX, gotTheta, lambda, 0.7, x, theta[:n])
		near("the gradient with respect to x", gotX, dx)
		near("the gradient with respect to θ", gotTheta, dtheta)
		near("the derivative with respect to t", []float64{gotT}, []float64{dt})
	}
	stopped := f.Wrapped(Wrap{Before: func() bool { return false }})
	got, jac := make([]float64, 2), make([]float64, 4)
	if stopped.F(got, 0.7, x, plain); !math.IsNaN(got[0]) {
		t.Errorf("F computes %v after the end", got)
	}
	got[0] = 0
	if stopped.FJ(got, jac, 0.7, x, plain); !math.IsNaN(got[0]) {
		t.Errorf("FJ computes %v after the end", got)
	}
}

// Check finds wrong derivatives, but not rounding errors, where large terms cancel.
func TestCheck(t *testing.T) {
	linear := func() *Field {
		return &Field{
			F: func(dst []float64, t float64, x, theta []float64) { dst[0] = theta[0] * x[0] },
			Pullback: func(dst, dtheta, lambda []float64, t float64, x, theta []float64) float64 {
				dst[0] += lambda[0] * theta[0]
				dtheta[0] += lambda[0] * x[0]
				return 0
			},
			Dim: 1, Params: 1, Length: 1,
		}
	}
	// f is 0.01 y with y + y²/1.2e7 = 9 + x, and is rounded like 1.2e7.
	root := func(x float64) float64 { return 6e4 * (math.Sqrt(1+(9+x)/3e6) - 1) }
	rounded := func() *Field {
		f := func(dst []float64, x float64) { dst[0] = root(x) }
		return &Field{
			F: func(dst []float64, t float64, x, theta []float64) { f(dst, x[0]) },
			FJ: func(dst, jac []float64, t float64, x, theta []float64) {
				f(dst, x[0])
				jac[0] = 0.01 / math.Sqrt(1+(9+x[0])/3e6)
			},
			Dim: 1, Params: 1, Length: 1,
		}
	}
	for name, c := range map[string]struct {
		field func() *Field
		wrong float64
		fails bool
	}{
		"gradient":         {linear, 0, false},
		"a wrong gradient": {linear, 1e-4, true},
		"Jacobian":         {rounded, 0, false},
		"the wrong entry":  {rounded, 1, true},
		"nearly the entry": {rounded, 1e-2, true},
	} {
		f := c.field()
		if pull := f.Pullback; pull != nil {
			f.Pullback = func(dst, dtheta, lambda []float64, t float64, x, theta []float64) float64 {
				dtheta[0] += c.wrong * theta[0]
				return pull(dst, dtheta, lambda, t, x, theta)
			}
		} else {
			exact := f.FJ
			f.FJ = func(dst, jac []float64, t float64, x, theta []float64) {
				exact(dst, jac, t, x, theta)
				jac[0] += c.wrong
			}
		}
		for n := range 20 {
			err := f.Check(0, []float64{1e-4 + 1e-6*float64(n)}, []float64{0.3 + 0.01*float64(n)}, func(int) string { return "θ" })
			if (err != nil) != c.fails {
				t.Errorf("%s, %d: %v", name, n, err)
			}
		}
	}
}
