package certify_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
)

// counted is x′ = a from zero, which Euler's method solves exactly, observed as
// counts of x² with the given times; its AB1 path is exact, and x² is seen through
// Observe, so that any difference is that of a solver.
func counted(times, counts []float64, f func(dst []float64, t float64, x, theta []float64)) *bayes.Posterior {
	d := &bayes.Data{T: times}
	for _, y := range counts {
		d.Y = append(d.Y, []float64{y})
	}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "a", Prior: distuv.LogNormal{Mu: 0, Sigma: 1}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "counted", F: f, X0: []float64{0}, Theta: []float64{1}, Params: []string{"a"}, Span: [2]float64{0, 4}},
				Data:    d, Errors: []bayes.Likelihood{bayes.Poisson{}},
			}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.25)},
	}
}

// Counts of zero, one of them at the beginning, where zero is expected for certain:
// what both solvers expect alike there has no part in D, whatever its information,
// and the others have 1/m each. x′ = a t gives a t²/2, and Euler's method a t(t − h)/2.
func TestCertifyCountsFromZero(t *testing.T) {
	times, h := []float64{0, 0.5, 1, 2, 4}, 0.25
	p := counted(times, []float64{0, 0, 1, 3, 8}, func(dst []float64, t float64, _, th []float64) { dst[0] = th[0] * t })
	c, err := certify.Run(context.Background(), p, certify.Settings{Modes: [][]float64{{1}}})
	if err != nil {
		t.Fatal(err)
	}
	m := c.Modes[0]
	if m.Err != "" || !m.Found {
		t.Fatalf("%+v", m)
	}
	var want float64
	for _, at := range times[1:] {
		exact, delta := m.Theta[0]*at*at/2, m.Theta[0]*at*h/2
		want += delta * delta / exact
	}
	if want = math.Sqrt(want); math.Abs(m.D-want) > 1e-6*want {
		t.Errorf("D = %g, want %g", m.D, want)
	}
}

// Where the reference expects zero for certain and the other solver expects δ, D takes the
// information of a count with the mean δ, which is 1/δ. By backward Euler with steps of
// ¼, x stays at zero up to t = 2. With steps of 4/3 it grows from t = 4/3 on.
func TestCertifyImpossibleCounts(t *testing.T) {
	p := counted([]float64{1.5, 4}, []float64{0, 3}, func(dst []float64, t float64, _, th []float64) {
		dst[0] = th[0] * max(0, t-2)
	})
	p.Method = adams.Moulton{}
	reference, coarse := *withStep(p, 0.25), withStep(p, 4./3)
	c, err := certify.Run(context.Background(), coarse, certify.Settings{Modes: [][]float64{{1.3}}, Reference: reference.Setup})
	if err != nil {
		t.Fatal(err)
	}
	m := c.Modes[0]
	if m.Err != "" {
		t.Fatal(m.Err)
	}
	var expected [2][]float64
	for i, q := range []*bayes.Posterior{&reference, coarse} {
		e, err := bayes.NewDensity(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.LogLikelihood(m.Theta, nil); err != nil {
			t.Fatal(err)
		}
		expected[i] = e.Expected()
	}
	if at := expected[0]; at[0] != 0 || math.Abs(at[1]-2.25*m.Theta[0]) > 1e-12 || !(expected[1][0] > 0.01) {
		t.Fatalf("expected %g", expected)
	}
	last := expected[1][1] - expected[0][1]
	if want := math.Sqrt(expected[1][0] + last*last/expected[0][1]); !(math.Abs(m.D-want) <= 1e-9*want) {
		t.Errorf("D = %.12g: want %.12g", m.D, want)
	}
}

// One observation, and one at the initial time, which no parameter moves: the
// certificate is that of the prior and the one datum, by its closed form. For
// x′ = −θx, x(1) = e^{−θ}, Euler's (1 − hθ)^{1/h}.
func TestCertifyOneObservation(t *testing.T) {
	const h, sigma = 0.125, 0.1
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "theta1", Prior: distuv.Normal{Mu: 1, Sigma: 0.5}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "decay", X0: []float64{1}, Theta: []float64{1}, Span: [2]float64{0, 1}, Autonomous: true,
					F: func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] }},
				Data:   &bayes.Data{T: []float64{0, 1}, Y: [][]float64{{1.05}, {math.Exp(-1)}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(sigma)}},
			}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(h)},
	}
	for _, single := range []bool{false, true} {
		if single {
			d := p.Experiments[0].Data
			p.Experiments[0].Data = &bayes.Data{T: d.T[1:], Y: d.Y[1:]}
		}
		c, err := certify.Run(context.Background(), p, certify.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		m := c.Modes[0]
		if len(c.Modes) != 1 || math.Abs(m.Theta[0]-1) > 1e-3 {
			t.Fatalf("%+v", c.Modes)
		}
		th := m.Theta[0]
		delta, g := math.Pow(1-h*th, 1/h)-math.Exp(-th), -math.Exp(-th)
		precision := g*g/(sigma*sigma) + 1/0.25
		if want := math.Abs(delta) / sigma; math.Abs(m.D-want) > 1e-6 {
			t.Errorf("D = %g, want %g", m.D, want)
		}
		if want := -g * delta / (sigma * sigma) / math.Sqrt(precision); math.Abs(m.Shift[0]-want) > 1e-3*math.Abs(want) {
			t.Errorf("shift %g, want %g", m.Shift[0], want)
		}
	}
}

// Draws at which the reference fails are not left out of the share: where it fails
// at more than one in twenty nothing is enough.
func TestLargestEnoughWhereTheReferenceFails(t *testing.T) {
	p := decay(0.125)
	q := *p.Experiments[0].Problem
	f := q.F
	q.F = func(dst []float64, t float64, x, th []float64) {
		f(dst, t, x, th)
		if th[0] > 1.05 { // a fifth of the posterior and more
			dst[0] = math.NaN()
		}
	}
	p.Experiments[0].Problem = &q
	e, err := certify.LargestEnough(context.Background(), p, certify.EnoughSettings{Settings: certify.Settings{Modes: [][]float64{{0.9}}, Seed: 1}, Number: 40})
	if err != nil {
		t.Fatal(err)
	}
	if e.Lost < 4 || e.Found {
		t.Errorf("%d lost, found %v: %v", e.Lost, e.Found, e)
	}
}

// A posterior with two true modes is certified at both, or at neither.
func TestCertifyTwoModes(t *testing.T) {
	c, err := certify.Run(context.Background(), caseOf(t, "alias"), certify.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[bool]int{}
	for _, m := range c.Modes {
		if m.Found && m.Moved < 5 {
			found[m.Theta[0] > math.Pi]++
			if math.IsNaN(m.D) || m.D == 0 {
				t.Errorf("%+v", m)
			}
		}
	}
	if found[false] != 1 || found[true] != 1 {
		t.Errorf("%d modes below π and %d above: want one each", found[false], found[true])
	}
}
