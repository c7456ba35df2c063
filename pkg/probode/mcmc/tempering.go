package mcmc

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Tempering is a Kernel for parallel tempering. Use Tempering for targets with several
// modes, and for targets with ridges along which other kernels move too slowly. The log
// density of the target is the sum of two terms named `base` and `rest`, for example a
// log prior and a log likelihood. The kernel moves a replica of the chain at each of
// several temperatures, with the log densities
//
//	base + β rest,   1 = β₁ > β₂ > … > βₙ = 0.
//
// In each iteration, the replica at β = 1 makes n/2 Metropolis moves, and every other
// replica makes one. The points of the replica at β = 1 are the draws. If the target has
// a single mode, the moves at β = 1 alone determine how correlated the draws are. After
// the Metropolis moves, pairs of neighbouring replicas may swap their points, in three
// rounds: the pairs (1, 2), (3, 4), …, then the pairs (2, 3), (4, 5), …, and the first again,
// or in every second iteration the other way round. Swaps evaluate nothing, and the more
// often they are tried, the better [Sindhikara et al. 2010, J. Chem. Theory Comput. 6, 2804].
// Replicas i and i + 1 swap their points with probability min(1, exp((βᵢ − βᵢ₊₁)(restᵢ₊₁
// − restᵢ))), if both have the same rest: see Coarse. Through swaps, a point in a mode that
// was found at a small β can reach β = 1 [Geyer 1991; Okabe et al. 2001]. The position of the
// kernel is the point at β = 1.
//
// In the first half of the burn-in, the values of β are adjusted so that all pairs of
// neighbouring replicas swap their points about equally often [Syed et al. 2022]. The
// proposal is adapted separately at each temperature.
//
// With n temperatures, one iteration evaluates the target 3n/2 − 1 times.
type Tempering struct {
	// Target returns the two terms of the log density, `base` and `rest`. The rules for a
	// LogDensity apply to both `base` and `rest`.
	Target func(x []float64) (base, rest float64, err error)

	// Coarse, if not nil, replaces Target in the half of the replicas with the smaller
	// values of β: the same base, and a rest that is cheaper and need not be accurate,
	// because it is multiplied by β. The replicas together have the product of their own
	// densities, so the draws are exactly those from Target, whatever Coarse is. A swap of
	// the two replicas at the border, which is tried in every second iteration, evaluates
	// both at the point of the other.
	Coarse func(x []float64) (base, rest float64, err error)

	// Draw, if not nil, makes an independent draw from the density proportional to
	// e^base, and stores it in x. The replicas with the smaller values of β start at
	// draws from this density, and each move of the replica at β = 0 is a new draw.
	Draw func(x []float64, rng *rand.Rand)

	// Proposal holds guesses for the shape of the target. Moves are always proposed as with
	// Pull, and learned during BurnIn only.
	Proposal AdaptiveMetropolis

	// BurnIn is the number of iterations during which the kernel is tuned. BurnIn should
	// equal Settings.BurnIn of the run.
	BurnIn int

	// Temperatures is the number of temperatures, at least 2. Zero means 10.
	Temperatures int

	n        int // iterations made
	replicas []*replica
	swaps    []float64 // by pair: the sum of the probabilities of swaps since the count began
	tries    []float64
	next     int // iteration at which the β are moved
	trips    int // how often a point moved from β = 0 to β = 1
	y        []float64
	stats    Stats
}

type replica struct {
	target     func(x []float64) (base, rest float64, err error)
	beta       float64
	walk       *Proposal
	x          []float64
	base, rest float64
	hot        float64 // 1 if the point has been at β = 0 since it was at β = 1
}

var _ Kernel = (*Tempering)(nil)

const (
	firstBeta  = 1e-3
	swapRounds = 3 // in an iteration
)

