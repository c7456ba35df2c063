package mcmc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"

	"github.com/probode/probode/pkg/internal/memory"
	"github.com/probode/probode/pkg/internal/progress"
)

// Settings says how many chains to run, how long, and from where. All fields except
// Start have useful zero values.
type Settings struct {
	// Draws is the number of draws kept from each chain. Zero means 1000.
	Draws int

	// Chains is the number of chains. Zero means 4; with fewer, R̂ has little to
	// compare.
	Chains int

	// BurnIn is the number of iterations that each chain makes before it keeps draws. Zero
	// means 1000; a negative value means no burn-in.
	BurnIn int

	// Thin is the number of iterations per draw: the last position of every Thin
	// iterations is kept. Zero means 1. Thinning only saves memory.
	Thin int

	// Seed and the number of a chain determine all random numbers of that chain.
	Seed uint64

	// Start returns the point at which a chain begins, as a new slice at each call. The
	// starting points should be scattered more widely than the target distribution, so
	// that agreement of the chains in the end is evidence of convergence. If the kernel
	// cannot begin at the point, Start is called again, at most 100 times in all. It must
	// not be nil.
	Start func(chain int, rng *rand.Rand) []float64

	// Names are the names of the parameters. Nil means x1, x2, ….
	Names []string

	// Generated are the names of quantities that are kept with each draw, in addition to
	// the parameters. If there are any, each kernel must be a Generator that returns that
	// many quantities.
	Generated []string

	// MinESS, if positive, lets the chains run until the bulk effective sample size of all
	// chains together is at least MinESS for every parameter. It is computed whenever each
	// chain has made another Draws draws, so the result does not depend on the number of
	// workers. Stopping as soon as this size is large enough makes its estimate a little
	// optimistic, so set Draws to a few hundred.
	MinESS float64

	// MaxDraws is the number of draws per chain at which a run with MinESS gives up. Zero
	// means 100 times Draws. Without MinESS it has no meaning.
	MaxDraws int

	// Only lists the chains to run in this call, each in [0, Chains); nil means all. A
	// chain does not depend on which others run with it, so a study can be split over many
	// machines.
	Only []int

	// Workers is the number of chains that advance at the same time. Zero
	// means as many as there are processors. It does not change the result.
	Workers int

	// Progress, if not nil, is called about ten times a second and once at the end. Its
	// arguments are the number of iterations made, the largest number that the run can
	// make, and a line of text with rates and diagnostics. At the end of a complete run
	// both numbers are equal. Calls do not overlap, and chains may wait for them.
	Progress func(done, total int, doing string)
}

// startTries is the number of points at which Run tries to begin a chain. If one in ten
// points from a prior is good, all these tries fail with probability 0.9¹⁰⁰ = 3e-5.
const startTries = 100

// Run draws from the distribution that the kernels leave invariant. It calls kernel once
// for each chain, in order, and then advances the chains side by side. Each chain draws
// its start and its moves from its own stream of random numbers, keyed by (Seed, chain).
// So the same settings give the same bits for any number of workers, and a chain does
// not depend on which others run with it.
//
// If ctx is done before the run has finished, Run returns ctx.Err() and the draws so
// far: all chains are cut to the number of draws of the shortest, which may be zero.
// They are the first draws of the uninterrupted run.
//
// Run returns an error and no chains if Start is nil, if a count is out of its range,
// or if a chain finds no point to start from. If Progress or a kernel panics, or ends
// its goroutine, the run ends with an error. Run panics if the kernels differ in
// dimension, or if the number of names differs from the number of coordinates.
func Run(ctx context.Context, kernel func(chain int) Kernel, settings Settings) (*Chains, error) {
	r, err := Begin(kernel, settings)
	if err != nil {
		return nil, err
	}
	return r.Run(ctx)
}

// Running is a run that can be extended by more draws.
type Running struct {
	s      Settings
	chains []*Chain
}

// Begin places the chains of a run at their starting points.
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

// Run makes as many draws as the settings ask for, as the function Run does.
func (r *Running) Run(ctx context.Context) (*Chains, error) {
	s := &r.s
	limit := s.Draws
	if s.MinESS > 0 {
		limit = s.MaxDraws
	}
	return r.until(ctx, min(s.Draws, limit), limit)
}

// Extend continues until each chain has the given number of draws, regardless of Draws in
// the settings. The result is the same as from a single run of that length. If the chains
// have that many draws already, none is added.
func (r *Running) Extend(ctx context.Context, draws int) (*Chains, error) {
	if draws < 0 || draws > (math.MaxInt-r.s.BurnIn)/r.s.Thin {
		panic(fmt.Sprintf("mcmc: Extend to %d draws: want a number ≥ 0 for which the number of iterations fits into an int", draws))
	}
	for _, c := range r.chains {
		draws = max(draws, (c.iteration-r.s.BurnIn)/r.s.Thin)
	}
	whole := r.s
	defer func() { r.s = whole }()
	r.s.MinESS = 0
	return r.until(ctx, draws, draws)
}

