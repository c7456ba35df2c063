package probode_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// The noise of ScaleLocal is √α l √N ξ in its component and nothing else, in
// every step, those of the start included.
func TestScaleLocal(t *testing.T) {
	p := problems.LotkaVolterra20()
	p.Span[1] = p.Span[0] + 2
	for _, m := range every() {
		frozen := mustSolverOn(t, p, m, mustFrozen(t, p, m, 1e-3, p.Span[0]+1), 0.3)
		uniform := mustSolver(t, p, m, 1./32, 0.3)
		for name, s := range map[string]*Solver{"frozen": frozen, "uniform": uniform} {
			local := s.Grid().Local()
			if name == "uniform" {
				if local != nil {
					t.Fatalf("%v: a uniform grid with local errors", m)
				}
				if err := s.SetScaling(ScaleLocal, p.Theta); err != nil {
					t.Fatal(err)
				}
			}
			z := solve(t, s, nil)
			for _, a := range []float64{0.3, 0.7} {
				s.SetAlpha(a)
				for _, i := range []int{0, 1, 5, s.Steps() - 1} {
					for k := range 2 {
						xi := make([]float64, s.NoiseLen())
						xi[2*i+k] = 1
						y := solve(t, s, xi)
						got, other := y[2*i+2+k]-z[2*i+2+k], y[2*i+3-k]-z[2*i+3-k]
						if local != nil {
							want := math.Sqrt(a*float64(s.Steps())) * local[2*i+k]
							if math.Abs(got-want) > 1e-13*(1+math.Abs(z[2*i+2+k])) {
								t.Errorf("%v, %s: noise %g in step %d, want %g", m, name, got, i, want)
							}
						} else if got <= 0 {
							t.Errorf("%v, %s: noise %g in step %d", m, name, got, i)
						}
						if other != 0 {
							t.Errorf("%v, %s: noise %g in the other component", m, name, other)
						}
					}
				}
			}
			// And back.
			if err := s.SetScaling(ScaleStep, nil); err != nil {
				t.Fatal(err)
			}
			s.SetAlpha(0.3)
			if want := m.Noise(2).Quiet; s.Startup() != want {
				t.Errorf("%v: %d steps without noise, want %d", m, s.Startup(), want)
			}
		}
	}
}

// singly takes the steps of a Method one at a time.
type singly struct{ Method }

func (m singly) Stepper(p *Problem, g *Grid) (*Stepper, error) {
	s, err := m.Method.Stepper(p, g)
	if err == nil {
		s.Run = nil
	}
	return s, err
}

// Many steps in one call with ScaleLocal have the bits of single steps.
func TestScaleLocalRuns(t *testing.T) {
	for _, p := range []*Problem{problems.Logistic(), problems.FitzHughNagumo(), problems.Lorenz63(), problems.Lorenz96(6)} {
		p.Span[1] = p.Span[0] + 1
		for _, m := range []Method{adams.Bashforth{Steps: 3}, adams.Moulton{Linearize: adams.Current}, adams.Moulton{Steps: 2, Linearize: adams.Current}, adams.Moulton{Steps: 3}, methods.RungeKutta{}} {
			var paths [2][]float64
			for i, m := range []Method{m, singly{m}} {
				s := mustSolver(t, p, m, 1./128, 0.3)
				if err := s.SetScaling(ScaleLocal, p.Theta); err != nil {
					t.Fatal(err)
				}
				xi := make([]float64, s.NoiseLen())
				DrawNoise(xi, 1, 2)
				paths[i] = solve(t, s, xi)
			}
			if !slices.Equal(paths[0], paths[1]) {
				t.Errorf("%s, %v: the paths differ", p.Name, m)
			}
		}
	}
}

