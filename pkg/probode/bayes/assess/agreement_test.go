package assess_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Another program's lp__ differs by a constant, is written with six digits, and may have the
// mistakes that a port of a model has.
func TestCompareDensities(t *testing.T) {
	lynx, err := cases.Named("lynx-hare")
	if err != nil {
		t.Fatal(err)
	}
	p := lynx.Posterior()
	d, err := bayes.NewDensity(t.Context(), p.SolvedBy(catalog.Default()))
	if err != nil {
		t.Fatal(err)
	}
	center := map[string]float64{"theta1": 0.55, "theta2": 0.028, "theta3": 0.80, "theta4": 0.024, "hare0": 34, "lynx0": 6, "sigma_hare": 0.25, "sigma_lynx": 0.25}
	rng := rand.New(rand.NewPCG(1, 2))
	var draws [][]float64
	var densities []float64
	u := make([]float64, d.Dim())
	for range 100 {
		theta := make([]float64, d.Dim())
		last := 0.0
		for k, name := range p.Names() {
			c, ok := center[name]
			if !ok {
				t.Fatalf("the model has the parameter %s", name)
			}
			spread := 0.1
			if name == "lynx0" {
				spread = 0.01 // its Jacobian varies less than a weight may
			}
			z := rng.NormFloat64()
			if name == "sigma_lynx" {
				z = 0.8*last + 0.6*z // of sigma_hare
			}
			last, theta[k] = z, c*math.Exp(spread*z)
		}
		if err := d.Unconstrain(u, theta); err != nil {
			t.Fatal(err)
		}
		lp, err := d.LogPosterior(u, nil)
		if err != nil {
			t.Fatal(err)
		}
		draws, densities = append(draws, theta), append(densities, lp)
	}
	at := func(name string) int {
		for k, n := range p.Names() {
			if n == name {
				return k
			}
		}
		t.Fatalf("no parameter %s", name)
		return -1
	}
	for want, mistake := range map[string]func(theta []float64) float64{
		"the models agree: ":                                                                  func([]float64) float64 { return 0 },
		"because lp__ lacks the Jacobian of theta2":                                           func(x []float64) float64 { return -math.Log(x[at("theta2")]) },
		"because lp__ lacks the prior of lynx0":                                               func(x []float64) float64 { return -p.Params[at("lynx0")].Prior.LogProb(x[at("lynx0")]) },
		"because lp__ has 21 log sigma_hare more":                                             func(x []float64) float64 { return 21 * math.Log(x[at("sigma_hare")]) },
		"the models differ: the difference of the log posteriors varies by 0.01":              func(x []float64) float64 { return -math.Log(x[at("lynx0")]) },
		"lacks the Jacobian of hare0":                                                         func(x []float64) float64 { return -math.Log(x[at("hare0")]) - math.Log(x[at("theta1")]) },
		"lacks the Jacobian of theta1":                                                        func(x []float64) float64 { return -math.Log(x[at("hare0")]) - math.Log(x[at("theta1")]) },
		"because lp__ lacks the Jacobian of sigma_hare, and lacks the Jacobian of sigma_lynx": func(x []float64) float64 { return -math.Log(x[at("sigma_hare")]) - math.Log(x[at("sigma_lynx")]) },
		": functions of theta1, theta3 explain 99 % of the variance; compare the priors and bounds": func(x []float64) float64 {
			// normal(1; .25) for normal(1; .5)
			sum := 0.0
			for _, name := range []string{"theta1", "theta3"} {
				z := x[at(name)] - 1
				sum += z * z * (1/(2*0.25*0.25) - 1/(2*0.5*0.5))
			}
			return sum
		},
		"(sd at 100 draws), and no function of one": func([]float64) float64 { return 0 },
	} {
		noise := 0.0
		if strings.Contains(want, "no function of one") {
			noise = 3.5
		}
		c := &mcmc.Chains{Names: p.Names(), Quantities: []string{"lp__"}, Draws: [][][]float64{draws}, Generated: [][][]float64{nil}}
		for i, x := range draws {
			// CmdStan writes lp__ with six digits.
			lp := math.Round((densities[i]+mistake(x)-100)*1000)/1000 + noise*rng.NormFloat64()
			c.Generated[0] = append(c.Generated[0], []float64{lp})
		}
		got, err := assess.CompareDensities(t.Context(), p, c, catalog.Default(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got, want) {
			t.Errorf("got %q: want %q", got, want)
		}
	}
}
