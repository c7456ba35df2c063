package shape_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
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

// A hundred scales of one state are adjusted to Σ y x/Σ x² with derivatives of Observe: it
// is called a few times for each round, not twice for each scale. The prior's pull on a
// scale is below σ² = 1e-4.
func TestAdjustByObserveSlopes(t *testing.T) {
	const n = 100
	rng := rand.New(rand.NewPCG(5, 6))
	calls := 0
	data := &bayes.Data{T: []float64{1, 2}, Y: [][]float64{make([]float64, n), make([]float64, n)}}
	x := bayes.Experiment{
		Problem: &probode.Problem{F: func(f []float64, _ float64, x, theta []float64) { f[0] = -theta[0] * x[0] },
			FTheta: func(dst []float64, _ float64, x, _ []float64) { dst[0] = -x[0] },
			X0:     []float64{2}, Span: [2]float64{0, 2}, Theta: []float64{0.7}, Params: []string{"k"}},
		Data: data,
		Observe: func(dst []float64, _ float64, x, theta []float64) {
			calls++
			for k := range n {
				dst[k] = theta[1+k] * x[0]
			}
		},
		ObserveSlopes: func(dst []float64, _ float64, x, theta []float64) {
			for k := range n {
				dst[k*(n+2)] = theta[1+k]
				dst[k*(n+2)+2+k] = x[0]
			}
		},
	}
	params, u := []bayes.Param{{Name: "k", Prior: distuv.LogNormal{Mu: 0, Sigma: 1}}}, []float64{math.Log(0.5)}
	low, high := []float64{math.Inf(-1)}, []float64{math.Inf(1)}
	for k := range n {
		name := fmt.Sprint("s", k)
		params = append(params, bayes.Param{Name: name, Prior: distuv.LogNormal{Mu: 0, Sigma: 5}})
		u, low, high = append(u, 0), append(low, -9), append(high, math.Log(1.3))
		x.Errors = append(x.Errors, bayes.Gaussian{Sigma: bayes.Known(0.01)})
		data.Names = append(data.Names, name)
		for i := range data.Y {
			data.Y[i][k] = 1 + 0.5*rng.Float64()
		}
	}
	d, err := bayes.NewDensity(context.Background(), &bayes.Posterior{Model: bayes.Model{Params: params, Experiments: []bayes.Experiment{x}},
		Setup: probode.Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-10}}}})
	if err != nil {
		t.Fatal(err)
	}
	s := shape.NewSurface(d)
	s.Low, s.High = low, high
	value := s.Value(u)
	calls = 0
	s.Settle(u, value)
	if calls > n {
		t.Errorf("Observe was called %d times: want at most %d", calls, n)
	}
	x1, x2 := 2*math.Exp(-0.5), 2*math.Exp(-1)
	for k := range n {
		want := min(1.3, (data.Y[0][k]*x1+data.Y[1][k]*x2)/(x1*x1+x2*x2))
		if got := math.Exp(u[1+k]); math.Abs(got-want) > 1e-4 {
			t.Errorf("scale %d is %g: want %g", k, got, want)
		}
	}
}
