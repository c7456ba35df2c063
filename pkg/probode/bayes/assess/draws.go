package assess

import (
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// An estimated run is what remains of one when its draws are gone.
type estimated struct {
	summed    *Inference
	estimates [measures][]moments // by quantity
}

// found returns centre and spread of quantity j in the draws.
func (d *estimated) found(by measure, j int, q quantity) moments {
	if all := d.estimates[by]; j < len(all) {
		return all[j]
	}
	return q.whole(d.summed)
}

// draws are the draws of one run, with what has been estimated from them.
type draws struct {
	estimated
	p      *bayes.Posterior
	result sample.Measurement
	first  int // draws of each chain before any were added
	all    *mcmc.Chains
	few    *mcmc.Chains // evenly spaced ones, at which the equations are solved accurately
	three  [][]float64  // three of the first draws, at which α is calibrated, too

	// raw are the log weights of few as computed so far; weights are the smoothed ones, of
	// mean 1, and effects what they say, by quantity; nil before.
	raw, weights [][]float64
	effects      [measures][]shift

	// in and fewIn are the modes of the reference posterior to which all and few belong,
	// nil if there is one part only.
	in, fewIn [][]int

	// center and log are what the draws since the preceding weighed one add to the errors
	// of centre and log spread of all draws, by measure, quantity, chain and weighed draw:
	// see measure.stretches.
	center, log [measures][][][]float64
}

// size returns the number of draws, in units of those before any were added.
func (d *draws) size() int { return len(d.all.Draws[0]) / d.first }

// A sampling makes draws and estimates what is compared.
type sampling struct {
	*plan
	*work
	modes      *found
	quantities []quantity
	weighing   float64 // seconds that accurate solutions at draws took
}

func newSampling(w *work, pl *plan, f *found) *sampling {
	return &sampling{plan: pl, work: w, modes: f, quantities: quantities(pl.assessed, f.reference)}
}

// sample runs a sampler and keeps what is needed.
func (s *sampling) sample(p *bayes.Posterior, sampler sample.Sampler, seed uint64) (*draws, error) {
	return s.run(p, sampler, s.s.Chains, seed)
}

// run is sample with other settings of the chains.
func (s *sampling) run(p *bayes.Posterior, sampler sample.Sampler, chains mcmc.Settings, seed uint64) (*draws, error) {
	chains.Seed = seed
	chains.Progress = func(done, total int, doing string) {
		s.say("%v, %s: %d %%, %s", sampler, setting(p), 100*done/max(1, total), doing)
	}
	r, err := sample.Measure(s.ctx, p, sampler, chains)
	if err != nil {
		return nil, fmt.Errorf("%v, %s: %w", sampler, setting(p), err)
	}
	if err := s.ctx.Err(); err != nil {
		return nil, err // what follows takes seconds with many draws
	}
	d := &draws{p: p, first: len(r.Chains.Draws[0])}
	if err := s.take(d, r); err != nil {
		return nil, err
	}
	if !s.s.Auto {
		d.result = sample.Measurement{} // no draws will be added: let go of its memory
	}
	return d, nil
}

// more adds draws until d has the given size.
func (s *sampling) more(d *draws, size int) (changed bool, err error) {
	if size <= d.size() {
		return false, nil
	}
	s.say("more draws, %s", setting(d.p))
	r, err := d.result.More(s.ctx, size*d.first)
	if err != nil {
		return false, fmt.Errorf("more draws, %s: %w", setting(d.p), err)
	}
	return true, s.take(d, r)
}

// take keeps what is needed of r; the earlier draws of d, if there are any, are the first
// of r.
func (s *sampling) take(d *draws, r sample.Measurement) error {
	c := r.Chains
	d.result, d.all = r, c
	d.summed = summed(r, s.assessed)
	// The weighed draws grow in proportion, and the first of them are those that were
	// weighed before.
	n := min(d.first, max(8, s.s.Weighed/len(c.Draws))) * (len(c.Draws[0]) / d.first)
	d.few = fewer(c, n)
	if len(s.quantities) > len(s.assessed) {
		var err error
		if d.in, err = modes.Assign(d.p, s.modes.reference, d.all); err != nil {
			return err
		}
		if d.fewIn, err = modes.Assign(d.p, s.modes.reference, d.few); err != nil {
			return err
		}
	}
	for by := range measures {
		d.center[by], d.log[by], d.estimates[by] = nil, nil, nil
		for _, q := range s.quantities {
			x, in := c.Parameter(q.param), belong(d.in, q.part)
			center, log := by.stretches(x, in, n)
			d.center[by], d.log[by] = append(d.center[by], center), append(d.log[by], log)
			m := q.whole(d.summed)
			if by == byQuantiles || q.part >= 0 {
				sound := m.sound
				m = by.estimate(x, in)
				// A part has too few draws if its centre is not known to a seventh of its spread.
				m.sound = sound && (q.part < 0 || m.sd/m.meanSE >= math.Sqrt(fewest))
			}
			d.estimates[by] = append(d.estimates[by], m)
		}
	}
	if d.three == nil {
		for k := range 3 {
			chain := c.Draws[k%len(c.Draws)]
			d.three = append(d.three, slices.Clone(chain[max(0, (k+1)*len(chain)/3-1)]))
		}
	}
	return nil
}

// summed returns what the report says of a run.
func summed(r sample.Measurement, assessed []int) *Inference {
	c := r.Chains
	out := &Inference{
		Sampler: r.Sampler.String(), Summary: c.Summary(), Draws: len(c.Draws[0]), Chains: len(c.Draws),
		Solves: int(math.Round(r.Work)), Seconds: r.Seconds, Drawing: r.Drawing,
	}
	var failed, proposed int
	for _, st := range c.Stats {
		failed += st.Failed + st.Latent.Failed
		proposed += st.Proposed + st.Latent.Proposed
	}
	if proposed > 0 {
		out.Failed = float64(failed) / float64(proposed)
	}
	ess := math.Inf(1)
	for _, k := range assessed {
		ess = math.Min(ess, out.Summary[k].BulkESS)
	}
	out.ESSPerSecond = ess / out.Seconds
	return out
}

// fewer returns n evenly spaced draws of each chain of c.
func fewer(c *mcmc.Chains, n int) *mcmc.Chains {
	out := &mcmc.Chains{Names: c.Names, Quantities: c.Quantities}
	for i, chain := range c.Draws {
		var x, g [][]float64
		for k := range n {
			at := (k+1)*len(chain)/n - 1
			x = append(x, slices.Clone(chain[at]))
			g = append(g, slices.Clone(c.Generated[i][at]))
		}
		out.Draws, out.Generated = append(out.Draws, x), append(out.Generated, g)
	}
	return out
}
