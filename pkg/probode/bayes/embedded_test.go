package bayes_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
)

// logistic is a Cumulative that describes nothing about itself: the logistic distribution
// with the scale s.
type logistic struct{ s bayes.Value }

func (l logistic) Own() []bayes.Value { return []bayes.Value{l.s} }
func (logistic) LogProb(y, m float64, own []float64) float64 {
	z := math.Abs(y-m) / own[0]
	return -z - 2*math.Log1p(math.Exp(-z)) - math.Log(own[0])
}
func (logistic) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	u := rng.Float64()
	return m + own[0]*math.Log(u/(1-u))
}
func (logistic) Slope(dst []float64, y, m float64, own []float64) {
	z := (y - m) / own[0]
	dst[0] = math.Tanh(z/2) / own[0]
	dst[1] = (z*math.Tanh(z/2) - 1) / own[0]
}
func (logistic) LogTail(slope []float64, y, m float64, own []float64, above bool) float64 {
	sign := 1.0
	if above {
		sign = -1
	}
	z := sign * (y - m) / own[0]
	if slope != nil {
		hazard := 1 / (1 + math.Exp(z)) / own[0]
		slope[0], slope[1] = -sign*hazard, -hazard*z
	}
	return -math.Log1p(math.Exp(-z))
}

// double embeds a Gaussian law, and takes its number for the half of the standard deviation.
type double struct{ bayes.Gaussian }

func (double) LogProb(y, m float64, own []float64) float64 {
	return bayes.Gaussian{}.LogProb(y, m, []float64{2 * own[0]})
}
func (double) LogTail(slope []float64, y, m float64, own []float64, above bool) float64 {
	lp := bayes.Gaussian{}.LogTail(slope, y, m, []float64{2 * own[0]}, above)
	if slope != nil {
		slope[1] *= 2
	}
	return lp
}

// A likelihood from outside the package can be censored, whether it describes itself or
// inherits a description that does not apply to it. The gradient is that of differences,
// and not that of the embedded law.
func TestCensoredLawFromOutside(t *testing.T) {
	for _, of := range []bayes.Likelihood{
		bayes.Censored{Of: logistic{bayes.Unknown("s")}, Limit: 1},
		bayes.Censored{Of: logistic{bayes.Known(0.4)}, Limit: 1},
		bayes.Interval{Of: logistic{bayes.Unknown("s")}, From: bayes.Known(0.5), To: bayes.Known(1.5)},
		bayes.Interval{Of: double{bayes.Gaussian{Sigma: bayes.Unknown("s")}}, From: bayes.Known(1), To: bayes.Known(math.Inf(1))},
		logistic{bayes.Unknown("s")},
		bayes.Censored{Of: double{bayes.Gaussian{Sigma: bayes.Unknown("s")}}, Limit: 1},
		double{bayes.Gaussian{Sigma: bayes.Unknown("s")}},
	} {
		p := &bayes.Posterior{
			Model: bayes.Model{
				Params: []bayes.Param{{Name: "slope", Prior: distuv.Normal{Mu: 1, Sigma: 1}}, {Name: "s", Prior: distuv.LogNormal{Mu: -1, Sigma: 0.5}}},
				Experiments: []bayes.Experiment{{Problem: sloped(1), Data: &bayes.Data{T: []float64{0.1, 0.6, 1}, Y: [][]float64{{1}, {4}, {2}}},
					Observe: func(dst []float64, _ float64, x, th []float64) { dst[0] = x[0] + 0.01*th[1] }, Errors: []bayes.Likelihood{of}}},
			},
			Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.25)},
		}
		e, err := bayes.NewDensity(context.Background(), p)
		if err != nil {
			t.Errorf("%T: %v", of, err)
			continue
		}
		_ = p.Spreads()
		checkGradient(t, e, []float64{0.7, -1.2}, nil, 1e-7)
	}
}

