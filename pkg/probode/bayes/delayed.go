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
// & Fox 2005]. What the first stage expects of the data at θ′ is the coarse
// solution there, put right by what it is wrong at the present θ,
//
//	m*(θ′) = m̃(θ′) + m(θ, ξ) − m̃(θ),
//
// m and m̃ being what the fine and the coarse solution expect. With p* the
// posterior density that this gives, and p*′ the one that is put right at θ′,
//
//	θ′ ~ q(· | θ),   goes on with  a(θ, θ′) = min(1, p*(θ′) q(θ|θ′) / p(θ) q(θ′|θ)),
//	                 accepted with min(1, p(θ′) q(θ|θ′) a(θ′, θ) / p(θ) q(θ′|θ) a(θ, θ′)),
//	                               a(θ′, θ) = min(1, p*′(θ) q(θ′|θ) / p(θ′) q(θ|θ′)),
//
// so that it does not matter how far off the coarse solution is, but only how
// its error changes from θ to θ′.
//
// Stationary distribution: p₀(θ | Y) of the fine step, exactly, whatever the coarse one;
// with Accurate p(θ | Y) of that solver, the first stage being the Posterior as it is;
// with Noise p(θ, ξ | Y), θ being moved with ξ fixed and ξ by pCN as in
// PCNWithinGibbs. But a chain does not enter a region where the coarse solver
// fails.
//
// Cost: a coarse solve a draw, and a fine one for the share of moves that pass.
// It accepts less often than Deterministic does, by the share of moves that the
// two stages judge differently; where the coarse error varies a lot over the
// posterior, a chain stays for long times at rare θ, and R̂ is large: then make
// CoarseStep smaller. Chains.Notes say what the first stage has spared. That is
// much where few moves are accepted, as of a random walk in many dimensions or
// in a curved posterior; of moves that are accepted half of the time, as the rule
// that needs no tuning makes them in a nearly Gaussian posterior, at most half
// can be spared, and Deterministic is as good. With Noise the move of ξ wants a
// fine solve in any case.
type DelayedAcceptance struct {
	// CoarseStep is the step of the first stage; zero means twice that of the
	// Posterior, or the shortest span if that is less. Steps are made to
	// divide spans as Posterior.StepSize is.
	CoarseStep float64

	// CoarseMethod is the method of the first stage; nil stands for that of
	// the Posterior.
	CoarseMethod probode.Method

	// CoarseMesh, if not nil, makes the grids of the first stage in the place of
	// CoarseStep.
	CoarseMesh probode.Mesh

	// Accurate, if not nil, is the second stage, and the solver of the Posterior
	// the first one. CoarseStep, CoarseMethod, CoarseMesh and Noise then have no
	// meaning.
	Accurate *AccurateSolver

	// Noise has the sampler move ξ, too.
	Noise bool

	// Beta is that of PCNWithinGibbs. It has no meaning without Noise.
	Beta float64

	// Proposal makes the moves of θ; nil stands for a rule that needs no
	// tuning.
	Proposal mcmc.Rule
}

func (s DelayedAcceptance) String() string {
	switch {
	case s.Accurate != nil:
		return "delayed acceptance, accurate"
	case s.Noise:
		return "delayed acceptance, pcn"
	}
	return "delayed acceptance"
}

func (s DelayedAcceptance) Proposals() mcmc.Rule { return s.Proposal }

// refines returns the solver whose modes the chains start around.
func (s DelayedAcceptance) refines() *AccurateSolver { return s.Accurate }

// coarse returns p with the solver of the first stage.
func (s DelayedAcceptance) coarse(p *Posterior) *Posterior {
	q := *p
	if s.Accurate != nil {
		return &q
	}
	if s.CoarseMethod != nil {
		q.Method = s.CoarseMethod
	}
	switch h := 2 * p.StepSize(); {
	case s.CoarseMesh != nil:
		q.Mesh = s.CoarseMesh
	case s.CoarseStep != 0:
		q.Setup = q.WithStepSize(s.CoarseStep)
	default:
		for _, x := range p.Experiments {
			h = min(h, x.Problem.Span[1]-x.Problem.Span[0])
		}
		q.Setup = q.WithStepSize(h)
	}
	return &q
}

func (s DelayedAcceptance) Check(p *Posterior) error {
	if !(s.CoarseStep >= 0) || !(s.Beta >= 0 && s.Beta <= 1) {
		return fmt.Errorf("bayes: DelayedAcceptance with CoarseStep %g and Beta %g: want CoarseStep > 0, or 0 for twice Step, and Beta in [0, 1]", s.CoarseStep, s.Beta)
	}
	if _, err := NewDensity(s.coarse(p)); err != nil {
		return fmt.Errorf("first stage of DelayedAcceptance: %w", err)
	}
	if s.Accurate != nil {
		_, err := s.Accurate.Density(p)
		return err
	}
	if s.Noise {
		return noisy(s, p)
	}
	return nil
}

