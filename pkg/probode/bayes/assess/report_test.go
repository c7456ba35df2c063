package assess

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// assessed returns an assessment of two steps and the parameters a and b, with runs
// that have mixed and are clear in their verdicts: at the larger step a is off by
// one standard deviation in the deterministic run, and b by half of one in the
// other.
func assessed() *assessment {
	run := func(sampler string, a, b float64) *Inference {
		inf := &Inference{Sampler: sampler, Chains: 4, Draws: 1000}
		for i, mean := range []float64{a, b} {
			inf.Summary = append(inf.Summary, diag.Marginal{Name: string(rune('a' + i)), Mean: mean, SD: 1, MCSE: 0.01, MCSESD: 0.01, RHat: 1, BulkESS: 4000, TailESS: 4000})
		}
		return inf
	}
	nan := math.NaN()
	out := &Report{
		Method: "AB2", Order: 2, Threshold: 0.1, ReferenceBy: "draws", Looks: 1,
		Params: []Parameter{{Name: "a", SD: 1, MeanSE: 0.01, SDSE: 0.01}, {Name: "b", SD: 1, MeanSE: 0.01, SDSE: 0.01}},
		Steps: []Step{
			{StepSize: 0.5, Exact: true, Error: 0.01, Order: nan, Alpha: 2, AlphaStar: 2, AlphaSE: 0.1, KHat: 1, Deterministic: run("deterministic", 1, 0), Probabilistic: run("pcn", 0.2, -0.5)},
			{StepSize: 0.25, Exact: true, Error: 0.01, Order: nan, Alpha: 2, AlphaStar: 2, AlphaSE: 0.1, KHat: 1, Deterministic: run("deterministic", 0, 0)},
		},
	}
	p := &bayes.Posterior{Setup: probode.Setup{Method: adams.Bashforth{Steps: 2}, Mesh: probode.Uniform(0.25)}}
	s := &sampling{plan: &plan{p: p, ladder: out.Steps, assessed: []int{0, 1}}, work: &work{}, modes: &found{steps: make([]pairing, 2)}, quantities: quantities([]int{0, 1}, nil)}
	a := &assessment{sampling: s, out: out, runs: make([]*draws, 2), noisy: []*estimated{{summed: out.Steps[0].Probabilistic}, nil}}
	for i := range out.Steps {
		a.runs[i] = &draws{p: p, estimated: estimated{summed: out.Steps[i].Deterministic}}
	}
	exact := moments{sd: 1, meanSE: 0.01, logSE: 0.01, sound: true}
	a.y = &yardstick{measures: make([]measure, 2), exact: []moments{exact, exact}, source: a.runs[1]}
	return a
}

func TestAnswerNamesTheWorstOfEither(t *testing.T) {
	a := assessed()
	a.conclude()
	if got, want := a.out.Answer(), "With noise in the model (α = 2) a is off by +0.200 ± 0.014 sd, and its sd is 1.000 ± 0.014 of the accurate one; the worst parameter is b, off by -0.500 ± 0.015 sd.\n"; !strings.HasSuffix(got, want) {
		t.Errorf("answer %q, want at its end %q", got, want)
	}
	a.out.Steps[0].Probabilistic.Summary[1].SD = 2
	a.conclude()
	if got, want := a.out.Answer(), "; the worst parameter is b, with an sd of 2.000 ± 0.022 of the accurate one.\n"; !strings.HasSuffix(got, want) {
		t.Errorf("answer %q, want at its end %q", got, want)
	}
	a.out.Steps[0].Probabilistic.Summary[0].Mean = 5
	a.conclude()
	if got := a.out.Answer(); strings.Contains(got, "the worst") {
		t.Errorf("both are worst in a: answer %q", got)
	}
	if a.out.Warnings != nil {
		t.Errorf("warnings %q", a.out.Warnings)
	}
}

// Chains that have not mixed leave the accurate posterior unknown, be they those
// of the smallest step or ones made for the purpose.
func TestNoVerdictWithoutAccurateChains(t *testing.T) {
	for _, own := range []bool{true, false} {
		a := assessed()
		if !own {
			copied := *a.y.source.summed
			copied.Summary = slices.Clone(copied.Summary)
			a.y.source = &draws{estimated: estimated{summed: &copied}, p: &bayes.Posterior{Setup: probode.Setup{Method: probode.RungeKutta{}, Mesh: probode.Uniform(0.1)}}}
		}
		a.y.source.summed.Summary[0].RHat, a.y.exact[0].sound = 1.2, false
		a.conclude()
		for i, st := range a.out.Steps {
			if v := st.Deterministic.Effects[0].Verdict; v != Undecided {
				t.Errorf("own chains %v, step %d: a is %v", own, i, v)
			}
			if v := st.Deterministic.Effects[1].Verdict; v != Negligible {
				t.Errorf("own chains %v, step %d: b is %v", own, i, v)
			}
		}
		all := strings.Join(a.out.Warnings, "\n")
		who := "the chains behind the accurate posterior, RK4 with h = 0.1: "
		if own {
			who = "deterministic, h = 0.25: "
		}
		if strings.Count(all, who) != 1 || strings.Count(all, "R̂ up to 1.200 (a)") != 1 || strings.Count(all, "no verdict is given on a:") != 1 {
			t.Errorf("own chains %v: warnings %q", own, a.out.Warnings)
		}
		if strings.Contains(a.out.Answer(), "the chains behind the accurate posterior have not mixed") == own {
			t.Errorf("own chains %v: answer %q", own, a.out.Answer())
		}
	}
}

func TestWarningsInWords(t *testing.T) {
	a := assessed()
	a.out.Steps[0].Exact = false
	a.out.Steps[0].AlphaWarnings = []string{"something of one calibration", "and of another"}
	a.conclude()
	for _, want := range []string{
		"with h = 0.5 some observations lie between grid points, where the path is a polynomial through 4 of them: its error falls like h^4, the method's like h^2,",
		"α* = 2 at h = 0.5: something of one calibration; and of another",
	} {
		if n := strings.Count(strings.Join(a.out.Warnings, "\n"), want); n != 1 {
			t.Errorf("%d times %q in %q", n, want, a.out.Warnings)
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
