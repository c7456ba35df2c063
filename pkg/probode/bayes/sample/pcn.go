package sample

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// PCNWithinGibbs alternates two Metropolis moves, one of θ with ξ fixed and one of ξ with
// θ fixed:
//
//	θ′ ~ q(· | θ),              accepted with  min(1, p(Y|Z(θ′,ξ)) p(θ′) q(θ|θ′) / p(Y|Z(θ,ξ)) p(θ) q(θ′|θ))
//	ξ′ = √(1−β²) ξ + β η,       accepted with  min(1, p(Y|Z(θ,ξ′)) / p(Y|Z(θ,ξ)))
//
// The move of ξ is a preconditioned Crank–Nicolson (pCN) move, which is reversible for
// p(ξ) = N(0, I) for any number of solver steps [Cotter et al. 2013].
//
// If the noise of the solver is large, θ and ξ are strongly dependent under the
// posterior, and a chain that moves only one of them at a time mixes slowly. In every
// second iteration, a joint move of θ and ξ replaces the move of ξ. For the joint move,
// time is divided into blocks, and ξ is summed over each block. The sums v are scaled so
// that their prior distribution is N(0, I). Let N(m, C) be a Gaussian approximation of
// the posterior of (θ, v), where θ is on the unconstrained scale. The joint move is a
// Crank–Nicolson move that is reversible for N(m, C),
//
//	(θ, v)′ = m + √(1−b²) ((θ, v) − m) + b C^½ z,
//	ξ′ = √(1−b²) ξ + b η  for the part of ξ that v does not determine,
//
// and is accepted by the Metropolis–Hastings rule for p(θ, ξ | Y). Before the chains
// begin, the approximation is found by Fisher scoring, starting at the mode of the
// deterministic posterior. Finding this approximation takes little more than one solve
// for each parameter and each block. If the approximation is poor, the joint move is
// rarely accepted, but the draws are still correct.
//
// Stationary distribution: p(θ, ξ | Y). Cost: two solves and N × d standard normal
// numbers for each draw. A draw takes about 2.5 times as long as with Deterministic.
// During burn-in, the step size β of the moves of ξ is tuned so that a quarter of them
// are accepted. After burn-in, β stays fixed. The zero value is ready for use.
type PCNWithinGibbs struct {
	// Proposal proposes moves of θ. Nil stands for mcmc.AdaptiveMetropolis with Pull, and with
	// the shape of the posterior at its heaviest mode, that learns during the burn-in.
	Proposal *mcmc.AdaptiveMetropolis

	// Blocks is the number of time intervals over which ξ is summed for the joint moves.
	// If Blocks is zero, there are as many intervals as possible, up to 40 intervals and
	// 64 sums. The sums of all components and all experiments are counted together. There
	// are no joint moves if Blocks is negative, or if Blocks is zero and fewer than 4
	// intervals are possible. More intervals than the default are useful if the noise is
	// large.
	Blocks int
}

func (PCNWithinGibbs) String() string { return "pcn" }

// Algorithm draws from p(θ, ξ | Y).
func (s PCNWithinGibbs) Algorithm() Algorithm {
	a := Algorithm{Target: Joint, Walk: s.Proposal,
		Check: func(d *bayes.Density) error { return noisy(s, d) },
		Tuned: func(k mcmc.Kernel) (what, value string) { return k.(*pcn).tuned() }}
	a.Prepare = func(ctx context.Context, d *bayes.Density, modes func() (*bayes.Modes, error)) (Algorithm, error) {
		g, notes, err := s.prepare(ctx, d, modes)
		a.Notes = notes
		a.Kernel = func(e *bayes.Density, walk mcmc.AdaptiveMetropolis, burnIn int) mcmc.Kernel {
			k := newPCN(e, walk, burnIn)
			if g != nil {
				k.joint = newJoint(g)
			}
			return k
		}
		return a, err
	}
	return a
}

