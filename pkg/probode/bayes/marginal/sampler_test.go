package marginal

import (
	"math"
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
