package reference

import (
	"context"
	"fmt"
	"slices"

	"github.com/probode/probode/pkg/internal/memory"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/calibrate"
)

// Solve solves p at the given times. The times must increase and lie in the span. The
// first time may be t₀. Steps end exactly at these times and at the events of p. No step
// crosses an event, and f is never evaluated at the time of an event. If an event occurs
// at one of the times, X contains the state before the event, or the state after it if
// SeenAfter is set.
//
// Solve extrapolates the midpoint rule. The basic solution T_{j,1} over a step H consists
// of nⱼ substeps of length h = H/nⱼ. The error of T_{j,1} has an expansion in even powers
// of h. Therefore the scheme
//
//	T_{j,k+1} = T_{j,k} + (T_{j,k} − T_{j−1,k}) / ((nⱼ/n_{j−k})² − 1)
//
// gains two orders with each column. In each step, Solve chooses the step length H and
// the number of rows so that the work is as small as possible. The number of rows
// determines the order. For stiff problems Solve uses a linearly implicit rule. Solve
// computes the Jacobian with Problem.FJ or with finite differences of F. Solve tries the
// midpoint rule and the linearly implicit rule to decide which of them needs less work.
//
// # What the error estimate means, and what it does not mean
//
// Solve integrates twice, and returns the result of the first integration, which uses
// Tolerance. The tolerance of the second integration is sixteen times as large (64 times
// if the problem is stiff). The second integration also uses other numbers nⱼ of substeps
// and other step lengths. In addition, the second integration moves the arguments of f by
// one unit in the last place, so that the difference between the results includes the
// effect of rounding errors. Error is ten times the difference between the two results
// (thirty times if the problem is stiff). At a single time, the difference may be small
// by chance. The estimate at each time t therefore uses the largest difference over a
// period that ends at t. The period covers at least the last fifth of the interval [t₀,
// t]. The period also contains at least the last three times at which the results are
// compared. Let r be the largest relative difference among the components. A relative
// difference below 0.3 r is replaced by 0.3 r. Therefore Error is usually far larger than
// the true error, even for problems that amplify errors. If no digit of X is correct,
// Error is larger than X itself. At t₀ Error is zero.
//
// Error is not a rigorous bound. A solver knows f only at the points at which it has
// evaluated f. A pulse that begins and ends between two evaluations of f affects neither
// X nor Error. Error also says nothing about f in regions of the state space that neither
// solution enters. Solve detects a pulse in f(t) that begins at t₀ or at an event. With
// the default MaxStep, Solve also detects any pulse whose length is at least 1/1000 of
// the span. For shorter pulses, declare an event in Problem.Events at the beginning of
// each pulse, or set MaxStep to at most eight times the length of the pulses. If f jumps
// at a time that is not an event and the tolerance is tight, Solve may return an error.
// Error does not include errors in f itself, for example from an inexact parameter or
// from cancellation in a formula. Error may also be too small if Autonomous is set
// although f depends on t.
//
// If an event has a Trigger, each of the two integrations locates the event on its own
// solution. The search for the event adds only rounding errors. Error also includes the
// effect of errors in the event times.
//
// Solve returns an error if the step length becomes as small as rounding errors in t, if
// f is not finite or panics, or if too many steps are needed. The error message contains
// the time at which the integration failed and, if possible, a suggestion. If ctx is done
// before the solution is complete, Solve stops at the next call of f, and the error wraps
// ctx.Err(). If there is an error, the result is nil.
//
// Sources: Gragg (1965), SIAM J. Numer. Anal. 2, 384; Bulirsch & Stoer (1966),
// Numer. Math. 8, 1; Deuflhard (1983), Numer. Math. 41, 399, for the control
// of order and step, as in Hairer, Nørsett & Wanner, Solving Ordinary
// Differential Equations I, II.9; Bader & Deuflhard (1983), Numer. Math. 41,
// 373, for the linearly implicit rule, as in Hairer & Wanner II, IV.9.
func Solve(ctx context.Context, p *probode.Problem, times []float64, s Settings) (*Solution, error) {
	return solve(ctx, p, s, func(p *probode.Problem, theta []float64) (*schedule, error) {
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

// sliding is the default of Settings.MaxSteps if f jumps again and again. At most
// tolerances there would be millions of steps.
const sliding = 2e4

// solve solves p or, if f jumps when a component of the state crosses a threshold,
// p.Hybrid. The function setOut returns the schedule for θ. The schedule lists the grid
// points and the events.
func solve(ctx context.Context, p *probode.Problem, s Settings, setOut func(p *probode.Problem, theta []float64) (*schedule, error)) (sol *Solution, err error) {
	if p == nil || p.Hybrid == nil || p.Validate() != nil {
		return solveSmooth(ctx, p, s, setOut)
	}
	err = p.SolveHybrid(s.Tolerance, func(q *probode.Problem, t probode.Tolerance) (err error) {
		set := s
		if set.Tolerance = t; q.Dim() == p.Dim() && set.MaxSteps == 0 {
			set.MaxSteps = sliding
		}
		if sol, err = solveSmooth(ctx, q, set, setOut); err == nil {
			sol.narrow(q.Dim(), p.Dim())
		}
		return err
	})
	return sol, err
}

// narrow keeps the first d of the components of the states.
func (sol *Solution) narrow(all, d int) {
	for _, v := range []*[]float64{&sol.X, &sol.Error} {
		for i := range len(*v) / all {
			copy((*v)[i*d:(i+1)*d], (*v)[i*all:])
		}
		*v = (*v)[:len(*v)/all*d]
	}
}

func solveSmooth(ctx context.Context, p *probode.Problem, s Settings, setOut func(p *probode.Problem, theta []float64) (*schedule, error)) (*Solution, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	fail := func(err error) (*Solution, error) { return nil, fmt.Errorf("%s: reference: %w", p.Title(), err) }
	if err := s.complete(p); err != nil {
		return fail(err)
	}
	c, err := setOut(p, s.Theta)
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
		ref, err := solve(ctx, s.Problem(), r, func(p *probode.Problem, theta []float64) (*schedule, error) {
			index, err := s.Grid().Index(nil)
			return newSchedule(p, theta, s.Grid(), index), err
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
