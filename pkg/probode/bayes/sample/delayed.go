package sample

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// DelayedAcceptance updates θ with the Metropolis algorithm in two stages, each with its
// own Setup. The second setup determines the stationary distribution. The first stage is
// cheap, and rejects many moves before the expensive second stage solves the equations
// [Christen & Fox 2005]. The first stage predicts the data at θ′ by solving the equations
// with the first setup. To correct this prediction, the first stage adds the difference
// between the predictions of the two stages at the current θ,
//
//	m*(θ′) = m̃(θ′) + m(θ, ξ) − m̃(θ),
//
// where m̃ and m are the predictions with the first and with the second setup. Let p be
// the posterior density with the second setup, and let p* be the density with the
// corrected prediction. Let p*′ be the density obtained when the correction is computed
// at θ′ instead of θ. Then
//
//	θ′ ~ q(· | θ),   passes with    a(θ, θ′) = min(1, p*(θ′) q(θ|θ′) / p(θ) q(θ′|θ)),
//	                 accepted with min(1, p(θ′) q(θ|θ′) a(θ′, θ) / p(θ) q(θ′|θ) a(θ, θ′)),
//	                               a(θ′, θ) = min(1, p*′(θ) q(θ′|θ) / p(θ′) q(θ|θ′)),
//
// The efficiency therefore depends on how much the error of the first stage changes from
// θ to θ′, and not on the size of this error.
//
// Stationary distribution: exactly p₀(θ | Y) with the second setup. With Noise, the
// stationary distribution is p(θ, ξ | Y): θ is moved with ξ fixed, and ξ is moved by pCN
// as in PCNWithinGibbs. In practice, a chain does not converge if the first stage rejects
// nearly all moves into a region with considerable posterior probability. The first stage
// rejects all moves into a region in which it cannot solve the equations, or in which its
// density is close to zero. A chain never enters a region that the first stage rejects,
// and the draws do not show that this region exists. As a check, the second stage also
// examines some of the moves that the first stage rejects: one in two during burn-in, and
// one in sixteen later. The first stage blocks a move if the two stages together accept
// the move less than a tenth as often as plain Metropolis. If the first stage blocks more
// than 0.5 % of the moves that plain Metropolis would accept, the chain continues with
// only the second stage. A note in Chains.Notes gives the iteration at which the first
// stage was switched off.
//
// Cost: each draw needs one solve of the first stage. A solve of the second stage is
// needed if the first stage accepts the move, or if the move is checked.
// DelayedAcceptance accepts fewer moves than Deterministic, because the first stage
// rejects some moves that the second stage would accept. If the error of the first stage
// varies greatly over the posterior, a chain may stay for a long time at a θ with a low
// density. If R̂ is large because chains stay at one θ for a long time, use a smaller
// step for the first stage. A note in Chains.Notes gives the fraction of the moves of θ
// that the first stage rejected. DelayedAcceptance avoids many solves of the second stage
// if the chain accepts only a few moves. A random walk accepts few moves if the posterior
// is curved or has many dimensions. If the posterior is nearly Gaussian, about half of
// the default proposals are accepted, and each accepted proposal needs a solve of the
// second stage. For a nearly Gaussian posterior, Deterministic is therefore as efficient
// as DelayedAcceptance. With Noise, each move of ξ also needs one solve of the second
// stage.
type DelayedAcceptance struct {
	// First is the setup of the first stage. If First.Method is nil, the first stage uses
	// the method of the posterior. If First.Mesh is nil, the first stage uses the mesh of
	// the posterior. If Second is given and First is the zero value, the first stage uses
	// the posterior's setup. If neither First nor Second is given, First is the
	// posterior's setup with steps twice as long.
	First probode.Setup

	// Second is the setup of the second stage. The zero value stands for the setup of the
	// posterior; for an accurate solver, use reference.Accurate. If Second is given, the
	// chains start at the modes of the posterior computed with Second, and Noise is
	// ignored.
	Second probode.Setup

	// If Noise is true, the sampler also moves ξ.
	Noise bool

	// Proposal is the rule that proposes moves of θ; nil stands for a rule that needs no
	// tuning.
	Proposal mcmc.Rule
}

func (s DelayedAcceptance) String() string {
	switch {
	case s.second():
		return "delayed acceptance, accurate"
	case s.Noise:
		return "delayed acceptance, pcn"
	}
	return "delayed acceptance"
}

// second reports whether the second stage has a setup of its own.
func (s DelayedAcceptance) second() bool { return !s.Second.Equal(probode.Setup{}) }

func (s DelayedAcceptance) Proposals() mcmc.Rule { return s.Proposal }

// firstStage returns the setup of the first stage for p.
func (s DelayedAcceptance) firstStage(p *bayes.Posterior) probode.Setup {
	if !s.First.Equal(probode.Setup{}) || s.second() {
		return s.First
	}
	h := 2 * p.StepSize()
	for _, x := range p.Experiments {
		h = min(h, x.Problem.Span[1]-x.Problem.Span[0])
	}
	return p.WithStepSize(h)
}

