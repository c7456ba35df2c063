package sample

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/reference"
)

// A Plan is the recommendation of Choose: a solver and a sampler with which to draw from
// the posterior.
type Plan struct {
	Posterior *bayes.Posterior // with a solver that is accurate enough, and with its modes
	Sampler   Sampler
	Start     func(chain int, rng *rand.Rand) []float64 // around the modes
	Why       string                                    // one line
	Caution   string                                    // why the draws may be wrong; empty if no reason is known
}

const (
	nearlyNormal  = 0.25 // a mode is nearly Gaussian if gaussianShare is larger
	muchElsewhere = 0.02 // mass far from the modes, relative to the mass of the modes, that random walks would miss
	fewParameters = 12   // largest number of parameters for which random walks and independent proposals are efficient
	mostTempered  = 15   // largest number of parameters for which parallel tempering is efficient
)

// Choose searches for the modes of p, and chooses a suitable sampler and the cheapest
// solver that is accurate enough. To choose the solver, Choose compares each candidate
// with an accurate solver at the modes and around them. With up to 15 parameters, Choose
// also compares the solvers far from the modes, at points where the posterior density is
// not negligible. The choice of the sampler depends on the number of modes, on whether
// the posterior is nearly Gaussian around each mode, and on whether the solver provides
// derivatives. The search for modes begins at the points in the argument `from`. If
// `from` is nil and there are up to 15 parameters, the search begins at draws from the
// prior. With more parameters, the search begins at a single point: the nominal point or,
// if there is none, the medians of the priors. After a search from a single point, Why of
// the Plan says that other modes may have been missed. Choose uses only the fields
// Chains, Seed and Workers of s.
//
// The choice depends only on p, on the given points, and on s.Seed, so a resumed run
// makes the same choice.
func Choose(ctx context.Context, p *bayes.Posterior, from [][]float64, s mcmc.Settings) (*Plan, error) {
	found, searched := p.Modes, ""
	var err error
	switch {
	case found != nil:
	case from == nil && len(p.Params) <= mostTempered:
		found, err = modes.Find(ctx, p, modes.Settings{Seed: s.Seed, Workers: s.Workers})
	case from == nil:
		start, at := p.GridAt, "the nominal point"
		if start == nil {
			at = "the medians of the priors"
			for _, q := range p.Params {
				start = append(start, q.Prior.Quantile(0.5))
			}
		}
		found, err = climb(ctx, p, [][]float64{start})
		searched = fmt.Sprintf("; with more than %d parameters, the search for modes begins only at %s, and may miss other modes", mostTempered, at)
	default:
		found, err = climb(ctx, p, from)
		searched = "; the searches for modes began only at the given starts"
	}
	if err != nil {
		return nil, err
	}
	// An explicit method on a grid that was frozen at the mode may be unstable far from
	// the mode. If the method is unstable at a point, the computed posterior density may
	// be zero there. Check the solvers at extreme points, too.
	far, err := extremes(ctx, p, found)
	if err != nil {
		return nil, err
	}
	q, solver, err := accurateEnough(ctx, p, found, mattersD, far)
	if q == nil && err == nil {
		q, solver, err = accurateEnough(ctx, p, found, mattersD, nil)
	}
	if err != nil {
		return nil, err
	}
	plan := &Plan{Posterior: p}
	if q == nil {
		plan.Sampler = DelayedAcceptance{Second: probode.Setup{Mesh: reference.Accurate{}}}
		plan.Why = "delayed acceptance with an accurate solver, because " + solver
	} else {
		// Some modes of p may be phantoms caused by the error of its solver, so search
		// again with the chosen solver.
		var again [][]float64
		for _, m := range found.Modes {
			if m == found.Highest() || m.Mass > leastMass/100 {
				again = append(again, m.Theta)
			}
		}
		refined, err := climb(ctx, q, again)
		if err != nil {
			return nil, err
		}
		refined.SearchCounts = found.SearchCounts
		found, plan.Posterior = refined, q
		q.Modes = found
		var why string
		if plan.Sampler, why, err = fitting(ctx, q, s.Seed); err != nil {
			return nil, err
		}
		poor, err := plan.trust(ctx, s)
		if err != nil {
			return nil, err
		}
		if poor != "" {
			solver = fmt.Sprintf("because %v is not accurate away from the modes: %s", q.Setup, strings.TrimSuffix(poor, "."))
		}
		plan.Why = fmt.Sprintf("%v, because %s; solved by %v, %s", plan.Sampler, why, plan.Posterior.Setup, solver)
	}
	plan.Why += searched
	tries := importance
	switch plan.Sampler.(type) {
	case Deterministic, SplitHMC: // the posterior is nearly Gaussian
		tries = 1
	}
	e, err := bayes.NewDensity(ctx, plan.Posterior)
	if err != nil {
		return nil, err
	}
	plan.Start, _ = starts(e, found, max(1, s.Chains), tries, true)
	return plan, nil
}

