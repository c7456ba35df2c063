package sample_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/methods"
)

// infusion is one compartment that loses the share θ of its content per unit of time, and
// gets 5 per unit of time from t = 2 on for one unit. The data are 12 times, none of
// which is between the start of the infusion and t = 3.5.
func infusion(mesh probode.Mesh) *bayes.Posterior {
	in := probode.Infusion(5, 2, 3)
	data := &bayes.Data{}
	for _, t := range []float64{0.5, 1, 1.5, 2, 3.5, 4, 4.5, 5, 5.5, 6, 7, 8} {
		data.T, data.Y = append(data.T, t), append(data.Y, []float64{infused(1, t)})
	}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "k", Prior: distuv.LogNormal{Mu: 0, Sigma: 1}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{
					Name: "infusion", States: []string{"x"}, Params: []string{"k"}, Theta: []float64{1},
					F:  func(dst []float64, t float64, x, theta []float64) { dst[0] = in.At(t) - theta[0]*x[0] },
					X0: []float64{1}, Span: [2]float64{0, 9}, Events: in.Events(),
				},
				Data:   data,
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.02)}},
			}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: mesh},
	}
}

// infused is the exact solution of infusion.
func infused(k, t float64) float64 {
	x := math.Exp(-k * t)
	if t > 2 {
		x += 5 / k * (math.Exp(-k*(t-min(t, 3))) - math.Exp(-k*(t-2)))
	}
	return x
}

