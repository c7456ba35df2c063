package marginal

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/filter"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Integrated is a sample.Sampler that integrates the solution out of the likelihood and
// draws from the resulting posterior with the Metropolis algorithm. The method of the
// posterior must be a filter.EK. The noise scale α of the posterior is used as the
// diffusion κ². The noise scale can be a known number, such as a calibrated value, or a
// parameter with a prior.
//
// Stationary distribution: p(θ | Y). Each draw requires one evaluation of the log
// likelihood.
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

// Check returns nil, because Integrated can draw from every posterior that Replace
// returns.
func (Integrated) Check(*bayes.Density) error { return nil }

// Replace integrates the solution out of the likelihood of p, and returns the resulting
// posterior. If p.Modes is set, the search for the modes of the returned posterior
// starts from the modes in p.Modes and from a few draws from the prior.
func (s Integrated) Replace(ctx context.Context, p *bayes.Posterior) (*bayes.Posterior, error) {
	ek, ok := p.Method.(filter.EK)
	switch {
	case !ok:
		return nil, fmt.Errorf("%v: the method is %v: want ek0, ek1 or ckf", s, p.Method)
	case p.AlphaParam == "" && p.Alpha == 0:
		return nil, fmt.Errorf("%v: α (the diffusion κ²) is 0: want a number > 0 (such as a calibrated value) or a parameter with a prior", s)
	}
	e, err := bayes.NewDensity(ctx, p)
	if err != nil {
		return nil, err
	}
	for i := range p.Experiments {
		if g := e.Part(i).Grid(); g != nil && g.Solver().Scaling() == probode.ScaleLocal {
			return nil, fmt.Errorf("%v: the noise is scaled by local errors (ScaleLocal): want ScaleStep, so that α is the diffusion κ²", s)
		}
	}
	q, err := Posterior(ctx, p.Model, Settings{EK: ek, Mesh: p.Mesh, DALTON: s.DALTON, Diffusion: bayes.Value{Name: p.AlphaParam, Value: p.Alpha}})
	if err != nil {
		return nil, err
	}
	q.GridAt = p.GridAt
	return q, nil
}

// Prepare adds a note if the size of the measurement errors is an unknown parameter.
// With large steps, the solution may fit the random errors of the data, so that the size
// of these errors is underestimated.
func (s Integrated) Prepare(_ context.Context, d *bayes.Density, _ func() (*bayes.Modes, error)) (sample.Sampler, []string, error) {
	m, ok := d.Posterior().Mesh.(*mesh)
	if !ok {
		return nil, nil, fmt.Errorf("%v: a posterior with the mesh %v cannot be sampled: use the posterior that Replace returns", s, d.Posterior().Mesh)
	}
	spreads := slices.Sorted(maps.Keys(m.of.Posterior().Spreads()))
	if len(spreads) == 0 {
		return s, nil, nil
	}
	return s, []string{fmt.Sprintf("the size of the measurement errors is unknown (%s). If the step is coarse, the solution computed by %v may fit the noise in the data, so that the measurement errors seem too small: sample again with half the step, and compare the draws", strings.Join(spreads, ", "), s)}, nil
}

// Kernel returns the kernel of one chain. For each data value, the kernel stores the
// centre of the predictive distribution and the log predictive density of the value.
func (Integrated) Kernel(d *bayes.Density, rule mcmc.Rule, burnIn int) mcmc.Kernel {
	k := &kernel{Kernel: sample.Deterministic{}.Kernel(d, rule, burnIn), all: make([]float64, len(d.Quantities())), keep: []int{0}}
	fit, term := 1, 1+len(d.Expected())
	var terms []int
	for _, x := range d.Posterior().Experiments {
		for _, row := range x.Data.Y {
			for c, y := range row {
				missing := math.IsNaN(y)
				if c < len(row)/2 { // the other columns are standard deviations, and the extra term of DALTON
					k.keep = append(k.keep, fit)
					if !missing {
						terms = append(terms, term)
					}
				}
				if fit++; !missing {
					term++
				}
			}
		}
	}
	k.keep = append(k.keep, terms...)
	return k
}

// A kernel leaves out what the original posterior does not store, such as predictive
// standard deviations.
type kernel struct {
	mcmc.Kernel
	all  []float64 // the quantities of the density
	keep []int     // indices of the quantities that are stored
}

func (k *kernel) Generate(dst []float64) {
	k.Kernel.(mcmc.Generator).Generate(k.all)
	for i, at := range k.keep {
		dst[i] = k.all[at]
	}
}
