package sample

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// A job is a posterior with a sampler, ready to run.
type job struct {
	p         *bayes.Posterior
	bound     *bayes.Density // which each chain clones
	sampler   Sampler        // as given
	prepared  Sampler        // that makes the kernels
	settings  mcmc.Settings
	rule      mcmc.Rule
	notes     []string
	kernels   []*guard
	densities []*bayes.Density
	full      int          // steps of one solution of all the equations
	modes     *bayes.Modes // nil if they were not looked for
	running   *mcmc.Running

	late context.Context // that solves are bound to
	stop context.CancelCauseFunc

	// Times that it took.
	preparing, drawing, finishing time.Duration
}

func prepare(ctx context.Context, p *bayes.Posterior, sampler Sampler, s mcmc.Settings) (*job, error) {
	begin := time.Now()
	if ctx == nil {
		return nil, errors.New("sample: the context is nil")
	}
	e, err := bayes.NewDensity(ctx, p)
	if err != nil {
		return nil, err
	}
	if sampler == nil {
		return nil, errors.New("sample: the sampler is nil: want Deterministic, PCNWithinGibbs or another one")
	}
	if err := sampler.Check(e); err != nil {
		return nil, err
	}
	s.Names = p.Names()
	s.Generated = e.Quantities()
	if s.BurnIn == 0 {
		s.BurnIn = 1000 + 250*len(p.Params)
	}
	if s.Start == nil { // the chains begin about the modes
		s.Start = func(int, *rand.Rand) []float64 { return nil }
		_, err = s.WithDefaults()
		s.Start = nil
	} else {
		_, err = s.WithDefaults()
	}
	if err != nil {
		return nil, err
	}
	j := &job{p: p, bound: e, sampler: sampler, prepared: sampler, settings: s}
	if a, ok := sampler.(Proposer); ok {
		j.rule = a.Proposals()
	}
	j.full = e.Steps()
	if held := p.Held(); held != "" {
		j.notes = append(j.notes, held)
	}
	if s.Start == nil || j.rule == nil {
		if err := j.begin(ctx, s.Start == nil); err != nil {
			return nil, err
		}
	}
	if f, ok := sampler.(Preparer); ok {
		prepared, notes, err := f.Prepare(ctx, e, func() (*bayes.Mode, error) {
			if j.modes == nil {
				j.modes = p.Modes
			}
			if j.modes != nil {
				return j.modes.Highest(), nil
			}
			m, err := modes.Find(ctx, p, modes.Settings{Seed: s.Seed})
			if err != nil {
				return nil, err
			}
			return m.Highest(), nil
		})
		if err != nil {
			return nil, err
		}
		j.prepared, j.notes = prepared, append(j.notes, notes...)
	}
	j.preparing = time.Since(begin)
	if j.modes != nil && j.modes == p.Modes {
		// They were found before, and have cost what they have cost.
		j.preparing += time.Duration(j.modes.Seconds * float64(time.Second))
	}
	return j, nil
}

// grace is the time that an iteration has to come to its end when the context
// has ended. Within it most do; the others are broken off and do not count.
const grace = 100 * time.Millisecond

// guarded returns the context in which chains run, which ends with ctx, or when
// something panics; and prepares the one that paths are bound to.
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

// fault returns what has panicked.
func (j *job) fault() error {
	for _, k := range j.kernels {
		if err := k.Err(); err != nil {
			return err
		}
	}
	return nil
}

