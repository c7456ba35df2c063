package bayes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
)

// grid returns the grid that an experiment is solved on.
func (p *Posterior) grid(ctx context.Context, x *Experiment) (*probode.Grid, error) {
	if g, ok := p.grids[x]; ok {
		return g, nil
	}
	problem := x.Problem
	theta := slices.Clone(problem.Theta)
	for k := range theta {
		if i := p.index(x.param(k)); i >= 0 && p.GridAt != nil {
			theta[k] = p.GridAt[i]
		}
	}
	g, err := p.unmeasured(ctx, x, theta)
	if err != nil || p.Scaling != probode.ScaleLocal {
		return g, err
	}
	// The local errors go with the grid: those that α is calibrated with are those
	// of the sampler.
	return probode.Measured{Mesh: g}.Grid(ctx, problem, p.Method, theta, x.Data.T)
}

// unmeasured returns the grid at theta, with local errors only if its making finds
// them.
func (p *Posterior) unmeasured(ctx context.Context, x *Experiment, theta []float64) (*probode.Grid, error) {
	problem := x.Problem
	if p.Mesh != nil {
		return p.Mesh.Grid(ctx, problem, p.Method, theta, x.Data.T)
	}
	h, length := p.StepSize, problem.Span[1]-problem.Span[0]
	if !(h > 0) || h > length*(1+1e-9) {
		return nil, fmt.Errorf("step is %g: want a number > 0, at most the span, %g", h, length)
	}
	if len(problem.Events) > 0 {
		// Between events there are few points to interpolate.
		return probode.GridThrough(problem, theta, x.Data.T, h)
	}
	if !(length/h < math.MaxInt32) {
		return probode.UniformGrid(problem, theta, h) // says how many steps that would be
	}
	// The largest step that divides the span.
	return probode.UniformGrid(problem, theta, length/math.Ceil(length/h*(1-1e-12)))
}

// withGrids returns p with its grids made, so that all chains share them.
func (p *Posterior) withGrids(ctx context.Context) (*Posterior, error) {
	if p == nil {
		return nil, errors.New("bayes: the Posterior is nil")
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	q := *p
	q.grids = make(map[*Experiment]*probode.Grid)
	for i := range p.Experiments {
		x := &p.Experiments[i]
		if err := x.Problem.Validate(); err != nil {
			return nil, fmt.Errorf("bayes: %s: %w", x.title(i), err)
		}
		g, err := p.grid(ctx, x)
		if err != nil {
			return nil, fmt.Errorf("bayes: %s: %w", x.title(i), err)
		}
		q.grids[x] = g
	}
	return &q, nil
}
