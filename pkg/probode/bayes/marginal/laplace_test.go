package marginal

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/filter"
)

// decay is an affine problem with two components, the first of which is observed.
func decay(errors bayes.Likelihood, y ...float64) bayes.Model {
	p := &probode.Problem{
		Name: "decay", X0: []float64{20, 5}, Span: [2]float64{0, 2.5}, Theta: []float64{.6}, Params: []string{"k"}, Autonomous: true,
		F: func(f []float64, _ float64, x, theta []float64) {
			f[0], f[1] = -theta[0]*x[0]+.3*x[1], theta[0]*x[0]-.3*x[1]
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			f[0], f[1] = -theta[0]*x[0]+.3*x[1], theta[0]*x[0]-.3*x[1]
			copy(jac, []float64{-theta[0], .3, theta[0], -.3})
		},
	}
	data := &bayes.Data{Names: []string{"count"}}
	for n, v := range y {
		data.T, data.Y = append(data.T, float64(n+1)/2), append(data.Y, []float64{v})
	}
	return bayes.Model{
		Params:      []bayes.Param{{Name: "k", Prior: distuv.LogNormal{Sigma: 1}}},
		Experiments: []bayes.Experiment{{Problem: p, Data: data, Errors: []bayes.Likelihood{errors}, Observe: func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[0] }}},
	}
}

// On an affine field the solution given the equation is exactly Gaussian. The likelihood is
// the mean of p(Y | X) over draws of the solution. Its Monte Carlo error is estimated; with
// a fixed seed, and 5.5 of these errors allowed, the probability of a false alarm is below
// 1e-6. The rest of the difference is the error of Laplace's method.
func TestLaplace(t *testing.T) {
	const alpha, n = 400, 20000
	counts := []float64{19, 9, 11, 14, 6}
	for _, c := range []struct {
		errors bayes.Likelihood
		y      []float64
		tol    float64
	}{
		{bayes.Poisson{}, counts, .003},
		{bayes.Poisson{}, []float64{19, math.NaN(), 11, 0, 6}, .01},
		{bayes.NegativeBinomial{Phi: bayes.Known(5)}, counts, .003},
		{bayes.Binomial{Trials: bayes.Known(40)}, counts, .003},
		{bayes.StudentT{Nu: bayes.Known(3), Sigma: bayes.Known(2)}, []float64{19.5, 8, 30, 14, 6}, .03},
	} {
		m := decay(c.errors, c.y...)
		s := settings{EK: filter.EK{Q: 2}, mesh: probode.Through(.5), dalton: true, diffusion: bayes.Known(alpha)}
		ll, err := density(t, m, s).LogLikelihood([]float64{.6}, nil)
		if err != nil {
			t.Fatal(err)
		}
		x := &m.Experiments[0]
		solution, err := filter.Solve(context.Background(), x.Problem, filter.Settings{EK: s.EK, Mesh: probode.Uniform(.5), Alpha: alpha})
		if err != nil {
			t.Fatal(err)
		}
		path, rng := make([]float64, 2*len(solution.T)), probode.Stream(1, 1)
		var own []float64
		for _, v := range c.errors.Own() {
			own = append(own, v.Value)
		}
		var sum, square float64
		for range n {
			solution.Draw(path, rng)
			var lp float64
			for i, v := range c.y {
				if !math.IsNaN(v) {
					lp += c.errors.LogProb(v, path[2*(i+1)], own)
				}
			}
			w := math.Exp(lp - ll)
			sum, square = sum+w, square+w*w
		}
		want := ll + math.Log(sum/n)
		mc := math.Sqrt(square-sum*sum/n) / sum
		t.Logf("%v: %.5g: want %.5g ± %.2g", fmt.Sprintf("%T", c.errors), ll, want, mc)
		if !(math.Abs(ll-want) < c.tol+5.5*mc) || mc > .02 {
			t.Errorf("%T: log likelihood %.5g: want %.5g ± %.2g", c.errors, ll, want, mc)
		}
	}
}

// Student's t distribution with very many degrees of freedom is Gaussian, also where the
// observation is not linear and the field is not affine.
func TestLaplaceGaussian(t *testing.T) {
	theta := []float64{.2, .2, 3}
	s := settings{EK: filter.EK{Q: 3}, mesh: probode.Through(.1), dalton: true, diffusion: bayes.Known(10)}
	m := neuron(t, true)
	want, err := density(t, m, s).LogLikelihood(theta, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Experiments[0].Errors = []bayes.Likelihood{bayes.StudentT{Nu: bayes.Known(1e9), Sigma: bayes.Known(.1)}}
	if got, err := density(t, m, s).LogLikelihood(theta, nil); err != nil || math.Abs(got-want) > 1e-5 {
		t.Errorf("log likelihood %.9g, %v: want %.9g", got, err, want)
	}
	s.dalton = false
	if _, err := bayes.NewDensity(t.Context(), posterior(m, s)); err == nil || !strings.Contains(err.Error(), "or DALTON") {
		t.Errorf("Fenrir with Student's t distribution: error %v", err)
	}
}
