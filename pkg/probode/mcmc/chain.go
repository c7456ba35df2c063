package mcmc

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/probode/probode/pkg/internal/streams"
	"github.com/probode/probode/pkg/internal/text"
)

// A Chain is one chain of a run: a kernel, its random numbers, and the number of
// iterations completed. Run makes its own chains. A package that does not keep draws in
// memory, such as mcmc/store, creates chains with NewChain, gives each a Sink, and runs
// them with Advance.
type Chain struct {
	// Sink receives the draws. Nil keeps them in memory.
	Sink Sink

	index     int
	settings  Settings
	kernel    Kernel
	source    *rand.PCG // of rng
	rng       *rand.Rand
	iteration int
	burnIn    Stats     // counts up to the end of burn-in
	after     Stats     // counts after burn-in, if the chain was finished earlier
	draws     []float64 // the kept positions, one after another
	generated []float64 // the quantities generated there
	quantity  []float64 // the quantities of the current draw
	turn      []byte    // the state at the beginning of this turn, if there is a sink
	record    *record   // if not nil, some of the draws, for the reporter
}

// A Sink receives the draws of one chain.
type Sink interface {
	// Keep is called for each draw, in order, with the draw and the quantities that the
	// kernel generated at this draw. Both slices are valid only during the call.
	Keep(x, generated []float64)

	// Turn is called every few milliseconds, between two iterations, and when the chain
	// is finished. If Turn returns false, all chains stop.
	Turn(c *Chain, finished bool) bool
}

// NewChain returns the chain with the given index, counted from 0, in a run with the
// settings s, which must come from WithDefaults. The random numbers of the chain depend
// only on (s.Seed, index).
func NewChain(index int, s Settings) *Chain {
	source := stream(s.Seed, index)
	c := &Chain{index: index, settings: s, source: source, rng: rand.New(source)}
	if s.Progress != nil {
		c.record = &record{stride: 1}
	}
	c.quantity = make([]float64, len(s.Generated))
	return c
}

// The function stream() returns the source of the random numbers for one chain. PCG
// streams with adjacent seeds are not independent, so the seed and the number of the
// chain are hashed first.
func stream(seed uint64, chain int) *rand.PCG {
	mix := func(z uint64) uint64 { return streams.Mix(z + streams.Gamma) }
	hi := mix(seed)
	return rand.NewPCG(hi, mix(hi^mix(uint64(chain))))
}

// Start gives the chain the kernel k and places the chain at the first point from
// Settings.Start that k accepts. Start returns an error if k accepts none of 100 points,
// or if Settings.Start panics.
func (c *Chain) Start(k Kernel) (err error) {
	c.kernel = k
	defer func() {
		if v := recover(); v != nil {
			err = faultOf(v)
		}
	}()
	for range startTries {
		if err = k.Init(c.settings.Start(c.index, c.rng), c.rng); err == nil {
			return nil
		}
	}
	return fmt.Errorf("mcmc: no start was found for chain %d in %d tries; the last error: %w", c.index+1, startTries, err)
}

// Finished marks a chain as complete without starting it. Finished is called if all
// iterations of the chain were run earlier, and records the given counts of these
// iterations. Advance counts these iterations as done, and runs no further ones.
func (c *Chain) Finished(burnIn, after Stats) {
	c.iteration = c.settings.iterations(c.settings.Draws)
	c.burnIn, c.after = burnIn, after
}

// Recall passes a draw from an earlier run to the chain, so that the R̂ reported by
// Progress includes it. It calls the function draw() only if the result is used for this
// R̂.
func (c *Chain) Recall(draw func() ([]float64, error)) error {
	if c.record == nil {
		return nil
	}
	if !c.record.wants() {
		c.record.add(nil)
		return nil
	}
	x, err := draw()
	if err == nil {
		c.record.add(x)
	}
	return err
}

// State writes everything on which the continuation of the chain depends, or reads it
// back into a chain that has been started with the same kind of kernel.
func (c *Chain) State(a *Archive) {
	a.Int(&c.iteration)
	a.Stats(&c.burnIn)
	a.Source(c.source)
	c.kernel.State(a)
}

// TurnState returns an earlier state of the chain, as written by State: the state at the
// beginning of the last turn or, if the chain has completed all its iterations, the state
// before the last iteration. It returns nil if there has been no turn. The bytes are
// valid until the next turn.
func (c *Chain) TurnState() []byte { return c.turn }

// Replay runs iterations until the chain has completed the given number. Replay keeps no
// draws and calls no hook.
func (c *Chain) Replay(until int) {
	for c.iteration < until && !c.Interrupted() {
		c.step()
	}
}

// Index returns the number of the chain, counted from 0.
func (c *Chain) Index() int { return c.index }

