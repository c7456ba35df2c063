package marginal

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/filter"
)

// The gradient is that of larger differences for every kind of error, with unknown sizes of
// errors and an unknown diffusion, missing values, and data at the start. Laplace's method
// finds modes to 1e-9 of s, so differences over 6e-6 have errors of the order of 1e-4.
func TestGradientOfEveryLaw(t *testing.T) {
	for _, c := range []struct {
		errors bayes.Likelihood
		y      []float64
		dalton bool
	}{
		{bayes.Gaussian{Sigma: bayes.Unknown("s")}, []float64{12, 9, math.NaN(), 8, 6}, false},
		{bayes.Gaussian{Sigma: bayes.Unknown("s")}, []float64{12, 9, math.NaN(), 8, 6}, true},
		{bayes.LogNormal{Sigma: bayes.Unknown("s")}, []float64{12, 9, math.NaN(), 8, 6}, false},
		{bayes.LogNormal{Sigma: bayes.Unknown("s")}, []float64{12, 9, math.NaN(), 8, 6}, true},
		{bayes.Poisson{}, []float64{12, 9, math.NaN(), 0, 6}, true},
		{bayes.NegativeBinomial{Phi: bayes.Unknown("s")}, []float64{12, 9, math.NaN(), 8, 6}, true},
		{bayes.Binomial{Trials: bayes.Known(30)}, []float64{12, 9, math.NaN(), 8, 6}, true},
		{bayes.StudentT{Nu: bayes.Known(4), Sigma: bayes.Unknown("s")}, []float64{12, 9, math.NaN(), 14, 6}, true},
	} {
		m := started(c.errors, 20, 19, c.y...)
		m.Params = append(m.Params, bayes.Param{Name: "kappa2", Prior: distuv.LogNormal{Mu: 3, Sigma: 1}})
		theta := []float64{.6, 30}
		if len(c.errors.Own()) > 0 && c.errors.Own()[len(c.errors.Own())-1].Name == "s" {
			m.Params = append(m.Params, bayes.Param{Name: "s", Prior: distuv.LogNormal{Mu: 0, Sigma: 1}})
			theta = append(theta, 1.3)
		}
		e := density(t, m, settings{EK: filter.EK{Q: 2}, mesh: probode.Through(.25), dalton: c.dalton, diffusion: bayes.Unknown("kappa2")})
		got := make([]float64, len(theta))
		if _, err := e.LikelihoodGradient(got, nil, theta, nil); err != nil {
			t.Errorf("%T, DALTON %t: %v", c.errors, c.dalton, err)
			continue
		}
		for k, v := range theta {
			at := func(h float64) float64 {
				theta[k] = v + h
				defer func() { theta[k] = v }()
				ll, err := e.LogLikelihood(theta, nil)
				if err != nil {
					t.Fatal(err)
				}
				return ll
			}
			h := 1e-3 * v
			want := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
			if !(math.Abs(got[k]-want) < 1e-3*(1/v+math.Abs(want))) {
				t.Errorf("%T, DALTON %t: derivative in %s is %.8g: want %.8g", c.errors, c.dalton, m.Params[k].Name, got[k], want)
			}
		}
	}
}