func (s DelayedAcceptance) Check(d *bayes.Density) error {
	if _, err := d.With(s.firstStage(d.Posterior())); err != nil {
		return fmt.Errorf("first stage of DelayedAcceptance: %w", err)
	}
	if s.second() {
		if _, err := d.With(s.Second); err != nil {
			return fmt.Errorf("second stage of DelayedAcceptance: %w", err)
		}
		return nil
	}
	if s.Noise {
		return noisy(s, d)
	}
	return nil
}

// Target returns p₀(θ | Y) with the second setup, if Second is given. Without a Second
// setup, Target returns p₀(θ | Y) with the posterior's setup, or p(θ, ξ | Y) if Noise is
// true.
func (s DelayedAcceptance) Target() Target {
	switch {
	case s.second():
		return Target{Distribution: Accurate, Setup: s.Second}
	case s.Noise:
		return Target{Distribution: Joint, Reweightable: true}
	}
	return Target{Distribution: Classical, Reweightable: true}
}

// Kernel returns the kernel of one chain.
func (s DelayedAcceptance) Kernel(e *bayes.Density, rule mcmc.Rule, burnIn int) mcmc.Kernel {
	coarse := with(e, s.firstStage(e.Posterior()))
	switch {
	case s.second():
		e = with(e, s.Second)
	case s.Noise:
		xi := newPCN(e, rule, burnIn)
		return newDelayed(xi.state, xi, coarse)
	}
	return newDelayed(newState(e, rule, burnIn, false), nil, coarse)
}

// with returns the density with the setup of a stage. The function panics on an error,
// because Check has already accepted the setup.
func with(e *bayes.Density, s probode.Setup) *bayes.Density {
	d, err := e.With(s)
	if err != nil {
		panic("sample: " + err.Error())
	}
	return d
}

// delayed is the kernel of DelayedAcceptance.
type delayed struct {
	*state
	pcn       *pcn // moves ξ; nil without noise
	coarse    *bayes.Density
	fitCoarse []float64 // m̃ at the position
	fitRight  []float64 // m*
	spared    int       // number of moves that the first stage has rejected

	// These fields are used to test the first stage. A move is called lost if plain
	// Metropolis would accept it with a probability p ≥ 0.01, but the two stages accept
	// it with a probability of at most p/10. The field `refused` is the number of lost
	// moves. The field `plain` is the sum of the probabilities with which plain
	// Metropolis would accept the moves. The field `lost` is the part of the sum `plain`
	// that comes from lost moves. The field `alone` is the iteration at which the first
	// stage was abandoned, or zero if the first stage is still used.
	plain, lost float64
	refused     int
	alone       int
}

const (
	// To test the first stage, the second stage evaluates some of the moves that the
	// first stage rejects: one in soonTested during burn-in, and one in laterTested after
	// burn-in.
	soonTested, laterTested = 2, 16
	// The first stage is kept as long as the field `lost` is at most mostLost times the
	// field `plain`. The first stage is abandoned only if the number of lost moves is at
	// least leastRefused.
	mostLost, leastRefused = 0.005, 3
)

func newDelayed(s *state, xi *pcn, coarse *bayes.Density) *delayed {
	return &delayed{state: s, pcn: xi, coarse: coarse,
		fitCoarse: make([]float64, len(s.fit)), fitRight: make([]float64, len(s.fit))}
}

func (k *delayed) Init(x []float64, rng *rand.Rand) error {
	if err := k.state.Init(x, rng); err != nil {
		return err
	}
	k.spared, k.plain, k.lost, k.refused, k.alone = 0, 0, 0, 0, 0
	if _, err := k.coarse.LogLikelihood(k.theta, nil); err != nil {
		k.alone = 1 // the first stage fails in a part of the posterior
	}
	k.keepCoarse()
	return nil
}

// keepCoarse stores the predictions of the first stage at the current θ. Call keepCoarse
// directly after the first stage has solved the equations at the current θ.
func (k *delayed) keepCoarse() { copy(k.fitCoarse, k.coarse.Expected()) }

func (k *delayed) Step(rng *rand.Rand) {
	if k.alone > 0 {
		k.state.moveTheta(rng)
	} else {
		k.moveTheta(rng)
	}
	if k.pcn != nil {
		k.pcn.moveXi()
	}
}

