package sample

import (
	"context"
	"fmt"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// A Plan is the recommendation of Choose.
type Plan struct {
	Posterior *bayes.Posterior // with its modes
	Sampler   Sampler
	Why       string // one line
}

// mostTempered is the largest number of parameters for which Choose takes Tempering.
const mostTempered = 15

// Choose chooses a sampler for p, and searches for the modes around which the chains
// start. The solver is that of p; if nobody has named one, use catalog.Default. The
// sampler is
//
//	Tempering      with up to 15 parameters
//	NUTS           with more parameters
//	Deterministic  with more parameters, if the solutions have no derivatives
//
// The search for modes begins at the points in the argument `from`. If `from` is nil, it
// begins at draws from the prior or, with more than 15 parameters, at the nominal point
// or, if there is none, at the medians of the priors. Choose uses only the fields Seed and
// Workers of s. The choice depends only on the arguments, so a resumed run makes the same
// choice.
func Choose(ctx context.Context, p *bayes.Posterior, from [][]float64, s mcmc.Settings) (*Plan, error) {
	e, err := bayes.NewDensity(ctx, p)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Posterior: new(bayes.Posterior), Sampler: Tempering{}}
	*plan.Posterior = *p
	d, where := len(p.Params), "the given starts"
	if d > mostTempered {
		plan.Sampler = Deterministic{}
		if differentiable(NUTS{}, e) == nil {
			plan.Sampler = NUTS{}
		}
		if from == nil {
			from, where = [][]float64{p.GridAt}, "the nominal point"
		}
		if from[0] == nil {
			from, where = [][]float64{make([]float64, d)}, "the medians of the priors"
			for k, q := range p.Params {
				from[0][k] = q.Prior.Quantile(0.5)
			}
		}
	}
	parameters := "parameters"
	if d == 1 {
		parameters = "parameter"
	}
	plan.Why = fmt.Sprintf("Sampler: %v (%d %s). Solver: %s.", plan.Sampler, d, parameters, solver(p.Setup))
	search := modes.Settings{Seed: s.Seed, Workers: s.Workers}
	if from != nil {
		search.From, search.Points, search.Starts = from, -1, 1
		plan.Why += fmt.Sprintf(" The search for modes began only at %s, and may miss other modes.", where)
	}
	if p.Modes == nil {
		if plan.Posterior.Modes, err = modes.Find(ctx, p, search); err != nil {
			return nil, err
		}
	}
	return plan, nil
}

// solver describes a setup in a few words.
func solver(s probode.Setup) string {
	if m, ok := s.Mesh.(probode.Adaptive); ok {
		return fmt.Sprintf("%v, %v", s.Method, m.Tolerance)
	}
	return s.String()
}
