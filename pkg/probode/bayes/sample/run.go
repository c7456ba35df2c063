package sample

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"gonum.org/v1/gonum/stat"
)

// Run draws from p with the given sampler. Moves are made on an unconstrained scale,
// except for parameters whose field Natural is true. The proposals are adapted to the
// shape of the posterior during burn-in only. Draws are on the natural scale, in the
// order of p.Params. For each draw, Chains.Generated holds the quantities
//
//	lp__         log posterior density on the unconstrained scale, up to a constant
//	y_hat.1, …   the expected value of each observation, by experiment, row and column
//	log_lik.1, … the log probability of each observation that is not missing
//
// If s.Start is nil, the chains start around the modes of the deterministic posterior, or
// at draws from the prior if no mode is found. A note in Chains.Notes says where the
// chains start. To start at draws from the prior even if modes can be found, let s.Start
// call Posterior.DrawPrior. If s.BurnIn is zero, the burn-in has 1000 iterations plus 250
// for each parameter, unless the sampler has its own number. s.Names is ignored: the parameters
// have the names in p. A move to a θ at which the equations cannot be solved is rejected
// and counted as failed.
//
// Two samplers with the same seed use the same starting points and, in each chain, the
// same random numbers for proposing and accepting moves of θ. The random numbers for ξ
// come from a separate stream.
//
// Run returns an error if p is invalid, if no chain can start, if ctx is cancelled, or if
// a function of the model or the sampler panics. If ctx is cancelled or a function
// panics, the chains contain the draws made up to that point. A long solve is stopped
// when ctx is cancelled. See mcmc.Run.
func Run(ctx context.Context, p *bayes.Posterior, sampler Sampler, s mcmc.Settings) (*mcmc.Chains, error) {
	job, err := prepare(ctx, p, sampler, s)
	if err != nil {
		return nil, err
	}
	return job.run(ctx, 0)
}

// job holds a posterior and a sampler that are ready to run.
type job struct {
	p         *bayes.Posterior
	bound     *bayes.Density // each chain has a clone of it
	sampler   Sampler
	algorithm Algorithm
	settings  mcmc.Settings
	notes     []string
	kernels   []*guard
	full      int          // number of steps needed to solve all equations once
	modes     *bayes.Modes // nil if no search was made, or if it failed
	running   *mcmc.Running

	late context.Context // the context of solves
	stop context.CancelCauseFunc

	preparing, drawing time.Duration
}

func prepare(ctx context.Context, p *bayes.Posterior, sampler Sampler, s mcmc.Settings) (*job, error) {
	begin := time.Now()
	if sampler == nil {
		return nil, errors.New("sample: the sampler is nil: want Deterministic, PCNWithinGibbs or another sampler")
	}
	e, err := bayes.NewDensity(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := Check(sampler, e); err != nil {
		return nil, err
	}
	a := sampler.Algorithm()
	complete := s
	if s.Start == nil { // the starts around the modes are not known yet
		complete.Start = func(int, *rand.Rand) []float64 { return nil }
	}
	if complete, err = complete.WithDefaults(); err != nil {
		return nil, err
	}
	j := &job{p: p, bound: e, sampler: sampler, settings: s, full: e.Steps()}
	if held := p.Held(); held != "" {
		j.notes = append(j.notes, held)
	}
	search := sync.OnceValues(func() (*bayes.Modes, error) {
		if p.Modes != nil {
			return p.Modes, nil
		}
		return modes.Find(ctx, p, modes.Settings{Seed: s.Seed, Workers: s.Workers})
	})
	if s.Start == nil || a.Walk == nil {
		j.modes, err = search()
		if err != nil && (ctx.Err() != nil || s.Start == nil) { // the caller's starts may still work
			return nil, err
		}
	}
	if s.Start == nil {
		start, note := starts(e, j.modes, complete.Chains)
		j.settings.Start, j.notes = start, append(j.notes, note)
	}
	if a.Prepare != nil {
		if a, err = a.Prepare(ctx, e, search); err != nil {
			return nil, err
		}
	}
	j.algorithm, j.notes = a, append(j.notes, a.Notes...)
	j.settings.Names, j.settings.Generated = p.Names(), slices.Insert(e.Quantities(), 1, a.Quantities...)
	if s.BurnIn == 0 {
		j.settings.BurnIn = 1000 + 250*len(p.Params)
		if a.BurnIn != nil {
			j.settings.BurnIn = a.BurnIn(len(p.Params))
		}
	}
	j.preparing = time.Since(begin)
	if j.modes != nil && j.modes == p.Modes {
		// Add the time of the earlier search in which the modes were found.
		j.preparing += time.Duration(j.modes.Seconds * float64(time.Second))
	}
	return j, nil
}

// After the context is cancelled, an iteration in progress has the time `grace` to
// finish. Most iterations finish in time; the others are stopped and discarded.
const grace = 100 * time.Millisecond

// guarded returns a context for the chains. The chains' context is cancelled when ctx is
// cancelled or when a chain panics. guarded also sets j.late, the context of the solves.
// The context j.late is cancelled with a delay of `grace`.
func (j *job) guarded(ctx context.Context) (context.Context, func()) {
	ctx, j.stop = context.WithCancelCause(ctx)
	late, end := context.WithCancelCause(context.WithoutCancel(ctx))
	j.late = late
	var mu sync.Mutex
	var timer *time.Timer
	release := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		timer = time.AfterFunc(grace, func() { end(context.Cause(ctx)) })
	})
	return ctx, func() {
		release()
		mu.Lock()
		defer mu.Unlock()
		if timer != nil {
			timer.Stop()
		}
		end(nil)
		j.stop(nil)
	}
}

