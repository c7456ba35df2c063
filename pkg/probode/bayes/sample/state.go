package sample

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// state holds the position (θ, ξ) of a chain and the likelihood at this position. A state
// has all the methods of an mcmc.Kernel except Step. A state also has a method for the
// Metropolis move of θ, which several samplers use.
type state struct {
	e       *bayes.Density
	burnIn  int
	newWalk func() walk
	walk    walk
	position
	proposed position
	xi       []float64 // nil for ξ = 0
	fit      []float64 // expected values of the data at the position
	stats    mcmc.Stats

	// The random numbers for moves of ξ come from a separate stream. Samplers that move ξ
	// in different ways therefore use the same random numbers for θ.
	source rand.PCG
	latent *rand.Rand

	chance chance
	begin  func()                                     // draws other latent variables of the kernel at Init; may be nil
	like   func(theta, xi []float64) (float64, error) // log p(Y | Z(θ, ξ)), or an estimate of log p(Y | θ)
}

type position struct {
	u, theta     []float64 // on both scales
	logPrior, ll float64   // log prior density of u; log likelihood
}

func newPosition(d int) position { return position{u: make([]float64, d), theta: make([]float64, d)} }

// walk is an mcmc.Proposal or, in tests, a table of moves.
type walk interface {
	Propose(dst, x []float64, rng *rand.Rand) float64
	Observe(x []float64, probability float64)
	State(a *mcmc.Archive)
}

// All random decisions of the kernels, except the proposals of θ, are made through the
// interface `chance`. In tests, an implementation of `chance` follows all branches, and
// computes the probabilities of a kernel's moves.
type chance interface {
	// accept reports whether a move is accepted. The probability of acceptance is min(1, eʳ)
	// with r = logRatio, or zero if r is NaN. The numbers that accept() takes from `rng` do
	// not depend on logRatio.
	accept(logRatio float64, rng *rand.Rand) bool

	// draw writes a draw from p(ξ) to dst.
	draw(dst []float64, rng *rand.Rand)

	// perturb writes a perturbed copy of xi to dst. The perturbation is reversible with
	// respect to p(ξ).
	perturb(dst, xi []float64, beta float64, rng *rand.Rand)
}

// random implements the interface `chance` with random numbers.
type random struct{}

func (random) accept(logRatio float64, rng *rand.Rand) bool {
	return logRatio >= -rng.ExpFloat64() // −log U of a uniform U is exponential
}
func (random) draw(dst []float64, rng *rand.Rand) { normals(dst, rng) }
func (random) perturb(dst, xi []float64, beta float64, rng *rand.Rand) {
	probode.PerturbNoise(dst, xi, beta, rng)
}

func newState(e *bayes.Density, rule mcmc.AdaptiveMetropolis, burnIn int, noise bool) *state {
	d := e.Dim()
	s := &state{e: e, burnIn: burnIn, newWalk: func() walk { return rule.New(d) }, chance: random{}, like: e.LogLikelihood, fit: make([]float64, len(e.Expected())),
		position: newPosition(d), proposed: newPosition(d)}
	if noise {
		s.xi = make([]float64, e.NoiseLen())
	}
	s.latent = rand.New(&s.source)
	s.walk = s.newWalk()
	return s
}

