package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// PseudoMarginal moves θ alone, by Metropolis with an unbiased estimate in the
// place of the likelihood of which ξ has been integrated out,
//
//	p̂(Y | θ) ≈ p(Y | θ) = ∫ p(Y | Z(θ, ξ)) p(ξ) dξ,
//	accepted with  min(1, p̂(Y|θ′) p(θ′) q(θ|θ′) / p̂(Y|θ) p(θ) q(θ′|θ)),
//
// p̂(Y | θ) being kept until the next move is accepted [Beaumont 2003, Andrieu &
// Roberts 2009]. The estimate is that of a bootstrap particle filter, which
// takes paths from datum to datum and resamples them there [Gordon, Salmond &
// Smith 1993, Andrieu, Doucet & Holenstein 2010], or a mean over whole paths.
// With several experiments it is the product of theirs. A path that cannot be
// continued has weight zero; θ fails only where all of them do.
//
// Stationary distribution: p(θ | Y), exactly, for any number of paths; y_hat and log_lik
// are those of one path Z, chosen in proportion to its weight, so that
// predictions have the distribution p(Z | θ, Y) too. lp__ holds log p̂.
//
// Cost: Particles solves and as many times N·d normals a draw. It is the check
// on PCNWithinGibbs that shares nothing with it, and an alternative where the
// noise of the solver is large against that of the data and the joint moves of
// that sampler do not help. Where the variance of log p̂ is very different at
// different θ, as with σ unknown and small, a chain is caught now and then by an
// estimate that is far too high: see that R̂ is small, or raise Particles.
//
// Stats.Latent counts pieces of paths: those solved, as Accepted, and those
// that failed.
type PseudoMarginal struct {
	// Proposal makes the moves of θ; nil stands for a rule that needs no
	// tuning.
	Proposal mcmc.Rule

	// Particles is the number of paths. Zero has each chain find it in the
	// first half of the burn-in, so that the variance of log p̂ is about 1.5,
	// and then keep it: of 1 to 3, where the least work is done for an
	// effective draw [Doucet et al. 2015], the lower half, since that
	// variance is larger elsewhere.
	Particles int

	// Correlation is ρ in [0, 1). If it is positive, the normals U behind
	// the estimate are not drawn again for θ′ but moved,
	//
	//	U′ = ρ U + √(1−ρ²) ε,   ε ~ N(0, I),
	//
	// so that the errors of both estimates nearly cancel, and fewer paths
	// will do [Deligiannidis, Doucet & Pitt 2018]; the number that is found
	// for Particles = 0 is then that at which half the mean square of the
	// change of log p̂ is 1.5. The nearer ρ is to one, the more slowly U
	// itself moves: 0.8 to 0.9 served best on FitzHugh–Nagumo, and 0.99
	// needs few paths but long chains. Chains hold U, Particles·N·d numbers,
	// and sort the particles before they resample them.
	Correlation float64

	// Importance has whole paths drawn from p(ξ), and the mean of their
	// likelihoods taken, in place of the particle filter. The number of
	// paths that this needs grows exponentially with the data, that of the
	// filter linearly; but it is a smooth function of θ and U.
	Importance bool
}

func (s PseudoMarginal) String() string {
	switch {
	case s.Correlation > 0:
		return "correlated pseudo-marginal"
	case s.Importance:
		return "pseudo-marginal, importance"
	}
	return "pseudo-marginal"
}

func (s PseudoMarginal) Proposals() mcmc.Rule { return s.Proposal }

func (s PseudoMarginal) Check(d *bayes.Density) error {
	if !(s.Correlation >= 0 && s.Correlation < 1) || s.Particles < 0 {
		return fmt.Errorf("sample: PseudoMarginal with Correlation %g and Particles %d: want Correlation in [0, 1) and Particles ≥ 0", s.Correlation, s.Particles)
	}
	if err := noisy(s, d); err != nil {
		return err
	}
	p := d.Posterior()
	for i := range p.Experiments {
		if r := d.Part(i); r.Grid() == nil && !s.Importance {
			return fmt.Errorf("sample: %v: %s: %v has no grid on which a particle filter could stop at the data: want Importance, or steps such as Uniform", s, r.Title(), p.Mesh)
		}
	}
	return nil
}

