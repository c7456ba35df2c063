package sample

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// A Measurement holds the draws that one sampler made from a posterior, and their cost.
type Measurement struct {
	// Sampler is the name of the sampler that generated the draws: see Algorithm.Name.
	Sampler string
	Chains  *mcmc.Chains

	// Solves is the work per draw: the number of solver steps per draw, divided by the
	// number of steps that the posterior's Setup needs to solve all equations once.
	Solves float64

	// Summary describes the draws in Chains. ESS is the smallest bulk effective sample
	// size among the parameters.
	Summary diag.Summary
	ESS     float64

	// Work measures the work of the whole run without the search for modes, and Prepared
	// measures the work of that search. The unit of Work and Prepared is one solution of
	// all the equations.
	Work, Prepared float64

	// Seconds is the duration of the whole run with the available workers: preparation,
	// burn-in, and draws. Seconds includes the time of the search for modes, even if the
	// Posterior already had its Modes. Preparation is the time for finding modes and
	// starting points. Drawing is the part of Seconds that is proportional to the number
	// of draws. If the run is repeated, only Seconds, Preparation and Drawing change.
	Seconds, Preparation, Drawing float64

	job *job // the job that made it, for More
}

// A Comparison holds the results of several samplers.
type Comparison []Measurement

// Compare draws from p with each of the samplers in turn, with the same settings. All
// samplers use the same seed, and therefore the same starting points and the same random
// numbers for the proposals of θ. The results contain the work per draw and the effective
// number of draws.
//
// The samplers need not draw from the same distribution; the documentation of each
// sampler states its stationary distribution. An error message names the sampler that
// failed. If a sampler fails, Compare also returns the results of the earlier samplers.
func Compare(ctx context.Context, p *bayes.Posterior, samplers []Sampler, s mcmc.Settings) (Comparison, error) {
	var out Comparison
	for _, sampler := range samplers {
		r, err := Measure(ctx, p, sampler, s)
		if err != nil {
			return out, fmt.Errorf("%v: %w", sampler, err)
		}
		r.job = nil // nobody continues this run, so release its memory
		out = append(out, r)
	}
	return out, nil
}

// Measure runs the sampler on p, as Run does, and records the cost.
func Measure(ctx context.Context, p *bayes.Posterior, sampler Sampler, s mcmc.Settings) (Measurement, error) {
	job, err := prepare(ctx, p, sampler, s)
	if err != nil {
		return Measurement{}, err
	}
	return job.measure(ctx, 0)
}

// More continues the same chains until each has the given number of draws, and returns
// all draws, beginning with the earlier ones. A single run with the given number of draws
// would return the same draws. More does not change r. Call More at most once on each
// Measurement.
func (r Measurement) More(ctx context.Context, draws int) (Measurement, error) {
	if r.job == nil {
		return r, errors.New("sample: the Measurement has no chains to continue: want a Measurement returned by Measure")
	}
	return r.job.measure(ctx, draws)
}

// measure runs the job. If the job has been run before, each chain is continued until it
// has the number of draws in the argument `draws`.
func (job *job) measure(ctx context.Context, draws int) (Measurement, error) {
	chains, err := job.run(ctx, draws)
	if err != nil {
		return Measurement{}, err
	}
	thin := max(1, job.settings.Thin)
	kept := len(chains.Draws[0]) * thin
	all := kept + max(0, job.settings.BurnIn)
	r := Measurement{
		Sampler: cmp.Or(job.algorithm.Name, job.sampler.String()), Chains: chains, Summary: chains.Summary(), ESS: math.Inf(1),
		Solves:  job.solves() / float64(all*len(job.kernels)) * float64(thin),
		Work:    job.solves(),
		Seconds: (job.preparing + job.drawing).Seconds(), Preparation: job.preparing.Seconds(),
		Drawing: job.drawing.Seconds() * float64(kept) / float64(all),
		job:     job,
	}
	if job.modes != nil {
		r.Prepared = job.modes.Work
	}
	for _, m := range r.Summary {
		r.ESS = math.Min(r.ESS, m.BulkESS)
	}
	return r, nil
}

// String returns the costs as a text table.
func (c Comparison) String() string {
	rows := [][]string{{"", "solves/draw", "ESS", "ESS/1000", "ESS/1000", "ESS/s"}, {"", "", "", "draws", "solves", ""}}
	for _, r := range c {
		draws := float64(len(r.Chains.Draws) * len(r.Chains.Draws[0]))
		rows = append(rows, []string{r.Sampler, fmt.Sprintf("%.2f", r.Solves), fmt.Sprintf("%.0f", r.ESS),
			fmt.Sprintf("%.1f", 1000*r.ESS/draws), fmt.Sprintf("%.1f", 1000*r.ESS/draws/r.Solves), fmt.Sprintf("%.0f", r.ESS/r.Seconds)})
	}
	return text.Table(rows, text.First)
}
