package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/probode/probode/pkg/probode/mcmc"
)

// Some tests kill a process. It is this test program, started with the directory,
// the seed, the workers and the length of a pause in the environment: it streams
// and says when it begins.
const childVariable = "STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if args := os.Getenv(childVariable); args != "" {
		var seed uint64
		var workers, limit int
		var pause time.Duration
		var dir string
		if _, err := fmt.Sscan(args, &seed, &workers, &pause, &limit, &dir); err != nil {
			panic(err)
		}
		if limit > 0 {
			limitFiles(limit)
		}
		s := streamed(seed)
		s.Workers = workers
		fmt.Println("begin")
		if err := run(context.Background(), walkers(pause), dir, s); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child starts the process and returns when it begins to stream.
func child(t *testing.T, dir string, seed uint64, workers int, pause time.Duration, limit int) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d %d %s", childVariable, seed, workers, pause, limit, dir))
	stderr := new(bytes.Buffer)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 6))
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, stderr
}

// A setup is what Run takes beside the kernels.
type setup struct {
	mcmc.Settings
	Options
}

func run(ctx context.Context, kernel func(int) mcmc.Kernel, dir string, s setup) error {
	return Run(ctx, kernel, dir, s.Settings, s.Options)
}

// standard is the target of the standard normal distribution in two dimensions.
func standard(x []float64) (float64, error) { return -(x[0]*x[0] + x[1]*x[1]) / 2, nil }

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", what)
		}
	}()
	f()
}

// A walker is a kernel that tells more than its position, and takes its time.
type walker struct {
	mcmc.Metropolis
	pause time.Duration
}

func (w *walker) Step(rng *rand.Rand) {
	for begin := time.Now(); time.Since(begin) < w.pause; { // more exact than a sleep
	}
	w.Metropolis.Step(rng)
}

func (w *walker) Generate(dst []float64) {
	x := w.Position()
	dst[0], dst[1], dst[2] = x[0]*x[1], w.Evaluate()[0], x[0]*1e-9
}

func notes(k mcmc.Kernel) []string {
	return []string{fmt.Sprintf("accepted\n%d moves", k.Stats().Accepted)}
}

func walkers(pause time.Duration) func(int) mcmc.Kernel {
	return func(int) mcmc.Kernel {
		return &walker{mcmc.Metropolis{Target: standard, Proposal: mcmc.AdaptiveMetropolis{AdaptAfter: 50}}, pause}
	}
}

// streamed are settings of which the state is saved as often as can be.
func streamed(seed uint64) setup {
	return setup{mcmc.Settings{
		Draws: 4000, Chains: 3, BurnIn: 300, Thin: 2, Seed: seed,
		Start:     func(_ int, rng *rand.Rand) []float64 { return []float64{3 * rng.NormFloat64(), 3} },
		Names:     []string{"θ₁", "log σ, β"},
		Generated: []string{"y.1", "lp__", "y.2"},
	}, Options{Notes: notes,
		Meta:    []mcmc.Field{{Key: "model", Value: "standard normal"}, {Key: "alpha", Value: "0.2"}, {Key: "note", Value: "The chains began far off."}},
		Version: "v1.2.3", Checkpoint: 1,
	}}
}

func mustStream(t *testing.T, dir string, s setup) {
	t.Helper()
	if err := run(context.Background(), walkers(0), dir, s); err != nil {
		t.Fatal(err)
	}
}

// contents returns all files of a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(data)
	}
	return out
}

// same says in which files two directories differ.
func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %s is not the same", what, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s should not be there", what, name)
		}
	}
}

// stopped returns a directory with chains that are under way, interrupted when
// they had gone about half of the way.
func stopped(t *testing.T, s setup) string {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	steps := 0
	s.Workers = 1
	err := run(ctx, func(i int) mcmc.Kernel {
		return &observed{walkers(0)(i).(*walker), func() {
			if steps++; steps == s.Chains*(s.BurnIn+s.Draws*s.Thin)/2 {
				cancel()
			}
		}}
	}, dir, s)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v of an interrupted run", err)
	}
	if got := contents(t, dir); got["chain-1.csv.part"] == "" || got["chain-1.state"] == "" || got["chain-1.csv"] != "" {
		t.Fatal("there is no chain under way")
	}
	return dir
}

type observed struct {
	*walker
	see func()
}

func (o *observed) Step(rng *rand.Rand) { o.see(); o.walker.Step(rng) }

