package sample

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/reference"
)

// A Plan is the recommendation of Choose: a solver and a sampler with which to draw from
// the posterior.
type Plan struct {
	Posterior *bayes.Posterior // with a solver that is accurate enough, and with its modes
	Sampler   Sampler
	Start     func(chain int, rng *rand.Rand) []float64 // around the modes
	Why       string                                    // one line
}

const (
	// Let D be the norm of the error of all predictions, each in units of its measurement
	// error. To first order, this error shifts each parameter by at most D posterior
	// standard deviations. A shift of 0.1 standard deviations matters. A solver is
	// accurate enough if D is at most 0.01 at the modes, and at most 0.05 at draws from
	// their Gaussian approximations.
	mattersD = 0.1
	roughD   = 10 * mattersD // for a climb

	nearDraws     = 3    // draws around each mode at which solvers are compared
	farDraws      = 20   // draws around each mode at which a solver must be stable
	importance    = 100  // draws that show whether a mode is nearly Gaussian, or from which a start is chosen
	nearlyNormal  = 0.25 // a mode is nearly Gaussian if the effective share of these draws is larger
	scattered     = 400  // draws from the prior that show whether there is mass far from the modes
	muchElsewhere = 0.02 // mass far from the modes, relative to the mass of the modes, that random walks would miss
	fewParameters = 12   // largest number of parameters for which random walks and independent proposals are efficient
	mostTempered  = 15   // largest number of parameters for which parallel tempering is efficient
)

// Choose looks for the modes of p, for the cheapest solver that is accurate enough around
// them, and for a suitable sampler. The choice of the sampler depends on the number of
// modes, on whether they are nearly Gaussian, and on whether the solutions have
// derivatives. The search for modes begins at the points in the argument from. If this
// argument is nil and there are up to 15 parameters, the search begins at draws from the
// prior. With more parameters it begins only at the nominal point or, if there is none,
// at the medians of the priors. Then other modes may be missed, and Why says so. Choose
// uses only the fields Chains, Seed and Workers of s.
//
// The choice depends only on p, on the given points, and on s.Seed, so a run can be
// resumed.
func Choose(ctx context.Context, p *bayes.Posterior, from [][]float64, s mcmc.Settings) (*Plan, error) {
	found, searched := p.Modes, ""
	var err error
	switch {
	case found != nil:
	case from == nil && len(p.Params) <= mostTempered:
		found, err = modes.Find(ctx, p, modes.Settings{Seed: s.Seed, Workers: s.Workers})
	case from == nil:
		found, err = climb(ctx, p, [][]float64{middle(p)})
		at := "the nominal point"
		if p.GridAt == nil {
			at = "the medians of the priors"
		}
		searched = fmt.Sprintf("; the model has more than %d parameters, so only one search for modes was made, from %s, and other modes may be missed", mostTempered, at)
	default:
		found, err = climb(ctx, p, from)
		searched = "; the searches for modes began only at the given starts"
	}
	if err != nil {
		return nil, err
	}
	// If an explicit method is unstable in some region, on a grid that was frozen at the
	// mode, the computed posterior density is zero there. So also check the solvers at
	// extreme points.
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
		refined.Searches, refined.Once, refined.Tried, refined.Solved = found.Searches, found.Once, found.Tried, found.Solved
		found, plan.Posterior = refined, q
		q.Modes = found
		var why string
		if plan.Sampler, why, err = fitting(ctx, q, s.Seed); err != nil {
			return nil, err
		}
		plan.Why = fmt.Sprintf("%v, because %s; solved by %v, %s", plan.Sampler, why, q.Setup, solver)
	}
	plan.Why += searched
	tries := importance
	switch plan.Sampler.(type) {
	case Deterministic, SplitHMC: // the posterior is nearly Gaussian
		tries = 1
	}
	plan.Start, _, err = starts(plan.Posterior, found, max(1, s.Chains), tries, true)
	return plan, err
}

