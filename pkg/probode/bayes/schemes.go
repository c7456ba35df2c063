package bayes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// A Scheme is a way to draw θ, with or without ξ. The schemes differ in the
// law that the chains settle into, which each documents.
type Scheme interface {
	// String returns a short name for tables.
	String() string

	// kernel returns the kernel of one chain. The rule makes the proposals
	// of θ, on the unconstrained scale, and adapts for burnIn iterations.
	kernel(e *evaluator, rule mcmc.Rule, burnIn int) mcmc.Kernel

	// proposal returns the caller's own rule, nil for that of this package.
	proposal() mcmc.Rule

	// validate reports a setting that cannot be.
	validate(p *Posterior) error
}

// Sample draws from p by the scheme. Parameters are moved on an unconstrained
// scale, where proposals learn the shape of the posterior during burn-in and
// are then left as they are; see Param.Natural for the exception. Draws are on
// the natural scale, in the order of p.Params. Beside each draw stand in
// Chains.Generated the quantities
//
//	lp__         log posterior density on the unconstrained scale, up to a constant
//	y_hat.1, …   what the model expects of each value of the data, by experiment, row and column
//	log_lik.1, … its log probability, of those values that are not missing
//
// A nil s.Start has the chains begin around the mode of the deterministic
// posterior, or at draws of the prior where no mode is found: Chains.Notes say
// which. To have them begin at draws of the prior anyway, see DrawPrior. A zero
// s.BurnIn means 1000 iterations and 250 more for each parameter. Names are those
// of p. A move to a θ at which the ODE cannot be solved is rejected and counted as
// failed.
//
// The same seed gives different schemes the same starts and, for each chain,
// the same random numbers for the proposals of θ and their acceptance, and
// others for ξ.
//
// The error says what is wrong with p, that no chain could begin, or that ctx
// ended; see mcmc.Run.
func Sample(ctx context.Context, p *Posterior, scheme Scheme, s mcmc.Settings) (*mcmc.Chains, error) {
	job, err := prepare(ctx, p, scheme, s)
	if err != nil {
		return nil, err
	}
	return job.run(ctx)
}

func (j *job) run(ctx context.Context) (*mcmc.Chains, error) {
	begin := time.Now()
	chains, err := mcmc.Run(ctx, j.kernel, j.settings)
	j.drawing = time.Since(begin)
	if chains == nil {
		return nil, err
	}
	chains.Notes = append(chains.Notes, j.notes...)
	chains.Notes = append(chains.Notes, j.learned()...)
	if f, ok := j.scheme.(finisher); ok && err == nil {
		begin = time.Now()
		chains, err = f.finish(ctx, j.p, chains)
		j.finishing = time.Since(begin)
	}
	return chains, err
}

// A finisher is a Scheme that has something to do when all chains are there.
type finisher interface {
	finish(ctx context.Context, p *Posterior, chains *mcmc.Chains) (*mcmc.Chains, error)
}

// A job is a posterior with a scheme, ready to run.
type job struct {
	p        *Posterior
	scheme   Scheme
	settings mcmc.Settings
	rule     mcmc.Rule
	notes    []string
	kernels  []mcmc.Kernel
	full     int    // steps of one solution of all the equations
	mode     *Mode  // nil if it was not looked for
	shape    *shape // for joint moves; nil if there are none

	drawing, finishing time.Duration // times that it took, for Compare
}

