package bayes_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
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

// checkGradient compares the gradient of the log density with extrapolated central
// differences along each parameter and along a direction in ξ.
func checkGradient(t *testing.T, e *bayes.Density, u, xi []float64, tol float64) {
	t.Helper()
	du, dxi := make([]float64, len(u)), make([]float64, len(xi))
	if xi == nil {
		dxi = nil
	}
	lp, err := e.Gradient(du, dxi, u, xi)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := e.LogPosterior(u, xi); lp != want {
		t.Errorf("log density %v: want %v", lp, want)
	}
	compare := func(name string, got float64, x, along []float64) {
		t.Helper()
		was := slices.Clone(x)
		slope := func(h float64) float64 {
			var v [2]float64
			for k, side := range [2]float64{h, -h} {
				for i := range x {
					x[i] = was[i] + side*along[i]
				}
				v[k], _ = e.LogPosterior(u, xi)
			}
			copy(x, was)
			return (v[0] - v[1]) / (2 * h)
		}
		if want := (4*slope(5e-4) - slope(1e-3)) / 3; !(math.Abs(got-want) <= tol*(1+math.Abs(want))) {
			t.Errorf("derivative in %s is %.10g: want %.10g", name, got, want)
		}
	}
	for k := range u {
		along := make([]float64, len(u))
		along[k] = 1
		compare(e.Posterior().Params[k].Name, du[k], u, along)
	}
	if xi != nil {
		along := make([]float64, len(xi))
		probode.DrawNoise(along, 7, 0)
		compare("xi", floats.Dot(along, dxi), xi, along)
	}
	if len(dxi) > 0 { // without the normals
		again := make([]float64, len(u))
		if _, err := e.Gradient(again, nil, u, xi); err != nil || !floats.EqualApprox(du, again, 1e-9) {
			t.Errorf("without dxi: %v, %v: want %v", again, err, du)
		}
	}
}

// The gradient of the log density is that of differences, with several experiments and
// likelihoods, unknown and known noise scales, and on a path that is held. The error of
// the differences is 1e-13 of the fifth derivatives, and rounding, 1e-15/1e-3.
func TestDensityGradient(t *testing.T) {
	for name, setup := range map[string]probode.Setup{
		"AB2":      {Method: adams.Bashforth{Steps: 2}, Mesh: probode.Uniform(0.1), Alpha: 0.1},
		"AM1":      {Method: adams.Moulton{Steps: 1, Linearize: adams.Current}, Mesh: probode.Through(0.1), Alpha: 1},
		"BDF":      {Method: methods.BDF{}, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-4}}, Alpha: 1},
		"Radau":    {Method: methods.Radau{}, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-5}}},
		"adaptive": {Method: methods.Radau{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-5}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, unknown := range []bool{false, true} {
				p := twoExperiments(setup)
				theta := []float64{0.9, 0.6, 0.7, 0.3, 3, 1.1}
				if unknown && setup.Alpha == 0 {
					continue
				}
				if unknown {
					p.Params = append(p.Params, bayes.Param{Name: "alpha", Prior: distuv.LogNormal{Mu: -2, Sigma: 1}})
					p.AlphaParam = "alpha"
					theta = append(theta, 0.2)
				}
				e, err := bayes.NewDensity(context.Background(), p)
				if err != nil {
					t.Fatal(err)
				}
				u := make([]float64, len(theta))
				if err := e.Unconstrain(u, theta); err != nil {
					t.Fatal(err)
				}
				if name == "adaptive" {
					free, held := make([]float64, len(u)), make([]float64, len(u))
					if _, err := e.Gradient(free, nil, u, nil); err != nil {
						t.Fatal(err)
					}
					defer e.Hold(theta)()
					if _, err := e.Gradient(held, nil, u, nil); err != nil || !floats.EqualApprox(free, held, 1e-8) {
						t.Errorf("%v, with held steps %v, %v", free, held, err)
					}
				}
				checkGradient(t, e, u, nil, 1e-8)
				if setup.Alpha > 0 {
					xi := make([]float64, e.NoiseLen())
					probode.DrawNoise(xi, 1, 1)
					checkGradient(t, e, u, xi, 1e-8)
					checkGradient(t, e.Clone(), u, xi, 1e-8)
				}
			}
		})
	}
}

