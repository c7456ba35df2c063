package probode_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// Solver.Stepper has the past of a path: its step is the next row of the path,
// bit for bit, before and behind an event, and so is its estimate of the error.
func TestStepperHasPast(t *testing.T) {
	p := problems.FitzHughNagumo()
	p.FJ = nil // f beside J would differ from F by rounding
	p.Span[1] = 2
	p.Events = Doses(0, 0.5, 1)
	methods := []Method{methods.RungeKutta{}}
	for s := range 5 {
		methods = append(methods, adams.Bashforth{Steps: s + 1})
		for _, l := range []adams.Linearization{adams.Newton, adams.Current, adams.Predictor} {
			methods = append(methods, adams.Moulton{Steps: s, Linearize: l})
		}
	}
	for _, m := range methods {
		s := mustSolver(t, p, m, 0.02, 1e-3)
		z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
		if err := s.SolvePath(z, p.Theta, xi, 1, 1); err != nil {
			t.Fatal(err)
		}
		other := s.Clone()
		next, local, again := make([]float64, 2), make([]float64, 2), make([]float64, 2)
		for _, i := range []int{0, 1, 4, 30, 49, 51, 52, 55, 90} {
			from, _ := s.Grid().Segment(i)
			x, n := z[2*i:2*i+2], s.Normals()
			step, one, err := s.Stepper(i, z[:2*i+2], p.Theta)
			if err != nil {
				t.Fatal(err)
			}
			if one.Next = next; i >= s.Startup() {
				one.Xi = xi[i*n : (i+1)*n]
			}
			if err := step.Step(one); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(next, z[2*i+2:2*i+4]) {
				t.Errorf("%v: step %d gives %v: want %v", m, i, next, z[2*i+2:2*i+4])
			}
			if step.LocalError == nil {
				continue
			}
			// The same estimate behind all steps of the segment.
			b, _, err := other.Stepper(from, z, p.Theta)
			if err != nil {
				t.Fatal(err)
			}
			var last Step
			for j := from; j <= i; j++ {
				last = Step{T: s.Times()[j], End: s.Times()[j+1], H: s.Grid().H(j), Index: j, X: z[2*j : 2*j+2], Next: next, Theta: p.Theta}
				if err := b.Step(&last); err != nil {
					t.Fatal(err)
				}
			}
			one.X, one.Xi = x, nil
			if err := step.LocalError(local, one); err != nil {
				t.Fatal(err)
			}
			if err := b.LocalError(again, &last); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(local, again) {
				t.Errorf("%v: error of step %d is %v: want %v", m, i, local, again)
			}
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v: the event has a Stepper", m)
				}
			}()
			s.Stepper(50, z, p.Theta)
		}()
	}
}

// A Pullback that disagrees with F is an error that names the derivative.
func TestWrongPullback(t *testing.T) {
	for k, want := range []string{"", "x[1]", "b"} {
		p := &Problem{
			F: func(dst []float64, _ float64, x, th []float64) { dst[0], dst[1] = th[0]*x[1], -th[1]*x[0] },
			Pullback: func(dx, dth, l []float64, _ float64, x, th []float64) float64 {
				wrong := [3]float64{1, 1, 1}
				wrong[k] = 1.1
				dx[0] -= l[1] * th[1]
				dx[1] += l[0] * th[0] * wrong[1]
				dth[0] += l[0] * x[1]
				dth[1] -= l[1] * x[0] * wrong[2]
				return 0
			},
			X0: []float64{1, 2}, Theta: []float64{0.5, 0.7}, Params: []string{"a", "b"}, Span: [2]float64{0, 1},
		}
		g, err := UniformGrid(p, nil, 0.1)
		if err != nil {
			t.Fatal(err)
		}
		_, err = NewSolver(p, methods.RungeKutta{}, g, 0)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), "with respect to "+want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
