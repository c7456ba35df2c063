package bayes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// A Mode is the highest point that was found of the deterministic posterior
// (ξ = 0) on the unconstrained scale, with the Gaussian approximation there.
type Mode struct {
	Theta []float64 // on the natural scale
	LogP  float64   // log density on the unconstrained scale

	// U is the mode on the unconstrained scale and Cov the inverse of the
	// matrix of second derivatives of −log density there. Cov is nil if that
	// matrix is not positive definite, or leaves a direction a standard
	// deviation beyond ten: the mode is at the edge of something, or the data
	// do not determine all parameters.
	U   []float64
	Cov *mat.SymDense

	shape *mat.SymDense // Cov, or the nearest thing to it

	// Tried is the number of points, draws of the prior, from the best of
	// which the search began, and Solved the number of these at which the
	// equations could be solved.
	Tried, Solved int
}

// modePoints draws of the prior are looked at, and the search begins at the
// best modeStarts of them: the likelihood of an oscillating model has many
// modes, most of them low. On the lynx and hare data one search in five ends in
// the highest mode. The best modeEnds of the ends are then made precise.
const (
	modePoints = 400
	modeStarts = 24
	modeEnds   = 4
)

// FindMode looks for the mode of the deterministic posterior: among draws of
// the prior it takes the best, goes uphill from there by Nelder and Mead's
// method and then by BFGS with numerical derivatives, and returns the highest
// point. The seed decides the draws; from are further points to search from, such
// as the mode for another step. It is an error, which says what is wrong at the
// first of them, if the density is positive at none of all these. FindMode panics
// if a point of from does not have a number for each parameter.
//
// A likelihood can have a higher mode elsewhere; nobody can promise that there
// is none.
func (p *Posterior) FindMode(ctx context.Context, seed uint64, from ...[]float64) (*Mode, error) {
	if ctx == nil {
		return nil, errors.New("bayes: the context is nil")
	}
	e, err := newDensity(p)
	if err != nil {
		return nil, err
	}
	defer e.Bind(ctx)()
	d := len(p.Params)
	theta := make([]float64, d)
	density := func(u []float64) float64 {
		lp := e.Constrain(theta, u)
		if math.IsInf(lp, -1) || ctx.Err() != nil {
			return math.Inf(-1)
		}
		ll, err := e.LogLikelihood(theta, nil)
		if err != nil || math.IsNaN(ll) {
			return math.Inf(-1)
		}
		return lp + ll
	}

	type point struct {
		u []float64
		f float64
	}
	for _, x := range from {
		if len(x) != d {
			panic(fmt.Sprintf("bayes: FindMode from %d numbers: want %d, one for each parameter", len(x), d))
		}
	}
	var points []point
	var failed []float64 // the first θ that is no good
	rng := probode.Stream(seed, 0x6d6f6465)
	for range modePoints {
		u := make([]float64, d)
		for k := range p.Params {
			theta[k] = draw(p.Params[k].Prior, rng)
		}
		if e.Unconstrain(u, slices.Clone(theta)) != nil {
			continue
		}
		if f := density(u); !math.IsInf(f, 0) {
			points = append(points, point{u, -f})
		} else if failed == nil {
			failed = slices.Clone(theta)
		}
	}
	if err := cmp.Or(ctx.Err(), e.Err()); err != nil {
		return nil, err
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.f, b.f) })
	solved := len(points)
	points = points[:min(modeStarts, len(points))]
	for _, x := range from {
		u := make([]float64, d)
		if e.Unconstrain(u, x) != nil {
			continue
		}
		if f := density(u); !math.IsInf(f, 0) {
			points = append(points, point{u, -f})
		}
	}
	if len(points) == 0 {
		why := errors.New("they lie on the edge of its support")
		if failed != nil {
			if why = e.failure(failed, nil); why == nil {
				why = errors.New("the density of the prior is zero there")
			}
			why = fmt.Errorf("at the first, %s: %w", p.format(failed), why)
		}
		return nil, fmt.Errorf("bayes: at none of %d draws of the prior has the posterior a positive density: %w", modePoints, why)
	}

	problem := optimize.Problem{
		Func: func(u []float64) float64 {
			if f := -density(u); !math.IsInf(f, 0) {
				return f
			}
			return 1e300 // a wall that differences can be taken of
		},
		Status: func() (optimize.Status, error) {
			if err := errors.Join(ctx.Err(), e.Err()); err != nil {
				return optimize.Failure, err
			}
			return optimize.NotTerminated, nil
		},
	}
	problem.Grad = func(grad, u []float64) {
		fd.Gradient(grad, problem.Func, u, &fd.Settings{Formula: fd.Central})
	}
	// An optimiser that stops with an error has still come some way.
	uphill := func(from point, settings optimize.Settings, m optimize.Method) point {
		r, _ := optimize.Minimize(problem, slices.Clone(from.u), &settings, m)
		if r != nil && r.F < from.f {
			return point{slices.Clone(r.X), r.F}
		}
		return from
	}
	for i, from := range points {
		points[i] = uphill(from, optimize.Settings{FuncEvaluations: 200 * (d + 1), Converger: &optimize.FunctionConverge{Absolute: 1e-3, Iterations: 20 * d}}, &optimize.NelderMead{})
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.f, b.f) })
	best := points[0]
	for _, from := range points[:min(modeEnds, len(points))] {
		at := uphill(from, optimize.Settings{MajorIterations: 200, Converger: &optimize.FunctionConverge{Absolute: 1e-6, Iterations: 20}}, &optimize.BFGS{})
		if at.f < best.f {
			best = at
		}
	}
	if err := cmp.Or(ctx.Err(), e.Err()); err != nil {
		return nil, err
	}
	m := &Mode{Theta: make([]float64, d), U: best.u, LogP: -best.f, Tried: modePoints, Solved: solved}
	e.Constrain(m.Theta, best.u)
	m.Cov, m.shape = laplace(problem.Func, best.u)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

