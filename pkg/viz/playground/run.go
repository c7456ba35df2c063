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
	whole   bool // all draws have been made

	outlined [3]int   // number of draws and parameters of outlines
	outlines []points // contours
}

// A chain keeps every Thin-th position of one chain, burn-in included. The draws are
// summarised again whenever their number has grown by a tenth.
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
		if n := len(c.run.kept()[0]); n >= fewest && 10*n >= 11*c.run.judged {
			c.run.summarise()
		}
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
		if r.whole = err == nil; r.whole && len(r.kept()[0]) >= fewest {
			r.summarise()
		}
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

// summarise renews the summary of the draws. It rests after each parameter, because the
// page would freeze for too long during a whole summary.
func (r *run) summarise() {
	const most = 500 // draws of a chain
	kept := r.kept()
	n := len(kept[0])
	thin := (n + most - 1) / most
	var summary diag.Summary
	for i, name := range r.posterior.Names() {
		one := make([][][]float64, len(kept))
		for c, draws := range kept {
			for k := thin - 1; k < n; k += thin {
				one[c] = append(one[c], draws[k][i:i+1])
			}
		}
		summary = append(summary, diag.Summarize([]string{name}, one, nil)...)
		r.rest(false)
	}
	r.summary, r.judged = summary, n
}

// These limits say when means are shown: they require R̂ ≤ mostRHat, and at least
// leastESS effective draws.
const (
	mostRHat  = 1.01
	leastESS  = 400
	fewestESS = 50 // for contours
	fewest    = 20 // draws of a chain, for a summary
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
