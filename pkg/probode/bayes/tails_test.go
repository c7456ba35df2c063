package bayes_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
)

// The posterior of k is known up to a constant, and its draws are its quantiles, which are
// computed by quadrature, so that no chance is in the test.
func TestHeavyTails(t *testing.T) {
	halfCauchy := bayes.Truncated{Of: distuv.StudentsT{Sigma: 1, Nu: 1}, Min: 0, Max: math.Inf(1)}
	saturates := func(k float64) float64 { return 1 - math.Exp(-k) } // x(1) for x′ = k (1 − x)
	for _, c := range []struct {
		name  string
		prior bayes.Distribution
		y     func(k float64) float64
		data  float64
		heavy bool
	}{
		{"constant likelihood", halfCauchy, saturates, 0.6, true},  // 4 sd below its end
		{"negligible constant", halfCauchy, saturates, 0.3, false}, // 7 sd, e^−24.5
		{"falling likelihood", halfCauchy, func(k float64) float64 { return k }, 0.6, false},
		{"finite variance", bayes.Truncated{Of: distuv.StudentsT{Sigma: 1, Nu: 3}, Min: 0, Max: math.Inf(1)}, saturates, 0.6, false},
		{"light prior", distuv.Exponential{Rate: 0.5}, saturates, 0.6, false},
		{"two tails", distuv.StudentsT{Sigma: 1, Nu: 1}, func(k float64) float64 { return math.Tanh(k) }, -0.6, true},
		{"nearly no prior mean", distuv.StudentsT{Sigma: 1, Nu: 1.5}, func(k float64) float64 { return math.Tanh(k) }, 0.6, true},
	} {
		const sigma = 0.1
		p := &bayes.Posterior{Model: bayes.Model{
			Params: []bayes.Param{{Name: "k", Prior: c.prior}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "clock", Params: []string{"k"}, Theta: []float64{1}, X0: []float64{0}, Span: [2]float64{0, 1},
					F: func(f []float64, _ float64, _, _ []float64) { f[0] = 1 }},
				Observe: func(dst []float64, _ float64, _, theta []float64) { dst[0] = c.y(theta[0]) },
				Data:    &bayes.Data{T: []float64{1}, Y: [][]float64{{c.data}}},
				Errors:  []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(sigma)}},
			}}},
			Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.5)}}
		// Midpoints of equal parts of the prior, weighted by the likelihood.
		const n, draws = 5000, 400
		quantiles, weights, total := make([]float64, n), make([]float64, n), 0.0
		for i := range n {
			quantiles[i] = c.prior.Quantile((float64(i) + 0.5) / n)
			r := (c.data - c.y(quantiles[i])) / sigma
			weights[i] = math.Exp(-r * r / 2)
			total += weights[i]
		}
		chains := &mcmc.Chains{Names: []string{"k"}, Draws: make([][][]float64, 4)}
		drawn, sum := 0, 0.0
		for i := range n {
			for sum += weights[i] / total; drawn < draws && sum > (float64(drawn)+0.5)/draws; drawn++ {
				chains.Draws[drawn%4] = append(chains.Draws[drawn%4], []float64{quantiles[i]})
			}
		}
		heavy, err := bayes.HeavyTails(context.Background(), p, chains)
		if err != nil || (len(heavy) == 1) != c.heavy {
			t.Errorf("%s: heavy tails of %v, error %v", c.name, heavy, err)
		}
	}
}
