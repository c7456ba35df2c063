package adams

import (
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
)

// With noise scaled by local errors and α = 1/N for N steps, the standard deviation of a
// step is the local truncation error, as for the Gaussian process of [T16]. For x′ = tˢ
// that is C h^{s+1} s!, with the error constant C of the method.
func TestSpreadOfTruncation(t *testing.T) {
	const n = 20
	for i, c := range []float64{1. / 2, 5. / 12, 3. / 8, 251. / 720, 95. / 288} {
		s := i + 1
		p := &probode.Problem{X0: []float64{0}, Span: [2]float64{0, 1}, F: func(f []float64, t float64, _, _ []float64) { f[0] = math.Pow(t, float64(s)) }}
		g, err := probode.UniformGrid(p, nil, 1./n)
		if err != nil {
			t.Fatal(err)
		}
		solver, err := probode.NewSolver(p, Bashforth{Steps: s}, g, 1./n)
		if err != nil {
			t.Fatal(err)
		}
		if err := solver.SetScaling(probode.ScaleLocal, nil); err != nil {
			t.Fatal(err)
		}
		path, classical, xi := make([]float64, n+1), make([]float64, n+1), make([]float64, n)
		xi[12] = 1
		if err := solver.Solve(path, nil, xi); err != nil {
			t.Fatal(err)
		}
		if err := solver.Solve(classical, nil, nil); err != nil {
			t.Fatal(err)
		}
		want := c * math.Pow(1./n, float64(s+1)) * math.Gamma(float64(s+1))
		if got := path[13] - classical[13]; math.Abs(math.Abs(got)/want-1) > 1e-6 {
			t.Errorf("AB%d: the standard deviation of a step is %.8g: want %.8g", s, got, want)
		}
	}
}