// The function fitting() returns the sampler for a posterior with known modes, and the
// reason.
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
			return Tempering{}, fmt.Sprintf("draws from the prior show that regions far from the modes found hold about %.2g times the mass of these modes", far), ctx.Err()
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
	few := fmt.Sprintf("are only %d parameters", d)
	if d == 1 {
		few = "is only one parameter"
	}
	switch {
	case len(several) > 1 && share >= nearlyNormal && d <= fewParameters:
		return Deterministic{}, fmt.Sprintf("there are %d nearly Gaussian modes, and the proposals can jump between them", len(several)), nil
	case len(several) > 1 && d <= mostTempered:
		return Tempering{}, fmt.Sprintf("there are %d modes, and they are not nearly Gaussian", len(several)), nil
	case share >= nearlyNormal && d <= fewParameters:
		return Deterministic{}, fmt.Sprintf("one mode was found, which is nearly Gaussian (draws from the approximation have an effective sample size of %.0f %% of their number), and there %s", 100*share, few), nil
	case share < nearlyNormal && d <= mostTempered && d > 1:
		return Tempering{}, fmt.Sprintf("one mode was found, which is not Gaussian (draws from an approximation have an effective sample size of %.0f %% of their number), so there may be other regions that no search has found", 100*share), nil
	case !differentiable:
		return Deterministic{}, "its solutions have no derivatives", nil
	case len(several) > 1:
		return NUTS{}, fmt.Sprintf("there are %d modes, and with %d parameters no sampler moves between them: each chain is likely to stay in one mode", len(several), d), nil
	case best.Cov == nil:
		return NUTS{}, "the data do not determine all parameters, so the posterior is not Gaussian; gradients of its density are available", nil
	case share < nearlyNormal:
		return NUTS{}, fmt.Sprintf("gradients of the posterior are available, but it is not Gaussian (draws from an approximation have an effective sample size of %.0f %% of their number)", 100*share), nil
	}
	return SplitHMC{}, fmt.Sprintf("there are %d parameters, gradients are available, and the posterior is nearly Gaussian (draws from the approximation have an effective sample size of %.0f %% of their number)", d, 100*share), nil
}

// gaussianShare generates draws from a Student t distribution that has 5 degrees of
// freedom and the location and shape of a mode. It computes importance weights for these
// draws with respect to the posterior, and returns their effective sample size as a
// fraction of their number. In few dimensions this fraction is near 0.8 if the posterior
// is Gaussian.
func gaussianShare(e *bayes.Density, m *bayes.Mode, rng *rand.Rand) float64 {
	const degrees = 5
	d := e.Dim()
	weights := make([]float64, importance)
	u := make([]float64, d)
	for i := range weights {
		var chi float64
		for range degrees {
			v := rng.NormFloat64()
			chi += v * v
		}
		square, ok := around(u, m, math.Sqrt(degrees/chi), rng)
		logp, err := e.LogPosterior(u, nil)
		if err != nil || math.IsNaN(logp) || !ok {
			logp = math.Inf(-1)
		}
		weights[i] = logp - m.LogP + float64(degrees+d)/2*math.Log1p(square/degrees)
	}
	return diag.Kish([][]float64{weights})
}

// The function elsewhere() estimates the mass of the posterior far from the given modes,
// relative to the mass of their Gaussian approximations. The estimate uses the likelihood
// at those draws from the prior that lie outside a wide ellipsoid around each mode. It
// detects plateaus and broad modes, but not narrow modes. The result is zero if no mode
// has a Gaussian approximation.
func elsewhere(e *bayes.Density, around []*bayes.Mode, rng *rand.Rand) float64 {
	d := e.Dim()
	wide := math.Sqrt(4 * float64(d+8)) // radius in standard deviations: 6 for one parameter, 9.6 for 15
	shapes, masses := make([]mat.Cholesky, len(around)), make([]float64, len(around))
	for k, m := range around {
		if m.Cov == nil || !shapes[k].Factorize(m.Cov) {
			return 0
		}
		masses[k] = m.LogMass
	}
	mass, far := floats.LogSumExp(masses), 0.
	u := make([]float64, d)
	for range scattered {
		theta := e.Posterior().DrawPrior(rng)
		if e.Unconstrain(u, theta) != nil {
			continue
		}
		near := false
		for k, m := range around {
			near = near || stat.Mahalanobis(mat.NewVecDense(d, u), mat.NewVecDense(d, m.U), &shapes[k]) < wide
		}
		if near {
			continue
		}
		if ll, err := e.LogLikelihood(theta, nil); err == nil {
			far += math.Exp(ll-mass) / scattered
		}
	}
	return far
}

// The function heavyTail() returns a parameter whose profile, the maximum of the log
// density over all other parameters, falls much more slowly than that of the Gaussian
// approximation at the mode m, or −1 if there is none. A random walk explores such tails
// slowly, and no diagnostic of its draws shows it.
func heavyTail(e *bayes.Density, m *bayes.Mode) int {
	const (
		far   = 4.0 // standard deviations
		share = 0.5 // of the drop of a Gaussian density
		most  = 10  // steps of a climb
	)
	d := e.Dim()
	f := shape.NewSurface(e)
	for k := range d {
		sd := math.Sqrt(m.Cov.At(k, k))
		for _, side := range []float64{-far, far} {
			a := shape.Ascent{Point: shape.Point{X: slices.Clone(m.U)}, Tolerance: 0.1}
			for i := range d {
				a.X[i] += side * m.Cov.At(i, k) / sd // the profile of the approximation
				a.Low, a.High = append(a.Low, math.Inf(-1)), append(a.High, math.Inf(1))
				a.Unit = append(a.Unit, math.Sqrt(m.Cov.At(i, i)))
			}
			a.Low[k], a.High[k] = a.X[k], a.X[k]
			for a.Value = f.Value(a.X); !a.Done && a.Steps < most && !math.IsInf(a.Value, -1); {
				a.Step(f)
			}
			if m.LogP-a.Value < share*far*far/2 {
				return k
			}
		}
	}
	return -1
}

