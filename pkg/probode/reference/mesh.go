package reference

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
)

// Accurate is a probode.Mesh that computes the states with Solve, and adds no noise. Use
// Accurate for inference in which accuracy is more important than computing time.
// Accurate ignores the Method of the Setup.
//
// If the estimated error of a solution is large, for example because f jumps at a time
// that is not an event, the solution is computed again with a tolerance a hundred times
// smaller. If the estimated error of the second solution is also large, the solve fails.
type Accurate struct {
	// Tolerance bounds the error of a step. If Relative is zero and Absolute is nil,
	// Relative is set to 1e-10. The default is accurate enough for inference. For
	// example, if there are a thousand observations and the noise is a thousandth of the
	// state, relative errors of 1e-10 change the log-likelihood by about 1e-4.
	probode.Tolerance
}

func (a Accurate) tolerance() probode.Tolerance {
	if a.Relative == 0 && a.Absolute == nil {
		return probode.Tolerance{Relative: 1e-10}
	}
	return a.Tolerance
}

func (a Accurate) String() string {
	if a.Absolute == nil {
		return fmt.Sprintf("reference with tolerance %.4g", a.tolerance().Relative)
	}
	return "reference with " + a.Tolerance.String()
}

// Bind returns a Path without noise. The times must be in increasing order. If a time
// lies outside the span only because of rounding errors, it is replaced by the nearer end
// of the span.
func (a Accurate) Bind(ctx context.Context, s probode.Setup, p *probode.Problem, at, times []float64) (probode.Path, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if times == nil {
		return nil, fmt.Errorf("%s: %v computes the states only at given times, but the times are nil", p.Title(), a)
	}
	if t := a.tolerance(); t.Relative != 0 && !(t.Relative >= 1e-15 && t.Relative < 1) {
		return nil, fmt.Errorf("%s: %v: the relative tolerance is %g: want a number in [1e-15, 1)", p.Title(), a, t.Relative)
	}
	times = slices.Clone(times)
	for i, t := range times {
		times[i] = min(max(t, p.Span[0]), p.Span[1])
	}
	return &accuratePath{by: a, p: p, times: times, first: make([]float64, p.Dim())}, nil
}

type accuratePath struct {
	by    Accurate
	p     *probode.Problem
	times []float64
	first []float64 // the state at the start
	work  int
}

func (a *accuratePath) NoiseLen() int { return 0 }

func (a *accuratePath) Work() int { return a.work }

func (a *accuratePath) Clone() probode.Path {
	c := *a
	c.first = make([]float64, len(a.first))
	return &c
}

func (a *accuratePath) States(ctx context.Context, dst, theta, _ []float64) error {
	const again, fails = 1e-5, 1e-3
	a.work = 0
	a.p.Initial(a.first, theta)
	tol := a.by.tolerance()
	x, claim, err := a.solve(ctx, theta, tol)
	finer := tol
	finer.Relative = max(tol.Relative/100, 1e-13)
	if (err != nil || claim > max(again, 1e3*tol.Relative)) && ctx.Err() == nil && finer.Relative < tol.Relative {
		if y, c, e := a.solve(ctx, theta, finer); e == nil && !(c >= claim) {
			x, claim, err = y, c, nil
		}
	}
	switch {
	case err != nil:
		return err
	case claim > max(fails, 1e4*tol.Relative):
		return fmt.Errorf("%s: %v: the error of a component may be %.2g times the largest absolute value of this component: declare jumps of f as events, or use a smaller tolerance", a.p.Title(), a.by, claim)
	}
	copy(dst, x)
	return nil
}

// solve returns the states and an estimate of their largest relative error.
func (a *accuratePath) solve(ctx context.Context, theta []float64, tol probode.Tolerance) (x []float64, claim float64, err error) {
	sol, err := Solve(ctx, a.p, a.times, Settings{Tolerance: tol, Theta: theta})
	if err != nil {
		return nil, math.Inf(1), err
	}
	a.work += sol.steps + sol.rejected
	return sol.X, relativeClaim(a.first, sol.X, sol.Error), nil
}

// relativeClaim divides the claimed error of each component of the states x by the
// largest absolute value of this component, and returns the largest of these ratios. The
// divisor is at least a millionth of the largest absolute value of all components,
// because the claimed error of a tiny component may be far larger than the component.
func relativeClaim(first, x, claimed []float64) float64 {
	d, all := len(first), 0.0
	top := make([]float64, d)
	for k, v := range first {
		top[k] = 1e-6 * math.Abs(v)
		all = max(all, math.Abs(v))
	}
	for i, v := range x {
		top[i%d] = max(top[i%d], math.Abs(v))
		all = max(all, math.Abs(v))
	}
	worst := 0.0
	for i, e := range claimed {
		if unit := max(top[i%d], 1e-6*all); e > worst*unit {
			worst = e / unit
		}
	}
	return worst
}