// The Hessian at the mode is taken by differences whose steps are laplaceStep
// standard deviations of the posterior itself, along its own axes. On a ridge
// the curvatures differ by many powers of ten, and no other steps do: the error
// of a difference is relative to the largest curvature that its points feel, and
// must be small against the smallest. The error is O(laplaceStep²) times what
// makes the density other than Gaussian, and the rounding of the log density
// over laplaceStep², about 1e-14·|f|/1e-4.
const laplaceStep = 0.01

// flat is the standard deviation, on the unconstrained scale, beyond which a
// direction counts as one without curvature.
const flat = 10

// laplace returns the inverse of the Hessian of f at u, nil if that is not
// positive definite; and a covariance of that shape in any case, with axes of at
// most flat where there is no curvature, and as long where it is the wrong way
// round. Both are nil if f is not finite around u.
//
// The axes, the columns of w, are not known beforehand. They begin as multiples
// of the unit vectors and are replaced by the principal axes of what is found,
// until in their coordinates f looks like ½|z|².
func laplace(f func([]float64) float64, u []float64) (cov, shape *mat.SymDense) {
	d := len(u)
	f0 := f(u)
	x := make([]float64, d)
	w := mat.NewDense(d, d, nil)
	// at returns f at a step along the sum of the axes given, or against it.
	at := func(sign float64, axes []int) float64 {
		copy(x, u)
		for _, k := range axes {
			for i := range x {
				x[i] += sign * laplaceStep * w.At(i, k)
			}
		}
		if v := f(x); math.Abs(v) < 1e200 {
			return v
		}
		return math.NaN() // over an edge
	}
	// bend returns the second derivative along the sum of axes.
	bend := func(axes ...int) float64 {
		return (at(1, axes) - f0 + (at(-1, axes) - f0)) / (laplaceStep * laplaceStep)
	}
	// fits tells that an axis with this second derivative has the right length,
	// and by how much it should be longer. Far off the right length a parabola
	// says little, so that it is approached in bounded strides.
	fits := func(v float64) (ok bool, by float64) {
		v = math.Abs(v)
		return v > 0.5 && v < 2, 1 / math.Sqrt(min(max(v, 0.01), 1e4))
	}

	for k := range d {
		w.Set(k, k, 1)
		for range 20 {
			v := bend(k)
			ok, by := fits(v)
			if math.IsNaN(v) {
				by = 0.1
			}
			if ok || by > 1 && w.At(k, k) == flat {
				break
			}
			w.Set(k, k, min(by*w.At(k, k), flat))
		}
	}
	var axes *mat.Dense // along which the Hessian is diagonal, with these values
	var values []float64
	for range 20 {
		hess := mat.NewSymDense(d, nil)
		for i := range d {
			hess.SetSym(i, i, bend(i))
			for j := range i {
				hess.SetSym(i, j, (bend(i, j)-hess.At(i, i)-hess.At(j, j))/2)
			}
		}
		var eigen mat.EigenSym
		if slices.ContainsFunc(hess.RawSymmetric().Data, math.IsNaN) || !eigen.Factorize(hess, true) {
			break
		}
		var q mat.Dense
		eigen.VectorsTo(&q)
		axes, values = mat.NewDense(d, d, nil), eigen.Values(nil)
		axes.Mul(w, &q)
		done := true
		for k, v := range values {
			column := axes.ColView(k)
			ok, by := fits(v)
			if length := mat.Norm(column, 2); by*length > flat {
				by = flat / length
				ok = by < 1.5
			}
			done = done && ok
			for i := range d {
				w.Set(i, k, by*column.AtVec(i))
			}
		}
		if done {
			break
		}
	}
	if axes == nil {
		return nil, nil
	}
	shape = mat.NewSymDense(d, nil)
	proper := true
	for k, v := range values {
		column := axes.ColView(k)
		variance := 1 / math.Abs(v)
		if most := flat / mat.Norm(column, 2); !(v > 0 && variance < most*most) {
			proper = false
			variance = min(variance, most*most)
		}
		shape.SymRankOne(shape, variance, column)
	}
	var chol mat.Cholesky
	if !chol.Factorize(shape) {
		return nil, nil // too thin for the arithmetic
	}
	if proper {
		return shape, shape
	}
	return nil, shape
}

