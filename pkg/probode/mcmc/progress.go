package mcmc

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// A status has counts that are sums over the chains.
type status struct {
	done, total int   // iterations made, including burn-in, and the number at which the run ends at the latest
	stats       Stats // counts of the iterations made

	elapsed, left time.Duration // since the run began or was resumed, and until total; left is 0 if not yet known
	rate          float64       // iterations per second of all chains together; 0 if not yet known

	// rHat is the largest R̂ of all parameters, and the field `worst` is the name of the
	// parameter with this R̂. The values of `rHat` and `worst` may be a few seconds old. R̂
	// is computed from at most recordLength evenly spaced draws of each chain. If there are
	// fewer than four draws per chain, or all draws are equal, `rHat` is NaN and `worst` is
	// "".
	rHat  float64
	worst string

	ended bool
}

// String returns the status on one line, such as
//
//	31 200 it/s · 2 min left · accepted 0.27 · R̂ 1.04 (theta3)
func (s status) String() string {
	var parts []string
	add := func(format string, a ...any) { parts = append(parts, fmt.Sprintf(format, a...)) }
	if s.rate > 0 {
		add("%s it/s", progress.Grouped(s.rate))
	}
	switch {
	case s.ended:
		add("took %s", progress.Span(s.elapsed))
	case s.left > 0:
		add("%s left", progress.Span(s.left))
	}
	switch theta, latent := s.stats.Proposed > 0, s.stats.Latent.Proposed > 0; {
	case theta && latent:
		add("accepted %.2f, latent %.2f", s.stats.Rate(), s.stats.Latent.Rate())
	case theta:
		add("accepted %.2f", s.stats.Rate())
	case latent: // a kernel that tunes itself before its first move of θ
		add("accepted latent %.2f", s.stats.Latent.Rate())
	}
	if failed := s.stats.Failed + s.stats.Latent.Failed; failed > 0 {
		add("failed %d", failed)
	}
	if s.worst != "" {
		add("R̂ %.2f (%s)", s.rHat, text.Printable(s.worst))
	}
	return strings.Join(parts, " · ")
}

type reporter struct {
	hook    progress.Hook
	names   []string // of the parameters
	records []*record

	mu       sync.Mutex
	now      status
	meter    progress.Meter
	next     time.Time // when the hook is to be called next
	nextRHat time.Time // when R̂ is to be computed next
}

// newReporter begins at the iterations that the chains have already completed; `until` is
// the total for each chain.
func newReporter(hook progress.Hook, names []string, chains []*Chain, until int) *reporter {
	r := &reporter{hook: hook, names: names}
	r.now.rHat = math.NaN()
	for _, c := range chains {
		r.now.total += until
		r.now.done += c.iteration
		r.now.stats = r.now.stats.plus(1, c.stats())
		r.records = append(r.records, c.record)
	}
	r.meter = progress.NewMeter(time.Now(), r.now.done)
	return r
}

func (r *reporter) add(iterations int, counts Stats) {
	if r.hook == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.done += iterations
	r.now.stats = r.now.stats.plus(1, counts)
	if t := time.Now(); t.After(r.next) {
		r.update(t)
		if t.After(r.nextRHat) {
			r.worst()
			// With this delay, computing R̂ takes at most a twentieth of one worker's
			// time.
			r.nextRHat = t.Add(max(2*time.Second, 20*time.Since(t)))
		}
		r.hook(r.now.done, r.now.total, r.now.String())
		r.next = t.Add(100 * time.Millisecond)
	}
}

// last calls the hook at the end, with the iterations done as total if the run is
// complete. A panic of the hook becomes an error.
func (r *reporter) last(complete bool) (err error) {
	if r.hook == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = faultOf(v)
		}
	}()
	r.update(time.Now())
	r.worst()
	r.now.ended = true
	if complete {
		r.now.total = r.now.done // the run may have ended early
	}
	r.hook(r.now.done, r.now.total, r.now.String())
	return nil
}

func (r *reporter) update(t time.Time) {
	r.now.elapsed, r.now.rate, r.now.left = r.meter.Update(t, r.now.done, r.now.total)
}

// worst thins all records to the largest stride, and cuts them to the shortest.
func (r *reporter) worst() {
	stride, n := 1, math.MaxInt
	for _, c := range r.records {
		c.mu.Lock()
		defer c.mu.Unlock()
		stride = max(stride, c.stride)
	}
	for _, c := range r.records {
		step := stride / c.stride
		n = min(n, (c.n+step-1)/step)
	}
	r.now.rHat, r.now.worst = math.NaN(), ""
	if len(r.records) == 0 || n < 4 {
		return
	}
	x := make([][]float64, len(r.records))
	for j := range x {
		x[j] = make([]float64, n)
	}
	for i, name := range r.names {
		for j, c := range r.records {
			for k := range x[j] {
				x[j][k] = c.draws[k*(stride/c.stride)*len(r.names)+i]
			}
		}
		if rhat := diag.RHat(x); rhat > r.now.rHat || math.IsNaN(r.now.rHat) && !math.IsNaN(rhat) {
			r.now.rHat, r.now.worst = rhat, name
		}
	}
}
