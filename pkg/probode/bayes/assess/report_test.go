package assess

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/probode/methods"
)

// run returns the draws of a run that has mixed, of the parameters a and b with standard
// deviation 1.
func run(sampler string, a, b float64) *draws {
	d := &draws{summed: &Inference{Sampler: sampler, Chains: 4, Draws: 1000}, pair: &pairing{}, first: 1000, weights: [][]float64{{1}}, khat: math.NaN()}
	for i, mean := range []float64{a, b} {
		d.summed.Summary = append(d.summed.Summary, diag.Marginal{Name: string(rune('a' + i)), Mean: mean, SD: 1, RHat: 1, BulkESS: 4000, TailESS: 4000})
		d.sound, d.gaps = append(d.sound, true), append(d.gaps, false)
		for by := range measures {
			d.estimates[by] = append(d.estimates[by], CenterSpread{mean, 0.01, 1, 0.01})
		}
	}
	return d
}

// concluded returns an assessment of two steps and two parameters with runs that are clear
// in their verdicts: at the larger step a is off by one standard deviation in the
// deterministic run, and b by half of one in the other. change may change it before the
// verdict is reached.
func concluded(change func(*assessment)) *Report {
	p := &bayes.Posterior{Setup: probode.Setup{Method: adams.Bashforth{Steps: 2}, Mesh: probode.Uniform(0.25)}}
	pl := &plan{p: p, s: Settings{Threshold: 0.1}, assessed: []int{0, 1}}
	for _, name := range []string{"a", "b"} {
		p.Params = append(p.Params, bayes.Param{Name: name, Prior: distuv.Normal{Mu: 0, Sigma: 1}})
	}
	out := &Report{Method: "AB2", Order: 2, Threshold: 0.1, Confidence: 0.95, Looks: 1, Names: []string{"a", "b"}, Params: []AccurateMarginal{{Name: "a"}, {Name: "b"}}}
	for _, h := range []float64{0.5, 0.25} {
		pl.ladder = append(pl.ladder, level{Rung: Rung{StepSize: h}, setup: p.WithStepSize(h), exact: true})
		out.Steps = append(out.Steps, Rung{StepSize: h})
	}
	s := &sampling{plan: pl, work: &work{}, modes: &found{steps: make([]pairing, 2)}, quantities: quantities([]int{0, 1}, nil)}
	a := &assessment{sampling: s, out: out, looked: 1, runs: []*draws{run("deterministic", 1, 0), run("deterministic", 0, 0)}, noisy: []*draws{run("pcn", 0.2, -0.5), nil},
		paths: []float64{0.01, 0.0025}, scales: make([]scale, 2), own: referenceError{points: 1}}
	for i := range a.scales {
		a.scales[i] = scale{alpha: 2, star: &bayes.CalibratedAlpha{Alpha: 2, SE: 0.1}}
	}
	a.y = &standard{draws: run("deterministic", 0, 0), by: "draws", usable: true, worth: 1e5, heavy: make([]bool, 2), tails: make([]float64, 2)}
	a.y.accurate = a.y.estimates
	a.y.khat, a.y.limit = 0, 0.7
	a.y.p = &bayes.Posterior{Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.1)}}
	if change != nil {
		change(a)
	}
	for i := range out.Steps {
		out.Steps[i].Deterministic = a.runs[i].summed
		if d := a.noisy[i]; d != nil {
			out.Steps[i].Probabilistic = d.summed
		}
	}
	a.conclude()
	return out
}

func TestAnswerNamesTheWorstOfEither(t *testing.T) {
	a := concluded(nil)
	if got, want := a.Answer(), "With noise in the model (α = 2) the median of a is off by +0.200 ± 0.014, and its central interval is 1.000 ± 0.014 times as wide as in the reference posterior; the worst parameter is b, whose median is off by -0.500 ± 0.015.\n"; !strings.Contains(got, want) {
		t.Errorf("answer %q, want %q", got, want)
	}
	if a.Warnings() != nil {
		t.Errorf("warnings %q", a.Warnings())
	}
	a = concluded(func(a *assessment) { a.noisy[0].estimates[byQuantiles][1].Spread = 2 })
	if got, want := a.Answer(), "; the worst parameter is b, whose interval is 2.000 ± 0.022 times as wide as in the reference posterior.\n"; !strings.Contains(got, want) {
		t.Errorf("answer %q, want %q", got, want)
	}
	a = concluded(func(a *assessment) { a.noisy[0].estimates[byQuantiles][0].Center = 5 })
	if got := a.Answer(); strings.Contains(got, "the worst") {
		t.Errorf("both are worst in a: answer %q", got)
	}
}

