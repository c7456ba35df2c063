package certify_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/methods"
)

// On the linear model the shift is the same wherever the posterior is expanded; a
// point that no draw is as far away as is refused.
func TestCertifyStay(t *testing.T) {
	p := linearModel(bayes.Known(0.2))
	at := func(stay bool, from ...float64) *certify.Certificate {
		c, err := certify.Run(context.Background(), p, certify.Settings{Modes: [][]float64{from}, NoClimb: stay})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	mode := at(false, 0.5, 1)
	sd := mode.Modes[0].SD
	theta := mode.Modes[0].Theta
	near := []float64{theta[0] + sd[0]/3, theta[1] + sd[1]/3}
	c := at(true, near...)
	m := c.Modes[0]
	if !m.Found || m.Err != "" || m.Theta[0] != near[0] || m.Moved != 0 {
		t.Fatalf("%+v", m)
	}
	// Differences of half width 1e-4 of a linear function by a solver of relative
	// error 1e-10 have a relative error of 1e-6.
	for k, want := range mode.Modes[0].Shift {
		if math.Abs(m.Shift[k]-want) > 1e-5*m.D {
			t.Errorf("shift %v: want %v, that at the mode", m.Shift[k], want)
		}
	}
	if far := at(true, theta[0]+20*sd[0], theta[1]); far.Modes[0].Found || far.Certified(0.9) || !strings.Contains(far.Answer(0.9), "not near a mode") {
		t.Errorf("20 sd from the mode: %s", far.Answer(0.9))
	}

	// A noise scale so large that the log density has no curvature there is no mode,
	// though the data tell nothing of the other parameters.
	p = linearModel(bayes.Unknown("sigma"))
	p.Params[2].Prior = distuv.Uniform{Max: 1e7}
	if c := at(true, 0.5, 1, 1e5); c.Certified(0.9) {
		t.Errorf("noise of 1e5: %s", c.Answer(0.9))
	}
}

// At a minimum between two modes the gradient is zero and the information positive: the
// frequency of a sine whose data are sin 2t, with a minimum of the log likelihood at
// 1.3103666596 by bisection of its derivative.
func TestStayAtMinimum(t *testing.T) {
	wave := &probode.Problem{
		Name: "wave", Span: [2]float64{0, 6}, Theta: []float64{2}, Params: []string{"w"}, Autonomous: true, X0: []float64{0, 1},
		F: func(f []float64, _ float64, x, th []float64) { f[0], f[1] = th[0]*x[1], -th[0]*x[0] },
	}
	d := &bayes.Data{}
	for i := range 20 {
		at := 0.3 * float64(i+1)
		d.T, d.Y = append(d.T, at), append(d.Y, []float64{math.Sin(2 * at)})
	}
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "w", Prior: distuv.Uniform{Min: 0.1, Max: 6}}},
			Experiments: []bayes.Experiment{{Problem: wave, Data: d, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.5)}},
				Observe: func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[0] }}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.1)},
	}
	for w, mode := range map[float64]bool{2: true, 1.3103666596: false} {
		c, err := certify.Run(context.Background(), p, certify.Settings{Modes: [][]float64{{w}}, NoClimb: true})
		if err != nil {
			t.Fatal(err)
		}
		if c.Certified(0.1) != mode || !mode && !strings.Contains(c.Answer(0.1), "not near a mode") {
			t.Errorf("w = %v: %s", w, c.Answer(0.1))
		}
	}
}

// At the edge of a uniform prior the information and all slopes vanish on the unbounded
// scale. That is no mode where the likelihood is larger inside, and may be one where it
// is not.
func TestStayAtEdge(t *testing.T) {
	decay := &probode.Problem{
		Name: "decay", Span: [2]float64{0, 4}, Theta: []float64{1}, Params: []string{"k"}, Autonomous: true, X0: []float64{1},
		F: func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
	}
	d := &bayes.Data{}
	for i := range 8 {
		at := 0.5 * float64(i+1)
		d.T, d.Y = append(d.T, at), append(d.Y, []float64{math.Exp(-at)})
	}
	for _, c := range []struct {
		from, to, at float64
		certified    bool
	}{
		{0.1, 10, 1, true},
		{0.1, 10, 10 - 1e-8, false},
		{0.1, 10, 0.1 + 1e-10, false},
		{0.1, 1, 1 - 1e-9, true}, // the mode of the likelihood
	} {
		p := &bayes.Posterior{
			Model: bayes.Model{
				Params:      []bayes.Param{{Name: "k", Prior: distuv.Uniform{Min: c.from, Max: c.to}}},
				Experiments: []bayes.Experiment{{Problem: decay, Data: d, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.05)}}}},
			},
			Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.1)},
		}
		got, err := certify.Run(context.Background(), p, certify.Settings{Modes: [][]float64{{c.at}}, NoClimb: true})
		if err != nil {
			t.Fatal(err)
		}
		if got.Certified(0.1) != c.certified {
			t.Errorf("uniform(%g, %g) at %v: certified %v:\n%v", c.from, c.to, c.at, !c.certified, got)
		}
	}
}