// Where local errors have the same sign and f does not depend on x, α = 1 says
// how large the error is: for x′ = t by forward Euler, T h/2 at the end, on
// uniform grids and, with steps of any length, never less.
func TestScaleLocalSumsUp(t *testing.T) {
	p := &Problem{Name: "p", X0: []float64{0, 0}, Span: [2]float64{0, 3},
		F: func(f []float64, t float64, _, _ []float64) { f[0], f[1] = t, 1e-6*t }}
	g := mustGrid(t)(NewGrid(p, nil, []float64{0.1, 0.3, 0.35, 1, 1.5, 1.6, 2.5}))
	for name, s := range map[string]*Solver{"uniform": mustSolver(t, p, adams.Bashforth{}, 0.125, 1), "given": mustSolverOn(t, p, adams.Bashforth{}, g, 1)} {
		if err := s.SetScaling(ScaleLocal, nil); err != nil {
			t.Fatal(err)
		}
		z := solve(t, s, nil)
		for k, unit := range []float64{1, 1e-6} {
			var variance float64
			for i := range s.Steps() {
				xi := make([]float64, s.NoiseLen())
				xi[2*i+k] = 1
				y := solve(t, s, xi)
				d := y[len(y)-2+k] - z[len(z)-2+k]
				variance += d * d
			}
			sd, e := math.Sqrt(variance), math.Abs(4.5*unit-z[len(z)-2+k])
			if name == "uniform" && math.Abs(sd/e-1) > 1e-6 || sd < e*(1-1e-6) { // rounding of numbers of size 4.5
				t.Errorf("%s: sd %.9g, error %.9g", name, sd, e)
			}
		}
	}
}

// √α multiplies the noise of the method, on uniform grids and others.
func TestSetAlpha(t *testing.T) {
	p := problems.LotkaVolterra20()
	p.Span[1] = p.Span[0] + 1
	for _, m := range every() {
		for name, g := range map[string]*Grid{"uniform": mustUniform(t, p, 1./16), "through": mustGrid(t)(Setup{Mesh: Through(1. / 16)}.Grid(ctx(), p, nil, []float64{p.Span[0] + 0.31}))} {
			s := mustSolverOn(t, p, m, g, 1)
			i := s.Startup()
			z := solve(t, s, nil)
			effect := func(k int) (d [2]float64) {
				xi := make([]float64, s.NoiseLen())
				xi[2*i+k] = 1
				y := solve(t, s, xi)
				return [2]float64{y[2*i+2] - z[2*i+2], y[2*i+3] - z[2*i+3]}
			}
			one := [2][2]float64{effect(0), effect(1)}
			const alpha = 0.04
			s.SetAlpha(alpha)
			for k := range 2 {
				for c, got := range effect(k) {
					if want := math.Sqrt(alpha) * one[k][c]; math.Abs(got-want) > 1e-13 {
						t.Errorf("%v, %s: normal %d moves component %d by %g, want %g", m, name, k, c, got, want)
					}
				}
			}
		}
	}
	s := mustSolver(t, p, methods.RungeKutta{}, 0.25, 1)
	for _, bad := range []float64{-1, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("SetAlpha(%g) does not panic", bad)
				}
			}()
			s.SetAlpha(bad)
		}()
	}
}

// A component that the method solves exactly has rounding for an error, which
// must not take part in the choice of α.
func TestCalibrateLeavesOutRounding(t *testing.T) {
	p := &Problem{Name: "p", X0: []float64{1, 0}, Span: [2]float64{0, 2},
		F: func(f []float64, _ float64, x, _ []float64) { f[0], f[1] = -x[0], 1./3 }}
	both, err := calibrate.Run(ctx(), p, adams.Bashforth{}, calibrate.Settings{StepSize: 0.1, Paths: 100})
	if err != nil {
		t.Fatal(err)
	}
	one, err := calibrate.Run(ctx(), p, adams.Bashforth{}, calibrate.Settings{StepSize: 0.1, Paths: 100, Components: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	if both.Alpha != one.Alpha || len(both.Warnings) == 0 || !strings.HasPrefix(both.Warnings[len(both.Warnings)-1], "20 of 40 points") {
		t.Errorf("α* = %g with an exact component, %q; %g without", both.Alpha, both.Warnings, one.Alpha)
	}
}
