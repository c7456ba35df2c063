package sample

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// PseudoMarginal updates only θ, with the Metropolis algorithm. Instead of the exact
// likelihood p(Y | θ), PseudoMarginal uses an unbiased estimate,
//
//	p̂(Y | θ) ≈ p(Y | θ) = ∫ p(Y | Z(θ, ξ)) p(ξ) dξ,
//	accepted with  min(1, p̂(Y|θ′) p(θ′) q(θ|θ′) / p̂(Y|θ) p(θ) q(θ′|θ)),
//
// and keeps p̂(Y | θ) until the next move is accepted [Beaumont 2003, Andrieu & Roberts
// 2009]. The estimate comes from a bootstrap particle filter, which advances paths from
// one datum to the next and resamples them at each datum [Gordon, Salmond & Smith 1993,
// Andrieu, Doucet & Holenstein 2010]. If there are several experiments, the likelihood of
// each is estimated separately, and the estimates are multiplied. If the solver fails on
// the way to the next datum, the path has weight zero. A move to θ′ fails only if no path
// reaches the next datum.
//
// Stationary distribution: exactly p(θ | Y), for any number of paths, unless Expected is
// true. The quantities
// y_hat and log_lik are computed from one of the paths, Z. The path Z is chosen with a
// probability proportional to its weight. Therefore Z is a draw from p(Z | θ, Y). In lp__
// the log likelihood is replaced by log p̂.
//
// Cost: with P particles, each draw needs P solves and P × N × d standard normal numbers.
// PseudoMarginal is useful as an independent check of PCNWithinGibbs. If joint moves do
// not help and the noise of the solver is large compared with the measurement errors,
// PseudoMarginal can replace PCNWithinGibbs. The variance of log p̂ may depend strongly
// on θ, for example because σ is unknown and small. A chain then sometimes gets stuck at
// a θ at which the estimate of the likelihood is far too high. Check R̂, and increase
// Particles if R̂ is not close to one.
//
// A path consists of pieces, each from one datum to the next. Stats.Latent.Accepted is
// the number of pieces that the solver computed, and Stats.Latent.Failed is the number of
// pieces at which the solver failed.
type PseudoMarginal struct {
	// Proposal proposes moves of θ. Nil stands for mcmc.AdaptiveMetropolis with Pull, and with
	// the shape of the posterior at its heaviest mode, that learns during the burn-in.
	Proposal *mcmc.AdaptiveMetropolis

	// Particles is the number of paths. If Particles is zero, each chain tunes the number
	// of paths during the first half of the burn-in, so that the variance of log p̂ at
	// the current θ is about 1.5. After the first half of the burn-in the number of paths
	// stays fixed. The cost of an effective draw is lowest if the variance of log p̂ is
	// between 1 and 3 [Doucet et al. 2015]. The target 1.5 is in the lower half of the
	// range from 1 to 3, because the variance may be larger at other θ.
	Particles int

	// Correlation is the correlation ρ, in [0, 1), between the random numbers of
	// successive estimates. If Correlation is positive, the standard normal numbers U in
	// the estimate are not drawn again for θ′, but only perturbed,
	//
	//	U′ = ρ U + √(1−ρ²) ε,   ε ~ N(0, I),
	//
	// so that the errors of the two estimates nearly cancel in the acceptance ratio, and
	// fewer paths are enough [Deligiannidis, Doucet & Pitt 2018]. If Correlation is
	// positive and Particles is zero, the number of paths is chosen so that the mean
	// squared change in log p̂ is 3. The closer ρ is to one, the more slowly U changes.
	// On the FitzHugh–Nagumo problem, values of ρ from 0.8 to 0.9 were best. With ρ =
	// 0.99 few paths are enough, but the chains must be long. Each chain stores U, which
	// consists of Particles × N × d numbers. The particles are sorted before resampling.
	Correlation float64

	// Expected replaces the algorithm by Monte Carlo within Metropolis [O'Neill et al. 2000;
	// Conrad et al. 2017]. The likelihood is the mean over whole paths, which are not
	// resampled, and is estimated anew in each iteration, both at θ and at θ′:
	//
	//	L̂(θ) = (1/M) Σ_{m=1}^M p(Y | Z(θ, ξ⁽ᵐ⁾)),   ξ⁽ᵐ⁾ ~ p(ξ)
	//
	// The stationary distribution depends on the proposal, and is usually wider than p(θ |
	// Y). The error decreases as 1/M once the variance of log L̂ is below one. Medina-Aguayo
	// et al. (2016) give conditions under which a stationary distribution exists. If
	// Particles is zero, M is 10. A draw costs 2M solves. Use Expected to reproduce published
	// results.
	Expected bool
}

