package sample

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
)

// x′ = −k x + a exp(−((t − s)/0.05)²) with unknown k, a and s. If the steps of
// Dormand–Prince are chosen at the mode, they are too long for pulses at most other times s,
// so that large a become likely there: the posterior has draws at which the solver
// misses the pulse. The certificate at the mode does not see that, and a short run
// does. RK4 with steps of 0.02 resolves every pulse.
func TestPilotFindsMissedPulses(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{
				{Name: "k", Prior: distuv.Uniform{Min: 0.01, Max: 5}},
				{Name: "a", Prior: distuv.Uniform{Min: 0.1, Max: 50}},
				{Name: "s", Prior: distuv.Uniform{Min: 0.5, Max: 6}},
			},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "pulse", X0: []float64{1}, Theta: []float64{0.5, 7, 3}, Span: [2]float64{0, 8}, Params: []string{"k", "a", "s"},
					F: func(f []float64, t float64, x, th []float64) {
						f[0] = th[1]*math.Exp(-math.Pow((t-th[2])/0.05, 2)) - th[0]*x[0]
					}},
				Data:   &bayes.Data{T: []float64{0, 1, 2, 3, 4, 5, 6, 8}, Y: [][]float64{{1.1}, {0.61}, {0.37}, {0.45}, {0.47}, {0.3}, {0.2}, {0.05}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.1)}},
			}},
		},
	}
	ctx := context.Background()
	var err error
	p.Setup = probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.02)}
	if p.Modes, err = modes.Find(ctx, p, modes.Settings{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	if why, err := pilot(ctx, p, Tempering{}, mcmc.Settings{Seed: 1}); why != "" || err != nil {
		t.Errorf("steps of 0.02: %q, %v", why, err)
	}
	coarse := p.SolvedBy(probode.Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-4}}})
	coarse.Modes, coarse.GridAt = p.Modes, p.Modes.Highest().Theta
	if why, err := pilot(ctx, coarse, Tempering{}, mcmc.Settings{Seed: 1}); !strings.Contains(why, "short run") || err != nil {
		t.Errorf("steps chosen at the mode: %q, %v", why, err)
	}
}

// An event sets x′ = 1 − a x back to 0.2 at the unknown time b. If the grid is chosen at the
// mode, b ≈ 1, it cannot be stretched to b > 5.2, after the last observation, where the
// posterior has 3.4 % of its mass (by the trapezoidal rule), or 3.6 % of the mass at b < 2.1.
// The share of 400 draws from the prior that count has a standard error of about a fifth.
func TestMassWhereTheSolverFails(t *testing.T) {
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "a", Prior: distuv.Uniform{Min: 0.05, Max: 3}}, {Name: "b", Prior: distuv.Uniform{Min: 0, Max: 6}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "reset", X0: []float64{0.5}, Theta: []float64{0.8, 1}, Span: [2]float64{0, 5.2}, Params: []string{"a", "b"}, Autonomous: true,
					F: func(f []float64, _ float64, x, th []float64) { f[0] = 1 - th[0]*x[0] },
					Events: []probode.Event{{When: func(th []float64) float64 { return th[1] }, SeenAfter: true,
						Jump: func(x []float64, _ float64, _ []float64) { x[0] = 0.2 }}}},
				Data:   &bayes.Data{T: []float64{2.1, 2.7, 5.2}, Y: [][]float64{{0.705}, {1.095}, {1.164}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.1)}},
			}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}}},
	}
	ctx := context.Background()
	var err error
	if p.Modes, err = modes.Find(ctx, p, modes.Settings{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	if why, err := fails(ctx, p, 1); why != "" || err != nil {
		t.Errorf("steps chosen for every θ: %q, %v", why, err)
	}
	q := p.SolvedBy(probode.Setup{Method: p.Method, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 0.1}}})
	q.Modes, q.GridAt = p.Modes, p.Modes.Highest().Theta
	for seed := range uint64(5) {
		why, err := fails(ctx, q, seed)
		var share float64
		if n, _ := fmt.Sscanf(why, "the solver fails in a region that contains about %g times", &share); n != 1 || share < 0.01 || share > 0.09 || err != nil {
			t.Errorf("steps chosen at the mode: %q, %v: want a share near 0.036", why, err)
		}
	}
}

