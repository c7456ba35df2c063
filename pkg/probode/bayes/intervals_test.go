package bayes_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
)

// intervals is a model of x = 3 + at with measurements of which some are intervals, in one
// column: 2..5 at 1, 6.. at 2, and known values at the other times.
func intervals(of bayes.Cumulative) *bayes.Posterior {
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "slope", Prior: distuv.Normal{Mu: 1, Sigma: 1}}, {Name: "s", Prior: distuv.LogNormal{Mu: -1, Sigma: 0.5}}},
			Experiments: []bayes.Experiment{{Problem: sloped(3), Data: &bayes.Data{Names: []string{"x"}, T: []float64{0, 1, 2, 3}, Y: [][]float64{{3.3}, {2}, {6}, {5.8}}},
				Errors: []bayes.Likelihood{bayes.Interval{Of: of, From: bayes.Value{At: map[float64]float64{1: 2, 2: 6}}, To: bayes.Value{At: map[float64]float64{1: 5, 2: math.Inf(1)}}}}}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.25)},
	}
}

// Some measurements in a column are intervals. The likelihood is the sum of closed forms;
// new data are draws around the expected values at all times, also between the rows.
func TestIntervalsInOneColumn(t *testing.T) {
	const a, s = 0.9, 0.4
	at := func(t float64) distuv.Normal { return distuv.Normal{Mu: 3 + a*t, Sigma: s} }
	want := at(0).LogProb(3.3) + math.Log(at(1).CDF(5)-at(1).CDF(2)) + math.Log(at(2).Survival(6)) + at(3).LogProb(5.8)
	e, u := densityAt(t, intervals(bayes.Gaussian{Sigma: bayes.Unknown("s")}), a, s)
	if ll, err := e.LogLikelihood([]float64{a, s}, nil); err != nil || math.Abs(ll-want) > 1e-12 {
		t.Errorf("log likelihood %.15g, %v: want %.15g", ll, err, want)
	}
	// Where the value is known, the information is that of the Gaussian, 1/σ² and 2/σ².
	cells := e.Part(0).Cells()
	e.Part(0).Score(cells, 10, rand.New(rand.NewPCG(1, 2)))
	if got := cells[3].Information; math.Abs(got[0]*s*s-1)+math.Abs(got[3]*s*s/2-1) > 1e-12 {
		t.Errorf("information %v", got)
	}
	checkGradient(t, e, u, nil, 1e-6)
	for _, of := range []bayes.Cumulative{bayes.LogNormal{Sigma: bayes.Unknown("s")}, bayes.StudentT{Nu: bayes.Known(3), Sigma: bayes.Unknown("s")}, bayes.Censored{Of: bayes.Gaussian{Sigma: bayes.Unknown("s")}, Limit: 3.5}} {
		e, u := densityAt(t, intervals(of), a, s)
		checkGradient(t, e, u, nil, 1e-6)
	}

	// The mean of 4000 draws of N(3 + Nt, s²), with N(1, 1) for the slope and E s² = e^−1.5,
	// is within 4.5 standard errors, except with probability 7e-6 for each time.
	const n = 4000
	out, _, failed, err := bayes.PredictPrior(context.Background(), intervals(bayes.Gaussian{Sigma: bayes.Unknown("s")}), n, []float64{0.5, 1, 2}, 3)
	if err != nil || failed > 0 || !slices.Equal(out[0].Names, []string{"x"}) {
		t.Fatal(out, failed, err)
	}
	for k, at := range out[0].T {
		var mean float64
		for _, y := range out[0].Y {
			mean += y[k][0] / n
		}
		if se := math.Sqrt((at*at + math.Exp(-1.5)) / n); !(math.Abs(mean-3-at) < 4.5*se) {
			t.Errorf("mean of draws at %g: %g ± %g: want %g", at, mean, se, 3+at)
		}
	}
}

// Simulated data that lie in the interval of their row stand for it: the probability of the
// interval and the density outside add up to one, by Simpson's rule on both sides of it.
func TestIntervalIsNormalised(t *testing.T) {
	for _, c := range []struct {
		of  bayes.Cumulative
		own []float64
	}{
		{bayes.Gaussian{}, []float64{0.7}},
		{bayes.Laplace{}, []float64{0.7}},
		{bayes.Censored{Of: bayes.Gaussian{}, Limit: 0.6}, []float64{0.7}},
	} {
		of, own := bayes.Interval{Of: c.of}, append(c.own, 1, 2.5)
		sum := math.Exp(of.LogProb(1.5, 2.1, own))
		low := -30.0
		if of, ok := c.of.(bayes.Censored); ok {
			low = math.Nextafter(of.Limit, 1)
			sum += math.Exp(of.LogProb(0, 2.1, c.own))
		}
		for _, side := range [][2]float64{{low, math.Nextafter(1, 0)}, {math.Nextafter(2.5, 3), 30}} {
			const n = 20000
			h := (side[1] - side[0]) / n
			for i := range n + 1 {
				w := h / 3 * float64(2+2*(i%2))
				if i == 0 || i == n {
					w = h / 3
				}
				sum += w * math.Exp(of.LogProb(min(side[0]+float64(i)*h, side[1]), 2.1, own))
			}
		}
		if !(math.Abs(sum-1) < 1e-8) {
			t.Errorf("%T: the sum is %.10f", c.of, sum)
		}
	}
}

// Numbers of trials that differ between the rows: the log probability is that of
// gonum's binomial distribution.
func TestTrialsOfRows(t *testing.T) {
	trials := map[float64]float64{1: 10, 2: 25}
	p := intervals(nil)
	p.Params = p.Params[:1]
	x := &p.Experiments[0]
	x.Data = &bayes.Data{T: []float64{0.5, 1, 2}, Y: [][]float64{{math.NaN()}, {4}, {7}}}
	x.Errors = []bayes.Likelihood{bayes.Binomial{Trials: bayes.Value{At: trials}}}
	e, u := densityAt(t, p, 0.9)
	want := distuv.Binomial{N: 10, P: 0.39}.LogProb(4) + distuv.Binomial{N: 25, P: 4.8 / 25}.LogProb(7)
	if ll, err := e.LogLikelihood([]float64{0.9}, nil); err != nil || math.Abs(ll-want) > 1e-12 {
		t.Errorf("log likelihood %.15g, %v: want %.15g", ll, err, want)
	}
	checkGradient(t, e, u, nil, 1e-6)
}
