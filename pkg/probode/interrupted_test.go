package probode_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/internal/progress"
	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/bayes/marginal"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/bayes/sbc"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/filter"
	"github.com/probode/probode/pkg/probode/matching"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/store"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/model"
	"github.com/probode/probode/pkg/probode/reference"
	"github.com/probode/probode/pkg/probode/steplaw"
)

var interruptions = flag.Int("interruptions", 50, "number of moments at which TestInterrupted cancels each computation")

// decayPosterior is x′ = b − a x, observed four times.
func decayPosterior(mesh Mesh) *bayes.Posterior {
	p := &Problem{Name: "decay", Params: []string{"a", "b"}, X0: []float64{2}, Theta: []float64{1, 0.5}, Span: [2]float64{0, 2},
		F: func(f []float64, _ float64, x, th []float64) { f[0] = th[1] - th[0]*x[0] },
		FJ: func(f, j []float64, _ float64, x, th []float64) {
			f[0], j[0] = th[1]-th[0]*x[0], -th[0]
		},
		FTheta: func(d []float64, _ float64, x, _ []float64) { d[0], d[1] = -x[0], 1 }}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "a", Prior: distuv.LogNormal{Sigma: 0.5}}, {Name: "b", Prior: distuv.LogNormal{Mu: -0.7, Sigma: 0.5}}},
			Experiments: []bayes.Experiment{{Problem: p,
				Data:   &bayes.Data{T: []float64{0.5, 1, 1.5, 2}, Y: [][]float64{{1.45}, {1.02}, {0.8}, {0.73}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.1)}}}}},
		Setup: Setup{Method: methods.RungeKutta{}, Mesh: mesh, Alpha: 0.1},
	}
}

// decayFile is the same model as a file.
const decayFile = `name: decay
parameters:
  - {parameterId: a, nominalValue: 1, lowerBound: 0.1, upperBound: 10}
  - {parameterId: b, nominalValue: 0.5, lowerBound: 0.1, upperBound: 10}
odes:
  - {stateId: x, rightHandSide: b - a * x, initialValue: 2}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: 0.1}
data: |
  time,y
  0.5,1.45
  1,1.02
  1.5,0.8
  2,0.73
`

// A computation returns a description of its result.
type computation struct {
	name string
	run  func(ctx context.Context) (fmt.Stringer, error)
}

// said describes a result.
type said string

func (s said) String() string { return string(s) }

func say(v ...any) fmt.Stringer { return said(fmt.Sprint(v...)) }

