package bayes_test

import (
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes"
)

// The information is the mean of the squared derivatives of the log probability, by
// summation over what an observation can be: counts, or a grid of numbers with the
// trapezoidal rule on y = m + σ sinh x, beyond which lies less than 1e-9 of the mass.
// The central differences are good to 1e-7.
func TestInformation(t *testing.T) {
	for _, c := range []struct {
		l    bayes.Informer
		m    float64
		own  []float64
		each func(do func(y, weight float64))
	}{
		{bayes.NegativeBinomial{}, 7, []float64{2.5}, counts},
		{bayes.NegativeBinomial{}, 0.3, []float64{0.4}, counts},
		{bayes.NegativeBinomial{}, 20, []float64{60}, counts},
		{bayes.Poisson{}, 7, nil, counts},
		{bayes.Binomial{}, 3.3, []float64{11}, counts},
		{bayes.StudentT{}, 1, []float64{4, 0.5}, numbers(1, 0.5)},
		{bayes.StudentT{}, -3, []float64{1.5, 2}, numbers(-3, 2)},
		{bayes.StudentT{}, 0, []float64{30, 1}, numbers(0, 1)},
		{bayes.Gaussian{}, 2, []float64{0.3}, numbers(2, 0.3)},
	} {
		n := 1 + len(c.own)
		want, got := make([]float64, n*n), make([]float64, n*n)
		g := make([]float64, n)
		c.each(func(y, weight float64) {
			at := append([]float64{c.m}, c.own...)
			for i := range g {
				h := 1e-5 * max(math.Abs(at[i]), 0.1)
				v := at[i]
				at[i] = v + h
				up := c.l.LogProb(y, at[0], at[1:])
				at[i] = v - h
				g[i] = (up - c.l.LogProb(y, at[0], at[1:])) / (2 * h)
				at[i] = v
			}
			p := weight * math.Exp(c.l.LogProb(y, c.m, c.own))
			for i := range n {
				for j := range n {
					want[i*n+j] += p * g[i] * g[j]
				}
			}
		})
		if !c.l.Information(got, c.m, c.own) {
			t.Errorf("%T at %g, %g: none", c.l, c.m, c.own)
		}
		for i := range n {
			for j := range n {
				if scale := math.Sqrt(want[i*n+i] * want[j*n+j]); math.Abs(got[i*n+j]-want[i*n+j]) > 1e-5*scale {
					t.Errorf("%T at %g, %g: information (%d, %d) is %g, want %g", c.l, c.m, c.own, i, j, got[i*n+j], want[i*n+j])
				}
			}
		}
	}
}

// The information about φ from counts that are nearly always zero is small, but has as
// many digits as its tolerance says. For φ = 1 the counts are geometric: P(y > j) = q^{j+1}
// with q = m/(1+m), so the information is Σ_{j≥1} q^{j+1}/(1+j)².
func TestInformationOfRareCounts(t *testing.T) {
	for _, m := range []float64{1e-2, 1e-4, 1e-6, 1e-8} {
		q := m / (1 + m)
		var want float64
		for j := 1.0; j < 30; j++ {
			want += math.Pow(q, j+1) / ((1 + j) * (1 + j))
		}
		got := make([]float64, 4)
		if !(bayes.NegativeBinomial{}).Information(got, m, []float64{1}) || !(math.Abs(got[3]-want) <= 1e-6*want) {
			t.Errorf("m = %g: information %g about φ: want %g", m, got[3], want)
		}
	}
}

func counts(do func(y, weight float64)) {
	for y := range 2000 {
		do(float64(y), 1)
	}
}

func numbers(m, sigma float64) func(do func(y, weight float64)) {
	return func(do func(y, weight float64)) {
		for x := -25.0; x <= 25; x += 0.01 {
			do(m+sigma*math.Sinh(x), 0.01*sigma*math.Cosh(x))
		}
	}
}
