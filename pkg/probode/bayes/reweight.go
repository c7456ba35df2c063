package bayes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/probode/probode/pkg/probode"
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
	return fmt.Sprintf("reference with tolerance %g", a.tolerance())
}

func (a AccurateSolver) tolerance() float64 {
	if a.Tolerance == 0 {
		return 1e-10
	}
	return a.Tolerance
}

// evaluator returns an evaluator of p for log likelihoods by a.
func (a AccurateSolver) evaluator(p *Posterior) (*evaluator, error) {
	if !(a.StepSize >= 0) || a.Workers < 0 {
		return nil, fmt.Errorf("bayes: AccurateSolver with Step %g and %d Workers: want numbers ≥ 0", a.StepSize, a.Workers)
	}
	if tol := a.tolerance(); !(tol >= 1e-15 && tol < 1) {
		return nil, fmt.Errorf("bayes: AccurateSolver with Tolerance %g: want a number in [1e-15, 1)", tol)
	}
	if a.StepSize > 0 {
		q := *p
		q.StepSize, q.Mesh, q.grids = a.StepSize, nil, nil
		if a.Method != nil {
			q.Method = a.Method
		}
		p = &q
	}
	return newEvaluator(p)
}

// logLikelihood is that of e, which a made, without noise and with the solver
// that a asks for.
func (a AccurateSolver) logLikelihood(ctx context.Context, e *evaluator, theta []float64) (float64, error) {
	if a.StepSize > 0 {
		return e.logLikelihood(theta, nil)
	}
	var sum float64
	for _, r := range e.runs {
		e.bind(r, theta)
		// Times that rounding has left just outside of the span are in it.
		span, times := r.x.Problem.Span, slices.Clone(r.x.Data.T)
		for i, t := range times {
			times[i] = min(max(t, span[0]), span[1])
		}
		x, err := reference.Solve(ctx, r.x.Problem, times, reference.Settings{Tolerance: probode.Tolerance{Relative: a.tolerance()}, Theta: r.theta})
		if err != nil {
			return math.Inf(-1), err
		}
		copy(r.state, x.X)
		sum += r.logLikelihood(theta)
	}
	return sum, nil
}

// Reweight has draws that Sample made of p with a coarse solver stand for the
// posterior of an accurate one, by importance weights
//
//	log wₛ = log p(Y | Z_accurate(θₛ)) − log p(Y | Zₛ)
//
// whose largest are replaced by quantiles of a fitted Pareto distribution
// [Vehtari et al. 2024]. The shape k̂ of that distribution says whether the two
// posteriors are near enough: below 0.5 all is well, up to 0.7 the weighted
// draws can be used, above they cannot, and the remedy is a smaller step for
// the draws. The equations are solved anew once for each θ, on all cores, and
// not for each iteration of a chain: that is what is saved.
//
// It serves draws of every scheme whose law is p₀(θ | Y) or p(θ, ξ | Y); those
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
	e, err := a.evaluator(p)
	if err != nil {
		return nil, err
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
	done, err := each(ctx, a.Workers, len(stays), a.Progress, func() func(int) error {
		e, _ := a.evaluator(p) // it was made before
		u, at := make([]float64, len(p.Params)), make([]float64, len(p.Params))
		return func(i int) error {
			s := stays[i]
			theta := chains.Draws[s.chain][s.from]
			if err := e.unconstrain(u, theta); err != nil {
				return err
			}
			lp := e.constrain(at, u)
			ll, err := a.logLikelihood(ctx, e, theta)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
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

// Reweighted draws by another scheme with the coarse solver of the Posterior,
// and then reweights the draws to an accurate one: see Reweight.
//
// Stationary law: p₀(θ | Y) of the accurate solver, as far as k̂ says that the
// weights can be trusted. Cost: that of Scheme, and one accurate solve for each
// new θ among the draws that are kept, on all cores. Use it where the accurate
// solver is too slow for a whole chain and the coarse one nearly good enough; it
// tells, too, whether that was so.
type Reweighted struct {
	// Scheme makes the draws; nil stands for Deterministic.
	Scheme Scheme

	// Accurate solves for the weights.
	Accurate AccurateSolver
}

func (s Reweighted) String() string      { return s.scheme().String() + ", reweighted" }
func (s Reweighted) proposal() mcmc.Rule { return s.scheme().proposal() }

func (s Reweighted) scheme() Scheme {
	if s.Scheme == nil {
		return Deterministic{}
	}
	return s.Scheme
}

func (s Reweighted) validate(p *Posterior) error {
	switch s.scheme().(type) {
	case Reweighted, RedrawOnAccept, ExpectedLikelihood:
		return fmt.Errorf("bayes: Reweighted of the scheme %v: want one whose law is p₀(θ | Y) or p(θ, ξ | Y)", s.scheme())
	}
	if _, err := s.Accurate.evaluator(p); err != nil {
		return err
	}
	return s.scheme().validate(p)
}

func (s Reweighted) kernel(e *evaluator, rule mcmc.Rule, burnIn int) mcmc.Kernel {
	return s.scheme().kernel(e, rule, burnIn)
}

var (
	_ finisher = Reweighted{}
	_ preparer = Reweighted{}
)

func (s Reweighted) prepare(ctx context.Context, j *job) error {
	if f, ok := s.scheme().(preparer); ok {
		return f.prepare(ctx, j)
	}
	return nil
}

func (s Reweighted) finish(ctx context.Context, p *Posterior, chains *mcmc.Chains) (*mcmc.Chains, error) {
	return Reweight(ctx, p, chains, s.Accurate)
}

// each does n pieces of work on the given number of goroutines, the number of
// cores for zero, beginning them in order. Each goroutine has a function of its
// own, from begin, which does piece i. After an error, or when ctx ends, no
// further piece is begun. It returns the error of the first piece that has one,
// and the number of the first that is not done.
func each(ctx context.Context, workers, n int, progress func(done, total int), begin func() func(i int) error) (int, error) {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	do := make([]func(int) error, workers)
	done := 0
	var failed error
	probode.Ordered(inner, n, workers, func(w, i int) error {
		if do[w] == nil {
			do[w] = begin()
		}
		err := do[w](i)
		if err != nil {
			stop()
		}
		return err
	}, func(err error) {
		switch {
		case failed != nil:
		case err != nil:
			failed = err
		default:
			done++
			if progress != nil && (done == n || done%max(1, n/200) == 0) {
				progress(done, n)
			}
		}
	})
	switch {
	case failed != nil:
		return done, failed
	case done < n:
		return done, ctx.Err()
	}
	return n, nil
}