// Chains that have not mixed leave the reference posterior unknown, be they those
// of the smallest step or ones made for the purpose.
func TestNoVerdictWithoutAccurateChains(t *testing.T) {
	for _, own := range []bool{true, false} {
		a := concluded(func(a *assessment) {
			if own {
				a.y.draws = a.runs[1]
				a.y.accurate = a.y.estimates
			}
			a.y.summed.Summary[0].RHat, a.y.sound[0] = 1.2, false
		})
		for i, st := range a.Steps {
			if v := st.Deterministic.Effects[0].Verdict; v != Undecided {
				t.Errorf("own chains %v, step %d: a is %v", own, i, v)
			}
			if v := st.Deterministic.Effects[1].Verdict; v != Negligible {
				t.Errorf("own chains %v, step %d: b is %v", own, i, v)
			}
		}
		all := strings.Join(a.Warnings(), "\n")
		who := "the chains of the reference posterior (solver: RK4, h = 0.1): "
		if own {
			who = "deterministic, h = 0.25: "
		}
		if strings.Count(all, who) != 1 || strings.Count(all, "R̂ up to 1.200 (a)") != 1 || strings.Count(all, "no verdict is given on a:") != 1 {
			t.Errorf("own chains %v: warnings %q", own, a.Warnings())
		}
		if strings.Contains(a.Answer(), "the chains of the reference posterior have not mixed") == own {
			t.Errorf("own chains %v: answer %q", own, a.Answer())
		}
	}
}

func TestWarningsInWords(t *testing.T) {
	a := concluded(func(a *assessment) {
		a.ladder[0].exact = false
		a.scales[0].warnings = []string{"something of one calibration", "and of another"}
	})
	for _, want := range []string{
		"with h = 0.5 some observations lie between grid points, so the solution is interpolated by a polynomial through 4 grid points. The assessment includes the error of this interpolation, which falls like h^4, and the error of the method, which falls like h^2.",
		"α* = 2 at h = 0.5: something of one calibration; and of another",
	} {
		if n := strings.Count(strings.Join(a.Warnings(), "\n"), want); n != 1 {
			t.Errorf("%d times %q in %q", n, want, a.Warnings())
		}
	}
}

// A callers is a Likelihood whose parameter is a weight and not an error's size,
// as far as this package knows.
type callers struct{ bayes.Gaussian }

// Only of the distributions of this package is it known which parameter is a size.
func TestSpreads(t *testing.T) {
	p := &bayes.Posterior{}
	for _, name := range []string{"gauss", "log", "nu", "scale", "scale3", "phi", "weight"} {
		p.Params = append(p.Params, bayes.Param{Name: name})
	}
	for _, l := range []bayes.Likelihood{
		bayes.Gaussian{Sigma: bayes.Unknown("gauss")}, bayes.LogNormal{Sigma: bayes.Unknown("log")}, bayes.StudentT{Nu: bayes.Unknown("nu"), Sigma: bayes.Unknown("scale")},
		bayes.StudentT{Nu: bayes.Known(3), Sigma: bayes.Unknown("scale3")}, bayes.NegativeBinomial{Phi: bayes.Unknown("phi")}, bayes.Poisson{}, callers{bayes.Gaussian{Sigma: bayes.Unknown("weight")}},
	} {
		p.Experiments = append(p.Experiments, bayes.Experiment{Data: &bayes.Data{T: []float64{1}, Y: [][]float64{{1}}}, Errors: []bayes.Likelihood{l}})
	}
	if got, want := fmt.Sprint(p.Spreads()), "map[gauss:1 log:1 nu:-1 phi:-1 scale:1 scale3:1]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The size of the worst effect lies between its limits, also if the largest effect is not
// among those that decide the verdict, because it has a large error.
func TestSpan(t *testing.T) {
	j := &judge{threshold: 0.1}
	inf := &Inference{Verdict: Matters, Effects: []Effect{
		{Median: Shift{Bias: 0.5, BiasSE: 0.05, Ratio: 1}, Verdict: Undecided},
		{Median: Shift{Bias: 0.25, BiasSE: 0.01, Ratio: 1}, Verdict: Matters},
		{Median: Shift{Bias: 0.01, BiasSE: 0.001, Ratio: 1}, Verdict: Negligible}}}
	least, most, size := j.span(inf)
	if !(least <= size && size <= most) || math.Abs(size-5) > 1e-9 {
		t.Errorf("size %g in [%g, %g]: want 5", size, least, most)
	}
}

// A run with noise does not pass because the shares of its draws in the modes are unknown: the
// mass of a phantom counts as it does for the run without noise.
func TestUnknownSharesAreNoPass(t *testing.T) {
	s := &sampling{modes: &found{reference: &bayes.Modes{}}}
	for mass, want := range map[float64]Verdict{0.001: Negligible, 0.01: Undecided, 0.1: Matters} {
		own := []ModeShare{{Gaussian: 1 - mass}, {Gaussian: mass, Phantom: true}}
		if v := s.verdictOnShares(&draws{pair: &pairing{own: own}}); v != want {
			t.Errorf("a phantom with the mass %g: %v, want %v", mass, v, want)
		}
	}
}