// prepare computes the Gaussian approximation for the joint moves; nil means that there are
// none.
func (s PCNWithinGibbs) prepare(ctx context.Context, d *bayes.Density, modes func() (*bayes.Modes, error)) (*gaussian, []string, error) {
	e, p := d.Clone(), d.Posterior()
	defer e.Bind(ctx)()
	blocks := s.Blocks
	if blocks == 0 {
		n := 0
		for i := range p.Experiments {
			if grid := e.Part(i).Grid(); grid != nil {
				n += grid.Solver().Normals()
			}
		}
		if blocks = min(64/max(1, n), 40); n == 0 || blocks < 4 {
			blocks = 0 // the search would cost more than it saves
		}
	}
	if blocks <= 0 {
		return nil, nil, nil
	}
	// If the search for modes fails, the run continues, because the caller may have
	// supplied the starting points. Only the cancellation of ctx ends the run.
	found, err := modes()
	var g *gaussian
	if err == nil {
		g = findGaussian(ctx, e, found.Highest().U, shape.Blocks(e, blocks))
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if err := e.Err(); err != nil {
		return nil, nil, err
	}
	if g == nil {
		return nil, []string{"there are no joint moves of θ and ξ, because no Gaussian approximation of their posterior was found"}, nil
	}
	theta := make([]float64, len(p.Params))
	e.Constrain(theta, g.mean[:len(theta)])
	return g, []string{fmt.Sprintf("joint moves of θ and ξ use a Gaussian approximation of the posterior around %s; the approximation describes ξ by %d sums of elements of ξ", p.Format(theta), len(g.blocks))}, nil
}

// newPCN returns the kernel without joint moves.
func newPCN(e *bayes.Density, walk mcmc.AdaptiveMetropolis, burnIn int) *pcn {
	k := &pcn{state: newState(e, walk, burnIn, true), left: burnIn,
		beta: tunedStep{step: 0.1}, b: tunedStep{step: 0.5}}
	k.next = make([]float64, len(k.xi))
	return k
}

type pcn struct {
	*state
	next []float64 // proposed ξ
	left int       // number of remaining iterations of burn-in
	beta tunedStep

	joint both // moves of θ and ξ at once; may be nil
	b     tunedStep
	turn  int // 1 if the next move of ξ is a joint one
}

func (k *pcn) Step(rng *rand.Rand) {
	k.moveTheta(rng)
	k.moveXi()
}

// moveXi makes a move of ξ or, on every second call, a joint move of θ and ξ.
func (k *pcn) moveXi() {
	if k.joint != nil {
		k.turn = 1 - k.turn
	}
	logq, tuned := 0.0, &k.beta
	if k.joint == nil || k.turn == 1 {
		copy(k.proposed.u, k.u)
		k.chance.perturb(k.next, k.xi, k.beta.step, k.latent)
	} else {
		tuned = &k.b
		logq = k.joint.propose(k.proposed.u, k.u, k.next, k.xi, k.b.step, k.chance, k.latent)
	}
	accepted, _ := k.decide(logq, k.next, &k.stats.Latent, k.latent)
	if accepted {
		k.xi, k.next = k.next, k.xi
	}
	if k.left > 0 {
		tuned.learn(accepted)
	}
	k.left--
}

// tunedStep holds a step size that is tuned during the run. The logarithm of the step size is
// adapted by the method of Robbins and Monro so that a quarter of the moves are accepted.
type tunedStep struct {
	step float64 // in (0, 1]
	n    int     // number of moves so far
}

func (t *tunedStep) learn(accepted bool) {
	t.n++
	a := -0.25
	if accepted {
		a += 1
	}
	t.step = min(1, t.step*math.Exp(a*4/math.Pow(float64(t.n), 0.6)))
}

func (t *tunedStep) State(a *mcmc.Archive) {
	a.Float(&t.step)
	a.Int(&t.n)
}

func (k *pcn) State(a *mcmc.Archive) {
	k.state.State(a)
	k.beta.State(a)
	k.b.State(a)
	a.Int(&k.turn)
	a.Int(&k.left)
}

func (k *pcn) tuned() (what, value string) {
	if k.joint != nil {
		return "step size β of the moves of ξ and step size b of the joint moves", fmt.Sprintf("%.2g and %.2g", k.beta.step, k.b.step)
	}
	return "step size β of the moves of ξ", fmt.Sprintf("%.2g", k.beta.step)
}
