package methods_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode/methods"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/problems"
)

// The implicit midpoint rule keeps the angular momentum, which is quadratic;
// so does every draw, to the rounding of a random walk of N steps.
func TestRandomStepKeepsAngularMomentum(t *testing.T) {
	p := problems.Kepler(0.6)
	p.Span[1] = 100
	h := 0.02
	s, err := probode.NewSolver(p, RandomStep{Method: Gauss{}}, uniform(t, p, h), 1)
	if err != nil {
		t.Fatal(err)
	}
	z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
	classical := make([]float64, len(z))
	if err := s.Solve(classical, p.Theta, nil); err != nil {
		t.Fatal(err)
	}
	for n := range uint64(5) {
		if err := s.SolvePath(z, p.Theta, xi, 1, n); err != nil {
			t.Fatal(err)
		}
		if distance(z, classical) < 1e-3 {
			t.Fatal("the noise does not reach the path")
		}
		first := z[0]*z[3] - z[1]*z[2]
		for i := 0; i < len(z); i += 4 {
			l := z[i]*z[i+3] - z[i+1]*z[i+2]
			// A step rounds at 2⁻⁵³ of the products that make l, at most 2; a
			// walk of 5000 steps is 70 of that wide, 1e-14.
			if math.Abs(l-first) > 1e-13 {
				t.Fatalf("draw %d: angular momentum moves by %.2g", n, l-first)
			}
		}
	}
}

// modified is the energy of Hénon–Heiles with the term of order h² that the
// implicit midpoint rule keeps in its place, H − h²/24 H″(f, f) [HLW06, §IX.3]:
// without it the spread hides behind waves of size h².
func modified(x []float64, h float64) float64 {
	energy := 0.5*(x[2]*x[2]+x[3]*x[3]) + 0.5*(x[0]*x[0]+x[1]*x[1]) + x[0]*x[0]*x[1] - x[1]*x[1]*x[1]/3
	gx, gy := x[0]+2*x[0]*x[1], x[1]+x[0]*x[0]-x[1]*x[1]
	second := (1+2*x[1])*x[2]*x[2] + 4*x[0]*x[2]*x[3] + (1-2*x[1])*x[3]*x[3] + gx*gx + gy*gy
	return energy - h*h/24*second
}

// The energy of a symplectic method with random steps spreads as h^{p+q} √t
// and does not drift [AG20, theorem 4].
func TestRandomStepEnergy(t *testing.T) {
	base := problems.HenonHeiles()
	base.X0 = []float64{0.1, 0.4, 0.3, 0.1}
	const paths = 60
	// spread returns the mean and the root mean square of the energy, less that
	// of the classical path, at t = 25 and at the end.
	spread := func(h, power float64) (mean, rms [2]float64) {
		s, err := probode.NewSolver(base, RandomStep{Method: Gauss{}, Power: power}, uniform(t, base, h), 0.05)
		if err != nil {
			t.Fatal(err)
		}
		z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
		for n := range uint64(paths) {
			if err := s.SolvePath(z, base.Theta, xi, 3, n); err != nil {
				t.Fatal(err)
			}
			for k, i := range []int{s.Steps() / 4, s.Steps()} {
				e, e0 := modified(z[4*i:4*i+4], h), modified(z[:4], h)
				mean[k] += (e - e0) / paths
				rms[k] += (e - e0) * (e - e0) / paths
			}
		}
		rms[0], rms[1] = math.Sqrt(rms[0]), math.Sqrt(rms[1])
		return mean, rms
	}
	mean, rms := spread(0.2, 1.5)
	_, fine := spread(0.1, 1.5)
	if order := math.Log2(rms[1] / fine[1]); math.Abs(order-3.5) > 0.7 {
		t.Errorf("the spread of the energy goes with h to the %.2f, want p+q = 3.5", order)
	}
	// The standard error of a root mean square of 60 draws is 9 %; of the ratio
	// of two that share draws at most 13 %.
	if ratio := rms[1] / rms[0]; ratio < 1.3 || ratio > 3.2 {
		t.Errorf("the spread of the energy grows by %.2f from t = 25 to 100, want 2", ratio)
	}
	// Four standard errors of the mean: a false alarm in 16,000.
	if math.Abs(mean[1]) > 4*rms[1]/math.Sqrt(paths) {
		t.Errorf("the energy drifts by %.3g of a spread of %.3g", mean[1], rms[1])
	}
}

