package bayes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/pieces"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/probode/reference"
)

// AccurateSolver says how equations are solved where accuracy counts more than time.
// The zero value is reference.Solve with the tolerance 1e-10.
type AccurateSolver struct {
	// Step, if positive, asks for the classical solution with that step.
	StepSize float64

	// Method is the method for Step; nil stands for that of the Posterior.
	Method probode.Method

	// Tolerance is the relative one of reference.Solve, which is used if
	// StepSize is zero. A Tolerance of zero means 1e-10: what matters is the
	// log likelihood, and a
	// thousand observations, each known to a thousandth of the state, change
	// that by 1e-4.
	Tolerance float64

	// Workers is the number of goroutines; zero means the number of cores.
	// It changes no bit of the result.
	Workers int

	// Progress, if not nil, is called now and then with the number of
	// parameters at which the equations have been solved. Calls do not
	// overlap.
	Progress func(done, total int)
}

func (a AccurateSolver) String() string {
	switch {
	case a.StepSize > 0 && a.Method != nil:
		return fmt.Sprintf("%v with h = %g", a.Method, a.StepSize)
	case a.StepSize > 0:
		return fmt.Sprintf("h = %g", a.StepSize)
	}
	return fmt.Sprintf("reference with tolerance %.4g", a.tolerance())
}

func (a AccurateSolver) tolerance() float64 {
	if a.Tolerance == 0 {
		return 1e-10
	}
	return a.Tolerance
}

// Density returns the density of p with a in the place of its method: ξ has no
// part in it.
func (a AccurateSolver) Density(p *Posterior) (*Density, error) {
	if !(a.StepSize >= 0) || a.Workers < 0 {
		return nil, fmt.Errorf("bayes: AccurateSolver with StepSize %g and %d Workers: want numbers ≥ 0", a.StepSize, a.Workers)
	}
	if tol := a.tolerance(); !(tol >= 1e-15 && tol < 1) {
		return nil, fmt.Errorf("bayes: AccurateSolver with Tolerance %g: want a number in [1e-15, 1)", tol)
	}
	if p != nil {
		q := *p
		q.Scaling = probode.ScaleDefault // without noise nobody needs local errors
		p = &q
	}
	if p != nil && a.StepSize > 0 {
		p.Setup = p.WithStepSize(a.StepSize)
		if a.Method != nil {
			p.Method = a.Method
		}
		return NewDensity(p)
	}
	e, err := NewDensity(p)
	if err != nil {
		return nil, err
	}
	e.accurate = &a
	return e, nil
}

// refine has e solved by a from now on.
func (e *Density) refine(a AccurateSolver) error {
	if a.StepSize == 0 {
		e.accurate = &a
		return nil
	}
	fine, err := a.Density(e.p)
	if err != nil {
		return err
	}
	for i, r := range fine.runs {
		r.solver.Bind(e.ctx)
		r.fit = e.runs[i].fit
	}
	e.runs, e.noise = fine.runs, fine.noise
	return nil
}

// solve brings r, which is bound to θ, to its states at the times of the data. A
// solution that claims a large error of its own, as one that has stepped over a jump
// of f that is no event, is made again with a tolerance a hundred times smaller; if
// that claims no less, nothing is known at this θ.
func (a *AccurateSolver) solve(ctx context.Context, r *run) error {
	const again, fails = 1e-5, 1e-3
	// Times that rounding has left just outside of the span are in it.
	span, times := r.x.Problem.Span, slices.Clone(r.x.Data.T)
	for i, t := range times {
		times[i] = min(max(t, span[0]), span[1])
	}
	first := make([]float64, r.x.Problem.Dim())
	r.x.Problem.Initial(first, r.theta)
	once := func(tol float64) (x []float64, claim float64, err error) {
		sol, err := reference.Solve(ctx, r.x.Problem, times, reference.Settings{Tolerance: probode.Tolerance{Relative: tol}, Theta: r.theta})
		if err != nil {
			return nil, math.Inf(1), err
		}
		return sol.X, relativeClaim(first, sol.X, sol.Error), nil
	}
	tol := a.tolerance()
	x, claim, err := once(tol)
	if finer := max(tol/100, 1e-13); (err != nil || claim > max(again, 1e3*tol)) && ctx.Err() == nil && finer < tol {
		if y, c, e := once(finer); e == nil && !(c >= claim) {
			x, claim, err = y, c, nil
		}
	}
	switch {
	case err != nil:
		return err
	case claim > max(fails, 1e4*tol):
		return fmt.Errorf("bayes: %v on %s claims an error of %.2g of the largest value: declare what breaks f as events, or take a smaller tolerance", a, r.x.Problem.Name, claim)
	}
	copy(r.state, x)
	return nil
}

