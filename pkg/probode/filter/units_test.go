package filter

import (
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
)

// uptake is a saturating loss from a first compartment to a second, which are empty at the
// start and get doses, in other units: x is multiplied by unit, and t by time.
func uptake(unit, time float64) *probode.Problem {
	p := &probode.Problem{Name: "uptake", X0: []float64{0, 0}, Span: [2]float64{0, 3 * time}, Autonomous: true,
		F: func(f []float64, _ float64, x, _ []float64) {
			flow := 2 * x[0] / (unit + x[0])
			f[0], f[1] = -flow*unit/time, (flow*unit-.3*x[1])/time
		},
		FJ: func(f, jac []float64, _ float64, x, _ []float64) {
			flow := 2 * x[0] / (unit + x[0])
			f[0], f[1] = -flow*unit/time, (flow*unit-.3*x[1])/time
			slope := 2 * unit / (unit + x[0]) * unit / (unit + x[0]) / time
			jac[0], jac[2], jac[3] = -slope, slope, -.3/time
		}}
	p.Events = append(probode.Doses(0, 3*unit, .5*time), probode.Doses(1, unit, 2*time)...)
	return p
}

// In other units of the state and of time, means and standard deviations are the same
// in these units, and so are likelihoods apart from the units of the densities. κ² has
// the unit of x² t^{−2q−1}. Before the first dose everything is zero, and the step of a
// difference must not be larger than what is small in the given units.
func TestUnits(t *testing.T) {
	for _, m := range []EK{{Q: 1}, {Q: 3}, {Q: 2, Jacobian: Zero}, {Q: 2, Jacobian: Cubature}, {Q: 2, Width: 1}} {
		power := -float64(2*m.Q + 1)
		plain := solve(t, uptake(1, 1), Settings{EK: m, Mesh: probode.Uniform(.1), Alpha: .2})
		for _, c := range []struct{ unit, time float64 }{{1e-9, 1}, {1e-5, 1}, {1e7, 1}, {1e40, 1}, {1e-12, 1}, {1, 1e-6}, {1, 1e8}, {1e-9, 1e4}} {
			s := solve(t, uptake(c.unit, c.time), Settings{EK: m, Mesh: probode.Uniform(.1 * c.time), Alpha: .2 * c.unit * c.unit * math.Pow(c.time, power)})
			if len(s.T) != len(plain.T) {
				t.Fatalf("%v, units %v: %d times: want %d", m, c, len(s.T), len(plain.T))
			}
			for k := range 2 {
				for i := range s.T {
					mean, sd := s.Mean[k][i]/c.unit, s.SD[k][i]/c.unit
					if !within(mean, plain.Mean[k][i], 1e-6) || !(math.Abs(sd-plain.SD[k][i]) <= 1e-5*plain.SD[k][i]+1e-12) {
						t.Errorf("%v, units %v, component %d at time %d: %.10g ± %.8g: want %.10g ± %.8g", m, c, k, i, mean, sd, plain.Mean[k][i], plain.SD[k][i])
						return
					}
				}
			}
		}
	}
}