func (s PseudoMarginal) String() string {
	switch {
	case s.Expected:
		return "pseudo-marginal, expected likelihood"
	case s.Correlation > 0:
		return "pseudo-marginal, correlated"
	}
	return "pseudo-marginal"
}

func (s PseudoMarginal) check(d *bayes.Density) error {
	if !(s.Correlation >= 0 && s.Correlation < 1) || s.Particles < 0 || s.Expected && s.Correlation > 0 {
		return fmt.Errorf("sample: PseudoMarginal.Correlation is %g and PseudoMarginal.Particles is %d: want Correlation in [0, 1), 0 if Expected is true, and Particles ≥ 0", s.Correlation, s.Particles)
	}
	if err := noisy(s, d); err != nil {
		return err
	}
	p := d.Posterior()
	for i := range p.Experiments {
		if r := d.Part(i); r.Grid() == nil {
			return fmt.Errorf("sample: %v: %s: %v has no fixed grid, so a particle filter cannot stop at the observation times: use steps such as Uniform", s, r.Title(), p.Mesh)
		}
	}
	return nil
}

// If a chain tunes the number of particles, it begins with firstParticles. Later the
// chain chooses the number of particles so that the variance of log p̂ is approximately
// wantedVariance. The variance of log p̂ is estimated from the differences between pairs
// of estimates log p̂.
const (
	fewestParticles = 8
	firstParticles  = 32
	expectedPaths   = 10
	mostParticles   = 2048
	wantedVariance  = 1.5
	pairs           = 40
)

// Algorithm draws from p(θ | Y), or has NoTarget if Expected is true. With each draw of θ, a
// path is drawn from p(Z | θ, Y).
func (s PseudoMarginal) Algorithm() Algorithm {
	a := Algorithm{Target: Marginal, Walk: s.Proposal, Check: s.check, Kernel: s.kernel,
		Tuned: func(k mcmc.Kernel) (what, value string) {
			return "paths of an estimate", fmt.Sprint(k.(*pseudoMarginal).particles)
		}}
	if s.Expected {
		a.Target = NoTarget
	}
	return a
}

func (s PseudoMarginal) kernel(e *bayes.Density, walk mcmc.AdaptiveMetropolis, burnIn int) mcmc.Kernel {
	k := &pseudoMarginal{state: newState(e, walk, burnIn, false), fixed: s.Expected || s.Particles > 0}
	k.estimator = newEstimator(k.state, s.Correlation > 0, s.Expected)
	k.like, k.begin = k.estimator.logLikelihood, k.drawU
	k.move = math.Sqrt((1 - s.Correlation) * (1 + s.Correlation))
	first := firstParticles
	if s.Expected {
		first = expectedPaths
	}
	k.resize(cmp.Or(s.Particles, first))
	return k
}

type pseudoMarginal struct {
	*state
	*estimator
	fixed bool // the caller has set the number of particles
	move  float64
	kept  []float64 // U at the position; aux of the estimator holds U′

	// The following fields are used until the number of particles is fixed. The field n
	// is the number of iterations so far. Each of the first `count` elements of the field
	// `pairs` is the absolute difference between two estimates log p̂ at the same θ.
	n, count int
	pairs    [pairs]float64
}