// Init places the replicas with the larger values of β at x. The other replicas start at
// draws from Draw or, if Draw is nil, at x.
func (k *Tempering) Init(x []float64, rng *rand.Rand) error {
	rule, n, d := k.Proposal, k.Temperatures, len(x)
	rule.Pull = true
	n = cmp.Or(n, 10)
	if n < 2 || k.Target == nil || k.BurnIn < 0 {
		panic(fmt.Sprintf("mcmc: Tempering has %d temperatures and a burn-in of %d: want at least 2 temperatures, a burn-in ≥ 0 and a Target that is not nil", n, k.BurnIn))
	}
	base, rest, err := evaluate(k.Target, x)
	if err := startError(x, base+rest, err); err != nil {
		return err
	}
	k.n, k.stats, k.trips, k.next, k.y = 0, Stats{}, 0, max(10, k.BurnIn/16), make([]float64, d)
	k.swaps, k.tries, k.replicas = make([]float64, n-1), make([]float64, n-1), nil
	for i := range n {
		learning := k.BurnIn
		if i == 0 {
			learning *= n / 2
		}
		r := &replica{target: k.Target, walk: rule.Until(learning).New(d), x: slices.Clone(x), base: base, rest: rest}
		if k.coarse(i) {
			r.target = k.Coarse
			if r.base, r.rest, err = evaluate(r.target, x); startError(x, r.base+r.rest, err) != nil {
				return startError(x, r.base+r.rest, err)
			}
		}
		if i < n-1 {
			r.beta = math.Pow(firstBeta, float64(i)/float64(max(1, n-2)))
		}
		if i >= (n+1)/2 && k.Draw != nil {
			k.Draw(k.y, rng)
			if base, rest, err := evaluate(r.target, k.y); err == nil && !math.IsInf(base+rest, -1) {
				copy(r.x, k.y)
				r.base, r.rest = base, rest
			}
		}
		k.replicas = append(k.replicas, r)
	}
	return nil
}

// coarse reports whether replica i has the density with Coarse.
func (k *Tempering) coarse(i int) bool {
	return k.Coarse != nil && i >= (cmp.Or(k.Temperatures, 10)+1)/2
}

func evaluate(target func(x []float64) (base, rest float64, err error), x []float64) (base, rest float64, err error) {
	base, rest, err = target(x)
	_, err = checked(base+rest, err)
	return base, rest, err
}

// Step makes one iteration.
func (k *Tempering) Step(rng *rand.Rand) {
	k.n++
	for range len(k.replicas) / 2 {
		moved, failed := k.move(k.replicas[0], rng)
		k.stats.Proposed++
		if moved {
			k.stats.Accepted++
		}
		if failed {
			k.stats.Failed++
		}
	}
	for _, r := range k.replicas[1:] {
		k.move(r, rng)
	}
	for round := range swapRounds {
		for i := (k.n + round) % 2; i+1 < len(k.replicas); i += 2 {
			if round == 0 || k.coarse(i) == k.coarse(i+1) { // other swaps cost nothing
				k.swap(i, rng)
			}
		}
	}
	if k.n == k.next && k.n <= k.BurnIn/2 {
		k.respace()
		k.next *= 2
	}
	if k.n == k.BurnIn {
		clear(k.swaps)
		clear(k.tries)
		k.trips = 0
	}
}

func (k *Tempering) move(r *replica, rng *rand.Rand) (moved, failed bool) {
	if r.beta == 0 && k.Draw != nil {
		k.Draw(k.y, rng)
		base, rest, err := evaluate(r.target, k.y)
		if moved = err == nil && !math.IsInf(base+rest, -1); moved {
			r.x, k.y = k.y, r.x
			r.base, r.rest = base, rest
		}
		return moved, err != nil
	}
	logq := r.walk.Propose(k.y, r.x, rng)
	base, rest, err := evaluate(r.target, k.y)
	e := rng.ExpFloat64()
	probability := 0.0
	if failed = err != nil; !failed && !math.IsInf(base+rest, -1) {
		ratio := base - r.base + r.beta*(rest-r.rest) + logq
		probability = math.Exp(min(0, ratio))
		if ratio >= -e {
			moved = true
			r.x, k.y = k.y, r.x
			r.base, r.rest = base, rest
		}
	}
	r.walk.Observe(r.x, probability)
	return moved, failed
}

