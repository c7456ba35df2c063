package steplaw_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/steplaw"
)

// Noise that is added to the state by local errors has no exact distribution,
// and must not be taken for it: New refuses it, and Draw takes the noise of the
// method on a grid from an error-controlled run.
func TestScaleLocal(t *testing.T) {
	p := problems.FitzHughNagumo()
	p.Span[1] = 4
	s := solver(t, p, adams.Moulton{}, 0.1, 0.2)
	if err := s.SetScaling(ScaleLocal, p.Theta); err != nil {
		t.Fatal(err)
	}
	if _, err := steplaw.New(s, 0, p.X0, p.Theta); err == nil || !strings.Contains(err.Error(), "use ScaleStep") {
		t.Errorf("ScaleLocal of a Step: %v", err)
	}
	e, err := steplaw.Exact{Method: adams.Moulton{Steps: 1}, Sweeps: 10}.Draw(context.Background(), p, 40,
		steplaw.Settings{Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-2}}, Alpha: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range e.Departure {
		if math.IsNaN(a) {
			t.Errorf("step %d of a frozen grid is not drawn", i)
		}
	}
}

// A step that ends at an event sees f before it, one behind it f after it; an
// event is no step, and the steps behind it in which a multistep method starts
// again are not implicit.
func TestEvents(t *testing.T) {
	p := &Problem{Name: "switched", X0: []float64{1}, Span: [2]float64{0, 2},
		F: func(f []float64, at float64, x, _ []float64) {
			f[0] = -x[0]
			if at >= 1 {
				f[0] += 5
			}
		},
		Events: Doses(0, 2, 1)}
	for steps := range 4 {
		m := adams.Moulton{Steps: steps}
		s := solver(t, p, m, 0.1, 0.3)
		z := make([]float64, s.PathLen())
		if err := s.Solve(z, nil, nil); err != nil {
			t.Fatal(err)
		}
		r := make([]float64, 1)
		for i := range s.Steps() {
			l, err := steplaw.New(s, i, z, nil)
			switch begin := i; {
			case i == 10:
				if err == nil || !strings.Contains(err.Error(), "stands for an event") {
					t.Errorf("%v: the event: %v", m, err)
				}
				continue
			case i > 10:
				begin = i - 11
				fallthrough
			default:
				if begin < steps-1 {
					if !errors.Is(err, ErrStarting) {
						t.Errorf("%v: step %d, one of the start: %v", m, i, err)
					}
					continue
				}
			}
			if err != nil {
				t.Fatalf("%v: step %d: %v", m, i, err)
			}
			// The same operations but for the order of some.
			near(t, "mean", l.Mean[0], z[i+1], 1, 1e-13)
			l.Residual(r, z[i+1:i+2])
			near(t, "r of the classical step", r[0], 0, 1, 1e-10)
		}
		// f is linear between events, and the distribution Gaussian.
		e, err := steplaw.Exact{Method: m, Sweeps: 20}.Draw(context.Background(), p, 400, steplaw.Settings{Mesh: Uniform(0.1), Alpha: 0.3, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range e.Departure {
			drawn := i != 10 && (i >= steps-1 && i < 10 || i > 10 && i-11 >= steps-1)
			if drawn && !(a < 0.25) || !drawn && !math.IsNaN(a) {
				t.Errorf("%v: step %d has the departure %g", m, i, a)
			}
		}
	}
}

// A step depends on the last s+1 rows and on no others.
func TestPast(t *testing.T) {
	p := problems.FitzHughNagumo()
	s := solver(t, p, adams.Moulton{Steps: 3}, 0.1, 0.2)
	z := make([]float64, s.PathLen())
	if err := s.Solve(z, p.Theta, nil); err != nil {
		t.Fatal(err)
	}
	const i = 20
	for k := range 2 * (i - 3) {
		z[k] += 0.01
	}
	l, err := steplaw.New(s, i, z[:2*(i+1)], p.Theta)
	if err != nil {
		t.Fatal(err)
	}
	for k := range 2 {
		near(t, "mean", l.Mean[k], z[2*(i+1)+k], 1, 1e-13)
	}
}
