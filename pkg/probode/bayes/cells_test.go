package bayes_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
)

// cellOf returns the cell of one datum y whose expected value is the parameter m.
func cellOf(t *testing.T, of bayes.Likelihood, y, m float64) bayes.Cell {
	t.Helper()
	p := &probode.Problem{Name: "still", States: []string{"m"}, X0: []float64{1}, Span: [2]float64{0, 1},
		F: func(f []float64, _ float64, _, _ []float64) { f[0] = 0 }}
	e, err := bayes.NewDensity(context.Background(), &bayes.Posterior{
		Model: bayes.Model{
			Params:      []bayes.Param{{Name: "m0", Prior: distuv.Normal{Mu: 1, Sigma: 10}}},
			Experiments: []bayes.Experiment{{Problem: p.UnknownStart(), Data: &bayes.Data{T: []float64{1}, Y: [][]float64{{y}}}, Errors: []bayes.Likelihood{of}}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.5)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.LogLikelihood([]float64{m}, nil); err != nil {
		t.Fatal(err)
	}
	cells := e.Part(0).Cells()
	e.Part(0).Score(cells, 256, probode.Stream(1))
	return cells[0]
}

// A count is certain if no other one is possible: zero where zero is expected, and all
// trials where all are expected. It then contains no information. Near these values it is
// not certain, and the information is that of the law.
func TestCertainCounts(t *testing.T) {
	for _, c := range []struct {
		of      bayes.Likelihood
		y, m    float64
		certain bool
		want    float64 // information
	}{
		{bayes.Poisson{}, 0, 0, true, 0},
		{bayes.Poisson{}, 0, 1e-9, false, 1e9},
		{bayes.NegativeBinomial{Phi: bayes.Known(2)}, 0, 0, true, 0},
		{bayes.Binomial{Trials: bayes.Known(5)}, 0, 0, true, 0},
		{bayes.Binomial{Trials: bayes.Known(5)}, 5, 5, true, 0},
		{bayes.Binomial{Trials: bayes.Known(5)}, 5, 4, false, 5. / 4},
		{bayes.Gaussian{Sigma: bayes.Known(1 / math.Sqrt(2*math.Pi))}, 3, 3, false, 2 * math.Pi}, // of density 1
	} {
		got := cellOf(t, c.of, c.y, c.m)
		if got.Certain != c.certain || !(math.Abs(got.Information[0]-c.want) <= 1e-12*c.want) {
			t.Errorf("%T, y = %g, m = %g: certain is %t and the information is %g: want %t and %g", c.of, c.y, c.m, got.Certain, got.Information[0], c.certain, c.want)
		}
	}
}

// The information of censored values has no closed form, so it is estimated from draws. It
// is Φ(z) h² + ∫ r² p/σ⁴ above the limit, where h = φ/σΦ is the slope of log Φ and z the
// limit in standard deviations. With 256 draws the estimate has an error of 7 %; five of
// these are exceeded with a probability below 1e-6.
func TestEstimatedInformation(t *testing.T) {
	const sigma, m = 0.7, 2.1
	for _, limit := range []float64{0.5, 1.8, 2.6} {
		of := bayes.Censored{Of: bayes.Gaussian{Sigma: bayes.Known(sigma)}, Limit: limit}
		z := (limit - m) / sigma
		n := distuv.UnitNormal
		want := math.Pow(n.Prob(z), 2)/n.CDF(z) + z*n.Prob(z) + n.Survival(z) // times σ²
		cells := cellOf(t, of, limit, m)
		e := cells.Information[0] * sigma * sigma
		if !(math.Abs(e/want-1) < 0.35) {
			t.Errorf("limit %g: information %.4g/σ²: want %.4g", limit, e, want)
		}
	}
}
