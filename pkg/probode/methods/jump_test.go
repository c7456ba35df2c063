package methods_test

import (
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/methods"
)

// In x₁′ = −x₁, x₂′ = 0.05 or 1.5 the slope of x₂ jumps when x₁ falls below c, at the time
// log(10/c), so x₂ is known in closed form. For 50 values of c, error control finds that time
// in at most 2000 steps, wherever in a step the jump lies, with an error of at most the
// tolerance for each step.
// On equal steps Radau methods cross the jump. Their error is then at most the jump times h.
func TestJumpsOfF(t *testing.T) {
	jump := func(c float64) (*probode.Problem, float64) {
		p := &probode.Problem{Name: "jump", X0: []float64{10, 0}, Span: [2]float64{0, 3}, Autonomous: true}
		p.F = func(dst []float64, _ float64, x, _ []float64) {
			dst[0], dst[1] = -x[0], 0.05
			if x[0] < c {
				dst[1] = 1.5
			}
		}
		p.FJ = func(dst, jac []float64, t float64, x, theta []float64) {
			p.F(dst, t, x, theta)
			clear(jac)
			jac[0] = -1
		}
		at := math.Log(10 / c)
		return p, 0.05*at + 1.5*(3-at)
	}
	solve := func(m probode.Method, mesh probode.Mesh, c float64) (err float64, steps int) {
		p, want := jump(c)
		path, fault := probode.Setup{Method: m, Mesh: mesh}.Bind(t.Context(), p, nil, []float64{3})
		if fault != nil {
			t.Fatal(fault)
		}
		x := make([]float64, 2)
		if fault := path.States(t.Context(), x, nil, nil); fault != nil {
			t.Fatalf("%v, %v, c = %g: %v", m, mesh, c, fault)
		}
		return math.Abs(x[1] - want), path.Work()
	}
	for _, m := range []probode.Method{methods.Radau{}, methods.Radau{Stages: 2}, methods.Gauss{}, methods.Gauss{Stages: 1}} {
		for i := range 50 {
			c := 2 + 7.5*float64(i)/50
			tolerances := []float64{1e-2, 1e-4, 1e-6}
			if m == (methods.Radau{}) {
				tolerances = append(tolerances, 1e-12) // lower orders would need many more steps
			}
			for _, relative := range tolerances {
				if err, steps := solve(m, probode.Adaptive{Tolerance: probode.Tolerance{Relative: relative}}, c); err > float64(steps)*relative || steps > 2000 {
					t.Errorf("%v, rtol = %g, c = %g: error %.2g, %d steps", m, relative, c, err, steps)
				}
			}
			if _, ok := m.(methods.Radau); ok {
				if err, _ := solve(m, probode.Uniform(0.1), c); err > 0.1*1.45 {
					t.Errorf("%v, h = 0.1, c = %g: error %.2g", m, c, err)
				}
			}
		}
	}
}
