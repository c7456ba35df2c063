package bayes

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// DelayedAcceptance moves θ by Metropolis in two stages, and solves with the
// step of the Posterior only for moves that a coarse step has let pass [Christen
// & Fox 2005]. With p̃ the deterministic posterior of the coarse solver and p
// that of the fine one,
//
//	θ′ ~ q(· | θ),   goes on with  min(1, p̃(θ′) q(θ|θ′) / p̃(θ) q(θ′|θ)),
//	                 accepted with min(1, p(θ′) p̃(θ) / p(θ) p̃(θ′)).
//
// Stationary law: p₀(θ | Y) of the fine step, exactly, whatever the coarse one;
// with Noise p(θ, ξ | Y), with p(· | ξ) in place of p, and moves of ξ by pCN as
// in PCNWithinGibbs. But a chain does not enter a region where the coarse
// solver fails, and goes astray where its posterior is narrower than the fine
// one: it then stays for long times at rare θ. Let the coarse posterior be near.
//
// Cost: a coarse solve a draw, and a fine one for the share of moves that pass,
// a third to a half: at CoarseStep = 10 Step less than half of a deterministic
// draw. It accepts less often than Deterministic does, by the share of moves
// that the two solvers judge differently. Use it where Step has to be small, as
// for the accurate posterior to compare with. With Noise the move of ξ wants a
// fine solve in any case, and no more than a third can be gained.
type DelayedAcceptance struct {
	// CoarseStep is the step of the first stage; zero means eight times that
	// of the Posterior. Steps are made to divide spans as Posterior.Step is.
	CoarseStep float64

	// CoarseMethod is the method of the first stage; nil stands for that of
	// the Posterior.
	CoarseMethod probode.Method

	// Noise has the scheme move ξ, too.
	Noise bool

	// Beta is that of PCNWithinGibbs. It has no meaning without Noise.
	Beta float64

	// Proposal makes the moves of θ; nil stands for a rule that needs no
	// tuning.
	Proposal mcmc.Rule
}

func (s DelayedAcceptance) String() string {
	if s.Noise {
		return "delayed acceptance, pcn"
	}
	return "delayed acceptance"
}

func (s DelayedAcceptance) proposal() mcmc.Rule { return s.Proposal }

// coarse returns p with the solver of the first stage.
func (s DelayedAcceptance) coarse(p *Posterior) *Posterior {
	q := *p
	q.Step = s.CoarseStep
	if s.CoarseMethod != nil {
		q.Method = s.CoarseMethod
	}
	if s.CoarseStep == 0 {
		q.Step = 8 * p.Step
	}
	return &q
}

func (s DelayedAcceptance) validate(p *Posterior) error {
	if !(s.CoarseStep >= 0) || !(s.Beta >= 0 && s.Beta <= 1) {
		return fmt.Errorf("bayes: DelayedAcceptance with CoarseStep %g and Beta %g: want CoarseStep > 0, or 0 for 8 Step, and Beta in [0, 1]", s.CoarseStep, s.Beta)
	}
	if _, err := newEvaluator(s.coarse(p)); err != nil {
		return fmt.Errorf("first stage of DelayedAcceptance: %w", err)
	}
	if s.Noise {
		return noisy(s, p)
	}
	return nil
}

func (s DelayedAcceptance) kernel(e *evaluator, rule mcmc.Rule, burnIn int) mcmc.Kernel {
	coarse, err := newEvaluator(s.coarse(e.p))
	if err != nil {
		panic("bayes: " + err.Error()) // validate has looked at it
	}
	k := &delayed{coarse: coarse, likeCoarse: coarse.logLikelihood}
	if s.Noise {
		k.pcn = newPCN(e, rule, burnIn, s.Beta, 1)
		k.state = k.pcn.state
	} else {
		k.state = newState(e, rule, burnIn, false)
	}
	return k
}

// delayed is the kernel of DelayedAcceptance.
type delayed struct {
	*state
	pcn        *pcn // moves ξ; nil without noise
	coarse     *evaluator
	likeCoarse func(theta, xi []float64) (float64, error)
	llCoarse   float64 // log likelihood of the position in the first stage
	spared     int     // moves that the first stage has turned down
}

func (k *delayed) Init(x []float64, rng *rand.Rand) error {
	init := k.state.Init
	if k.pcn != nil {
		init = k.pcn.Init
	}
	if err := init(x, rng); err != nil {
		return err
	}
	k.spared = 0
	ll, err := k.likeCoarse(k.theta, nil)
	if err != nil {
		return err
	}
	if math.IsNaN(ll) || math.IsInf(ll, 0) {
		return fmt.Errorf("bayes: the log likelihood of the coarse solver at %.4g is %g", x, ll)
	}
	k.llCoarse = ll
	return nil
}

func (k *delayed) Step(rng *rand.Rand) {
	k.moveTheta(rng)
	if k.pcn != nil {
		k.pcn.moveXi()
	}
}

// moveTheta is that of state in two stages. The second decides by what is
// otherwise for ξ, so that rng is used up as by other schemes.
func (k *delayed) moveTheta(rng *rand.Rand) {
	s := k.state
	logq := s.walk.Propose(s.uNew, s.u, rng)
	s.stats.Proposed++
	// Where a move does not come to the second stage, the proposal learns of
	// zero, and else of the probability there: in the mean that is the
	// probability of acceptance.
	probability := 0.0
	first, coarse := math.Inf(-1), math.Inf(-1)
	lp := s.e.constrain(s.thetaNew, s.uNew)
	if !math.IsInf(lp, -1) {
		var err error
		if coarse, err = k.likeCoarse(s.thetaNew, nil); err != nil || math.IsNaN(coarse) || math.IsInf(coarse, 1) {
			s.stats.Failed++
		} else {
			first = lp + coarse - s.logPrior - k.llCoarse + logq
		}
	}
	if s.chance.accept(first, rng) {
		second := math.Inf(-1)
		ll, err := s.like(s.thetaNew, s.xi)
		if err != nil || math.IsNaN(ll) || math.IsInf(ll, 1) {
			s.stats.Failed++
		} else {
			second = ll - coarse - s.ll + k.llCoarse
			probability = math.Exp(min(0, second))
		}
		if s.chance.accept(second, s.latent) {
			k.llCoarse = coarse
			s.moveTo(lp, ll)
		}
	} else {
		k.spared++
	}
	s.walk.Observe(s.u, probability)
}

func (k *delayed) work() int { return k.state.work() + k.coarse.steps }

func (k *delayed) State(a *mcmc.Archive) {
	if k.pcn != nil {
		k.pcn.State(a)
	} else {
		k.state.State(a)
	}
	a.Float(&k.llCoarse)
	a.Int(&k.spared)
}

func (k *delayed) learned() (what, value string) {
	return "share of fine solves for moves of θ that the coarse stage spared, by chain:",
		fmt.Sprintf("%.2f", float64(k.spared)/float64(max(1, k.stats.Proposed)))
}