// moveTheta makes a Metropolis move of θ in two stages. The second stage takes its random
// number from the stream for ξ, so that the move takes as many random numbers from rng as
// a plain Metropolis move.
func (k *delayed) moveTheta(rng *rand.Rand) {
	s := k.state
	logq := s.walk.Propose(s.uNew, s.u, rng)
	s.stats.Proposed++
	// probability is the probability of acceptance in the second stage, or zero if the first
	// stage rejects the move. The proposals are tuned with `probability`, because its
	// expected value is the acceptance probability of the two stages together.
	probability := 0.0
	first := math.Inf(-1) // log a(θ, θ′)
	lp := s.e.Constrain(s.thetaNew, s.uNew)
	if !math.IsInf(lp, -1) {
		if _, err := k.coarse.LogLikelihood(s.thetaNew, nil); err != nil {
			s.stats.Failed++
		} else {
			first = min(0, lp+k.right(s.thetaNew, k.coarse.Expected(), s.fit, k.fitCoarse)-s.logPrior-s.ll+logq)
		}
	}
	if s.chance.accept(first, rng) {
		second := math.Inf(-1)
		ll, ratio, back := k.second(lp, logq, first)
		if math.IsNaN(ll) {
			s.stats.Failed++
		} else {
			second = ratio + back - first
			probability = math.Exp(min(0, second))
			k.test(ratio, first, back, 1)
		}
		if s.chance.accept(second, s.latent) {
			s.stats.Accepted++
			s.place(lp, ll)
			k.keepCoarse()
		}
	} else {
		k.spared++
		every := laterTested
		if s.stats.Proposed <= s.burnIn {
			every = soonTested
		}
		if k.spared%every == 0 && !math.IsInf(lp, -1) {
			if ll, ratio, back := k.second(lp, logq, first); !math.IsNaN(ll) {
				k.test(ratio, first, back, float64(every))
			}
		}
	}
	s.walk.Observe(s.u, probability)
}

// second evaluates the second stage at the proposed θ′, where the log prior is lp. The
// result `ll` is the log likelihood at θ′, or NaN if the equations cannot be solved. The
// result `ratio` is the log acceptance ratio of plain Metropolis. The result `back` is
// log a(θ′, θ), which is −∞ if the first stage has failed.
func (k *delayed) second(lp, logq, first float64) (ll, ratio, back float64) {
	s := k.state
	ll, err := s.like(s.thetaNew, s.xi)
	if err != nil || math.IsInf(ll, 1) {
		ll = math.NaN()
	}
	ratio, back = lp+ll-s.logPrior-s.ll+logq, math.Inf(-1)
	if !math.IsInf(first, -1) && !math.IsInf(ratio, -1) {
		back = min(0, s.logPrior+k.right(s.theta, k.fitCoarse, s.e.Expected(), k.coarse.Expected())-lp-ll-logq)
	}
	return ll, ratio, back
}

// test uses a move to test the first stage. Let p be the probability that plain
// Metropolis accepts the move. The method adds weight × p to the sum `plain`, and also to
// the sum `lost` if the move is lost. If too many moves are lost, the method abandons the
// first stage. Plain Metropolis accepts the move with probability p = min(1, eʳ), where r
// is the argument `ratio`. The two stages together accept the move with probability
// min(a(θ, θ′), eʳ a(θ′, θ)).
func (k *delayed) test(ratio, first, back, weight float64) {
	plain := math.Exp(min(0, ratio))
	k.plain += weight * plain
	if plain < 0.01 || math.Exp(min(first, ratio+back)) > plain/10 {
		return
	}
	k.lost += weight * plain
	if k.refused++; k.refused >= leastRefused && k.lost > mostLost*k.plain {
		k.alone = k.stats.Proposed
	}
}

// right returns the log likelihood for the corrected predictions at theta. If this log
// likelihood is NaN or +Inf, the result is −Inf. The argument `coarse` holds the
// predictions of the first stage at theta. The argument `fine` holds the predictions of
// the second stage at another θ, and `elsewhere` holds the predictions of the first stage
// at the same θ as `fine`. The correction is the difference between `fine` and
// `elsewhere`.
func (k *delayed) right(theta, coarse, fine, elsewhere []float64) float64 {
	for i, m := range coarse {
		k.fitRight[i] = m + (fine[i] - elsewhere[i])
	}
	ll := k.coarse.LogLikelihoodOf(k.fitRight, theta)
	if math.IsNaN(ll) || math.IsInf(ll, 1) {
		return math.Inf(-1)
	}
	return ll
}

func (k *delayed) State(a *mcmc.Archive) {
	if k.pcn != nil {
		k.pcn.State(a)
	} else {
		k.state.State(a)
	}
	a.Floats(k.fitCoarse)
	a.Float(&k.plain)
	a.Float(&k.lost)
	a.Int(&k.spared)
	a.Int(&k.refused)
	a.Int(&k.alone)
}

func (k *delayed) Tuned() (what, value string) {
	value = fmt.Sprintf("%.2f", float64(k.spared)/float64(max(1, k.stats.Proposed)))
	if k.alone > 0 {
		value += fmt.Sprintf(" (from iteration %d onwards, only the second stage is used, because the first stage rejects moves that the second stage would accept", k.alone)
		if k.alone > k.burnIn {
			value += "; draws before that are wrong"
		}
		value += ")"
	}
	return "fraction of the moves of θ that the first stage rejected", value
}
