package sample

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// ExpectedLikelihood is the algorithm known as Monte Carlo within Metropolis. In each
// iteration the sampler estimates the likelihood with ξ integrated out, both at the
// current θ and at the proposed θ′. Each estimate is a mean over M new paths [Conrad et
// al. 2017; O'Neill et al. 2000],
//
//	L̂(θ) = (1/M) Σ_{m=1}^M p(Y | Z(θ, ξ⁽ᵐ⁾)),   ξ⁽ᵐ⁾ ~ p(ξ),
//	accepted with  min(1, L̂(θ′) p(θ′) q(θ|θ′) / L̂(θ) p(θ) q(θ′|θ)).
//
// Stationary distribution: an approximation of p(θ | Y) that depends on the proposal and
// is usually wider than p(θ | Y) itself. The sampler is a noisy Metropolis chain, whose
// distribution tends to p(θ | Y) as M → ∞. The error of the stationary distribution
// decreases as 1/M once the variance of log L̂ is below one. If the variance of log L̂ is
// large, the distribution of the chain is far from p(θ | Y). Medina-Aguayo et al. (2016)
// give conditions under which a stationary distribution exists. Unlike PseudoMarginal,
// ExpectedLikelihood does not get stuck when an estimate of the likelihood is too high.
//
// Cost: 2M solves and 2M × N × d standard normal numbers for each draw. With the same
// number of paths, ExpectedLikelihood costs twice as much as PseudoMarginal. The
// stationary distribution of PseudoMarginal is exactly p(θ | Y). Use ExpectedLikelihood
// to reproduce published results that were obtained with this algorithm.
type ExpectedLikelihood struct {
	// Proposal is the rule that proposes moves of θ; nil stands for a rule that needs no
	// tuning.
	Proposal mcmc.Rule

	// Paths is the number M of paths in each estimate; zero means 10.
	Paths int
}

func (ExpectedLikelihood) String() string         { return "expected likelihood" }
func (s ExpectedLikelihood) Proposals() mcmc.Rule { return s.Proposal }

func (s ExpectedLikelihood) Check(d *bayes.Density) error {
	if s.Paths < 0 {
		return fmt.Errorf("sample: ExpectedLikelihood.Paths is %d: want a positive number, or 0 for the default, 10", s.Paths)
	}
	return noisy(s, d)
}

// Target returns NoTarget, because the stationary distribution depends on the proposal.
func (s ExpectedLikelihood) Target() Target { return NoTarget }

// Kernel returns the kernel of one chain.
func (s ExpectedLikelihood) Kernel(e *bayes.Density, rule mcmc.Rule, burnIn int) mcmc.Kernel {
	k := &expected{state: newState(e, rule, burnIn, false), paths: cmp.Or(s.Paths, 10)}
	k.xi, k.chosen = make([]float64, e.NoiseLen()), make([]float64, len(k.fit))
	k.like = k.estimate
	return k
}

type expected struct {
	*state
	paths  int
	xi     []float64 // ξ of one path
	chosen []float64 // expected values of one path, chosen in proportion to its likelihood
}

func (k *expected) Step(rng *rand.Rand) {
	k.renew()
	k.moveTheta(rng)
}

// estimate returns the logarithm of the estimated likelihood. For each experiment, the
// method computes the mean likelihood of k.paths paths. The estimate is the product of
// the means.
func (k *expected) estimate(theta, _ []float64) (float64, error) {
	var sum float64
	for i := range k.e.Posterior().Experiments {
		ll, err := k.meanOf(k.e.Part(i), theta)
		if err != nil {
			return math.Inf(-1), err
		}
		sum += ll
	}
	return sum, nil
}

// meanOf returns the logarithm of the mean likelihood for one experiment. The method also
// stores the expected values of a randomly chosen path in r.Expected.
func (k *expected) meanOf(r *bayes.Part, theta []float64) (float64, error) {
	xi, chosen := k.xi[:r.NoiseLen()], k.chosen[:len(r.Expected())]
	total, solved := math.Inf(-1), 0
	for range k.paths {
		k.chance.draw(xi, k.latent)
		k.stats.Latent.Proposed++
		ll, err := r.LogLikelihood(theta, xi)
		if err != nil || math.IsNaN(ll) || math.IsInf(ll, 1) {
			k.stats.Latent.Failed++
			continue
		}
		k.stats.Latent.Accepted++
		solved++
		if math.IsInf(ll, -1) {
			continue
		}
		// With probability w_j/(w₁ + … + w_j), path j replaces the path chosen so far.
		total = logAdd(total, ll)
		if k.chance.accept(ll-total, k.latent) {
			copy(chosen, r.Expected())
		}
	}
	if solved == 0 {
		return 0, errNoPath
	}
	copy(r.Expected(), chosen)
	return total - math.Log(float64(k.paths)), nil
}
