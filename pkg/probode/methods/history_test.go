package methods_test

import (
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/probode/probode/pkg/probode/methods"

	"github.com/probode/probode/pkg/probode"
)

// A solution does not depend on what was solved before it, to the last bit.
func TestRunsForget(t *testing.T) {
	p := &probode.Problem{Name: "forced", X0: []float64{0}, Span: [2]float64{0, 2}, Theta: []float64{100, 2},
		F: func(f []float64, t float64, x, th []float64) { f[0] = th[0] * (0.4575*math.Cos(th[1]*t) - x[0]) }}
	times := []float64{1.162, 1.221, 2}
	for _, m := range []probode.Method{Auto{}, Radau{}, BDF{}, RungeKutta{Tableau: DormandPrince}, RungeKutta{Tableau: DormandPrince8}} {
		bind := func() probode.Path {
			path, err := probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}}}.Bind(t.Context(), p, []float64{100, 2}, times)
			if err != nil {
				t.Fatal(err)
			}
			return path
		}
		used := bind()
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range 50 {
			theta := []float64{math.Exp(6 * rng.Float64()), 5 * rng.Float64()}
			x, y := make([]float64, len(times)), make([]float64, len(times))
			if err := used.States(t.Context(), x, theta, nil); err != nil {
				t.Fatal(err)
			}
			if err := bind().States(t.Context(), y, theta, nil); err != nil {
				t.Fatal(err)
			}
			if distance(x, y) != 0 {
				t.Errorf("%v: solution %d at %v differs by %.2g from that of a new path", m, i, theta, distance(x, y))
				break
			}
		}
	}
}
