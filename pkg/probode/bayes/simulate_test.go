package bayes_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// walked is x′ = slope from 3 by Euler's method with noise, seen with errors of unknown
// size and as counts; some values are missing.
func walked() *bayes.Posterior {
	nan := math.NaN()
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "slope", Prior: distuv.Normal{Mu: 2, Sigma: 0.5}}, {Name: "sigma", Prior: distuv.Uniform{Min: 0.2, Max: 0.6}}},
			Experiments: []bayes.Experiment{{Problem: sloped(2), Data: &bayes.Data{T: []float64{0, 0.5, 2}, Y: [][]float64{{3, 3}, {nan, 4}, {7, nan}}, Names: []string{"value", "count"}},
				Observe: func(dst []float64, _ float64, x, _ []float64) { dst[0], dst[1] = x[0], x[0] },
				Errors:  []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("sigma")}, bayes.Poisson{}}}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.5), Alpha: 0.4},
	}
}

// Simulated data have the moments of the prior predictive distribution. With slope s, α =
// 0.4 and steps of ½, x(t) is 3 + st plus noise of the variance αt/4. So the value at t has
// the mean 3 + 2t and the variance t²/4 + αt/4 + E σ², and the count has the variance t²/4
// + αt/4 + mean. Of 3,000 simulations the mean and the variance are within 4.5 standard
// errors, also without noise: 16 checks of 7e-6. Kurtoses are below 3.6.
func TestSimulate(t *testing.T) {
	const n = 3000
	p := walked()
	given := slices.Clone(p.Experiments[0].Data.Y[2])
	sigma2 := (0.6*0.6*0.6 - 0.2*0.2*0.2) / 3 / 0.4
	for _, noisy := range []bool{true, false} {
		var y [3][2][]float64
		for i := range n {
			q, theta, ll, err := bayes.Simulate(context.Background(), p, noisy, probode.Stream(9, uint64(i)))
			if err != nil {
				t.Fatal(err)
			}
			for k, row := range q.Experiments[0].Data.Y {
				for c, v := range row {
					if math.IsNaN(v) != math.IsNaN(p.Experiments[0].Data.Y[k][c]) {
						t.Fatalf("value %d at time %d is %g", c+1, k+1, v)
					}
					y[k][c] = append(y[k][c], v)
				}
			}
			if i < 3 && !noisy { // the log likelihood is that of the new data at the draw
				got, _ := logLikelihoodAt(t, q, theta...)
				if !(math.Abs(got-ll) < 1e-12*math.Abs(ll)) {
					t.Errorf("log likelihood %.15g: want %.15g", ll, got)
				}
			}
		}
		for k, at := range p.Experiments[0].Data.T {
			for c := range 2 {
				if math.IsNaN(p.Experiments[0].Data.Y[k][c]) {
					continue
				}
				mean, v := 3+2*at, at*at/4
				if noisy {
					v += 0.4 * at / 4
				}
				if v += sigma2; c == 1 {
					v += mean - sigma2
				}
				m, s2 := stat.MeanVariance(y[k][c], nil)
				if z := (m - mean) / math.Sqrt(v/n); !(math.Abs(z) < 4.5) {
					t.Errorf("noise %t, t = %g, column %d: mean %.4f, %.1f standard errors from %.4f", noisy, at, c+1, m, z, mean)
				}
				if z := (s2/v - 1) / math.Sqrt(2.6/n); !(math.Abs(z) < 4.5) {
					t.Errorf("noise %t, t = %g, column %d: variance %.4f, %.1f standard errors from %.4f", noisy, at, c+1, s2, z, v)
				}
			}
		}
	}
	if got := p.Experiments[0].Data.Y[2]; got[0] != given[0] {
		t.Errorf("the data of the original have changed: %g", got)
	}
}

