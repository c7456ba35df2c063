package assess_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// decaying is x′ = −kx, x(0) = 1, with data at 1 and 2.
func decaying() *bayes.Posterior {
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "k", Prior: distuv.LogNormal{Sigma: 0.5}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "decay", X0: []float64{1}, Theta: []float64{1}, Params: []string{"k"}, Span: [2]float64{0, 2}, Autonomous: true,
					F: func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] }},
				Data:   &bayes.Data{T: []float64{1, 2}, Y: [][]float64{{0.4}, {0.15}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.05)}},
			}},
		},
	}
}

// quantilesOf returns n quantiles of k, at equal distances of the level, if x(t) is the given
// solution.
func quantilesOf(n int, solution func(k, t float64) float64) []float64 {
	prior := distuv.LogNormal{Sigma: 0.5}
	const cells = 40000
	var sum float64
	levels := make([]float64, cells)
	at := func(i int) float64 { return 0.2 + 3*(float64(i)+0.5)/cells }
	for i := range levels {
		k := at(i)
		lp := prior.LogProb(k)
		for j, y := range []float64{0.4, 0.15} {
			r := (y - solution(k, float64(j+1))) / 0.05
			lp -= r * r / 2
		}
		sum += math.Exp(lp)
		levels[i] = sum
	}
	out := make([]float64, n)
	for i := range out {
		j, _ := slices.BinarySearch(levels, (float64(i)+0.5)/float64(n)*sum)
		out[i] = at(j)
	}
	return out
}

// Draws of a posterior by backward Euler with h = 1/4, whose solution is (1 + k/4)^−4t, say what
// the solver does to it, and what h = 1/8 would do, without a new draw.
func TestGivenDraws(t *testing.T) {
	euler := func(h float64) func(k, t float64) float64 {
		return func(k, t float64) float64 { return math.Pow(1+h*k, -t/h) }
	}
	exact := func(k, t float64) float64 { return math.Exp(-k * t) }
	by := func(h float64) probode.Setup {
		return probode.Setup{Method: adams.Moulton{}, Mesh: probode.Uniform(h)}
	}
	const n = 2000
	// In an order that is not that of their size.
	made := &mcmc.Chains{Names: []string{"k"}, Draws: make([][][]float64, 2)}
	all := quantilesOf(n, euler(0.25))
	for i := range all {
		made.Draws[i%2] = append(made.Draws[i%2], []float64{all[i*787%n]})
	}
	a, err := assess.Run(t.Context(), decaying(), assess.Settings{Draws: made, MadeBy: by(0.25), Candidates: []probode.Setup{by(0.125)}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(a.Drawn, "another program") {
		t.Errorf("the reference posterior is %s: want the given draws", a.Drawn)
	}
	spread := func(q []float64) (center, width float64) {
		return q[n/2], (q[1683] - q[317]) / 2
	}
	center, width := spread(quantilesOf(n, exact))
	for i, h := range []float64{0.25, 0.125} {
		c, w := spread(quantilesOf(n, euler(h)))
		got := a.Candidates[i].Inference.Effects[0].Median
		if bias, ratio := (c-center)/width, w/width; math.Abs(got.Bias-bias) > 4*got.BiasSE+0.01 || math.Abs(got.Ratio-ratio) > 4*got.RatioSE+0.01 {
			t.Errorf("h = %g: bias %.3f ± %.3f, ratio %.3f ± %.3f: want %.3f and %.3f", h, got.Bias, got.BiasSE, got.Ratio, got.RatioSE, bias, ratio)
		}
		if got.BiasSE > 0.1 {
			t.Errorf("h = %g: the error of the bias is %.2g", h, got.BiasSE)
		}
	}
	if a.Candidates[0].Verdict != assess.Matters {
		t.Errorf("h = 1/4: %v: want matters", a.Candidates[0].Verdict)
	}

	// Weighted draws of h = 1/8 stand for the same posterior.
	weighted := &mcmc.Chains{Names: made.Names, Draws: made.Draws, LogWeights: make([][]float64, 2)}
	for c, draws := range made.Draws {
		for _, theta := range draws {
			lw := 0.0
			for j, y := range []float64{0.4, 0.15} {
				r, s := (y-euler(0.125)(theta[0], float64(j+1)))/0.05, (y-euler(0.25)(theta[0], float64(j+1)))/0.05
				lw += s*s/2 - r*r/2
			}
			weighted.LogWeights[c] = append(weighted.LogWeights[c], lw)
		}
	}
	b, err := assess.Run(t.Context(), decaying(), assess.Settings{Draws: weighted, MadeBy: by(0.125)})
	if err != nil {
		t.Fatal(err)
	}
	x, y := a.Candidates[1].Inference.Effects[0].Median, b.Candidates[0].Inference.Effects[0].Median
	if math.Abs(x.Bias-y.Bias) > 0.02 || math.Abs(x.Ratio-y.Ratio) > 0.02 {
		t.Errorf("weighted draws: bias %.3f, ratio %.3f: want %.3f and %.3f", y.Bias, y.Ratio, x.Bias, x.Ratio)
	}

	// The same draws, but another solver is said to have made them.
	for _, s := range []assess.Settings{{MadeBy: by(0.01)}, {Candidates: []probode.Setup{by(0.01)}}} {
		s.Draws = made
		a, err := assess.Run(t.Context(), decaying(), s)
		if err != nil {
			t.Fatal(err)
		}
		if x := a.Candidates[0]; x.Verdict != assess.Undecided || !strings.Contains(a.Answer(), "the draws are not those of the posterior") {
			t.Errorf("%v: %v, %s", s.MadeBy, x.Verdict, a.Answer())
		}
	}

	made.Draws[1][7] = []float64{-1}
	if a, err := assess.Run(t.Context(), decaying(), assess.Settings{Draws: made, MadeBy: by(0.25)}); err == nil && !strings.Contains(a.Answer(), "k = -1 is not inside the support") {
		t.Errorf("a draw outside the support: %s", a.Answer())
	}
}

// Draws that lack one of two modes do not stand for the posterior, and the answer says so.
func TestGivenDrawsWithoutMode(t *testing.T) {
	p := decaying()
	x := p.Experiments[0].Problem
	x.F = func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * th[0] * x[0] }
	p.Params[0].Prior = distuv.Normal{Sigma: 1}
	var one mcmc.Chains
	one.Names, one.Draws = []string{"k"}, make([][][]float64, 2)
	all := quantilesOf(400, func(k, t float64) float64 { return math.Exp(-k * t) })
	for i := range all {
		one.Draws[i%2] = append(one.Draws[i%2], []float64{math.Sqrt(all[i*87%len(all)])})
	}
	fine := probode.Setup{Method: adams.Moulton{Steps: 1}, Mesh: probode.Uniform(0.05)}
	for _, s := range []assess.Settings{{Candidates: []probode.Setup{fine}}, {MadeBy: fine}} {
		s.Draws = &one
		a, err := assess.Run(t.Context(), p, s)
		if err != nil {
			t.Fatal(err)
		}
		if x := a.Candidates[0]; x.Verdict != assess.Undecided || !strings.Contains(a.Answer(), "do not enter") {
			t.Errorf("%v: %v, %s", s.MadeBy, x.Verdict, a.Answer())
		}
	}
}