// What goes through files is what Run returns, for any number of workers, and the
// files are the same bytes.
func TestRunIsRun(t *testing.T) {
	s := streamed(5)
	want, err := mcmc.Run(context.Background(), walkers(0), s.Settings)
	if err != nil {
		t.Fatal(err)
	}
	var files map[string]string
	for _, workers := range []int{1, 3} {
		dir := filepath.Join(t.TempDir(), "a", "b") // is made
		s.Workers = workers
		done, of, last := 0, 0, ""
		s.Progress = func(d, t int, doing string) { done, of, last = d, t, doing }
		mustStream(t, dir, s)
		total := 3 * (300 + 2*4000)
		if done != total || of != total || !strings.Contains(last, "accepted 0.") || !strings.Contains(last, "R̂ 1.0") {
			t.Errorf("at the end %d of %d, %s: want %d iterations", done, of, last, total)
		}
		if files == nil {
			files = contents(t, dir)
			if len(files) != 6 {
				t.Errorf("%d files, want 6", len(files))
			}
		}
		same(t, "other workers", contents(t, dir), files)

		got, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Names, want.Names) || !reflect.DeepEqual(got.Draws, want.Draws) ||
			!reflect.DeepEqual(got.Stats, want.Stats) || !reflect.DeepEqual(got.BurnIn, want.BurnIn) {
			t.Error("Read does not give what Run gives")
		}
		if q := []string{"lp__", "y.1", "y.2"}; !reflect.DeepEqual(got.Quantities, q) {
			t.Errorf("quantities %q, want %q", got.Quantities, q)
		}
		for c := range got.Generated {
			for k, g := range got.Generated[c] {
				if w := want.Generated[c][k]; g[0] != w[1] || g[1] != w[0] || g[2] != w[2] {
					t.Fatalf("quantities %v of chain %d, draw %d, want %v", g, c, k, w)
				}
			}
		}
		meta := []mcmc.Field{{Key: "model", Value: "standard normal"}, {Key: "alpha", Value: "0.2"}}
		if !reflect.DeepEqual(got.Meta, meta) {
			t.Errorf("meta %q, want %q", got.Meta, meta)
		}
		notes := []string{"The chains began far off."}
		for c := range 3 {
			notes = append(notes, fmt.Sprintf("chain %d: accepted %d moves", c+1, want.Stats[c].Accepted+want.BurnIn[c].Accepted))
		}
		if !reflect.DeepEqual(got.Notes, notes) {
			t.Errorf("notes %q, want %q", got.Notes, notes)
		}

		// Once more: nothing to do, and the progress says so.
		done, last = 0, ""
		mustStream(t, dir, s)
		if done != total || !strings.Contains(last, "accepted 0.") || !strings.Contains(last, "R̂ 1.0") {
			t.Errorf("of a finished run %d, %s: want %d iterations", done, last, total)
		}
		same(t, "once more", contents(t, dir), files)
	}
}

// The form of the file, which others read.
func TestRunFormat(t *testing.T) {
	dir := t.TempDir()
	s := streamed(1<<63 + 5)
	s.Draws, s.BurnIn, s.Only = 2, -1, []int{1}
	mustStream(t, dir, s)
	text := contents(t, dir)["chain-2.csv"]
	whole, err := s.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	head, tail, _ := strings.Cut(text, "lp__,θ₁,log_σ__β,y.1,y.2\n")
	want := "# format = probode-draws-1\n# model = standard normal\n# alpha = 0.2\n# note = The chains began far off.\n" +
		"# seed = 9223372036854775813\n# start = " + beginning(whole) + "\n# chain = 2\n# num_chains = 3\n# num_samples = 4\n# num_warmup = 0\n# thin = 2\n" +
		"# probode = v1.2.3\n# go = " + runtime.Version() + "\n# arch = " + runtime.GOARCH + "\n" +
		"# num_stats = 1\n# num_params = 2\n# name.3 = \"log σ, β\"\n"
	if head != want {
		t.Errorf("the file begins with\n%s\nwant\n%s", head, want)
	}
	lines := strings.Split(tail, "\n")
	if len(lines) != 2+12+1+1+1 || strings.Count(lines[1], ",") != 4 || lines[2] != "# warmup_proposed = 0" || lines[8] != "# proposed = 4" ||
		!strings.HasPrefix(lines[14], "# note = accepted ") || !strings.HasPrefix(lines[15], "# checksum = ") || lines[16] != "" {
		t.Errorf("the file ends with\n%s", tail)
	}
}

