package assess_test

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
)

// A ladder of tolerances, explicit and stiff: the steps are chosen again at every θ,
// so that classical inference costs more solves than the frozen steps among the
// remedies; a tight tolerance is negligible, by quadrature of the accurate posterior.
func TestLadderOfTolerances(t *testing.T) {
	for _, m := range []probode.Method{probode.RungeKutta{Tableau: probode.DormandPrince}, methods.Radau{}} {
		p := assessPosterior(0)
		p.Method, p.Mesh = m, nil
		tols := []probode.Tolerance{{Relative: 1e-5}, {Relative: 0.3, Absolute: []float64{0.3}}}
		a := assessed(t, p, assess.Settings{Tolerances: tols, Weighed: 400, Sampler: bayes.PCNWithinGibbs{},
			Chains: mcmc.Settings{Draws: 1500, BurnIn: 500, Seed: 4}, Calibrate: calibrate.Settings{Paths: 50}})
		if a.Steps[0].Size() != 0.3 || a.Steps[1].Size() != 1e-5 || a.Asked[0] != 1 || a.Asked[1] != 0 || a.Steps[0].StepSize != 0 {
			t.Fatalf("%v: steps %v, asked %v", m, a.Steps, a.Asked)
		}
		st := &a.Steps[1]
		if st.Deterministic.Verdict() != assess.Negligible || a.Largest < 1e-5 {
			t.Errorf("%v: %v at %v, largest %g", m, st.Deterministic.Verdict(), st, a.Largest)
		}
		mean, sd := assessMoments(t, 0, 0)
		if q := a.Params[0]; math.Abs(q.Mean-mean) > 4*q.MeanSE || math.Abs(q.SD-sd) > 4*q.SDSE {
			t.Errorf("%v: accurate %g ± %g, sd %g ± %g: want %g and %g", m, q.Mean, q.MeanSE, q.SD, q.SDSE, mean, sd)
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

// By a fixed step of an explicit method the dragons have a phantom, and by the same
// method under error control none: the certificate must not charge one with the
// other's.
func TestPhantomsAreTheSolversOwn(t *testing.T) {
	dp := probode.RungeKutta{Tableau: probode.DormandPrince}
	all, err := assess.CertifyEach(context.Background(), dragons(0.5), []assess.Solver{
		{Method: dp, StepSize: 0.5}, {Method: dp, Tolerance: probode.Tolerance{Relative: 1e-3}}}, assess.CertifySettings{})
	if err != nil {
		t.Fatal(err)
	}
	if all[0].Certified(0.1) || !strings.Contains(all[0].Answer(0.1), "none of the reference's") {
		t.Errorf("equal steps: %s", all[0].Answer(0.1))
	}
	if !all[1].Certified(0.1) {
		t.Errorf("error control: %s", all[1].Answer(0.1))
	}
}

// A second look by the accurate solver gives the accurate posterior, whatever the
// first one is: equal steps of Euler's method that are off by .78 sd, or an adaptive
// solver. Mean and log sd lie within 4.5 Monte Carlo standard errors of quadrature:
// 4 checks, false alarms 3e-5 with normal errors.
func TestDelayedAcceptanceBeforeTheAccurateSolver(t *testing.T) {
	mean, sd := assessMoments(t, 0, 0)
	adaptive := assessPosterior(0.25)
	adaptive.Mesh = probode.Adaptive{Tolerance: probode.Tolerance{Relative: 0.3, Absolute: []float64{0.1}}}
	for _, p := range []*bayes.Posterior{assessPosterior(0.25), adaptive} {
		for _, by := range []*bayes.AccurateSolver{{}, {Method: probode.RungeKutta{}, StepSize: 1. / 64}} {
			c, err := bayes.Sample(context.Background(), p, bayes.DelayedAcceptance{Accurate: by}, mcmc.Settings{Draws: 2500, BurnIn: 500, Seed: 7})
			if err != nil {
				t.Fatal(err)
			}
			m := c.Summary()[0]
			if math.Abs(m.Mean-mean) > 4.5*m.MCSE || math.Abs(m.SD-sd) > 4.5*m.MCSESD || m.BulkESS < 500 {
				t.Errorf("%v: %g ± %g, sd %g ± %g: want %g and %g", by, m.Mean, m.MCSE, m.SD, m.MCSESD, mean, sd)
			}
		}
	}
}

// Where the steps are chosen again at every θ there is no place for noise.
func TestNoNoiseOnGridsThatChange(t *testing.T) {
	p := assessPosterior(0.25)
	p.Mesh, p.Alpha = probode.Adaptive{Tolerance: probode.Tolerance{Relative: 0.1}}, 0.1
	if _, err := bayes.Sample(context.Background(), p, bayes.PCNWithinGibbs{}, mcmc.Settings{Draws: 10}); err == nil || !strings.Contains(err.Error(), "Frozen") {
		t.Errorf("error %v, want one that names probode.Frozen", err)
	}
}

// A setting that cannot solve the equations, as a step at which Euler's method leaves
// the numbers, does not take the others with it; if there is no other it is an error.
func TestCertifyEachFails(t *testing.T) {
	p := linearModel(bayes.Known(0.2))
	bad := assess.Solver{Tolerance: probode.Tolerance{Relative: 1e-9, Absolute: []float64{1e-300}}}
	bad.Method = probode.AdamsBashforth{}
	good := assess.Solver{StepSize: 0.05}
	for _, modes := range [][][]float64{nil, {{0.5, 1}}} {
		s := assess.CertifySettings{Modes: modes}
		all, err := assess.CertifyEach(context.Background(), p, []assess.Solver{bad, good}, s)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 2 || all[0].Certified(0.9) || all[0].Modes[0].Err == "" || all[1].Modes[0].Err != "" || !(all[1].Modes[0].D > 0) {
			t.Errorf("%+v", all)
		}
		if text := assess.CertificateTable(all); !strings.Contains(text, "\nexperiment 1: ") {
			t.Errorf("table %q", text)
		}
		if _, err := assess.CertifyEach(context.Background(), p, []assess.Solver{bad, bad}, s); err == nil {
			t.Error("nothing but failures is no error")
		}
	}
}

// Of many parameters the table has those that are shifted by most.
func TestCertificateTableWide(t *testing.T) {
	c := &assess.Certificate{Modes: []assess.Certified{{D: 1}}}
	for k := range 9 {
		c.Params = append(c.Params, string(rune('a'+k)))
		c.Modes[0].Shift = append(c.Modes[0].Shift, float64((k*5)%9)/100)
	}
	text := assess.CertificateTable([]*assess.Certificate{c})
	head, _, _ := strings.Cut(text, "\n")
	if got, want := strings.Join(strings.Fields(head)[5:], " "), "Δ b/sd Δ d/sd Δ f/sd Δ g/sd Δ h/sd Δ i/sd"; got != want {
		t.Errorf("%s: want %s", got, want)
	}
	if !strings.Contains(text, "3 other parameters are shifted by 0.02 sd at most") {
		t.Errorf("table %q", text)
	}
}
