package mcmc

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/probode/probode/pkg/internal/memory"
	"github.com/probode/probode/pkg/internal/progress"
)

// Run draws from the distribution that the kernels leave invariant. Run calls kernel once
// for each chain, in order, and then runs the chains in parallel. Each chain draws its
// starting point and its moves from its own stream of random numbers, keyed by (Seed,
// chain). The same settings always give the same draws, bit for bit, with any number of
// workers. The draws of a chain do not depend on the other chains of the run.
//
// If ctx is done before the run has finished, Run returns ctx.Err() and the draws so far.
// The chains of an interrupted run are cut to the length of the shortest chain, which may
// be zero. The draws that are kept are identical to the first draws of an uninterrupted
// run with the same settings.
//
// Run returns an error and no chains if Start is nil, if a count is out of range, or if
// no suitable starting point is found for a chain. If Progress or a kernel panics or
// calls runtime.Goexit, the run ends with an error. Run panics if the kernels differ in
// dimension, or if the number of names differs from the number of coordinates.
func Run(ctx context.Context, kernel func(chain int) Kernel, settings Settings) (*Chains, error) {
	r, err := Begin(kernel, settings)
	if err != nil {
		return nil, err
	}
	return r.Run(ctx)
}

// Running holds the state of a run, so that more draws can be added to the run.
type Running struct {
	s      Settings
	chains []*Chain
}

// Begin places each chain of a run at its starting point, but makes no draws.
func Begin(kernel func(chain int) Kernel, settings Settings) (*Running, error) {
	s, err := settings.WithDefaults()
	if err != nil {
		return nil, err
	}
	chains := make([]*Chain, len(s.Only))
	for i, index := range s.Only {
		chains[i] = NewChain(index, s)
		if err := chains[i].Start(kernel(index)); err != nil {
			return nil, err
		}
	}
	s.Names = CoordinateNames(s.Names, chains)
	return &Running{s: s, chains: chains}, nil
}

// Run makes as many draws as the settings require. The result is the same as that of Run.
func (r *Running) Run(ctx context.Context) (*Chains, error) {
	s := &r.s
	limit := s.Draws
	if s.MinESS > 0 {
		limit = s.MaxDraws
	}
	return r.until(ctx, min(s.Draws, limit), limit)
}

// Extend continues the run until each chain has the number of draws given by the argument
// `draws`. Extend ignores Settings.Draws and Settings.MinESS. The result is the same as
// that of a single run in which Settings.Draws has the value of `draws`. If a chain
// already has more draws, Extend continues the run until all chains have as many draws as
// the longest chain.
func (r *Running) Extend(ctx context.Context, draws int) (*Chains, error) {
	if most := (math.MaxInt - r.s.BurnIn) / r.s.Thin; draws < 0 || draws > most {
		panic(fmt.Sprintf("mcmc: the number of draws passed to Extend is %d: want a number from 0 to %d", draws, most))
	}
	for _, c := range r.chains {
		draws = max(draws, (c.iteration-r.s.BurnIn)/r.s.Thin)
	}
	whole := r.s
	defer func() { r.s = whole }()
	r.s.MinESS = 0
	return r.until(ctx, draws, draws)
}

// until adds s.Draws draws at a time, up to `limit`, while the effective sample size is
// below MinESS.
func (r *Running) until(ctx context.Context, n, limit int) (*Chains, error) {
	s, chains := &r.s, r.chains
	if dim := len(s.Names); len(chains) > 0 && chains[0].Sink == nil {
		if err := memory.Check(fmt.Sprintf("%d draws of %d chains", n, len(chains)), n, len(chains), dim); err != nil {
			return nil, fmt.Errorf("mcmc: %w", err)
		}
	}
	ctx, hook := progress.Begin(ctx, "sampling")
	if s.Progress == nil {
		s.Progress = hook
	}
	for _, c := range chains {
		if s.Progress != nil && c.record == nil { // the hook came with the context
			c.record = &record{stride: 1}
		}
	}
	report := newReporter(s.Progress, s.Names, chains, s.iterations(limit))
	for ; ; n = min(n+s.Draws, limit) {
		complete, err := advance(ctx, chains, s.iterations(n), s.Workers, report)
		out := collect(chains, s)
		if err != nil {
			return out, err
		}
		enough := s.MinESS <= 0 || complete && out.minBulkESS() >= s.MinESS
		if complete && !enough && n < limit {
			continue
		}
		if err := report.last(complete); err != nil {
			return out, err
		}
		if !complete {
			return out, ctx.Err()
		}
		out.Capped = !enough
		return out, nil
	}
}