// fitting returns the sampler for a posterior with known modes, and the reason for this
// choice.
func fitting(ctx context.Context, q *bayes.Posterior, seed uint64) (Sampler, string, error) {
	e, err := bayes.NewDensity(ctx, q)
	if err != nil {
		return nil, "", err
	}
	defer e.Bind(ctx)()
	d, best, several := e.Dim(), q.Modes.Highest(), heavy(q.Modes)
	share := 0.
	if best.Cov != nil {
		share = gaussianShare(e, best, probode.Stream(seed, 0x63686f69))
	}
	if d <= mostTempered && q.Modes.Tried > 0 && q.Modes.Doubtful() {
		return Tempering{}, "the search has probably missed some modes", nil
	}
	if d <= mostTempered && share > 0 {
		if far := elsewhere(e, several, probode.Stream(seed, 0x656c7365)); far > muchElsewhere {
			return Tempering{}, fmt.Sprintf("draws from the prior show that regions far from all known modes contain about %.2g times the mass of these modes", far), ctx.Err()
		}
	}
	if share >= nearlyNormal && 1 < d && d <= fewParameters && len(several) == 1 {
		if k := heavyTail(e, best); k >= 0 {
			return Tempering{}, fmt.Sprintf("the tails of %s are much heavier than those of a Gaussian distribution", text.Printable(q.Params[k].Name)), ctx.Err()
		}
	}
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	differentiable := NUTS{}.Check(e) == nil
	few := fmt.Sprintf("there are only %d parameters", d)
	if d == 1 {
		few = "there is only one parameter"
	}
	switch {
	case len(several) > 1 && share >= nearlyNormal && d <= fewParameters:
		return Deterministic{}, fmt.Sprintf("there are %d nearly Gaussian modes, and the proposals can jump between them", len(several)), nil
	case len(several) > 1 && d <= mostTempered:
		return Tempering{}, fmt.Sprintf("there are %d modes, and parallel tempering moves the chains between them", len(several)), nil
	case share >= nearlyNormal && d <= fewParameters:
		return Deterministic{}, fmt.Sprintf("the only mode that was found is nearly Gaussian (the effective sample size of weighted draws from a t distribution around the mode is %.0f %% of the number of draws), and %s", 100*share, few), nil
	case share < nearlyNormal && d <= mostTempered && d > 1:
		return Tempering{}, fmt.Sprintf("the only mode that was found is not Gaussian (the effective sample size of weighted draws from a t distribution around the mode is %.0f %% of the number of draws), and there may be other regions of high density, which no search has found", 100*share), nil
	case !differentiable:
		return Deterministic{}, "the numerical solutions have no derivatives", nil
	case len(several) > 1:
		return NUTS{}, fmt.Sprintf("there are %d modes, and with %d parameters no sampler moves between them: each chain is likely to stay in one mode", len(several), d), nil
	case best.Cov == nil:
		return NUTS{}, "gradients are available, but the posterior is not Gaussian, because the data do not determine all parameters", nil
	case share < nearlyNormal:
		return NUTS{}, fmt.Sprintf("gradients are available, but the posterior is not Gaussian (the effective sample size of weighted draws from a t distribution around the mode is %.0f %% of the number of draws)", 100*share), nil
	}
	return SplitHMC{}, fmt.Sprintf("there are %d parameters, gradients are available, and the posterior is nearly Gaussian (the effective sample size of weighted draws from a t distribution around the mode is %.0f %% of the number of draws)", d, 100*share), nil
}