// fault returns the panic of a kernel as an error, or nil if there was none.
func (j *job) fault() error {
	for _, k := range j.kernels {
		if err := k.Err(); err != nil {
			return err
		}
	}
	return nil
}

// run makes the draws. If the job has been run before, each chain is continued until it
// has `draws` draws.
func (j *job) run(ctx context.Context, draws int) (*mcmc.Chains, error) {
	begin := time.Now()
	inner, release := j.guarded(ctx)
	defer release()
	var chains *mcmc.Chains
	var err error
	if j.running == nil {
		if j.running, err = mcmc.Begin(j.kernel, j.settings); err == nil {
			chains, err = j.running.Run(inner)
		}
	} else {
		for _, k := range j.kernels {
			k.d.Bind(j.late)
		}
		chains, err = j.running.Extend(inner, draws)
	}
	j.drawing += time.Since(begin)
	if fault := j.fault(); fault != nil {
		err = fault
	}
	if chains == nil {
		return nil, err
	}
	chains.Notes = append(chains.Notes, j.notes...)
	chains.Notes = append(chains.Notes, j.tuned()...)
	if err == nil {
		notes, err := j.strain(ctx, chains)
		if err != nil {
			return chains, err
		}
		chains.Notes = append(chains.Notes, notes...)
		known := *j.p
		known.Modes = j.modes
		chains.Notes = append(chains.Notes, Visits(&known, chains)...)
	}
	return chains, err
}

// mostModeRHat limits R̂ of the share of the draws in a mode. At the limit, the standard
// error of the share of four chains is √(.1 p(1−p)/4): .03 for a mode of .03, .08 for one of
// one half.
const mostModeRHat = 1.05