// until lets each chain make n draws. While the effective sample size is below MinESS,
// each chain then makes another s.Draws draws at a time, up to the limit.
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

// WithDefaults returns the settings with the defaults in place of zeros. It is an error
// if Start is nil, or if a count is out of its range.
func (s Settings) WithDefaults() (Settings, error) {
	for _, c := range []struct {
		name  string
		value float64
	}{
		{"Draws", float64(s.Draws)}, {"Chains", float64(s.Chains)}, {"Thin", float64(s.Thin)}, {"MaxDraws", float64(s.MaxDraws)},
		{"Workers", float64(s.Workers)}, {"MinESS", s.MinESS},
	} {
		if !(c.value >= 0) || math.IsInf(c.value, 1) {
			return s, fmt.Errorf("mcmc: %s is %g: want a number ≥ 0", c.name, c.value)
		}
	}
	if s.Start == nil {
		return s, errors.New("mcmc: Settings.Start is nil: want a function that returns a start")
	}
	if s.Draws == 0 {
		s.Draws = 1000
	}
	if s.Chains == 0 {
		s.Chains = 4
	}
	switch {
	case s.BurnIn == 0:
		s.BurnIn = 1000
	case s.BurnIn < 0:
		s.BurnIn = 0
	}
	if s.Thin == 0 {
		s.Thin = 1
	}
	if s.Workers == 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	if s.Chains > MaxChains {
		return s, fmt.Errorf("mcmc: %d chains: want at most %d", s.Chains, MaxChains)
	}
	most := (math.MaxInt/s.Chains - s.BurnIn) / s.Thin
	if s.Draws > most {
		return s, fmt.Errorf("mcmc: Draws is %d: want at most %d with Thin %d and BurnIn %d", s.Draws, most, s.Thin, s.BurnIn)
	}
	if s.MaxDraws == 0 {
		s.MaxDraws = 100 * min(s.Draws, most/100)
	}
	s.MaxDraws = min(s.MaxDraws, most)
	if s.Only == nil {
		for i := range s.Chains {
			s.Only = append(s.Only, i)
		}
	}
	if len(s.Only) == 0 {
		return s, errors.New("mcmc: Settings.Only is empty: want nil or the number of a chain")
	}
	seen := make(map[int]bool, len(s.Only))
	for _, i := range s.Only {
		if i < 0 || i >= s.Chains || seen[i] {
			return s, fmt.Errorf("mcmc: chain %d in Settings.Only: want each number from 0 to %d at most once", i, s.Chains-1)
		}
		seen[i] = true
	}
	return s, nil
}

// MaxChains is the largest number of chains: far more than anybody uses, and few enough
// for a list of them to fit into memory.
const MaxChains = 1_000_000

// iterations returns the number of iterations after which a chain has n draws.
func (s *Settings) iterations(n int) int { return s.BurnIn + n*s.Thin }

// CoordinateNames returns the names of the coordinates of the chains: those given, or x1,
// x2, … if none are given. It panics if the chains differ in dimension or there is not one
// name for each coordinate.
func CoordinateNames(given []string, chains []*Chain) []string {
	d := len(chains[0].kernel.Position())
	for _, c := range chains {
		if len(c.kernel.Position()) != d {
			panic("mcmc: chains of different dimensions")
		}
	}
	if given == nil {
		for i := range d {
			given = append(given, fmt.Sprintf("x%d", i+1))
		}
	}
	if len(given) != d {
		panic(fmt.Sprintf("mcmc: %d names for %d parameters", len(given), d))
	}
	return given
}

// collect returns the draws of all chains so far.
func collect(chains []*Chain, s *Settings) *Chains {
	out := &Chains{Names: s.Names, Quantities: s.Generated}
	d, m := len(s.Names), len(s.Generated)
	n := math.MaxInt
	for _, c := range chains {
		n = min(n, len(c.draws)/d)
	}
	for _, c := range chains {
		draws := make([][]float64, n)
		for k := range draws {
			draws[k] = c.draws[k*d : (k+1)*d : (k+1)*d]
		}
		out.Draws = append(out.Draws, draws)
		if m > 0 {
			generated := make([][]float64, n)
			for k := range generated {
				generated[k] = c.generated[k*m : (k+1)*m : (k+1)*m]
			}
			out.Generated = append(out.Generated, generated)
		}
		out.BurnIn = append(out.BurnIn, c.burnIn)
		out.Stats = append(out.Stats, c.kernel.Stats().plus(-1, c.burnIn))
	}
	return out
}
