// Package compare says how far apart two solvers are: at values of the parameters, it
// compares the expected data and the log likelihoods of two Setups.
package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// A Solver solves the equations of a Posterior with one Setup, without noise. Only one
// goroutine may use a Solver; see Clone.
type Solver struct {
	Density *bayes.Density

	ctx     context.Context
	surface *shape.Surface // nil before the first use
	known   *sync.Map      // log likelihood for each θ at which it has been computed; shared by all clones
}

// New returns a Solver for p with the Setup s, whose missing fields are those of p. Solves
// end when ctx is done.
func New(ctx context.Context, p *bayes.Posterior, s probode.Setup) (*Solver, error) {
	density, err := bayes.NewDensity(ctx, p.SolvedBy(s))
	if err != nil {
		return nil, err
	}
	density.Bind(ctx)
	return &Solver{Density: density, ctx: ctx, known: new(sync.Map)}, nil
}

// Clone returns a Solver for another goroutine. Both remember the values that
// LogLikelihood has computed.
func (x *Solver) Clone() *Solver {
	density := x.Density.Clone()
	density.Bind(x.ctx)
	return &Solver{Density: density, ctx: x.ctx, known: x.known}
}

// Surface returns the log posterior density as a function of the unconstrained parameters.
func (x *Solver) Surface() *shape.Surface {
	if x.surface == nil {
		x.surface = shape.NewSurface(x.Density)
		x.surface.Draws = 2000
	}
	return x.surface
}

// Context returns the context given to New.
func (x *Solver) Context() context.Context { return x.ctx }

// A Solution is what a Solver predicts at one point.
type Solution struct {
	Expected      []float64 // of the data, ordered by experiment, row and column
	LogLikelihood float64
	Err           error // why there is no solution; LogLikelihood is then −∞
}

// At solves the equations at theta.
func (x *Solver) At(theta []float64) (s Solution) {
	s.LogLikelihood = math.Inf(-1)
	if s.Err = x.ctx.Err(); s.Err != nil {
		return s
	}
	ll, err := x.Density.LogLikelihood(theta, nil)
	if s.Err = err; err == nil && !vector.Finite(x.Density.Expected()) {
		s.Err = errors.New("an expected value of the data is not finite")
	}
	if s.Err == nil {
		s.Expected, s.LogLikelihood = slices.Clone(x.Density.Expected()), ll
	}
	return s
}

// LogLikelihood returns −∞ where the equations cannot be solved. It solves only once for
// each theta.
func (x *Solver) LogLikelihood(theta []float64) float64 {
	key := fmt.Sprint(theta)
	if ll, ok := x.known.Load(key); ok {
		return ll.(float64)
	}
	ll := x.At(theta).LogLikelihood
	if math.IsNaN(ll) {
		ll = math.Inf(-1)
	}
	x.known.Store(key, ll)
	return ll
}

// discrepancy takes the Fisher information at `finer`, the data of x, and ignores
// differences that rounding explains.
func (x *Solver) discrepancy(expected, finer, theta []float64, rounding float64) float64 {
	return shape.Discrepancy(x.Surface().DataAt(finer, theta), expected, finer, rounding)
}
