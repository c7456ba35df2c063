package mcmc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// run draws from a standard normal in two dimensions.
func run(ctx context.Context, s Settings) (*Chains, error) {
	if s.Start == nil {
		s.Start = func(_ int, rng *rand.Rand) []float64 { return []float64{rng.NormFloat64(), rng.NormFloat64()} }
	}
	return Run(ctx, func(int) Kernel { return &Metropolis{Target: standard} }, s)
}

func standard(x []float64) (float64, error) { return -(x[0]*x[0] + x[1]*x[1]) / 2, nil }

func mustRun(t *testing.T, s Settings) *Chains {
	t.Helper()
	c, err := run(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The same bits for any number of workers, of processors and of other chains.
func TestRunIsReproducible(t *testing.T) {
	for name, s := range map[string]Settings{
		"fixed length": {Draws: 300, Chains: 5, BurnIn: 1010, Thin: 3, Seed: 11},
		"until ESS":    {Draws: 100, Chains: 5, BurnIn: 50, Seed: 11, MinESS: 500},
	} {
		s.Workers = 1
		want := mustRun(t, s)
		for _, workers := range []int{2, 3, 8} {
			s.Workers = workers
			if got := mustRun(t, s); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %d workers give another result than one", name, workers)
			}
		}
	}

	s := Settings{Draws: 50, Chains: 5, Seed: 11}
	want := mustRun(t, s)
	s.Chains = 2
	if got := mustRun(t, s); !reflect.DeepEqual(got.Draws, want.Draws[:2]) {
		t.Error("the first chains depend on how many follow")
	}
	s.Seed++
	if got := mustRun(t, s); got.Draws[0][0][0] == want.Draws[0][0][0] {
		t.Error("another seed gives the same draw")
	}
}

// A counter is a kernel whose position is its iteration, of which every third is
// a move accepted, and that can fail to begin.
type counter struct {
	refusals int // how often Init has yet to fail
	x        []float64
	pause    time.Duration
	stats    Stats
}

func (k *counter) Init(x []float64, _ *rand.Rand) error {
	if k.refusals > 0 {
		k.refusals--
		return errors.New("refused")
	}
	k.x = []float64{x[0]}
	k.stats = Stats{}
	return nil
}

func (k *counter) Step(*rand.Rand) {
	time.Sleep(k.pause)
	k.x[0]++
	k.stats.Proposed++
	k.stats.Latent.Proposed += 2
	if k.stats.Proposed%3 == 0 {
		k.stats.Accepted++
		k.stats.Failed++
		k.stats.Latent.Accepted++
	}
}

func (k *counter) Position() []float64 { return k.x }
func (k *counter) Stats() Stats        { return k.stats }
func (k *counter) State(a *Archive)    { a.Floats(k.x); a.Stats(&k.stats) }

func zero(int, *rand.Rand) []float64 { return []float64{0} }

// Which iterations are kept, and which counted where.
func TestRunKeepsAndCounts(t *testing.T) {
	c, err := Run(context.Background(), func(int) Kernel { return new(counter) },
		Settings{Draws: 4, Chains: 2, BurnIn: 31, Thin: 5, Start: zero, Names: []string{"n"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, chain := range c.Draws {
		if want := [][]float64{{36}, {41}, {46}, {51}}; !reflect.DeepEqual(chain, want) {
			t.Errorf("draws %v, want %v", chain, want)
		}
	}
	for i := range c.Draws {
		// 10 of the first 31 iterations are divisible by 3, and 17 of 51.
		if want := (Stats{Moves{31, 10, 10}, Moves{62, 10, 0}}); c.BurnIn[i] != want {
			t.Errorf("counts of burn-in %+v, want %+v", c.BurnIn[i], want)
		}
		if want := (Stats{Moves{20, 7, 7}, Moves{40, 7, 0}}); c.Stats[i] != want {
			t.Errorf("counts after burn-in %+v, want %+v", c.Stats[i], want)
		}
	}

	c, err = Run(context.Background(), func(int) Kernel { return new(counter) }, Settings{Draws: 2, BurnIn: -1, Start: zero})
	if err != nil {
		t.Fatal(err)
	}
	if c.Draws[0][0][0] != 1 || c.BurnIn[0] != (Stats{}) || len(c.Draws) != 4 || c.Names[0] != "x1" {
		t.Errorf("without burn-in: first draw %v, burn-in %+v, %d chains, name %q", c.Draws[0][0][0], c.BurnIn[0], len(c.Draws), c.Names[0])
	}
}

func TestRunCountsFailures(t *testing.T) {
	var calls, failed atomic.Int64
	c, err := Run(context.Background(), func(int) Kernel {
		return &Metropolis{Target: func(x []float64) (float64, error) {
			calls.Add(1)
			if x[0] > 0.5 {
				failed.Add(1)
				return 0, errBeyondOne
			}
			return -x[0] * x[0] / 2, nil
		}}
	}, Settings{Start: zero, Draws: 500, BurnIn: 500, Chains: 3})
	if err != nil {
		t.Fatal(err)
	}
	var sum Stats
	for i := range c.Stats {
		sum = sum.plus(1, c.Stats[i]).plus(1, c.BurnIn[i])
	}
	// One call for each chain's start.
	if sum.Proposed != 3000 || calls.Load() != 3003 || int64(sum.Failed) != failed.Load() || sum.Failed == 0 {
		t.Errorf("%+v after %d calls of which %d failed", sum, calls.Load(), failed.Load())
	}
	if s := c.String(); !strings.Contains(s, "failed") {
		t.Errorf("the report is silent about failures:\n%s", s)
	}
}

func TestRunStart(t *testing.T) {
	// A start that is refused is drawn again.
	tries := 0
	k := &counter{refusals: 99}
	s := Settings{Draws: 1, Chains: 1, BurnIn: -1, Start: func(int, *rand.Rand) []float64 {
		tries++
		return []float64{float64(tries)}
	}}
	c, err := Run(context.Background(), func(int) Kernel { return k }, s)
	if err != nil || tries != 100 || c.Draws[0][0][0] != 101 {
		t.Errorf("%d tries, draws %v, error %v", tries, c, err)
	}
	k.refusals = 100
	c, err = Run(context.Background(), func(int) Kernel { return k }, s)
	if c != nil || err == nil || !strings.Contains(err.Error(), "chain 1") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("chains %v, error %v", c, err)
	}
}

// An interrupted run is the beginning of the whole one.
func TestRunCancelled(t *testing.T) {
	whole := mustRun(t, Settings{Draws: 20000, BurnIn: 100, Seed: 4})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	part, err := run(ctx, Settings{Draws: 1e6, BurnIn: 100, Seed: 4, Workers: 2, Progress: func(done, _ int, _ string) {
		if done > 1000 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || part == nil {
		t.Fatalf("chains %v, error %v", part, err)
	}
	n := len(part.Draws[0])
	if n >= 1e6 {
		t.Fatal("the run did not stop")
	}
	for c, chain := range part.Draws {
		m := min(n, 20000)
		if len(chain) != n || !reflect.DeepEqual(chain[:m], whole.Draws[c][:m]) {
			t.Errorf("chain %d of %d draws is not the beginning of the whole, or not as long as the first, %d", c, len(chain), n)
		}
	}

	// Before the first iteration, and within burn-in.
	cancel()
	part, err = run(ctx, Settings{})
	if !errors.Is(err, context.Canceled) || len(part.Draws) != 4 || len(part.Draws[0]) != 0 {
		t.Errorf("chains %v, error %v", part, err)
	}
	if s := part.Summary()[0]; !math.IsNaN(s.Mean) || !math.IsNaN(s.RHat) {
		t.Errorf("summary of nothing: %+v", s)
	}
}

// Chains that share a worker are interrupted at about the same length: a slice
// lasts some 20 ms at most, or one iteration. Here an iteration takes at least a
// millisecond and a slice so at most about 20 of them; the bound leaves room for
// a busy machine.
func TestRunTakesTurns(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := Run(ctx, func(int) Kernel { return &counter{pause: time.Millisecond} },
		Settings{Draws: 1e6, BurnIn: -1, Chains: 4, Workers: 1, Start: zero, Progress: func(done, _ int, _ string) {
			if done >= 400 {
				cancel()
			}
		}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for i, s := range c.Stats {
		if s.Proposed < 40 {
			t.Errorf("chain %d has made %d of more than 400 iterations", i, s.Proposed)
		}
	}
	if n := len(c.Draws[0]); n < 40 {
		t.Errorf("%d draws are left of more than 400 iterations of 4 chains", n)
	}
}

func TestRunProgress(t *testing.T) {
	var inside atomic.Int32
	var seen []int
	of, last := 0, ""
	begin := time.Now()
	_, err := Run(context.Background(), func(int) Kernel { return &counter{pause: time.Millisecond / 2} },
		Settings{Draws: 100, BurnIn: 50, Thin: 2, Chains: 3, Workers: 3, Start: zero, Progress: func(done, total int, doing string) {
			if inside.Add(1) != 1 {
				t.Error("calls overlap")
			}
			seen, of, last = append(seen, done), total, doing
			inside.Add(-1)
		}})
	if err != nil {
		t.Fatal(err)
	}
	const total = 3 * (50 + 100*2)
	if n := seen[len(seen)-1]; n != total || of != total || !strings.Contains(last, "accepted 0.33, latent 0.17 · failed 249") {
		t.Errorf("at the end %d of %d, %s: want %d iterations", n, of, last, total)
	}
	if !slices.IsSorted(seen) {
		t.Error("progress went backwards")
	}
	// One call at once, one every 100 ms, one at the end.
	if most := 2 + int(time.Since(begin)/(100*time.Millisecond)); len(seen) > most {
		t.Errorf("%d calls, want at most %d", len(seen), most)
	}
}

func TestRunMinESS(t *testing.T) {
	c := mustRun(t, Settings{Draws: 200, Seed: 9, MinESS: 600, MaxDraws: 5000})
	n := len(c.Draws[0])
	if c.Capped || n%200 != 0 || n <= 200 || n >= 5000 || !(c.minBulkESS() >= 600) {
		t.Errorf("%d draws, smallest ESS %.0f, capped %v", n, c.minBulkESS(), c.Capped)
	}
	// The blocks are those of one long run, and one block less is too little.
	long := mustRun(t, Settings{Draws: n, Seed: 9})
	if !reflect.DeepEqual(long.Draws, c.Draws) {
		t.Error("a run in blocks differs from a run at once")
	}
	if before := mustRun(t, Settings{Draws: n - 200, Seed: 9}); before.minBulkESS() >= 600 {
		t.Error("the run went on after the ESS was reached")
	}

	done, total := 0, 0
	c = mustRun(t, Settings{Draws: 200, Seed: 9, MinESS: 1e9, MaxDraws: 500, Progress: func(d, t int, _ string) { done, total = d, t }})
	if n := len(c.Draws[0]); !c.Capped || n != 500 || done != total || total != 4*1500 {
		t.Errorf("%d draws, capped %v, progress %d of %d", n, c.Capped, done, total)
	}
	if s := c.String(); !strings.Contains(s, "before the required ESS") {
		t.Errorf("the report is silent about the cap:\n%s", s)
	}
}

// Two modes 20 standard deviations apart, between which no chain passes: each
// chain looks well, together they do not. 0.1 allows for the halves' not being
// quite alike.
func TestRunChainsThatDoNotMix(t *testing.T) {
	modes := func(x []float64) (float64, error) {
		a, b := x[0]-10, x[0]+10
		return math.Max(-a*a/2, -b*b/2), nil
	}
	c, err := Run(context.Background(), func(int) Kernel { return &Metropolis{Target: modes} },
		Settings{Seed: 1, Start: func(chain int, _ *rand.Rand) []float64 { return []float64{float64(20*(chain%2) - 10)} }})
	if err != nil {
		t.Fatal(err)
	}
	// Ranks tell only that two chains lie below the other two: their normal
	// scores are the halves of a normal distribution, with means ±√(2/π) and variance
	// 1 − 2/π. Of eight half-chains B/n is then 8/7 · 2/π, and
	//	R̂ = √(1 + (16/7π)/(1 − 2/π)) = 1.73.
	if s := c.Summary()[0]; !(math.Abs(s.RHat-1.73) < 0.1) || !(s.BulkESS < 20) {
		t.Errorf("R̂ = %.2f, bulk ESS = %.0f of chains in two modes", s.RHat, s.BulkESS)
	}
	if s := c.String(); !strings.Contains(s, "the chains have not mixed for x1") {
		t.Errorf("no caution:\n%s", s)
	}
}

// The streams of neighbouring seeds and chains are unrelated: sums of products of
// 10 000 of their numbers, uniform about zero, so that a product has variance
// 1/144. 30 z-scores at 4.5: 30·2·Φ(−4.5) = 2e-4.
func TestStreams(t *testing.T) {
	const n = 10000
	numbers := func(seed uint64, chain int) []float64 {
		rng := rand.New(stream(seed, chain))
		u := make([]float64, n)
		for i := range u {
			u[i] = rng.Float64() - 0.5
		}
		return u
	}
	check := func(what string, a, b []float64) {
		var sum float64
		for i := range a {
			sum += a[i] * b[i]
		}
		if z := sum * 12 / math.Sqrt(n); math.Abs(z) > 4.5 {
			t.Errorf("%s: z = %.1f", what, z)
		}
	}
	for i := range 15 {
		check(fmt.Sprintf("chains %d, %d", i, i+1), numbers(1, i), numbers(1, i+1))
		check(fmt.Sprintf("seeds %d, %d", i, i+1), numbers(uint64(i), 0), numbers(uint64(i+1), 0))
	}
}

// What no memory has room for is an error, before it is asked for.
func TestRunTooLarge(t *testing.T) {
	if c, err := run(context.Background(), Settings{Draws: math.MaxInt / 5}); c != nil || err == nil || !strings.Contains(err.Error(), "draws of 4 chains would take") && math.MaxInt > math.MaxInt32 {
		t.Errorf("chains %v, error %v", c, err)
	}
}

func TestRunRefuses(t *testing.T) {
	kernel := func(int) Kernel { return new(counter) }
	for what, s := range map[string]Settings{
		"no start":        {},
		"negative draws":  {Draws: -1, Start: zero},
		"negative thin":   {Thin: -1, Start: zero},
		"negative ESS":    {MinESS: -1, Start: zero},
		"negative chains": {Chains: -1, Start: zero},
		"ESS NaN":         {MinESS: math.NaN(), Start: zero},
		"a million":       {Chains: 1_000_001, Start: zero},
		"overflow":        {Draws: math.MaxInt / 4, Thin: 2, Start: zero},
		"chain twice":     {Only: []int{1, 1}, Start: zero},
	} {
		if _, err := Run(context.Background(), kernel, s); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", what, err)
		}
	}
	for what, s := range map[string]Settings{
		"Start":    {Start: func(int, *rand.Rand) []float64 { panic("broke") }},
		"Progress": {Start: zero, Progress: func(int, int, string) { panic("broke") }},
		"the last": {Start: zero, Progress: func(done, total int, _ string) {
			if done == total {
				panic("broke")
			}
		}},
	} {
		for _, s.Workers = range []int{1, 3} {
			s.Draws = 50
			if _, err := Run(context.Background(), kernel, s); err == nil || !strings.Contains(err.Error(), "broke") || strings.Contains(err.Error(), "\n") {
				t.Errorf("a panic in %s, %d workers: error %v", what, s.Workers, err)
			}
		}
	}
	if _, err := Run(context.Background(), func(chain int) Kernel { return &ends{chain: chain} }, Settings{Start: zero, Workers: 2}); err == nil || !strings.Contains(err.Error(), "Goexit") {
		t.Errorf("a kernel that ends its goroutine: error %v", err)
	}
	mustPanic(t, "too many names", func() { Run(context.Background(), kernel, Settings{Names: []string{"a", "b"}, Start: zero}) })
	mustPanic(t, "different dimensions", func() {
		Run(context.Background(), func(int) Kernel { return &Metropolis{Target: func([]float64) (float64, error) { return 0, nil }} },
			Settings{Start: func(chain int, _ *rand.Rand) []float64 { return make([]float64, chain+1) }})
	})
}

// ends is a kernel that in chain 1 ends its goroutine.
type ends struct {
	counter
	chain int
}

func (k *ends) Step(rng *rand.Rand) {
	if k.chain == 1 {
		runtime.Goexit()
	}
	k.counter.Step(rng)
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	f()
}

// A run that is gone on with has the draws of one that was as long from the
// beginning, bit by bit, and going on to fewer draws than there are changes nothing.
func TestRunningExtend(t *testing.T) {
	settings := Settings{Draws: 50, BurnIn: 30, Seed: 4, Thin: 2, Start: func(_ int, rng *rand.Rand) []float64 { return []float64{rng.NormFloat64(), 1} }}
	kernel := func(int) Kernel { return &Metropolis{Target: standard} }
	long := settings
	long.Draws = 170
	want, err := Run(context.Background(), kernel, long)
	if err != nil {
		t.Fatal(err)
	}
	for _, workers := range []int{1, 3} {
		settings.Workers = workers
		r, err := Begin(kernel, settings)
		if err != nil {
			t.Fatal(err)
		}
		first, err := r.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if len(first.Draws[0]) != 50 || !reflect.DeepEqual(first.Draws[2], want.Draws[2][:50]) {
			t.Fatalf("the first %d draws are not those of the longer run", len(first.Draws[0]))
		}
		for _, n := range []int{70, 170, 20} {
			got, err := r.Extend(context.Background(), n)
			if err != nil {
				t.Fatal(err)
			}
			n = max(n, len(got.Draws[0]))
			for c := range got.Draws {
				if !reflect.DeepEqual(got.Draws[c], want.Draws[c][:n]) {
					t.Errorf("chain %d of %d draws is not that of the longer run", c, n)
				}
			}
			if n == 170 && !reflect.DeepEqual(got.Stats, want.Stats) {
				t.Errorf("counts %v, want %v", got.Stats, want.Stats)
			}
		}
	}
}
