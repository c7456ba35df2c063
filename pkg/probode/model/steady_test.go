package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
)

// exchange is a′ = −k₁ a + k₂ b, b′ = −a′, c′ = s − k₂ c, from (T, 0, 0). a + b is conserved,
// so the steady state is a = k₂ T/(k₁ + k₂), b = k₁ T/(k₁ + k₂), c = s/k₂. θ = (k₁, k₂, T, s).
func exchange() *probode.Problem {
	return &probode.Problem{
		Name: "exchange", Autonomous: true, Span: [2]float64{0, 1}, X0: make([]float64, 3), Theta: []float64{0.3, 2, 5, 1e-6},
		Start:      func(x0, th []float64) { x0[0], x0[1], x0[2] = th[2], 0, 0 },
		StartTheta: func(dst, _ []float64) { dst[2] = 1 },
		F: func(dst []float64, _ float64, x, th []float64) {
			dst[0] = -th[0]*x[0] + th[1]*x[1]
			dst[1], dst[2] = -dst[0], th[3]-th[1]*x[2]
		},
		FJ: func(f, jac []float64, _ float64, x, th []float64) {
			f[0] = -th[0]*x[0] + th[1]*x[1]
			f[1], f[2] = -f[0], th[3]-th[1]*x[2]
			jac[0], jac[1], jac[3], jac[4], jac[8] = -th[0], th[1], th[0], -th[1], -th[1]
		},
		FTheta: func(dst []float64, _ float64, x, _ []float64) {
			dst[0], dst[1], dst[4], dst[5], dst[9], dst[11] = -x[0], x[1], x[0], -x[1], -x[2], 1
		},
	}
}

// The derivatives of a steady state follow from its equation and from what is conserved,
// and agree with those of solves towards it.
func TestDerivativesOfSteadyState(t *testing.T) {
	q := exchange()
	r := newSteadyFinder(q, []int{0, 1, 2, 3})
	k1, k2, total, s := q.Theta[0], q.Theta[1], q.Theta[2], q.Theta[3]
	sum := k1 + k2
	want := []float64{
		-k2 * total / (sum * sum), k1 * total / (sum * sum), k2 / sum, 0,
		k2 * total / (sum * sum), -k1 * total / (sum * sum), k1 / sum, 0,
		0, -s / (k2 * k2), 0, 1 / k2,
	}
	x, _, err := r.find(q.Theta, false)
	if err != nil {
		t.Fatal(err)
	}
	_, solved, err := r.find(q.Theta, true)
	if err != nil {
		t.Fatal(err)
	}
	slope := r.implicit(q.Theta, x)
	if slope == nil {
		t.Fatal("no derivatives from the equation of the steady state")
	}
	for i, v := range want {
		if math.Abs(slope[i]-v) > 1e-9*(1e-6+math.Abs(v)) || math.Abs(solved[i]-v) > 1e-7*(1e-6+math.Abs(v)) {
			t.Errorf("derivative %d is %.12g, and %.12g by solves: want %.12g", i, slope[i], solved[i], v)
		}
	}
}

// Where the equation of the steady state does not determine its derivatives, there are
// none from it: a nonlinear conserved quantity, x² + y = const of x′ = y − x, y′ = −2x(y − x)
// at x = y, a steady state that is not stable, and f that depends on time.
func TestSteadyStateWithoutEquation(t *testing.T) {
	curved := &probode.Problem{
		Name: "curved", Autonomous: true, Span: [2]float64{0, 1}, X0: []float64{1, 2}, Theta: []float64{1},
		F: func(dst []float64, _ float64, x, _ []float64) { dst[0], dst[1] = x[1]-x[0], -2*x[0]*(x[1]-x[0]) },
		FJ: func(f, jac []float64, _ float64, x, _ []float64) {
			f[0], f[1] = x[1]-x[0], -2*x[0]*(x[1]-x[0])
			jac[0], jac[1], jac[2], jac[3] = -1, 1, -2*x[1]+4*x[0], -2*x[0]
		},
		FTheta: func([]float64, float64, []float64, []float64) {},
	}
	growth := &probode.Problem{
		Name: "growth", Autonomous: true, Span: [2]float64{0, 1}, X0: []float64{0}, Theta: []float64{1},
		F: func(dst []float64, _ float64, x, th []float64) { dst[0] = th[0] * x[0] * (1 - x[0]) },
		FJ: func(f, jac []float64, _ float64, x, th []float64) {
			f[0], jac[0] = th[0]*x[0]*(1-x[0]), th[0]*(1-2*x[0])
		},
		FTheta: func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[0] * (1 - x[0]) },
	}
	timed := exchange()
	timed.Autonomous = false
	for _, c := range []struct {
		q *probode.Problem
		x []float64
	}{{curved, []float64{1.2, 1.2}}, {growth, []float64{0}}, {timed, []float64{4, 1, 1}}} {
		if slope := newSteadyFinder(c.q, []int{0}).implicit(c.q.Theta, c.x); slope != nil {
			t.Errorf("%s: %v", c.q.Name, slope)
		}
	}
}

