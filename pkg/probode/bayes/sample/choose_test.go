package sample_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/probode/reference"
)

// decays are d independent decays x′ = −kx from 1, each with its own rate and two data.
func decays(d int) *bayes.Posterior {
	p := &bayes.Posterior{Setup: catalog.Default()}
	for i := range d {
		name := fmt.Sprintf("k%d", i+1)
		p.Params = append(p.Params, bayes.Param{Name: name, Prior: distuv.LogNormal{Mu: 0, Sigma: 0.5}})
		p.Experiments = append(p.Experiments, bayes.Experiment{
			Problem: &probode.Problem{Name: "decay", X0: []float64{1}, Theta: []float64{1}, Params: []string{name}, Span: [2]float64{0, 1}, Autonomous: true,
				F:      func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
				FTheta: func(dst []float64, _ float64, x, _ []float64) { dst[0] = -x[0] },
			},
			Data:   &bayes.Data{T: []float64{0.5, 1}, Y: [][]float64{{0.5 + 0.02*float64(i)}, {0.3 + 0.02*float64(i)}}},
			Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.1)}},
		})
	}
	return p
}

// The rule is by the number of parameters and by derivatives alone. With sixteen parameters
// the means of the draws are those of quadrature of the exact solution: sixteen numbers
// within 4.4 standard errors, a false alarm in 2e-4. A resumed run makes the same choice.
func TestChoose(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	ctx, s := context.Background(), mcmc.Settings{Chains: 4, Draws: 150, Seed: 1}
	rough := decays(16).SolvedBy(probode.Setup{Mesh: reference.Accurate{}})
	for why, p := range map[string]*bayes.Posterior{
		"Sampler: tempering (2 parameters). Solver: auto, rtol = 1e-06.":                                                                                                          decays(2),
		"Sampler: nuts (16 parameters). Solver: auto, rtol = 1e-06. The search for modes began only at the medians of the priors, and may miss other modes.":                      decays(16),
		"Sampler: deterministic (16 parameters). Solver: reference with tolerance 1e-10. The search for modes began only at the medians of the priors, and may miss other modes.": rough,
	} {
		plan, err := sample.Choose(ctx, p, nil, s)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Why != why {
			t.Errorf("the reason is %q, want %q", plan.Why, why)
		}
		if again, err := sample.Choose(ctx, p, nil, s); err != nil || again.Why != why || !slices.Equal(again.Posterior.Modes.Highest().U, plan.Posterior.Modes.Highest().U) {
			t.Errorf("the second choice is %v, %v", again, err)
		}
		if _, ok := plan.Sampler.(sample.NUTS); !ok {
			continue
		}
		chains, err := sample.Run(ctx, plan.Posterior, plan.Sampler, s)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Params {
			var sum, first float64
			y := p.Experiments[i].Data.Y
			for u := -4.; u < 3; u += 0.001 { // u = log k; its prior is N(0, ½)
				k := math.Exp(u)
				a, b := y[0][0]-math.Exp(-k/2), y[1][0]-math.Exp(-k)
				w := math.Exp(-2*u*u - 50*(a*a+b*b))
				sum, first = sum+w, first+w*k
			}
			x := chains.Parameter(i)
			mean, se := stat.Mean(slices.Concat(x...), nil), diag.MCSEMean(x)
			if z := (mean - first/sum) / se; !(math.Abs(z) < 4.4) {
				t.Errorf("the mean of k%d is %.4f, want %.4f: %.1f standard errors", i+1, mean, first/sum, z)
			}
		}
	}
}

