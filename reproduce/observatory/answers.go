package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// The difference between the answers of coarse solvers and of an accurate one, and the cost.

// An answer is a row of the second table: a posterior, a remedy and a step.
type answer struct {
	question, remedy, status string
	step, alpha              float64
	parameter                string  // the parameter with the largest bias
	bias, biasSE             float64 // bias of its mean, in accurate sd
	narrowest, widest        float64 // smallest and largest ratio of sds over parameters
	variation, floor         float64 // mean total variation of the marginals; the same for equal distributions
	rhat, khat, ess          float64
	solves                   float64 // cost of a draw, in coarse solves
	preparation, seconds     float64 // time before the first draw; total time for 1000 effective draws
	work                     float64 // cost of 1000 effective draws, in solves at the coarsest step
}

func (a *answer) fields() (names []string, at []any) {
	add := func(name string, p any) { names, at = append(names, name), append(at, p) }
	add("posterior", &a.question)
	add("remedy", &a.remedy)
	add("status", &a.status)
	add("step", &a.step)
	add("alpha", &a.alpha)
	add("parameter", &a.parameter)
	add("bias_in_sd", &a.bias)
	add("bias_se", &a.biasSE)
	add("sd_ratio_least", &a.narrowest)
	add("sd_ratio_most", &a.widest)
	add("total_variation", &a.variation)
	add("total_variation_of_equals", &a.floor)
	add("rhat", &a.rhat)
	add("khat", &a.khat)
	add("effective_draws", &a.ess)
	add("solves_a_draw", &a.solves)
	add("preparation_seconds", &a.preparation)
	add("seconds_1000_effective", &a.seconds)
	add("work_1000_effective", &a.work)
	return names, at
}

// bins is the number of bins for the total variation, of equal probability under the
// accurate posterior.
const bins = 10

// compare computes the difference between the draws and the accurate ones.
func (a *answer) compare(accurate, got *mcmc.Chains) {
	as, gs := accurate.Summary(), got.Summary()
	a.narrowest, a.widest, a.bias, a.ess = math.Inf(1), 0, 0, math.Inf(1)
	a.variation, a.floor, a.rhat, a.khat = 0, 0, 0, math.NaN()
	if got.LogWeights != nil {
		a.khat = got.KHat
	}
	for i, r := range as {
		g := gs[i]
		bias := (g.Mean - r.Mean) / r.SD
		if math.Abs(bias) >= math.Abs(a.bias) || a.parameter == "" {
			a.parameter, a.bias = r.Name, bias
			a.biasSE = math.Sqrt(g.MCSE*g.MCSE+r.MCSE*r.MCSE+bias*bias*r.MCSESD*r.MCSESD) / r.SD
		}
		a.narrowest, a.widest = min(a.narrowest, g.SD/r.SD), max(a.widest, g.SD/r.SD)
		a.ess, a.rhat = min(a.ess, g.BulkESS), max(a.rhat, g.RHat)
		tv := totalVariation(column(accurate, i), column(got, i), weights(got))
		a.variation += tv / float64(len(as))
		// The mean of ½ Σ|p̂ − p| over bins of probability 1/bins.
		p := 1. / bins
		a.floor += bins / 2 * math.Sqrt(2/math.Pi*p*(1-p)*(1/g.BulkESS+1/r.BulkESS)) / float64(len(as))
	}
}

func column(c *mcmc.Chains, i int) []float64 {
	var out []float64
	for _, chain := range c.Parameter(i) {
		out = append(out, chain...)
	}
	return out
}

// weights returns the weights of all draws, nil if they are equal.
func weights(c *mcmc.Chains) []float64 {
	if c.LogWeights == nil {
		return nil
	}
	all := slices.Concat(c.LogWeights...)
	top := slices.Max(all)
	for i, l := range all {
		all[i] = math.Exp(l - top)
	}
	return all
}

// totalVariation returns the total variation between draws x and weighted draws y, over bins
// with equal shares of x.
func totalVariation(x, y, w []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	var edges [bins - 1]float64
	for b := range edges {
		edges[b] = x[(b+1)*len(x)/bins]
	}
	var share [bins]float64
	total := 0.
	for k, v := range y {
		b, _ := slices.BinarySearch(edges[:], v)
		weight := 1.
		if w != nil {
			weight = w[k]
		}
		share[b] += weight
		total += weight
	}
	tv := 0.
	for _, s := range share {
		tv += math.Abs(s/total-1./bins) / 2
	}
	return tv
}