// The real parts are those of mat.Eigen to the last bit, also for matrices that are
// reducible or zero.
func TestRealParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := 1; n <= 20; n++ {
		for _, dense := range []float64{0, 0.2, 1} {
			a := mat.NewDense(n, n, nil)
			a.Apply(func(int, int, float64) float64 {
				if rng.Float64() < dense {
					return rng.NormFloat64() * math.Exp(3*rng.NormFloat64())
				}
				return 0
			}, a)
			var eigen mat.Eigen
			if !eigen.Factorize(a, mat.EigenNone) {
				t.Fatal("no eigenvalues")
			}
			got, err := realParts(a)
			for i, v := range eigen.Values(nil) {
				if err != nil || got[i] != real(v) {
					t.Fatalf("n = %d: %v, want %v, %v", n, got[i], v, err)
				}
			}
		}
	}
}

// x′ = k (a − x) from 1 is at rest with a = 1, and at a time that is known or depends on θ
// the input a becomes 3. The steady state is 3, even if the switch comes long after all
// motion has ended. A switch that comes too late to be waited for does not count.
func TestSteadyStateAfterSwitch(t *testing.T) {
	for _, at := range []float64{0.5, 50, 1e3, 1e5, 1e20} {
		q := &probode.Problem{Name: "switch", Span: [2]float64{0, 1}, X0: []float64{1}, Theta: []float64{2, at},
			F: func(dst []float64, t float64, x, th []float64) {
				a := 1.0
				if t >= th[1] {
					a = 3
				}
				dst[0] = th[0] * (a - x[0])
			}}
		want := 3.0
		if at > restLast {
			want = 1
		}
		for _, e := range []probode.Event{{Time: at}, {When: func(th []float64) float64 { return th[1] }}} {
			q.Events = []probode.Event{e}
			if x, _, err := newSteadyFinder(q, []int{0, 1}).find(q.Theta, false); err != nil || math.Abs(x[0]-want) > 1e-8 {
				t.Errorf("switch at %g: x = %v, %v: want %g", at, x, err, want)
			}
		}
	}
}

// x′ = a − x comes to rest at x = a, which events at known times and events triggered by the
// state change before, once each; a is 1 at the start.
func TestSteadyStateAfterEvents(t *testing.T) {
	for _, c := range []struct {
		events string
		want   float64
	}{
		{"{time: 2, assignments: {a: a + b}}", 3},
		{"{time: 0, assignments: {a: a + b}}", 3},
		{"{time: 1, every: 9, count: 2, assignments: {a: a + b}}", 5}, // 1 and 10 are round
		{"{time: 3000, assignments: {a: a + b}}", 3},
		{"{trigger: x > 0.5, assignments: {a: a + b}}", 3},
		{"{trigger: a < 100, assignments: {a: a + b}, atStart: 1}", 3},
	} {
		p, err := Parse("m", []byte(`parameters:
  - {parameterId: b, nominalValue: 2, lowerBound: 1, upperBound: 3}
odes:
  - {stateId: x, rightHandSide: a - x, initialValue: 0}
  - {stateId: a, rightHandSide: 0, initialValue: 1}
events:
  - {eventId: e, `+c.events[1:]+`
observables:
  - {observableId: y, observableFormula: x, noiseFormula: 1}
data: |
  time,y
  inf,0
`))
		if err != nil {
			t.Errorf("%s: %v", c.events, err)
			continue
		}
		v := gradient(t, p, p.Nominal(), nil)
		if got := v.Instances[0].Simulated[0]; !(math.Abs(got-c.want) < 1e-8) {
			t.Errorf("%s: %v, want %v", c.events, got, c.want)
		}
	}
}