// The function around() sets u to a draw from the normal distribution around a mode,
// whose covariance matrix is the Shape of the mode times scale². It returns the squared
// Mahalanobis distance of the draw for this Shape, and whether the mode has a Shape.
func around(u []float64, m *bayes.Mode, scale float64, rng *rand.Rand) (square float64, ok bool) {
	var chol mat.Cholesky
	if m.Shape == nil || !chol.Factorize(m.Shape) {
		return 0, false
	}
	var lower mat.TriDense
	chol.LTo(&lower)
	z := mat.NewVecDense(len(u), nil)
	normals(z.RawVector().Data, rng)
	z.ScaleVec(scale, z)
	square = mat.Dot(z, z)
	z.MulVec(&lower, z)
	for k := range u {
		u[k] = m.U[k] + z.AtVec(k)
	}
	return square, true
}

// accurateEnough returns p with the cheapest setup that is accurate enough: D is at most
// a tenth of the argument matters at the modes and at most half of it around the modes,
// and the solver is stable at the points in the argument far. It also returns a
// description of the error in words. If there is no such setup, the returned posterior is
// nil, and the description says why.
func accurateEnough(ctx context.Context, p *bayes.Posterior, found *bayes.Modes, matters float64, far [][]float64) (*bayes.Posterior, string, error) {
	best := found.Highest()
	if best.U == nil {
		return nil, "no mode was found", nil
	}
	for i := range p.Experiments {
		if p.Experiments[i].Problem.Hybrid != nil {
			return nil, "its right-hand side jumps at times that depend on the parameters, so no fixed grid fits all of them", nil
		}
	}
	e, err := bayes.NewDensity(ctx, p)
	if err != nil {
		return nil, "", err
	}
	ruler, err := newRuler(ctx, e, pointsAround(e, found), len(heavy(found)))
	if err != nil {
		return nil, fmt.Sprintf("the accurate solver fails at the mode: %v", err), ctx.Err()
	}
	stable, err := newRuler(ctx, e, far, 0)
	if err != nil {
		return nil, "", err
	}
	var least *bayes.Posterior
	words, cheapest := "", math.Inf(1)
	for _, c := range candidates() {
		q := p.SolvedBy(c.Setup)
		q.GridAt = best.Theta
		e, err := bayes.NewDensity(ctx, q)
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		if err != nil {
			continue
		}
		cost := c.cost * float64(e.Steps())
		if cost >= cheapest {
			continue
		}
		const unstable = 1e6
		if _, worst := stable.measure(ctx, e); worst > unstable {
			continue
		}
		if at, near := ruler.measure(ctx, e); at <= matters/10 && near <= matters/2 {
			least, cheapest = q, cost
			words = fmt.Sprintf("whose error at the modes is at most %.1g posterior standard deviations", math.Max(at, 1e-4))
		}
	}
	if least == nil {
		return nil, fmt.Sprintf("no fixed grid that was tried has an error below %g posterior standard deviations", matters/10), ctx.Err()
	}
	return least, words, ctx.Err()
}

// A candidate is a setup together with the cost of one of its steps, measured in steps of
// an explicit method.
type candidate struct {
	probode.Setup
	cost float64
}

// The function candidates() lists setups with grids of different tolerances.
func candidates() (all []candidate) {
	for _, tolerance := range []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7} {
		mesh := probode.Frozen{Tolerance: probode.Tolerance{Relative: tolerance}, MaxSteps: 20_000}
		all = append(all,
			candidate{probode.Setup{Method: probode.RungeKutta{Tableau: probode.DormandPrince}, Mesh: mesh}, 1},
			candidate{probode.Setup{Method: methods.Radau{}, Mesh: mesh}, 4})
	}
	return all
}

// pointsAround returns the modes that the function heavy() selects, followed by draws
// from their Gaussian approximations, on the natural scale.
func pointsAround(e *bayes.Density, found *bayes.Modes) (points [][]float64) {
	for _, m := range heavy(found) {
		points = append(points, m.Theta)
	}
	if found.Highest().Cov == nil { // then there are no such approximations
		return points
	}
	return append(points, drawsAround(e, found, nearDraws, probode.Stream(0x64726177))...)
}

