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
// log likelihood.
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
	for _, of := range []bayes.Integral{Fenrir, DALTON} {
		chains, err := sample.Run(t.Context(), p, sample.Deterministic{Integral: of}, mcmc.Settings{Draws: 30, BurnIn: 100, Chains: 2, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		e, err := original.Integrated(of)
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
		chains, err := sample.Run(t.Context(), p, sample.Deterministic{Integral: Fenrir}, mcmc.Settings{Draws: 4, BurnIn: 4, Chains: 1, Seed: 1,
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

// The samplers of θ draw from a posterior with an Integral. The moments come from
// quadrature on a grid. With at least 300 effective draws, 4.5 standard errors are 0.26 sd
// of a mean, and the false-alarm rate of six checks is 4e-5.
func TestSamplersOfTheta(t *testing.T) {
	c, err := cases.Named("dragons")
	if err != nil {
		t.Fatal(err)
	}
	p := c.Posterior()
	p.Method, p.Alpha, p.Integral = filter.EK{Q: 2}, 0.5, Fenrir
	e, err := bayes.NewDensity(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	// The centre and the spread only choose the grid.
	centre, spread := []float64{10, 1}, []float64{0.2, 0.024}
	const n = 40
	var sum, mean, square [2]float64
	for i := range n * n {
		theta := []float64{centre[0] + spread[0]*(12*float64(i%n)/(n-1)-6), centre[1] + spread[1]*(12*float64(i/n)/(n-1)-6)}
		ll, err := e.LogLikelihood(theta, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := math.Exp(ll + p.Params[0].Prior.LogProb(theta[0]) + p.Params[1].Prior.LogProb(theta[1]))
		for k, v := range theta {
			sum[k], mean[k], square[k] = sum[k]+w, mean[k]+w*v, square[k]+w*v*v
		}
	}
	for _, s := range []sample.Sampler{sample.Deterministic{}, sample.NUTS{}, sample.Tempering{Temperatures: 4}} {
		chains, err := sample.Run(t.Context(), p, s, mcmc.Settings{Draws: 700, Chains: 2, Seed: 1})
		if err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		for k, m := range chains.Summary() {
			want := mean[k] / sum[k]
			sd := math.Sqrt(square[k]/sum[k] - want*want)
			if m.BulkESS < 300 || math.Abs(m.Mean-want) > 0.26*sd || math.Abs(m.SD/sd-1) > 0.2 {
				t.Errorf("%v: parameter %d: %.5g ± %.3g from %.0f effective draws: want %.5g ± %.3g", s, k, m.Mean, m.SD, m.BulkESS, want, sd)
			}
		}
		if new, err := bayes.Predict(t.Context(), p, chains, nil, 1); err != nil || len(new[0].Y[0]) != 10 {
			t.Errorf("%v: predictions %v, %v: want 10 rows", s, new, err)
		}
	}
}
