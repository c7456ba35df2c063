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
	p, err := matching.GaussianProcess(m, s)
	if err != nil {
		t.Fatal(err)
	}
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	theta := []float64{0.3, 0.1, 2}
	u, xi := make([]float64, 3), make([]float64, e.NoiseLen())
	if err := e.Unconstrain(u, theta); err != nil {
		t.Fatal(err)
	}
	both := func() (float64, []float64) {
		for i := range xi {
			xi[i] = rng.NormFloat64()
		}
		lp, err := e.LogPosterior(u, xi)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range xi {
			lp -= x * x / 2
		}
		return lp, e.States(0)
	}
	direct := func(states []float64) float64 {
		data := m.Experiments[0].Data
		times := p.Experiments[0].Data.T
		n, sum := len(times), 0.0
		f := make([]float64, 2)
		for k, kernel := range s.Kernels {
			c, mixed, slope := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
			at := func(t, u float64) float64 {
				a := math.Sqrt(5) * math.Abs(t-u) / kernel.Length
				return kernel.SD * kernel.SD * (1 + a + a*a/3) * math.Exp(-a)
			}
			const h = 1e-4
			x, residual := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
			for i, t := range times {
				x.SetVec(i, states[4*i+k]-kernel.Mean)
				problems.FitzHughNagumo().F(f, t, states[4*i:4*i+2], theta)
				residual.SetVec(i, f[k])
				for j, u := range times {
					c.Set(i, j, at(t, u))
					mixed.Set(i, j, (at(t+h, u)-at(t-h, u))/(2*h))
					slope.Set(i, j, (at(t+h, u+h)-at(t+h, u-h)-at(t-h, u+h)+at(t-h, u-h))/(4*h*h))
				}
				slope.Set(i, i, slope.At(i, i)+s.Mismatch)
				if y := data.Y[i/2][k]; i%2 == 0 && !math.IsNaN(y) {
					sum += distuv.Normal{Mu: states[4*i+k], Sigma: 0.2}.LogProb(y)
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
	p, err := matching.GaussianProcess(fitzHughNagumo(t, 0.2), matching.Settings{Between: 1})
	if err != nil {
		t.Fatal(err)
	}
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(2, 2))
	u, xi := []float64{-1, -1.5, 1}, make([]float64, e.NoiseLen())
	for i := range xi {
		xi[i] = rng.NormFloat64() / 10
	}
	du, dxi := make([]float64, 3), make([]float64, len(xi))
	if _, err := e.Gradient(du, dxi, u, xi); err != nil {
		t.Fatal(err)
	}
	along := func(x *float64) float64 {
		// Central differences of two lengths, extrapolated: the error is of order h⁴.
		const h = 1e-4
		at, d := *x, [2]float64{}
		for i, h := range []float64{h, 2 * h} {
			*x = at + h
			up, _ := e.LogPosterior(u, xi)
			*x = at - h
			down, _ := e.LogPosterior(u, xi)
			d[i] = (up - down) / (2 * h)
		}
		*x = at
		return (4*d[0] - d[1]) / 3
	}
	worst := 0.0
	for i := range dxi {
		worst = max(worst, math.Abs(dxi[i]))
	}
	for i := 0; i < len(xi); i += 7 {
		if want := along(&xi[i]); math.Abs(dxi[i]-want) > 1e-6*worst {
			t.Errorf("ξ%d: derivative %.8g, and %.8g from differences", i, dxi[i], want)
		}
	}
	for i := range u {
		if want := along(&u[i]); math.Abs(du[i]-want) > 1e-6*math.Abs(want) {
			t.Errorf("θ%d: derivative %.8g, and %.8g from differences", i, du[i], want)
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
