package certify

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

// An evaluator solves the equations with one Setup without noise, for one goroutine.
type evaluator struct {
	ctx     context.Context
	density *bayes.Density
	surface *shape.Surface // nil in a clone
	known   *sync.Map      // log likelihood for each θ at which it has been computed; shared by all clones
}

// clone is for log likelihoods in another goroutine, which both keep in the same map.
func (x *evaluator) clone() *evaluator {
	density := x.density.Clone()
	density.Bind(x.ctx)
	return &evaluator{ctx: x.ctx, density: density, known: x.known}
}

func newEvaluator(ctx context.Context, p *bayes.Posterior, s probode.Setup) (*evaluator, error) {
	density, err := bayes.NewDensity(ctx, p.SolvedBy(s))
	if err != nil {
		return nil, err
	}
	density.Bind(ctx)
	x := &evaluator{ctx: ctx, density: density, surface: shape.NewSurface(density), known: new(sync.Map)}
	x.surface.Draws = 2000
	return x, nil
}

func newEvaluators(ctx context.Context, p *bayes.Posterior, setups []probode.Setup) (out []*evaluator, err error) {
	for _, s := range setups {
		x, err := newEvaluator(ctx, p, s)
		if err != nil {
			return out, err
		}
		out = append(out, x)
	}
	return out, nil
}

// at returns the expected data, ordered by experiment, row and column, and the log
// likelihood.
func (x *evaluator) at(theta []float64) (expected []float64, ll float64, err error) {
	if err := x.ctx.Err(); err != nil {
		return nil, math.Inf(-1), err
	}
	if ll, err = x.density.LogLikelihood(theta, nil); err != nil {
		return nil, ll, err
	}
	expected = slices.Clone(x.density.Expected())
	if !vector.Finite(expected) {
		return nil, math.Inf(-1), errors.New("certify: an expected value of the data is not finite")
	}
	return expected, ll, nil
}

// logLikelihood returns −∞ if the equations cannot be solved, and solves once for each
// theta.
func (x *evaluator) logLikelihood(theta []float64) float64 {
	key := fmt.Sprint(theta)
	if ll, ok := x.known.Load(key); ok {
		return ll.(float64)
	}
	_, ll, err := x.at(theta)
	if err != nil || math.IsNaN(ll) {
		ll = math.Inf(-1)
	}
	x.known.Store(key, ll)
	return ll
}
