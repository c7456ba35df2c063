package bayes

import (
	"context"
	"slices"

	"github.com/probode/probode/pkg/probode"
)

// grid returns the grid that an experiment is solved on. With ScaleLocal the local
// errors go with it: those that α is calibrated with are those of the sampler.
func (p *Posterior) grid(ctx context.Context, x *Experiment) (*probode.Grid, error) {
	theta := slices.Clone(x.Problem.Theta)
	for k := range theta {
		if i := p.index(x.param(k)); i >= 0 && p.GridAt != nil {
			theta[k] = p.GridAt[i]
		}
	}
	mesh := p.Mesh
	if p.Scaling == probode.ScaleLocal {
		mesh = probode.Measured{Mesh: mesh}
	}
	return mesh.Grid(ctx, x.Problem, p.Method, theta, x.Data.T)
}
