package methods_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/probode/probode/pkg/probode"
	. "github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// adaptive returns a path with error control, and its states at 20 times.
func adaptive(t *testing.T, p *probode.Problem, m probode.Method, tol probode.Tolerance, theta []float64) (probode.Path, []float64) {
	t.Helper()
	times := make([]float64, 20)
	for i := range times {
		times[i] = p.Span[0] + (p.Span[1]-p.Span[0])*float64(i+1)/20
	}
	path, err := probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: tol}}.Bind(context.Background(), p, nil, times)
	if err != nil {
		t.Fatal(err)
	}
	return path, states(t, path, theta, len(times)*p.Dim())
}

func states(t *testing.T, path probode.Path, theta []float64, n int) []float64 {
	t.Helper()
	z := make([]float64, n)
	if err := path.States(context.Background(), z, theta, nil); err != nil {
		t.Fatal(err)
	}
	return z
}

func keptCases() []*probode.Problem {
	orego := problems.Oregonator()
	orego.Span[1] = 360
	return []*probode.Problem{problems.HIRES(), problems.Robertson(), orego, problems.VanDerPol(1e3), problems.Brusselator(20)}
}

// Adaptive runs evaluate few Jacobians: one in 4 to 20 steps, and one in 2 on the Oregonator
// with 1e-4. Newton's method leaves a
// hundredth of the tolerance in each step, so the path differs by less than the tolerance
// from that of the same steps solved up to rounding errors, which Hold returns, unless the
// problem amplifies errors.
func TestKeptJacobian(t *testing.T) {
	for _, m := range []probode.Method{BDF{}, Radau{}, Radau{Stages: 2}, Auto{}} {
		keepsJacobian(t, m)
	}
}

func keepsJacobian(t *testing.T, m probode.Method) {
	all, steps := 0, 0
	defer func() {
		if all > steps/4 {
			t.Errorf("%v: %d Jacobians in %d steps, want at most a quarter", m, all, steps)
		}
	}()
	for _, p := range keptCases() {
		for _, rel := range []float64{1e-4, 1e-6} {
			n := 0
			counted := *p
			counted.FJ = func(f, jac []float64, t float64, x, theta []float64) {
				n++
				p.FJ(f, jac, t, x, theta)
			}
			tol := probode.Tolerance{Relative: rel}
			path, z := adaptive(t, &counted, m, tol, p.Theta)
			all, steps = all+n, steps+path.Work()
			jacobians := n
			held, err := path.(probode.Holdable).Hold(context.Background(), p.Theta)
			if err != nil {
				t.Fatal(err)
			}
			y, d := states(t, held, p.Theta, len(z)), p.Dim()
			size := make([]float64, d)
			for i, v := range y {
				size[i%d] = max(size[i%d], math.Abs(v))
			}
			off, amplified := 0., 1.
			if p.Name == "van der Pol" || p.Name == "Oregonator" {
				amplified = 30 // a change of the time of a jump
			}
			for i, v := range z {
				off = max(off, math.Abs(v-y[i])/size[i%d])
			}
			t.Logf("%v, %s, %g: %d Jacobians in %d steps, off %.2g", m, p.Name, rel, jacobians, path.Work(), off)
			if !(off <= amplified*rel) {
				t.Errorf("%v, %s, %g: the path is off by %g, want at most %g", m, p.Name, rel, off, amplified*rel)
			}
		}
	}
}

// What a run keeps ends with it: the states depend on θ alone, to the last bit, and not
// on the θ of the run before. A held path and its derivative belong together: differences
// of fourth order of the held path confirm the derivative.
func TestKeptJacobianLeavesNoTrace(t *testing.T) {
	for _, m := range []probode.Method{BDF{}, Radau{}, Auto{}} {
		leavesNoTrace(t, m)
	}
}

func leavesNoTrace(t *testing.T, m probode.Method) {
	for _, p := range keptCases() {
		tol := probode.Tolerance{Relative: 1e-5}
		path, z := adaptive(t, p, m, tol, p.Theta)
		other := slices.Clone(p.Theta)
		if len(other) == 0 {
			continue
		}
		other[0] *= 1.01
		states(t, path, other, len(z))
		if !slices.Equal(states(t, path, p.Theta, len(z)), z) {
			t.Errorf("%v, %s: the states depend on the run before", m, p.Name)
		}
		held, err := path.(probode.Holdable).Hold(context.Background(), p.Theta)
		if err != nil {
			t.Fatal(err)
		}
		direction, x, dx := make([]float64, len(other)), make([]float64, len(z)), make([]float64, len(z))
		direction[0] = p.Theta[0]
		if err := held.(probode.Tangential).Tangents(context.Background(), x, dx, p.Theta, direction, nil); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x, states(t, held, p.Theta, len(z))) {
			t.Errorf("%v, %s: the states with and without derivatives differ", m, p.Name)
		}
		at := func(h float64) []float64 {
			other[0] = p.Theta[0] * (1 + h)
			return states(t, held, other, len(z))
		}
		if p.Name != "Robertson" {
			continue // differences of f or of the path with respect to θ are less accurate
		}
		const h = 1e-3
		a, b, c, e := at(2*h), at(h), at(-h), at(-2*h)
		worst, size := 0., 0.
		for i, v := range dx {
			size = max(size, math.Abs(v))
			worst = max(worst, math.Abs((8*(b[i]-c[i])-(a[i]-e[i]))/(12*h)-v))
		}
		t.Logf("%v, %s: derivative off by %.2g", m, p.Name, worst/size)
		if !(worst <= 1e-8*size) { // 3e-10 to 4e-9 on grids of other spans and tolerances
			t.Errorf("%v, %s: the derivative is off by %g of %g", m, p.Name, worst, size)
		}
	}
}

// The solution of x' = 1/cos x, x(0) = 1, ends at t = 1 − sin 1. A Jacobian from its end
// makes every correction small, elsewhere too: BDF must not take them for convergence.
func TestKeptJacobianNearPole(t *testing.T) {
	for _, rel := range []float64{1e-4, 1e-6, 1e-8} {
		p := &probode.Problem{X0: []float64{1}, Span: [2]float64{0, 1}, Autonomous: true,
			F: func(dst []float64, _ float64, x, _ []float64) { dst[0] = 1 / math.Cos(x[0]) }}
		path, err := probode.Setup{Method: BDF{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: rel}}}.Bind(context.Background(), p, nil, []float64{1})
		x := []float64{0}
		if err == nil {
			err = path.States(context.Background(), x, nil, nil)
		}
		if err == nil {
			t.Errorf("tolerance %g: x(1) = %g, want an error", rel, x[0])
		}
	}
}