// Steps chosen at a = 0.7 are too long for a = 6. Only 2 % of the draws have this value, and
// none of them is among the 40 that are spread evenly over the chains, but their local
// errors are the largest.
func TestLargestLocalErrorsAreCompared(t *testing.T) {
	const sd = 0.4
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "a", Prior: distuv.Uniform{Min: 0.05, Max: 20}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "dose", X0: []float64{0.5}, Theta: []float64{0.7}, Span: [2]float64{0, 6}, Params: []string{"a"}, Autonomous: true,
					F:      func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
					Events: []probode.Event{{Time: 1.5, Jump: func(x []float64, _ float64, _ []float64) { x[0]++ }}}},
				Data:   &bayes.Data{T: []float64{2, 6}, Y: [][]float64{{0.5}, {0.1}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(sd)}},
			}},
		},
		Setup:  probode.Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 0.1}}},
		GridAt: []float64{0.7},
	}
	draws := make([][]float64, 1000)
	for i := range draws {
		if draws[i] = []float64{0.7}; i%50 == 9 {
			draws[i][0] = 6
		}
	}
	worst, failed, n, err := errorAt(context.Background(), p, draws, 40)
	if !(worst > 0.1) || failed != 0 || n != 45 || err != nil {
		t.Errorf("error of up to %g at %d draws, %d failures, %v: want above 0.1 at 45, without failures", worst, n, failed, err)
	}
	if worst, _, _, err := errorAt(context.Background(), p, evenly(draws, 40), 40); !(worst < 0.01) || err != nil {
		t.Errorf("error of up to %g at the other draws, %v: want below 0.01", worst, err)
	}
}

// The solution of x′ = k x² from x = 1 ends at t = 1/k, so with an observation at t = 2 the
// posterior has no mass at k ≥ ½. Steps chosen at the mode pass over the end if k is a
// little above ½, and find a finite state. Draws at which only an accurate solver fails
// are not evidence that the solver is accurate.
func TestDrawsWithoutAnAccurateSolution(t *testing.T) {
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "k", Prior: distuv.Uniform{Min: 0.01, Max: 1}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "growth", X0: []float64{1}, Theta: []float64{0.3}, Span: [2]float64{0, 2}, Params: []string{"k"}, Autonomous: true,
					F: func(f []float64, _ float64, x, th []float64) { f[0] = th[0] * x[0] * x[0] }},
				Data:   &bayes.Data{T: []float64{2}, Y: [][]float64{{100}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(1e6)}},
			}},
		},
		Setup:  probode.Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 0.1}}},
		GridAt: []float64{0.3},
	}
	ctx := context.Background()
	var err error
	if p.Modes, err = modes.Find(ctx, p, modes.Settings{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	if why, err := pilot(ctx, p, Deterministic{}, mcmc.Settings{Seed: 1}); !strings.Contains(why, "cannot solve the equations") || err != nil {
		t.Errorf("a short run: %q, %v", why, err)
	}
	plan := &Plan{Posterior: p, Sampler: Deterministic{}}
	for k, want := range map[float64]string{0.4: "at most", 0.51: "caution: an accurate solver cannot solve the equations at 1 of the 2 draws"} {
		chains := &mcmc.Chains{Names: []string{"k"}, Draws: [][][]float64{{{0.4}, {k}}}}
		if said, err := plan.Check(ctx, chains); !strings.Contains(said, want) || err != nil {
			t.Errorf("k = %g: %q, %v: want %q", k, said, err, want)
		}
	}
}