// A chain that is to find the number of particles begins with firstParticles,
// and asks for wantedVariance in log p̂, seen in pairs of estimates.
const (
	fewestParticles = 8
	firstParticles  = 32
	mostParticles   = 2048
	wantedVariance  = 1.5
	pairs           = 40
)

// Target returns p(θ | Y); each draw comes with a path drawn from p(Z | θ, Y).
func (s PseudoMarginal) Target() Target { return Target{Distribution: Marginal, Reweightable: true} }

// Kernel returns the kernel of one chain.
func (s PseudoMarginal) Kernel(e *bayes.Density, rule mcmc.Rule, burnIn int) mcmc.Kernel {
	rule = chosen(s.Proposal, rule)
	k := &pseudoMarginal{state: newState(e, rule, burnIn, false), fixed: s.Particles > 0}
	k.estimator = newEstimator(k.state, !s.Importance)
	k.like, k.begin = k.estimator.logLikelihood, k.drawU
	k.move = math.Sqrt((1 - s.Correlation) * (1 + s.Correlation))
	k.particles = s.Particles
	if !k.fixed {
		k.particles = firstParticles
	}
	k.correlated = s.Correlation > 0
	k.resize(k.particles)
	return k
}

type pseudoMarginal struct {
	*state
	*estimator
	fixed bool // the number of particles is the caller's
	move  float64
	kept  []float64 // U of the position; aux of the estimator is U′

	// While the number of particles may change: iterations so far, and the
	// absolute differences of pairs of log p̂.
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

// drawU draws U again; the next estimate is that at the position.
func (k *pseudoMarginal) drawU() {
	if k.correlated {
		k.chance.draw(k.kept, k.latent)
		copy(k.aux, k.kept)
	}
}

func (k *pseudoMarginal) Step(rng *rand.Rand) {
	if k.correlated {
		k.chance.perturb(k.aux, k.kept, k.move, k.latent)
	}
	if k.moveTheta(rng) {
		k.aux, k.kept = k.kept, k.aux
	}
	if !k.fixed && k.n < k.burnIn/2 && k.burnIn >= 2*pairs {
		// In the second and again in the third and fourth eighth of the
		// burn-in; the first belongs to the way to the posterior.
		k.n++
		if every := max(1, k.burnIn/8/pairs); k.n >= k.burnIn/8 && k.n%every == 0 && k.count < pairs {
			k.compare()
		}
		if k.n == k.burnIn/4 || k.n == k.burnIn/2 {
			k.tune()
		}
	}
}

// compare takes down the difference of two estimates at the position.
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

// tune sets the number of particles by what has been taken down of the variance
// of log p̂, which falls with their number, and estimates the likelihood at the
// position once more.
func (k *pseudoMarginal) tune() {
	want := float64(2 * k.particles) // where nothing can be said
	if seen := k.pairs[:k.count]; len(seen) > pairs/2 {
		// Of d ~ N(0, 2v) the absolute value is below 1.645 √(2v) nine times
		// in ten. The variance of d itself would rest on the one or two
		// estimates that are far too low, which do little harm, and its
		// median miss the θ at which a chain is caught.
		slices.Sort(seen)
		sd := seen[len(seen)*9/10] / 1.645
		want = math.Ceil(float64(k.particles) * sd * sd / 2 / wantedVariance)
	}
	k.count = 0
	// Few particles vary by more than in proportion, and many by less.
	n := float64(k.particles)
	want = min(max(want, math.Ceil(n/3), fewestParticles), 6*n, mostParticles)
	k.resize(int(want))
	// A chain may be at a point that looked better than it is, where an
	// estimate with other particles is zero. It may then move anywhere.
	k.begin()
	ll, err := k.like(k.theta, nil)
	if err != nil || math.IsNaN(ll) {
		ll = math.Inf(-1)
	}
	k.ll = ll
	if !math.IsInf(ll, -1) {
		k.keepFit()
	}
}

// resize makes room for another number of particles.
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

func (k *pseudoMarginal) Tuned() (what, value string) {
	return "paths of an estimate", fmt.Sprint(k.particles)
}
