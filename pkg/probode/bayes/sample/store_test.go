package sample_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/store"
	"github.com/probode/probode/pkg/probode/reference"
)

// streamSamplers are all that can be drawn to files.
var streamSamplers = []sample.Sampler{
	sample.Deterministic{},
	sample.NUTS{},
	sample.Tempering{Temperatures: 3},
	sample.PCNWithinGibbs{},
	sample.Hamiltonian{},
	sample.RedrawOnAccept{},
	sample.PseudoMarginal{},
	sample.PseudoMarginal{Correlation: 0.9},
	sample.PseudoMarginal{Particles: 3, Expected: true},
}

// streamModel is exponential decay with two unknowns and a missing value. Each
// evaluation of its equation is told to seen, if that is not nil.
func streamModel(seen func()) *bayes.Posterior {
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{
				{Name: "rate", Prior: bayes.Positive(1, 0.5)},
				{Name: "σ", Prior: distuv.Exponential{Rate: 5}},
			},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{
					Name: "decay", X0: []float64{1}, Theta: []float64{1}, Params: []string{"rate"}, Span: [2]float64{0, 2}, Autonomous: true,
					F: func(f []float64, _ float64, x, th []float64) {
						if seen != nil {
							seen()
						}
						f[0] = -th[0] * x[0]
					},
				},
				Data:   &bayes.Data{T: []float64{0.3, 1, 1.5, 2}, Y: [][]float64{{0.8}, {0.3}, {math.NaN()}, {0.2}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("σ")}},
			}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.25), Alpha: 0.5},
	}
}

// With fewer than 80 iterations of burn-in PseudoMarginal would spend most of its
// time on the start, which has to be found again whenever a run is taken up.
var streamSettings = mcmc.Settings{Draws: 40, Chains: 3, BurnIn: 100, Thin: 2, Seed: 5, Workers: 1,
	Start: func(_ int, rng *rand.Rand) []float64 { return []float64{0.8 + 0.4*rng.Float64(), 0.2} }}

// rule spares a sampler the search for a mode, which the tests that stop a run
// again and again would repeat.
var rule = &mcmc.AdaptiveMetropolis{}

func ruled(sampler sample.Sampler) sample.Sampler {
	switch s := sampler.(type) {
	case sample.Deterministic:
		s.Proposal = rule
		return s
	case sample.NUTS, sample.Hamiltonian, sample.Tempering:
		return s
	case sample.PCNWithinGibbs:
		s.Proposal = rule
		return s
	case sample.RedrawOnAccept:
		s.Proposal = rule
		return s
	case sample.PseudoMarginal:
		s.Proposal = rule
		return s
	}
	panic(fmt.Sprintf("no rule for %v", sampler))
}

func stream(t *testing.T, p *bayes.Posterior, sampler sample.Sampler, dir string, s mcmc.Settings) {
	t.Helper()
	if err := sample.Store(context.Background(), p, sampler, dir, s, store.Options{}); err != nil {
		t.Fatal(err)
	}
}

