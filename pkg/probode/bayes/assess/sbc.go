package assess

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/internal/pieces"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// If θ is a draw of the prior and Y of the model given θ, then θ is also a draw
// of the posterior given Y. Among L independent draws of that posterior its rank
// is uniform on 0, …, L. So ranks from many data sets show whether a sampler draws
// from the posterior that it claims to, whatever that looks like.

// SBCSettings says how simulation-based calibration is done. All fields have
// useful zero values.
type SBCSettings struct {
	// Sets is the number of data sets. Zero means 200.
	Sets int

	// Ranks is L, the number of posterior draws that θ is ranked among. Zero
	// means 19, for 20 ranks.
	Ranks int

	// BurnIn is that of mcmc.Settings: zero means 1000 iterations and 250 for
	// each parameter.
	BurnIn int

	// Independent is the bulk effective sample size, as a multiple of L, that
	// the chain of a data set is to reach before it is thinned to L draws.
	// Zero means 4: draws that depend on each other make ranks too often
	// extreme.
	Independent float64

	// Seed determines all random numbers.
	Seed uint64

	// Workers is the number of data sets that are worked on at the same time.
	// Zero means the number of cores. It changes no bit of the result.
	Workers int

	// Progress, if not nil, is called now and then with the number of data
	// sets done. Calls do not overlap.
	Progress func(done, total int)
}

// An SBCResult holds the ranks that simulation-based calibration found.
type SBCResult struct {
	Sampler bayes.Sampler

	// Names are those of the parameters, and log_lik for the log likelihood
	// p(Y | Z(θ, ξ)): without a quantity that depends on the data, a sampler
	// that takes no notice of them and draws from the prior would not be found
	// out [Modrák et al. 2023].
	Names []string

	// Draws is L, and Ranks[k][i] the rank, from 0 to L, of quantity k of data
	// set i.
	Draws int
	Ranks [][]int

	// Redrawn counts the draws of θ that were drawn anew since the equations
	// could not be solved there or gave data that cannot be; and Short the data
	// sets whose chain did not reach the effective sample size.
	Redrawn, Short int
}

// SBC makes simulation-based calibration of a sampler [Talts et al. 2018]: it
// draws θ from the priors of p and data from the model, in place of those of p
// and with the same times and missing values, has the sampler draw from the
// posterior, and ranks θ among those draws.
//
// The data are drawn with the law that the sampler takes the posterior of: with
// the noise of the solver; for Deterministic and DelayedAcceptance without Noise
// by the classical solution; and for Reweighted by the accurate one, the draws
// being drawn again in proportion to their weights.
//
// Chains begin at the θ behind the data, one for each data set: the question is
// whether they stay in the right law, not whether they find it. Each data set
// has random numbers of its own, so that the result does not depend on the
// number of workers, and the first n data sets not on how many follow.
//
// If ctx ends first, the result holds the data sets done by then, and the error
// is ctx.Err().
func SBC(ctx context.Context, p *bayes.Posterior, sampler bayes.Sampler, s SBCSettings) (*SBCResult, error) {
	if s.Sets < 0 || s.Ranks < 0 || s.Workers < 0 || !(s.Independent >= 0) {
		panic("assess: negative count in SBCSettings")
	}
	if s.Sets == 0 {
		s.Sets = 200
	}
	if s.Ranks == 0 {
		s.Ranks = 19
	}
	if s.Independent == 0 {
		s.Independent = 4
	}
	if ctx == nil || sampler == nil {
		return nil, errors.New("assess: SBC wants a context and a sampler, not nil")
	}
	if _, err := bayes.NewDensity(p); err != nil {
		return nil, err
	}
	if err := sampler.Check(p); err != nil {
		return nil, err
	}
	out := &SBCResult{Sampler: sampler, Names: append(names(p), "log_lik"), Draws: s.Ranks}
	sets := make([]calibrationSet, s.Sets)
	done, err := pieces.Each(ctx, s.Workers, s.Sets, s.Progress, func() func(int) error {
		return func(i int) error { return sets[i].run(ctx, p, sampler, &s, uint64(i)) }
	})
	for range out.Names {
		out.Ranks = append(out.Ranks, nil)
	}
	for _, set := range sets[:done] {
		for k, r := range set.rank {
			out.Ranks[k] = append(out.Ranks[k], r)
		}
		out.Redrawn += set.redrawn
		if set.short {
			out.Short++
		}
	}
	if done == 0 {
		return nil, err
	}
	return out, err
}

// A calibrationSet is one data set with its ranks.
type calibrationSet struct {
	rank    []int
	redrawn int
	short   bool
}

// redraws is the number of draws of θ in a row that may fail.
const redraws = 1000

