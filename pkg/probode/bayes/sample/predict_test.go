package sample_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// predictions of decay: the mean of a new observation and its variance follow
// from p(θ | Y) by quadrature. Chains of 4·10000 draws, thinned to about
// independent ones; 4 times, 2 checks each for 2 kinds of draws, of 7e-6 each.
func TestPredict(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := decayPosterior(0, decayY)
	for _, weights := range []bool{false, true} {
		chains := run(t, p, sample.Deterministic{Proposal: walk}, 10000)
		logp, h := decayClassical(decayStep, decayY), decayStep
		if weights {
			chains, logp, h = reweighted(t, p, chains, probode.Setup{}), decayClassical(0, decayY), 0
		}
		out, err := bayes.Predict(context.Background(), p, chains, nil, 3)
		if err != nil {
			t.Fatal(err)
		}
		// Draws come in chains: every effective one is worth this many.
		dependence := 40000 / diag.BulkESS(chains.Parameter(0))
		if weights {
			var sum, squares float64
			for _, c := range chains.LogWeights {
				for _, w := range c {
					sum, squares = sum+math.Exp(w), squares+math.Exp(2*w)
				}
			}
			dependence *= 40000 * squares / (sum * sum)
		}
		norm := expect(logp, func(float64) float64 { return 1 })
		for n, at := range decayTimes {
			fit := func(theta float64) float64 {
				if h == 0 {
					return math.Exp(-theta * at)
				}
				return math.Pow(1-h*theta, math.Round(at/h))
			}
			mean := expect(logp, fit) / norm
			v := expect(logp, func(theta float64) float64 { return math.Pow(fit(theta)-mean, 2) })/norm + decaySigma*decaySigma
			var y []float64
			for _, d := range out[0].Y {
				y = append(y, d[n][0])
			}
			m, s2 := stat.MeanVariance(y, nil)
			if z := (m - mean) / math.Sqrt(v*dependence/40000); math.Abs(z) > 4.5 {
				t.Errorf("weights %v, t = %g: mean %.4f, want %.4f (%.1f standard errors)", weights, at, m, mean, z)
			}
			// The distribution of y is nearly normal: var s² = 2v²/n.
			if z := (s2 - v) / (v * math.Sqrt(2*dependence/40000)); math.Abs(z) > 4.5 {
				t.Errorf("weights %v, t = %g: variance %.5f, want %.5f (%.1f standard errors)", weights, at, s2, v, z)
			}
		}
		if lo, hi := out[0].Quantiles(0, 0.1)[0], out[0].Quantiles(0, 0.9)[0]; !(lo < hi) {
			t.Errorf("quantiles %g and %g", lo, hi)
		}
	}
}

// The log predictive density against quadrature, within 4.5 standard errors of
// the mean of p(yᵢ | θ): 8 checks of 7e-6 each.
func TestLogPredictive(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := decayPosterior(0, decayY)
	for _, weights := range []bool{false, true} {
		chains := run(t, p, sample.Deterministic{Proposal: walk}, 10000)
		logp, h := decayClassical(decayStep, decayY), decayStep
		if weights {
			chains, logp, h = reweighted(t, p, chains, probode.Setup{}), decayClassical(0, decayY), 0
		}
		lpd, err := bayes.LogPredictive(p, chains)
		if err != nil {
			t.Fatal(err)
		}
		norm := expect(logp, func(float64) float64 { return 1 })
		for n, at := range decayTimes {
			density := func(theta float64) float64 {
				m := math.Exp(-theta * at)
				if h > 0 {
					m = math.Pow(1-h*theta, math.Round(at/h))
				}
				return distuv.Normal{Mu: m, Sigma: decaySigma}.Prob(decayY[n])
			}
			want := expect(logp, density) / norm
			_, _, se := weighted(chains, density)
			if z := (math.Exp(lpd[n]) - want) / se; math.Abs(z) > 4.5 {
				t.Errorf("weights %v, t = %g: %.5f, want %.5f (%.1f standard errors)", weights, at, math.Exp(lpd[n]), want, z)
			}
		}
	}
}

// Of a missing value there is no density, but a prediction.
func TestPredictMissing(t *testing.T) {
	y := []float64{0.75, math.NaN(), 0.29, 0.07}
	p := decayPosterior(decayAlpha, y)
	chains := run(t, p, sample.PCNWithinGibbs{Proposal: walk}, 200)
	lpd, err := bayes.LogPredictive(p, chains)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range lpd {
		if math.IsNaN(v) != (i == 1) {
			t.Errorf("log predictive densities %v", lpd)
		}
	}
	out, err := bayes.Predict(context.Background(), p, chains, nil, 1)
	if err != nil || math.IsNaN(out[0].Y[5][1][0]) || math.IsNaN(out[0].Fit[5][1][0]) {
		t.Errorf("prediction %v, %v", out[0].Y[5], err)
	}
	other := decayPosterior(decayAlpha, y)
	other.Params[0].Name = "rate"
	other.Experiments[0].Params = []string{"rate"}
	if _, err := bayes.Predict(context.Background(), other, chains, nil, 1); err == nil || !strings.Contains(err.Error(), "belong to a different model") {
		t.Errorf("error %v", err)
	}
}

// The prior predictive distribution with the noise of the solver: mean and variance of
// independent draws of each observation against quadrature over θ; 8 checks of
// 7e-6 each, the variance with the fourth moment estimated.
func TestPredictPrior(t *testing.T) {
	const n = 20000
	p := decayPosterior(decayAlpha, decayY)
	out, theta, failed, err := bayes.PredictPrior(context.Background(), p, n, nil, 5)
	if err != nil || failed != 0 || len(theta) != n {
		t.Fatalf("%d draws, %d failed, error %v", len(theta), failed, err)
	}
	dist := decayPrior.LogProb
	for i, at := range decayTimes {
		mean := expect(dist, func(theta float64) float64 { m, _ := decayLaw(theta, decayAlpha); return m[i] })
		second := expect(dist, func(theta float64) float64 {
			m, cov := decayLaw(theta, decayAlpha)
			return cov.At(i, i) + m[i]*m[i]
		})
		v := second - mean*mean
		var y, r []float64
		for _, d := range out[0].Y {
			y = append(y, d[i][0])
			r = append(r, math.Pow(d[i][0]-mean, 2))
		}
		if z := (stat.Mean(y, nil) - mean) / math.Sqrt(v/n); math.Abs(z) > 4.5 {
			t.Errorf("t = %g: mean off by %.1f standard errors", at, z)
		}
		if m, sd := stat.MeanStdDev(r, nil); math.Abs(m-v) > 4.5*sd/math.Sqrt(n) {
			t.Errorf("t = %g: variance %.4f, want %.4f", at, m, v)
		}
	}
}
