package methods_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/reference"
)

// Components twelve and more orders of magnitude below the largest one are as accurate as
// the tolerance says, whether they begin at zero or not. A component that consists of
// rounding errors stops no method; of the reference, which estimates relative errors, it is
// not asked. The closed forms: with y = a (1 + t) the substrate
// 1/s = 1/s₀ + a (t + t²/2) has the product s₀ − s, and 3u − v stays zero if v = 3u.
func TestSmallComponents(t *testing.T) {
	const a, s0, tiny = 1e6, 1e-6, 1e-14
	c := 1e-9
	p := &probode.Problem{Name: "small", Span: [2]float64{0, 3}, Autonomous: true,
		X0: []float64{a, s0, 0, tiny, 1, 3, 0},
		F: func(f []float64, _ float64, x, _ []float64) {
			r := x[0] * x[1] * x[1]
			f[0], f[1], f[2], f[3] = a, -r, r, -40*x[3]
			f[4], f[5], f[6] = -x[4], -x[5], c*(3*x[4]-x[5])
		},
		FJ: func(f, jac []float64, _ float64, x, _ []float64) {
			r, r0, r1 := x[0]*x[1]*x[1], x[1]*x[1], 2*x[0]*x[1]
			f[0], f[1], f[2], f[3] = a, -r, r, -40*x[3]
			f[4], f[5], f[6] = -x[4], -x[5], c*(3*x[4]-x[5])
			jac[7], jac[8], jac[14], jac[15], jac[24] = -r0, -r1, r0, r1, -40
			jac[32], jac[40], jac[46], jac[47] = -1, -1, 3*c, -c
		}}
	times := []float64{0.1, 0.7, 3}
	for _, name := range []string{"dp5", "rk4", "radau5", "bdf", "auto", "reference"} {
		for _, tol := range []float64{1e-3, 1e-6} {
			setup := probode.Setup{Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: tol}}}
			if name == "reference" {
				c = 0
				setup.Mesh = reference.Accurate{Tolerance: probode.Tolerance{Relative: tol}}
			} else {
				m, err := catalog.Parse(name)
				if err != nil {
					t.Fatal(err)
				}
				setup.Method = m
			}
			what := fmt.Sprintf("%s at %g", name, tol)
			path, err := setup.Bind(context.Background(), p, nil, times)
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			x := make([]float64, len(times)*p.Dim())
			if err := path.States(context.Background(), x, nil, nil); err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			if n := path.Work(); n > 3000 {
				t.Errorf("%s: %d steps", what, n)
			}
			for i, at := range times {
				s := 1 / (1/s0 + a*(at+at*at/2))
				for k, want := range []float64{a * (1 + at), s, s0 - s, tiny * math.Exp(-40*at)} {
					// The tolerance is for each step; errors of the steps add up. An
					// absolute tolerance is a thousandth of the relative one.
					size := max(want, 1e-3*[]float64{4 * a, s0, s0, tiny}[k])
					if got := x[i*p.Dim()+k]; math.Abs(got-want) > 100*tol*size {
						t.Errorf("%s: component %d at %g is %.10g: want %.10g", what, k, at, got, want)
					}
				}
			}
		}
	}
}