func (set *calibrationSet) run(ctx context.Context, p *bayes.Posterior, sampler bayes.Sampler, s *SBCSettings, i uint64) error {
	rng := probode.Stream(s.Seed, 0x736263, i)
	var q *bayes.Posterior
	var theta []float64
	var ll float64
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if q, theta, ll, err = p.Simulate(ctx, sampler.Target(), rng); err == nil {
			break
		}
		if set.redrawn++; set.redrawn == redraws {
			return fmt.Errorf("assess: calibration: no data from %d draws of the prior, at last: %w", redraws, err)
		}
	}
	const least = 100 // draws before the effective sample size is looked at
	chains, err := bayes.Sample(ctx, q, sampler, mcmc.Settings{
		Chains: 1, Draws: max(least, 2*s.Ranks), MinESS: s.Independent * float64(s.Ranks), BurnIn: s.BurnIn,
		Seed: rng.Uint64(), Workers: 1,
		Start: func(int, *rand.Rand) []float64 { return slices.Clone(theta) },
	})
	if err != nil {
		return err
	}
	set.short = chains.Capped
	lik := slices.Index(chains.Quantities, "log_lik.1")
	set.rank = make([]int, len(theta)+1)
	for _, n := range bayes.Resample(chains, s.Ranks, rng) {
		for k, v := range chains.Draws[0][n] {
			set.rank[k] += below(v, theta[k], rng)
		}
		var sum float64
		for _, l := range chains.Generated[0][n][lik:] {
			sum += l
		}
		set.rank[len(theta)] += below(sum, ll, rng)
	}
	return nil
}

// below returns 1 if a < b and, with probability ½, if they are equal.
func below(a, b float64, rng *rand.Rand) int {
	if a < b || a == b && rng.Uint64()&1 == 0 {
		return 1
	}
	return 0
}

// Histogram returns how many data sets have each of the L+1 ranks of quantity k,
// and simultaneous bands: all counts lie between lo and hi with the given
// probability, or a little more since counts are whole numbers, if the ranks are
// uniform. A hump in the middle says that draws scatter too widely, high ends
// that they scatter too little, and a slope that they lie to one side.
//
// The bands are pointwise binomial bands of equal tails, as wide as it takes; the
// joint probability is computed exactly.
func (r *SBCResult) Histogram(k int, probability float64) (counts []int, lo, hi int) {
	counts = make([]int, r.Draws+1)
	for _, rank := range r.Ranks[k] {
		counts[rank]++
	}
	law, at := newBinomial(len(r.Ranks[k])), 1/float64(r.Draws+1)
	level := widest(probability, func(level float64) float64 {
		lo, hi = law.bounds(at, level)
		return law.joint(r.Draws+1, func(_, c int) (int, int) { return c + lo, c + hi })
	})
	lo, hi = law.bounds(at, level)
	return counts, lo, hi
}

// ECDF returns the differences between the empirical distribution function of
// the ranks of quantity k and that of the uniform law, with simultaneous bands,
// at the L points z = 1/(L+1), …, L/(L+1):
//
//	F(z) − z,   F(z) = share of ranks < z (L+1),
//
// all of which lie between lo and hi with the given probability, or a little
// more since ranks are whole numbers, if the ranks are uniform. It sees slight
// but lasting deviations sooner than a histogram does. An arch says that draws
// lie too high, a slope that rises in the middle that they scatter too widely,
// one that falls there that they scatter too little.
//
// The bands are those of Säilynoja, Bürkner & Vehtari (2022), found as those of
// Histogram are.
func (r *SBCResult) ECDF(k int, probability float64) (z, diff, lo, hi []float64) {
	n, c := len(r.Ranks[k]), r.cumulated(k)
	law := newBinomial(n)
	level := widest(probability, func(level float64) float64 { return law.inside(r.Draws, level) })
	for i := range r.Draws {
		at := float64(i+1) / float64(r.Draws+1)
		from, to := law.bounds(at, level)
		z = append(z, at)
		diff = append(diff, float64(c[i])/float64(n)-at)
		lo, hi = append(lo, float64(from)/float64(n)-at), append(hi, float64(to)/float64(n)-at)
	}
	return z, diff, lo, hi
}

// widest returns the largest level of pointwise bands at which all hold at once
// with the given probability.
func widest(probability float64, joint func(level float64) float64) float64 {
	a, b := 0.0, 1-probability
	for range 20 {
		if m := (a + b) / 2; joint(m) >= probability {
			a = m
		} else {
			b = m
		}
	}
	return a
}

// P returns the probability with which ranks of a correct sampler would deviate
// from the uniform law at least as much as those of quantity k do, at the point
// where that is least likely. It is exact for independent draws. A P below
// 10⁻⁴ or so says that the sampler is wrong, or that its draws depend too much on
// each other.
func (r *SBCResult) P(k int) float64 {
	n, c := len(r.Ranks[k]), r.cumulated(k)
	law := newBinomial(n)
	least := 1.0
	for i, v := range c {
		at := float64(i+1) / float64(r.Draws+1)
		below, above := law.tails(at, v)
		least = min(least, 2*below, 2*above)
	}
	if least >= 1 {
		return 1 // every point is at its median
	}
	// What is as unlikely as this is to lie outside, in spite of rounding.
	return max(0, 1-law.inside(r.Draws, least*(1+1e-9)))
}

