package shape_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/methods"
)

// The derivatives of a posterior by ObserveSlopes are those by differences of Observe, with
// a column that holds the standard deviation of another and a parameter that only Observe
// knows.
func TestObserveSlopes(t *testing.T) {
	observe := func(dst []float64, at float64, x, theta []float64) {
		dst[0] = theta[1]*x[0]*x[0] + at
		dst[1] = 0.1 + 0.05*theta[1]*x[0]
	}
	nan := math.NaN()
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "k", Prior: distuv.LogNormal{Mu: 0, Sigma: 1}}, {Name: "scale", Prior: distuv.LogNormal{Mu: 0, Sigma: 1}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{F: func(f []float64, _ float64, x, theta []float64) { f[0] = -theta[0] * x[0] },
					FTheta: func(dst []float64, _ float64, x, _ []float64) { dst[0] = -x[0] },
					X0:     []float64{2}, Span: [2]float64{0, 3}, Theta: []float64{0.7}, Params: []string{"k"}},
				Data:    &bayes.Data{T: []float64{0, 1, 2, 3}, Y: [][]float64{{4.1, nan}, {2.1, nan}, {2.3, nan}, {3.2, nan}}, Names: []string{"y", "sd"}},
				Observe: observe,
				Errors:  []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("sd")}, bayes.Gaussian{Sigma: bayes.Known(1)}},
			}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-8}}},
	}
	gradient := func() []float64 {
		d, err := bayes.NewDensity(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		s := shape.NewSurface(d)
		u := []float64{math.Log(0.8), math.Log(1.1)}
		point := &shape.Point{X: u}
		if !s.Expand(point) {
			t.Fatal("no derivatives")
		}
		// Against differences of the log density itself.
		const h = 1e-5
		for k := range u {
			at := func(by float64) float64 {
				v := append([]float64(nil), u...)
				v[k] += by
				return s.Value(v)
			}
			want := (at(h) - at(-h)) / (2 * h)
			if got := point.Gradient.AtVec(k); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
				t.Errorf("slope %d is %g: want %g", k, got, want)
			}
		}
		return point.Gradient.RawVector().Data
	}
	differences := gradient()
	p.Experiments[0].ObserveSlopes = func(dst []float64, _ float64, x, theta []float64) {
		dst[0], dst[2] = 2*theta[1]*x[0], x[0]*x[0]
		dst[3], dst[5] = 0.05*theta[1], 0.05*x[0]
	}
	for k, v := range gradient() {
		if math.Abs(v-differences[k]) > 1e-6*(1+math.Abs(v)) {
			t.Errorf("slope %d is %g: want %g", k, v, differences[k])
		}
	}
}
