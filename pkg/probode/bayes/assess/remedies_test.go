package assess_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// The recommended remedy is the cheapest of those that reach the threshold. A remedy
// whose effect was only predicted is not recommended, nor is noise where it is worse than
// taking the solver as exact. At h = ¼ the bias is several tenths, by quadrature.
func TestRemedies(t *testing.T) {
	p := assessPosterior(0.125)
	a := assessed(t, p, assess.Settings{Steps: []float64{0.25, 0.125, 0.03125}, Weighed: 1000, Calibrate: calibrate.Settings{Paths: 50},
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
	}
	if len(a.Remedies) == 0 || !a.Remedies[0].Recommended || a.Remedies[0].Seconds != least {
		t.Fatalf("%+v", a.Remedies)
	}
	for _, kind := range []string{"nothing", "smaller step", "noise in the model", "reweighting", "other solver"} {
		if kinds[kind] == 0 {
			t.Errorf("no remedy of the kind %q: %+v", kind, kinds)
		}
	}
	i := slices.IndexFunc(a.Remedies, func(r assess.Remedy) bool { return r.Kind == "nothing" })
	if r := a.Remedies[i]; r.Reaches || math.Abs(r.Bias) < 0.1 {
		t.Errorf("h = 0.25 as it is: %+v", r)
	}
	if want := "Recommended: " + a.Remedies[0].Name; !strings.Contains(a.String(), want) {
		t.Errorf("report lacks %q", want)
	}
}
