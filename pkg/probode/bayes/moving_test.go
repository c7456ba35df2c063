package bayes_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
)

// dosed is x′ = −kx with a dose at the time lag and half of it at 2 + lag, measured with
// errors of unknown size and degrees of freedom, and counted with an unknown gain.
func dosed(setup probode.Setup, exact bool) *bayes.Posterior {
	p := &probode.Problem{
		Name: "dosed", States: []string{"x"}, Params: []string{"k", "lag", "dose"}, Theta: []float64{0.8, 0.3, 4}, X0: []float64{1}, Span: [2]float64{0, 5}, Autonomous: true,
		F: func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
		Events: []probode.Event{
			{When: func(th []float64) float64 { return th[1] }, Jump: func(x []float64, _ float64, th []float64) { x[0] += th[2] }},
			{When: func(th []float64) float64 { return 2 + th[1] }, Jump: func(x []float64, t float64, th []float64) { x[0] += th[2] / 2 * (t - th[1]) / 2 }},
		},
	}
	if exact {
		p.FJ = func(f, j []float64, _ float64, x, th []float64) { f[0], j[0] = -th[0]*x[0], -th[0] }
		p.FTheta = func(d []float64, _ float64, x, _ []float64) { d[0] = -x[0] }
	}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{
				{Name: "k", Prior: distuv.LogNormal{Mu: 0, Sigma: 0.5}}, {Name: "lag", Prior: distuv.Uniform{Min: 0.05, Max: 0.9}}, {Name: "dose", Prior: distuv.Gamma{Alpha: 4, Beta: 1}},
				{Name: "sigma", Prior: distuv.Exponential{Rate: 2}}, {Name: "nu", Prior: bayes.Truncated{Of: distuv.Exponential{Rate: 0.1}, Min: 1, Max: math.Inf(1)}}, {Name: "gain", Prior: distuv.LogNormal{Mu: 1, Sigma: 1}},
			},
			Experiments: []bayes.Experiment{{Problem: p, Data: &bayes.Data{T: []float64{0, 0.01, 1, 1.9, 2.6, 5}, Y: [][]float64{{1.1, 3}, {0.9, math.NaN()}, {2.6, 7}, {math.NaN(), 2}, {3, 9}, {0.4, 0}}},
				Observe: func(dst []float64, _ float64, x, th []float64) { dst[0], dst[1] = x[0], th[5]*x[0] },
				Errors:  []bayes.Likelihood{bayes.StudentT{Nu: bayes.Unknown("nu"), Sigma: bayes.Unknown("sigma")}, bayes.Poisson{}}}},
		},
		Setup: setup,
	}
}

// dosedAt is the exact solution of dosed.
func dosedAt(t, k, lag, dose float64) float64 {
	x := math.Exp(-k * t)
	if t > lag {
		x += dose * math.Exp(-k*(t-lag))
	}
	if t > 2+lag {
		x += dose / 2 * math.Exp(-k*(t-2-lag))
	}
	return x
}

// The log density with events at times that are parameters is that of the exact solution,
// and its gradient is that of differences. The error of the method is about 1e-8.
func TestMovingEvents(t *testing.T) {
	theta := []float64{0.9, 0.37, 3.5, 0.4, 6, 2.2}
	for _, exact := range []bool{false, true} {
		p := dosed(probode.Setup{Method: methods.Radau{}, Mesh: probode.Uniform(0.05)}, exact)
		e, err := bayes.NewDensity(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		u := make([]float64, len(theta))
		if err := e.Unconstrain(u, theta); err != nil {
			t.Fatal(err)
		}
		x := &p.Experiments[0]
		want := e.Constrain(make([]float64, len(u)), u)
		for n, row := range x.Data.Y {
			m := dosedAt(x.Data.T[n], theta[0], theta[1], theta[2])
			if !math.IsNaN(row[0]) {
				want += distuv.StudentsT{Mu: m, Sigma: theta[3], Nu: theta[4]}.LogProb(row[0])
			}
			if !math.IsNaN(row[1]) {
				want += distuv.Poisson{Lambda: theta[5] * m}.LogProb(row[1])
			}
		}
		if got, err := e.LogPosterior(u, nil); err != nil || !(math.Abs(got-want) < 1e-6) {
			t.Errorf("log density %.9g, %v: want %.9g", got, err, want)
		}
		tol := 1e-5
		if exact {
			tol = 1e-7
		}
		checkGradient(t, e, u, nil, tol)
	}
}

// The same with noise whose scale is a parameter, forwards and backwards.
func TestMovingEventsWithNoise(t *testing.T) {
	theta := []float64{0.9, 0.37, 3.5, 0.4, 6, 2.2, 0.05}
	for _, method := range []probode.Method{adams.Bashforth{Steps: 1}, adams.Bashforth{Steps: 2}, adams.Moulton{Steps: 1}} {
		p := dosed(probode.Setup{Method: method, Mesh: probode.Uniform(0.1)}, true)
		p.Params = append(p.Params, bayes.Param{Name: "alpha", Prior: distuv.LogNormal{Mu: -3, Sigma: 1}})
		p.AlphaParam = "alpha"
		e, err := bayes.NewDensity(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		u := make([]float64, len(theta))
		if err := e.Unconstrain(u, theta); err != nil {
			t.Fatal(err)
		}
		xi := make([]float64, e.NoiseLen())
		probode.DrawNoise(xi, 5, 1)
		checkGradient(t, e, u, nil, 1e-6)
		checkGradient(t, e, u, xi, 1e-6)
	}
}

// The same with steps that are chosen anew at every θ, and with a grid that was made at
// another θ, where the events are at other times: the steps are stretched, and the path
// stays accurate.
func TestMovingEventsOnOtherGrids(t *testing.T) {
	theta := []float64{0.9, 0.37, 3.5, 0.4, 6, 2.2}
	fine := probode.Tolerance{Relative: 1e-8}
	for name, setup := range map[string]probode.Setup{
		"adaptive Radau":      {Method: methods.Radau{}, Mesh: probode.Adaptive{Tolerance: fine}},
		"adaptive RK":         {Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Adaptive{Tolerance: fine}},
		"frozen RK":           {Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Frozen{Tolerance: fine}},
		"through, RK":         {Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Through(0.05)},
		"frozen BDF":          {Method: methods.BDF{}, Mesh: probode.Frozen{Tolerance: fine}},
		"frozen at another θ": {Method: methods.Radau{}, Mesh: probode.Frozen{Tolerance: fine}},
	} {
		p := dosed(setup, true)
		if name == "frozen at another θ" {
			p.GridAt = []float64{0.5, 0.8, 2, 1, 3, 1}
		}
		e, u := densityAt(t, p, theta...)
		x := &p.Experiments[0]
		want := e.Constrain(make([]float64, len(u)), u)
		for n, row := range x.Data.Y {
			m := dosedAt(x.Data.T[n], theta[0], theta[1], theta[2])
			if !math.IsNaN(row[0]) {
				want += distuv.StudentsT{Mu: m, Sigma: theta[3], Nu: theta[4]}.LogProb(row[0])
			}
			if !math.IsNaN(row[1]) {
				want += distuv.Poisson{Lambda: theta[5] * m}.LogProb(row[1])
			}
		}
		if got, err := e.LogPosterior(u, nil); err != nil || !(math.Abs(got-want) < 1e-4) {
			t.Errorf("%s: log density %.9g, %v: want %.9g", name, got, err, want)
		}
		release := e.Hold(theta)
		checkGradient(t, e, u, nil, 1e-6)
		release()
	}
}