// sameFiles fails if two directories differ in any byte.
func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	var files [2]map[string][]byte
	for i, dir := range []string{a, b} {
		files[i] = map[string][]byte{}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if files[i][e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(files[0]) != len(files[1]) {
		t.Errorf("%d files and %d", len(files[0]), len(files[1]))
	}
	for name := range files[0] {
		if !bytes.Equal(files[0][name], files[1][name]) {
			t.Errorf("%s differs", name)
		}
	}
}

func sameBits(a, b [][][]float64) bool {
	return slices.EqualFunc(a, b, func(a, b [][]float64) bool {
		return slices.EqualFunc(a, b, func(a, b []float64) bool {
			return slices.EqualFunc(a, b, func(a, b float64) bool {
				return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
			})
		})
	})
}

func TestStreamIsSample(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, sampler := range streamSamplers {
		t.Run(fmt.Sprint(sampler), func(t *testing.T) {
			p, s, dir := streamModel(nil), streamSettings, t.TempDir()
			s.Start = nil // so that the mode is looked for
			want, err := sample.Run(context.Background(), p, sampler, s)
			if err != nil {
				t.Fatal(err)
			}
			stream(t, p, sampler, dir, s)
			got, err := store.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			if !sameBits(got.Draws, want.Draws) || !sameBits(got.Generated, want.Generated) {
				t.Error("the draws differ")
			}
			if !slices.Equal(got.Names, want.Names) || !slices.Equal(got.Quantities, want.Quantities) ||
				!slices.Equal(got.Stats, want.Stats) || !slices.Equal(got.BurnIn, want.BurnIn) {
				t.Errorf("read %v, %v, %v, %v; want %v, %v, %v, %v", got.Names, got.Quantities, got.Stats, got.BurnIn,
					want.Names, want.Quantities, want.Stats, want.BurnIn)
			}
			if _, err := bayes.LogPredictive(p, got); err != nil {
				t.Error(err)
			}
			notes := strings.Join(got.Notes, "\n")
			for _, f := range got.Meta {
				notes += "\n" + f.Key + ": " + f.Value
			}
			for _, note := range []string{"scheme: " + strings.ReplaceAll(strings.ReplaceAll(sampler.String(), ", ", ","), " ", "_"), "method: AB1", "model: decay_on_[0,2]", "prior_2: σ~Exponential{Rate:5}", "mode of the deterministic posterior"} {
				if !strings.Contains(notes, note) {
					t.Errorf("no %q in the notes\n%s", note, notes)
				}
			}
		})
	}
}

func TestStreamSplit(t *testing.T) {
	p, s, sampler := streamModel(nil), streamSettings, sample.PCNWithinGibbs{}
	s.Start = nil
	whole, merged, parts := t.TempDir(), t.TempDir(), t.TempDir()
	stream(t, p, sampler, whole, s)
	var dirs []string
	for _, k := range []int{2, 0, 1} {
		s.Only = []int{k}
		dirs = append(dirs, filepath.Join(parts, fmt.Sprint(k)))
		stream(t, p, sampler, dirs[len(dirs)-1], s)
	}
	if err := store.Merge(merged, dirs...); err != nil {
		t.Fatal(err)
	}
	sameFiles(t, whole, merged)
}

// TestStreamResumes stops runs after a random number of evaluations of f, in
// whatever that falls, and takes them up until they are finished.
func TestStreamResumes(t *testing.T) {
	rng := probode.Stream(3)
	for _, sampler := range streamSamplers {
		t.Run(fmt.Sprint(sampler), func(t *testing.T) {
			sampler, s := ruled(sampler), streamSettings
			var all, first atomic.Int64 // evaluations, on several cores
			whole, dir := t.TempDir(), t.TempDir()
			stream(t, streamModel(func() { all.Add(1) }), sampler, whole, s)
			stream(t, streamModel(func() { first.Add(1) }), sampler, whole, s) // nothing is left to draw
			before, drawing := int(first.Load()), int(all.Load()-first.Load())

			var stops int
			for {
				ctx, stop := context.WithCancel(context.Background())
				var left atomic.Int64
				left.Store(int64(1 + rng.IntN(before)))
				if rng.IntN(5) > 0 {
					left.Store(int64(before + drawing/10 + rng.IntN(drawing/3)))
				}
				err := sample.Store(ctx, streamModel(func() {
					if left.Add(-1) == 0 {
						stop()
					}
				}), sampler, dir, s, store.Options{Checkpoint: time.Nanosecond})
				stop()
				if err == nil {
					break
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				if stops++; stops == 200 {
					t.Fatal("the run does not get on")
				}
			}
			if stops < 2 {
				t.Errorf("stopped %d times, too few for a test", stops)
			}
			sameFiles(t, whole, dir)
		})
	}
}

// A run that is resumed can be stopped before it draws, and even if each solution takes
// long, the error says only that it was stopped.
func TestStreamStopsWhileItResumes(t *testing.T) {
	for _, sampler := range []sample.Sampler{sample.Deterministic{}, sample.PCNWithinGibbs{}, sample.PseudoMarginal{}} {
		sampler = ruled(sampler)
		dir := begun(t, sampler)
		for n := 1; n < 10_000; n += 1 + n/3 { // the whole run takes many more evaluations
			synctest.Test(t, func(t *testing.T) { // in which only a sleep takes time
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				var seen atomic.Int64
				s := streamSettings
				s.Draws, s.Thin = 10_000, 1
				err := sample.Store(ctx, streamModel(func() {
					if seen.Add(1) >= int64(n) {
						stop()
						time.Sleep(time.Second)
					}
				}), sampler, dir, s, store.Options{Checkpoint: time.Hour})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%v, stopped at evaluation %d: %v", sampler, n, err)
				}
			})
		}
	}
}

// begun returns a directory with a run of p that was stopped in the middle.
func begun(t *testing.T, sampler sample.Sampler) string {
	t.Helper()
	dir, s := t.TempDir(), streamSettings
	s.Draws, s.Thin = 10_000, 1
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var n atomic.Int64
	err := sample.Store(ctx, streamModel(func() {
		if n.Add(1) == 150_000 {
			stop()
		}
	}), sampler, dir, s, store.Options{Checkpoint: time.Nanosecond})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return dir
}

func TestStreamRefusesAnotherModel(t *testing.T) {
	dir := begun(t, sample.PCNWithinGibbs{Proposal: rule})
	for _, test := range []struct {
		name, want string
		change     func(p *bayes.Posterior, sampler *sample.Sampler, s *mcmc.Settings)
	}{
		{"prior", "prior_1 is rate~", func(p *bayes.Posterior, _ *sample.Sampler, _ *mcmc.Settings) {
			p.Params[0].Prior = bayes.Positive(1, 0.6)
		}},
		{"step", "step is 0.25 in the file and 0.2 now", func(p *bayes.Posterior, _ *sample.Sampler, _ *mcmc.Settings) { p.Mesh = probode.Uniform(0.2) }},
		{"data", "data is ", func(p *bayes.Posterior, _ *sample.Sampler, _ *mcmc.Settings) { p.Experiments[0].Data.Y[0][0] = 0.81 }},
		{"equations, by a rounding", "no longer gives the same numbers as before, or another processor rounds differently", func(p *bayes.Posterior, _ *sample.Sampler, _ *mcmc.Settings) {
			p.Experiments[0].Problem.F = func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] * (1 + 1e-15) }
		}},
		{"equations", "no longer gives the same numbers as before", func(p *bayes.Posterior, _ *sample.Sampler, _ *mcmc.Settings) {
			p.Experiments[0].Problem.F = func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] * 1.001 }
		}},
		{"observations", "no longer gives the same numbers as before", func(p *bayes.Posterior, _ *sample.Sampler, _ *mcmc.Settings) {
			p.Experiments[0].Observe = func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[0] + 1e-15 }
		}},
		{"sampler", "scheme is pcn,PCNWithinGibbs{Proposal:&{}} in the file", func(_ *bayes.Posterior, sampler *sample.Sampler, _ *mcmc.Settings) {
			*sampler = sample.PCNWithinGibbs{Proposal: rule, Blocks: -1}
		}},
		{"seed", "seed is 5 in the file and 6 now", func(_ *bayes.Posterior, _ *sample.Sampler, s *mcmc.Settings) { s.Seed = 6 }},
	} {
		p, sampler, s := streamModel(nil), sample.Sampler(sample.PCNWithinGibbs{Proposal: rule}), streamSettings
		s.Draws, s.Thin = 10_000, 1
		test.change(p, &sampler, &s)
		before := snapshot(t, dir)
		err := sample.Store(context.Background(), p, sampler, dir, s, store.Options{})
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("another %s: %v, want one line with %q", test.name, err, test.want)
		}
		if !slices.Equal(before, snapshot(t, dir)) {
			t.Errorf("another %s: the files have changed", test.name)
		}
	}
}

