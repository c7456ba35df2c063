package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/probode/probode/pkg/probode/mcmc"
)

// A study of so many draws is what it is however it got there: drawn at once, from
// a finished shorter one, from one that was stopped, or bit by bit.
func TestExtend(t *testing.T) {
	long := streamed(20)
	long.Draws = 500
	short := long
	short.Draws = 200
	calm := t.TempDir()
	mustStream(t, calm, long)
	want := contents(t, calm)

	finished := t.TempDir()
	mustStream(t, finished, short)
	for what, dir := range map[string]string{"a finished study": finished, "a stopped study": stopped(t, short)} {
		mustStream(t, dir, long)
		same(t, what, contents(t, dir), want)
		mustStream(t, dir, long)
		same(t, what+", again", contents(t, dir), want)
	}

	dir := t.TempDir()
	for _, draws := range []int{1, 2, 99, 250, 500} {
		s := long
		s.Draws, s.Workers = draws, 1+draws%3
		mustStream(t, dir, s)
	}
	same(t, "bit by bit", contents(t, dir), want)

	// Chain after chain, as on several machines; until the last is there the
	// files are not from the same run.
	dir = t.TempDir()
	mustStream(t, dir, short)
	for k := range 3 {
		s := long
		s.Only = []int{k}
		mustStream(t, dir, s)
		if _, err := Read(dir); (err == nil) != (k == 2) {
			t.Errorf("after chain %d: error %v", k+1, err)
		}
	}
	same(t, "chain by chain", contents(t, dir), want)

	// Merged studies can be extended, too.
	merged := filepath.Join(t.TempDir(), "merged")
	part := t.TempDir()
	mustStream(t, part, short)
	if err := Merge(merged, part); err != nil {
		t.Fatal(err)
	}
	mustStream(t, merged, long)
	same(t, "merged", contents(t, merged), want)
}

// What the disk may hold when a process is killed while it extends.
func TestExtendRareMoments(t *testing.T) {
	long := streamed(21)
	long.Draws, long.Chains = 300, 1
	short := long
	short.Draws = 100
	read := func(s setup) map[string]string {
		dir := t.TempDir()
		mustStream(t, dir, s)
		return contents(t, dir)
	}
	want, old := read(long), read(short)
	const csv, part, state = "chain-1.csv", "chain-1.csv.part", "chain-1.state"
	head, _, _ := strings.Cut(want[csv], "\nlp__")
	_, body, _ := strings.Cut(old[csv], "\nlp__")
	rows := body[:strings.Index(body, "\n# ")+1]
	longer := head + "\nlp__" + rows // the new header, the old draws
	with := func(name, data string) map[string]string {
		out := maps.Clone(old)
		out[name] = data
		return out
	}
	beside := with(part, longer)
	delete(beside, csv)
	for what, files := range map[string]map[string]string{
		"an empty lock":               with(part, ""),
		"half a new header":           with(part+".tmp", longer[:50]),
		"half of the draws":           with(part+".tmp", longer[:len(longer)-300]),
		"the new beside the old":      with(part, longer),
		"the old gone":                beside,
		"a .part of another attempt":  with(part, longer[:len(longer)-300]),
		"a .part of another attempt,": with(part, "# format = probode-draws-1\n"),
	} {
		dir := t.TempDir()
		fill(t, dir, files)
		if err := run(context.Background(), walkers(0), dir, long); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		same(t, what, contents(t, dir), want)
	}
	// Without a state, or with that of other draws, there is no end to go on from.
	refused(t, "a finished study without state", map[string]string{csv: old[csv]}, long, "chain-1.state is missing", "cannot be extended")
	refused(t, "a finished study with another's state", map[string]string{csv: old[csv], state: want[state]}, long, state, "does not contain the state of the sampler at the end of the chain")
}

// Killed at random, a hundred times, resumed with another number of workers each
// time and extended on the way, a study has the bytes of one that was left alone.
func TestKilledAndExtended(t *testing.T) {
	kills := 100
	if testing.Short() {
		kills = 25
	}
	rng := rand.New(rand.NewPCG(7, 7))
	calm, dir := t.TempDir(), t.TempDir()
	mustStream(t, calm, streamed(30)) // of 4000 draws
	begin := streamed(30)
	begin.Draws = 50
	mustStream(t, dir, begin)
	killed := 0
	for killed < kills {
		cmd, stderr := child(t, dir, 30, 1+rng.IntN(4), 40*time.Microsecond, 0)
		time.Sleep(time.Duration(rng.Float64() * 12 * float64(time.Millisecond)))
		cmd.Process.Kill()
		if err := cmd.Wait(); err == nil {
			break // it was done before
		} else if stderr.Len() > 0 {
			t.Fatalf("after %d kills: %v: %s", killed, err, stderr)
		}
		killed++
	}
	if killed < kills/2 {
		t.Errorf("%d kills, too few for a test", killed)
	}
	t.Logf("%d kills", killed)
	mustStream(t, dir, streamed(30))
	same(t, fmt.Sprintf("after %d kills", killed), contents(t, dir), contents(t, calm))
}

