package assess_test

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
)

// A ladder of tolerances, explicit and stiff: the steps are chosen again at every θ,
// so that classical inference costs more solves than the frozen steps among the
// remedies; a tight tolerance is negligible, by quadrature of the reference posterior.
func TestLadderOfTolerances(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, m := range []probode.Method{methods.RungeKutta{Tableau: methods.DormandPrince}, methods.Radau{}} {
		p := assessPosterior(0)
		p.Method, p.Mesh = m, nil
		tols := []probode.Tolerance{{Relative: 1e-5}, {Relative: 0.3, Absolute: []float64{0.3}}}
		a := assessed(t, p, assess.Settings{Tolerances: tols, Weighed: 400, Sampler: sample.PCNWithinGibbs{},
			Chains: mcmc.Settings{Draws: 1500, BurnIn: 500, Seed: 4}, Calibrate: calibrate.Settings{Paths: 50}})
		if a.Steps[0].Size() != 0.3 || a.Steps[1].Size() != 1e-5 || a.Asked[0] != 1 || a.Asked[1] != 0 || a.Steps[0].StepSize != 0 {
			t.Fatalf("%v: steps %v, asked %v", m, a.Steps, a.Asked)
		}
		st := &a.Steps[1]
		if st.Deterministic.Verdict != assess.Negligible || a.Largest < 1e-5 {
			t.Errorf("%v: %v at %v, largest %g", m, st.Deterministic.Verdict, st, a.Largest)
		}
		mean, sd := assessMoments(t, 0, 0)
		if q := a.Params[0]; math.Abs(q.Mean.Center-mean) > 4*q.Mean.CenterSE || math.Abs(q.Mean.Spread-sd) > 4*q.Mean.SpreadSE {
			t.Errorf("%v: accurate %g ± %g, sd %g ± %g: want %g and %g", m, q.Mean.Center, q.Mean.CenterSE, q.Mean.Spread, q.Mean.SpreadSE, mean, sd)
		}
		frozen := 0
		for _, r := range a.Remedies {
			if r.Kind == "frozen steps" {
				frozen++
			}
			if strings.Contains(r.Name, "h = 0 ") || strings.HasSuffix(r.Name, "h = 0") {
				t.Errorf("remedy %q", r.Name)
			}
		}
		if frozen != 2 || st.Probabilistic == nil || st.Certificate == nil || a.Profile == nil {
			t.Errorf("%v: %d frozen remedies, %+v", m, frozen, a)
		}
		for _, text := range []string{a.String(), a.SizeName()} {
			if strings.Contains(text, "h = 0.3") || strings.Contains(text, "h = 1e-05") || !strings.Contains(text, "tol") {
				t.Errorf("%v: a tolerance is called a step in %s", m, text)
			}
		}
		var text bytes.Buffer
		if err := a.WriteJSON(&text); err != nil {
			t.Fatal(err)
		}
		var r readReport
		strictly(t, text.Bytes(), &r)
		if r.Steps[0].H != nil || *r.Steps[0].Tol != 1e-5 || *r.Steps[1].Tol != 0.3 || *r.LargestNegligible != a.Largest {
			t.Errorf("%v: %s", m, &text)
		}
	}
	_, err := assess.Run(context.Background(), assessPosterior(0.1), assess.Settings{Steps: []float64{1}, Tolerances: []probode.Tolerance{{Relative: 1}}})
	if err == nil {
		t.Error("Steps and Tolerances: no error")
	}
}

// Where the steps are chosen again at every θ there is no place for noise.
func TestNoNoiseOnGridsThatChange(t *testing.T) {
	p := assessPosterior(0.25)
	p.Mesh, p.Alpha = probode.Adaptive{Tolerance: probode.Tolerance{Relative: 0.1}}, 0.1
	if _, err := sample.Run(context.Background(), p, sample.PCNWithinGibbs{}, mcmc.Settings{Draws: 10}); err == nil || !strings.Contains(err.Error(), "Frozen") {
		t.Errorf("error %v, want one that names probode.Frozen", err)
	}
}