// cumulated returns the numbers of ranks ≤ i for i = 0, …, L−1.
func (r *SBCResult) cumulated(k int) []int {
	c := make([]int, r.Draws+1)
	for _, rank := range r.Ranks[k] {
		c[rank]++
	}
	for i := 1; i < len(c); i++ {
		c[i] += c[i-1]
	}
	return c[:r.Draws]
}

// A binomial has the laws of counts among n; it holds log 0!, …, log n!.
type binomial []float64

func newBinomial(n int) binomial {
	l := make(binomial, n+1)
	for k := 1; k <= n; k++ {
		l[k] = l[k-1] + math.Log(float64(k))
	}
	return l
}

// prob returns the probability of k among m ≤ n, each with probability p < 1.
func (l binomial) prob(m, k int, logp, logq float64) float64 {
	return math.Exp(l[m] - l[k] - l[m-k] + float64(k)*logp + float64(m-k)*logq)
}

// inside returns the probability that for uniform ranks 0 to ranks of n data sets
// the numbers of ranks ≤ i lie within the pointwise bands of the given level.
func (l binomial) inside(ranks int, level float64) float64 {
	n := len(l) - 1
	los, his := make([]int, ranks+1), make([]int, ranks+1)
	for i := range ranks {
		los[i], his[i] = l.bounds(float64(i+1)/float64(ranks+1), level)
	}
	los[ranks], his[ranks] = n, n
	return l.joint(ranks+1, func(i, _ int) (int, int) { return los[i], his[i] })
}

// joint returns the probability that, when each of n falls into one of bins with
// the same probability, the number in bins 0 to i lies within the bounds given
// that c are in those before i, for each i.
func (l binomial) joint(bins int, bounds func(i, c int) (lo, hi int)) float64 {
	n := len(l) - 1
	p, next := make([]float64, n+1), make([]float64, n+1)
	p[0] = 1
	for i := range bins - 1 {
		clear(next)
		// Of those not counted yet, one in bins−i is in this bin.
		step := 1 / float64(bins-i)
		logp, logq := math.Log(step), math.Log1p(-step)
		for c, pc := range p {
			if pc == 0 {
				continue
			}
			lo, hi := bounds(i, c)
			for v := max(c, lo); v <= min(n, hi); v++ {
				next[v] += pc * l.prob(n-c, v-c, logp, logq)
			}
		}
		p, next = next, p
	}
	var sum float64 // all the rest is in the last bin
	for c, pc := range p {
		if lo, hi := bounds(bins-1, c); lo <= n && n <= hi {
			sum += pc
		}
	}
	return sum
}

// bounds returns the smallest and the largest count v with P(V ≤ v) and P(V ≥ v)
// both at least level/2, for V ~ Binomial(n, at).
func (l binomial) bounds(at, level float64) (lo, hi int) {
	n := len(l) - 1
	logp, logq := math.Log(at), math.Log1p(-at)
	var sum float64
	for lo = 0; lo < n; lo++ {
		if sum += l.prob(n, lo, logp, logq); sum >= level/2 {
			break
		}
	}
	sum = 0
	for hi = n; hi > lo; hi-- {
		if sum += l.prob(n, hi, logp, logq); sum >= level/2 {
			break
		}
	}
	return lo, hi
}

// tails returns P(V ≤ v) and P(V ≥ v) for V ~ Binomial(n, at).
func (l binomial) tails(at float64, v int) (below, above float64) {
	n := len(l) - 1
	logp, logq := math.Log(at), math.Log1p(-at)
	for k := 0; k <= v; k++ {
		below += l.prob(n, k, logp, logq)
	}
	for k := n; k >= v; k-- {
		above += l.prob(n, k, logp, logq)
	}
	return below, above
}

// String returns the probabilities of P as a table for a terminal.
func (r *SBCResult) String() string {
	width := 0
	for _, name := range r.Names {
		width = max(width, utf8.RuneCountInString(name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v: %d data sets, ranks 0 to %d", r.Sampler, len(r.Ranks[0]), r.Draws)
	if r.Redrawn > 0 {
		fmt.Fprintf(&b, "; %d draws of the prior drawn anew", r.Redrawn)
	}
	if r.Short > 0 {
		fmt.Fprintf(&b, "; %d chains short of the effective sample size", r.Short)
	}
	fmt.Fprintf(&b, "\n%-*s  %10s  %s\n", width, "", "P", "mean rank (uniform: "+fmt.Sprint(float64(r.Draws)/2)+")")
	for k, name := range r.Names {
		var sum int
		for _, rank := range r.Ranks[k] {
			sum += rank
		}
		fmt.Fprintf(&b, "%-*s  %10.2g  %.2f\n", width, name, r.P(k), float64(sum)/float64(len(r.Ranks[k])))
	}
	return b.String()
}

// names returns those of the parameters.
func names(p *bayes.Posterior) []string {
	var out []string
	for _, q := range p.Params {
		out = append(out, q.Name)
	}
	return out
}
