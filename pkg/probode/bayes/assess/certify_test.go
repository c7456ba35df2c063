package assess_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// D at the mode is that of the closed form, and the shift that of the means by
// quadrature to first order: within a fifth of itself where it is .1 sd.
func TestCertify(t *testing.T) {
	const h = 1. / 32
	c, err := assess.Certify(context.Background(), assessPosterior(h), bayes.AccurateSolver{}, nil)
	if err != nil || len(c) != 1 {
		t.Fatal(c, err)
	}
	theta := c[0].Theta[0]
	var d float64
	for _, at := range assessTimes {
		e := (math.Pow(1-h*theta, at/h) - math.Exp(-theta*at)) / assessSigma
		d += e * e
	}
	if d = math.Sqrt(d); math.Abs(c[0].D-d) > 1e-6*d {
		t.Errorf("D = %g, want %g", c[0].D, d)
	}
	coarse, _ := assessMoments(t, h, 0)
	mean, sd := assessMoments(t, 0, 0)
	if want := (coarse - mean) / sd; math.Abs(c[0].Shift[0]-want) > 0.2*math.Abs(want) {
		t.Errorf("shift %g sd, want %g", c[0].Shift[0], want)
	}
	if math.Abs(c[0].Shift[0]) > c[0].Bound || c[0].Bound != c[0].D || c[0].ReferenceD > 1e-4 {
		t.Errorf("%+v", c[0])
	}
	if want := 2*normalCDF(d/2) - 1; math.Abs(c[0].TotalVariation-want) > 1e-9 {
		t.Errorf("total variation %g, want %g", c[0].TotalVariation, want)
	}
}

func normalCDF(x float64) float64 { return 0.5 * math.Erfc(-x/math.Sqrt2) }

// A reference that is itself too rough gives no verdict, and says so.
func TestRoughReferenceGivesNoVerdict(t *testing.T) {
	a := assessed(t, assessPosterior(0.125), assess.Settings{Steps: []float64{0.125}, Weighed: 100, Sampler: bayes.Deterministic{},
		Accurate: bayes.AccurateSolver{StepSize: 0.25}, Chains: mcmc.Settings{Draws: 500, Seed: 1}, Calibrate: probode.CalibrateSettings{Paths: 50}})
	if v := a.Steps[0].Deterministic.Verdict(); v != assess.Undecided || !contains(a.Warnings, "the reference's own error") {
		t.Errorf("%v, D = %g, warnings %q", v, a.ReferenceD, a.Warnings)
	}
	if !strings.Contains(a.String(), "certificate, h = 0.125: D = ") {
		t.Errorf("no certificate in %s", a)
	}
}