// What differs behind a pointer of a sampler is another sampler; what is equal there
// is not.
func TestStreamRefusesAnotherProposal(t *testing.T) {
	walking := func(v float64) sample.Sampler {
		return sample.PCNWithinGibbs{Proposal: &mcmc.AdaptiveMetropolis{Pull: true, Cov: mat.NewSymDense(2, []float64{v, 0, 0, v})}}
	}
	dir := begun(t, walking(0.5))
	s := streamSettings
	s.Draws, s.Thin = 10_000, 1
	before := snapshot(t, dir)
	err := sample.Store(context.Background(), streamModel(nil), walking(0.25), dir, s, store.Options{})
	if err == nil || !strings.Contains(err.Error(), "scheme is …") || !strings.Contains(err.Error(), "Data:{0.25,0,0,0.25}") || strings.Contains(err.Error(), "\n") {
		t.Errorf("another covariance: %v, want one line about the sampler", err)
	}
	if !slices.Equal(before, snapshot(t, dir)) {
		t.Error("the files have changed")
	}
	stream(t, streamModel(nil), walking(0.5), dir, s)
}

// TestStreamRefusesAnotherDensity has a model that is the same in words and at the
// points where any two are compared, but not where the chain was stopped.
func TestStreamRefusesAnotherDensity(t *testing.T) {
	sampler := sample.PCNWithinGibbs{Proposal: rule}
	dir := begun(t, sampler)
	s := streamSettings
	s.Draws, s.Thin, s.Only = 10_000, 1, []int{1}

	data, err := os.ReadFile(filepath.Join(dir, "chain-2.csv.part"))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(string(data)), "\n")
	at, err := strconv.ParseFloat(strings.Split(rows[len(rows)-1], ",")[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	p := streamModel(nil)
	f := p.Experiments[0].Problem.F
	p.Experiments[0].Problem.F = func(dst []float64, time float64, x, th []float64) {
		f(dst, time, x, th)
		if math.Abs(th[0]-at) < 1e-12 { // the transformation to the unconstrained scale and back rounds
			dst[0] *= 1 + 1e-14
		}
	}
	before := snapshot(t, dir)
	err = sample.Store(context.Background(), p, sampler, dir, s, store.Options{})
	if err == nil || !strings.Contains(err.Error(), "chain-2.state: the chain cannot be resumed: the log density at its position is ") {
		t.Errorf("%v, want another density", err)
	}
	if !slices.Equal(before, snapshot(t, dir)) {
		t.Error("the files have changed")
	}
	stream(t, streamModel(nil), sampler, dir, s)
}

// The mesh of an accurate solver needs no Method, also where a run is described.
func TestStreamWithoutMethod(t *testing.T) {
	p := streamModel(nil).SolvedBy(probode.Setup{Mesh: reference.Accurate{}})
	if p.Method != nil {
		t.Fatalf("the method is %v: want none", p.Method)
	}
	s := streamSettings
	s.Draws, s.BurnIn, s.Chains = 3, 3, 1
	if err := sample.Store(t.Context(), p, sample.Deterministic{Proposal: rule}, t.TempDir(), s, store.Options{}); err != nil {
		t.Error(err)
	}
}

func snapshot(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e.Name(), string(data))
	}
	return out
}