// Another version resumes what was begun, to the same bytes.
func TestResumeWithAnotherVersion(t *testing.T) {
	s := streamed(22)
	s.Draws, s.Chains = 200, 1
	calm := t.TempDir()
	mustStream(t, calm, s)
	dir := stopped(t, s)
	later := s
	later.Version = "v1.3.0"
	mustStream(t, dir, later)
	same(t, "resumed by another version", contents(t, dir), contents(t, calm))
	// Chains of different versions are of one run.
	s.Chains, later.Chains = 2, 2
	s.Only, later.Only = []int{0}, []int{1}
	dir = t.TempDir()
	mustStream(t, dir, s)
	mustStream(t, dir, later)
	if _, err := Read(dir); err != nil {
		t.Error(err)
	}
}

// scaled is a walker whose target is multiplied by something.
type scaled struct {
	*walker
	by float64
}

func scaledWalkers(by float64, blind bool) func(int) mcmc.Kernel {
	return func(i int) mcmc.Kernel {
		w := walkers(0)(i).(*walker)
		w.Target = func(x []float64) (float64, error) { v, _ := standard(x); return v * by, nil }
		if blind { // only what is drawn again can tell
			return &unchecked{w}
		}
		return &scaled{w, by}
	}
}

// unchecked is a walker that is no Evaluator.
type unchecked struct{ w *walker }

func (u *unchecked) Init(x []float64, rng *rand.Rand) error { return u.w.Init(x, rng) }
func (u *unchecked) Step(rng *rand.Rand)                    { u.w.Step(rng) }
func (u *unchecked) Position() []float64                    { return u.w.Position() }
func (u *unchecked) Stats() mcmc.Stats                      { return u.w.Stats() }
func (u *unchecked) State(a *mcmc.Archive)                  { u.w.State(a) }
func (u *unchecked) Generate(dst []float64)                 { u.w.Generate(dst) }

// A target that gives another number, by much or by a rounding, is refused, and the
// error says which; so is a sampler that moves in another way.
func TestResumeComparesNumbers(t *testing.T) {
	s := streamed(23)
	s.Draws, s.Chains = 300, 1
	for _, c := range []struct {
		what   string
		kernel func(int) mcmc.Kernel
		want   []string
	}{
		{"another target", scaledWalkers(1.5, false), []string{"the log density at its position is", "the model, the solver or the sampler has changed"}},
		{"a rounding", scaledWalkers(1+1e-15, false), []string{"the log density at its position is", "another processor, build or version rounds differently"}},
		{"another sampler", func(int) mcmc.Kernel {
			return &walker{mcmc.Metropolis{Target: standard, Proposal: mcmc.AdaptiveMetropolis{AdaptAfter: 50, Every: 11}}, 0}
		}, []string{"iterations leads to a different draw"}},
	} {
		dir := stopped(t, s)
		before := contents(t, dir)
		err := run(context.Background(), c.kernel, dir, s)
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", c.what, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %q, want %q in it", c.what, err, w)
			}
		}
		same(t, c.what, contents(t, dir), before)
	}

	// Without an Evaluator the last turn tells.
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	s.Progress = func(done, _ int, _ string) {
		if done > 100 {
			cancel()
		}
	}
	s.Draws = 1_000_000
	if err := run(ctx, scaledWalkers(1, true), dir, s); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	s.Progress = nil
	before := contents(t, dir)
	err := run(context.Background(), scaledWalkers(1.5, true), dir, s)
	if err == nil || !strings.Contains(err.Error(), "iterations leads to a different draw") {
		t.Errorf("another target that nobody evaluates: error %v", err)
	}
	same(t, "another target that nobody evaluates", contents(t, dir), before)
}

// A change of thin is called that.
func TestThinIsNamed(t *testing.T) {
	s := streamed(25)
	s.Draws, s.Chains = 20, 1
	dir := t.TempDir()
	mustStream(t, dir, s)
	files := contents(t, dir)
	s.Thin = 3
	refused(t, "another thin", files, s, "thin is 2 in the file and 3 now")
}