// relativeClaim returns the largest claimed error, of states x at several times, in
// units of the largest value of its component. A component that is nothing beside
// the others, or beside what it was at first, is taken to be as large as a millionth of
// that: its claim may be far above itself.
func relativeClaim(first, x, claimed []float64) float64 {
	d, all := len(first), 0.0
	top := make([]float64, d)
	for k, v := range first {
		top[k] = 1e-6 * math.Abs(v)
		all = max(all, math.Abs(v))
	}
	for i, v := range x {
		top[i%d] = max(top[i%d], math.Abs(v))
		all = max(all, math.Abs(v))
	}
	worst := 0.0
	for i, e := range claimed {
		if unit := max(top[i%d], 1e-6*all); e > worst*unit {
			worst = e / unit
		}
	}
	return worst
}

// Reweight has draws that Sample made of p with a coarse solver stand for the
// posterior of an accurate one, by importance weights
//
//	log wₛ = log p(Y | Z_accurate(θₛ)) − log p(Y | Zₛ)
//
// whose largest are replaced by quantiles of a fitted Pareto distribution
// [Vehtari et al. 2024]. The shape k̂ of that distribution says whether the two
// posteriors are near enough, with what the weighted draws are worth: the chains'
// Weights and Warnings tell, and the remedy is a smaller step for the draws. The
// equations are solved again once for each θ, on all cores, and not for each iteration
// of a chain: that is what is saved.
//
// It serves draws of every sampler whose distribution is p₀(θ | Y) or p(θ, ξ | Y); those
// with ξ have weights that scatter more. RedrawOnAccept and ExpectedLikelihood are
// not among them.
//
// The result shares the draws with chains and has LogWeights, KHat, and the
// quantities of the accurate solution. A θ at which that cannot be computed has
// weight zero, and a note says how many there are. Summaries, Predict and
// LogPredictive know of weights.
//
// It is an error if chains are not of p, have weights already, or if no draw
// can be solved for. If ctx ends first, the result holds the draws of each chain
// that have been weighed by then, and the error is ctx.Err().
func Reweight(ctx context.Context, p *Posterior, chains *mcmc.Chains, a AccurateSolver) (*mcmc.Chains, error) {
	e, err := a.Density(p)
	switch {
	case err != nil:
		return nil, err
	case ctx == nil || chains == nil:
		return nil, errors.New("bayes: Reweight wants a context and Chains, not nil")
	}
	if chains.LogWeights != nil {
		return nil, errors.New("bayes: the chains have weights already: reweight the draws that they were made of")
	}
	lik, err := e.column(chains, "log_lik.1")
	if err != nil {
		return nil, err
	}
	fit, values := lik-len(e.fit), e.observed()

	// A chain stays where it is after a rejection: solve once for each stay.
	type stay struct{ chain, from, to int }
	var stays []stay
	for c, draws := range chains.Draws {
		for from := 0; from < len(draws); {
			to := from + 1
			for to < len(draws) && slices.Equal(draws[to], draws[from]) {
				to++
			}
			stays = append(stays, stay{c, from, to})
			from = to
		}
	}
	slices.SortStableFunc(stays, func(a, b stay) int { return a.from - b.from })

	out := *chains
	out.Generated, out.LogWeights = nil, nil
	for _, draws := range chains.Draws {
		out.LogWeights = append(out.LogWeights, make([]float64, len(draws)))
		out.Generated = append(out.Generated, make([][]float64, len(draws)))
	}
	done, err := pieces.Each(ctx, a.Workers, len(stays), a.Progress, func() func(int) error {
		e, _ := a.Density(p) // it was made before
		e.Bind(ctx)
		u, at := make([]float64, len(p.Params)), make([]float64, len(p.Params))
		return func(i int) error {
			s := stays[i]
			theta := chains.Draws[s.chain][s.from]
			if err := e.Unconstrain(u, theta); err != nil {
				return err
			}
			lp := e.Constrain(at, u)
			ll, err := e.LogLikelihood(theta, nil)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case e.Err() != nil:
				return e.Err()
			case err != nil || math.IsNaN(ll):
				ll = math.Inf(-1)
				for k := range e.fit {
					e.fit[k] = math.NaN()
				}
			}
			for k := s.from; k < s.to; k++ {
				g := slices.Clone(chains.Generated[s.chain][k])
				old := 0.0
				for _, l := range g[lik : lik+values] {
					old += l
				}
				g[0] = lp + ll
				copy(g[fit:], e.fit)
				e.pointwise(g[lik:lik+values], e.fit, theta)
				out.Generated[s.chain][k] = g
				out.LogWeights[s.chain][k] = ll - old
			}
			return nil
		}
	})
	if err != nil {
		// Stays in the order of their beginning: what lies before the first
		// that is missing is complete.
		n := stays[done].from
		out.Draws = slices.Clone(out.Draws)
		for c := range out.Draws {
			out.Draws[c], out.Generated[c], out.LogWeights[c] = out.Draws[c][:n], out.Generated[c][:n], out.LogWeights[c][:n]
		}
	}

	raw := slices.Concat(out.LogWeights...)
	failed := 0
	for _, w := range raw {
		if math.IsInf(w, -1) {
			failed++
		}
	}
	if failed == len(raw) {
		if err == nil {
			err = fmt.Errorf("bayes: reweighting to %v: the equations can be solved at none of %d draws", a, len(raw))
		}
		return nil, err
	}
	smooth, khat := diag.ParetoSmooth(raw)
	for c := range out.LogWeights {
		n := copy(out.LogWeights[c], smooth)
		smooth = smooth[n:]
	}
	out.KHat = khat
	out.Notes = append(slices.Clone(chains.Notes), fmt.Sprintf("draws are weighted to stand for the posterior of an accurate solver, %v", a))
	if failed > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d of %d draws have weight zero, since the accurate solver fails there", failed, len(raw)))
	}
	return &out, err
}

