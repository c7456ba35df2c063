package sample

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// A Measurement is what one sampler made of a posterior.
type Measurement struct {
	Sampler Sampler
	Chains  *mcmc.Chains

	// Solves is the work of a draw: the steps that solvers took for it, in
	// units of those of one solve of all experiments with Posterior.StepSize.
	// The solves for weights are not among them.
	Solves float64

	// ESS is the smallest bulk effective sample size of all parameters, of
	// all chains together, and Tail the smallest tail effective sample size.
	ESS, Tail float64

	// Work is that of the whole run, in the same units, but for that of the search
	// for modes, which is Prepared.
	Work, Prepared float64

	// Seconds is the time that all of it took with the workers at hand:
	// Preparation, in which modes and starts are found, burn-in, and the draws.
	// Modes that the Posterior came with count with the time that the search for
	// them took. Drawing is the part that more draws would take in proportion.
	// Times are all here that is not the same the next time.
	Seconds, Preparation, Drawing float64

	job *job // that made it, for More
}

// Rate returns the number of effective draws per second, preparation and burn-in
// included.
func (r Measurement) Rate() float64 { return r.ESS / r.Seconds }

// A Comparison holds the results of several samplers.
type Comparison []Measurement

// Compare draws from p by each of the samplers in turn, with the same settings:
// the same seed, and so the same starts and the same random numbers for the
// proposals of θ. How much work each is for a draw, and how much a draw is
// worth, stand in the results.
//
// The samplers need not have the same distribution; each documents its own. The error
// names the sampler in which it occurred, and the results of those before it are
// returned, too.
func Compare(ctx context.Context, p *bayes.Posterior, samplers []Sampler, s mcmc.Settings) (Comparison, error) {
	var out Comparison
	for _, sampler := range samplers {
		r, err := Measure(ctx, p, sampler, s)
		if err != nil {
			return out, fmt.Errorf("%v: %w", sampler, err)
		}
		r.job = nil // nobody goes on with it: let go of its memory
		out = append(out, r)
	}
	return out, nil
}

// Measure draws from p by the sampler, as Sample does, and takes down what it
// costs.
func Measure(ctx context.Context, p *bayes.Posterior, sampler Sampler, s mcmc.Settings) (Measurement, error) {
	job, err := prepare(ctx, p, sampler, s)
	if err != nil {
		return Measurement{}, err
	}
	return job.measure(ctx, sampler, 0)
}

// More goes on with the same chains until each has the given number of draws, and
// returns all of it: the draws that there were come first. The numbers are those of
// one run of that length; r is as it was, and is not gone on with again.
func (r Measurement) More(ctx context.Context, draws int) (Measurement, error) {
	if r.job == nil {
		return r, errors.New("sample: Measurement.More: this result is not of Measure")
	}
	return r.job.measure(ctx, r.Sampler, draws)
}

// measure runs the job, or goes on to the given number of draws if that is positive.
func (job *job) measure(ctx context.Context, sampler Sampler, draws int) (Measurement, error) {
	chains, err := job.run(ctx, draws)
	if err != nil {
		return Measurement{}, err
	}
	thin := max(1, job.settings.Thin)
	kept := len(chains.Draws[0]) * thin
	all := kept + max(0, job.settings.BurnIn)
	r := Measurement{
		Sampler: sampler, Chains: chains, ESS: math.Inf(1), Tail: math.Inf(1),
		Solves:  job.solves() / float64(all*len(job.kernels)) * float64(thin),
		Work:    job.solves(),
		Seconds: (job.preparing + job.drawing + job.finishing).Seconds(), Preparation: job.preparing.Seconds(),
		Drawing: job.drawing.Seconds()*float64(kept)/float64(all) + job.finishing.Seconds(),
		job:     job,
	}
	if job.modes != nil {
		r.Prepared = job.modes.Work
	}
	for _, m := range chains.Summary() {
		r.ESS, r.Tail = math.Min(r.ESS, m.BulkESS), math.Min(r.Tail, m.TailESS)
	}
	return r, nil
}

// String returns the costs as a table for a terminal, and k̂ of weights below.
func (c Comparison) String() string {
	rows := [][]string{{"", "solves/draw", "ESS", "ESS/1000", "ESS/1000", "ESS/s"}, {"", "", "", "draws", "solves", ""}}
	for _, r := range c {
		draws := float64(len(r.Chains.Draws) * len(r.Chains.Draws[0]))
		rows = append(rows, []string{r.Sampler.String(), fmt.Sprintf("%.2f", r.Solves), fmt.Sprintf("%.0f", r.ESS),
			fmt.Sprintf("%.1f", 1000*r.ESS/draws), fmt.Sprintf("%.1f", 1000*r.ESS/draws/r.Solves), fmt.Sprintf("%.0f", r.Rate())})
	}
	var b strings.Builder
	b.WriteString(text.Table(rows, text.First))
	for _, r := range c {
		if r.Chains.LogWeights != nil {
			_, worth := r.Chains.Trusted()
			fmt.Fprintf(&b, "%v: %s\n", r.Sampler, worth)
		}
	}
	return b.String()
}

// Marginals returns mean and standard deviation of each parameter by each sampler, as a
// table for a terminal.
func (c Comparison) Marginals() string {
	if len(c) == 0 {
		return ""
	}
	var rows [][]string
	for i, name := range c[0].Chains.Names {
		rows = append(rows, []string{text.Printable(name), "mean", "± mcse", "sd", "± mcse", "R̂"})
		for _, r := range c {
			m := r.Chains.Summary()[i]
			rows = append(rows, []string{r.Sampler.String(), fmt.Sprintf("%.5g", m.Mean), fmt.Sprintf("%.1g", m.MCSE),
				fmt.Sprintf("%.4g", m.SD), fmt.Sprintf("%.1g", m.MCSESD), fmt.Sprintf("%.3f", m.RHat)})
		}
	}
	return text.Table(rows, text.First)
}
