package certify_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/methods"
)

// x′ = −θx from 1 by RK4, whose steps end at data 1/2 apart and are hardly limited by the
// tolerance. The data are exact, so the log likelihood tells the error of the solver. D,
// from halved steps with a hundredth of the tolerance, is within a fifth of it, as their
// own error is a sixteenth.
func TestOwnErrorOfLimitedSteps(t *testing.T) {
	data := &bayes.Data{}
	for i := 1; i <= 4; i++ {
		data.T, data.Y = append(data.T, float64(i)/2), append(data.Y, []float64{math.Exp(-float64(i))})
	}
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "k", Prior: distuv.LogNormal{Mu: math.Ln2, Sigma: 0.3}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "decay", X0: []float64{1}, Theta: []float64{2}, Params: []string{"k"}, Span: [2]float64{0, 2}, Autonomous: true,
					F: func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] }},
				Data: data, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(1e-4)}},
			}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 0.5}}},
	}
	e, err := bayes.NewDensity(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	ll, err := e.LogLikelihood([]float64{2}, nil) // the data are exact, so it tells the error
	if err != nil {
		t.Fatal(err)
	}
	want := math.Sqrt(-2 * (ll + 4*math.Log(1e-4*math.Sqrt(2*math.Pi))))
	d, err := certify.OwnError(t.Context(), p, p.Setup, [][]float64{{2}}, 1)
	if err != nil || math.Abs(d[0]/want-1) > 0.2 {
		t.Errorf("D = %v, %v: want %.3g", d, err, want)
	}
}
