package compare

import (
	"context"
	"slices"

	"github.com/probode/probode/pkg/probode"
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
// `least`, or below three times D between s and s with a hundredth of the tolerance. If no
// points remain, Unseen returns zero.
func (p Points) Unseen(ctx context.Context, s probode.Setup, least float64) (float64, error) {
	seen := make([]float64, len(p.Theta))
	err := p.Each(ctx, []probode.Setup{s, tighter(s), p.equalSteps(ManySteps), p.equalSteps(ManySteps / 4)}, func(i int, x []*Solver, at []Solution) {
		if at[0].Err != nil || at[2].Err != nil || at[3].Err != nil { // an explicit method may fail on a stiff problem
			return
		}
		own := 0.0
		if at[1].Err == nil {
			own = x[1].discrepancy(at[0].Expected, at[1].Expected, p.Theta[i], 0)
		}
		// A jump of f has an error proportional to the step, so that the two solutions with
		// equal steps differ by three times the error of the better one. A pulse that was
		// stepped over does not follow this pattern.
		d, jump := x[2].discrepancy(at[0].Expected, at[2].Expected, p.Theta[i], rounded), x[2].discrepancy(at[3].Expected, at[2].Expected, p.Theta[i], rounded)
		if d > least && d > 0.6*jump && !(d < 3*own) {
			seen[i] = d
		}
	})
	return slices.Max(append(seen, 0)), err
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
