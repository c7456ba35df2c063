package marginal

import (
	"context"
	"fmt"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/filter"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Integrated is a sample.Sampler that draws from Posterior by the Metropolis algorithm. It
// can be used with any posterior whose method is a filter.EK. The noise scale α of that
// posterior is the diffusion κ²: a known number, for example a calibrated one, or a
// parameter with a prior.
//
// Stationary distribution: p(θ | Y). Cost: one log likelihood for each draw.
type Integrated struct {
	DALTON bool // replaces Fenrir
}

func (s Integrated) String() string {
	if s.DALTON {
		return "dalton"
	}
	return "fenrir"
}

// Target returns p(θ | Y).
func (Integrated) Target() sample.Target { return sample.Target{Distribution: sample.Marginal} }

// Check accepts every posterior that Replace returns.
func (Integrated) Check(*bayes.Density) error { return nil }

// Replace returns the posterior with the solution integrated out. Searches for its modes
// begin at those of p, as well as elsewhere.
func (s Integrated) Replace(ctx context.Context, p *bayes.Posterior) (*bayes.Posterior, error) {
	ek, ok := p.Method.(filter.EK)
	switch {
	case !ok:
		return nil, fmt.Errorf("%v: the method is %v: want ek0 or ek1", s, p.Method)
	case p.AlphaParam == "" && p.Alpha == 0:
		return nil, fmt.Errorf("%v: α, the diffusion κ², is 0: want a number > 0, a calibrated one or a prior", s)
	}
	e, err := bayes.NewDensity(ctx, p)
	if err != nil {
		return nil, err
	}
	for i := range p.Experiments {
		if g := e.Part(i).Grid(); g != nil && g.Solver().Scaling() == probode.ScaleLocal {
			return nil, fmt.Errorf("%v: α multiplies local errors: want the noise of the method, in which α is the diffusion κ²", s)
		}
	}
	q, err := Posterior(ctx, p.Model, Settings{EK: ek, Mesh: p.Mesh, DALTON: s.DALTON, Diffusion: bayes.Value{Name: p.AlphaParam, Value: p.Alpha}})
	if err != nil {
		return nil, err
	}
	q.GridAt = p.GridAt
	return q, nil
}

// Kernel returns the kernel of one chain.
func (Integrated) Kernel(d *bayes.Density, rule mcmc.Rule, burnIn int) mcmc.Kernel {
	return sample.Deterministic{}.Kernel(d, rule, burnIn)
}