// Check compares the solver of the plan with an accurate solver at up to 25 draws. Check
// describes the result in a sentence, which begins with "caution" if the error is large
// enough to matter. Check returns "" if there are no draws, or if the sampler uses an
// accurate solver of its own.
func (p *Plan) Check(ctx context.Context, chains *mcmc.Chains) (string, error) {
	all := chains.Pooled()
	if t := p.Sampler.Target(); t.Distribution != Classical || len(all) == 0 {
		return "", nil // the sampler itself solves accurately
	}
	worst, failed, n, err := errorAt(ctx, p.Posterior, all, 20)
	const wrong = ", so the draws may be wrong; draw again with -scheme delayed-acceptance-accurate, in which an accurate solver checks each move"
	switch {
	case err != nil:
		return "", err
	case failed > 0:
		return fmt.Sprintf("caution: an accurate solver cannot solve the equations at %d of the %d draws that were checked", failed, n) + wrong, nil
	case worst <= mattersD:
		return fmt.Sprintf("at the %d draws that were checked, the error of the solver is at most %.1g posterior standard deviations", n, math.Max(worst, 1e-4)), nil
	}
	return fmt.Sprintf("caution: at the %d draws that were checked, the error of the solver is up to %.2g posterior standard deviations", n, worst) + wrong, nil
}

// errorAt compares the solver of p with an accurate solver at n of the draws, spread
// evenly over the chains. If the grid is frozen, the two solvers are also compared at
// five further draws, at which the local error is larger than at 80 to 98 % of the draws.
// errorAt returns the largest discrepancy D, the number of draws at which the accurate
// solver failed, and the number of draws that were compared. If the accurate solver fails
// at a draw, the exact posterior density there is probably zero.
func errorAt(ctx context.Context, p *bayes.Posterior, draws [][]float64, n int) (worst float64, failed, compared int, err error) {
	e, err := bayes.NewDensity(ctx, p)
	if err != nil {
		return 0, 0, 0, err
	}
	points := evenly(draws, n)
	const ordered = 100
	if len(draws) >= ordered {
		sorted := bySize(ctx, e, evenly(draws, ordered))
		for _, share := range []int{80, 85, 90, 95, 98} {
			if sorted != nil {
				points = append(points, sorted[share*ordered/100])
			}
		}
	}
	ruler, err := newRuler(ctx, e, points, 0)
	if err != nil {
		return 0, 0, 0, err
	}
	_, worst = ruler.measure(ctx, e)
	return worst, len(points) - len(ruler.points), len(points), ctx.Err()
}

// evenly returns at most n of the draws, spread evenly over the chains.
func evenly(draws [][]float64, n int) (points [][]float64) {
	n = min(n, len(draws))
	for i := range n {
		points = append(points, draws[(i+1)*len(draws)/n-1])
	}
	return points
}

// bySize sorts the draws by the size of the local errors of the solver of e. The size at
// a draw is the largest local error in units of the tolerance, and the draw with the
// smallest size comes first. If no grid was chosen by error control, the result is nil.
func bySize(ctx context.Context, e *bayes.Density, draws [][]float64) (sorted [][]float64) {
	defer e.Bind(ctx)()
	sizes, order := make([]float64, len(draws)), make([]int, len(draws))
	for i := range e.Posterior().Experiments {
		solver := frozen(e.Part(i))
		if solver == nil {
			continue
		}
		sorted = make([][]float64, len(draws))
		defer solver.Bind(ctx)()
		for k, theta := range draws {
			size, err := solver.Strain(e.Part(i).Theta(theta))
			if err != nil {
				size = math.Inf(1)
			}
			sizes[k] = max(sizes[k], size)
		}
	}
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[a], sizes[b]) })
	for k := range sorted {
		sorted[k] = draws[order[k]]
	}
	return sorted
}