func (k *Tempering) swap(i int, rng *rand.Rand) {
	a, b := k.replicas[i], k.replicas[i+1]
	ratio, mine, other := (a.beta-b.beta)*(b.rest-a.rest), b.rest, a.rest
	if k.coarse(i) != k.coarse(i+1) {
		ratio, mine, other = crossing(a, b)
	}
	k.tries[i]++
	k.swaps[i] += math.Exp(min(0, ratio))
	if ratio < -rng.ExpFloat64() {
		return
	}
	a.x, b.x = b.x, a.x
	a.base, b.base = b.base, a.base
	a.rest, b.rest = mine, other
	a.hot, b.hot = b.hot, a.hot
	if i == 0 && a.hot > 0 {
		k.trips++
		a.hot = 0
	}
	if b.beta == 0 {
		b.hot = 1
	}
}

// crossing returns the log of the ratio of the densities of two replicas with different
// targets after and before a swap, and the rest of each at the point of the other.
func crossing(a, b *replica) (ratio, mine, other float64) {
	_, mine, err := evaluate(a.target, b.x)
	if err != nil || math.IsInf(mine, -1) {
		return math.Inf(-1), 0, 0
	}
	_, other, err = evaluate(b.target, a.x)
	if err != nil || math.IsInf(other, -1) {
		return math.Inf(-1), 0, 0
	}
	return a.beta*(mine-a.rest) + b.beta*(other-b.rest), mine, other
}

// respace adjusts every β except the first and the last. S(β) is the sum of the rejection
// rates of the pairs between 1 and β, interpolated linearly. The new values divide its
// range equally.
func (k *Tempering) respace() {
	n := len(k.replicas)
	sum, beta := make([]float64, n), make([]float64, n)
	for i, r := range k.replicas {
		beta[i] = r.beta
		if i > 0 {
			// Each pair contributes a rejection rate of at least 0.01, so that the sum
			// increases even if all swaps of the pair were accepted.
			sum[i] = sum[i-1] + max(0.01, 1-k.swaps[i-1]/max(1, k.tries[i-1]))
		}
	}
	j := 0
	for i := 1; i < n-1; i++ {
		want := sum[n-1] * float64(i) / float64(n-1)
		for sum[j+1] < want {
			j++
		}
		share := (want - sum[j]) / (sum[j+1] - sum[j])
		k.replicas[i].beta = beta[j] + share*(beta[j+1]-beta[j])
	}
	clear(k.swaps)
	clear(k.tries)
}

// Swaps returns two statistics collected since the end of the burn-in. The result `rates`
// contains the mean probability of a swap for each pair of neighbouring temperatures,
// beginning at β = 1. The result `trips` is the number of times that a point moved from β
// = 0 to β = 1. If a rate is near 0, or if trips = 0, the draws may miss modes that are
// found only at small β.
func (k *Tempering) Swaps() (rates []float64, trips int) {
	for i, n := range k.tries {
		rates = append(rates, k.swaps[i]/n)
	}
	return rates, k.trips
}

// Position returns the point at β = 1. The next call of Step invalidates the result.
func (k *Tempering) Position() []float64 { return k.replicas[0].x }

// LogDensity returns the log density of the target at the position of the chain.
func (k *Tempering) LogDensity() float64 { return k.replicas[0].base + k.replicas[0].rest }

// Stats returns the numbers of proposed, accepted and failed moves of the replica at β =
// 1. Init resets these numbers.
func (k *Tempering) Stats() Stats { return k.stats }

// State stores or restores all replicas.
func (k *Tempering) State(a *Archive) {
	a.Int(&k.n)
	a.Int(&k.next)
	a.Int(&k.trips)
	a.Stats(&k.stats)
	a.Floats(k.swaps)
	a.Floats(k.tries)
	for _, r := range k.replicas {
		a.Float(&r.beta)
		a.Floats(r.x)
		a.Float(&r.base)
		a.Float(&r.rest)
		a.Float(&r.hot)
		r.walk.State(a)
	}
}
