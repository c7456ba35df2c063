package mcmc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Settings says how many chains to run, how long, and from where. All fields
// but Start have useful zero values.
type Settings struct {
	// Draws is the number of draws kept of each chain. Zero means 1000.
	Draws int

	// Chains is the number of chains. Zero means 4: with fewer, R̂ has
	// little to compare.
	Chains int

	// BurnIn is the number of iterations of each chain before the first
	// from which a draw may be kept. Zero means 1000, a negative value none.
	BurnIn int

	// Thin keeps one position of every Thin iterations, the last. Zero
	// means 1. Thinning saves memory and nothing else.
	Thin int

	// Seed determines, with the number of the chain, all its random numbers.
	Seed uint64

	// Start returns the point at which a chain begins, a new slice at each
	// call. It should scatter the chains more widely than the target, so
	// that their agreement in the end means something. A point where the
	// kernel cannot begin is drawn again, at most 100 times. Nil panics.
	Start func(chain int, rng *rand.Rand) []float64

	// Names are the names of the parameters. Nil means x1, x2, ….
	Names []string

	// Generated are the names of quantities to be kept with each draw beside
	// the parameters. If there are any, the kernels are Generators of that
	// many.
	Generated []string

	// MinESS, if positive, lets the chains run until the bulk effective
	// sample size, of all chains together, is at least MinESS for every
	// parameter. This is looked at whenever each chain has another Draws
	// draws, so the outcome does not depend on the number of workers. Draws
	// that stop themselves when they look good enough are a little
	// optimistic: let Draws be hundreds.
	MinESS float64

	// MaxDraws is the number of draws of each chain at which a run with
	// MinESS gives up. Zero means 100 Draws. It has no meaning without
	// MinESS.
	MaxDraws int

	// Only are the chains to run now, counted from 0, each in [0, Chains);
	// nil means all. A chain is the same whether it runs alone or with
	// others, so one study can be split over many machines.
	Only []int

	// Workers is the number of chains that advance at the same time. Zero
	// means as many as there are processors. It does not change the result.
	Workers int

	// Progress, if not nil, is told how the run is getting on, about ten
	// times a second and once at the end. Calls do not overlap, but the
	// chains may wait for them.
	Progress func(Progress)

	// Meta describes the model and whatever else is to be known of the
	// draws. Stream writes it into the files: see Field.
	Meta []Field

	// Checkpoint is the time after which Stream saves the state of a chain
	// again. Zero means 5 s. It does not change the result.
	Checkpoint time.Duration

	begins string // of Stream: see beginning
}

// startTries is the number of points at which Run tries to begin a chain. A
// prior of which one point in ten is good fails to yield one in 0.9¹⁰⁰ = 3e-5
// of cases.
const startTries = 100

// Run draws from the law that the kernels leave invariant. It calls kernel once
// for each chain, in order, and then advances the chains side by side. Each
// chain has a stream of random numbers of its own, keyed by (Seed, chain), for
// its start and its moves; so the same settings give the same bits whatever the
// number of workers, and a chain is the same whether it runs alone or with
// others.
//
// If ctx is done before the run is, Run returns ctx.Err() along with what it
// has: the chains, all cut to the number of draws of the shortest, which may be
// zero. These draws are the first ones of the uninterrupted run; how many there
// are depends on the time.
//
// It is an error, and there are no chains, if a chain finds no point to start
// from. Run panics if Start is nil, if a count is negative that may not be, if
// the kernels disagree in dimension, or if there is not one name for each
// coordinate.
func Run(ctx context.Context, kernel func(chain int) Kernel, settings Settings) (*Chains, error) {
	s := settings.withDefaults()
	chains := make([]*chain, len(s.Only))
	for i, index := range s.Only {
		chains[i] = newChain(kernel(index), s.Seed, index)
		if err := chains[i].start(s.Start); err != nil {
			return nil, err
		}
	}
	s.Names = names(s.Names, chains)

	limit := s.Draws
	if s.MinESS > 0 {
		limit = s.MaxDraws
	}
	report := newReporter(s.Progress, s.Names, len(chains)*s.iterations(limit))
	for _, c := range chains {
		c.record = report.record()
	}
	for n := min(s.Draws, limit); ; n = min(n+s.Draws, limit) {
		complete := advance(ctx, chains, s.iterations(n), &s, report)
		out := collect(chains, &s)
		enough := s.MinESS <= 0 || complete && out.minBulkESS() >= s.MinESS
		if complete && !enough && n < limit {
			continue
		}
		report.last()
		if !complete {
			return out, ctx.Err()
		}
		out.Capped = !enough
		return out, nil
	}
}