// drawsAround returns n draws around each mode that the function heavy() selects. The
// covariance matrix of these draws is the Shape of the mode. Draws outside the support of
// the prior are left out.
func drawsAround(e *bayes.Density, found *bayes.Modes, n int, rng *rand.Rand) (points [][]float64) {
	u := make([]float64, e.Dim())
	for _, m := range heavy(found) {
		for range n {
			theta := make([]float64, e.Dim())
			if _, ok := around(u, m, 1, rng); ok && !math.IsInf(e.Constrain(theta, u), 0) {
				points = append(points, theta)
			}
		}
	}
	return points
}

// The function extremes() returns points that chains may reach, and at which the
// likelihood is not negligible: draws around the modes, with the Shape of the mode as
// their covariance matrix, and points that differ from the highest mode in one
// coordinate, which is replaced by the 1 % or the 99 % quantile of its prior.
func extremes(ctx context.Context, p *bayes.Posterior, found *bayes.Modes) (points [][]float64, err error) {
	const negligible = 200 // below the log-likelihood at the mode: other parameters may make up for less
	e, err := bayes.NewDensity(ctx, p.SolvedBy(probode.Setup{Mesh: reference.Accurate{}}))
	if err != nil {
		return nil, err
	}
	defer e.Bind(ctx)()
	mode := found.Highest().Theta
	if mode == nil {
		return nil, nil
	}
	best, err := e.LogLikelihood(mode, nil)
	if err != nil {
		return nil, ctx.Err()
	}
	all := drawsAround(e, found, farDraws, probode.Stream(0x65787472))
	for k, q := range p.Params {
		for _, share := range []float64{0.01, 0.99} {
			theta := slices.Clone(mode)
			theta[k] = q.Prior.Quantile(share)
			all = append(all, theta)
		}
	}
	for _, theta := range all {
		if ll, err := e.LogLikelihood(theta, nil); err == nil && ll > best-negligible {
			points = append(points, theta)
		}
	}
	return points, ctx.Err()
}

// The type ruler measures the errors of solvers at some θ, in units of the measurement
// errors.
type ruler struct {
	points   [][]float64
	modes    int // how many of points are modes
	expected [][]float64
	data     [][]shape.Datum
}

// newRuler solves the equations accurately at the points. Points at which the equations
// cannot be solved are left out. If this happens at a mode, newRuler returns an error.
func newRuler(ctx context.Context, e *bayes.Density, points [][]float64, modes int) (*ruler, error) {
	fine, err := e.With(probode.Setup{Mesh: reference.Accurate{}})
	if err != nil {
		return nil, err
	}
	defer fine.Bind(ctx)()
	surface := shape.NewSurface(fine)
	r := &ruler{modes: modes}
	for i, theta := range points {
		if _, err := fine.LogLikelihood(theta, nil); err != nil {
			if i < modes {
				return nil, err
			}
			continue
		}
		expected := append([]float64(nil), fine.Expected()...)
		r.points, r.expected = append(r.points, theta), append(r.expected, expected)
		r.data = append(r.data, surface.DataAt(expected, theta))
	}
	return r, nil
}

// The method measure() returns the largest D at the modes, and the largest D at the other
// points. D is infinite at points where the equations of e cannot be solved.
func (r *ruler) measure(ctx context.Context, e *bayes.Density) (at, near float64) {
	defer e.Bind(ctx)()
	for i, theta := range r.points {
		d := math.Inf(1)
		if _, err := e.LogLikelihood(theta, nil); err == nil {
			d = shape.Discrepancy(r.data[i], e.Expected(), r.expected[i], 0)
		}
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		if i < r.modes {
			at = math.Max(at, d)
		} else {
			near = math.Max(near, d)
		}
	}
	return at, near
}

// Check compares the solver of the plan with an accurate solver at some of the last
// draws. It returns a sentence, which begins with "caution" if the error is large enough
// to matter.
func (p *Plan) Check(ctx context.Context, chains *mcmc.Chains) (string, error) {
	const compared = 20
	all := chains.Pooled()
	if t := p.Sampler.Target(); t.Distribution != Classical || len(all) == 0 {
		return "", nil // the sampler itself solves accurately
	}
	e, err := bayes.NewDensity(ctx, p.Posterior)
	if err != nil {
		return "", err
	}
	var points [][]float64
	for i := range min(compared, len(all)) {
		points = append(points, all[(i+1)*len(all)/min(compared, len(all))-1])
	}
	ruler, err := newRuler(ctx, e, points, 0)
	if err != nil {
		return "", err
	}
	_, worst := ruler.measure(ctx, e)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if worst <= mattersD {
		return fmt.Sprintf("at %d of the draws the error of the solver is at most %.1g posterior standard deviations", len(ruler.points), math.Max(worst, 1e-4)), nil
	}
	return fmt.Sprintf("caution: at %d of the draws the error of the solver is up to %.2g posterior standard deviations: set a smaller tolerance together with -scheme, or run probode assess", len(ruler.points), worst), nil
}