func computations(t *testing.T) (list []computation) {
	add := func(name string, run func(ctx context.Context) (fmt.Stringer, error)) {
		list = append(list, computation{name, run})
	}
	ctx := t.Context()
	p := decayPosterior(Uniform(0.5))
	adaptive := decayPosterior(Adaptive{Tolerance: Tolerance{Relative: 1e-3}})
	adaptive.Alpha = 0
	accurate := decayPosterior(reference.Accurate{})
	accurate.Method, accurate.Alpha = nil, 0
	problem := p.Experiments[0].Problem
	known, err := modes.Find(ctx, p, modes.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	start := func(int, *rand.Rand) []float64 { return []float64{1, 0.5} }
	short := mcmc.Settings{Chains: 2, Draws: 10, BurnIn: 10, Seed: 1}
	draws, err := sample.Run(ctx, p, sample.Deterministic{}, mcmc.Settings{Chains: 2, Draws: 60, BurnIn: 200, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}

	add("Integrate", func(ctx context.Context) (fmt.Stringer, error) {
		e, err := Integrate(ctx, problem, methods.RungeKutta{}, 100, Settings{StepSize: 0.5, Alpha: 0.1, Seed: 1})
		if err != nil {
			return nil, err
		}
		return say(e.N, e.Failed, e.Mean), nil
	})
	add("reference.Solve", func(ctx context.Context) (fmt.Stringer, error) {
		s, err := reference.Solve(ctx, problem, []float64{1, 2}, reference.Settings{})
		if err != nil {
			return nil, err
		}
		return say(s.X), nil
	})
	add("filter.Solve", func(ctx context.Context) (fmt.Stringer, error) {
		s, err := filter.Solve(ctx, problem, filter.Settings{EK: filter.EK{Q: 2}, Mesh: Uniform(0.02)})
		if err != nil {
			return nil, err
		}
		return say(s.Mean), nil
	})
	add("steplaw.Exact.Draw", func(ctx context.Context) (fmt.Stringer, error) {
		s, err := steplaw.Exact{Method: adams.Moulton{Linearize: adams.Current}, Sweeps: 5}.Draw(ctx, problem, 20, steplaw.Settings{Mesh: Uniform(0.5), Alpha: 0.1, Seed: 1})
		if err != nil {
			return nil, err
		}
		return say(s.Mean), nil
	})
	add("calibrate.Run", func(ctx context.Context) (fmt.Stringer, error) {
		s, err := calibrate.Run(ctx, problem, methods.RungeKutta{}, calibrate.Settings{Mesh: Uniform(0.5), Paths: 40, Seed: 1})
		if err != nil {
			return nil, err
		}
		return say(s.Alpha), nil
	})
	add("calibrate.Score", func(ctx context.Context) (fmt.Stringer, error) {
		s, err := calibrate.Score(ctx, problem, methods.RungeKutta{}, []float64{0.1, 1}, calibrate.Settings{Mesh: Uniform(0.5), Paths: 40, Seed: 1})
		if err != nil {
			return nil, err
		}
		return say(s), nil
	})
	for name, q := range map[string]*bayes.Posterior{"equal steps": p, "adaptive steps": adaptive, "accurate": accurate} {
		add("modes.Find, "+name, func(ctx context.Context) (fmt.Stringer, error) {
			m, err := modes.Find(ctx, q, modes.Settings{Points: 20, Starts: 4, From: [][]float64{{1, 1}}})
			if err != nil {
				return nil, err
			}
			return say(m.Highest().Theta, m.Highest().Cov, m.Searches, m.Ends), nil
		})
	}
	add("modes.Calibrate", func(ctx context.Context) (fmt.Stringer, error) {
		_, c, err := modes.Calibrate(ctx, p, calibrate.Settings{Paths: 40, Seed: 1})
		if err != nil {
			return nil, err
		}
		return say(c.Alpha), nil
	})
	samplers := []sample.Sampler{sample.Deterministic{}, sample.NUTS{}, sample.Tempering{Temperatures: 3}, sample.PCNWithinGibbs{}, sample.Hamiltonian{},
		sample.PseudoMarginal{}, sample.PseudoMarginal{Particles: 5}, sample.PseudoMarginal{Particles: 4, Expected: true},
		sample.RedrawOnAccept{}}
	for _, s := range samplers {
		q := *p
		if !s.Algorithm().Target.Noisy() {
			q.Alpha = 0
		}
		for _, given := range []bool{false, true} {
			set := short
			name := fmt.Sprintf("sample.Run, %v", s)
			if given {
				set.Start = start
				name += " with starts"
			}
			add(name, func(ctx context.Context) (fmt.Stringer, error) {
				c, err := sample.Run(ctx, &q, s, set)
				if err != nil {
					return nil, err
				}
				return say(c.Draws, len(c.Notes)), nil
			})
		}
	}
	integrated := *p
	integrated.Method, integrated.Mesh, integrated.Alpha = filter.EK{Q: 2}, Through(0.5), 1
	add("sample.Run, fenrir", func(ctx context.Context) (fmt.Stringer, error) {
		c, err := sample.Run(ctx, &integrated, sample.Deterministic{Integral: marginal.Fenrir}, short)
		if err != nil {
			return nil, err
		}
		return say(c.Draws), nil
	})
	add("sample.Store", func(ctx context.Context) (fmt.Stringer, error) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			return nil, err
		}
		if err := sample.Store(ctx, p, sample.Deterministic{}, dir, short, store.Options{}); err != nil {
			return nil, err
		}
		c, err := store.Read(dir)
		if err != nil {
			return nil, err
		}
		return say(c.Draws), nil
	})
	for name, q := range map[string]*bayes.Posterior{"": adaptive, " from a point": accurate} {
		var from [][]float64
		if name != "" {
			from = [][]float64{{1, 1}}
		}
		add("sample.Choose"+name, func(ctx context.Context) (fmt.Stringer, error) {
			plan, err := sample.Choose(ctx, q, from, short)
			if err != nil {
				return nil, err
			}
			return say(plan.Why, plan.Posterior.Modes.Highest().Theta), nil
		})
	}
	add("sample.CheckSolver", func(ctx context.Context) (fmt.Stringer, error) { return sample.CheckSolver(ctx, p, draws, 0) })
	add("sample.Reweight", func(ctx context.Context) (fmt.Stringer, error) {
		c, err := sample.Reweight(ctx, p, draws, Setup{Mesh: reference.Accurate{}}, 0)
		if err != nil {
			return nil, err
		}
		return say(c.Generated), nil
	})
	add("sample.Compare", func(ctx context.Context) (fmt.Stringer, error) {
		c, err := sample.Compare(ctx, p, []sample.Sampler{sample.Deterministic{}, sample.PCNWithinGibbs{}}, short)
		if err != nil {
			return nil, err
		}
		return say(c[0].Chains.Draws, c[1].Chains.Draws), nil
	})
	add("sample.Measurement.More", func(ctx context.Context) (fmt.Stringer, error) {
		m, err := sample.Measure(ctx, p, sample.Deterministic{}, short)
		if err != nil {
			return nil, err
		}
		if m, err = m.More(ctx, 30); err != nil {
			return nil, err
		}
		return say(m.Chains.Draws), nil
	})
	add("certify.Run", func(ctx context.Context) (fmt.Stringer, error) {
		c, err := certify.Run(ctx, p, certify.Settings{})
		if err != nil {
			return nil, err
		}
		return say(c), nil
	})
	add("certify.Run at a point", func(ctx context.Context) (fmt.Stringer, error) {
		c, err := certify.Run(ctx, adaptive, certify.Settings{Modes: [][]float64{{1, 0.5}}})
		if err != nil {
			return nil, err
		}
		return say(c), nil
	})
	add("certify.LargestEnough", func(ctx context.Context) (fmt.Stringer, error) {
		c, err := certify.LargestEnough(ctx, adaptive, certify.EnoughSettings{Number: 5, Settings: certify.Settings{Modes: [][]float64{{1, 0.5}}}})
		if err != nil {
			return nil, err
		}
		return say(c.Found, c.At), nil
	})
	add("certify.LargestEnough with a search", func(ctx context.Context) (fmt.Stringer, error) {
		c, err := certify.LargestEnough(ctx, p, certify.EnoughSettings{Number: 5})
		if err != nil {
			return nil, err
		}
		return say(c.Found, c.At), nil
	})
	add("certify.NewProfile", func(ctx context.Context) (fmt.Stringer, error) {
		c, err := certify.NewProfile(ctx, p, []Setup{{Mesh: reference.Accurate{}}}, []float64{1, 0.5}, "a", 0.5, 2, 20)
		if err != nil {
			return nil, err
		}
		return say(c.LogLikelihood), nil
	})
	points := compare.Points{Posterior: p, Theta: draws.Pooled()[:8]}
	add("compare.Points.Differences", func(ctx context.Context) (fmt.Stringer, error) {
		c, err := points.Differences(ctx, p.Setup, Setup{Mesh: reference.Accurate{}})
		return say(c), err
	})
	add("compare.Points.Unseen", func(ctx context.Context) (fmt.Stringer, error) {
		c, err := points.Unseen(ctx, Setup{Mesh: reference.Accurate{}}, 1e-9)
		return say(c), err
	})
	add("compare.Points.Sufficient", func(ctx context.Context) (fmt.Stringer, error) {
		c, found, err := points.Sufficient(ctx, Setup{Mesh: reference.Accurate{}}, 1e-3)
		return say(c, found), err
	})
	for name, set := range map[string]assess.Settings{
		"tolerances": {Candidates: []Setup{{Mesh: Adaptive{Tolerance: Tolerance{Relative: 1e-2}}}, {Mesh: Adaptive{Tolerance: Tolerance{Relative: 1e-4}}}}, MaxDraws: 100},
		"noise":      {Candidates: []Setup{{Mesh: Uniform(0.5)}}, Noise: sample.Hamiltonian{}, MaxDraws: 200},
	} {
		set.Chains, set.Calibrate.Paths = mcmc.Settings{Chains: 2, Draws: 100, BurnIn: 100, Seed: 1}, 20
		set.Accurate = Setup{Method: methods.RungeKutta{}, Mesh: Uniform(0.05)}
		q := *p
		q.Alpha = 0
		add("assess.Run, "+name, func(ctx context.Context) (fmt.Stringer, error) {
			a, err := assess.Run(ctx, &q, set)
			if err != nil {
				return nil, err
			}
			return say(a.Answer(), a.Claims), nil
		})
	}
	two := &bayes.Modes{Modes: []*bayes.Mode{known.Modes[0], known.Modes[0]}}
	add("assess.ModeTable", func(ctx context.Context) (fmt.Stringer, error) {
		table, err := assess.ModeTable(ctx, p, two, draws, Setup{Mesh: reference.Accurate{}})
		return say(table), err
	})
	add("sbc.Run", func(ctx context.Context) (fmt.Stringer, error) {
		r, err := sbc.Run(ctx, p, sample.Deterministic{}, sbc.Settings{Sets: 4, Ranks: 3, BurnIn: 50, Seed: 1})
		if err != nil {
			return nil, err
		}
		return say(r.Ranks), nil
	})
	add("modes.Find, fenrir", func(ctx context.Context) (fmt.Stringer, error) {
		q := integrated
		q.Integral = marginal.Fenrir
		m, err := modes.Find(ctx, &q, modes.Settings{Points: 20, Starts: 4})
		if err != nil {
			return nil, err
		}
		return say(m.Highest().Theta), nil
	})
	add("matching.Smooth", func(ctx context.Context) (fmt.Stringer, error) {
		s, err := matching.Smooth(ctx, p.Model, matching.SmoothSettings{Lambda: 100})
		if err != nil {
			return nil, err
		}
		return say(s.Theta), nil
	})
	matched, err := matching.GaussianProcess(p.Model, matching.Settings{Kernels: []matching.Kernel{{Mean: 0.8, SD: 1, Length: 2}}, Mismatch: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	add("matching.Sample", func(ctx context.Context) (fmt.Stringer, error) {
		c, err := matching.Sample(ctx, matched, short)
		if err != nil {
			return nil, err
		}
		return say(c.Draws), nil
	})
	add("bayes.Predict", func(ctx context.Context) (fmt.Stringer, error) {
		r, err := bayes.Predict(ctx, p, draws, []float64{1, 2}, 1)
		if err != nil {
			return nil, err
		}
		return say(r[0]), nil
	})
	add("bayes.PredictPrior", func(ctx context.Context) (fmt.Stringer, error) {
		r, theta, failed, err := bayes.PredictPrior(ctx, p, 30, []float64{1, 2}, 1)
		if err != nil {
			return nil, err
		}
		return say(r[0], theta, failed), nil
	})
	add("bayes.Simulate", func(ctx context.Context) (fmt.Stringer, error) {
		q, theta, ll, err := bayes.Simulate(ctx, p, true, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			return nil, err
		}
		return say(q.Experiments[0].Data.Y, theta, ll), nil
	})
	add("bayes.CalibrateAlpha", func(ctx context.Context) (fmt.Stringer, error) {
		c, err := bayes.CalibrateAlpha(ctx, p, []float64{1, 0.5}, calibrate.Settings{Paths: 40, Seed: 1})
		if err != nil {
			return nil, err
		}
		return say(c.Alpha, c.Warnings), nil
	})
	path := filepath.Join(t.TempDir(), "decay.yaml")
	if err := os.WriteFile(path, []byte(decayFile), 0o666); err != nil {
		t.Fatal(err)
	}
	file, err := model.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	fit := model.FitSettings{Starts: 3, Seed: 1}
	ends, err := file.Fit(ctx, fit)
	if err != nil {
		t.Fatal(err)
	}
	add("model.Fit", func(ctx context.Context) (fmt.Stringer, error) {
		r, err := file.Fit(ctx, fit)
		if err != nil {
			return nil, err
		}
		return say(r), nil
	})
	add("model.Profiles", func(ctx context.Context) (fmt.Stringer, error) {
		r, err := file.Profiles(ctx, ends, 0.95, fit)
		if err != nil {
			return nil, err
		}
		return say(r.ByName), nil
	})
	add("model.Curves", func(ctx context.Context) (fmt.Stringer, error) {
		r, _, err := file.Curves(ctx, [][]float64{ends[0].Theta}, fit)
		if err != nil {
			return nil, err
		}
		return say(*r[0]), nil
	})
	add("model.LogLikelihood.At", func(ctx context.Context) (fmt.Stringer, error) {
		l, err := file.LogLikelihood(model.LikelihoodSettings{})
		if err != nil {
			return nil, err
		}
		v, err := l.At(ctx, ends[0].Theta, true)
		if err != nil {
			return nil, err
		}
		return say(v.LogLikelihood, v.Gradient), nil
	})
	add("model.Losses", func(ctx context.Context) (fmt.Stringer, error) {
		v, losses, err := file.Losses(ctx, ends[0].Theta, []model.LikelihoodSettings{{Tolerance: Tolerance{Relative: 1e-3}}, {Tolerance: Tolerance{Relative: 1e-5}}})
		if err != nil {
			return nil, err
		}
		return say(v.LogLikelihood, losses), nil
	})
	return list
}

// A watched context calls look() whenever a computation asks whether the context has ended.
type watched struct {
	context.Context
	look func()
}

func (w watched) Err() error {
	w.look()
	return w.Context.Err()
}

// A computation that is cancelled returns the error of the context, or its whole result,
// and begins nothing new. A step is one of the solver, or one look at the context. The
// context ends before the first step, and then during steps that are evenly spaced over
// the beginning of the computation, or, for every tenth, over all of it. The largest number
// of steps after the end was 400, since a spline looks at the context in each iteration. An
// iteration of a chain may go on for a tenth of a second, and on a busy machine other
// workers go on until they notice: this was 1.5 % of all steps once, and a fifth is
// allowed. The first iteration of a pseudo-marginal chain, which tunes the number of paths,
// has thousands of steps.
func TestInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, c := range computations(t) {
		t.Run(c.name, func(t *testing.T) {
			// run cancels the computation at the given step of the solvers.
			run := func(at int64) (result fmt.Stringer, steps int64, err error) {
				defer func() {
					if v := recover(); v != nil {
						t.Errorf("cancelled at step %d: panic: %v", at, v)
						err = context.Canceled
					}
				}()
				inner, cancel := context.WithCancel(t.Context())
				defer cancel()
				var n atomic.Int64
				look := func() {
					if n.Add(1) == at {
						cancel()
					}
				}
				ctx := progress.Pausing(watched{inner, look}, look)
				ctx = progress.With(ctx, func(string) progress.Hook { return func(int, int, string) {} })
				if at == 0 {
					cancel()
				}
				result, err = c.run(ctx)
				return result, n.Load(), err
			}
			whole, steps, err := run(math.MaxInt64)
			if err != nil {
				t.Fatal(err)
			}
			stopped, most, after := 0, int64(0), 1000+steps/5
			n := int64(*interruptions)
			for i := range n {
				at := min(steps, 4000*n) * i / n
				if i%10 == 9 {
					at = steps * i / n
				}
				result, looks, err := run(at)
				most = max(most, looks-at)
				switch {
				case err == nil && result.String() != whole.String():
					t.Errorf("cancelled at step %d of %d: half a result without an error:\n%.400v\nwant\n%.400v", at, steps, result, whole)
				case err != nil && !errors.Is(err, context.Canceled):
					t.Errorf("cancelled at step %d of %d: error %v", at, steps, err)
				case err != nil && looks-at > after && !strings.Contains(c.name, "pseudo-marginal"):
					t.Errorf("cancelled at step %d of %d: another %d steps: want at most %d", at, steps, looks-at, after)
				case err != nil:
					stopped++
				}
			}
			t.Logf("%d steps, %d of %d stopped, most after %d", steps, stopped, *interruptions, most)
		})
	}
}
