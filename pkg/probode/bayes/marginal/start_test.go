package marginal

import (
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/filter"
)

// started is decay with the given start and an additional first datum at time 0.
func started(errors bayes.Likelihood, start, first float64, y ...float64) bayes.Model {
	m := decay(errors, y...)
	x := &m.Experiments[0]
	p := *x.Problem
	p.X0 = []float64{start, 5}
	x.Problem = &p
	x.Data = &bayes.Data{Names: x.Data.Names, T: append([]float64{0}, x.Data.T...), Y: append([][]float64{{first}}, x.Data.Y...)}
	return m
}

// The state at the start is certain, so a datum there adds its own log probability,
// whatever the method and the errors. This is also so if the state and the datum are zero,
// as for counts of what is not there yet, or are equal.
func TestDatumAtStart(t *testing.T) {
	counts := []float64{3, 9, 11, 4, 6}
	for _, c := range []struct {
		errors       bayes.Likelihood
		start, first float64
	}{
		{bayes.Gaussian{Sigma: bayes.Known(2)}, 20, 19},
		{bayes.Gaussian{Sigma: bayes.Known(2)}, 0, 0},
		{bayes.LogNormal{Sigma: bayes.Known(0.3)}, 20, 20},
		{bayes.Poisson{}, 20, 17},
		{bayes.Poisson{}, 20, 20},
		{bayes.Poisson{}, 20, 0},
		{bayes.Poisson{}, 0, 0},
		{bayes.NegativeBinomial{Phi: bayes.Known(5)}, 0, 0},
		{bayes.Binomial{Trials: bayes.Known(40)}, 0, 0},
		{bayes.Binomial{Trials: bayes.Known(40)}, 40, 40},
		{bayes.StudentT{Nu: bayes.Known(3), Sigma: bayes.Known(2)}, 20, 19},
		{bayes.StudentT{Nu: bayes.Known(3), Sigma: bayes.Known(2)}, 20, 20},
		{bayes.StudentT{Nu: bayes.Known(3), Sigma: bayes.Known(2)}, 0, 0},
	} {
		for _, dalton := range []bool{false, true} {
			_, isNormal := c.errors.(bayes.Gaussian)
			_, isLog := c.errors.(bayes.LogNormal)
			if !dalton && !isNormal && !isLog {
				continue
			}
			s := settings{EK: filter.EK{Q: 2}, mesh: probode.Through(.5), dalton: dalton, diffusion: bayes.Known(100)}
			var ll [2]float64
			for i, first := range []float64{math.NaN(), c.first} {
				var err error
				if ll[i], err = density(t, started(c.errors, c.start, first, counts...), s).LogLikelihood([]float64{.6}, nil); err != nil {
					t.Errorf("%T of %g at %g, DALTON %t: %v", c.errors, c.first, c.start, dalton, err)
				}
			}
			var own []float64
			for _, v := range c.errors.Own() {
				own = append(own, v.Value)
			}
			if got, want := ll[1]-ll[0], c.errors.LogProb(c.first, c.start, own); !(math.Abs(got-want) < 1e-9) {
				t.Errorf("%T of %g at %g, DALTON %t: the first datum adds %.12g: want %.12g", c.errors, c.first, c.start, dalton, got, want)
			}
		}
	}
}

// Student's t distribution with very many degrees of freedom is Gaussian also where both the
// datum and its expected value are zero, as before a dose, and in the limit of a datum that
// is nearly what is expected.
func TestLaplaceAtZero(t *testing.T) {
	for _, y := range []float64{0, 1e-300, 1e-12, 0.3} {
		var ll [2]float64
		for i, errors := range []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(.5)}, bayes.StudentT{Nu: bayes.Known(1e9), Sigma: bayes.Known(.5)}} {
			m := decay(errors, y, 0, 5, 3, 2)
			x := &m.Experiments[0]
			p := *x.Problem
			p.X0 = []float64{0, 0}
			p.Events = probode.Doses(0, 8, 1.25)
			x.Problem = &p
			s := settings{EK: filter.EK{Q: 2}, mesh: probode.Through(.25), dalton: true, diffusion: bayes.Known(10)}
			var err error
			if ll[i], err = density(t, m, s).LogLikelihood([]float64{.6}, nil); err != nil {
				t.Errorf("y = %g, %T: %v", y, errors, err)
			}
		}
		if !(math.Abs(ll[0]-ll[1]) < 1e-5) {
			t.Errorf("y = %g: log likelihood %.9g, of Gaussian errors %.9g", y, ll[1], ll[0])
		}
	}
}

// A missing value at the start is predicted with the state there and the measurement error
// alone: its standard deviation or, for log-normal errors, that of the logarithm. For other
// laws it is that of the Gaussian error that stands in for them, √(ν/(ν+1)) σ for Student's
// t distribution and √m for counts.
func TestPredictionAtStart(t *testing.T) {
	for _, c := range []struct {
		errors    bayes.Likelihood
		start, sd float64
	}{
		{bayes.Gaussian{Sigma: bayes.Known(2)}, 20, 2},
		{bayes.Gaussian{Sigma: bayes.Known(2)}, 0, 2},
		{bayes.LogNormal{Sigma: bayes.Known(.3)}, 20, .3},
		{bayes.LogNormal{Sigma: bayes.Known(.3)}, 0, .3},
		{bayes.StudentT{Nu: bayes.Known(3), Sigma: bayes.Known(2)}, 20, math.Sqrt(3)},
		{bayes.StudentT{Nu: bayes.Known(3), Sigma: bayes.Known(2)}, 0, math.Sqrt(3)},
		{bayes.Poisson{}, 20, math.Sqrt(20)},
	} {
		e := density(t, started(c.errors, c.start, math.NaN(), 3, 9, 11, 4, 6), settings{EK: filter.EK{Q: 2}, mesh: probode.Through(.5), dalton: true, diffusion: bayes.Known(100)})
		if _, err := e.LogLikelihood([]float64{.6}, nil); err != nil {
			t.Fatal(err)
		}
		if got := e.Expected(); !(math.Abs(got[0]-c.start) < 1e-12) || !(math.Abs(got[1]-c.sd) < 1e-4*c.sd) {
			t.Errorf("%T at %g: the prediction is %.9g ± %.9g: want %g ± %.9g", c.errors, c.start, got[0], got[1], c.start, c.sd)
		}
	}
}
