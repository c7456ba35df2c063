package assess_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/probode/methods"
)

var coverageStudy = flag.Bool("coverage", false, "make the table of docs/measured-limits.md: half an hour")

// A reweighted is one row of the study: draws of a coarse solver, weighted to an
// accurate one, over and over with other seeds.
type reweighted struct {
	name          string
	method        probode.Method
	steps         []float64
	accurate      probode.Setup
	draws, burnIn int // of each of four chains
}

// What is accurate is a matter of definition here: the posterior of a solver that is
// different enough, and quick.
var reweightedModels = []reweighted{
	{"lynx-hare", adams.Moulton{Steps: 1}, []float64{1, 0.75, 0.5, 0.25}, probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.1)}, 1000, 1500},
	{"fitzhugh-nagumo", adams.Moulton{Steps: 1}, []float64{0.2, 0.1, 0.07, 0.05, 0.025}, probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.05)}, 1000, 1000},
	{"pk-mm", adams.Moulton{Steps: 1}, []float64{1.75, 1, 0.5, 0.25}, probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.125)}, 1000, 1000},
}

// covered counts in how many of the seeds the interval of 95 % of the mean, and of
// the standard deviation, of each parameter holds that of the reference posterior,
// known from a long run; and returns k̂ and the effective sample sizes.
func (r reweighted) covered(t *testing.T, h float64, draws, seeds int, truth diag.Summary) (mean, sd []int, khat, ess []float64) {
	t.Helper()
	p := r.posterior(t)
	p.Mesh, p.Method = probode.Uniform(h), r.method
	var err error
	if p.Modes, err = modes.Find(context.Background(), p, modes.Settings{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	mean, sd = make([]int, len(p.Params)), make([]int, len(p.Params))
	for seed := range uint64(seeds) {
		chains, err := sample.Run(context.Background(), p, sample.Reweighted{Accurate: r.accurate}, mcmc.Settings{Draws: draws, BurnIn: r.burnIn, Seed: 100 + seed})
		if err != nil {
			t.Fatal(err)
		}
		raw := *chains
		raw.LogWeights = nil
		least := math.Inf(1)
		for k, m := range chains.Summary() {
			if math.Abs(m.Mean-truth[k].Mean) <= 1.96*math.Hypot(m.MCSE, truth[k].MCSE) {
				mean[k]++
			}
			if math.Abs(m.SD-truth[k].SD) <= 1.96*math.Hypot(m.MCSESD, truth[k].MCSESD) {
				sd[k]++
			}
			least = math.Min(least, diag.BulkESS(raw.Parameter(k)))
		}
		khat, ess = append(khat, chains.KHat), append(ess, least)
	}
	slices.Sort(khat)
	return mean, sd, khat, ess
}

func (r reweighted) posterior(t *testing.T) *bayes.Posterior {
	t.Helper()
	c, err := cases.Named(r.name)
	if err != nil {
		t.Fatal(err)
	}
	return c.Posterior()
}

// truth is the reference posterior from a long run.
func (r reweighted) truth(t *testing.T, draws int) diag.Summary {
	t.Helper()
	p := r.posterior(t)
	p.Setup = r.accurate
	chains, err := sample.Run(context.Background(), p, sample.Deterministic{}, mcmc.Settings{Draws: draws, BurnIn: 3000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return chains.Summary()
}

// The study: one line for each model, step and length.
func TestReweightedCoverageStudy(t *testing.T) {
	if !*coverageStudy {
		t.Log("the study is made with -coverage")
		return
	}
	for _, r := range reweightedModels {
		truth := r.truth(t, 100000)
		for _, draws := range []int{250, 1000} {
			for _, h := range r.steps {
				mean, sd, khat, ess := r.covered(t, h, draws, 50, truth)
				size := stat.Mean(ess, nil)
				fmt.Fprintf(os.Stderr, "| %s | %g | %d | %.0f | %.2f (%.2f to %.2f) | %.2f | %s | %s |\n", r.name, h, 4*draws, size,
					khat[len(khat)/2], khat[2], khat[len(khat)-3], min(1-1/math.Log10(size), 0.7), ints(mean), ints(sd))
			}
		}
	}
}

func ints(x []int) string { return strings.Trim(fmt.Sprint(x), "[]") }

// In a quick form: twenty runs of the drug at h = 1, each worth some 240 effective
// draws. An interval that holds in 92 % of runs holds in fewer than 14 of 20 with a
// probability of 4e-4, for each of four numbers.
func TestReweightedErrorsHold(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := reweightedModels[2]
	mean, sd, khat, _ := r.covered(t, 1, 1000, 20, r.truth(t, 20000))
	t.Logf("of 20: means %v, sds %v, k̂ up to %.2f", mean, sd, khat[len(khat)-1])
	if least := min(slices.Min(mean), slices.Min(sd)); least < 14 {
		t.Errorf("intervals of 95 %% hold in %v (means) and %v (sds) of 20 runs", mean, sd)
	}
}
