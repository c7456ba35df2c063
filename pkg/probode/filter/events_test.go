package filter

import (
	"testing"

	"github.com/probode/probode/pkg/probode"
)

// A dose adds the same amount to whatever is left, so it leaves the standard deviation as it
// is. This is so for any size of what is left, also if it is so small that its last
// digit is lost in the sum: then the uncertainty must not be lost, too.
func TestDoseKeepsUncertainty(t *testing.T) {
	for _, left := range []float64{0, 1e-300, 1e-40, 1e-20, 1e-9, 1e-3, 1, 1e9} {
		p := &probode.Problem{X0: []float64{left}, Span: [2]float64{0, 2}, Events: probode.Doses(0, 8, 1),
			F: func(f []float64, _ float64, x, _ []float64) { f[0] = -x[0] }}
		for _, m := range []EK{{Q: 1}, {Q: 3}, {Q: 2, Jacobian: Zero}, {Q: 2, Jacobian: Cubature}} {
			s := solve(t, p, Settings{EK: m, Mesh: probode.Uniform(.25), Alpha: 1, Forward: true})
			if s.T[4] != 1 || s.T[5] != 1 {
				t.Fatalf("the grid is %g", s.T)
			}
			if got, want := s.SD[0][5], s.SD[0][4]; !(want > 0) || !within(got/want, 1, 1e-5) {
				t.Errorf("%v, %g left: the sd after the dose is %.8g: want %.8g, as before it", m, left, got, want)
			}
			if got, want := s.Mean[0][5], s.Mean[0][4]+8; got != want {
				t.Errorf("%v, %g left: the mean after the dose is %.15g: want %.15g", m, left, got, want)
			}
		}
	}
}