func prepare(ctx context.Context, p *Posterior, scheme Scheme, s mcmc.Settings) (*job, error) {
	p, err := p.withGrids()
	if err != nil {
		return nil, err
	}
	e, err := newEvaluator(p)
	if err != nil {
		return nil, err
	}
	if scheme == nil {
		return nil, errors.New("bayes: no scheme: want Deterministic, PCNWithinGibbs or another one")
	}
	if err := scheme.validate(p); err != nil {
		return nil, err
	}
	s.Names = p.names()
	s.Generated = quantities(e)
	if s.BurnIn == 0 {
		s.BurnIn = 1000 + 250*len(p.Params)
	}
	j := &job{p: p, scheme: scheme, settings: s, rule: scheme.proposal()}
	for _, r := range e.runs {
		j.full += r.solver.Steps()
	}
	if held := p.held(); held != "" {
		j.notes = append(j.notes, held)
	}
	if s.Start == nil || j.rule == nil {
		if err := j.begin(ctx, s.Start == nil); err != nil {
			return nil, err
		}
	}
	if f, ok := scheme.(preparer); ok {
		if err := f.prepare(ctx, j); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// A preparer is a Scheme that has something to find out once for all chains.
type preparer interface {
	prepare(ctx context.Context, j *job) error
}

// kernel makes the kernel of one chain.
func (j *job) kernel(int) mcmc.Kernel {
	e, err := newEvaluator(j.p)
	if err != nil {
		panic("bayes: " + err.Error()) // it was made before
	}
	k := j.scheme.kernel(e, j.rule, max(0, j.settings.BurnIn))
	if p, ok := k.(*pcn); ok && j.shape != nil {
		p.joint = newJoint(j.shape)
	}
	j.kernels = append(j.kernels, k)
	return k
}

// learned returns what the kernels found out, such as β.
func (j *job) learned() []string {
	var all []string
	what := ""
	for _, k := range j.kernels {
		if l, ok := k.(interface{ learned() (what, value string) }); ok {
			w, v := l.learned()
			what, all = w, append(all, v)
		}
	}
	if all == nil || what == "" {
		return nil
	}
	return []string{what + " " + strings.Join(all, ", ")}
}

// quantities names what a kernel tells beside its position.
func quantities(e *evaluator) []string {
	names := []string{"lp__"}
	for i := range e.fit {
		names = append(names, fmt.Sprintf("y_hat.%d", i+1))
	}
	for i := range e.observed() {
		names = append(names, fmt.Sprintf("log_lik.%d", i+1))
	}
	return names
}

// A state is a position (θ, ξ) with its likelihood, and the Metropolis move of
// θ that the schemes share. It is a mcmc.Kernel but for Step.
type state struct {
	e            *evaluator
	rule         mcmc.Rule
	burnIn       int
	walk         mcmc.Proposal
	u, theta     []float64 // the position on both scales
	uNew         []float64
	thetaNew     []float64
	xi           []float64 // nil for ξ = 0
	fit          []float64 // what is expected of the data here
	logPrior, ll float64   // of u; of the data
	stats        mcmc.Stats

	// What moves ξ has random numbers of its own, so that schemes that move
	// it in different ways see the same ones for θ.
	source rand.PCG
	latent *rand.Rand

	chance chance
	begin  func()                                     // draws at Init what the kernel holds beside ξ; may be nil
	like   func(theta, xi []float64) (float64, error) // log p(Y | θ, ξ), or an estimate of what ξ is not in
}

// A chance makes the random decisions of the kernels, those of the proposals
// apart. Tests put one in its place that takes all branches, and so find the
// probabilities with which a kernel goes from one state to another.
type chance interface {
	// accept decides on a move, which is made with probability min(1, eʳ),
	// r = logRatio, and not made if r is NaN. It always uses the same part
	// of the stream.
	accept(logRatio float64, rng *rand.Rand) bool

	// draw draws ξ from p(ξ).
	draw(dst []float64, rng *rand.Rand)

	// perturb moves ξ to dst by a rule that is reversible for p(ξ).
	perturb(dst, xi []float64, beta float64, rng *rand.Rand)
}

// random is the chance of all but tests.
type random struct{}

func (random) accept(logRatio float64, rng *rand.Rand) bool {
	return logRatio >= -rng.ExpFloat64() // −log U of a uniform U is exponential
}
func (random) draw(dst []float64, rng *rand.Rand) { normals(dst, rng) }
func (random) perturb(dst, xi []float64, beta float64, rng *rand.Rand) {
	probode.PerturbNoise(dst, xi, beta, rng)
}

func newState(e *evaluator, rule mcmc.Rule, burnIn int, noise bool) *state {
	d := len(e.p.Params)
	s := &state{e: e, rule: rule, burnIn: burnIn, chance: random{}, like: e.logLikelihood, fit: make([]float64, len(e.fit)),
		u: make([]float64, d), theta: make([]float64, d), uNew: make([]float64, d), thetaNew: make([]float64, d)}
	if noise {
		s.xi = make([]float64, e.noise)
	}
	s.latent = rand.New(&s.source)
	s.walk = rule.New(d, burnIn)
	return s
}

// Init places the chain at x with ξ drawn from p(ξ).
func (s *state) Init(x []float64, rng *rand.Rand) error {
	if len(x) != len(s.theta) {
		panic(fmt.Sprintf("bayes: start of %d parameters: want %d", len(x), len(s.theta)))
	}
	s.source.Seed(rng.Uint64(), rng.Uint64())
	s.chance.draw(s.xi, s.latent)
	if s.begin != nil {
		s.begin()
	}
	s.walk = s.rule.New(len(x), s.burnIn)
	s.stats = mcmc.Stats{}
	if err := s.e.unconstrain(s.u, x); err != nil {
		return err
	}
	s.logPrior = s.e.constrain(s.theta, s.u)
	if math.IsInf(s.logPrior, 0) {
		return fmt.Errorf("bayes: the prior density at %.4g is zero", x)
	}
	var err error
	if s.ll, err = s.like(s.theta, s.xi); err != nil {
		return err
	}
	s.keepFit()
	if math.IsNaN(s.ll) || math.IsInf(s.ll, 0) {
		if cause := s.e.failure(s.theta, s.xi); cause != nil {
			return fmt.Errorf("bayes: the log likelihood at %.4g is %g: %w", x, s.ll, cause)
		}
		return fmt.Errorf("bayes: the log likelihood at %.4g is %g", x, s.ll)
	}
	return nil
}

// keepFit makes the fit of the last evaluation that of the position.
func (s *state) keepFit() {
	last := s.e.fit
	s.e.setFit(s.fit)
	s.fit = last
}

// moveTheta makes a Metropolis–Hastings move of θ with ξ fixed and reports
// whether it was accepted.
func (s *state) moveTheta(rng *rand.Rand) bool {
	logq := s.walk.Propose(s.uNew, s.u, rng)
	accepted, probability := s.decide(logq, s.xi, &s.stats.Moves, rng)
	s.walk.Observe(s.u, probability)
	return accepted
}

// decide moves the chain to the proposed uNew, or leaves it where it is, counts
// that among moves, and returns the probability of the move. The likelihood
// there is that with xi, and logq is what the log ratio of the posterior
// densities of u lacks.
func (s *state) decide(logq float64, xi []float64, moves *mcmc.Moves, rng *rand.Rand) (accepted bool, probability float64) {
	moves.Proposed++
	ratio, ll := math.Inf(-1), math.Inf(-1)
	lp := s.e.constrain(s.thetaNew, s.uNew)
	if !math.IsInf(lp, -1) {
		var err error
		if ll, err = s.like(s.thetaNew, xi); err != nil || math.IsNaN(ll) || math.IsInf(ll, 1) {
			moves.Failed++
		} else if !math.IsInf(ll, -1) {
			ratio = lp + ll - s.logPrior - s.ll + logq
		}
	}
	if accepted = s.chance.accept(ratio, rng); accepted {
		moves.Accepted++
		s.place(lp, ll)
	}
	return accepted, math.Exp(min(0, ratio))
}

// moveTo is place, for a move of θ.
func (s *state) moveTo(logPrior, ll float64) {
	s.stats.Accepted++
	s.place(logPrior, ll)
}

// place makes the proposed θ, at which the evaluator was last, the position.
func (s *state) place(logPrior, ll float64) {
	s.u, s.uNew = s.uNew, s.u
	s.theta, s.thetaNew = s.thetaNew, s.theta
	s.logPrior, s.ll = logPrior, ll
	s.keepFit()
}

// Position returns θ.
func (s *state) Position() []float64 { return s.theta }

// Stats returns the counts since Init.
func (s *state) Stats() mcmc.Stats { return s.stats }

// Generate writes the quantities that Sample lists.
func (s *state) Generate(dst []float64) {
	n := len(s.fit)
	dst[0] = s.logPrior + s.ll
	copy(dst[1:], s.fit)
	s.e.pointwise(dst[1+n:], s.fit, s.theta)
}

// work returns the steps of solvers that were taken.
func (s *state) work() int { return s.e.steps }

// State takes down or gives back the chain.
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

// noisy reports that a scheme that moves ξ has none to move.
func noisy(s Scheme, p *Posterior) error {
	if p.Alpha.Name == "" && p.Alpha.Value == 0 {
		return fmt.Errorf("bayes: %v: Alpha is 0, so that there is no noise to move: calibrate it (CalibrateAlpha), or use Deterministic", s)
	}
	return nil
}
