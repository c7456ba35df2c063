package bayes_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
)

// hares is a predator–prey problem with exact derivatives.
func hares() *probode.Problem {
	return &probode.Problem{
		Name: "hares",
		F: func(dst []float64, _ float64, x, th []float64) {
			dst[0], dst[1] = th[0]*x[0]-th[1]*x[0]*x[1], th[1]*x[0]*x[1]-th[2]*x[1]
		},
		FJ: func(f, jac []float64, _ float64, x, th []float64) {
			f[0], f[1] = th[0]*x[0]-th[1]*x[0]*x[1], th[1]*x[0]*x[1]-th[2]*x[1]
			jac[0], jac[1], jac[2], jac[3] = th[0]-th[1]*x[1], -th[1]*x[0], th[1]*x[1], th[1]*x[0]-th[2]
		},
		FTheta: func(dst []float64, _ float64, x, _ []float64) {
			dst[0], dst[1], dst[4], dst[5] = x[0], -x[0]*x[1], x[0]*x[1], -x[1]
		},
		X0: []float64{2, 1}, Span: [2]float64{0, 4}, Theta: []float64{1, 0.5, 0.8},
		States: []string{"hare", "lynx"}, Params: []string{"a", "b", "c"},
	}
}

// twoExperiments is a posterior with two experiments that share parameters: one observes
// functions of the states with errors whose size is a parameter or another column, and
// the other observes states.
func twoExperiments(setup probode.Setup) *bayes.Posterior {
	second := hares()
	second.X0 = []float64{1, 3}
	nan := math.NaN()
	return &bayes.Posterior{
		Setup: setup,
		Model: bayes.Model{
			Params: []bayes.Param{
				{Name: "a", Prior: distuv.LogNormal{Mu: 0, Sigma: 0.5}},
				{Name: "b", Prior: distuv.Uniform{Min: 0.1, Max: 2}},
				{Name: "c", Prior: distuv.Gamma{Alpha: 2, Beta: 3}},
				{Name: "sigma", Prior: bayes.Positive(0, 1)},
				{Name: "phi", Prior: distuv.InverseGamma{Alpha: 3, Beta: 8}},
				{Name: "scale", Prior: fromAbove{}},
			},
			Experiments: []bayes.Experiment{{
				Problem: hares(),
				Data: &bayes.Data{T: []float64{0.3, 1, 2.7, 4}, Names: []string{"sum", "product", "size", "share"},
					Y: [][]float64{{3, 2, nan, 2}, {nan, 4, nan, 1}, {4, nan, nan, 0}, {3, 3, nan, nan}}},
				Observe: func(dst []float64, _ float64, x, th []float64) {
					dst[0], dst[1], dst[2], dst[3] = th[5]*(x[0]+x[1]), x[0]*x[1], 0.1+th[3]*x[0], x[0]
				},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("sigma")}, bayes.LogNormal{Sigma: bayes.Unknown("size")},
					bayes.Gaussian{Sigma: bayes.Known(1)}, bayes.NegativeBinomial{Phi: bayes.Unknown("phi")}},
			}, {
				Problem: second,
				Data:    &bayes.Data{T: []float64{1, 3}, Y: [][]float64{{2, 3}, {1, nan}}},
				Errors:  []bayes.Likelihood{bayes.StudentT{Nu: bayes.Unknown("phi"), Sigma: bayes.Known(0.5)}, bayes.Poisson{}},
			}},
		},
	}
}

// The gradient agrees with central differences, whose error is 1e-10 of the third
// derivatives and the rounding of 1e-16/1e-5.
func TestDensityGradient(t *testing.T) {
	for name, setup := range map[string]probode.Setup{
		"AB2":   {Method: adams.Bashforth{Steps: 2}, Mesh: probode.Uniform(0.1), Alpha: 0.1},
		"Radau": {Method: methods.Radau{}, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-5}}},
	} {
		e, err := bayes.NewDensity(context.Background(), twoExperiments(setup))
		if err != nil {
			t.Fatal(err)
		}
		theta := []float64{0.9, 0.6, 0.7, 0.3, 3, 1.1}
		u := make([]float64, len(theta))
		if err := e.Unconstrain(u, theta); err != nil {
			t.Fatal(err)
		}
		xi := make([]float64, e.NoiseLen())
		probode.DrawNoise(xi, 1, 1)
		for _, noise := range [][]float64{nil, xi} {
			du := make([]float64, len(u))
			lp, err := e.Gradient(du, nil, u, noise)
			if err != nil {
				t.Fatal(name, err)
			}
			if want, _ := e.LogPosterior(u, noise); lp != want {
				t.Errorf("%s: log density %v: want %v", name, lp, want)
			}
			for k := range u {
				const h = 1e-5
				up, down := slices.Clone(u), slices.Clone(u)
				up[k] += h
				down[k] -= h
				a, _ := e.LogPosterior(up, noise)
				b, _ := e.LogPosterior(down, noise)
				if want := (a - b) / (2 * h); math.Abs(du[k]-want) > 1e-7*(1+math.Abs(want)) {
					t.Errorf("%s: derivative %d is %.10g: want %.10g", name, k, du[k], want)
				}
			}
		}
	}
}

// The slopes of priors agree with central differences of width 1e-5, whose error is 1e-10
// of a third derivative.
func TestPriorGradient(t *testing.T) {
	for name, d := range dists {
		p := twoExperiments(probode.Setup{Method: adams.Bashforth{Steps: 1}, Mesh: probode.Uniform(0.5)})
		p.Params = append(slices.Clone(p.Params), bayes.Param{Name: "extra", Prior: d})
		observe := p.Experiments[0].Observe
		p.Experiments[0].Observe = func(dst []float64, t float64, x, th []float64) {
			observe(dst, t, x, th)
			dst[3] = x[0] * math.Exp(th[6]/10)
		}
		e, err := bayes.NewDensity(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []float64{-2, 0, 1.5} {
			u := []float64{0, 0, 0, 0, 1, 0, v}
			du := make([]float64, len(u))
			if _, err := e.Gradient(du, nil, u, nil); err != nil {
				t.Fatal(err)
			}
			const h = 1e-5
			u[6] = v + h
			a, _ := e.LogPosterior(u, nil)
			u[6] = v - h
			b, _ := e.LogPosterior(u, nil)
			if want := (a - b) / (2 * h); math.Abs(du[6]-want) > 1e-7*(1+math.Abs(want)) {
				t.Errorf("%s at %g: slope %.10g: want %.10g", name, v, du[6], want)
			}
		}
	}
}
