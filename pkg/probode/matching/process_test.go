package matching_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/matching"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
)

// fitzHughNagumo is a model with 41 observations of both components.
func fitzHughNagumo(t *testing.T, sd float64) bayes.Model {
	t.Helper()
	p := problems.FitzHughNagumo()
	data := &bayes.Data{Names: []string{"V", "R"}}
	for i := range 41 {
		data.T = append(data.T, float64(i)/2)
	}
	sol, err := reference.Solve(context.Background(), p, data.T, reference.Settings{Theta: p.Theta})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(11, 12))
	for i := range data.T {
		data.Y = append(data.Y, []float64{sol.X[2*i] + sd*rng.NormFloat64(), sol.X[2*i+1] + sd*rng.NormFloat64()})
	}
	m := bayes.Model{Experiments: []bayes.Experiment{{Problem: p, Data: data, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(sd)}}}}}
	for k := range p.Theta {
		m.Params = append(m.Params, bayes.Param{Name: p.ParamName(k), Prior: distuv.LogNormal{Mu: math.Log(0.5), Sigma: 1.5}})
	}
	return m
}

// The log density is the sum in the documentation, computed here with inverse matrices from
// the states instead of ξ.
func TestDensityOfGaussianProcess(t *testing.T) {
	m := fitzHughNagumo(t, 0.2)
	m.Experiments[0].Data.T, m.Experiments[0].Data.Y = m.Experiments[0].Data.T[:8], m.Experiments[0].Data.Y[:8]
	m.Experiments[0].Data.Y[3][1] = math.NaN()
	s := matching.Settings{Kernels: []matching.Kernel{{0.3, 1.4, 1.1}, {-0.2, 0.8, 2}}, Between: 1, Mismatch: 0.01, Temper: 1.7}
	q, err := matching.GaussianProcess(m, s)
	if err != nil {
		t.Fatal(err)
	}
	data := m.Experiments[0].Data
	var times []float64
	for i, at := range data.T {
		if i > 0 {
			times = append(times, (data.T[i-1]+at)/2)
		}
		times = append(times, at)
	}
	n := len(times)
	rng := rand.New(rand.NewPCG(1, 1))
	theta := []float64{0.3, 0.1, 2}
	x := make([]float64, q.Dim())
	for k, v := range theta {
		x[k] = math.Log(v)
	}
	covariances := func(kernel matching.Kernel) (c *mat.SymDense, mixed, slope *mat.Dense) {
		c, mixed, slope = mat.NewSymDense(n, nil), mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
		at := func(t, u float64) float64 {
			a := math.Sqrt(5) * math.Abs(t-u) / kernel.Length
			return kernel.SD * kernel.SD * (1 + a + a*a/3) * math.Exp(-a)
		}
		const h = 1e-4
		for i, t := range times {
			for j, u := range times {
				c.SetSym(i, j, at(t, u))
				mixed.Set(i, j, (at(t+h, u)-at(t-h, u))/(2*h))
				slope.Set(i, j, (at(t+h, u+h)-at(t+h, u-h)-at(t-h, u+h)+at(t-h, u-h))/(4*h*h))
			}
			slope.Set(i, i, slope.At(i, i)+s.Mismatch)
		}
		return c, mixed, slope
	}
	both := func() (float64, []float64) {
		for i := range x[3:] {
			x[3+i] = rng.NormFloat64()
		}
		lp, err := q.LogDensity(make([]float64, len(x)), x)
		if err != nil {
			t.Fatal(err)
		}
		states := make([]float64, 2*n)
		for k, kernel := range s.Kernels {
			c, _, _ := covariances(kernel)
			var chol mat.Cholesky
			var root mat.TriDense
			var v mat.VecDense
			if !chol.Factorize(c) {
				t.Fatal("the covariance is singular")
			}
			chol.LTo(&root)
			v.MulVec(&root, mat.NewVecDense(n, x[3+k*n:3+(k+1)*n]))
			for i := range times {
				states[2*i+k] = kernel.Mean + math.Sqrt(s.Temper)*v.AtVec(i)
			}
		}
		return lp, states
	}
	direct := func(states []float64) float64 {
		sum := 0.0
		f := make([]float64, 2)
		for k, kernel := range s.Kernels {
			c, mixed, slope := covariances(kernel)
			x, residual := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
			for i, t := range times {
				x.SetVec(i, states[2*i+k]-kernel.Mean)
				problems.FitzHughNagumo().F(f, t, states[2*i:2*i+2], theta)
				residual.SetVec(i, f[k])
				if i%2 == 0 && !math.IsNaN(data.Y[i/2][k]) {
					sum += distuv.Normal{Mu: states[2*i+k], Sigma: 0.2}.LogProb(data.Y[i/2][k])
				}
			}
			var inverse, d, left mat.Dense
			if err := inverse.Inverse(c); err != nil {
				t.Fatal(err)
			}
			d.Mul(mixed, &inverse)
			left.Mul(&d, mixed.T())
			left.Sub(slope, &left)
			var dx mat.VecDense
			dx.MulVec(&d, x)
			residual.SubVec(residual, &dx)
			var leftInverse mat.Dense
			if err := leftInverse.Inverse(&left); err != nil {
				t.Fatal(err)
			}
			sum -= (mat.Inner(x, &inverse, x) + mat.Inner(residual, &leftInverse, residual)) / 2 / s.Temper
		}
		return sum
	}
	// The constants are the same everywhere.
	lp, states := both()
	first := lp - direct(states)
	for range 5 {
		lp, states := both()
		if d := lp - direct(states) - first; math.Abs(d) > 1e-3*math.Abs(lp) {
			t.Errorf("the log density %.8g differs by %.3g", lp, d)
		}
	}
}