// Systematic resampling takes each draw as often as its weight says, rounded up or down, in
// the order of the draws, and never one without a weight. Without weights the draws are
// evenly spaced.
func TestResample(t *testing.T) {
	inf := math.Inf(1)
	rng := probode.Stream(5)
	for _, logw := range [][]float64{{0, 0, 0, 0}, {0, -1, -2, 3}, {-inf, 0, -inf, 0.5}, {-1000, -1001, -999, -1000}, {700, 699, -inf, -inf}, {-inf, -inf, -inf, 2}, {5}} {
		var sum float64
		top := slices.Max(logw)
		for _, w := range logw {
			sum += math.Exp(w - top)
		}
		half := len(logw) / 2
		chains := &mcmc.Chains{Draws: [][][]float64{make([][]float64, half), make([][]float64, len(logw)-half)}, LogWeights: [][]float64{logw[:half], logw[half:]}}
		for _, n := range []int{1, 7, 1000} {
			index := bayes.Resample(chains, n, rng)
			if len(index) != n || !slices.IsSorted(index) {
				t.Fatalf("%d of %d indices, sorted: %t", len(index), n, slices.IsSorted(index))
			}
			count := make([]float64, len(logw))
			for _, i := range index {
				count[i]++
			}
			for i, w := range logw {
				if want := float64(n) * math.Exp(w-top) / sum; !(math.Abs(count[i]-want) < 1+1e-9) || want == 0 && count[i] > 0 {
					t.Errorf("log weights %g: draw %d is taken %g times: want %.3f", logw, i+1, count[i], want)
				}
			}
		}
		chains.LogWeights = nil
		index := bayes.Resample(chains, 2*len(logw), rng)
		for i, got := range index {
			if got != i/2 {
				t.Errorf("without weights index %d is %d: want %d", i, got, i/2)
			}
		}
	}
}

// The log predictive density of a value is the logarithm of the weighted mean of its
// densities at the draws, also if these are so small or so different that their exponentials
// underflow. Draws without a weight do not count, whatever they contain.
func TestLogPredictiveOfGivenDraws(t *testing.T) {
	p := walked()
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	names := e.Quantities()
	row := func(lp ...float64) []float64 { // after the log density and six expected values
		return append(make([]float64, 7), lp...)
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		generated [][]float64
		weights   []float64
		want      []float64 // of the four values that are not missing
	}{
		{[][]float64{row(-1, -2000, 0, -5), row(-1, -2001, -inf, -5)}, nil, []float64{-1, -2000 + math.Log((1+math.Exp(-1))/2), -math.Ln2, -5}},
		{[][]float64{row(-1, -2, -3, 0), row(nan, nan, nan, nan), row(-2, -2, -3, -1000)}, []float64{0, -inf, math.Log(3)}, []float64{math.Log((math.Exp(-1) + 3*math.Exp(-2)) / 4), -2, -3, -math.Log(4)}},
		{[][]float64{row(-1, -2, -3, -4)}, []float64{-900}, []float64{-1, -2, -3, -4}},
		{[][]float64{row(-inf, -2, -3, -4), row(-inf, -2, -3, -4)}, nil, []float64{-inf, -2, -3, -4}},
	} {
		chains := &mcmc.Chains{Names: p.Names(), Quantities: names, Generated: [][][]float64{c.generated}, Draws: [][][]float64{make([][]float64, len(c.generated))}}
		if c.weights != nil {
			chains.LogWeights = [][]float64{c.weights}
		}
		got, err := bayes.LogPredictive(p, chains)
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		for i, y := range []float64{3, 3, nan, 4, 7, nan} {
			if math.IsNaN(y) {
				if !math.IsNaN(got[i]) {
					t.Errorf("the missing value %d has the log predictive density %g", i+1, got[i])
				}
				continue
			}
			if want := c.want[at]; got[i] != want && !(math.Abs(got[i]-want) < 1e-12*(1+math.Abs(want))) {
				t.Errorf("value %d: log predictive density %.12g: want %.12g", i+1, got[i], want)
			}
			at++
		}
	}
}

// Quantiles of predictions leave out draws that have no distribution, and are NaN if no
// others remain.
func TestQuantilesOfPredictions(t *testing.T) {
	nan := math.NaN()
	q := &bayes.Prediction{T: []float64{1, 2}, Y: [][][]float64{{{3, nan}, {1, 5}}, {{1, nan}, {nan, 5}}, {{2, nan}, {3, 5}}}}
	for _, c := range []struct {
		column int
		prob   float64
		want   [2]float64
	}{{0, 0, [2]float64{1, 1}}, {0, 0.5, [2]float64{2, 2}}, {0, 0.75, [2]float64{2.5, 2.5}}, {0, 1, [2]float64{3, 3}}, {1, 0.3, [2]float64{nan, 5}}} {
		for n, got := range q.Quantiles(c.column, c.prob) {
			if want := c.want[n]; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("the quantile of column %d at %g, time %d, is %g: want %g", c.column, c.prob, n+1, got, want)
			}
		}
	}
	if got := (&bayes.Prediction{}).Quantiles(0, 0.5); got != nil {
		t.Errorf("quantiles of nothing: %g", got)
	}
}