// withDefaults checks the settings and fills in what is zero.
func (s Settings) withDefaults() Settings {
	for _, c := range []struct {
		name  string
		value float64
	}{
		{"Draws", float64(s.Draws)}, {"Chains", float64(s.Chains)}, {"Thin", float64(s.Thin)}, {"MaxDraws", float64(s.MaxDraws)},
		{"Workers", float64(s.Workers)}, {"MinESS", s.MinESS}, {"Checkpoint", float64(s.Checkpoint)},
	} {
		if !(c.value >= 0) {
			panic(fmt.Sprintf("mcmc: %s is %g in Settings: want a number ≥ 0", c.name, c.value))
		}
	}
	if s.Start == nil {
		panic("mcmc: Settings without Start")
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
	if s.Checkpoint == 0 {
		s.Checkpoint = 5 * time.Second
	}
	if s.Chains > MaxChains {
		panic(fmt.Sprintf("mcmc: %d chains, want at most %d", s.Chains, MaxChains))
	}
	most := (math.MaxInt/s.Chains - s.BurnIn) / s.Thin
	if s.Draws > most {
		panic(fmt.Sprintf("mcmc: %d draws of each chain, want at most %d with Thin %d and BurnIn %d", s.Draws, most, s.Thin, s.BurnIn))
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
		panic("mcmc: Settings.Only names no chain")
	}
	seen := make(map[int]bool, len(s.Only))
	for _, i := range s.Only {
		if i < 0 || i >= s.Chains || seen[i] {
			panic(fmt.Sprintf("mcmc: chain %d in Settings.Only, want each once, of 0 to %d", i, s.Chains-1))
		}
		seen[i] = true
	}
	return s
}

// MaxChains is the largest number of chains: far more than anybody has use for,
// and few enough that a list of them is no matter.
const MaxChains = 1_000_000

// iterations returns the number of iterations after which a chain has n draws.
func (s *Settings) iterations(n int) int { return s.BurnIn + n*s.Thin }

// names checks the chains' dimensions and names their coordinates.
func names(given []string, chains []*chain) []string {
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

// stream returns the random numbers of one chain. PCG's streams of adjacent
// seeds are not independent, so seed and chain are scrambled by the finaliser
// of SplitMix64 first.
func stream(seed uint64, chain int) *rand.PCG {
	mix := func(z uint64) uint64 {
		z += 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
	hi := mix(seed)
	return rand.NewPCG(hi, mix(hi^mix(uint64(chain))))
}

// A chain is one chain under way. Its state is all that its future depends on.
type chain struct {
	index     int
	kernel    Kernel
	source    *rand.PCG // of rng
	rng       *rand.Rand
	iteration int
	burnIn    Stats     // counts up to the end of burn-in
	draws     []float64 // the kept positions, one after another
	generated []float64 // the quantities generated there
	file      *file     // if not nil, takes draws and generated
	record    *record   // if not nil, some of the draws, for the reporter
}

func newChain(k Kernel, seed uint64, index int) *chain {
	source := stream(seed, index)
	return &chain{index: index, kernel: k, source: source, rng: rand.New(source)}
}

// start places the chain at a point that the kernel takes.
func (c *chain) start(point func(int, *rand.Rand) []float64) error {
	var err error
	for range startTries {
		if err = c.kernel.Init(point(c.index, c.rng), c.rng); err == nil {
			return nil
		}
	}
	return fmt.Errorf("mcmc: chain %d found no start in %d tries, at last: %w", c.index+1, startTries, err)
}

// advance makes iterations until the chain has made the given number, or done
// is closed.
func (c *chain) advance(done <-chan struct{}, until int, s *Settings) {
	for c.iteration < until {
		select {
		case <-done:
			return
		default:
		}
		c.kernel.Step(c.rng)
		c.iteration++
		switch after := c.iteration - s.BurnIn; {
		case after <= 0:
			c.burnIn = c.kernel.Stats()
		case after%s.Thin == 0:
			c.keep(len(s.Generated))
		}
	}
}

// keep takes the present position, and the m quantities generated there, among
// the draws.
func (c *chain) keep(m int) {
	x := c.kernel.Position()
	if c.record != nil {
		c.record.add(x)
	}
	if c.file != nil {
		if m > 0 {
			c.kernel.(Generator).Generate(c.file.generated)
		}
		c.file.row(x)
		return
	}
	c.draws = append(c.draws, x...)
	if m > 0 {
		n := len(c.generated)
		c.generated = slices.Grow(c.generated, m)[:n+m]
		c.kernel.(Generator).Generate(c.generated[n:])
	}
}

// advance brings all chains to the given number of iterations and tells whether
// they got there before ctx was done.
//
// The chains take turns, in slices of some milliseconds, so that a run that is
// interrupted has chains of about equal length even where there are fewer
// workers than chains. At the end of its turn a chain that goes to a file sees
// to it; if that fails, no chain goes on.
func advance(ctx context.Context, chains []*chain, until int, s *Settings, report *reporter) bool {
	const short, long = 5 * time.Millisecond, 20 * time.Millisecond

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	queue := make(chan *chain, len(chains))
	for _, c := range chains {
		if c.file == nil {
			c.draws = slices.Grow(c.draws, (until-c.iteration)/s.Thin*len(c.kernel.Position()))
		}
		queue <- c
	}
	var under, complete atomic.Int64
	under.Store(int64(len(chains)))
	var workers sync.WaitGroup
	for range min(s.Workers, len(chains)) {
		workers.Go(func() {
			slice := 1
			for c := range queue {
				begin, from, before := time.Now(), c.iteration, c.kernel.Stats()
				c.advance(ctx.Done(), min(from+slice, until), s)
				report.add(c.iteration-from, c.kernel.Stats().plus(-1, before))
				switch took := time.Since(begin); {
				case took < short:
					slice *= 2
				case took > long:
					slice = max(1, slice/2)
				}

				if c.file != nil && !c.file.turn(c, c.iteration == until) {
					stop()
				}
				if c.iteration < until && ctx.Err() == nil {
					queue <- c // has room for every chain
					continue
				}
				if c.iteration == until {
					complete.Add(1)
				}
				if under.Add(-1) == 0 {
					close(queue)
				}
			}
		})
	}
	workers.Wait()
	return int(complete.Load()) == len(chains)
}

// collect returns the draws of all chains so far.
func collect(chains []*chain, s *Settings) *Chains {
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