// CoordinateNames returns the names of the coordinates of the chains: the given names, or
// x1, x2, … if none are given. CoordinateNames panics if the chains differ in dimension,
// or if the number of names differs from the number of coordinates.
func CoordinateNames(given []string, chains []*Chain) []string {
	d := len(chains[0].kernel.Position())
	for _, c := range chains {
		if len(c.kernel.Position()) != d {
			panic("mcmc: the chains have different dimensions")
		}
	}
	if given == nil {
		for i := range d {
			given = append(given, fmt.Sprintf("x%d", i+1))
		}
	}
	if len(given) != d {
		panic(fmt.Sprintf("mcmc: there are %d names: want %d, one for each parameter", len(given), d))
	}
	return given
}

func collect(chains []*Chain, s *Settings) *Chains {
	out := &Chains{Names: s.Names, Quantities: s.Generated}
	d, m := len(s.Names), len(s.Generated)
	n := math.MaxInt
	for _, c := range chains {
		n = min(n, len(c.draws)/d)
	}
	rows := func(x []float64, d int) [][]float64 {
		out := make([][]float64, n)
		for k := range out {
			out[k] = x[k*d : (k+1)*d : (k+1)*d]
		}
		return out
	}
	for _, c := range chains {
		out.Draws = append(out.Draws, rows(c.draws, d))
		if m > 0 {
			out.Generated = append(out.Generated, rows(c.generated, m))
		}
		out.BurnIn = append(out.BurnIn, c.burnIn)
		out.Stats = append(out.Stats, c.kernel.Stats().plus(-1, c.burnIn))
	}
	return out
}

// Advance runs the chains until they have completed all iterations of a run with the
// settings s. Before the call, each chain must be started by Start or marked as complete
// by Finished. The result `complete` is false if a chain could not complete its
// iterations because ctx was done or a Sink stopped the run. The argument `names`
// contains the names of the coordinates. A progress report names the coordinate with the
// largest R̂. MinESS is ignored. If Progress, a kernel or a Sink panics or calls
// runtime.Goexit, all chains stop and Advance returns an error.
func Advance(ctx context.Context, chains []*Chain, names []string, s Settings) (complete bool, err error) {
	until := s.iterations(s.Draws)
	report := newReporter(s.Progress, names, chains, until)
	if complete, err = advance(ctx, chains, until, s.Workers, report); err == nil {
		err = report.last(complete)
	}
	return complete, err
}

// advance reports whether all chains have reached `until`. They take turns of
// milliseconds, so that the chains of an interrupted run are about equally long with
// fewer workers than chains. If Turn of a Sink returns false, all stop.
func advance(ctx context.Context, chains []*Chain, until, workers int, report *reporter) (complete bool, err error) {
	const short, long = 5 * time.Millisecond, 20 * time.Millisecond

	chains = slices.DeleteFunc(slices.Clone(chains), func(c *Chain) bool { return c.kernel == nil })
	if len(chains) == 0 {
		return true, nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	queue := make(chan *Chain, len(chains))
	for _, c := range chains {
		if c.Sink == nil {
			c.draws = slices.Grow(c.draws, (until-c.iteration)/c.settings.Thin*len(c.kernel.Position()))
		}
		queue <- c
	}
	var under, whole atomic.Int64
	under.Store(int64(len(chains)))
	var fault atomic.Pointer[error]
	var group sync.WaitGroup
	for range min(workers, len(chains)) {
		group.Go(func() {
			returned := false
			defer func() {
				if returned {
					return
				}
				end := faultOf(recover())
				fault.CompareAndSwap(nil, &end)
				stop()
				if under.Add(-1) == 0 { // the chain of this goroutine is not in the queue
					close(queue)
				}
			}()
			slice := 1
			for c := range queue {
				begin, from, before := time.Now(), c.iteration, c.kernel.Stats()
				c.beginTurn()
				c.advance(ctx.Done(), min(from+slice, until))
				report.add(c.iteration-from, c.kernel.Stats().plus(-1, before))
				switch took := time.Since(begin); {
				case took < short:
					slice *= 2
				case took > long:
					slice = max(1, slice/2)
				}

				switch {
				case c.Interrupted():
					stop()
				case c.Sink != nil && !c.Sink.Turn(c, c.iteration == until):
					stop()
				}
				if c.iteration < until && ctx.Err() == nil {
					queue <- c // has room for every chain
					continue
				}
				if c.iteration == until && !c.Interrupted() {
					whole.Add(1)
				}
				if under.Add(-1) == 0 {
					close(queue)
				}
			}
			returned = true
		})
	}
	group.Wait()
	if end := fault.Load(); end != nil {
		return false, *end
	}
	return int(whole.Load()) == len(chains), nil
}
