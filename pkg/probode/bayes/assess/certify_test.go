package assess_test

import (
	"context"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// D at the mode is that of the closed form, and the shift that of the means by
// quadrature to first order, of a model that is not linear: within a third of itself
// where it is .1 sd.
func TestCertify(t *testing.T) {
	const h = 1. / 32
	all, err := assess.Certify(context.Background(), assessPosterior(h), assess.CertifySettings{})
	if err != nil || len(all.Modes) != 1 {
		t.Fatal(all, err)
	}
	c := all.Modes[0]
	theta := c.Theta[0]
	var d float64
	for _, at := range assessTimes {
		e := (math.Pow(1-h*theta, at/h) - math.Exp(-theta*at)) / assessSigma
		d += e * e
	}
	if d = math.Sqrt(d); math.Abs(c.D-d) > 1e-6*d {
		t.Errorf("D = %g, want %g", c.D, d)
	}
	coarse, _ := assessMoments(t, h, 0)
	mean, sd := assessMoments(t, 0, 0)
	if want := (coarse - mean) / sd; math.Abs(c.Shift[0]-want) > math.Abs(want)/3 {
		t.Errorf("shift %g sd, want %g", c.Shift[0], want)
	}
	if math.Abs(c.Shift[0]) > c.Bound || c.Bound != c.D || c.OwnD > 1e-4 {
		t.Errorf("%+v", c)
	}
}

// A reference that is itself too rough gives no verdict, and says so.
func TestRoughReferenceGivesNoVerdict(t *testing.T) {
	a := assessed(t, assessPosterior(0.125), assess.Settings{Steps: []float64{0.125}, Weighed: 100, Sampler: bayes.Deterministic{},
		Accurate: bayes.AccurateSolver{StepSize: 0.25}, Chains: mcmc.Settings{Draws: 500, Seed: 1}, Calibrate: calibrate.Settings{Paths: 50}})
	if v := a.Steps[0].Deterministic.Verdict(); v != assess.Undecided || !contains(a.Warnings, "the reference's own error") {
		t.Errorf("%v, D = %g, warnings %q", v, a.Reference.D, a.Warnings)
	}
}
