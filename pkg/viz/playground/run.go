package playground

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// A run draws from a posterior with four chains, which can be watched. Its draws are
// those of sample.Run with the same settings.
type run struct {
	*task
	posterior *bayes.Posterior
	settings  mcmc.Settings
	chains    []*chain
	single    bool // pause after each iteration

	summary diag.Summary // of the first judged draws of each chain
	judged  int
	sample  [][][]float64 // draws that are being summarised; nil if none are
	judging int           // the number of draws from which they come
	next    diag.Summary  // of the first parameters of sample
	whole   bool          // all draws have been made

	outlined [3]int   // number of draws and parameters of outlines
	outlines []points // contours
}

// A chain keeps every Thin-th position of one chain, burn-in included.
type chain struct {
	mcmc.Kernel
	mcmc.Generator
	run       *run
	iteration int
	positions [][]float64
}

func (c *chain) Step(rng *rand.Rand) {
	c.Kernel.Step(rng)
	if c.iteration++; c.iteration%c.run.settings.Thin == 0 {
		c.positions = append(c.positions, slices.Clone(c.Position()))
	}
	c.run.rest(c.run.single)
}

// The type watched is a Sampler whose kernels keep their positions in a run.
type watched struct {
	sample.Sampler
	run *run
}

func (w watched) Kernel(d *bayes.Density, rule mcmc.Rule, burnIn int) mcmc.Kernel {
	k := w.Sampler.Kernel(d, rule, burnIn)
	c := &chain{Kernel: k, Generator: k.(mcmc.Generator), run: w.run}
	w.run.chains = append(w.run.chains, c)
	return c
}

func (w watched) Prepare(ctx context.Context, d *bayes.Density, modes func() (*bayes.Modes, error)) (sample.Sampler, []string, error) {
	p, ok := w.Sampler.(sample.Preparer)
	if !ok {
		return w, nil, nil
	}
	s, notes, err := p.Prepare(ctx, d, modes)
	return watched{s, w.run}, notes, err
}

// newRun prepares a run, which also samples ξ if p has noise. BurnIn must be a multiple
// of Thin.
func newRun(p *bayes.Posterior, s mcmc.Settings) *run {
	s.Workers, s.Chains = 1, 4
	r := &run{posterior: p, settings: s}
	r.task = newTask(func(ctx context.Context) error {
		_, err := sample.Run(ctx, p, watched{sampler(p), r}, s)
		r.whole = err == nil
		return err
	})
	return r
}

func sampler(p *bayes.Posterior) sample.Sampler {
	if p.Alpha > 0 {
		return sample.PCNWithinGibbs{}
	}
	return sample.Deterministic{}
}

// iterations returns the number of iterations that every chain has completed, and the
// number that a chain makes in the whole run.
func (r *run) iterations() (done, total int) {
	s := r.settings
	total = s.BurnIn + s.Draws*s.Thin
	if len(r.chains) < s.Chains {
		return 0, total
	}
	done = total
	for _, c := range r.chains {
		done = min(done, c.iteration)
	}
	return done, total
}

// progress returns the completed share of the run.
func (r *run) progress() float64 {
	done, total := r.iterations()
	return float64(done) / float64(total)
}

// The method kept returns the draws after burn-in, the same number from each chain.
func (r *run) kept() [][][]float64 {
	done, _ := r.iterations()
	burnIn := r.settings.BurnIn / r.settings.Thin
	n := max(0, done/r.settings.Thin-burnIn)
	all := make([][][]float64, r.settings.Chains)
	if n == 0 {
		return all
	}
	for i, c := range r.chains {
		all[i] = c.positions[burnIn : burnIn+n]
	}
	return all
}

// judge renews the summary of the draws whenever their number has grown by a tenth.
// Each call summarises one parameter, because the page would freeze for too long during
// a whole summary. It reports whether the summary is the last one.
func (r *run) judge() (last bool) {
	const most = 500 // draws of a chain
	kept := r.kept()
	n, names := len(kept[0]), r.posterior.Names()
	if r.sample == nil {
		if n < 20 || n == r.judged || !r.over() && 10*n < 11*r.judged {
			return r.over()
		}
		thin := (n + most - 1) / most
		r.sample, r.judging, r.next = make([][][]float64, len(kept)), n, nil
		for c, draws := range kept {
			for k := thin - 1; k < n; k += thin {
				r.sample[c] = append(r.sample[c], draws[k])
			}
		}
	}
	one := make([][][]float64, len(r.sample))
	i := len(r.next)
	for c, draws := range r.sample {
		for _, d := range draws {
			one[c] = append(one[c], d[i:i+1])
		}
	}
	r.next = append(r.next, diag.Summarize(names[i:i+1], one, nil)...)
	if len(r.next) == len(names) {
		r.summary, r.judged, r.sample = r.next, r.judging, nil
	}
	return false
}

// These limits say when means are shown: they require R̂ ≤ mostRHat, and at least
// leastESS effective draws.
const (
	mostRHat  = 1.01
	leastESS  = 400
	fewestESS = 50 // for contours
)

// The function worst returns the parameter with the fewest effective draws, and the
// largest R̂. An R̂ that is NaN counts as infinite.
func worst(s diag.Summary) (least diag.Marginal, rhat float64) {
	least.BulkESS = math.Inf(1)
	for _, m := range s {
		if ess := min(m.BulkESS, m.TailESS); !(ess >= min(least.BulkESS, least.TailESS)) || least.Name == "" {
			least = m
		}
		if rhat = max(rhat, m.RHat); rhat != rhat {
			rhat = math.Inf(1)
		}
	}
	return least, rhat
}

// The function enough reports whether means of the draws can be shown.
func enough(s diag.Summary) bool {
	if len(s) == 0 {
		return false
	}
	m, rhat := worst(s)
	return rhat <= mostRHat && min(m.BulkESS, m.TailESS) >= leastESS
}

// The method accepted returns the share of the moves of θ, and of those of ξ, that were
// accepted.
func (r *run) accepted() (theta, xi float64) {
	var sum mcmc.Stats
	for _, c := range r.chains {
		s := c.Stats()
		sum.Proposed, sum.Accepted = sum.Proposed+s.Proposed, sum.Accepted+s.Accepted
		sum.Latent.Proposed, sum.Latent.Accepted = sum.Latent.Proposed+s.Latent.Proposed, sum.Latent.Accepted+s.Latent.Accepted
	}
	return sum.Rate(), sum.Latent.Rate()
}

// The method over reports whether the run has ended, with or without all draws.
func (r *run) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (r *run) close() {
	if r != nil {
		r.stop()
	}
}
