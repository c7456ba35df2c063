package assess_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// What is recommended reaches the threshold, at the least cost of all that do; what
// was only foretold is not recommended, nor noise where it is worse than nothing.
// The model's own posteriors are known: at h = ¼ the bias is several tenths, and
// extrapolation ends at the accurate mean.
func TestRemedies(t *testing.T) {
	p := assessPosterior(0.125)
	a := assessed(t, p, assess.Settings{Steps: []float64{0.25, 0.125, 0.03125}, Weighed: 1000, Calibrate: probode.CalibrateSettings{Paths: 50},
		Chains: mcmc.Settings{Draws: 3000, BurnIn: 500, Seed: 4}})
	kinds := map[string]int{}
	least := math.Inf(1)
	for i, r := range a.Remedies {
		kinds[r.Kind]++
		if r.Recommended && (i > 0 || !r.Reaches) {
			t.Errorf("recommended: %+v", r)
		}
		if r.Reaches {
			least = min(least, r.Seconds)
		}
		if strings.HasPrefix(r.Note, "worse than nothing") && (r.Reaches || r.Recommended) {
			t.Errorf("%+v", r)
		}
		if r.Reaches && !(r.Reach <= r.Seconds) {
			t.Errorf("%s: %g s to reach, and it takes %g", r.Name, r.Reach, r.Seconds)
		}
	}
	if len(a.Remedies) == 0 || !a.Remedies[0].Recommended || a.Remedies[0].Seconds != least {
		t.Fatalf("%+v", a.Remedies)
	}
	for _, kind := range []string{"nothing", "smaller step", "noise in the model", "reweighting", "extrapolation", "delayed acceptance", "other solver"} {
		if kinds[kind] == 0 {
			t.Errorf("no remedy of the kind %q: %+v", kind, kinds)
		}
	}
	i := slices.IndexFunc(a.Remedies, func(r assess.Remedy) bool { return r.Kind == "nothing" })
	if r := a.Remedies[i]; r.Reaches || math.Abs(r.Bias) < 0.1 {
		t.Errorf("h = 0.25 as it is: %+v", r)
	}
	// Four standard errors of both means, by quadrature.
	want, sd := assessMoments(t, 0, 0)
	x := a.Extrapolated[0]
	if math.Abs(x.Mean-want) > 4*x.MeanSE || x.MeanSE > 0.3*sd || math.Abs(x.SD-sd) > 4*x.SDSE {
		t.Errorf("extrapolated %g ± %g and %g ± %g, want %g and %g", x.Mean, x.MeanSE, x.SD, x.SDSE, want, sd)
	}
	for _, want := range []string{"Recommended: " + a.Remedies[0].Name, "extrapolated to h = 0"} {
		if !strings.Contains(a.String(), want) {
			t.Errorf("report lacks %q", want)
		}
	}
}
