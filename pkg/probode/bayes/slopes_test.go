package bayes_test

import (
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes"
)

// Slopes agree with central differences, whose error is of order h².
func TestSlopes(t *testing.T) {
	upper := 3.0
	for _, c := range []struct {
		of  bayes.SlopedLikelihood
		y   float64
		own []float64
	}{
		{bayes.Gaussian{}, 1.3, []float64{0.7}},
		{bayes.LogNormal{}, 1.3, []float64{0.7}},
		{bayes.Laplace{}, 1.3, []float64{0.7}},
		{bayes.Laplace{}, 2.9, []float64{0.7}},
		{bayes.StudentT{}, 1.3, []float64{3.5, 0.7}},
		{bayes.StudentT{}, 9, []float64{0.8, 0.7}},
		{bayes.Poisson{}, 4, nil},
		{bayes.Poisson{}, 0, nil},
		{bayes.NegativeBinomial{}, 4, []float64{1.5}},
		{bayes.NegativeBinomial{}, 0, []float64{1.5}},
		{bayes.Binomial{}, 4, []float64{7.5}},
		{bayes.Binomial{}, 0, []float64{7.5}},
		{bayes.Censored{Of: bayes.Gaussian{}, Limit: 1.5}, 1.3, []float64{0.7}},
		{bayes.Censored{Of: bayes.Gaussian{}, Limit: -30}, -40, []float64{0.7}},
		{bayes.Censored{Of: bayes.Gaussian{}, Limit: 1.5}, 1.6, []float64{0.7}},
		{bayes.Censored{Of: bayes.LogNormal{}, Limit: 1.5}, 1.3, []float64{0.7}},
		{bayes.Censored{Of: bayes.Laplace{}, Limit: 1.5}, 1.3, []float64{0.7}},
		{bayes.Censored{Of: bayes.Laplace{}, Limit: 3}, 1.3, []float64{0.7}},
		{bayes.Censored{Of: bayes.StudentT{}, Limit: 1.5}, 1.3, []float64{3.5, 0.7}},
		{bayes.Censored{Of: bayes.Gaussian{}, Limit: 1, Upper: &upper}, 4, []float64{0.7}},
		{bayes.Censored{Of: bayes.LogNormal{}, Limit: 1, Upper: &upper}, 4, []float64{0.7}},
		{bayes.Censored{Of: bayes.StudentT{}, Limit: 1, Upper: &upper}, 4, []float64{3.5, 0.7}},
		{bayes.Interval{Of: bayes.Gaussian{}}, 1.8, []float64{0.7, 1.8, 2.6}},
		{bayes.Interval{Of: bayes.Gaussian{}}, 6, []float64{0.7, 6, 7}},
		{bayes.Interval{Of: bayes.LogNormal{}}, 0.1, []float64{0.7, 0.1, 0.4}},
		{bayes.Interval{Of: bayes.Laplace{}}, 3, []float64{0.7, 3, 3.5}},
		{bayes.Interval{Of: bayes.Gaussian{}}, 1.5, []float64{0.7, 1.8, 2.6}},
		{bayes.Interval{Of: bayes.StudentT{}}, 1.5, []float64{3.5, 0.7, math.NaN(), math.NaN()}},
		{bayes.Interval{Of: bayes.Censored{Of: bayes.Gaussian{}, Limit: 1}}, 2, []float64{0.7, 1.8, 2.6}},
		{bayes.Interval{Of: bayes.Censored{Of: bayes.Gaussian{}, Limit: 1}}, 0.5, []float64{0.7, 1.8, 2.6}},
		{bayes.Interval{Of: bayes.StudentT{}}, -1, []float64{3.5, 0.7, -1, 9}},
	} {
		at := append([]float64{2.1}, c.own...)
		got := make([]float64, len(at))
		c.of.Slope(got, c.y, at[0], at[1:])
		open := len(at)
		if _, ok := c.of.(bayes.Interval); ok {
			open -= 2 // the bounds are known
		}
		for i, v := range at[:open] {
			const h = 1e-5
			at[i] = v + h
			up := c.of.LogProb(c.y, at[0], at[1:])
			at[i] = v - h
			want := (up - c.of.LogProb(c.y, at[0], at[1:])) / (2 * h)
			at[i] = v
			if !(math.Abs(got[i]-want) <= 1e-8*(1+math.Abs(want))) {
				t.Errorf("%T at y = %g: derivative %d is %.10g: want %.10g", c.of, c.y, i, got[i], want)
			}
		}
	}
	var one [2]float64
	if (bayes.Laplace{}).Slope(one[:], 2, 2, []float64{1}); one[0] != 0 {
		t.Errorf("at its kink Laplace has the slope %g: want 0", one[0])
	}
}