// Init places the chain at θ = x, and draws ξ from p(ξ).
func (s *state) Init(x []float64, rng *rand.Rand) error {
	if len(x) != len(s.theta) {
		panic(fmt.Sprintf("sample: start of %d parameters: want %d", len(x), len(s.theta)))
	}
	s.source.Seed(rng.Uint64(), rng.Uint64())
	s.chance.draw(s.xi, s.latent)
	if s.begin != nil {
		s.begin()
	}
	s.walk = s.newWalk()
	s.stats = mcmc.Stats{}
	if err := s.e.Unconstrain(s.u, x); err != nil {
		return err
	}
	s.logPrior = s.e.Constrain(s.theta, s.u)
	if math.IsInf(s.logPrior, 0) {
		return fmt.Errorf("sample: the prior density at %.4g is zero", x)
	}
	var err error
	if s.ll, err = s.like(s.theta, s.xi); err != nil {
		return err
	}
	s.keepFit()
	if math.IsNaN(s.ll) || math.IsInf(s.ll, 0) {
		if cause := s.e.Explain(s.theta, s.xi); cause != nil {
			return fmt.Errorf("sample: the log likelihood at %.4g is %g: %w", x, s.ll, cause)
		}
		return fmt.Errorf("sample: the log likelihood at %.4g is %g", x, s.ll)
	}
	return nil
}

// keepFit stores the expected values from the last evaluation as the expected values at
// the current θ.
func (s *state) keepFit() { copy(s.fit, s.e.Expected()) }

// moveTheta makes a Metropolis–Hastings move of θ with ξ fixed, and reports whether the
// move was accepted.
func (s *state) moveTheta(rng *rand.Rand) bool {
	logq := s.walk.Propose(s.proposed.u, s.u, rng)
	accepted, probability := s.decide(logq, s.xi, &s.stats.Moves, rng)
	s.walk.Observe(s.u, probability)
	return accepted
}

// decide accepts or rejects the proposed position, of which u is known, counts the proposal
// in the argument `moves`, and returns the probability of acceptance. The likelihood is
// computed with the noise `xi`. The argument `logq` is added to the log ratio of the
// posterior densities.
func (s *state) decide(logq float64, xi []float64, moves *mcmc.Moves, rng *rand.Rand) (accepted bool, probability float64) {
	moves.Proposed++
	ratio, to := math.Inf(-1), &s.proposed
	to.logPrior, to.ll = s.e.Constrain(to.theta, to.u), math.Inf(-1)
	if !math.IsInf(to.logPrior, -1) {
		var err error
		if to.ll, err = s.like(to.theta, xi); err != nil || math.IsNaN(to.ll) || math.IsInf(to.ll, 1) {
			moves.Failed++
		} else if !math.IsInf(to.ll, -1) {
			ratio = to.logPrior + to.ll - s.logPrior - s.ll + logq
		}
	}
	if accepted = s.chance.accept(ratio, rng); accepted {
		moves.Accepted++
		s.position, s.proposed = s.proposed, s.position
		s.keepFit()
	}
	return accepted, math.Exp(min(0, ratio))
}

// renew recomputes the likelihood at the current θ and ξ, and reports whether it is known.
// If it is zero or unknown, the next move to a point with a positive posterior density is
// accepted.
func (s *state) renew() bool {
	ll, err := s.like(s.theta, s.xi)
	known := err == nil && !math.IsNaN(ll)
	if !known {
		ll = math.Inf(-1)
	}
	if s.ll = ll; !math.IsInf(ll, -1) {
		s.keepFit()
	}
	return known
}

// Position returns θ.
func (s *state) Position() []float64 { return s.theta }

// Stats returns the numbers of proposed, accepted and failed moves since Init.
func (s *state) Stats() mcmc.Stats { return s.stats }

// Generate writes the generated quantities that are listed in the documentation of Run.
func (s *state) Generate(dst []float64) {
	s.e.Generate(dst, s.logPrior+s.ll, s.theta, s.fit)
}

// State writes the state of the chain to the archive, or reads it from the archive.
func (s *state) State(a *mcmc.Archive) {
	a.Floats(s.u)
	a.Floats(s.theta)
	a.Floats(s.xi)
	a.Floats(s.fit)
	a.Float(&s.logPrior)
	a.Float(&s.ll)
	a.Stats(&s.stats)
	a.Source(&s.source)
	s.walk.State(a)
}

func normals(dst []float64, rng *rand.Rand) {
	for i := range dst {
		dst[i] = rng.NormFloat64()
	}
}