// Orders min(p, q) in mean square and min(2p, q) of the mean.
func TestRandomStepOrders(t *testing.T) {
	p := pendulum()
	p.Span[1] = 2
	want := end(path(t, p, Radau{}, uniform(t, p, 1./512), 0, nil), 2)
	const paths = 4000
	measure := func(power, h, alpha float64) (ms, weak float64) {
		s, err := probode.NewSolver(p, RandomStep{Method: Gauss{Stages: 2}, Power: power}, uniform(t, p, h), alpha)
		if err != nil {
			t.Fatal(err)
		}
		z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
		var mean [2]float64
		for n := range uint64(paths) {
			// Pairs ξ and −ξ cancel what is odd in the noise, and with it nearly
			// all of the scatter of the mean.
			if n%2 == 0 {
				probode.DrawNoise(xi, 5, n)
			} else {
				for k := range xi {
					xi[k] = -xi[k]
				}
			}
			if err := s.Solve(z, p.Theta, xi); err != nil {
				t.Fatal(err)
			}
			for k, v := range end(z, 2) {
				mean[k] += (v - want[k]) / paths
				ms += (v - want[k]) * (v - want[k]) / paths
			}
		}
		return math.Sqrt(ms), math.Hypot(mean[0], mean[1])
	}
	ms1, weak1 := measure(1, 1./8, 0.2)
	ms2, weak2 := measure(1, 1./16, 0.2)
	if order := math.Log2(ms1 / ms2); math.Abs(order-1) > 0.2 {
		t.Errorf("p = 1: order %.2f in mean square, want 1 (%.3g, %.3g)", order, ms1, ms2)
	}
	if order := math.Log2(weak1 / weak2); math.Abs(order-2) > 0.4 {
		t.Errorf("p = 1: weak order %.2f, want 2 (%.3g, %.3g)", order, weak1, weak2)
	}
	ms1, _ = measure(5, 1./4, 1e-6) // p > q = 4: the order is that of the method
	ms2, _ = measure(5, 1./8, 1e-6)
	if order := math.Log2(ms1 / ms2); math.Abs(order-4) > 0.4 {
		t.Errorf("p = 5: order %.2f in mean square, want 4 (%.3g, %.3g)", order, ms1, ms2)
	}
}

// At ξ = 0 the path is the classical one to the last bit.
func TestRandomStepClassical(t *testing.T) {
	p := problems.FitzHughNagumo()
	g := uniform(t, p, 0.1)
	for _, m := range []probode.Method{Gauss{}, Gauss{Stages: 2}, Radau{}, RungeKutta{},
		adams.Bashforth{Steps: 1}, adams.Moulton{Steps: 1}} {
		s, err := probode.NewSolver(p, RandomStep{Method: m}, g, 0.1)
		if err != nil {
			t.Fatal(err)
		}
		want := path(t, p, m, g, 0, nil)
		for _, xi := range [][]float64{nil, make([]float64, s.NoiseLen())} {
			if z := path(t, p, RandomStep{Method: m}, g, 0.1, xi); distance(z, want) != 0 {
				t.Errorf("%v: random steps at ξ = 0 differ by %.2g", m, distance(z, want))
			}
		}
	}
}

// A scale at which steps could vanish is an error, which bounds calibration.
func TestRandomStepTooLarge(t *testing.T) {
	p := problems.FitzHughNagumo()
	h := 0.1
	m := RandomStep{Method: RungeKutta{Tableau: Midpoint}}
	limit := math.Pow(h, 1-2*2) / 3
	for _, scale := range []float64{0.999, 1.001} {
		s, err := probode.NewSolver(p, m, uniform(t, p, h), scale*limit)
		if err != nil {
			t.Fatal(err)
		}
		z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
		if err := s.Solve(z, p.Theta, xi); errors.Is(err, ErrStepSize) != (scale > 1) {
			t.Errorf("α = %g of the largest: %v", scale, err)
		}
	}
	cal, err := calibrate.Run(context.Background(), p, m, calibrate.Settings{StepSize: h, Paths: 100, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !(cal.Alpha > 0 && cal.Alpha < limit) {
		t.Errorf("calibrated α is %g, where steps vanish at %g", cal.Alpha, limit)
	}
}

func TestRandomStepRefuses(t *testing.T) {
	p := pendulum()
	g := uniform(t, p, 0.25)
	for _, c := range []struct {
		m    RandomStep
		want string
	}{
		{RandomStep{Method: adams.Bashforth{Steps: 2}}, "uses earlier steps"},
		{RandomStep{Method: adams.Moulton{Steps: 2}}, "uses earlier steps"},
		{RandomStep{Method: Gauss{}, Power: 0.3}, "Power"},
	} {
		if _, err := probode.NewSolver(p, c.m, g, 0.1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want an error with %q", c.m, err, c.want)
		}
	}
}