// answerAll computes the answers that are not in done.
func (o *observatory) answerAll(ctx context.Context, done []answer) ([]answer, error) {
	path := filepath.Join(o.out, "answers.csv")
	at := func(q *question, r *remedy, step float64) int {
		return slices.IndexFunc(done, func(a answer) bool { return a.question == q.name && a.remedy == r.name && a.step == step })
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	var failed error
	work := make(chan *question)
	begin := time.Now()
	for range min(o.workers, len(o.questions)) {
		group.Go(func() {
			for q := range work {
				err := o.answer(ctx, q, func(r *remedy, step float64) bool {
					mu.Lock()
					defer mu.Unlock()
					return at(q, r, step) >= 0
				}, func(a answer) error {
					mu.Lock()
					defer mu.Unlock()
					done = append(done, a)
					fmt.Fprintf(os.Stderr, "%d answers in %s: %s, %s, h = %g\n", len(done), time.Since(begin).Round(time.Second), a.question, a.remedy, a.step)
					return save(path, done)
				})
				if err != nil {
					mu.Lock()
					if failed == nil {
						failed = err
					}
					mu.Unlock()
				}
			}
		})
	}
	for i := range o.questions {
		work <- &o.questions[i]
	}
	close(work)
	group.Wait()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("interrupted; %s has the results so far", path)
	}
	if failed != nil {
		return nil, failed
	}
	var out []answer
	for i := range o.questions {
		for l := range o.levels {
			for j := range o.remedies {
				q := &o.questions[i]
				if k := at(q, &o.remedies[j], q.step/float64(int(1)<<l)); k >= 0 {
					out = append(out, done[k])
				}
			}
		}
	}
	return out, save(path, out)
}

// answer computes the missing answers to one question.
func (o *observatory) answer(ctx context.Context, q *question, known func(*remedy, float64) bool, keep func(answer) error) error {
	var accurate *mcmc.Chains
	var fine *bayes.Posterior
	for level := range o.levels {
		step := q.step / float64(int(1)<<level)
		for i := range o.remedies {
			r := &o.remedies[i]
			if known(r, step) {
				continue
			}
			if accurate == nil {
				var err error
				if fine, err = q.model(ctx, o.seed); err != nil {
					return fmt.Errorf("%s: %w", q.name, err)
				}
				if fine.Modes, err = fine.FindModes(ctx, bayes.ModeSearch{Seed: o.seed}); err != nil {
					return fmt.Errorf("%s: %w", q.name, err)
				}
				if accurate, err = bayes.Sample(ctx, fine, bayes.Deterministic{}, mcmc.Settings{Draws: 4 * o.draws, Seed: o.seed + 1, Workers: 1}); err != nil {
					return fmt.Errorf("%s: %w", q.name, err)
				}
			}
			a := answer{question: q.name, remedy: r.name, step: step, status: "ok"}
			nan(&a)
			a.step = step
			if err := o.one(ctx, r, q.step, fine, accurate, &a); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				a.status = "fails: " + oneLine(err)
			}
			if err := keep(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// one computes an answer. The coarsest step is the unit of work.
func (o *observatory) one(ctx context.Context, r *remedy, coarsest float64, fine *bayes.Posterior, accurate *mcmc.Chains, a *answer) error {
	p := *fine
	p.Method, p.Mesh, p.Modes, p.Alpha = solver, probode.Uniform(a.step), nil, 0
	begin := time.Now()
	if r.noise != nil {
		p.Scaling = r.noise.scaling
		q, cal, err := p.Calibrated(ctx, calibrate.Settings{Criterion: r.noise.rule, Paths: 200, Seed: o.seed, Workers: 1})
		if err != nil {
			return err
		}
		p, a.alpha = *q, cal.Alpha
	}
	calibrating := time.Since(begin).Seconds()
	if p.Modes != nil {
		calibrating -= p.Modes.Seconds // counted by Measure
	}
	sampler := r.sampler(&p, fine)
	got, err := bayes.Measure(ctx, &p, sampler, mcmc.Settings{Draws: o.draws, Seed: o.seed + 2, Workers: 1})
	if err != nil {
		return err
	}
	a.compare(accurate, got.Chains)
	drawn := float64(len(got.Chains.Draws) * o.draws)
	// In steps of size a.step, because a solve of a sampler may be an accurate one, and the
	// solves for weights are counted separately.
	a.solves, a.preparation = got.Solves*a.step/p.StepSize(), calibrating+got.Preparation
	if got.Chains.LogWeights != nil {
		a.solves += a.step / fine.StepSize()
	}
	a.seconds = a.preparation + 1000*got.Drawing/got.ESS
	a.work = (got.Prepared*a.step/p.StepSize() + a.solves*drawn/got.ESS*1000) * coarsest / a.step
	return nil
}
