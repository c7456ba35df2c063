package calibrate_test

import (
	"math"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// doublePendulum has arms and masses of one, and is released from the given angles.
func doublePendulum(angle, span float64) *Problem {
	return &Problem{Name: "double pendulum", X0: []float64{angle, angle, 0, 0}, Span: [2]float64{0, span}, Autonomous: true,
		F: func(f []float64, _ float64, x, _ []float64) {
			const g = 9.81
			sin, cos := math.Sincos(x[0] - x[1])
			over := 1 / (2 - cos*cos)
			f[0], f[1] = x[2], x[3]
			f[2] = over * (-2*g*math.Sin(x[0]) + g*cos*math.Sin(x[1]) - sin*(x[3]*x[3]+x[2]*x[2]*cos))
			f[3] = over * (2*(g*math.Sin(x[0])*cos-g*math.Sin(x[1])+x[2]*x[2]*sin) + x[3]*x[3]*sin*cos)
		}}
}

// driven decays, with the input added.
func driven(input func(t float64) float64) *Problem {
	return &Problem{Name: "driven", X0: []float64{1}, Span: [2]float64{0, 10},
		F: func(f []float64, t float64, x, _ []float64) { f[0] = input(t) - x[0] }}
}

// Run warns if α* belongs to one step size alone, as behind a pulse or a jump of f that
// is not an event, and if the error is as large as the state. It does not warn if f is
// smooth and the step is short.
func TestWarningsOfTheError(t *testing.T) {
	pulse := driven(func(t float64) float64 {
		if t > 3 && t < 3.1 {
			return 100
		}
		return 0
	})
	jump := driven(func(t float64) float64 { return math.Copysign(1, t-math.Pi) })
	saw := driven(func(t float64) float64 { return t - math.Floor(t/math.Sqrt2)*math.Sqrt2 })
	const order, lost = "when the steps are halved", "of the standard deviation of the state"
	for _, c := range []struct {
		p       *Problem
		m       Method
		h       float64
		warning string // none if empty
	}{
		{pulse, methods.RungeKutta{}, 0.1, lost},
		{pulse, methods.RungeKutta{}, 0.05, order},
		{pulse, adams.Bashforth{Steps: 3}, 0.05, order},
		{jump, adams.Moulton{Steps: 3}, 0.05, order},
		{saw, methods.RungeKutta{}, 0.05, order},
		{doublePendulum(math.Pi/2, 15), adams.Moulton{}, 0.0375, lost},
		{doublePendulum(math.Pi/2, 15), adams.Bashforth{}, 0.01, lost},
		{driven(math.Sin), methods.RungeKutta{}, 0.1, ""},
		{driven(math.Sin), adams.Moulton{}, 0.05, ""},
		{doublePendulum(0.5, 2), adams.Moulton{Steps: 1}, 0.0125, ""},
		{problems.FitzHughNagumo(), adams.Moulton{}, 0.05, ""},
		{problems.FitzHughNagumo(), adams.Moulton{Steps: 2, Linearize: adams.Current}, 0.05, ""},
		{problems.LotkaVolterra(), methods.RungeKutta{}, 0.05, ""},
	} {
		cal, err := calibrate.Run(t.Context(), c.p, c.m, calibrate.Settings{StepSize: c.h, Scaling: ScaleLocal, Paths: 100})
		if err != nil {
			t.Errorf("%s, %v, h = %g: %v", c.p.Name, c.m, c.h, err)
			continue
		}
		said := strings.Join(cal.Warnings, "; ")
		if c.warning == "" && (strings.Contains(said, order) || strings.Contains(said, lost)) || !strings.Contains(said, c.warning) {
			t.Errorf("%s, %v, h = %g: α* = %.3g, warnings %q: want %q", c.p.Name, c.m, c.h, cal.Alpha, cal.Warnings, c.warning)
		}
	}
}