// Visits returns notes about the draws in each of the modes p.Modes; it returns none if
// fewer than two of them have a mass above 0.01. A note that begins with "warning: " is
// about a mode without draws, or about chains that differ in their share of draws in a mode.
// The shares are not compared with the masses of the modes: where chains agree and enter
// the mode, the draws know better.
func Visits(p *bayes.Posterior, chains *mcmc.Chains) []string {
	if p.Modes == nil || len(heavy(p.Modes)) < 2 || len(chains.Draws) == 0 {
		return nil
	}
	in, err := modes.Assign(p, p.Modes, chains)
	if err != nil {
		return nil
	}
	var notes, all []string
	for k, m := range p.Modes.Modes {
		if m.Mass <= leastMass || m.Cov == nil {
			continue
		}
		share, within := 0.0, make([][]float64, len(in))
		for c := range in {
			within[c] = make([]float64, len(in[c]))
			for i, mode := range in[c] {
				if mode == k {
					within[c][i] = 1
				}
			}
			share += stat.Mean(within[c], nil) / float64(len(in))
		}
		all = append(all, fmt.Sprintf("%.3g at %s", share, p.Format(m.Theta)))
		if share == 0 {
			notes = append(notes, fmt.Sprintf("warning: no draw lies in the mode at %s, which holds %.3g of the mass", p.Format(m.Theta), m.Mass))
		} else if rhat := diag.RHat(within); rhat > mostModeRHat {
			notes = append(notes, fmt.Sprintf("warning: the chains differ in their share of draws in the mode at %s (R̂ = %.3g), so the starting points decide it: use tempering, or take more draws", p.Format(m.Theta), rhat))
		}
	}
	return append([]string{"share of the draws in each mode: " + strings.Join(all, ", ")}, notes...)
}

// On a frozen grid, a local error of up to mostStrain times the tolerance causes no
// warning.
const mostStrain = 10

// strain checks whether grids that were frozen at one θ are also fine enough at the
// values of θ in the draws.
func (j *job) strain(ctx context.Context, chains *mcmc.Chains) ([]string, error) {
	e := j.bound.Clone()
	defer e.Bind(ctx)()
	tried := compare.Spread(chains.Draws, 40)
	var notes []string
	for i := range j.p.Experiments {
		r := e.Part(i)
		solver := frozen(r)
		if solver == nil || len(tried) == 0 {
			continue
		}
		defer solver.Bind(ctx)()
		worst, over := 0.0, 0
		var at []float64
		for _, theta := range tried {
			v, err := solver.Strain(r.Theta(theta))
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil || v > mostStrain {
				over++
			}
			if err == nil && v > worst {
				worst, at = v, theta
			}
		}
		if over > 0 {
			note := fmt.Sprintf("warning: the frozen grid of %s is too coarse at %d of the %d draws that were checked: the local error at these draws is more than %d times the tolerance", r.Title(), over, len(tried), mostStrain)
			if at != nil {
				note += fmt.Sprintf(", up to %.3g times at %s", worst, j.p.Format(at))
			}
			notes = append(notes, note+": freeze the grid (GridAt) at the draw with the largest local error, or make the tolerance smaller")
		}
	}
	return notes, nil
}

// frozen returns the solver of an experiment whose grid was chosen by error control and
// is the same at every θ. For other grids the result is nil.
func frozen(r *bayes.Part) *probode.Solver {
	if r.Grid() == nil || r.Grid().Solver().Grid().Tolerance() == nil {
		return nil
	}
	return r.Grid().Solver()
}

// kernel makes the kernel of one chain.
func (j *job) kernel(int) mcmc.Kernel {
	d := j.bound.Clone()
	if j.late != nil {
		d.Bind(j.late)
	}
	burnIn := max(0, j.settings.BurnIn)
	var walk mcmc.AdaptiveMetropolis
	if j.algorithm.Walk != nil {
		walk = *j.algorithm.Walk
	} else {
		walk = proposal(j.modes, burnIn)
	}
	k := &guard{Kernel: j.algorithm.Kernel(d, walk, burnIn), job: j, d: d, burnIn: burnIn}
	if j.algorithm.Target == Classical {
		k.failures = newFailures(d.Dim(), burnIn)
		d.OnFailure(k.failures.add)
	}
	if _, ok := k.Kernel.(mcmc.Generator); !ok {
		panic(fmt.Sprintf("sample: the kernel of %v is not an mcmc.Generator: want a kernel whose method Generate returns the quantities that bayes.Density.Quantities lists", j.sampler))
	}
	j.kernels = append(j.kernels, k)
	return k
}

