package playground

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/viz/internal/kde"
)

// A run draws what sample.Run does, with four chains whose positions can be seen
// meanwhile.
type run struct {
	posterior *bayes.Posterior
	settings  mcmc.Settings
	chains    []*chain
	pause     func() // ends the turn of the task if its time is over

	summary diag.Summary // of the first judged draws of each chain
	judged  int

	outlined [3]int   // number of draws and parameters of outlines
	outlines []points // contours
}

// newRun samples ξ, too, if p has noise. BurnIn must be a multiple of Thin.
func newRun(p *bayes.Posterior, s mcmc.Settings) *run {
	s.Workers, s.Chains = 1, 4
	return &run{posterior: p, settings: s}
}

func (r *run) draw(ctx context.Context) error {
	r.pause = progress.Pause(ctx)
	_, err := sample.Run(ctx, r.posterior, watched{sampler(r.posterior), r}, r.settings)
	if err == nil {
		r.summarise()
	}
	return err
}

func sampler(p *bayes.Posterior) sample.Sampler {
	if p.Alpha > 0 {
		return sample.PCNWithinGibbs{}
	}
	return sample.Deterministic{}
}

type watched struct {
	sample.Sampler
	run *run
}

func (w watched) Algorithm() sample.Algorithm { return w.watch(w.Sampler.Algorithm()) }

func (w watched) watch(a sample.Algorithm) sample.Algorithm {
	kernel, prepare := a.Kernel, a.Prepare
	a.Tuned = nil
	a.Kernel = func(d *bayes.Density, walk mcmc.AdaptiveMetropolis, burnIn int) mcmc.Kernel {
		k := kernel(d, walk, burnIn)
		c := &chain{Kernel: k, Generator: k.(mcmc.Generator), run: w.run}
		w.run.chains = append(w.run.chains, c)
		return c
	}
	if prepare != nil {
		a.Prepare = func(ctx context.Context, d *bayes.Density, modes func() (*bayes.Modes, error)) (sample.Algorithm, error) {
			b, err := prepare(ctx, d, modes)
			return w.watch(b), err
		}
	}
	return a
}

// A chain stores every Thin-th position, those of the burn-in, too. The summary follows
// when draws have increased by a tenth.
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
		if n := len(c.run.kept()[0]); 10*n >= 11*c.run.judged {
			c.run.summarise()
		}
	}
	c.run.pause()
}

// iterations are those that every chain has done and will do.
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

func (r *run) share() float64 {
	done, total := r.iterations()
	return float64(done) / float64(total)
}

func (r *run) made() (n int) {
	for _, c := range r.chains {
		n += c.iteration
	}
	return n
}

// kept cuts the chains to the same length.
func (r *run) kept() [][][]float64 {
	done, _ := r.iterations()
	burnIn := r.settings.BurnIn / r.settings.Thin
	n := max(0, done/r.settings.Thin-burnIn)
	all := make([][][]float64, r.settings.Chains)
	for i := 0; n > 0 && i < len(all); i++ {
		all[i] = r.chains[i].positions[burnIn : burnIn+n]
	}
	return all
}

// summarise may pause after each parameter, so that the page does not freeze.
func (r *run) summarise() {
	const fewest, most = 20, 500 // draws of a chain
	kept := r.kept()
	n := len(kept[0])
	if n < fewest {
		return
	}
	thin := (n + most - 1) / most
	var summary diag.Summary
	for i, name := range r.posterior.Names() {
		one := make([][][]float64, len(kept))
		for c, draws := range kept {
			for k := thin - 1; k < n; k += thin {
				one[c] = append(one[c], draws[k][i:i+1])
			}
		}
		summary = append(summary, diag.Summarize([]string{name}, one, nil, nil)...)
		r.pause()
	}
	r.summary, r.judged = summary, n
}

// The means of the draws are shown only if R̂ ≤ mostRHat and the effective sample size is
// at least leastESS.
const (
	mostRHat = 1.01
	leastESS = 400
)

// worst returns the smallest effective sample size and its parameter, and the largest R̂,
// which may be NaN.
func worst(s diag.Summary) (name string, ess, rhat float64) {
	ess = math.Inf(1)
	for _, m := range s {
		if n := min(m.BulkESS, m.TailESS); !(n >= ess) {
			name, ess = m.Name, n
		}
		rhat = max(rhat, m.RHat)
	}
	return name, ess, rhat
}

func enough(s diag.Summary) bool {
	_, ess, rhat := worst(s)
	return len(s) > 0 && rhat <= mostRHat && ess >= leastESS
}

// outline encloses 50 % and 90 % of the draws.
func (r *run) outline(i, j int) []points {
	const most, fewest, cells = 1000, 50, 64 // draws, effective draws
	s, now := r.summary, [3]int{r.judged, i, j}
	if r.outlined == now {
		return r.outlines
	}
	r.outlined, r.outlines = now, nil
	if len(s) == 0 || !(min(s[i].BulkESS, s[j].BulkESS) >= fewest) {
		return nil
	}
	kept := r.kept()
	each := min(r.judged, len(kept[0])) // the contours change when the summary does
	thin := (4*each + most - 1) / most
	var x, y []float64
	for _, draws := range kept {
		for k := thin - 1; k < each; k += thin {
			x, y = append(x, draws[k][i]), append(y, draws[k][j])
		}
	}
	smoother := math.Pow(max(1, float64(len(x))/min(s[i].BulkESS, s[j].BulkESS)), 1./6) // as for that many independent draws
	g, err := kde.Plane(x, y, smoother, cells)
	if err != nil {
		return nil
	}
	for _, level := range g.Levels(0.5, 0.9) {
		r.outlines = append(r.outlines, joined(g.Contour(level)))
	}
	return r.outlines
}
