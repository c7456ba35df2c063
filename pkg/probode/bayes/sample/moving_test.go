package sample

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Without noise to speak of, the estimate of a particle filter is the likelihood of the
// classical path, also if the time of an event is a parameter, and the grid points that
// a datum needs change with it.
func TestParticleFilterWithAMovingEvent(t *testing.T) {
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "lag", Prior: distuv.Uniform{Min: 0.1, Max: 3}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{
					Name: "lagged", X0: []float64{1}, Span: [2]float64{0, 4}, Theta: []float64{1.55}, Params: []string{"lag"}, Autonomous: true,
					F:      func(f []float64, _ float64, x, _ []float64) { f[0] = -x[0] / 2 },
					Events: []probode.Event{{When: func(th []float64) float64 { return th[0] }, Jump: func(x []float64, _ float64, _ []float64) { x[0] += 4 }}},
				},
				Data:   &bayes.Data{T: []float64{0.5, 1.5, 2, 3.1, 4}, Y: [][]float64{{0.7}, {3.7}, {2.6}, {1.8}, {1.1}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.2)}},
			}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{Steps: 2}, Mesh: probode.Uniform(0.1), Alpha: 1e-14},
	}
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, correlated := range []bool{false, true} {
		m := newEstimator(newState(e.Clone(), mcmc.AdaptiveMetropolis{}, 0, false), correlated, false)
		m.resize(4)
		for _, lag := range []float64{1.55, 0.3, 1, 1.4, 1.52, 1.9, 2.5, 2.9} {
			want, err := e.LogLikelihood([]float64{lag}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.logLikelihood([]float64{lag}, nil)
			if err != nil || !(math.Abs(got-want) < 1e-3*(1+math.Abs(want))) {
				t.Errorf("correlated %t, lag %g: log likelihood %.8g, %v: want %.8g", correlated, lag, got, err, want)
			}
		}
	}
}