func (k *pseudoMarginal) Init(x []float64, rng *rand.Rand) error {
	k.n, k.count = 0, 0
	if !k.fixed {
		k.resize(firstParticles)
	}
	if err := k.state.Init(x, rng); err != nil {
		return err
	}
	if !k.fixed && k.burnIn < 2*pairs {
		for range pairs {
			k.compare()
		}
		k.tune()
	}
	return nil
}

// drawU draws a new U for the next estimate at the current θ.
func (k *pseudoMarginal) drawU() {
	if k.correlated {
		k.chance.draw(k.kept, k.latent)
		copy(k.aux, k.kept)
	}
}

func (k *pseudoMarginal) Step(rng *rand.Rand) {
	if k.whole {
		k.renew()
	}
	if k.correlated {
		k.chance.perturb(k.aux, k.kept, k.move, k.latent)
	}
	if k.moveTheta(rng) {
		k.aux, k.kept = k.kept, k.aux
	}
	if !k.fixed && k.n < k.burnIn/2 && k.burnIn >= 2*pairs {
		// In the first eighth of the burn-in the chain has usually not yet converged.
		// Estimates are compared in the second eighth of the burn-in, and then the number
		// of particles is tuned. Estimates are compared again in the third and fourth
		// eighths of the burn-in, and then the number of particles is tuned again.
		k.n++
		if every := max(1, k.burnIn/8/pairs); k.n >= k.burnIn/8 && k.n%every == 0 && k.count < pairs {
			k.compare()
		}
		if k.n == k.burnIn/4 || k.n == k.burnIn/2 {
			k.tune()
		}
	}
}

// compare records the difference between two estimates at the current θ.
func (k *pseudoMarginal) compare() {
	var ll [2]float64
	for i := range ll {
		if k.correlated {
			from := k.aux
			if i == 0 {
				from = k.kept
			}
			k.chance.perturb(k.aux, from, k.move, k.latent)
		}
		var err error
		if ll[i], err = k.like(k.theta, nil); err != nil {
			return
		}
	}
	if d := math.Abs(ll[0] - ll[1]); !math.IsNaN(d) {
		k.pairs[k.count] = d
		k.count++
	}
}

// tune chooses the number of particles so that the variance of log p̂ is approximately
// wantedVariance. The current variance is estimated from the recorded differences.
// Afterwards the likelihood at the current θ is estimated again.
func (k *pseudoMarginal) tune() {
	want := float64(2 * k.particles) // used if the differences contain no information
	if seen := k.pairs[:k.count]; len(seen) > pairs/2 {
		// If d has the distribution N(0, 2v), then |d| is below 1.645 √(2v) with
		// probability 0.9. The sample variance of d is not used, because one or two
		// estimates that are far too low would dominate it. Such estimates do little
		// harm. The median of |d| would not detect the large variance of log p̂ at those
		// θ at which a chain gets stuck.
		slices.Sort(seen)
		sd := seen[len(seen)*9/10] / 1.645
		want = math.Ceil(float64(k.particles) * sd * sd / 2 / wantedVariance)
	}
	k.count = 0
	// As the number N of particles grows, the variance decreases faster than 1/N if N is
	// small, and more slowly than 1/N if N is large.
	n := float64(k.particles)
	want = min(max(want, math.Ceil(n/3), fewestParticles), 6*n, mostParticles)
	k.resize(int(want))
	k.begin()
	k.renew() // the old estimate may have been too high
}

// resize allocates memory for a different number of particles.
func (k *pseudoMarginal) resize(particles int) {
	k.estimator.resize(particles)
	if k.correlated {
		k.kept = make([]float64, len(k.aux))
	}
}

func (k *pseudoMarginal) State(a *mcmc.Archive) {
	k.state.State(a)
	n := k.particles
	a.Int(&n)
	if n != k.particles && a.Reading() && n > 0 && n <= mostParticles {
		k.resize(n)
	}
	a.Floats(k.kept)
	a.Int(&k.n)
	a.Int(&k.count)
	a.Floats(k.pairs[:])
}
