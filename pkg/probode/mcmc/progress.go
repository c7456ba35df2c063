package mcmc

import (
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// Progress is the state of a run, summed over its chains.
type Progress struct {
	Done  int   // iterations made, burn-in included
	Total int   // iterations at which the run ends at the latest
	Stats Stats // counts of the iterations made

	// Elapsed is the time since the run began or was resumed.
	Elapsed time.Duration
	// Rate is the number of iterations per second, of all chains together, averaged
	// over about the last ten seconds. Zero means not yet known.
	Rate float64
	// Left is the time until Total at this rate, zero if the rate is not known.
	Left time.Duration

	// RHat is the largest R̂ of all parameters, and Worst the name of that parameter.
	// They are some seconds old and use at most 1000 evenly spaced draws of each chain.
	// With fewer than four draws per chain, or draws that are all equal, RHat is NaN
	// and Worst is empty.
	RHat  float64
	Worst string

	// Ended marks the last call.
	Ended bool
}

// String returns the progress on one line, such as
//
//	42 % · 31 200 it/s · 2 min left · accepted 0.27 · R̂ 1.04 (theta3)
func (p Progress) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %%", int(100*float64(p.Done)/float64(max(1, p.Total))))
	if p.Rate > 0 {
		fmt.Fprintf(&b, " · %s it/s", progress.Grouped(p.Rate))
	}
	switch {
	case p.Ended:
		fmt.Fprintf(&b, " · took %s", progress.Span(p.Elapsed))
	case p.Left > 0:
		fmt.Fprintf(&b, " · %s left", progress.Span(p.Left))
	}
	if p.Stats.Proposed > 0 {
		fmt.Fprintf(&b, " · accepted %.2f", p.Stats.Rate())
	}
	if p.Stats.Latent.Proposed > 0 {
		fmt.Fprintf(&b, ", latent %.2f", p.Stats.Latent.Rate())
	}
	if failed := p.Stats.Failed + p.Stats.Latent.Failed; failed > 0 {
		fmt.Fprintf(&b, " · failed %d", failed)
	}
	if p.Worst != "" {
		fmt.Fprintf(&b, " · R̂ %.2f (%s)", p.RHat, text.Printable(p.Worst))
	}
	return b.String()
}

// Terminal returns a hook for Settings.Progress that shows the progress on w. On a
// terminal it rewrites one line; elsewhere it writes a line every ten seconds and one at
// the end.
func Terminal(w io.Writer) func(Progress) {
	line := progress.NewLine(w)
	return func(p Progress) {
		if p.Ended {
			line.End(p.String())
		} else {
			line.Show(p.Elapsed, p.String())
		}
	}
}

// recordLength is the number of draws of each chain from which the R̂ of
// Progress is computed. It is even: see add.
const recordLength = 1000

// A record holds at most recordLength evenly spaced draws of one chain. When it is full,
// it drops every other draw and doubles its stride. One goroutine adds while another
// reads.
type record struct {
	seen int // draws offered

	mu     sync.Mutex
	stride int       // of the draws held, a power of two
	n      int       // how many they are
	draws  []float64 // one after another
}

// wants reports whether the record will hold the next draw.
func (r *record) wants() bool { return r.seen%r.stride == 0 } // only add changes stride

// add offers a draw, which may be nil if wants is false.
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

// A reporter sums up the progress of all chains and passes it on.
type reporter struct {
	hook    func(Progress)
	names   []string // of the parameters
	records []*record

	mu       sync.Mutex
	now      Progress
	meter    progress.Meter
	next     time.Time // when the hook is to be called next
	nextRHat time.Time // when R̂ is to be computed next
}

// newReporter counts what the chains have made so far, of until iterations each.
func newReporter(hook func(Progress), names []string, chains []*Chain, until int) *reporter {
	r := &reporter{hook: hook, names: names}
	r.now.RHat = math.NaN()
	for _, c := range chains {
		r.now.Total += until
		r.now.Done += c.iteration
		r.now.Stats = r.now.Stats.plus(1, c.stats())
		r.records = append(r.records, c.record)
	}
	r.meter = progress.NewMeter(time.Now(), r.now.Done)
	return r
}

func (r *reporter) add(iterations int, counts Stats) {
	if r.hook == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.Done += iterations
	r.now.Stats = r.now.Stats.plus(1, counts)
	if t := time.Now(); t.After(r.next) {
		r.update(t)
		if t.After(r.nextRHat) {
			r.worst()
			// No more than a twentieth of one worker's time.
			r.nextRHat = t.Add(max(2*time.Second, 20*time.Since(t)))
		}
		r.hook(r.now)
		r.next = t.Add(100 * time.Millisecond)
	}
}

// last reports the end. It is an error if the hook panics.
func (r *reporter) last() (err error) {
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
	r.now.Ended = true
	r.hook(r.now)
	return nil
}

// update brings the rate up to time t.
func (r *reporter) update(t time.Time) {
	r.now.Elapsed, r.now.Rate, r.now.Left = r.meter.Update(t, r.now.Done, r.now.Total)
}

// worst computes the largest R̂, with all records at the largest stride and cut to the
// shortest length.
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
	r.now.RHat, r.now.Worst = math.NaN(), ""
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
		if rhat := diag.RHat(x); rhat > r.now.RHat || math.IsNaN(r.now.RHat) && !math.IsNaN(rhat) {
			r.now.RHat, r.now.Worst = rhat, name
		}
	}
}