// Killed at random moments, more than 25 times a run, a chain is in the end what
// it is without: while it is drawn slowly, and then, the pause gone, around its
// end. On a busy machine a process gets less far in the same time: where a kill
// found nothing new, the next come later.
func TestRunKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for run := range 2 {
		seed, workers := uint64(run), 1+run
		calm, dir := t.TempDir(), t.TempDir()
		mustStream(t, calm, streamed(seed))
		const slow, fast, places = 26, 8, 10
		kills, left, span := 0, fast, 8*time.Millisecond
		seen := map[string]bool{} // the states of a chain at which the kills came
		for {
			pause := 20 * time.Microsecond
			if kills >= slow && len(seen) >= places {
				pause = 0
				left--
			}
			cmd, stderr := child(t, dir, seed, workers, pause, 0)
			if left >= 0 {
				time.Sleep(time.Duration(rng.Float64() * float64(span)))
				cmd.Process.Kill()
			}
			err := cmd.Wait()
			if err == nil {
				break
			}
			if left < 0 || stderr.Len() > 0 { // it was not killed, but failed
				t.Fatalf("after %d kills: %v: %s", kills, err, stderr)
			}
			kills++
			before := len(seen)
			if state, err := os.ReadFile(filepath.Join(dir, "chain-1.state")); err == nil {
				seen[string(state)] = true
			}
			if pause > 0 && len(seen) == before {
				span += span / 10
			}
		}
		if kills < slow || len(seen) < places {
			t.Errorf("%d kills at %d states, want at least %d at %d", kills, len(seen), slow, places)
		}
		t.Logf("%d kills, which found chain 1 in %d states", kills, len(seen))
		mustStream(t, dir, streamed(seed)) // nothing is left to do
		same(t, fmt.Sprintf("run %d", run), contents(t, dir), contents(t, calm))
	}
}

