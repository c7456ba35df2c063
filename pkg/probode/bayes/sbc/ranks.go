package sbc

import (
	"math"

	"github.com/probode/probode/pkg/probode/bayes/sample"
)

// A Result holds the ranks of simulation-based calibration.
type Result struct {
	Sampler sample.Sampler

	// Names are the names of the ranked quantities: the parameters and log_lik, which is
	// log p(Y | Z(θ, ξ)). The quantity log_lik is needed because it depends on the data:
	// without it, a sampler that ignores the data and draws from the prior would pass the
	// test [Modrák et al. 2023].
	Names []string

	// Draws is L. Ranks[k][i] is the rank, from 0 to L, of quantity k in data set i.
	Draws int
	Ranks [][]int

	// Redrawn is the number of draws of θ that were replaced because the equations could
	// not be solved or no data could be simulated at θ. Short is the number of data sets
	// whose chain did not reach the required effective sample size.
	Redrawn, Short int
}

// Histogram returns, for each of the L+1 ranks, the number of data sets in which quantity
// k has that rank. Histogram also returns the limits lo and hi of a simultaneous band. If
// the ranks are uniform, all counts lie between lo and hi with at least the given
// probability. A hump in the middle means that the spread of the draws is too large. High
// counts at both ends mean that the spread is too small. A histogram that slopes to one
// side means that the draws are biased.
//
// The band is a pointwise binomial interval with equal tails. The interval is just wide
// enough to contain all counts with the given joint probability. This probability is
// computed exactly.
func (r *Result) Histogram(k int, probability float64) (counts []int, lo, hi int) {
	counts = make([]int, r.Draws+1)
	for _, rank := range r.Ranks[k] {
		counts[rank]++
	}
	dist, at := newBinomial(len(r.Ranks[k])), 1/float64(r.Draws+1)
	level := widest(probability, func(level float64) float64 {
		lo, hi = dist.bounds(at, level)
		return dist.joint(r.Draws+1, func(_, c int) (int, int) { return c + lo, c + hi })
	})
	lo, hi = dist.bounds(at, level)
	return counts, lo, hi
}

// ECDF compares the empirical distribution function of the ranks of quantity k with the
// uniform distribution function. The result diff holds the difference of the two
// distribution functions at the L points z = 1/(L+1), …, L/(L+1):
//
//	F(z) − z,   F(z) = share of ranks < z (L+1)
//
// The results lo and hi are the limits of simultaneous bands. If the ranks are uniform,
// all differences lie between lo and hi with at least the given probability. A plot of
// diff shows small systematic deviations more clearly than a histogram of the ranks. If
// the curve forms an arch above zero, the draws tend to be larger than the true θ. If the
// curve rises in the middle, the spread of the draws is too large. If the curve falls in
// the middle, the spread of the draws is too small.
//
// The bands follow Säilynoja, Bürkner & Vehtari (2022), and are computed in the same way
// as the band of Histogram.
func (r *Result) ECDF(k int, probability float64) (z, diff, lo, hi []float64) {
	n, c := len(r.Ranks[k]), r.cumulated(k)
	dist := newBinomial(n)
	level := widest(probability, func(level float64) float64 { return dist.inside(r.Draws, level) })
	for i := range r.Draws {
		at := float64(i+1) / float64(r.Draws+1)
		from, to := dist.bounds(at, level)
		z = append(z, at)
		diff = append(diff, float64(c[i])/float64(n)-at)
		lo, hi = append(lo, float64(from)/float64(n)-at), append(hi, float64(to)/float64(n)-at)
	}
	return z, diff, lo, hi
}

// widest returns the largest level whose pointwise bands contain uniform ranks with at
// least the given probability.
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

// P returns the p-value of a test that the ranks of quantity k are uniform. Each value of
// the empirical distribution function of the ranks has a two-sided tail probability, and
// the test statistic is the smallest of these. A small test statistic is evidence against
// uniform ranks. The p-value is therefore the probability that uniform ranks give a test
// statistic at most as large as the observed one. The p-value is exact for independent
// draws. A p-value below about 10⁻⁴ means that the sampler is wrong, or that its draws
// are too strongly correlated.
func (r *Result) P(k int) float64 {
	n, c := len(r.Ranks[k]), r.cumulated(k)
	dist := newBinomial(n)
	least := 1.0
	for i, v := range c {
		at := float64(i+1) / float64(r.Draws+1)
		below, above := dist.tails(at, v)
		least = min(least, 2*below, 2*above)
	}
	if least >= 1 {
		return 1 // every point is at its median
	}
	// Without the factor 1+1e-9, rounding errors could make the least likely cumulative
	// count appear to lie inside the bands.
	return max(0, 1-dist.inside(r.Draws, least*(1+1e-9)))
}

func (r *Result) cumulated(k int) []int {
	c := make([]int, r.Draws+1)
	for _, rank := range r.Ranks[k] {
		c[rank]++
	}
	for i := 1; i < len(c); i++ {
		c[i] += c[i-1]
	}
	return c[:r.Draws]
}

type binomial []float64

func newBinomial(n int) binomial {
	l := make(binomial, n+1)
	for k := 1; k <= n; k++ {
		l[k] = l[k-1] + math.Log(float64(k))
	}
	return l
}

func (l binomial) prob(m, k int, logp, logq float64) float64 {
	return math.Exp(l[m] - l[k] - l[m-k] + float64(k)*logp + float64(m-k)*logq)
}

// inside returns the probability that the cumulative counts of ranks, uniform from 0 to
// `ranks`, lie within pointwise bands.
func (l binomial) inside(ranks int, level float64) float64 {
	n := len(l) - 1
	los, his := make([]int, ranks+1), make([]int, ranks+1)
	for i := range ranks {
		los[i], his[i] = l.bounds(float64(i+1)/float64(ranks+1), level)
	}
	los[ranks], his[ranks] = n, n
	return l.joint(ranks+1, func(i, _ int) (int, int) { return los[i], his[i] })
}

// joint returns the probability that v, the number of n items in the first i+1 of equally
// likely bins, is within bounds(i, c) for every i, where c is that in the first i.
func (l binomial) joint(bins int, bounds func(i, c int) (lo, hi int)) float64 {
	n := len(l) - 1
	p, next := make([]float64, n+1), make([]float64, n+1)
	p[0] = 1
	for i := range bins - 1 {
		clear(next)
		// An item that is not in bins 0 to i−1 is in bin i with probability 1/(bins−i).
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
	var sum float64 // all others are in the last bin
	for c, pc := range p {
		if lo, hi := bounds(bins-1, c); lo <= n && n <= hi {
			sum += pc
		}
	}
	return sum
}

// bounds returns the smallest v with P(V ≤ v) ≥ level/2, and the largest with P(V ≥ v) ≥
// level/2, for V ~ Binomial(n, at).
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
