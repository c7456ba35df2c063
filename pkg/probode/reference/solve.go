package reference

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/probode/probode/pkg/internal/memory"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/calibrate"
)

// Solve solves p at the given times, which must be in increasing order and lie in the
// span; the first may be t₀. Steps end exactly at these times and at the events of p. No
// step crosses an event, and f is never evaluated at the time of an event. If an event
// occurs at one of the times, X contains the state before the event, or the state after
// it if SeenAfter is set.
//
// Solve extrapolates the midpoint rule. The error of the basic solutions T_{j,1} over one
// step H, with nⱼ substeps of h = H/nⱼ, has an expansion in even powers of h, so the
// scheme
//
//	T_{j,k+1} = T_{j,k} + (T_{j,k} − T_{j−1,k}) / ((nⱼ/n_{j−k})² − 1)
//
// gains two orders with each column. In each step, Solve chooses the step length H and
// the number of rows so that the work is as small as possible. The number of rows
// determines the order. For stiff problems Solve uses a linearly implicit rule, with
// Problem.FJ or with finite differences of F. Solve tries the midpoint rule and the
// linearly implicit rule to decide which of them needs less work.
//
// # What the error estimate means, and what it does not mean
//
// Solve integrates twice, and returns the result of the first integration, which uses
// Tolerance. The second integration has a tolerance that is sixteen times as large (64
// times if the problem is stiff), different numbers nⱼ, and different step lengths. The
// second integration also moves the arguments of f by one unit in the last place, so that
// the difference between the results includes the effect of rounding errors. Error is ten
// times the difference between the two results (thirty times if the problem is stiff). At
// a single time, the difference may be small by chance. The estimate at each time
// therefore uses the largest difference over a period that ends at this time. The length
// of the period is at least a fifth of the time since t₀, and the period contains at
// least three of the times at which the results are compared. In addition, let r be the
// largest relative difference in any component. A relative difference below 0.3 r is
// replaced by 0.3 r. Therefore Error is usually far larger than the true error, even for
// problems that amplify errors. If no digit of X is correct, Error is larger than X
// itself. At t₀ Error is zero.
//
// Error is not a rigorous bound. A solver knows f only at the points at which it has
// evaluated f. A pulse that begins and ends between two evaluations of f affects neither
// X nor Error. Error also says nothing about f in regions of the state space that neither
// solution enters. A pulse in f(t) is found if it begins at t₀ or at an event, or if,
// with the default MaxStep, its length is at least 1/1000 of the span. For shorter
// pulses, declare an event in Problem.Events at the beginning of each pulse, or set
// MaxStep to at most eight times the length of the pulses. If f jumps at a time that is
// not an event, no step across the jump is short enough for a tight tolerance, and Solve
// returns an error. Error does not include errors in f itself, such as those due to a
// formula in which nearly all digits cancel, a wrong value of Autonomous, or a parameter
// that is not known exactly.
//
// If an event has a Trigger, each integration locates the time of the event on its own
// solution, up to rounding errors. Error also includes the effect of errors in the event
// times.
//
// Solve returns an error if the step length becomes as small as rounding errors in t, if
// f is not finite or panics, or if too many steps are needed. The error gives the time at
// which the problem occurred and, if possible, a suggestion. If ctx is done before the
// solution is complete, Solve stops at the next call of f, and the error wraps ctx.Err().
// If there is an error, the result is nil.
//
// Sources: Gragg (1965), SIAM J. Numer. Anal. 2, 384; Bulirsch & Stoer (1966),
// Numer. Math. 8, 1; Deuflhard (1983), Numer. Math. 41, 399, for the control
// of order and step, as in Hairer, Nørsett & Wanner, Solving Ordinary
// Differential Equations I, II.9; Bader & Deuflhard (1983), Numer. Math. 41,
// 373, for the linearly implicit rule, as in Hairer & Wanner II, IV.9.
func Solve(ctx context.Context, p *probode.Problem, times []float64, s Settings) (*Solution, error) {
	return solve(ctx, p, s, func(theta []float64) (*schedule, error) {
		// The last of the requested times may exceed the end of the span by a rounding
		// error.
		slack := 1e-12 * (p.Span[1] - p.Span[0])
		inside := slices.Clone(times)
		for i, t := range times {
			if !(t >= p.Span[0] && t <= p.Span[1]+slack) {
				return nil, fmt.Errorf("times[%d] is %g: want times in the span [%g, %g]", i, t, p.Span[0], p.Span[1])
			}
			if i > 0 && !(t > times[i-1]) {
				return nil, fmt.Errorf("times[%d] is %g and follows %g: want increasing times", i, t, times[i-1])
			}
			inside[i] = min(t, p.Span[1])
		}
		if err := memory.Check(fmt.Sprintf("a solution of dimension %d at %d time points", p.Dim(), len(times)), max(1, len(times)), p.Dim(), 3); err != nil {
			return nil, err
		}
		watched := inside
		if len(inside) > 0 {
			watched = slices.Concat(inside, checkpoints(p.Span[0], inside))
			slices.Sort(watched)
		}
		g, err := probode.NewGrid(p, theta, watched)
		if err != nil {
			return nil, err
		}
		var index []int // nil if no times are requested
		if len(watched) > 0 {
			if index, err = g.Index(watched); err != nil {
				return nil, err
			}
		}
		c := newSchedule(p, theta, g, index)
		c.asked = make([]int, len(times))
		for i, t := range inside {
			c.asked[i], _ = slices.BinarySearch(watched, t)
		}
		return c, nil
	})
}

// The function solve() solves p. The function setOut() returns the schedule for θ. The
// schedule lists the grid points and the events.
func solve(ctx context.Context, p *probode.Problem, s Settings, setOut func(theta []float64) (*schedule, error)) (*Solution, error) {
	if ctx == nil {
		return nil, errors.New("reference: the context is nil")
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	fail := func(err error) (*Solution, error) { return nil, fmt.Errorf("%s: reference: %w", p.Title(), err) }
	if err := s.complete(p); err != nil {
		return fail(err)
	}
	c, err := setOut(s.Theta)
	if err != nil {
		return fail(err)
	}
	sol := &Solution{Times: make([]float64, len(c.asked))}
	for i, w := range c.asked {
		sol.Times[i] = c.t[c.index[w]]
	}
	if s.Global {
		err = sol.global(ctx, p, c, s)
	} else {
		err = sol.twice(ctx, p, c, s)
	}
	if err != nil {
		return fail(err)
	}
	return sol, nil
}

// TrueError returns an Indicator that computes the difference between a numerical
// solution and an accurate solution, both before and after events.
func TrueError(r Settings) calibrate.Indicator {
	return func(ctx context.Context, s *probode.Solver, theta []float64) (*calibrate.Errors, error) {
		r.Theta = theta
		z := make([]float64, s.PathLen())
		if err := s.Solve(z, theta, nil); err != nil { // moves the grid to θ
			return nil, err
		}
		ref, err := solve(ctx, s.Problem(), r, func(theta []float64) (*schedule, error) {
			index, err := s.Grid().Index(nil)
			return newSchedule(s.Problem(), theta, s.Grid(), index), err
		})
		if err != nil {
			return nil, err
		}
		for i, x := range ref.X {
			z[i] -= x
		}
		return &calibrate.Errors{E: z, Accuracy: ref.Error}, nil
	}
}
