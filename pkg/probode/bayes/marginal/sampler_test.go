package marginal

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/filter"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// The draws have the quantities of the original posterior: a predicted value for each
// value of the data, also for the one that is missing, and log densities whose sum is the
// log likelihood of Fenrir. The sum for DALTON lacks only its remainder.
func TestQuantities(t *testing.T) {
	c, err := cases.Named("dragons")
	if err != nil {
		t.Fatal(err)
	}
	p := c.Posterior()
	p.Method, p.Alpha = filter.EK{Q: 2}, 0.5
	y := p.Experiments[0].Data.Y
	y[3][0] = math.NaN()
	original, err := bayes.NewDensity(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []Integrated{{}, {DALTON: true}} {
		chains, err := sample.Run(t.Context(), p, of, mcmc.Settings{Draws: 30, BurnIn: 100, Chains: 2, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		q, err := of.Replace(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		e, err := bayes.NewDensity(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := len(chains.Quantities), len(original.Quantities()); got != want {
			t.Fatalf("%v: %d quantities: want %d", of, got, want)
		}
		for k, x := range chains.Draws[1] {
			all := chains.Generated[1][k][1:]
			for i := range y {
				if v := all[i] - y[i][0]; math.Abs(v) > 1 { // ten standard deviations
					t.Errorf("%v: the prediction of value %d is %g, and the value is %g", of, i+1, all[i], y[i][0])
				}
			}
			var sum float64
			for _, v := range all[len(y):] {
				sum += v
			}
			ll, err := e.LogLikelihood(x, nil)
			if err != nil {
				t.Fatal(err)
			}
			if of.DALTON {
				expected := e.Expected()
				sum += expected[len(expected)-1]
			}
			if math.Abs(sum-ll) > 1e-9*math.Abs(ll) {
				t.Errorf("%v: the log densities of the data have the sum %.12g: want %.12g", of, sum, ll)
			}
		}
	}
}

// A run says so if the size of the measurement errors is unknown, and only then.
func TestUnknownErrors(t *testing.T) {
	for _, name := range []string{"lynx-hare", "pk-mm"} {
		c, err := cases.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		p := c.Posterior()
		p.Method, p.Alpha = filter.EK{Q: 3}, 1
		p.Setup = p.WithStepSize(0.5)
		chains, err := sample.Run(t.Context(), p, Integrated{}, mcmc.Settings{Draws: 4, BurnIn: 4, Chains: 1, Seed: 1,
			Start: func(int, *rand.Rand) []float64 {
				return map[string][]float64{"pk-mm": {1.5, 0.8}, "lynx-hare": {0.55, 0.028, 0.8, 0.024, 33, 6, 0.25, 0.25}}[name]
			}})
		if err != nil {
			t.Fatal(err)
		}
		if says := strings.Contains(strings.Join(chains.Notes, "\n"), "(sigma_hare, sigma_lynx)"); says != (name == "lynx-hare") {
			t.Errorf("%s: notes %q", name, chains.Notes)
		}
	}
}