// Without derivatives of f, the gradient comes from derivatives along the parameters, or
// goes backwards with differences if the normals are asked for.
func TestDensityGradientWithoutDerivatives(t *testing.T) {
	p := twoExperiments(probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.1), Alpha: 0.1})
	for i := range p.Experiments {
		q := p.Experiments[i].Problem
		q.FJ, q.FTheta = nil, nil
	}
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	u, xi := make([]float64, 6), make([]float64, e.NoiseLen())
	if err := e.Unconstrain(u, []float64{0.9, 0.6, 0.7, 0.3, 3, 1.1}); err != nil {
		t.Fatal(err)
	}
	probode.DrawNoise(xi, 1, 1)
	checkGradient(t, e, u, nil, 1e-5)
	du, forward, dxi := make([]float64, 6), make([]float64, 6), make([]float64, len(xi))
	if _, err := e.Gradient(du, dxi, u, xi); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Gradient(forward, nil, u, xi); err != nil || !floats.EqualApprox(du, forward, 1e-5) {
		t.Errorf("along the parameters %v, %v: backwards %v", forward, err, du)
	}
}

// The density of a linear problem with Gaussian errors is known: for x′ = −k x with Euler
// steps of length h, z_{i+1} = (1 − hk) zᵢ + √α h^{3/2} ξᵢ, so z_N = (1−hk)^N + √α h^{3/2}
// Σ (1−hk)^{N−1−i} ξᵢ.
func TestGradientOfLinearProblem(t *testing.T) {
	const n, h, alpha, sigma, y, k = 8, 0.125, 0.3, 0.2, 0.5, 0.7
	p := &bayes.Posterior{
		Setup: probode.Setup{Method: adams.Bashforth{Steps: 1}, Mesh: probode.Uniform(h), Alpha: alpha},
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "k", Prior: distuv.Normal{Mu: 1, Sigma: 2}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{
					F: func(dst []float64, _ float64, x, th []float64) { dst[0] = -th[0] * x[0] },
					Pullback: func(dx, dtheta, lambda []float64, _ float64, x, th []float64) float64 {
						dx[0] -= lambda[0] * th[0]
						dtheta[0] -= lambda[0] * x[0]
						return 0
					},
					X0: []float64{1}, Span: [2]float64{0, 1}, Theta: []float64{k}, Params: []string{"k"},
				},
				Data:   &bayes.Data{T: []float64{1}, Y: [][]float64{{y}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(sigma)}},
			}},
		},
	}
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	xi, dxi, du := make([]float64, n), make([]float64, n), make([]float64, 1)
	probode.DrawNoise(xi, 3, 1)
	if _, err := e.Gradient(du, dxi, []float64{k}, xi); err != nil {
		t.Fatal(err)
	}
	r, scale := 1-h*k, math.Sqrt(alpha)*math.Pow(h, 1.5)
	z, dz := math.Pow(r, n), -h*n*math.Pow(r, n-1)
	for i, v := range xi {
		m := float64(n - 1 - i)
		z += scale * math.Pow(r, m) * v
		dz -= scale * h * m * math.Pow(r, m-1) * v
	}
	score := (y - z) / (sigma * sigma)
	if want := score*dz - (k-1)/4.; math.Abs(du[0]-want) > 1e-12*math.Abs(want) {
		t.Errorf("derivative in k is %.15g: want %.15g", du[0], want)
	}
	for i, v := range dxi {
		if want := score * scale * math.Pow(r, float64(n-1-i)); math.Abs(v-want) > 1e-12*math.Abs(want) {
			t.Errorf("derivative in normal %d is %.15g: want %.15g", i, v, want)
		}
	}
}

// A gradient allocates nothing after the first.
func TestGradientAllocatesNothing(t *testing.T) {
	e, err := bayes.NewDensity(context.Background(), twoExperiments(probode.Setup{Method: adams.Bashforth{Steps: 2}, Mesh: probode.Uniform(0.1), Alpha: 0.1}))
	if err != nil {
		t.Fatal(err)
	}
	u, du := []float64{0, 0, 0, -1, 1, 0}, make([]float64, 6)
	xi, dxi := make([]float64, e.NoiseLen()), make([]float64, e.NoiseLen())
	probode.DrawNoise(xi, 1, 1)
	if n := testing.AllocsPerRun(3, func() {
		if _, err := e.Gradient(du, dxi, u, xi); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%g allocations", n)
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
			dst[3] = x[0] * (1 + th[6]*th[6]/10)
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
