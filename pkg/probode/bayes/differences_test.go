package bayes_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
)

// virus is the model of influenza with 4·10⁸ target cells, few of which are infected at first
// by a small amount of virus, whose logarithm is observed.
func virus(slopes bool) *bayes.Posterior {
	p := &probode.Problem{
		Name: "virus", States: []string{"T", "I", "V"}, Params: []string{"beta", "p"}, Theta: []float64{2.7e-5, 1.2e-2},
		X0: []float64{4e8, 0, 0.093}, Span: [2]float64{0, 2},
		F: func(f []float64, _ float64, x, th []float64) {
			f[0], f[1], f[2] = -th[0]*x[0]*x[2], th[0]*x[0]*x[2]-4*x[1], th[1]*x[1]-3*x[2]
		},
		FJ: func(f, j []float64, _ float64, x, th []float64) {
			f[0], f[1], f[2] = -th[0]*x[0]*x[2], th[0]*x[0]*x[2]-4*x[1], th[1]*x[1]-3*x[2]
			j[0], j[2], j[3], j[4], j[5], j[7], j[8] = -th[0]*x[2], -th[0]*x[0], th[0]*x[2], -4, th[0]*x[0], th[1], -3
		},
		FTheta: func(d []float64, _ float64, x, _ []float64) {
			d[0], d[2], d[5] = -x[0]*x[2], x[0]*x[2], x[1]
		},
	}
	x := bayes.Experiment{
		Problem: p,
		Data:    &bayes.Data{T: []float64{0, 0.1, 0.5, 1, 2}, Y: [][]float64{{-1}, {-1}, {-0.5}, {0.6}, {3}}},
		Observe: func(dst []float64, _ float64, x, _ []float64) { dst[0] = math.Log10(x[2]) },
		Errors:  []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.3)}},
	}
	if slopes {
		x.ObserveSlopes = func(dst []float64, _ float64, x, _ []float64) { dst[2] = 1 / (math.Ln10 * x[2]) }
	}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params:      []bayes.Param{{Name: "beta", Prior: distuv.LogNormal{Mu: -10.5, Sigma: 0.5}}, {Name: "p", Prior: distuv.LogNormal{Mu: -4.4, Sigma: 0.5}}},
			Experiments: []bayes.Experiment{x},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.01)},
	}
}

// The gradient without ObserveSlopes is the gradient with it, although a difference over a
// thousandth of the largest state would take the logarithm of a negative amount of virus.
func TestGradientOfALogarithm(t *testing.T) {
	u := []float64{math.Log(2.7e-5), math.Log(1.2e-2)}
	var du [2][2]float64
	for i, slopes := range []bool{true, false} {
		e, err := bayes.NewDensity(context.Background(), virus(slopes))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Gradient(du[i][:], nil, u, nil); err != nil {
			t.Fatal(err)
		}
	}
	for k, want := range du[0] {
		if got := du[1][k]; !(math.Abs(got-want) <= 1e-7*math.Abs(want)) {
			t.Errorf("derivative %d is %.10g with differences of Observe: want %.10g", k, got, want)
		}
	}
}

// Differences of Observe are right whatever the sizes of the states: for functions of a state
// that is far smaller than another one, that is zero, or that is the rounding error
// of the other one. The states are parameters, and with one datum of 0 and σ = 1 the
// gradient is −m ∂m/∂x. The first error of a difference is 1e-8 of the derivative, and
// rounding is 1e-16 of the largest state over 6e-9 of it.
func TestObserveDifferences(t *testing.T) {
	for _, c := range []struct {
		name    string
		x       [2]float64
		m       func(a, b float64) float64
		da, db  float64
		rounded float64 // size of what is rounded in Observe
	}{
		{"a logarithm", [2]float64{1e9, 1e-3}, func(a, b float64) float64 { return math.Log(b) }, 0, 1e3, 10},
		{"log(1 + b) at 0", [2]float64{1e9, 0}, func(a, b float64) float64 { return 2 + math.Log1p(b) }, 0, 1, 2},
		{"log(1e-9 + b) at 0", [2]float64{1e3, 0}, func(a, b float64) float64 { return math.Log(1e-9 + b) }, 0, 1e9, 21},
		{"a root", [2]float64{1e6, 1e-2}, func(a, b float64) float64 { return math.Sqrt(b) }, 0, 5, 1},
		{"saturation", [2]float64{1e6, 1e-3}, func(a, b float64) float64 { return b / (0.01 + b) }, 0, 0.01 / (0.011 * 0.011), 1},
		{"a sum", [2]float64{1, 1e-17}, func(a, b float64) float64 { return a + b }, 1, 1, 1},
		{"a sum with 0", [2]float64{3e8, 0}, func(a, b float64) float64 { return (a + 2*b) / 1e8 }, 1e-8, 2e-8, 3},
		{"a small difference", [2]float64{1e6, 10}, func(a, b float64) float64 { return (1e6 + 7) - a + b }, -1, 1, 1e6},
		{"nothing", [2]float64{1e6, 1e-9}, func(a, b float64) float64 { return 1e-6 * a }, 1e-6, 0, 1},
		{"a negative state", [2]float64{1e6, -0.1}, func(a, b float64) float64 { return 1 / b }, 0, -100, 10},
		{"a square at 0", [2]float64{1, 0}, func(a, b float64) float64 { return 1 + b*b }, 0, 0, 1},
		{"nothing but zeros", [2]float64{0, 0}, func(a, b float64) float64 { return 1 + a - 3*b }, 1, -3, 1},
	} {
		p := &probode.Problem{Name: "still", States: []string{"a", "b"}, X0: c.x[:], Span: [2]float64{0, 1},
			F: func(f []float64, _ float64, _, _ []float64) { f[0], f[1] = 0, 0 }}
		wide := distuv.Normal{Sigma: 1e10}
		post := &bayes.Posterior{
			Model: bayes.Model{
				Params: []bayes.Param{{Name: "a0", Prior: wide}, {Name: "b0", Prior: wide}},
				Experiments: []bayes.Experiment{{Problem: p.UnknownStart(), Data: &bayes.Data{T: []float64{1}, Y: [][]float64{{0}}},
					Observe: func(dst []float64, _ float64, x, _ []float64) { dst[0] = c.m(x[0], x[1]) },
					Errors:  []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(1)}}}},
			},
			Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.5)},
		}
		e, err := bayes.NewDensity(context.Background(), post)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, 2)
		if _, err := e.LikelihoodGradient(got, nil, c.x[:], nil); err != nil {
			t.Fatal(err)
		}
		along := e.Tangents(c.x[:], []float64{1, 0, 0, 1})
		m := c.m(c.x[0], c.x[1])
		for k, d := range []float64{c.da, c.db} {
			step := 6e-6 * math.Max(math.Abs(c.x[k]), 1e-3*math.Max(math.Abs(c.x[0]), math.Abs(c.x[1])))
			if step == 0 {
				step = 6e-6
			}
			tol := 1e-7*math.Abs(d) + 1e-15*c.rounded/step
			if d == 0 {
				tol = max(tol, 1e-9/math.Max(1, math.Abs(c.x[k])))
			}
			if want := -m * d; !(math.Abs(got[k]-want) <= math.Abs(m)*tol) {
				t.Errorf("%s: derivative %d is %.10g: want %.10g", c.name, k, got[k], want)
			}
			if got := along[0][k]; !(math.Abs(got-d) <= tol) {
				t.Errorf("%s: along parameter %d the derivative of m is %.10g: want %.10g", c.name, k, got, d)
			}
		}
	}
}