// A prediction between the data follows the equations: it rises during an infusion
// between two data. At the times of the data it is the same as without other times,
// although Through would take other steps with them.
func TestPredictBetween(t *testing.T) {
	const draws = 60
	ctx := context.Background()
	for name, mesh := range map[string]probode.Mesh{
		"through": probode.Through(0.1), "adaptive": probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}},
	} {
		p := infusion(mesh)
		if name == "adaptive" {
			p.Method = methods.RungeKutta{Tableau: methods.DormandPrince}
		}
		chains := run(t, p, sample.Deterministic{Proposal: walk}, draws)
		times := p.FineTimes()
		out, err := bayes.Predict(ctx, p, chains, times, 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		q := out[0]
		if len(q.T) != len(times) || len(q.T) < 200 {
			t.Fatalf("%s: %d times of %d", name, len(q.T), len(times))
		}
		thetas, all := slices.Concat(chains.Draws...), 4*draws
		var z []float64
		for i := range q.Fit {
			k := thetas[i*all/len(q.Fit)][0]
			for n, at := range q.T {
				if off := math.Abs(q.Fit[i][n][0] - infused(k, at)); off > 1e-4 { // h⁴ and the interpolation
					t.Fatalf("%s: off by %.2g at t = %g", name, off, at)
				}
				z = append(z, (q.Y[i][n][0]-q.Fit[i][n][0])/0.02)
			}
		}
		// More than 50,000 errors: the sd of z has a standard error of about .003.
		if sd := stat.StdDev(z, nil); math.Abs(sd-1) > 0.015 {
			t.Errorf("%s: new observations scatter by %.3f of their standard deviation", name, sd)
		}
		if top := slices.Max(q.Quantiles(0, 0.5)); math.Abs(top-infused(1, 3)) > 0.15 {
			t.Errorf("%s: the median rises to %.3f, want %.3f", name, top, infused(1, 3))
		}
		known, err := bayes.Predict(ctx, p, chains, p.Experiments[0].Data.T, 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		generated := slices.Concat(chains.Generated...)
		for i := range known[0].Fit {
			for n := range known[0].T {
				if want := generated[i*all/len(q.Fit)][1+n]; math.Abs(known[0].Fit[i][n][0]-want) > 1e-12 {
					t.Fatalf("%s: %v at a time of the data, want %v", name, known[0].Fit[i][n][0], want)
				}
			}
		}
	}
}

// Both sides of an event are among the fine times: after a bolus the state jumps. A time
// of an event that depends on θ counts, too.
func TestFineTimes(t *testing.T) {
	p := infusion(probode.Uniform(0.1))
	x := p.Experiments[0].Problem
	x.Events = []probode.Event{{When: func(theta []float64) float64 { return 2.33 * theta[0] },
		Jump: func(x []float64, _ float64, _ []float64) { x[0] += 4 }}, {Time: 12}}
	times := p.FineTimes()
	i, _ := slices.BinarySearch(times, 2.33)
	if !slices.IsSorted(times) || times[i]-times[i-1] > 1e-4 || times[0] != 0 || times[len(times)-1] != 9 {
		t.Fatalf("times %v", times)
	}
	p.Params[0].Prior = distuv.Uniform{Min: 1 - 1e-9, Max: 1 + 1e-9}
	out, theta, failed, err := bayes.PredictPrior(context.Background(), p, 50, times, 1)
	if err != nil || failed > 0 || len(theta) != 50 || len(out[0].T) != len(times) {
		t.Fatalf("%d draws, %d failed, %v", len(theta), failed, err)
	}
	for _, fit := range out[0].Fit {
		if jump := fit[i][0] - fit[i-1][0]; math.Abs(jump-4) > 1e-3 {
			t.Fatalf("jump of %.3f, want 4", jump)
		}
	}
}

// Without ξ, and without the Setup of the draws, there is no prediction between the data.
func TestPredictOtherPaths(t *testing.T) {
	ctx := context.Background()
	between := []float64{1, 2, 3}
	noisy := infusion(probode.Uniform(0.1))
	noisy.Alpha = 0.1
	chains := run(t, noisy, sample.PCNWithinGibbs{Proposal: walk}, 200)
	accurate := probode.Setup{Mesh: probode.Uniform(0.02)}
	coarse := infusion(probode.Uniform(0.5))
	exact := run(t, coarse.SolvedBy(accurate), sample.Deterministic{Proposal: walk}, 200)
	for name, err := range map[string]error{
		"noise":    second(bayes.Predict(ctx, noisy, chains, between, 1)),
		"accurate": second(bayes.Predict(ctx, coarse, exact, between, 1)),
	} {
		if err == nil || !strings.Contains(err.Error(), "want p.SolvedBy(s) with their Setup s") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := bayes.Predict(ctx, coarse.SolvedBy(accurate), exact, between, 1); err != nil {
		t.Error(err)
	}
	if _, err := bayes.Predict(ctx, coarse, exact, []float64{20}, 1); err == nil || !strings.Contains(err.Error(), "none of the 1 prediction times") {
		t.Errorf("a time after the span: error %v", err)
	}
	two := *coarse
	two.Experiments = append(slices.Clone(coarse.Experiments), coarse.Experiments[0])
	longer := *coarse.Experiments[0].Problem
	longer.Span[1] = 12
	two.Experiments[1].Problem = &longer
	for _, c := range []struct {
		p     *bayes.Posterior
		times []float64
		want  string // "" for no error
	}{
		{coarse, []float64{1, 9.5}, "the prediction time 9.5 is outside of the time span [0, 9]"},
		{coarse, []float64{-1e-9, 1}, "the prediction time -1e-09 is outside of the time span [0, 9]"},
		{coarse, []float64{1, math.NaN()}, "the prediction time NaN is outside of the time span [0, 9]"},
		{coarse, []float64{0, 9}, ""},
		{&two, []float64{1, 13}, "the prediction time 13 is outside of the time span [0, 9] or [0, 12]"},
		{&two, []float64{1, 11}, ""}, // the first experiment is predicted at 1 only
		{&two, two.FineTimes(), ""},
	} {
		_, _, _, err := bayes.PredictPrior(ctx, c.p, 1, c.times, 1)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("times %v: error %v, want %q", c.times, err, c.want)
		}
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	if _, err := bayes.Predict(stopped, coarse.SolvedBy(accurate), exact, between, 1); err == nil {
		t.Error("a context that has ended: no error")
	}
}

func second(_ []*bayes.Prediction, err error) error { return err }