// begin finds where the chains start, and a first guess at the shape of the
// posterior for the proposal of this package.
func (j *job) begin(ctx context.Context, starts bool) error {
	p := j.p
	mode, err := p.Mode, error(nil)
	if mode == nil {
		mode, err = p.FindMode(ctx, j.settings.Seed)
	}
	if err != nil {
		if ctx.Err() != nil || starts {
			return err
		}
		mode = &Mode{} // the caller's starts may do better
	}
	j.mode = mode
	if j.rule == nil {
		j.rule = mode.rule()
	}
	if !starts {
		return nil
	}
	if mode.Cov == nil {
		j.notes = append(j.notes, "chains start at draws of the prior: no mode with a Gaussian shape was found")
		j.settings.Start = func(_ int, rng *rand.Rand) []float64 { return p.DrawPrior(rng) }
		return nil
	}
	j.notes = append(j.notes, fmt.Sprintf("chains start around the mode of the deterministic posterior, %s (the best of %d searches), with twice the standard deviations of its Gaussian approximation",
		p.format(mode.Theta), min(modeStarts, mode.Solved)))
	var chol mat.Cholesky
	if !chol.Factorize(mode.Cov) {
		return errors.New("bayes: covariance at the mode is not positive definite") // an inverse of one that was
	}
	var l mat.TriDense
	chol.LTo(&l)
	e, err := newDensity(p)
	if err != nil {
		return err
	}
	j.settings.Start = func(_ int, rng *rand.Rand) []float64 {
		// Run asks for another start where the kernel cannot begin. The first
		// words of the stream are the same for every sampler.
		d := len(p.Params)
		z, u, theta := make([]float64, d), make([]float64, d), make([]float64, d)
		normals(z, rng)
		for i := range d {
			u[i] = mode.U[i]
			for k := 0; k <= i; k++ {
				u[i] += 2 * l.At(i, k) * z[k]
			}
		}
		e.Constrain(theta, u)
		return theta
	}
	return nil
}

// rule returns the proposal of this package for a posterior with the mode m.
func (m *Mode) rule() mcmc.Rule {
	if m.shape == nil {
		return mcmc.AdaptiveMixture{}
	}
	return mcmc.AdaptiveMixture{Mean: m.U, Cov: m.shape}
}

// DrawPrior returns a draw of the parameters from their priors, as to have chains
// begin there:
//
//	s.Start = func(_ int, rng *rand.Rand) []float64 { return p.DrawPrior(rng) }
func (p *Posterior) DrawPrior(rng *rand.Rand) []float64 {
	theta := make([]float64, len(p.Params))
	for k := range theta {
		theta[k] = draw(p.Params[k].Prior, rng)
	}
	return theta
}

func (p *Posterior) format(theta []float64) string {
	out := ""
	for k, v := range theta {
		if k > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%s = %.4g", p.Params[k].Name, v)
	}
	return out
}
