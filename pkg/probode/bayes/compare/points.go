package compare

import (
	"context"
	"math"
	"slices"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/internal/pieces"
)

// Points are values of the parameters of a Posterior at which Setups are compared.
type Points struct {
	Posterior *bayes.Posterior
	Theta     [][]float64
	Workers   int // number of goroutines, which does not change the results; zero means the number of cores
}

// Spread returns at most n draws, spread evenly over the chains.
func Spread(chains [][][]float64, n int) (draws [][]float64) {
	all := slices.Concat(chains...)
	n = min(n, len(all))
	for i := range n {
		draws = append(draws, all[(i+1)*len(all)/n-1])
	}
	return draws
}

// Each solves with each of the setups at each of the points, and calls do with the index
// of the point, the solvers and their solutions. Calls for different points overlap. Points
// that follow an equal one, as draws do after a rejection, are not solved again. If the
// equations can never be solved with a Setup, as without a grid that has its step, every
// Solution has the reason. It is an error if ctx is done or a function of the model
// panics.
func (p Points) Each(ctx context.Context, setups []probode.Setup, do func(i int, x []*Solver, at []Solution)) error {
	if len(p.Theta) == 0 {
		return ctx.Err()
	}
	var first []int // of each run of equal points
	for i, theta := range p.Theta {
		if i == 0 || !slices.Equal(theta, p.Theta[i-1]) {
			first = append(first, i)
		}
	}
	solvers, failed := make([]*Solver, len(setups)), make([]error, len(setups))
	for k, s := range setups {
		solvers[k], failed[k] = New(ctx, p.Posterior, s)
	}
	inner, hook := progress.Counts(ctx, nil, "solutions")
	_, err := pieces.Each(inner, p.Workers, len(first), hook, func() func(int) error {
		own := make([]*Solver, len(setups))
		for k, x := range solvers {
			if failed[k] == nil {
				own[k] = x.Clone()
			}
		}
		return func(n int) error {
			at := make([]Solution, len(setups))
			for k, x := range own {
				if at[k] = (Solution{LogLikelihood: math.Inf(-1), Err: failed[k]}); x != nil {
					at[k] = x.At(p.Theta[first[n]])
					if err := x.Density.Err(); err != nil {
						return err
					}
				}
			}
			for i := first[n]; i < len(p.Theta) && (n == len(first)-1 || i < first[n+1]); i++ {
				do(i, own, at)
			}
			return ctx.Err()
		}
	})
	return err
}

// LogLikelihoods returns the log likelihood with the Setup s at each point, which is −∞
// where the equations cannot be solved.
func (p Points) LogLikelihoods(ctx context.Context, s probode.Setup) ([]float64, error) {
	out := make([]float64, len(p.Theta))
	err := p.Each(ctx, []probode.Setup{s}, func(i int, _ []*Solver, at []Solution) { out[i] = at[0].LogLikelihood })
	return out, err
}

// A Difference compares a Setup with a finer one at a point.
type Difference struct {
	// D is the discrepancy between the expected data (see shape.Discrepancy). D is NaN if
	// one of the two fails.
	D float64

	// LogLikelihood is that of the Setup minus that of the finer one: −∞ if only the Setup
	// fails, +∞ if only the finer one fails, and NaN if both fail.
	LogLikelihood float64
}

// Differences compares the setup s with a finer one at each point.
func (p Points) Differences(ctx context.Context, s, finer probode.Setup) ([]Difference, error) {
	out := make([]Difference, len(p.Theta))
	err := p.Each(ctx, []probode.Setup{s, finer}, func(i int, x []*Solver, at []Solution) {
		out[i] = Difference{math.NaN(), at[0].LogLikelihood - at[1].LogLikelihood}
		if at[0].Err == nil && at[1].Err == nil {
			out[i].D = x[1].discrepancy(at[0].Expected, at[1].Expected, p.Theta[i], 0)
		}
	})
	return out, err
}