// run draws, or goes on to the given number of draws of each chain if that is
// positive.
func (j *job) run(ctx context.Context, draws int) (*mcmc.Chains, error) {
	begin := time.Now()
	inner, release := j.guarded(ctx)
	defer release()
	var chains *mcmc.Chains
	var err error
	switch {
	case j.running == nil:
		if j.running, err = mcmc.Begin(j.kernel, j.settings); err == nil {
			chains, err = j.running.Run(inner)
		}
	default:
		for _, d := range j.densities {
			d.Bind(j.late)
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
		chains.Notes = append(chains.Notes, j.visits(chains)...)
	}
	if f, ok := j.sampler.(Finisher); ok && err == nil {
		begin = time.Now()
		chains, err = f.Finish(ctx, j.p, chains)
		j.finishing += time.Since(begin)
	}
	return chains, err
}

// visits looks whether the modes that hold more than leastMass are among the draws,
// and in about the share that their Gaussian approximations give them. Noise may
// move or fill modes, so that of draws with noise only missing ones are told.
func (j *job) visits(chains *mcmc.Chains) []string {
	if j.modes == nil || len(heavy(j.modes)) < 2 {
		return nil
	}
	shares, err := modes.Shares(j.p, j.modes, chains)
	if err != nil {
		return nil
	}
	var notes, all []string
	for k, m := range j.modes.Modes {
		if m.Mass <= leastMass || m.Cov == nil {
			continue
		}
		all = append(all, fmt.Sprintf("%.3g at %s", shares[k], j.p.Format(m.Theta)))
		switch odds := shares[k] / (1 - shares[k]) / (m.Mass / (1 - m.Mass)); {
		case shares[k] == 0:
			notes = append(notes, fmt.Sprintf("warning: no draw is in the mode at %s, which holds %.3g of the mass by its Gaussian approximation", j.p.Format(m.Theta), m.Mass))
		case (odds < 1./3 || odds > 3) && j.sampler.Target().Distribution == Classical:
			notes = append(notes, fmt.Sprintf("warning: %.3g of the draws are in the mode at %s, which holds %.3g of the mass by its Gaussian approximation: see by R̂ which is wrong", shares[k], j.p.Format(m.Theta), m.Mass))
		}
	}
	return append([]string{"share of the draws in each of the modes: " + strings.Join(all, ", ")}, notes...)
}

// mostStrain is the multiple of its tolerance that the local error on a frozen
// grid may have at a draw.
const mostStrain = 10

// strain looks whether grids that were frozen at one θ serve at the draws.
func (j *job) strain(ctx context.Context, chains *mcmc.Chains) ([]string, error) {
	const draws = 40
	e := j.bound.Clone()
	defer e.Bind(ctx)()
	all := chains.Pooled()
	var notes []string
	for i := range j.p.Experiments {
		r := e.Part(i)
		if r.Grid() == nil || r.Grid().Solver().Grid().Tolerance() == nil || len(all) == 0 {
			continue
		}
		solver := r.Grid().Solver()
		defer solver.Bind(ctx)()
		worst, over, tried := 0.0, 0, min(draws, len(all))
		var at []float64
		for k := range tried {
			theta := all[(k+1)*len(all)/tried-1]
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
			note := fmt.Sprintf("warning: the grid of %s, frozen at one θ, does not serve at %d of %d draws looked at: the local error there is more than %d times its tolerance", r.Title(), over, tried, mostStrain)
			if at != nil {
				note += fmt.Sprintf(", up to %.3g times at %s", worst, j.p.Format(at))
			}
			notes = append(notes, note+": freeze it there (GridAt), or make the tolerance smaller")
		}
	}
	return notes, nil
}

// kernel makes the kernel of one chain.
func (j *job) kernel(int) mcmc.Kernel {
	d := j.bound.Clone()
	if j.late != nil {
		d.Bind(j.late)
	}
	k := &guard{Kernel: j.prepared.Kernel(d, j.rule, max(0, j.settings.BurnIn)), d: d, stop: j.stop}
	if _, ok := k.Kernel.(mcmc.Generator); !ok {
		panic(fmt.Sprintf("sample: the kernel of %v is no mcmc.Generator: want one that writes what bayes.Density.Generate does", j.sampler))
	}
	j.kernels, j.densities = append(j.kernels, k), append(j.densities, d)
	return k
}

// tuned returns what the kernels found out, such as β.
func (j *job) tuned() []string {
	var all []string
	what := ""
	for _, k := range j.kernels {
		if w, v := k.tuned(); w != "" {
			what, all = w, append(all, v)
		}
	}
	if all == nil {
		return nil
	}
	return []string{what + ", by chain: " + strings.Join(all, ", ")}
}

// solves returns the steps that the solvers of all chains took, in units of
// those of one solution of all the equations. The counts of a kernel will not
// do: some samplers solve for pieces of a path, or with other steps, or not at all
// where a prior forbids.
func (j *job) solves() float64 {
	steps := 0
	for _, d := range j.densities {
		steps += d.Work()
	}
	return float64(steps) / float64(j.full)
}

// A guard is a kernel that does not take the process down when a function of the
// model, or the kernel, panics, nor let an iteration count that was broken off.
type guard struct {
	mcmc.Kernel
	d    *bayes.Density
	stop context.CancelCauseFunc // nil in tests

	fault error // what panicked in the kernel
}

var _ mcmc.Interruptible = (*guard)(nil)

// Err returns what has panicked: a function of the model, or the kernel.
func (k *guard) Err() error { return cmp.Or(k.d.Err(), k.fault) }

// recovered keeps what panicked, and stops all chains.
func (k *guard) recovered() {
	if v := recover(); v != nil && k.Err() == nil {
		k.fault = fmt.Errorf("sample: the sampler: %w", &probode.PanicError{Value: v, Stack: debug.Stack()})
	}
	if err := k.Err(); err != nil && k.stop != nil {
		k.stop(err)
	}
}

func (k *guard) Init(x []float64, rng *rand.Rand) error {
	defer k.recovered()
	err := k.Kernel.Init(x, rng)
	return cmp.Or(k.Err(), err)
}

func (k *guard) Step(rng *rand.Rand) {
	defer k.recovered()
	k.Kernel.Step(rng)
}

// Interrupted reports whether an iteration was broken off.
func (k *guard) Interrupted() bool { return k.d.Interrupted() || k.Err() != nil }

// Generate writes what the kernel tells of its position.
func (k *guard) Generate(dst []float64) {
	defer k.recovered()
	k.Kernel.(mcmc.Generator).Generate(dst)
}

// tuned returns what the kernel tuned.
func (k *guard) tuned() (what, value string) {
	if l, ok := k.Kernel.(Tuned); ok {
		return l.Tuned()
	}
	return "", ""
}
