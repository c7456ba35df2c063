package certify

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// An evaluator solves a model by one Setup, without noise. It serves one goroutine.
type evaluator struct {
	ctx     context.Context
	density *bayes.Density
	surface *bayes.Surface
}

// newEvaluator returns the evaluator of s; what s lacks is that of p. All of its solves
// end when ctx does.
func newEvaluator(ctx context.Context, p *bayes.Posterior, s probode.Setup) (*evaluator, error) {
	density, err := bayes.NewDensity(ctx, p.SolvedBy(s))
	if err != nil {
		return nil, err
	}
	density.Bind(ctx)
	x := &evaluator{ctx: ctx, density: density, surface: bayes.NewSurface(density)}
	x.surface.Exact, x.surface.Draws = true, 2000
	return x, nil
}

// at returns the expected values of the data at theta, by experiment, row and column,
// and the log likelihood.
func (x *evaluator) at(theta []float64) (expected []float64, ll float64, err error) {
	if err := x.ctx.Err(); err != nil {
		return nil, math.Inf(-1), err
	}
	if ll, err = x.density.LogLikelihood(theta, nil); err != nil {
		return nil, ll, err
	}
	expected = slices.Clone(x.density.Expected())
	for _, m := range expected {
		if math.IsNaN(m) || math.IsInf(m, 0) {
			return nil, math.Inf(-1), errNotFinite
		}
	}
	return expected, ll, nil
}

var errNotFinite = errors.New("certify: an expected value of the data is not finite")
