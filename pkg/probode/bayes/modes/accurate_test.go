package modes_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/reference"
)

// x″ = −w² x from (1, 0) has the solution cos wt, and ∂x/∂w = −t sin wt. The data are the
// solution for w = 1, so the mode is 1 where the prior is wide. With the measurement error
// 10⁻³ the solver that searches in place of the reference is accurate enough. With 10⁻⁸ it
// is not, and the reference must search itself. Both times the mode, its log density and
// its variance are those of the exact solution. The error of the reference is about 1e-10,
// at most a hundredth of a measurement error. For the 8 data, which fit exactly, that
// changes the log density by at most 4e-4, and the mode by at most 0.03 standard
// deviations; a search ends within 0.03 of them.
func TestModesOfAnAccurateSolver(t *testing.T) {
	problem := &probode.Problem{Name: "oscillator", Params: []string{"w"}, X0: []float64{1, 0}, Theta: []float64{1}, Span: [2]float64{0, 20}, Autonomous: true,
		F: func(f []float64, _ float64, x, th []float64) { f[0], f[1] = x[1], -th[0]*th[0]*x[0] }}
	prior := distuv.Normal{Mu: 1, Sigma: 0.02}
	for _, sigma := range []float64{1e-3, 1e-8} {
		d := &bayes.Data{}
		information := 1 / (prior.Sigma * prior.Sigma)
		for i := range 8 {
			at := 20 - 0.7*float64(7-i)
			d.T, d.Y = append(d.T, at), append(d.Y, []float64{math.Cos(at), math.NaN()})
			information += math.Pow(at*math.Sin(at)/sigma, 2)
		}
		p := &bayes.Posterior{
			Model: bayes.Model{Params: []bayes.Param{{Name: "w", Prior: prior}},
				Experiments: []bayes.Experiment{{Problem: problem, Data: d,
					Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(sigma)}, bayes.Gaussian{Sigma: bayes.Known(1)}}}}},
			Setup: probode.Setup{Mesh: reference.Accurate{}},
		}
		rough, err := bayes.NewDensity(context.Background(), p.SolvedBy(shape.Lender))
		if err != nil {
			t.Fatal(err)
		}
		want := prior.LogProb(1) - 8*math.Log(sigma*math.Sqrt(2*math.Pi))
		if f, err := rough.LogPosterior([]float64{1}, nil); err != nil || math.Abs(f-want) > 0.01 != (sigma == 1e-8) {
			t.Fatalf("measurement error %g: the log density by the cheaper solver is %.6f, %v, the exact one %.6f: the test needs another measurement error", sigma, f, err, want)
		}
		found, err := modes.Find(context.Background(), p, modes.Settings{Seed: 1, From: [][]float64{{1.001}, {math.Inf(1)}}})
		if err != nil {
			t.Fatal(err)
		}
		m := found.Highest()
		if off := math.Abs(m.Theta[0]-1) * math.Sqrt(information); off > 0.1 || math.Abs(m.LogP-want) > 1e-3 {
			t.Errorf("measurement error %g: mode %.12g, %.2g standard deviations from 1, log density %.6f, want %.6f", sigma, m.Theta[0], off, m.LogP, want)
		}
		if v := m.Shape.At(0, 0) * information; math.Abs(v-1) > 0.01 {
			t.Errorf("measurement error %g: variance %g of the exact one", sigma, v)
		}
		if len(found.Ends) != 2 || found.Ends[1] != -1 || found.Searches < 10 {
			t.Errorf("measurement error %g: ends %v, %d searches", sigma, found.Ends, found.Searches)
		}
	}
}