// Given starts are where the search for modes begins, and they lead to the same mode.
func TestChooseFrom(t *testing.T) {
	p := decays(3)
	var tops [][]float64
	for _, from := range [][][]float64{nil, {{3, 3, 3}, {0.2, 0.2, 0.2}}} {
		plan, err := sample.Choose(context.Background(), p, from, mcmc.Settings{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if only := strings.Contains(plan.Why, "began only at the given starts"); only != (from != nil) {
			t.Errorf("from %v: the reason is %q", from, plan.Why)
		}
		tops = append(tops, plan.Posterior.Modes.Highest().U)
	}
	if d := floats.Distance(tops[0], tops[1], math.Inf(1)); d > 1e-4 {
		t.Errorf("the modes are %v", tops)
	}
}

// drawn returns draws in each of four chains by the sampler that Choose recommends.
func drawn(t *testing.T, p *bayes.Posterior, draws int) *mcmc.Chains {
	t.Helper()
	s := mcmc.Settings{Chains: 4, Draws: draws, Seed: 1}
	plan, err := sample.Choose(context.Background(), p, nil, s)
	if err != nil {
		t.Fatal(err)
	}
	chains, err := sample.Run(context.Background(), plan.Posterior, plan.Sampler, s)
	if err != nil {
		t.Fatal(err)
	}
	return chains
}

// share replaces each draw by 1 if it is in a set, and by 0 otherwise.
func share(draws [][]float64, in func(x float64) bool) [][]float64 {
	for _, x := range draws {
		for i, v := range x {
			if x[i] = 0; in(v) {
				x[i] = 1
			}
		}
	}
	return draws
}

// After a few half-lives nothing is left, however large k is, so large values of k are only
// three standard deviations of the data away, and the half-Cauchy prior falls slowly. The
// share of draws with k > 8 has the value that quadrature gives to within 4 standard errors: a
// false alarm in 6e-5.
func TestChooseHeavyTail(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := decays(2)
	p.Params[0].Prior = bayes.Truncated{Of: distuv.StudentsT{Mu: 0, Sigma: 2, Nu: 1}, Min: 0, Max: math.Inf(1)}
	p.Experiments[0].Data.Y = [][]float64{{0.15}, {0.02}}
	p.Experiments[0].Errors = []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.05)}}
	chains := drawn(t, p, 250)
	var sum, far float64
	for u := -6.; u < 16; u += 0.001 { // u = log k
		k := math.Exp(u)
		a, b := 0.15-math.Exp(-k/2), 0.02-math.Exp(-k)
		w := k / (1 + k*k/4) * math.Exp(-200*(a*a+b*b))
		if sum += w; k > 8 {
			far += w
		}
	}
	beyond := share(chains.Parameter(0), func(k float64) bool { return k > 8 })
	mean, se := stat.Mean(slices.Concat(beyond...), nil), diag.MCSEMean(beyond)
	if z := (mean - far/sum) / se; !(math.Abs(z) < 4) {
		t.Errorf("the share of k1 above 8 is %.4f, want %.4f: %.1f standard errors", mean, far/sum, z)
	}
}

// No search for modes sees a plateau. Here the likelihood is a narrow peak, which is nearly
// Gaussian, on a plateau whose height is e⁻⁶ times that of the peak. Because it is wide, the
// plateau holds the share of the mass that quadrature gives. The share and the mean of the second parameter are within 4
// standard errors: a false alarm in 1.3e-4.
func TestChooseTempering(t *testing.T) {
	const height = 3.5 // of the plateau above the peak, in standard deviations of the datum
	value := func(a float64) float64 { return height * math.Tanh(20*a/height) }
	p := &bayes.Posterior{Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(1)}}
	p.Params = []bayes.Param{{Name: "a", Prior: distuv.Uniform{Min: -10, Max: 10}}, {Name: "b", Prior: distuv.Normal{Mu: 1, Sigma: 0.5}}}
	p.Experiments = []bayes.Experiment{{
		Problem: &probode.Problem{Name: "constant", X0: []float64{0}, Theta: []float64{0, 1}, Params: []string{"a", "b"}, Span: [2]float64{0, 1}, Autonomous: true,
			F:      func(f []float64, _ float64, _, _ []float64) { f[0] = 0 },
			FTheta: func(dst []float64, _ float64, _, _ []float64) { clear(dst) }},
		Data:    &bayes.Data{T: []float64{1}, Y: [][]float64{{0, 0.7}}},
		Observe: func(dst []float64, _ float64, _, th []float64) { dst[0], dst[1] = value(th[0]), th[1] },
		Errors:  []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(1)}, bayes.Gaussian{Sigma: bayes.Known(0.5)}},
	}}
	chains := drawn(t, p, 500)
	var sum, plateau float64
	for a := -10.; a < 10; a += 1e-4 {
		w := math.Exp(-value(a) * value(a) / 2)
		if sum += w; math.Abs(a) > 0.5 {
			plateau += w
		}
	}
	far := share(chains.Parameter(0), func(a float64) bool { return math.Abs(a) > 0.5 })
	for what, v := range map[string]struct {
		x    [][]float64
		want float64
	}{"the share of the plateau": {far, plateau / sum}, "the mean of b": {chains.Parameter(1), 0.85}} {
		mean, se := stat.Mean(slices.Concat(v.x...), nil), diag.MCSEMean(v.x)
		if z := (mean - v.want) / se; !(math.Abs(z) < 4) || !(se < 0.05) {
			t.Errorf("%s is %.4f ± %.4f, want %.4f", what, mean, se, v.want)
		}
	}
}

// The density rises up to the end of a prior's support, where the mode is. The chains start
// inside.
func TestChooseAtTheEdge(t *testing.T) {
	p := decays(1)
	p.Params[0].Prior = distuv.Uniform{Min: 0, Max: 0.01} // the data say that k is near 1
	s := mcmc.Settings{Chains: 2, Draws: 20, BurnIn: 100, Seed: 1}
	plan, err := sample.Choose(context.Background(), p, [][]float64{{0.005}}, s)
	if err != nil {
		t.Fatal(err)
	}
	chains, err := sample.Run(context.Background(), plan.Posterior, plan.Sampler, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range chains.Pooled() {
		if !(x[0] > 0 && x[0] < 0.01) {
			t.Errorf("a draw is %g, outside (0, 0.01)", x[0])
		}
	}
}
