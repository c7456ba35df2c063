package certify

import (
	"context"
	"math"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/methods"
)

// counted counts the evaluations of a datum.
type counted struct {
	bayes.Gaussian
	n *atomic.Int64
}

func (c counted) LogProb(y, m float64, own []float64) float64 {
	c.n.Add(1)
	return c.Gaussian.LogProb(y, m, own)
}

// The look away from a mode takes at most 50 + 20 d solves by both setups together.
func TestLookIsCheap(t *testing.T) {
	for _, d := range []int{1, 2, 3, 6} {
		problem := &probode.Problem{Name: "rates", X0: make([]float64, d), Theta: make([]float64, d), Span: [2]float64{0, 4},
			F: func(f []float64, _ float64, x, th []float64) {
				for k, v := range th {
					f[k] = -v * x[k]
				}
			}}
		p := &bayes.Posterior{
			Model: bayes.Model{Experiments: []bayes.Experiment{{Problem: problem,
				Data:   &bayes.Data{T: []float64{4}, Y: [][]float64{make([]float64, d)}},
				Errors: make([]bayes.Likelihood, d)}}},
			Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.5)},
		}
		solves := new(atomic.Int64)
		for k := range d {
			problem.X0[k], problem.Theta[k] = 1, 1
			p.Experiments[0].Errors[k] = bayes.Gaussian{Sigma: bayes.Known(0.2)}
			p.Params = append(p.Params, bayes.Param{Name: problem.ParamName(k), Prior: distuv.LogNormal{Sigma: 1}})
		}
		p.Experiments[0].Errors[0] = counted{bayes.Gaussian{Sigma: bayes.Known(0.2)}, solves}
		c, err := New(context.Background(), p, probode.Setup{})
		if err != nil {
			t.Fatal(err)
		}
		c.AddMode(problem.Theta)
		x, err := compare.New(context.Background(), p, p.Setup)
		if err != nil {
			t.Fatal(err)
		}
		at := c.reached()[0].at
		look := newLook(at, x, x.At(at.theta).LogLikelihood)
		solves.Store(0)
		look.away(c.assessed)
		if n := int(solves.Load()); n > 50+20*d || n < 2*priorDraws {
			t.Errorf("%d parameters: %d solves: want at most %d", d, n, 50+20*d)
		}
	}
}

// Of two Gaussians along a line the shift is the difference of their means, and what
// cannot be solved is taken for zero.
func TestLineShift(t *testing.T) {
	gaussian := func(moved, cut float64) (l line) {
		for t := -6.; t <= 6; t += 1.5 {
			p := probe{t: t, fine: -t * t / 2, coarse: -(t-moved)*(t-moved)/2 + moved*moved/2}
			if t > cut {
				p.coarse = math.Inf(-1)
			}
			l = append(l, p)
		}
		return l
	}
	unit := func(t float64) float64 { return t }
	for _, moved := range []float64{0, 1e-6, 0.1, -0.3} {
		if got := gaussian(moved, 9).shift(unit, 1); math.Abs(got-math.Abs(moved)) > 0.02*math.Abs(moved) {
			t.Errorf("moved by %g: %g", moved, got)
		}
	}
	// The mean of a standard normal below zero is −√(2/π).
	if got, want := gaussian(0, 0).shift(unit, 1), math.Sqrt(2/math.Pi); math.Abs(got-want) > 0.01 {
		t.Errorf("cut at zero: %g: want %g", got, want)
	}
	if got := (line{{t: -1}, {t: 1, fine: math.Inf(-1), coarse: math.Inf(-1)}}).shift(unit, 1); !math.IsNaN(got) {
		t.Errorf("nothing can be solved: %g: want NaN", got)
	}
}

// Since draws whose likelihood is negligible under shape.Lender are not solved by the
// reference, the Lender must not step over a pulse that the reference sees: here one of a
// thousandth of the span, in a state at rest.
func TestLenderSeesPulses(t *testing.T) {
	for _, width := range []float64{0.3, 0.01} {
		p := &bayes.Posterior{Model: bayes.Model{
			Params: []bayes.Param{{Name: "theta1", Prior: distuv.LogNormal{Sigma: 1}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "pulse", X0: []float64{0, 1}, Theta: []float64{1}, Span: [2]float64{0, 10},
					F: func(f []float64, at float64, x, th []float64) {
						u := (at - 5.123) / width
						f[0], f[1] = th[0]*math.Exp(-u*u/2)/width, -0.1*x[1]
					}},
				Data:   &bayes.Data{T: []float64{10}, Y: [][]float64{{2.5, 0.37}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.1)}, bayes.Gaussian{Sigma: bayes.Known(0.1)}},
			}},
		}}
		c, err := New(context.Background(), p, probode.Setup{})
		if err != nil {
			t.Fatal(err)
		}
		theta := []float64{1}
		if fine, lent := c.fine.LogLikelihood(theta), c.lent.LogLikelihood(theta); !(math.Abs(fine-lent) < 1e-6) {
			t.Errorf("width %g: log likelihoods %g and %g", width, fine, lent)
		}
	}
}