// Reweighted draws by another sampler with the coarse solver of the Posterior,
// and then reweights the draws to an accurate one: see Reweight.
//
// Stationary distribution: p₀(θ | Y) of the accurate solver, as far as k̂ says that the
// weights can be trusted. Cost: that of Sampler, and one accurate solve for each
// new θ among the draws that are kept, on all cores. Use it where the accurate
// solver is too slow for a whole chain and the coarse one nearly good enough; it
// tells, too, whether that was so. Modes of the accurate posterior that the draws have
// not come near are looked for, from 60 draws of the prior, and named in a note.
type Reweighted struct {
	// Sampler makes the draws; nil stands for Deterministic.
	Sampler Sampler

	// Accurate solves for the weights.
	Accurate AccurateSolver
}

var (
	_ Proposer = Reweighted{}
	_ Preparer = Reweighted{}
	_ Finisher = Reweighted{}
)

func (s Reweighted) String() string { return s.sampler().String() + ", reweighted" }

// Target returns p(θ | Y) of the accurate solver.
func (s Reweighted) Target() Target { return Target{Distribution: Accurate, Solver: s.Accurate} }

// Proposals returns the rule of the sampler that makes the draws.
func (s Reweighted) Proposals() mcmc.Rule {
	if a, ok := s.sampler().(Proposer); ok {
		return a.Proposals()
	}
	return nil
}

func (s Reweighted) sampler() Sampler {
	if s.Sampler == nil {
		return Deterministic{}
	}
	return s.Sampler
}

// Check reports a sampler whose draws weights cannot be given to.
func (s Reweighted) Check(p *Posterior) error {
	if t := s.sampler().Target(); !t.Reweightable {
		return fmt.Errorf("bayes: Reweighted of the sampler %v, whose distribution is %v: want one of p₀(θ | Y) or p(θ, ξ | Y) that gives the log likelihood of each draw", s.sampler(), t.Distribution)
	}
	if _, err := s.Accurate.Density(p); err != nil {
		return err
	}
	return s.sampler().Check(p)
}

// Kernel returns that of the sampler that makes the draws.
func (s Reweighted) Kernel(e *Density, rule mcmc.Rule, burnIn int) mcmc.Kernel {
	return s.sampler().Kernel(e, rule, burnIn)
}

// Prepare prepares the sampler that makes the draws.
func (s Reweighted) Prepare(ctx context.Context, p *Posterior, mode func() (*Mode, error)) (Sampler, []string, error) {
	f, ok := s.sampler().(Preparer)
	if !ok {
		return s, nil, nil
	}
	prepared, notes, err := f.Prepare(ctx, p, mode)
	s.Sampler = prepared
	return s, notes, err
}

// Finish reweights the draws, and says which modes of the accurate posterior, of those
// that a short search finds, none of the draws have come near: k̂ knows nothing of them.
func (s Reweighted) Finish(ctx context.Context, p *Posterior, chains *mcmc.Chains) (*mcmc.Chains, error) {
	out, err := Reweight(ctx, p, chains, s.Accurate)
	if err != nil {
		return out, err
	}
	m, err := p.FindModes(ctx, ModeSearch{Solver: &s.Accurate, Workers: s.Accurate.Workers, Points: 60, Starts: 4})
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	if err != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("warning: whether weights miss a mode is not known: %v", err))
		return out, nil
	}
	shares, err := p.Shares(m, chains)
	if err != nil {
		return out, err
	}
	for k, mode := range m.Modes {
		if mode.Cov != nil && mode.Mass > leastMass && shares[k] < mode.Mass/10 {
			out.Notes = append(out.Notes, fmt.Sprintf("warning: the accurate posterior has a mode at %s, with %.2g of the mass by its Gaussian approximation, and %.2g of the draws are near it: weights do not bring back what the coarse solver has lost, whatever k̂ is; a smaller step for the draws", p.format(mode.Theta), mode.Mass, shares[k]))
		}
	}
	return out, nil
}