// tuned describes the values that the kernels have tuned, such as β, and the regions that
// the draws lack.
func (j *job) tuned() []string {
	var all []string
	what := ""
	var notes []string
	for i, k := range j.kernels {
		if j.algorithm.Tuned != nil {
			var v string
			what, v = j.algorithm.Tuned(k.Kernel)
			all = append(all, v)
		}
		for _, words := range []string{k.missing(), j.unexplored(k.Kernel)} {
			if words != "" {
				notes = append(notes, fmt.Sprintf("%s (chain %d)", words, i+1))
			}
		}
	}
	if all != nil {
		notes = append(notes, what+", by chain: "+strings.Join(all, ", "))
	}
	return notes
}

// solves divides the number of solver steps in all chains by j.full, the number of steps
// needed to solve all equations once. The number of moves would be a poor measure of the
// work, because the moves differ in cost. Some samplers compute only pieces of a path, or
// use another grid. If the prior density is zero, no equations are solved.
func (j *job) solves() float64 {
	steps := 0
	for _, k := range j.kernels {
		steps += k.d.Work()
	}
	return float64(steps) / float64(j.full)
}

// guard wraps a kernel. The guard recovers from panics in the functions of the model and
// of the kernel, and discards an iteration that was stopped.
type guard struct {
	mcmc.Kernel
	job *job
	d   *bayes.Density

	fault    error     // a panic in the kernel
	failures *failures // nil if the solver's noise is part of the model

	burnIn, steps int        // iterations
	before        mcmc.Stats // moves of the burn-in
}

var _ mcmc.Interruptible = (*guard)(nil)

// Err returns an error if a function of the model or the kernel has panicked.
func (k *guard) Err() error { return cmp.Or(k.d.Err(), k.fault) }

// recovered records a panic, and stops all chains.
func (k *guard) recovered() {
	if v := recover(); v != nil && k.Err() == nil {
		k.fault = fmt.Errorf("sample: the sampler: %w", &probode.PanicError{Value: v, Stack: debug.Stack()})
	}
	if err := k.Err(); err != nil && k.job.stop != nil {
		k.job.stop(err)
	}
}

// Init starts the chain at x. If a solve was interrupted, Init returns the reason for the
// interruption, because the kernel says only that it cannot start at x.
func (k *guard) Init(x []float64, rng *rand.Rand) error {
	defer k.recovered()
	err := k.Kernel.Init(x, rng)
	if err != nil && k.d.Interrupted() {
		err = context.Cause(k.job.late)
	}
	return cmp.Or(k.Err(), err)
}

func (k *guard) Step(rng *rand.Rand) {
	defer k.recovered()
	if k.steps == k.burnIn {
		k.before = k.Stats()
	}
	k.steps++
	if k.failures == nil {
		k.Kernel.Step(rng)
		return
	}
	k.failures.step(k.Kernel, func() { k.Kernel.Step(rng) })
}

// State writes the state of the chain to the archive, or reads it from the archive.
func (k *guard) State(a *mcmc.Archive) {
	k.Kernel.State(a)
	a.Int(&k.steps)
	a.Stats(&k.before)
	if k.failures != nil {
		k.failures.State(a)
	}
}

// missing describes a region that the draws lack because the solver fails there. With noise
// there is no more accurate solver that could say how much such a region matters, so the
// number of failures is all that is known.
func (k *guard) missing() string {
	if k.failures != nil {
		return k.failures.missing(k.d.Posterior())
	}
	counts := func(s mcmc.Stats) (failed, tried int) {
		return s.Failed + s.Latent.Failed, s.Proposed + s.Latent.Proposed
	}
	failed, tried := counts(k.Stats())
	early, before := counts(k.before)
	if share := float64(failed-early) / float64(tried-before); share > 0.01 {
		return fmt.Sprintf("warning: %.2g %% of the solutions failed: the draws cover only θ and noise with which the equations can be solved; use a smaller step, or a method for stiff problems", 100*share)
	}
	return ""
}

// Interrupted reports whether an iteration was stopped.
func (k *guard) Interrupted() bool { return k.d.Interrupted() || k.Err() != nil }

// Generate writes the quantities that the kernel computes at its current position.
func (k *guard) Generate(dst []float64) {
	defer k.recovered()
	k.Kernel.(mcmc.Generator).Generate(dst)
}
