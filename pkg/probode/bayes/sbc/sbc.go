// Package sbc checks samplers by simulation-based calibration.
//
// If θ is a draw from the prior and Y a draw from the model given θ, then θ is also a
// draw from the posterior given Y. Therefore the rank of θ among L independent draws from
// the posterior given Y is uniform on 0, …, L. The ranks from many data sets show whether
// a sampler draws from the posterior that it claims to sample, even if nothing else is
// known about that posterior.
package sbc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/internal/pieces"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Settings holds the options of Run. The zero value is ready for use.
type Settings struct {
	// Sets is the number of data sets. Zero means 200.
	Sets int

	// Ranks is L, the number of posterior draws among which θ is ranked. Zero means 19,
	// which gives 20 possible ranks.
	Ranks int

	// BurnIn is the number of iterations that are discarded at the start of each chain.
	// Zero means the sampler's default, which is usually 1000 plus 250 for each parameter.
	BurnIn int

	// Independent is the required bulk effective sample size of each chain before
	// thinning, divided by L. Zero means 4. After thinning, L draws remain. If the L draws
	// were correlated, the lowest and the highest ranks would occur too often.
	Independent float64

	// Seed determines all random numbers.
	Seed uint64

	// Workers is the number of data sets that are processed in parallel. Zero means the
	// number of cores. The result does not depend on Workers.
	Workers int

	// Progress, if not nil, is called from time to time with the number of completed data
	// sets and the total number. Calls do not overlap.
	Progress func(done, total int)
}

// Run checks a sampler by simulation-based calibration [Talts et al. 2018]. For each data
// set, Run draws θ from the priors of p, and then simulates data with the same times and
// missing values as the data of p. Run then draws from the posterior with the sampler,
// and ranks θ among these draws.
//
// The data come from the model whose posterior the sampler claims to sample. The
// Target of the Algorithm names this posterior. If it is Classical, the model uses the
// classical solution. For all other targets, the model uses the numerical solution with the
// solver's noise.
//
// For each data set, Run draws one chain, which starts at the θ that generated the data.
// The test shows whether the sampler leaves the posterior invariant. The test does not
// show whether a chain converges to the posterior from a distant starting point. Each data
// set has its own stream of random numbers. The result therefore does not depend on the
// number of workers. If Settings.Sets is increased, the earlier data sets stay the same.
//
// If ctx is cancelled before all data sets are complete, the result holds the ranks from
// the complete ones, and the error is ctx.Err().
func Run(ctx context.Context, p *bayes.Posterior, sampler sample.Sampler, s Settings) (*Result, error) {
	if s.Sets < 0 || s.Ranks < 0 || s.Workers < 0 || !(s.Independent >= 0) {
		panic("sbc: a number in Settings is negative: want numbers ≥ 0")
	}
	s.Sets = cmp.Or(s.Sets, 200)
	s.Ranks = cmp.Or(s.Ranks, 19)
	s.Independent = cmp.Or(s.Independent, 4)
	if sampler == nil {
		return nil, errors.New("sbc: the sampler is nil")
	}
	d, err := bayes.NewDensity(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := sample.Check(sampler, d); err != nil {
		return nil, err
	}
	out := &Result{Sampler: sampler, Names: append(p.Names(), "log_lik"), Draws: s.Ranks, Ranks: make([][]int, len(p.Params)+1)}
	sets := make([]set, s.Sets)
	ctx, s.Progress = progress.Counts(ctx, s.Progress, "data sets")
	done, err := pieces.Each(ctx, s.Workers, s.Sets, s.Progress, func() func(int) error {
		return func(i int) error { return sets[i].run(ctx, p, sampler, &s, uint64(i)) }
	})
	for _, d := range sets[:done] {
		for k, r := range d.rank {
			out.Ranks[k] = append(out.Ranks[k], r)
		}
		out.Redrawn += d.redrawn
		if d.short {
			out.Short++
		}
	}
	if done == 0 {
		return nil, err
	}
	return out, err
}

type set struct {
	rank    []int
	redrawn int
	short   bool
}

// Run gives up after `redraws` draws of θ in succession have failed.
const redraws = 1000

func (d *set) run(ctx context.Context, p *bayes.Posterior, sampler sample.Sampler, s *Settings, i uint64) error {
	rng := probode.Stream(s.Seed, 0x736263, i)
	var q *bayes.Posterior
	var theta []float64
	var ll float64
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if q, theta, ll, err = bayes.Simulate(ctx, p, sampler.Algorithm().Target.Noisy(), rng); err == nil {
			break
		}
		if d.redrawn++; d.redrawn == redraws {
			return fmt.Errorf("sbc: data could not be simulated for any of the %d draws from the prior; the last error was: %w", redraws, err)
		}
	}
	const least = 100 // draws before the effective sample size is computed
	chains, err := sample.Run(ctx, q, sampler, mcmc.Settings{
		Chains: 1, Draws: max(least, 2*s.Ranks), MinESS: s.Independent * float64(s.Ranks), BurnIn: s.BurnIn,
		Seed: rng.Uint64(), Workers: 1,
		Start: func(int, *rand.Rand) []float64 { return slices.Clone(theta) },
	})
	if err != nil {
		return err
	}
	d.short = chains.Capped
	lik := slices.Index(chains.Quantities, "log_lik.1")
	d.rank = make([]int, len(theta)+1)
	for _, n := range bayes.Resample(chains, s.Ranks, rng) {
		for k, v := range chains.Draws[0][n] {
			d.rank[k] += below(v, theta[k], rng)
		}
		var sum float64
		for _, l := range chains.Generated[0][n][lik:] {
			sum += l
		}
		d.rank[len(theta)] += below(sum, ll, rng)
	}
	return nil
}

// below returns 1 with probability ½ if a = b.
func below(a, b float64, rng *rand.Rand) int {
	if a < b || a == b && rng.Uint64()&1 == 0 {
		return 1
	}
	return 0
}

// String returns a table with the p-value P and the mean rank of each quantity.
func (r *Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %d data sets, ranks 0 to %d", r.Sampler, len(r.Ranks[0]), r.Draws)
	if r.Redrawn > 0 {
		fmt.Fprintf(&b, "; %d draws from the prior replaced", r.Redrawn)
	}
	if r.Short > 0 {
		fmt.Fprintf(&b, "; %d chains did not reach the required effective sample size", r.Short)
	}
	b.WriteByte('\n')
	rows := [][]string{{"", "P", fmt.Sprintf("mean rank (uniform: %v)", float64(r.Draws)/2)}}
	for k, name := range r.Names {
		var sum int
		for _, rank := range r.Ranks[k] {
			sum += rank
		}
		rows = append(rows, []string{text.Printable(name), fmt.Sprintf("%.2g", r.P(k)), fmt.Sprintf("%.2f", float64(sum)/float64(len(r.Ranks[k])))})
	}
	b.WriteString(text.Table(rows, func(column int) bool { return column != 1 }))
	return b.String()
}
