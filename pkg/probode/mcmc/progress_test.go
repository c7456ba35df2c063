package mcmc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

func TestStatus(t *testing.T) {
	p := status{stats: Stats{Moves: Moves{100, 27, 0}}, rate: 31234, left: 2*time.Minute + 10*time.Second, rHat: 1.04, worst: "theta3"}
	for _, c := range []struct {
		change func()
		want   string
	}{
		{func() {}, "31 200 it/s · 2 min left · accepted 0.27 · R̂ 1.04 (theta3)"},
		{func() { p.left = 90 * time.Second }, "31 200 it/s · 90 s left · accepted 0.27 · R̂ 1.04 (theta3)"},
		{func() { p.rate, p.left = 1234567, 30*time.Hour }, "1 230 000 it/s · 30.0 h left · accepted 0.27 · R̂ 1.04 (theta3)"},
		{func() { p.rate, p.left = 0.25, 72*time.Hour }, "0.25 it/s · 3.0 d left · accepted 0.27 · R̂ 1.04 (theta3)"},
		{func() { p.stats.Latent, p.worst = Moves{10, 5, 2}, "" }, "0.25 it/s · 3.0 d left · accepted 0.27, latent 0.50 · failed 2"},
		{func() { p.ended, p.elapsed = true, 1500*time.Millisecond }, "0.25 it/s · took 1.5 s · accepted 0.27, latent 0.50 · failed 2"},
		{func() { p = status{rHat: math.NaN()} }, ""},
	} {
		c.change()
		if got := p.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A record holds every 2ᵏ-th draw, and half of its room at least.
func TestRecord(t *testing.T) {
	r := &record{stride: 1}
	for i := range 20*recordLength + 1 {
		if r.wants() {
			r.add([]float64{float64(i), -float64(i)})
		} else {
			r.add(nil)
		}
		if r.n > recordLength || i >= recordLength && r.n < recordLength/2 || len(r.draws) != 2*r.n {
			t.Fatalf("%d draws are held after %d", r.n, i+1)
		}
		if k := r.n - 1; r.draws[2*k] != float64(k*r.stride) || r.draws[2*k+1] != -float64(k*r.stride) || r.draws[0] != 0 {
			t.Fatalf("draw %d of the record is %v after %d", k, r.draws[2*k:], i+1)
		}
	}
	if r.stride != 32 {
		t.Errorf("stride %d after %d draws, want 32", r.stride, 20*recordLength+1)
	}
}

// Chains that fit into the record have in their progress the R̂ that they have in the
// Summary; of longer ones it is that of the thinned draws.
func TestProgressRHat(t *testing.T) {
	var last string
	s := Settings{Draws: recordLength, Seed: 3, Chains: 3, Progress: func(_, _ int, doing string) { last = doing },
		Start: func(int, *rand.Rand) []float64 { return []float64{8, -8} }, BurnIn: -1}
	check := func(c *Chains) {
		t.Helper()
		name, r := "", 0.
		for _, m := range c.Summary() {
			if m.RHat > r {
				name, r = m.Name, m.RHat
			}
		}
		if want := fmt.Sprintf("R̂ %.2f (%s)", r, name); !strings.HasSuffix(last, want) || !strings.Contains(last, "took") || !strings.Contains(last, "it/s") {
			t.Errorf("at the end %q, want %s", last, want)
		}
	}
	check(mustRun(t, s))
	s.Draws = 3*recordLength + 7 // every 4th
	c := mustRun(t, s)
	for j, chain := range c.Draws {
		var thinned [][]float64
		for k := 0; k < len(chain); k += 4 {
			thinned = append(thinned, chain[k])
		}
		c.Draws[j] = thinned
	}
	check(c)
}

// Chains of unequal length are compared draw by draw as far as they go.
func TestWorstOfUnequalRecords(t *testing.T) {
	r := newReporter(func(int, int, string) {}, []string{"a", "b"}, nil, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	want := make([][]float64, 3)
	for j, n := range []int{5 * recordLength, recordLength, 3 * recordLength} { // strides 8, 1, 4
		c := &record{stride: 1}
		r.records = append(r.records, c)
		for k := range n {
			v := rng.NormFloat64()
			c.add([]float64{v, v + 10*float64(j)})
			if k%8 == 0 && k < recordLength {
				want[j] = append(want[j], v+10*float64(j))
			}
		}
	}
	r.worst()
	if r.now.worst != "b" || r.now.rHat != diag.RHat(want) {
		t.Errorf("R̂ %v of %q, want %v of b", r.now.rHat, r.now.worst, diag.RHat(want))
	}
}

// Only picks chains, which stay as they are.
func TestRunOnly(t *testing.T) {
	s := Settings{Draws: 50, Chains: 4, Seed: 11}
	whole := mustRun(t, s)
	s.Only = []int{2, 0}
	part := mustRun(t, s)
	if len(part.Draws) != 2 || part.Draws[0][49][0] != whole.Draws[2][49][0] || part.Draws[1][49][1] != whole.Draws[0][49][1] {
		t.Error("a chain alone is not what it is among others")
	}
	for _, only := range [][]int{{}, {4}, {-1}, {1, 1}} {
		s.Only, s.Start = only, zero
		if _, err := Run(context.Background(), func(int) Kernel { return new(counter) }, s); err == nil {
			t.Errorf("Only %v: no error", only)
		}
	}
}

// Under a context that watches, a run without a hook of its own reports to it.
func TestProgressOfContext(t *testing.T) {
	var last [2]int
	ctx := progress.With(context.Background(), func(label string) progress.Hook {
		return func(done, total int, doing string) { last = [2]int{done, total} }
	})
	kernel := func(int) Kernel {
		return &Metropolis{Target: standard}
	}
	s := Settings{Draws: 100, BurnIn: 50, Chains: 2, Seed: 1, Start: func(int, *rand.Rand) []float64 { return []float64{0, 0} }}
	if _, err := Run(ctx, kernel, s); err != nil {
		t.Fatal(err)
	}
	if last != [2]int{300, 300} {
		t.Errorf("last told: %v, want 300 of 300 iterations", last)
	}
}