// A process that is killed after it has renamed a complete file leaves its lock file. The
// next run removes it.
func TestRunRemovesTheLockOfACompleteChain(t *testing.T) {
	s := streamed(3)
	s.Draws, s.Chains = 20, 2
	dir := t.TempDir()
	mustStream(t, dir, s)
	want := contents(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "chain-2.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mustStream(t, dir, s)
	same(t, "after the second run", contents(t, dir), want)
}

// Interrupted by the context, again and again.
func TestRunCancelled(t *testing.T) {
	calm, dir := t.TempDir(), t.TempDir()
	s := streamed(2)
	mustStream(t, calm, s)
	s.Checkpoint = 0 // the interruption saves
	total := 3 * (300 + 2*4000)
	reached := 0
	for i := range 50 { // each part begins with the last turn of the one before
		ctx, cancel := context.WithCancel(context.Background())
		first, last, steps := -1, 0, 0
		s.Workers = 1
		s.Progress = func(done, _ int, _ string) {
			if first < 0 {
				first = done
			}
			last = done
		}
		err := run(ctx, func(c int) mcmc.Kernel {
			return &observed{walkers(0)(c).(*walker), func() {
				if steps++; steps == total/8 {
					cancel()
				}
			}}
		}, dir, s)
		cancel()
		if first < reached || last < first {
			t.Errorf("part %d begins at %d iterations and ends at %d, the one before ended at %d", i, first, last, reached)
		}
		reached = last
		if err == nil {
			if i < 7 {
				t.Errorf("done after %d parts, want 8", i+1)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil {
			t.Fatal("Read takes chains that are not finished")
		}
	}
	same(t, "after interruptions", contents(t, dir), contents(t, calm))
}

// The moments that a kill hits too rarely.
func TestRunRareMoments(t *testing.T) {
	s := streamed(3)
	s.Draws, s.Chains = 200, 1
	calm := t.TempDir()
	mustStream(t, calm, s)
	want := contents(t, calm)
	whole := want["chain-1.csv"]
	half := contents(t, stopped(t, s))
	for what, files := range map[string]map[string]string{
		"an empty file":                  {"chain-1.csv.part": ""},
		"half a header":                  {"chain-1.csv.part": whole[:100]},
		"draws without state behind":     {"chain-1.csv.part": half["chain-1.csv.part"] + "1,2,3\n4,", "chain-1.state": half["chain-1.state"]},
		"more behind than the end":       {"chain-1.csv.part": half["chain-1.csv.part"] + strings.Repeat("9", len(whole)), "chain-1.state": half["chain-1.state"]},
		"all written, not yet named":     {"chain-1.csv.part": whole, "chain-1.state": half["chain-1.state"]},
		"half a new state":               {"chain-1.csv.part": half["chain-1.csv.part"], "chain-1.state": half["chain-1.state"], "chain-1.state.tmp": "PROB"},
		"half a state before there is 1": {"chain-1.csv.part": "", "chain-1.state.tmp": "PROB"},
	} {
		dir := t.TempDir()
		fill(t, dir, files)
		if err := run(context.Background(), walkers(0), dir, s); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		same(t, what, contents(t, dir), want)
	}
}

func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// refused streams to a directory of the given files, and wants an error of one
// line and no change.
func refused(t *testing.T, what string, files map[string]string, s setup, words ...string) {
	t.Helper()
	dir := filepath.Join(t.TempDir())
	fill(t, dir, files)
	err := run(context.Background(), walkers(0), dir, s)
	if err == nil {
		t.Errorf("%s is not refused", what)
		return
	}
	for _, w := range append(words, "store: ") {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: error %q, want %q in it", what, err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: more than a line: %q", what, err)
	}
	same(t, what, contents(t, dir), files)
}

func TestRunRefusesDamage(t *testing.T) {
	s := streamed(4)
	s.Draws, s.Chains, s.BurnIn = 100, 1, 50
	files := contents(t, stopped(t, s))
	with := func(name, data string) map[string]string {
		out := map[string]string{}
		for k, v := range files {
			out[k] = v
		}
		out[name] = data
		return out
	}
	rng := rand.New(rand.NewPCG(4, 4))
	flip := func(data string) string {
		b := []byte(data)
		b[rng.IntN(len(b))] ^= byte(1 + rng.IntN(255))
		return string(b)
	}
	const state, part = "chain-1.state", "chain-1.csv.part"
	for i := range 200 {
		refused(t, fmt.Sprintf("flip %d of the state", i), with(state, flip(files[state])), s, state)
	}
	for i := range 50 {
		refused(t, fmt.Sprintf("flip %d of the draws", i), with(part, flip(files[part])), s, part)
		n := rng.IntN(len(files[state]))
		refused(t, fmt.Sprintf("a state cut to %d bytes", n), with(state, files[state][:n]), s, state)
		n = rng.IntN(len(files[part]))
		refused(t, fmt.Sprintf("draws cut to %d bytes", n), with(part, files[part][:n]), s, part, fmt.Sprintf("%d bytes", n))
	}
	refused(t, "a longer state", with(state, files[state]+"x"), s, state)
	without := with(state, "")
	delete(without, state)
	refused(t, "a lost state", without, s, "chain-1.state is missing")
	refused(t, "no draws", map[string]string{state: files[state]}, s, part, "0 bytes")

	// Versions, with checksums that are right.
	newer := []byte(files[state])
	newer[8]++
	n := len(newer) - 8
	binary.LittleEndian.PutUint64(newer[n:], crc64.Checksum(newer[:n], crcTable))
	refused(t, "a newer state", with(state, string(newer)), s, "the file uses version 4 of the format, but this program reads version 3")

	calm := t.TempDir()
	mustStream(t, calm, s)
	whole := contents(t, calm)["chain-1.csv"]
	reseal := func(text string) map[string]string {
		text = text[:strings.Index(text, "# checksum")]
		return map[string]string{"chain-1.csv": fmt.Sprintf("%s# checksum = %016x\n", text, crc64.Checksum([]byte(text), crcTable))}
	}
	refused(t, "newer draws", reseal(strings.Replace(whole, "draws-1", "draws-2", 1)), s, "the file uses version 2 of the format, but this program reads version 1")
	refused(t, "one draw less", reseal(whole[:strings.Index(whole, "# warmup_p")-1][:strings.LastIndex(whole[:strings.Index(whole, "# warmup_p")-1], "\n")+1]+whole[strings.Index(whole, "# warmup_p"):]), s, "99 draws: want 100")
	for i := range 100 {
		refused(t, fmt.Sprintf("flip %d of a finished chain", i), map[string]string{"chain-1.csv": flip(whole)}, s, "chain-1.csv")
		n := rng.IntN(len(whole))
		refused(t, fmt.Sprintf("a finished chain cut to %d bytes", n), map[string]string{"chain-1.csv": whole[:n]}, s, "chain-1.csv")
	}
}

// Other settings than those of the draws in the directory, of chains under way,
// finished, or of another machine.
func TestRunRefusesOtherSettings(t *testing.T) {
	s := streamed(6)
	s.Draws, s.Chains = 100, 2
	under := contents(t, stopped(t, s))
	dir := t.TempDir()
	mustStream(t, dir, s)
	finished := contents(t, dir)
	others := map[string]string{"chain-2.csv.part": under["chain-2.csv.part"], "chain-2.state": under["chain-2.state"]}
	meta := func(f ...mcmc.Field) func(*setup) { return func(s *setup) { s.Meta = f } }
	for _, c := range []struct {
		change func(*setup)
		want   string
	}{
		{func(s *setup) { s.Seed = 7 }, "seed is 6 in the file and 7 now"},
		{func(s *setup) { meta(s.Meta[0], mcmc.Field{Key: "alpha", Value: "0.3"}, s.Meta[2])(s); s.Seed = 7 }, "seed is 6 in the file and 7 now"},
		{func(s *setup) {
			start := s.Start
			s.Start = func(chain int, rng *rand.Rand) []float64 { x := start(chain, rng); x[0] += 1e-9; return x }
		}, "start is "},
		{func(s *setup) { s.Draws = 99 }, "num_samples is 200 in the file and 198 now): a study can be extended, but not shortened"},
		{func(s *setup) { s.Chains = 3 }, "num_chains is 2 in the file and 3 now"},
		{func(s *setup) { s.BurnIn = -1 }, "num_warmup is 300 in the file and 0 now"},
		{func(s *setup) { s.Draws, s.Thin = 200, 1 }, "thin is 2 in the file and 1 now"},
		{func(s *setup) { s.Names = []string{"θ₁", "log σ; β"} }, "name.3 is \"log σ, β\" in the file and \"log σ; β\" now"},
		{func(s *setup) { s.Names = []string{"θ₂", "log σ, β"} }, "column 2 is θ₁ in the file and θ₂ now"},
		{func(s *setup) { s.Generated = []string{"y.1", "y.2", "z__"} }, "column 1 is lp__ in the file and z__ now"},
		{meta(s.Meta[0], mcmc.Field{Key: "alpha", Value: "0.3"}, s.Meta[2]), "alpha is 0.2 in the file and 0.3 now"},
		{meta(s.Meta[0], s.Meta[2]), "alpha is 0.2 in the file and nothing now"},
		{meta(s.Meta[0], s.Meta[1], s.Meta[2], mcmc.Field{Key: "new", Value: "x"}), "new is nothing in the file and x now"},
		// A note follows from other settings, which tell more.
		{func(s *setup) { meta(s.Meta[0], s.Meta[1], mcmc.Field{Key: "note", Value: "Other."})(s); s.Seed = 7 }, "seed is 6 in the file and 7 now"},
		{meta(s.Meta[0], s.Meta[1], mcmc.Field{Key: "note", Value: "Other."}), "note is The chains began far off. in the file and Other. now"},
	} {
		changed := s
		c.change(&changed)
		refused(t, "a chain under way with other settings", under, changed, "chain-1.csv.part", c.want)
		refused(t, "a finished chain with other settings", finished, changed, "chain-1.csv", c.want)
		changed.Only = []int{0}
		refused(t, "another's chain with other settings", others, changed, "chain-2.csv.part", c.want)
	}
	// A chain under the name of another, in either condition.
	swapped := map[string]string{"chain-1.csv.part": under["chain-2.csv.part"], "chain-1.state": under["chain-2.state"]}
	refused(t, "a chain under another's name", swapped, s, "chain-1.csv.part contains chain 2")
	refused(t, "a chain under another's name", map[string]string{"chain-1.csv": finished["chain-2.csv"]}, s, "chain-1.csv contains chain 2")

	// Another kernel.
	dir = t.TempDir()
	fill(t, dir, under)
	err := run(context.Background(), func(i int) mcmc.Kernel {
		return &walker{mcmc.Metropolis{Target: standard, Proposal: mcmc.AdaptiveMetropolis{Pull: true}}, 0}
	}, dir, s)
	if err == nil || !strings.Contains(err.Error(), "store: the sampler cannot read "+filepath.Join(dir, "chain-1.state")) {
		t.Errorf("error %v for another kernel", err)
	}
	same(t, "another kernel", contents(t, dir), under)
}

// One process on a chain at a time; kill -9 lifts the lock.
func TestRunLock(t *testing.T) {
	dir, calm := t.TempDir(), t.TempDir()
	cmd, _ := child(t, dir, 8, 2, time.Millisecond, 0)
	for !exists(filepath.Join(dir, "chain-3.state")) {
		time.Sleep(time.Millisecond)
	}
	s := streamed(8)
	for _, only := range [][]int{nil, {2}} {
		s.Only = only
		err := run(context.Background(), walkers(0), dir, s)
		if err == nil || !strings.Contains(err.Error(), ".csv: another process is already working on this chain") {
			t.Errorf("error %v for a chain that another process draws", err)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	s.Only = nil
	mustStream(t, dir, s)
	mustStream(t, calm, s)
	same(t, "after the lock", contents(t, dir), contents(t, calm))

	// Two calls of one process, on different chains, get on.
	a, b := s, s
	a.Only, b.Only = []int{0, 2}, []int{1}
	dir = t.TempDir()
	result := make(chan error)
	go func() { result <- run(context.Background(), walkers(0), dir, a) }()
	mustStream(t, dir, b)
	if err := <-result; err != nil {
		t.Error(err)
	}
	same(t, "two at a time", contents(t, dir), contents(t, calm))
}

// Chains drawn apart and merged are those of one run.
func TestMerge(t *testing.T) {
	s := streamed(9)
	s.Draws, s.Chains = 200, 4
	for _, workers := range []int{1, 3} {
		s.Workers = workers
		s.Only = nil
		calm := t.TempDir()
		mustStream(t, calm, s)
		var dirs []string
		for _, only := range [][]int{{2}, {3, 0}, {1}} {
			s.Only = only
			dirs = append(dirs, t.TempDir())
			mustStream(t, dirs[len(dirs)-1], s)
		}
		dst := filepath.Join(t.TempDir(), "all")
		if err := Merge(dst, dirs[:2]...); err == nil || !strings.Contains(err.Error(), "lacks 1 of the 4 chains: chain-2.csv") || exists(dst) {
			t.Errorf("error %v for a missing chain", err)
		}
		for range 2 { // again does no harm
			if err := Merge(dst, dirs...); err != nil {
				t.Fatal(err)
			}
			same(t, "merged", contents(t, dst), contents(t, calm))
		}
		if err := Merge(dst); err != nil {
			t.Error(err)
		}
		// Into one of the sources.
		if err := Merge(dirs[0], dirs...); err != nil {
			t.Error(err)
		}
		same(t, "merged in place", contents(t, dirs[0]), contents(t, calm))
		got, err := Read(dst)
		if err != nil || len(got.Draws) != 4 {
			t.Errorf("error %v in reading what was merged", err)
		}
		part, err := Read(dirs[1], 3, 0)
		if err != nil || !reflect.DeepEqual(part.Draws, [][][]float64{got.Draws[0], got.Draws[3]}) {
			t.Errorf("error %v, or other draws, in reading two of four chains", err)
		}
		if _, err := Read(dirs[1], 3, 1); err == nil || !strings.Contains(err.Error(), "chain-2.csv is missing or not finished") {
			t.Errorf("error %v in reading a chain that is not there", err)
		}
	}
}

func TestReadAndMergeRefuse(t *testing.T) {
	s := streamed(10)
	s.Draws, s.Chains = 50, 3
	dir := t.TempDir()
	mustStream(t, dir, s)
	good := contents(t, dir)
	s.Seed++
	dir = t.TempDir()
	mustStream(t, dir, s)
	other := contents(t, dir)
	one, two, three := good["chain-1.csv"], good["chain-2.csv"], good["chain-3.csv"]
	for what, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":           {map[string]string{}, "no files called chain-1.csv, chain-2.csv, … were found in"},
		"one not finished":  {map[string]string{"chain-2.csv.part": two[:400], "chain-3.csv": three}, "lacks 2 of the 3 chains: chain-1.csv, chain-2.csv (not finished)"},
		"none finished":     {map[string]string{"chain-2.csv.part": two[:400]}, "no chain in"},
		"another seed":      {map[string]string{"chain-1.csv": one, "chain-2.csv": other["chain-2.csv"], "chain-3.csv": three}, "seed is 10 in the first and 11 in the second"},
		"damaged":           {map[string]string{"chain-1.csv": one, "chain-2.csv": two[:600] + "x" + two[601:], "chain-3.csv": three}, "chain-2.csv cannot be used"},
		"truncated":         {map[string]string{"chain-1.csv": one[:800], "chain-2.csv": two, "chain-3.csv": three}, "chain-1.csv cannot be used: the file ends too early"},
		"empty":             {map[string]string{"chain-1.csv": ""}, "chain-1.csv cannot be used: the file ends too early"},
		"not ours":          {map[string]string{"chain-1.csv": "a,b\n1,2\n"}, "chain-1.csv cannot be used: the file has no header"},
		"of another maker":  {map[string]string{"chain-1.csv": "# stan = 2\na,b\n1,2\n"}, "want “format = probode-draws-1”"},
		"under a wrong one": {map[string]string{"chain-1.csv": two, "chain-2.csv": two, "chain-3.csv": three}, "contains chain 2 of 3"},
		"one too many":      {map[string]string{"chain-4.csv": one}, "contains chain 1 of 3"},
	} {
		dir := t.TempDir()
		fill(t, dir, c.files)
		got, err := Read(dir)
		if got != nil || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: Read gives %v, want %q", what, err, c.want)
		}
		dst := filepath.Join(t.TempDir(), "all")
		if err := Merge(dst, dir); err == nil || !strings.Contains(err.Error(), c.want) || exists(dst) {
			t.Errorf("%s: Merge gives %v, want %q", what, err, c.want)
		}
	}
	if _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v for a directory that is not there", err)
	}

	// The same chain twice with other draws, and what is no chain.
	a, b := t.TempDir(), t.TempDir()
	fill(t, a, good)
	fill(t, a, map[string]string{"chain-01.csv": "x", "chain-x.csv": "x", "notes.csv": "x", "chain-1.csv.tmp123": "x"})
	text := strings.Replace(two[:strings.Index(two, "# checksum")], "# note = accepted ", "# note = accepted 1", 1)
	fill(t, b, map[string]string{"chain-2.csv": fmt.Sprintf("%s# checksum = %016x\n", text, crc64.Checksum([]byte(text), crcTable))})
	if _, err := Read(a); err != nil {
		t.Error(err)
	}
	if err := Merge(filepath.Join(t.TempDir(), "all"), a, b); err == nil || !strings.Contains(err.Error(), "contain different draws of the same chain") {
		t.Errorf("error %v for a chain with other draws", err)
	}
}

// A run ten times as long takes no more memory. In memory its 90 000 further
// draws of 5 numbers would be 3.6 MB a chain. What may differ is the buffers of
// the files, 64 kB and a row each that grow by doubling, and what the runtime does
// beside; 0.5 MB is a seventh of one chain's draws.
func TestRunMemory(t *testing.T) {
	heap := func(draws int) float64 {
		var in runtime.MemStats
		err := run(context.Background(), func(int) mcmc.Kernel { return &counters{} }, t.TempDir(), setup{Settings: mcmc.Settings{
			Draws: draws, Chains: 2, BurnIn: -1, Start: func(int, *rand.Rand) []float64 { return make([]float64, 5) },
			Progress: func(done, total int, _ string) {
				if done == total {
					runtime.GC()
					runtime.ReadMemStats(&in)
				}
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return float64(in.HeapAlloc)
	}
	heap(1000)
	short, long := heap(10000), heap(100000)
	t.Logf("%.2f MB, and %.2f MB for ten times the length", short/1e6, long/1e6)
	if long > short+0.5e6 {
		t.Errorf("the heap grows from %.2f to %.2f MB", short/1e6, long/1e6)
	}
}

// counters is a kernel in five dimensions that costs nothing.
type counters struct{ x []float64 }

func (k *counters) Init(x []float64, _ *rand.Rand) error { k.x = slices.Clone(x); return nil }
func (k *counters) Step(*rand.Rand)                      { k.x[0]++ }
func (k *counters) Position() []float64                  { return k.x }
func (k *counters) Stats() mcmc.Stats                    { return mcmc.Stats{} }
func (k *counters) State(a *mcmc.Archive)                { a.Floats(k.x) }

// Writing a draw allocates nothing.
func TestRunRowAllocates(t *testing.T) {
	l, err := newLayout([]string{"a", "b"}, []string{"c", "d__"})
	if err != nil {
		t.Fatal(err)
	}
	f := &file{layout: l, err: errors.New("no file")}
	generated := []float64{1.0 / 3, math.Pi}
	x := []float64{1e-300, -math.Sqrt2}
	for range 2000 {
		f.Keep(x, generated)
	}
	if n := testing.AllocsPerRun(2000, func() { f.Keep(x, generated) }); n != 0 {
		t.Errorf("%v allocations a draw", n)
	}
}

func TestColumnNames(t *testing.T) {
	for _, c := range []struct{ names, want []string }{
		{[]string{"alpha", "θ₁", "x'"}, []string{"alpha", "θ₁", "x_"}},
		{[]string{"log sd", "a,b", "a#b", "1/phi", "", "draw", "\"q\"", "a\tb"}, []string{"log_sd", "a_b", "a_b", "1_phi", "_", "draw_", "_q_", "a_b"}},
		{[]string{"y.1", "y.2", "y.3"}, []string{"y.1", "y.2", "y.3"}},
		{[]string{"a.1.1", "a.2.1", "a.1.2", "a.2.2"}, []string{"a.1.1", "a.2.1", "a.1.2", "a.2.2"}},
		{[]string{"y.1", "y.3"}, []string{"y_1", "y_3"}},                             // ArviZ would fill in a zero
		{[]string{"y", "y.1", "y.2"}, []string{"y", "y_1", "y_2"}},                   // a number and an array
		{[]string{"y.1", "y.2.1"}, []string{"y_1", "y_2_1"}},                         // of unequal rank
		{[]string{"rate.fast", "k.0", "k.01"}, []string{"rate_fast", "k_0", "k_01"}}, // no indices
		{[]string{"z.1__", "y.+1", "."}, []string{"z_1_", "y_+1", "_"}},
		{[]string{"theta__", "lp__"}, []string{"theta_", "lp__"}}, // a parameter is no sample statistic
	} {
		if got := columnNames(c.names, 0, len(c.names)-1); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q become %q, want %q", c.names, got, c.want)
		}
	}
	if _, err := newLayout([]string{"a b", "c"}, []string{"a,b"}); err == nil || !strings.Contains(err.Error(), `"a b" and "a,b" would both be called "a_b"`) {
		t.Errorf("error %v for names that are one", err)
	}
}

func TestRunMeta(t *testing.T) {
	s := streamed(1)
	for _, c := range []struct {
		meta []mcmc.Field
		want string
	}{
		{[]mcmc.Field{{Key: "", Value: "x"}}, `key ""`},
		{[]mcmc.Field{{Key: "my key", Value: "x"}}, `key "my key"`},
		{[]mcmc.Field{{Key: "seed", Value: "x"}}, `key "seed" in Options.Meta is reserved`},
		{[]mcmc.Field{{Key: "save_warmup", Value: "1"}}, "save_warmup"},
		{[]mcmc.Field{{Key: "a", Value: "1"}, {Key: "a", Value: "2"}}, `key "a" occurs twice`},
		{[]mcmc.Field{{Key: "a", Value: "1\n2"}}, "want one line"},
		{[]mcmc.Field{{Key: "a", Value: " 1"}}, "want one line"},
		{[]mcmc.Field{{Key: "a", Value: "\xff"}}, "want valid UTF-8"},
	} {
		s.Meta = c.meta
		dir := filepath.Join(t.TempDir(), "new")
		if err := run(context.Background(), walkers(0), dir, s); err == nil || !strings.Contains(err.Error(), c.want) || exists(dir) {
			t.Errorf("error %v for %q, want %q", err, c.meta, c.want)
		}
	}
	s.Meta = nil
	for _, version := range []string{"v1\n2", "v1\n", " v1", "v1\r", "\x1b[2J", "v\xff", "a\u2028b"} {
		s.Version = version
		dir := filepath.Join(t.TempDir(), "new")
		if err := run(context.Background(), walkers(0), dir, s); err == nil || !strings.Contains(err.Error(), "Options.Version is ") || exists(dir) {
			t.Errorf("error %v for the version %q", err, version)
		}
	}
	s.Version = ""
	s.MinESS = 100
	mustPanic(t, "MinESS", func() { run(context.Background(), walkers(0), t.TempDir(), s) })
}

// Every number comes back as it was.
func TestRowsAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	l, err := newLayout([]string{"a", "b"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tab := &table{columns: l.columns}
	for i := range 10000 {
		x := []float64{math.Float64frombits(rng.Uint64()), []float64{math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.MaxFloat64, 5e-324}[i%5]}
		line := l.appendRow(nil, x, nil)
		got, err := tab.parse(nil, bytes.TrimSuffix(line, []byte("\n")), 2)
		if err != nil {
			t.Fatal(err)
		}
		for k := range x {
			if math.Float64bits(got[k]) != math.Float64bits(x[k]) && !(math.IsNaN(x[k]) && math.IsNaN(got[k])) {
				t.Fatalf("%s gives %v, want %v", line, got, x)
			}
		}
	}
	for _, line := range []string{"1", "1,2,3", "1,x", "1,"} {
		if _, err := tab.parse(nil, []byte(line), 2); err == nil {
			t.Errorf("%q is taken for a draw of two numbers", line)
		}
	}
}
