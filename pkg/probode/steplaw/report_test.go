package steplaw_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/steplaw"
)

// What the report says where it is known: numbers of one step from the
// quadrature, and words.
func TestExactReport(t *testing.T) {
	p := problems.FitzHughNagumo()
	one := oneStep(p, []float64{0, 0.5}, 0.3)
	const n = 2000
	e, err := steplaw.Exact{Method: adams.Moulton{Linearize: adams.Current}, Sweeps: 400}.Draw(context.Background(), one, n,
		steplaw.Settings{Mesh: Uniform(0.3), Alpha: 0.2, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	r := e.Report
	// The mean of ζ = L⁻¹(z − μ) in the distribution of quadrature is L⁻¹ of the mean,
	// and its squared length the squared Mahalanobis distance under Cov.
	l := stepAt(t, p, adams.Moulton{Linearize: adams.Current}, []float64{0, 0.5}, 0.3, 0.2)
	m := moments(t, l)
	want := -2 * (l.LogGaussian(m.Mean) - l.LogGaussian(l.Mean))
	got := r.Shift[0][0]*r.Shift[0][0] + r.Shift[1][0]*r.Shift[1][0]
	// Shift has the error sd/√n = 0.02 in each component, or less for the sds
	// below 1 of this distribution: five of them in a length of 1.3.
	near(t, "length of the shift", math.Sqrt(got), math.Sqrt(want), 0, 0.08)
	if r.Worst(3)[0] != 0 || len(r.Worst(3)) != 1 || r.Departure(0) < 0.5 {
		t.Errorf("worst steps %v, departure %g", r.Worst(3), r.Departure(0))
	}
	if s := r.String(); !strings.Contains(s, "should not be used") || !strings.Contains(s, "1 of 1 steps, t = 0\n") {
		t.Errorf("report: %s", s)
	}
	// No chain that makes no use of its sweeps forgets its start.
	e, err = steplaw.Exact{Method: adams.Moulton{Linearize: adams.Current}, Sweeps: 2, Beta: 0.1}.Draw(context.Background(), one, n,
		steplaw.Settings{Mesh: Uniform(0.3), Alpha: 0.2, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	if m := e.Memory[0]; m < 0.5 || !strings.Contains(e.String(), "more sweeps are needed") {
		t.Errorf("two small moves: memory %.2f, %s", m, e)
	}
	// Several roots.
	cubic := scalar(func(x float64) float64 { return x - x*x*x }, func(x float64) float64 { return 1 - 3*x*x })
	e, err = steplaw.Exact{Method: adams.Moulton{Linearize: adams.Current}}.Draw(context.Background(), oneStep(cubic, []float64{0.05}, 2), 10,
		steplaw.Settings{Mesh: Uniform(2), Alpha: 0.01, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(e.MultipleRoots, []int{0}) || !strings.Contains(e.String(), "several solutions") {
		t.Errorf("steps with several roots: %v, %s", e.MultipleRoots, e)
	}
}

// Where does the Gaussian approximation of backward Euler fail on
// FitzHugh–Nagumo?
func ExampleExact_Draw() {
	p := problems.FitzHughNagumo()
	m := steplaw.Exact{Method: adams.Moulton{Linearize: adams.Current}}
	ens, err := m.Draw(context.Background(), p, 100, steplaw.Settings{Mesh: Uniform(0.1), Alpha: 0.2, Seed: 1})
	if err != nil {
		panic(err)
	}
	worst := ens.Worst(1)[0]
	fmt.Printf("worst at t = %.1f\n", ens.T[worst])
	fmt.Println("fit for use there:", ens.Departure(worst) < 0.5)
	// Output:
	// worst at t = 0.7
	// fit for use there: false
}