// Target returns p₀(θ | Y), with Accurate p(θ | Y), with Noise p(θ, ξ | Y).
func (s DelayedAcceptance) Target() Target {
	if s.Accurate != nil {
		return Target{Distribution: Accurate, Solver: *s.Accurate}
	}
	if s.Noise {
		return Target{Distribution: Joint, Reweightable: true}
	}
	return Target{Distribution: Classical, Reweightable: true}
}

// Kernel returns the kernel of one chain.
func (s DelayedAcceptance) Kernel(e *Density, rule mcmc.Rule, burnIn int) mcmc.Kernel {
	rule = chosen(s.Proposal, rule)
	coarse, err := e.With(s.coarse(e.p))
	if err != nil {
		panic("bayes: " + err.Error()) // Check has looked at it
	}
	if s.Accurate != nil {
		if err := e.refine(*s.Accurate); err != nil {
			panic("bayes: " + err.Error())
		}
		return newDelayed(newState(e, rule, burnIn, false), nil, coarse)
	}
	if s.Noise {
		xi := newPCN(e, rule, burnIn, s.Beta, 1)
		return newDelayed(xi.state, xi, coarse)
	}
	return newDelayed(newState(e, rule, burnIn, false), nil, coarse)
}

// delayed is the kernel of DelayedAcceptance.
type delayed struct {
	*state
	pcn       *pcn // moves ξ; nil without noise
	coarse    *Density
	fitCoarse []float64 // m̃ at the position
	fitRight  []float64 // m*
	spared    int       // moves that the first stage has turned down
}

func newDelayed(s *state, xi *pcn, coarse *Density) *delayed {
	return &delayed{state: s, pcn: xi, coarse: coarse,
		fitCoarse: make([]float64, len(s.fit)), fitRight: make([]float64, len(s.fit))}
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
	if _, err := k.coarse.LogLikelihood(k.theta, nil); err != nil {
		return err
	}
	k.keepCoarse()
	return nil
}

// keepCoarse makes the last coarse solution that of the position.
func (k *delayed) keepCoarse() {
	last := k.coarse.fit
	k.coarse.setFit(k.fitCoarse)
	k.fitCoarse = last
}

func (k *delayed) Step(rng *rand.Rand) {
	k.moveTheta(rng)
	if k.pcn != nil {
		k.pcn.moveXi()
	}
}

// moveTheta is that of state in two stages. The second decides by what is
// otherwise for ξ, so that rng is used up as by other samplers.
func (k *delayed) moveTheta(rng *rand.Rand) {
	s := k.state
	logq := s.walk.Propose(s.uNew, s.u, rng)
	s.stats.Proposed++
	// Where a move does not come to the second stage, the proposal learns of
	// zero, and else of the probability there: in the mean that is the
	// probability of acceptance.
	probability := 0.0
	first := math.Inf(-1) // log a(θ, θ′)
	lp := s.e.Constrain(s.thetaNew, s.uNew)
	if !math.IsInf(lp, -1) {
		if _, err := k.coarse.LogLikelihood(s.thetaNew, nil); err != nil {
			s.stats.Failed++
		} else {
			first = min(0, lp+k.right(s.thetaNew, k.coarse.fit, s.fit, k.fitCoarse)-s.logPrior-s.ll+logq)
		}
	}
	if s.chance.accept(first, rng) {
		second := math.Inf(-1)
		ll, err := s.like(s.thetaNew, s.xi)
		if err != nil || math.IsNaN(ll) || math.IsInf(ll, 1) {
			s.stats.Failed++
		} else if !math.IsInf(ll, -1) {
			ratio := lp + ll - s.logPrior - s.ll + logq
			back := min(0, s.logPrior+k.right(s.theta, k.fitCoarse, s.e.fit, k.coarse.fit)-lp-ll-logq) // log a(θ′, θ)
			second = ratio + back - first
			probability = math.Exp(min(0, second))
		}
		if s.chance.accept(second, s.latent) {
			s.moveTo(lp, ll)
			k.keepCoarse()
		}
	} else {
		k.spared++
	}
	s.walk.Observe(s.u, probability)
}

// right returns the log likelihood at theta by the coarse solution there, put
// right by a fine and a coarse one elsewhere. −Inf stands for NaN.
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
	a.Int(&k.spared)
}

func (k *delayed) Tuned() (what, value string) {
	return "share of fine solves for moves of θ that the coarse stage spared",
		fmt.Sprintf("%.2f", float64(k.spared)/float64(max(1, k.stats.Proposed)))
}
