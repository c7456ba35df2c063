package sample

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/reference"
	"gonum.org/v1/gonum/mat"
)

const (
	// Let D be the norm of the vector of all prediction errors, each in units of the
	// corresponding measurement error. To first order, the prediction errors shift each
	// parameter by at most D posterior standard deviations. A shift of 0.1 standard
	// deviations is regarded as important. A solver is accurate enough if D is at most
	// 0.01 at the modes, and at most 0.05 at draws from the Gaussian approximations at
	// the modes.
	mattersD = 0.1

	nearDraws = 3  // draws around each mode at which solvers are compared
	farDraws  = 20 // draws around each mode at which a solver must be stable
)

// accurateEnough returns p with the cheapest setup that is accurate enough. Let m be the
// argument `matters`. D must be at most m/10 at the modes, and at most m/2 around the
// modes. The solver must be stable at the points in the argument `far`. The second result
// describes the error in words. If there is no such setup, the returned posterior is nil,
// and the description says why.
func accurateEnough(ctx context.Context, p *bayes.Posterior, found *bayes.Modes, matters float64, far [][]float64) (*bayes.Posterior, string, error) {
	best := found.Highest()
	if best.U == nil {
		return nil, "no mode was found", nil
	}
	for i := range p.Experiments {
		if p.Experiments[i].Problem.Hybrid != nil {
			return nil, "the right-hand side jumps at times that depend on the parameters, so no fixed grid suits all parameter values", nil
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

// candidates lists setups of DP5 and Radau5 on frozen grids, with relative tolerances
// from 1e-1 to 1e-7.
func candidates() (all []candidate) {
	for _, tolerance := range []float64{1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7} {
		mesh := probode.Frozen{Tolerance: probode.Tolerance{Relative: tolerance}, MaxSteps: 20_000}
		all = append(all,
			candidate{probode.Setup{Method: methods.RungeKutta{Tableau: methods.DormandPrince}, Mesh: mesh}, 1},
			candidate{probode.Setup{Method: methods.Radau{}, Mesh: mesh}, 4})
	}
	return all
}

// pointsAround returns the modes that heavy selects, followed by draws from their
// Gaussian approximations, on the natural scale.
func pointsAround(e *bayes.Density, found *bayes.Modes) (points [][]float64) {
	for _, m := range heavy(found) {
		points = append(points, m.Theta)
	}
	if found.Highest().Cov == nil { // then there are no such approximations
		return points
	}
	return append(points, drawsAround(e, found, nearDraws, probode.Stream(0x64726177))...)
}

// drawsAround returns n draws around each mode that heavy selects. The covariance matrix
// of these draws is the Shape of the mode. Draws outside the support of the prior are
// left out.
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

// extremes returns points that chains may reach. Points with a negligible likelihood are
// left out. Some of the points are draws around the modes. The covariance matrix of these
// draws is the Shape of the mode. The other points differ from the highest mode in one
// coordinate, which is set to the 1 % or the 99 % quantile of its prior.
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

// around sets u to a draw from a normal distribution that is centred at a mode. The
// covariance matrix of this distribution is the Shape of the mode times scale². The
// result `square` is the squared Mahalanobis distance between the draw and the mode,
// computed with the Shape of the mode. The result `ok` is false if the mode has no Shape.
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

// A value of the type `ruler` measures the errors of solvers, in units of the measurement
// errors, at a fixed set of points θ.
type ruler struct {
	points   [][]float64
	modes    int // how many of points are modes
	expected [][]float64
	data     [][]shape.Datum
}

// newRuler solves the equations at the given points with an accurate solver. Points at
// which the equations cannot be solved are left out. If the equations cannot be solved at
// a mode, newRuler returns an error.
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

// measure returns the largest D at the modes, and the largest D at the other points. D is
// infinite at points where the equations of e cannot be solved.
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
