package filter

import (
	"context"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
)

// pair is two Lotka–Volterra systems with different starts; each component of the second
// one gets weak times that of the first.
func pair(weak float64) *probode.Problem {
	one := problems.LotkaVolterra()
	p := *one
	p.X0 = append(append([]float64(nil), one.X0...), 5, 3)
	p.Span = [2]float64{0, 5}
	p.States, p.FJ, p.FTheta, p.Pullback = nil, nil, nil, nil
	p.F = func(f []float64, t float64, x, theta []float64) {
		one.F(f[:2], t, x[:2], theta)
		one.F(f[2:], t, x[2:], theta)
		f[2] += weak * x[0]
		f[3] += weak * x[1]
	}
	return &p
}

// Where the blocks are not coupled, they give what the full Jacobian gives. Weak coupling
// changes little, and the filter still converges with its order.
func TestBlocks(t *testing.T) {
	for _, kind := range []Jacobian{Full, Cubature} {
		full := solve(t, pair(0), Settings{EK: EK{Q: 3, Jacobian: kind}, Mesh: probode.Uniform(.05), Alpha: 1})
		blocks := solve(t, pair(0), Settings{EK: EK{Q: 3, Jacobian: kind, Width: 2}, Mesh: probode.Uniform(.05), Alpha: 1})
		tol := 1e-10
		if kind == Cubature {
			tol = 1e-6 // points along the axes of blocks give a different rounding error of A
		}
		for k := range full.Mean {
			for i := range full.T {
				if !within(blocks.Mean[k][i], full.Mean[k][i], tol) || math.Abs(blocks.SD[k][i]-full.SD[k][i]) > tol*full.SD[k][i]+1e-14 {
					t.Fatalf("%v, component %d at time %d: %.15g ± %.15g: want %.15g ± %.15g", full.run.EK, k, i, blocks.Mean[k][i], blocks.SD[k][i], full.Mean[k][i], full.SD[k][i])
				}
			}
		}
	}
	want := states(t, pair(.05), EK{Q: 8}, probode.Uniform(.02), 5)
	var e [2]float64
	for i, h := range []float64{.05, .025} {
		x := states(t, pair(.05), EK{Q: 3, Width: 2}, probode.Uniform(h), 5)
		for k := range x {
			e[i] = math.Hypot(e[i], x[k]-want[k])
		}
	}
	if slope := math.Log2(e[0] / e[1]); !(slope > 2.9) {
		t.Errorf("weakly coupled blocks: errors %.2g, order %.2f", e, slope)
	}
	if _, err := Solve(context.Background(), pair(0), Settings{EK: EK{Q: 3, Width: 3}, Mesh: probode.Uniform(.05)}); err == nil {
		t.Error("blocks of 3 of 4 components: want an error")
	}
}

// On an affine field cubature is EK1.
func TestAffineCubature(t *testing.T) {
	for _, set := range []Settings{{}, {Alpha: 1}, {Alpha: 1e4}, {Varying: true}} {
		set.EK, set.Mesh = EK{Q: 3}, probode.Uniform(.1)
		want := solve(t, affine(), set)
		set.Jacobian = Cubature
		got := solve(t, affine(), set)
		for k := range 2 {
			for i := range want.T {
				if !within(got.Mean[k][i], want.Mean[k][i], 1e-12) || !within(got.SD[k][i], want.SD[k][i], 1e-10) {
					t.Errorf("α = %g, component %d at time %d: %.15g ± %.10g: want %.15g ± %.10g", set.Alpha, k, i, got.Mean[k][i], got.SD[k][i], want.Mean[k][i], want.SD[k][i])
				}
			}
		}
	}
}

// For x′ = −x²/2, the expectation of f under N(m, v) is −(m²+v)/2, and the slope of the
// regression of f on x is −m. The first step is compared with the Gaussian posterior that
// follows from these.
func TestCubature(t *testing.T) {
	p := &probode.Problem{X0: []float64{1}, Span: [2]float64{0, 1}, F: func(f []float64, _ float64, x, _ []float64) { f[0] = -x[0] * x[0] / 2 }}
	const h, alpha = 0.5, 4.0
	s := solve(t, p, Settings{EK: EK{Q: 1, Jacobian: Cubature}, Mesh: probode.Uniform(h), Alpha: alpha, Forward: true})
	m, dm := 1-0.5*h, -0.5 // prediction of x and x′
	v00, v01, v11 := alpha*h*h*h/3, alpha*h*h/2, alpha*h
	f, a := -(m*m+v00)/2, -m
	residual := dm - f
	cross, size := v01-a*v00, v11-2*a*v01+a*a*v00
	mean, sd := m-cross/size*residual, math.Sqrt(v00-cross*cross/size)
	if got, spread := s.Mean[0][1], s.SD[0][1]; !within(got, mean, 1e-12) || !within(spread, sd, 1e-10) {
		t.Errorf("after a step %.15g ± %.12g: want %.15g ± %.12g", got, spread, mean, sd)
	}
}

// oscillator is x″ = sin 2t − x with x(0) = −1 and x′(0) = 0, of [C16] of package gp.
func oscillator() *probode.Problem {
	return &probode.Problem{Name: "oscillator", X0: []float64{-1, 0}, Span: [2]float64{0, 10}, States: []string{"x", "x′"},
		F: func(f []float64, t float64, x, _ []float64) { f[0], f[1] = x[1], math.Sin(2*t)-x[0] }}
}