// The gradient agrees with differences, in ξ and in θ.
func TestGradientOfGaussianProcess(t *testing.T) {
	m := fitzHughNagumo(t, 0.2)
	m.Params = append(m.Params, bayes.Param{Name: "sigma", Prior: distuv.LogNormal{Mu: -2, Sigma: 1}})
	m.Experiments[0].Errors = []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("sigma")}}
	q, err := matching.GaussianProcess(m, matching.Settings{Between: 1})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(2, 2))
	x := []float64{-1, -1.5, 1, -1.5}
	for range q.Dim() - len(x) {
		x = append(x, rng.NormFloat64()/10)
	}
	grad, ignored := make([]float64, len(x)), make([]float64, len(x))
	if _, err := q.LogDensity(grad, x); err != nil {
		t.Fatal(err)
	}
	along := func(x []float64, k int) float64 {
		// Central differences of two lengths, extrapolated: the error is of order h⁴.
		const h = 1e-4
		at, d := x[k], [2]float64{}
		for i, h := range []float64{h, 2 * h} {
			x[k] = at + h
			up, _ := q.LogDensity(ignored, x)
			x[k] = at - h
			down, _ := q.LogDensity(ignored, x)
			d[i] = (up - down) / (2 * h)
		}
		x[k] = at
		return (4*d[0] - d[1]) / 3
	}
	worst := 0.0
	for _, v := range grad[4:] {
		worst = max(worst, math.Abs(v))
	}
	for k := range x {
		scale := worst
		if k < 4 {
			scale = math.Abs(grad[k])
		} else if k%7 != 0 {
			continue
		}
		if want := along(x, k); math.Abs(grad[k]-want) > 1e-6*scale {
			t.Errorf("coordinate %d: derivative %.8g, and %.8g from differences", k, grad[k], want)
		}
	}
}

func TestRefusals(t *testing.T) {
	refuse := func(want string, s matching.Settings, change func(x *bayes.Experiment)) {
		t.Helper()
		m := fitzHughNagumo(t, 0.2)
		if change != nil {
			change(&m.Experiments[0])
		}
		_, err := matching.GaussianProcess(m, s)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v: want %q in it", err, want)
		}
	}
	refuse("set Settings.Kernels", matching.Settings{}, func(x *bayes.Experiment) {
		x.Observe = func(dst []float64, _ float64, x, _ []float64) { dst[0], dst[1] = x[1], x[0] }
	})
	refuse("want a problem without events", matching.Settings{}, func(x *bayes.Experiment) {
		p := *x.Problem
		p.Events = []probode.Event{{Time: 3}}
		x.Problem = &p
	})
	refuse("want 2 kernels, with SD > 0", matching.Settings{Kernels: []matching.Kernel{{0, 1, 1}}}, nil)
	refuse("a Temper that is", matching.Settings{Temper: 0.5}, nil)
	refuse("all observations are 1", matching.Settings{}, func(x *bayes.Experiment) {
		for _, row := range x.Data.Y {
			row[1] = 1
		}
	})
}
