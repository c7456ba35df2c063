package cases_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// posterior returns the case with the given name for the data in a file.
func posterior(t *testing.T, name, file string) *bayes.Posterior {
	t.Helper()
	c, err := cases.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := bayes.ReadFile("../../../../"+file, c.Time, c.Columns...)
	if err != nil {
		t.Fatal(err)
	}
	return c.Model(d)
}

// A published posterior is a marginal obtained by testdata/posteriors.py, with
// another solver and another sampler.
type published struct {
	Mean, SD float64
	MCSEMean float64 `json:"mcse_mean"`
	MCSESD   float64 `json:"mcse_sd"`
}

func load(t *testing.T, file string) map[string]published {
	t.Helper()
	b, err := os.ReadFile("../testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]published
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return all
}

// Means and standard deviations of every parameter of both data sets agree with
// those of the independent solver within 4.5 Monte Carlo standard errors of the
// difference: 4 runs of 8 or 3 parameters, 2·(8 + 3 + 8 + 3) = 44 checks, false
// alarms 44·7e-6 = 3e-4. RK4 with ten steps a unit of time adds nothing: its
// error is below 1e-4 of a standard deviation.
//
// With the solver's error in the model, by AM2 with a step so small that the
// error does not matter (its bias is of the order h³), the answer is the same.
func TestRealData(t *testing.T) {
	lynx := func() *bayes.Posterior { return posterior(t, "lynx-hare", "notebooks/data/lynx_hare.csv") }
	flu := func() *bayes.Posterior { return posterior(t, "influenza", "notebooks/data/influenza.csv") }
	for _, c := range []struct {
		name   string
		post   *bayes.Posterior
		scheme sample.Sampler
		want   map[string]published
	}{
		{"lynx and hare", lynx(), sample.Deterministic{}, load(t, "lynx_hare.json")},
		{"influenza", flu(), sample.Deterministic{}, load(t, "influenza.json")},
		{"lynx and hare, with solver noise", noisy(t, lynx()), sample.PCNWithinGibbs{}, load(t, "lynx_hare.json")},
		{"influenza, with solver noise", noisy(t, flu()), sample.PCNWithinGibbs{}, load(t, "influenza.json")},
	} {
		chains, err := sample.Run(context.Background(), c.post, c.scheme, mcmc.Settings{Draws: 2500, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, warning := range chains.Warnings() {
			t.Errorf("%s: %s", c.name, warning)
		}
		for i, name := range chains.Names {
			x := chains.Parameter(i)
			if name == "phi" {
				name = "phi_inv" // of which they give the posterior
				for _, chain := range x {
					for k, v := range chain {
						chain[k] = 1 / v
					}
				}
			}
			want, ok := c.want[name]
			if !ok {
				t.Fatalf("%s: nothing is published of %s", c.name, name)
			}
			mean, sd := moments(x)
			if z := (mean - want.Mean) / math.Hypot(diag.MCSEMean(x), want.MCSEMean); !(math.Abs(z) < 4.5) {
				t.Errorf("%s: mean of %s is %.5g, want %.5g: %.1f standard errors apart", c.name, name, mean, want.Mean, z)
			}
			if z := (sd - want.SD) / math.Hypot(diag.MCSESD(x), want.MCSESD); !(math.Abs(z) < 4.5) {
				t.Errorf("%s: sd of %s is %.5g, want %.5g: %.1f standard errors apart", c.name, name, sd, want.SD, z)
			}
		}
	}
}

// noisy has p solved by a probabilistic method, with α calibrated at the mode.
func noisy(t *testing.T, p *bayes.Posterior) *bayes.Posterior {
	t.Helper()
	p.Method, p.Mesh = adams.Moulton{Steps: 2}, probode.Uniform(0.1)
	found, err := modes.Find(context.Background(), p, modes.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	c, err := bayes.CalibrateAlpha(context.Background(), p, found.Highest().Theta, calibrate.Settings{Seed: 1, Paths: 200})
	if err != nil {
		t.Fatal(err)
	}
	p.Alpha = c.Alpha
	return p
}

func moments(x [][]float64) (mean, sd float64) {
	n := 0.0
	for _, chain := range x {
		for _, v := range chain {
			n++
			d := v - mean
			mean += d / n
			sd += d * (v - mean)
		}
	}
	return mean, math.Sqrt(sd / (n - 1))
}