// Priors and laws that are incomplete or impossible are refused in one line that names the
// parameter or the column.
func TestImpossibleParts(t *testing.T) {
	one := 1.0
	nan, inf := math.NaN(), math.Inf(1)
	normal := distuv.Normal{Mu: 1, Sigma: 1}
	gaussian := bayes.Gaussian{Sigma: bayes.Unknown("s")}
	for _, c := range []struct {
		of    bayes.Likelihood
		prior bayes.Distribution
		want  string
	}{
		{gaussian, normal, ""},
		{bayes.Censored{Of: gaussian, Limit: 1}, normal, ""},
		{bayes.Censored{Limit: 1}, normal, "errors of column 1: the distribution is nil"},
		{bayes.Censored{Of: gaussian, Limit: nan}, normal, "errors of column 1: the value 3 at t = 0.5 is impossible"},
		{bayes.Censored{Of: bayes.LogNormal{Sigma: bayes.Unknown("s")}, Limit: -1}, normal, ""},
		{bayes.Censored{Of: gaussian, Limit: 1, Upper: &one}, normal, "errors of column 1: the limits are 1 and 1: want an upper limit above the lower one"},
		{bayes.Interval{Of: gaussian, From: bayes.Known(1), To: bayes.Known(nan)}, normal, "errors of column 1: the interval at t = 0.5 is [1, NaN]: want From < To"},
		{bayes.Interval{Of: gaussian, From: bayes.Known(1), To: bayes.Value{At: map[float64]float64{0.5: 4, 1: 1}}}, normal, "errors of column 1: the interval at t = 1 is [1, 1]: want From < To"},
		{bayes.Interval{Of: gaussian, From: bayes.Known(1), To: bayes.Unknown("s")}, normal, "errors of column 1: a bound of the interval is a parameter or a column: want known numbers"},
		{bayes.Interval{Of: gaussian, From: bayes.Known(1), To: bayes.Known(5)}, normal, ""},
		{bayes.Gaussian{Sigma: bayes.Value{At: map[float64]float64{0.5: 4}}}, normal, "errors of column 1: Gaussian: Sigma is NaN: want a finite number > 0"},
		{bayes.Gaussian{Sigma: bayes.Value{At: map[float64]float64{0.5: 4, 1: -1}}}, normal, "errors of column 1: Gaussian: Sigma is -1: want a finite number > 0"},
		{bayes.Interval{From: bayes.Known(1), To: bayes.Known(2)}, normal, "errors of column 1: the distribution is nil"},
		{bayes.Interval{Of: bayes.Censored{}, From: bayes.Known(1), To: bayes.Known(2)}, normal, "errors of column 1: the distribution is nil"},
		{bayes.Censored{Of: bayes.Censored{}, Limit: 1}, normal, "errors of column 1: the distribution is nil"},
		{bayes.Censored{Of: bayes.Censored{Of: gaussian, Limit: 2, Upper: &one}, Limit: 0}, normal, "errors of column 1: the limits are 2 and 1: want an upper limit above the lower one"},
		{bayes.Interval{Of: bayes.Censored{Of: gaussian, Limit: 1, Upper: &one}, From: bayes.Known(2), To: bayes.Known(5)}, normal, "errors of column 1: the limits are 1 and 1: want an upper limit above the lower one"},
		{bayes.Interval{Of: bayes.Censored{Of: gaussian, Limit: 1}, From: bayes.Known(2), To: bayes.Known(5)}, normal, ""},
		{gaussian, distuv.Normal{Mu: 1, Sigma: 0}, `the prior of "slope" has the support`},
		{gaussian, distuv.Normal{Mu: 1, Sigma: -1}, `the prior of "slope" has the support`},
		{gaussian, distuv.Normal{Mu: nan, Sigma: 1}, `the prior of "slope" has the support`},
		{gaussian, distuv.Uniform{Min: 2, Max: 1}, `the prior of "slope" has the support`},
		{gaussian, distuv.Exponential{Rate: 0}, `the prior of "slope" has the support`},
		{gaussian, bayes.Truncated{Of: normal, Min: 2, Max: 1}, `the prior of "slope" has the support`},
		{gaussian, bayes.Truncated{Of: normal, Min: nan, Max: 1}, `the prior of "slope" has the support`},
		{gaussian, bayes.Truncated{Min: 0, Max: 1}, `the prior of "slope", bayes.Truncated{Of: nil, Min: 0, Max: 1}, cannot be used`},
		{gaussian, distuv.Uniform{Min: -inf, Max: inf}, `the prior of "slope" has the`},
	} {
		p := &bayes.Posterior{
			Model: bayes.Model{
				Params:      []bayes.Param{{Name: "slope", Prior: c.prior}, {Name: "s", Prior: distuv.LogNormal{Mu: 0, Sigma: 1}}},
				Experiments: []bayes.Experiment{{Problem: sloped(1), Data: &bayes.Data{T: []float64{0.5, 1}, Y: [][]float64{{3}, {2}}}, Errors: []bayes.Likelihood{c.of}}},
			},
			Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.25)},
		}
		_, err := bayes.NewDensity(context.Background(), p)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%T, %v: error %v, want one line with %q", c.of, c.prior, err, c.want)
		}
	}
}
