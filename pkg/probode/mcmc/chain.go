package mcmc

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/probode/probode/pkg/internal/streams"
	"github.com/probode/probode/pkg/internal/text"
)

// A Chain is one of the Markov chains of a run. Run makes its own chains. A package that
// does not keep draws in memory, such as mcmc/store, creates chains with NewChain, gives
// each a Sink, and runs them with Advance.
type Chain struct {
	// Sink receives the draws. If Sink is nil, the draws are kept in memory.
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
	// kernel generated for it. The slices x and generated are valid only during the call.
	Keep(x, generated []float64)

	// Turn is called every few milliseconds, but never during an iteration. Turn is also
	// called at the end of the chain. If Turn returns false, all chains stop.
	Turn(c *Chain, finished bool) bool
}

// NewChain returns the chain with the given index, counted from 0, in a run with the
// settings s. The settings s must be the result of Settings.WithDefaults. The random
// numbers of the chain depend only on (s.Seed, index).
func NewChain(index int, s Settings) *Chain {
	source := stream(s.Seed, index)
	c := &Chain{index: index, settings: s, source: source, rng: rand.New(source)}
	if s.Progress != nil {
		c.record = &record{stride: 1}
	}
	c.quantity = make([]float64, len(s.Generated))
	return c
}

// stream hashes seed and chain, because PCG streams with adjacent seeds are not
// independent.
func stream(seed uint64, chain int) *rand.PCG {
	mix := func(z uint64) uint64 { return streams.Mix(z + streams.Gamma) }
	hi := mix(seed)
	return rand.NewPCG(hi, mix(hi^mix(uint64(chain))))
}

// Start gives the chain the kernel k and places the chain at the first point from
// Settings.Start that k accepts. Start returns an error if k accepts none of 100 points,
// or if Settings.Start panics. If k is interrupted, Start tries no further points and
// returns the error of k.Init.
func (c *Chain) Start(k Kernel) (err error) {
	c.kernel = k
	defer func() {
		if v := recover(); v != nil {
			err = faultOf(v)
		}
	}()
	for range startTries {
		if err = k.Init(c.settings.Start(c.index, c.rng), c.rng); err == nil || c.Interrupted() {
			return err
		}
	}
	return fmt.Errorf("mcmc: no start was found for chain %d in %d tries; the last error: %w", c.index+1, startTries, err)
}

// Finished marks a chain as complete without starting it. Call Finished if an earlier run
// completed all iterations of the chain. The arguments are the Stats of the burn-in and of
// the later iterations. Advance runs no iterations of a chain that is marked as complete.
func (c *Chain) Finished(burnIn, after Stats) {
	c.iteration = c.settings.iterations(c.settings.Draws)
	c.burnIn, c.after = burnIn, after
}

// Recall passes a draw from an earlier run to the chain, so that Progress can use this
// draw for R̂. Progress computes the R̂ of long chains from a selection of their draws.
// Recall calls draw only for the selected draws.
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

// State stores in the Archive `a` everything that is needed to continue the chain. If `a`
// is open for reading, State restores the chain from `a`. Before State can restore a
// chain, the chain must have been started with the same kind of kernel.
func (c *Chain) State(a *Archive) {
	a.Int(&c.iteration)
	a.Stats(&c.burnIn)
	a.Source(c.source)
	c.kernel.State(a)
}

// TurnState returns an earlier state of the chain, in the format that State writes. A turn
// is the group of iterations between two calls of Sink.Turn. If the chain has iterations
// left, the result is the state at the beginning of the most recent turn. If the chain has
// completed all its iterations, the result is the state before the last iteration. The
// result is nil if the chain has not begun a turn. The returned bytes are valid until the
// chain continues.
func (c *Chain) TurnState() []byte { return c.turn }

// Replay runs the chain until it has completed the given number of iterations. Replay
// keeps no draws, and calls neither the Sink nor Progress.
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

// Counts returns the Stats of the burn-in and of the later iterations.
func (c *Chain) Counts() (burnIn, after Stats) {
	if c.kernel == nil {
		return c.burnIn, c.after
	}
	return c.burnIn, c.kernel.Stats().plus(-1, c.burnIn)
}

func (c *Chain) stats() Stats {
	burnIn, after := c.Counts()
	return burnIn.plus(1, after)
}

// step reports whether the new position counts as a draw.
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
// Interruptible. An interrupted chain is in the middle of an iteration, and its State
// cannot be used.
func (c *Chain) Interrupted() bool {
	k, ok := c.kernel.(Interruptible)
	return ok && k.Interrupted()
}

// advance ends after `until` iterations, when `done` is closed, or when an iteration is
// interrupted.
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

// appendRow doubles a full slice. append grows long ones by a quarter, and copies them
// more often.
func appendRow(rows, row []float64) []float64 {
	if len(rows)+len(row) > cap(rows) {
		rows = slices.Grow(rows, max(len(row), len(rows)))
	}
	return append(rows, row...)
}

// beginTurn keeps the state from which the iterations of a turn can be repeated.
func (c *Chain) beginTurn() {
	if c.Sink != nil {
		a := Archive{buf: c.turn[:0]}
		c.State(&a)
		c.turn = a.buf
	}
}

// recordLength is the largest number of draws of a chain from which a progress report
// computes R̂. It is even: see add.
const recordLength = 1000

// A record holds one of every `stride` draws of a chain. A full one drops every other
// draw, and doubles `stride`. One goroutine adds draws while another reads them.
type record struct {
	seen int // draws offered

	mu     sync.Mutex
	stride int       // of the draws held, a power of two
	n      int       // how many are held
	draws  []float64 // one after another
}

func (r *record) wants() bool { return r.seen%r.stride == 0 } // only add changes stride

// add may get a nil draw if wants is false.
func (r *record) add(x []float64) {
	if r.wants() {
		r.mu.Lock()
		if r.n == recordLength {
			d := len(x)
			r.n /= 2
			for k := range r.n {
				copy(r.draws[k*d:(k+1)*d], r.draws[2*k*d:])
			}
			r.draws = r.draws[:r.n*d]
			r.stride *= 2 // seen is a multiple of that too
		}
		r.draws = append(r.draws, x...)
		r.n++
		r.mu.Unlock()
	}
	r.seen++
}

// faultOf makes an error of what recover returned, nil after runtime.Goexit.
func faultOf(v any) error {
	if v == nil {
		return errors.New("mcmc: a function called runtime.Goexit instead of returning")
	}
	return fmt.Errorf("mcmc: %s", text.Panic(v, debug.Stack()))
}
