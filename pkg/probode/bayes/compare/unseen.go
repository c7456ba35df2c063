package compare

import (
	"context"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
)

const (
	// ManySteps is the number of equal steps in a solution that checks a Setup. The step
	// size is the longest time span divided by ManySteps. The solver evaluates f at both
	// ends and in the middle of each step, so it notices every pulse of f that lasts for at
	// least half a step.
	ManySteps = 1 << 16
	// rounded is the relative error by rounding over ManySteps steps.
	rounded = ManySteps * 0x1p-52
)

// Unseen looks for a pulse of f that s steps over. Two solvers with error control may both
// step over a short pulse, but a solution with ManySteps equal steps shows it. Unseen
// returns the largest discrepancy D between s and this solution, over those points at
// which it shows a pulse that s misses. Unseen ignores points at which D is small: at most
// `least`, or below three times the error of s, which the argument `own` holds for each
// point. If no points remain, or f does not depend on the time between events, Unseen
// returns zero.
func (p Points) Unseen(ctx context.Context, s probode.Setup, own []float64, least float64) (most float64, err error) {
	if !slices.ContainsFunc(p.Posterior.Experiments, func(x bayes.Experiment) bool { return x.Problem != nil && !x.Problem.Autonomous }) {
		return 0, ctx.Err()
	}
	seen := make([]float64, len(p.Theta))
	err = p.Each(ctx, []probode.Setup{s, p.equalSteps(ManySteps), p.equalSteps(ManySteps / 4)}, func(i int, x []*Solver, at []Solution) {
		if at[0].Err == nil && at[1].Err == nil && at[2].Err == nil { // an explicit method may fail on a stiff problem
			// A jump of f has an error proportional to the step, so that the two solutions
			// with equal steps differ by three times the error of the better one. A pulse
			// that was stepped over does not follow this pattern.
			d := x[1].discrepancy(at[0].Expected, at[1].Expected, p.Theta[i], rounded)
			if d > 0.6*x[1].discrepancy(at[2].Expected, at[1].Expected, p.Theta[i], rounded) {
				seen[i] = d
			}
		}
	})
	for i, d := range seen {
		if d > least && !(d < 3*own[i]) {
			most = math.Max(most, d)
		}
	}
	return most, err
}

// equalSteps is the classical Runge–Kutta method with n steps over the longest span.
func (p Points) equalSteps(n float64) probode.Setup {
	longest := 0.0
	for _, x := range p.Posterior.Experiments {
		if x.Problem != nil {
			longest = max(longest, x.Problem.Span[1]-x.Problem.Span[0])
		}
	}
	return probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(longest / n)}
}
