package steplaw_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
	. "github.com/probode/probode/pkg/probode/steplaw"
)

// Noise scales that differ by component: H = JS²Jᵀ, written down with gonum's
// matrices, and the chain against quadrature.
func TestScalesByComponent(t *testing.T) {
	p := problems.FitzHughNagumo()
	z := []float64{-1, -0.5}
	const h = 0.1
	alpha := []float64{0.2, 0.05}
	one := oneStep(p, z, h)
	s := solver(t, one, AdamsMoulton{}, h, 0)
	s.SetAlpha(alpha...)
	l, err := New(s, 0, z, p.Theta)
	if err != nil {
		t.Fatal(err)
	}
	f, jac := make([]float64, 2), mat.NewDense(2, 2, nil)
	p.FJ(f, jac.RawMatrix().Data, h, z, p.Theta)
	var js, hmat, gamma, g, cov, hinv mat.Dense
	js.Mul(jac, mat.NewDiagDense(2, []float64{math.Sqrt(alpha[0] * h), math.Sqrt(alpha[1] * h)}))
	hmat.Mul(&js, js.T())
	gamma.Scale(-1, jac)
	for k := range 2 {
		gamma.Set(k, k, gamma.At(k, k)+1/h)
	}
	if err := g.Solve(&gamma, &js); err != nil {
		t.Fatal(err)
	}
	cov.Mul(&g, g.T())
	if err := hinv.Inverse(&hmat); err != nil {
		t.Fatal(err)
	}
	for a := range 2 {
		for b := range 2 {
			near(t, "covariance", l.Cov.At(a, b), cov.At(a, b), cov.At(0, 0), 1e-12)
		}
	}
	x := []float64{l.Mean[0] + 2*math.Sqrt(l.Cov.At(0, 0)), l.Mean[1] - math.Sqrt(l.Cov.At(1, 1))}
	r := make([]float64, 2)
	l.Residual(r, x)
	rv := mat.NewVecDense(2, r)
	near(t, "log density", l.LogDensity(x), -mat.Inner(rv, &hinv, rv)/2, 1, 1e-9)

	// Four numbers at z = 4.8: 7e-6 false alarms, the fourth moments being
	// estimated.
	const n, most = 2000, 4.8
	e, err := Integrate(context.Background(), one, Exact{}, n, Settings{StepSize: h, Alphas: alpha, Seed: 2, KeepPaths: true})
	if err != nil {
		t.Fatal(err)
	}
	want := moments(t, l)
	for k := range 2 {
		sd := math.Sqrt(want.Cov.At(k, k))
		var mean, second, fourth float64
		for _, path := range e.Paths {
			y := (path[2+k] - want.Mean[k]) / sd
			mean += y / n
			second += y * y / n
			fourth += y * y * y * y / n
		}
		if math.Abs(mean) > most/math.Sqrt(n) {
			t.Errorf("mean of component %d is off by %.3f sd", k, mean)
		}
		if se := math.Sqrt((fourth - second*second) / n); math.Abs(second-1) > most*se {
			t.Errorf("variance of component %d is off by %.3f ± %.3f", k, second-1, se)
		}
	}

	// A component without noise leaves the Gaussian approximation only.
	s.SetAlpha(0.2, 0)
	if l, err = New(s, 0, z, p.Theta); err != nil {
		t.Fatal(err)
	}
	if err := l.Normalizable(); !errors.Is(err, ErrSingularH) || !math.IsNaN(l.LogDensity(z)) {
		t.Errorf("a scale of 0: %v", err)
	}
	if _, err := Integrate(context.Background(), one, Exact{}, 4, Settings{StepSize: h, Alphas: []float64{0.2, 0}}); !errors.Is(err, ErrSingularH) {
		t.Errorf("an ensemble with a scale of 0: %v", err)
	}
}

// Noise that is added to the state by local errors has no exact distribution,
// and must not be taken for it: Exact refuses it, has its own noise on a grid
// from an error-controlled run, and New refuses it, too.
func TestScaleLocal(t *testing.T) {
	p := problems.FitzHughNagumo()
	p.Span[1] = 4
	ctx := context.Background()
	_, err := Integrate(ctx, p, Exact{}, 4, Settings{StepSize: 0.1, Alpha: 0.2, Scaling: ScaleLocal})
	if err == nil || !strings.Contains(err.Error(), "want ScaleStep") {
		t.Errorf("ScaleLocal of Exact: %v", err)
	}
	s := solver(t, p, AdamsMoulton{}, 0.1, 0.2)
	if err := s.SetScaling(ScaleLocal, p.Theta); err != nil {
		t.Fatal(err)
	}
	if _, err := New(s, 0, p.X0, p.Theta); err == nil || !strings.Contains(err.Error(), "want ScaleStep") {
		t.Errorf("ScaleLocal of a Step: %v", err)
	}
	e, err := Integrate(ctx, p, Exact{AdamsMoulton: AdamsMoulton{Steps: 1}, Sweeps: 10}, 40,
		Settings{Mesh: Frozen{Tolerance: Tolerance{Relative: 1e-2}}, Alpha: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range e.Grid.Steps() {
		if math.IsNaN(report(e).Accept[i]) {
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
		m := AdamsMoulton{Steps: steps}
		s := solver(t, p, m, 0.1, 0.3)
		z := make([]float64, s.PathLen())
		if err := s.Solve(z, nil, nil); err != nil {
			t.Fatal(err)
		}
		r := make([]float64, 1)
		for i := range s.Steps() {
			l, err := New(s, i, z, nil)
			switch begin := i; {
			case i == 10:
				if err == nil || !strings.Contains(err.Error(), "is an event") {
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
		// f is linear between events: every move is accepted but for rounding,
		// 10⁻⁸ of them since J comes from differences.
		e, err := Integrate(context.Background(), p, Exact{AdamsMoulton: m, Sweeps: 20}, 16, Settings{StepSize: 0.1, Alpha: 0.3, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range report(e).Accept {
			drawn := i != 10 && (i >= steps-1 && i < 10 || i > 10 && i-11 >= steps-1)
			if drawn && a != 1 || !drawn && !math.IsNaN(a) {
				t.Errorf("%v: step %d has the acceptance %g", m, i, a)
			}
		}
	}
}

// Of the past a step reads the last s+1 rows and no others.
func TestPast(t *testing.T) {
	p := problems.FitzHughNagumo()
	s := solver(t, p, AdamsMoulton{Steps: 3}, 0.1, 0.2)
	z := make([]float64, s.PathLen())
	if err := s.Solve(z, p.Theta, nil); err != nil {
		t.Fatal(err)
	}
	const i = 20
	for k := range 2 * (i - 3) {
		z[k] = math.NaN()
	}
	l, err := New(s, i, z[:2*(i+1)], p.Theta)
	if err != nil {
		t.Fatal(err)
	}
	for k := range 2 {
		near(t, "mean", l.Mean[k], z[2*(i+1)+k], 1, 1e-13)
	}
}

// All steps of path 0 are searched for roots, or 256 of them.
func TestSearched(t *testing.T) {
	p := problems.FitzHughNagumo()
	for h, want := range map[float64]int{0.1: 199, 0.01: 256} { // 200 and 2000 steps, the first in the start
		e, err := Integrate(context.Background(), p, Exact{AdamsMoulton: AdamsMoulton{Steps: 2}, Sweeps: 1}, 2, Settings{StepSize: h, Alpha: 0.01})
		if err != nil {
			t.Fatal(err)
		}
		if got := report(e).Searched; got != want {
			t.Errorf("h = %g: %d steps were searched: want %d", h, got, want)
		}
	}
}
