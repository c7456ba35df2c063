package assess_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// The regression is the formula of Barlow et al. (1972), max over i ≤ n of min over
// j ≥ n of the mean of y[i..j]; missing values have no weight.
func TestIsotonic(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		y := make([]float64, 1+rng.IntN(8))
		for i := range y {
			y[i] = float64(rng.IntN(5)) // with ties
		}
		got := assess.Isotonic(y)
		for n := range y {
			want := math.Inf(-1)
			for i := range n + 1 {
				least := math.Inf(1)
				for j := n; j < len(y); j++ {
					sum := 0.0
					for _, v := range y[i : j+1] {
						sum += v
					}
					least = math.Min(least, sum/float64(j+1-i))
				}
				want = math.Max(want, least)
			}
			if math.Abs(got[n]-want) > 1e-12 {
				t.Fatalf("%v: %v, want %g at %d", y, got, want, n)
			}
		}
	}
	nan := math.NaN()
	if got := assess.Isotonic([]float64{nan, 3, nan, 1, 5, nan}); !slices.Equal(got, []float64{0, 2, 2, 2, 5, 5}) {
		t.Errorf("with missing values %v", got)
	}
	if got := assess.Isotonic(nil); len(got) != 0 {
		t.Errorf("of nothing %v", got)
	}
}

// Error variances are among the remedies of a step at which the error matters, with
// their bias and width, and where they do not help the remedy says so. Of counts
// there are none.
func TestIsotonicAmongRemedies(t *testing.T) {
	for _, counts := range []bool{false, true} {
		p := assessPosterior(0.25)
		if counts {
			x := &p.Experiments[0]
			data := &bayes.Data{T: x.Data.T}
			for range data.T {
				data.Y = append(data.Y, []float64{3})
			}
			x.Data, x.Errors = data, []bayes.Likelihood{bayes.Poisson{}}
			x.Observe = func(dst []float64, _ float64, state, _ []float64) { dst[0] = 5 * math.Abs(state[0]) }
		}
		a := assessed(t, p, assess.Settings{Steps: []float64{0.25, 0.0625}, Weighed: 400, Sampler: bayes.Deterministic{},
			Chains: mcmc.Settings{Draws: 1000, BurnIn: 500, Seed: 4}, Calibrate: probode.CalibrateSettings{Paths: 50}})
		var found []assess.Remedy
		for _, r := range a.Remedies {
			if r.Kind == "isotonic variances" {
				found = append(found, r)
			}
		}
		if counts {
			if found != nil {
				t.Errorf("of counts: %+v", found)
			}
			continue
		}
		if len(found) == 0 || math.IsNaN(found[0].Bias) || !(found[0].Seconds > 0) || found[0].Note == "" {
			t.Fatalf("%+v", found)
		}
		for _, r := range found {
			if r.Recommended && !r.Reaches {
				t.Errorf("%+v", r)
			}
		}
	}
}
