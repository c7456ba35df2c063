package marginal

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/filter"
)

// lagged is x′ = −x/2 with a dose of 4 at an unknown time, measured with errors of 0.2.
func lagged() bayes.Model {
	p := &probode.Problem{
		Name: "lagged", X0: []float64{1}, Span: [2]float64{0, 4}, Theta: []float64{1}, Params: []string{"lag"}, Autonomous: true,
		F:      func(f []float64, _ float64, x, _ []float64) { f[0] = -x[0] / 2 },
		Events: []probode.Event{{When: func(th []float64) float64 { return th[0] }, Jump: func(x []float64, _ float64, _ []float64) { x[0] += 4 }}},
	}
	return bayes.Model{
		Params: []bayes.Param{{Name: "lag", Prior: distuv.Uniform{Min: 0.1, Max: 3}}},
		Experiments: []bayes.Experiment{{Problem: p, Data: &bayes.Data{T: []float64{0.5, 1.5, 2, 4}, Y: [][]float64{{0.7}, {3.7}, {2.6}, {1.1}}},
			Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.2)}}}},
	}
}

// If the time of an event is a parameter, the likelihood is that of the exact solution at
// the times of the data for every value of the parameter, also if that moves the event past
// a datum. A small diffusion changes it by less than 1e-3, and its slope by less than 1 %.
func TestMovingEvent(t *testing.T) {
	for _, mesh := range []probode.Mesh{probode.Through(.05), probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-6}}} {
		for _, dalton := range []bool{false, true} {
			m := lagged()
			e := density(t, m, settings{EK: filter.EK{Q: 3}, mesh: mesh, dalton: dalton, diffusion: bayes.Known(1e-2)})
			other := e.Clone()
			exact := func(lag float64) (ll float64) {
				for n, at := range m.Experiments[0].Data.T {
					x := math.Exp(-at / 2)
					if at > lag {
						x += 4 * math.Exp(-(at-lag)/2)
					}
					ll += distuv.Normal{Mu: x, Sigma: 0.2}.LogProb(m.Experiments[0].Data.Y[n][0])
				}
				return ll
			}
			for _, lag := range []float64{0.6, 0.93, 1, 1.07, 1.4} {
				want := exact(lag)
				got, err := e.LogLikelihood([]float64{lag}, nil)
				if again, err := other.LogLikelihood([]float64{lag}, nil); err != nil || again != got {
					t.Errorf("%v, DALTON %t, lag %g: log likelihood %.6f by a clone, %v: want %.6f", mesh, dalton, lag, again, err, got)
				}
				slope := []float64{0}
				if _, err := e.LikelihoodGradient(slope, nil, []float64{lag}, nil); err != nil {
					t.Error(err)
				}
				if want := (exact(lag+1e-5) - exact(lag-1e-5)) / 2e-5; !(math.Abs(slope[0]-want) < 0.05+0.01*math.Abs(want)) {
					t.Errorf("%v, DALTON %t, lag %g: the slope is %.6g: want %.6g", mesh, dalton, lag, slope[0], want)
				}
				if err != nil || !(math.Abs(got-want) < 1e-3*math.Abs(want)) {
					t.Errorf("%v, DALTON %t, lag %g: log likelihood %.6f, %v: want %.6f", mesh, dalton, lag, got, err, want)
				}
			}
		}
	}
}