// Kernel returns the kernel of the chain, or nil if the chain has not been started.
func (c *Chain) Kernel() Kernel { return c.kernel }

// Random returns the random number generator that Start and the kernel of the chain use.
func (c *Chain) Random() *rand.Rand { return c.rng }

// Iteration returns the number of iterations completed.
func (c *Chain) Iteration() int { return c.iteration }

// Counts returns the counts of moves during burn-in and after it.
func (c *Chain) Counts() (burnIn, after Stats) {
	if c.kernel == nil {
		return c.burnIn, c.after
	}
	return c.burnIn, c.kernel.Stats().plus(-1, c.burnIn)
}

// The method stats() returns the counts of moves in all iterations.
func (c *Chain) stats() Stats {
	burnIn, after := c.Counts()
	return burnIn.plus(1, after)
}

// The method step() performs one iteration, and reports whether the new position is a
// draw.
func (c *Chain) step() bool {
	c.kernel.Step(c.rng)
	if c.Interrupted() {
		return false
	}
	c.iteration++
	after := c.iteration - c.settings.BurnIn
	if after <= 0 {
		c.burnIn = c.kernel.Stats()
		return false
	}
	return after%c.settings.Thin == 0
}

// Interrupted reports whether an iteration stopped before it was complete: see
// Interruptible. The chain is then in the middle of an iteration, and its State cannot be
// used.
func (c *Chain) Interrupted() bool {
	k, ok := c.kernel.(Interruptible)
	return ok && k.Interrupted()
}

// advance runs iterations until the chain has completed the given number of iterations,
// the channel done is closed, or an iteration is interrupted.
func (c *Chain) advance(done <-chan struct{}, until int) {
	last := c.settings.iterations(c.settings.Draws) - 1
	for c.iteration < until && !c.Interrupted() {
		select {
		case <-done:
			return
		default:
		}
		if c.iteration == last { // so that the last state does not depend on the length of turns
			c.beginTurn()
		}
		if c.step() {
			c.keep()
		}
	}
}

// The method keep() adds the current position, and the quantities generated there, to the
// draws.
func (c *Chain) keep() {
	x := c.kernel.Position()
	if len(c.quantity) > 0 {
		c.kernel.(Generator).Generate(c.quantity)
		if c.Interrupted() {
			return
		}
	}
	if c.record != nil {
		c.record.add(x)
	}
	if c.Sink != nil {
		c.Sink.Keep(x, c.quantity)
		return
	}
	c.draws = appendRow(c.draws, x)
	c.generated = appendRow(c.generated, c.quantity)
}

// appendRow appends a row to the rows of earlier draws. If the slice is full, its
// capacity is doubled. The function append() alone would increase the capacity by only a
// quarter, and would copy the draws of long runs too often.
func appendRow(rows, row []float64) []float64 {
	if len(rows)+len(row) > cap(rows) {
		rows = slices.Grow(rows, max(len(row), len(rows)))
	}
	return append(rows, row...)
}

// beginTurn records the current state of the chain, so that the turn can be replayed from
// it.
func (c *Chain) beginTurn() {
	if c.Sink != nil {
		a := Archive{buf: c.turn[:0]}
		c.State(&a)
		c.turn = a.buf
	}
}

// Advance runs the chains until they have completed all iterations of a run with the
// settings s. Each chain must have been started, or marked as complete by Finished.
// Advance reports whether all chains were complete before ctx was done or a Sink stopped
// them. The argument names holds the names of the coordinates, which appear in reports of
// Progress about R̂. MinESS is ignored. If Progress, a kernel or a Sink panics or calls
// runtime.Goexit, all chains stop and Advance returns an error.
func Advance(ctx context.Context, chains []*Chain, names []string, s Settings) (complete bool, err error) {
	until := s.iterations(s.Draws)
	report := newReporter(s.Progress, names, chains, until)
	if complete, err = advance(ctx, chains, until, s.Workers, report); err == nil {
		err = report.last(complete)
	}
	return complete, err
}

// advance runs all chains up to the given number of iterations, and reports whether they
// completed these before ctx was done.
//
// The chains take turns of a few milliseconds, so that the chains of an interrupted run
// have about the same length even with fewer workers than chains. At the end of its turn
// a chain calls the method Turn of its Sink; if Turn returns false, all chains stop.
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

// faultOf turns the value that recover returned into an error; nil stands for
// runtime.Goexit.
func faultOf(v any) error {
	if v == nil {
		return errors.New("mcmc: a function ended its goroutine with runtime.Goexit: want a function that returns")
	}
	return fmt.Errorf("mcmc: %s", text.Panic(v, debug.Stack()))
}