// oscillation returns the solution of oscillator at time t and its derivative.
func oscillation(t float64) [2]float64 {
	return [2]float64{-math.Cos(t) + 2./3*math.Sin(t) - math.Sin(2*t)/3, math.Sin(t) + 2./3*math.Cos(t) - 2./3*math.Cos(2*t)}
}

// With a prior of x alone the error falls with the order q. The error is about that of the
// doubled form, where x and x′ have a prior of order q−1 each.
func TestSecondOrder(t *testing.T) {
	want := oscillation(10)
	for q := 2; q <= 6; q++ {
		for _, m := range []EK{{Q: q, SecondOrder: true}, {Q: q, SecondOrder: true, Jacobian: Cubature}, {Q: q, SecondOrder: true, Jacobian: Zero}} {
			var e, doubled [2]float64
			for i, h := range []float64{.05, .025} {
				x := states(t, oscillator(), m, probode.Uniform(h), 10)
				e[i] = math.Hypot(x[0]-want[0], x[1]-want[1])
				x = states(t, oscillator(), EK{Q: q - 1}, probode.Uniform(h), 10)
				doubled[i] = math.Hypot(x[0]-want[0], x[1]-want[1])
			}
			if m.Jacobian == Full && !(e[1] < 1.5*doubled[1]) {
				t.Errorf("%v: error %.2g: the doubled form has %.2g", m, e[1], doubled[1])
			}
			if slope := math.Log2(e[0] / e[1]); !(slope > float64(q)-0.3) {
				t.Errorf("%v: errors %.2g, order %.2f", m, e, slope)
			}
		}
	}
	p := problems.LotkaVolterra()
	if _, err := Solve(context.Background(), p, Settings{EK: EK{Q: 3, SecondOrder: true}, Mesh: probode.Uniform(.1)}); err == nil {
		t.Error("Lotka–Volterra is not of second order: want an error")
	}
}

// The first step for q = 2 is that of a Gaussian computation: x″ + x is observed.
func TestSecondOrderStep(t *testing.T) {
	const h, alpha = 0.5, 4.0
	s := solve(t, oscillator(), Settings{EK: EK{Q: 2, SecondOrder: true}, Mesh: probode.Uniform(h), Alpha: alpha, Forward: true})
	m := [3]float64{-1 + h*h/2, h, 1} // prediction of x, x′ and x″
	c := [3][3]float64{}              // its covariance
	for i := range 3 {
		for j := range 3 {
			n := float64(5 - i - j)
			c[i][j] = alpha * math.Pow(h, n) / n / math.Gamma(float64(3-i)) / math.Gamma(float64(3-j))
		}
	}
	residual, size := m[2]+m[0]-math.Sin(2*h), c[0][0]+2*c[0][2]+c[2][2]
	for k := range 2 {
		cross := c[k][0] + c[k][2]
		mean, sd := m[k]-cross/size*residual, math.Sqrt(c[k][k]-cross*cross/size)
		if got, spread := s.Mean[k][1], s.SD[k][1]; !within(got, mean, 1e-13) || !within(spread, sd, 1e-11) {
			t.Errorf("component %d after a step: %.15g ± %.12g: want %.15g ± %.12g", k, got, spread, mean, sd)
		}
	}
}

// On an affine field of second order Fenrir and DALTON are the same, also if the state
// jumps. One runs backwards, the other forwards.
func TestSecondOrderLikelihood(t *testing.T) {
	p := oscillator()
	p.Span[1] = 2
	p.Events = []probode.Event{{Time: .5, Jump: func(x []float64, _ float64, _ []float64) { x[0], x[1] = x[0]+.1*x[1], .5*x[1]-.2 }}}
	times := []float64{.4, .8, 1.2, 2}
	y := [][]float64{{-.9, math.NaN()}, {math.NaN(), .3}, {-.4, .4}, {.1, math.NaN()}}
	for _, m := range []EK{{Q: 2, SecondOrder: true}, {Q: 4, SecondOrder: true}, {Q: 3, SecondOrder: true, Jacobian: Cubature}} {
		f := logLikelihood(t, p, m, probode.Through(.2), times, y, false)
		d := logLikelihood(t, p, m, probode.Through(.2), times, y, true)
		if !within(f, d, 1e-6) {
			t.Errorf("%v: Fenrir %.10g, DALTON %.10g", m, f, d)
		}
	}
}

// Under error control cubature takes about as many steps as EK1, also where the size of
// the residuals changes by orders of magnitude. Its smoothed spread fits the error.
func TestCubatureErrorControl(t *testing.T) {
	p := problems.FitzHughNagumo()
	ref := solve(t, p, Settings{EK: EK{Q: 8}, Mesh: probode.Uniform(.01)})
	var steps [2]int
	for i, kind := range []Jacobian{Full, Cubature} {
		s := solve(t, p, Settings{EK: EK{Q: 3, Jacobian: kind}, Varying: true, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-4}}})
		steps[i] = len(s.T)
		for _, at := range []float64{3.3, 7.31, 20} {
			mean, sd := s.At(at)
			want, _ := ref.At(at)
			for k := range mean {
				if e := math.Abs(mean[k] - want[k]); !(e < 1e-4 && e < 4*sd[k]) {
					t.Errorf("%v, component %d at t = %g: error %.2g with a standard deviation of %.2g", s.run.EK, k, at, e, sd[k])
				}
			}
		}
	}
	if r := float64(steps[1]) / float64(steps[0]); !(r > .9 && r < 1.1) {
		t.Errorf("cubature takes %d steps, EK1 %d", steps[1], steps[0])
	}
}
