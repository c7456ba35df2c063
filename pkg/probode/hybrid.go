package probode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/probode/probode/pkg/probode/internal/trigger"
)

// Suppose that f jumps when a state crosses a threshold, for example because a rate is
// larger above the threshold. If a solver steps across a jump of f, the derivatives of
// the computed states do not include the effect of θ on the time of the jump. In
// Problem.Hybrid, an additional state represents each condition that makes f jump. This
// state is 1 where the condition is true, and 0 elsewhere. Events that have a Trigger
// change the value of this state. Between two events f is smooth.

// SolveHybrid calls the function solve with the problem p.Hybrid, whose first components
// are those of p, and with the tolerance t for its components. For some values of θ there
// may be infinitely many events, as in a model of a thermostat without hysteresis. If
// there are, SolveHybrid calls solve again, with a copy of p that has no Hybrid.
func (p *Problem) SolveHybrid(t Tolerance, solve func(q *Problem, t Tolerance) error) error {
	plain, hybrid := p.branches()
	err := solve(hybrid, t.wide(hybrid.Dim()))
	if cause := endless(err); cause != nil {
		err = because(solve(plain, t), cause)
	}
	return err
}

// branches returns p without Hybrid, and Hybrid with the span and the parameters of p. Paths
// of Hybrid show only the components of p.
func (p *Problem) branches() (plain, hybrid *Problem) {
	q, h := *p, *p.Hybrid
	q.Hybrid, q.jumps = nil, true
	h.Span, h.Theta, h.shown = p.Span, p.Theta, p.Dim()
	return &q, &h
}

// visible returns the number of components that paths of p show.
func (p *Problem) visible() int { return cmp.Or(p.shown, p.Dim()) }

// endless returns the EndlessError that err wraps, or nil if err wraps no such error.
func endless(err error) (e *trigger.EndlessError) {
	errors.As(err, &e)
	return e
}

// because combines the errors e and err in one message. The error e means that
// Problem.Hybrid has infinitely many events. The original problem is then solved instead
// of Problem.Hybrid, and err is the error from the original problem. because returns err
// unchanged if err is nil or wraps context.Canceled or context.DeadlineExceeded.
func because(err error, e *trigger.EndlessError) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("f jumps again and again near t = %.6g, because %s keeps changing: want two thresholds, or a smooth function (%w)", e.Time, strings.TrimPrefix(e.Name, "event "), err)
}

// A hybridPath computes the solution of a problem by solving its Hybrid or, where Hybrid
// has infinitely many events, by solving the problem itself.
type hybridPath struct {
	bind  func(ctx context.Context, k int) (*adaptivePath, error)
	paths [2]*adaptivePath      // of Hybrid and of the problem itself, nil until they are needed
	cause *trigger.EndlessError // why no path of Hybrid could be bound; nil if one could
	work  int
}

// bindHybrid binds a to the problem p, which has a Hybrid.
func (a Adaptive) bindHybrid(ctx context.Context, m Method, p *Problem, at, times []float64) (Path, error) {
	plain, hybrid := p.branches()
	h := &hybridPath{bind: func(ctx context.Context, k int) (*adaptivePath, error) {
		if k == 1 {
			return a.bind(ctx, m, plain, at, times)
		}
		b := a
		b.Tolerance = a.wide(hybrid.Dim())
		return b.bind(ctx, m, hybrid, at, times)
	}}
	if err := h.either(ctx, func(*adaptivePath) error { return nil }); err != nil {
		return nil, err
	}
	return h, nil
}

// either calls do with the path of Hybrid and, if there are infinitely many events, with
// the path of the problem itself.
func (h *hybridPath) either(ctx context.Context, do func(path *adaptivePath) error) error {
	cause := h.cause
	if cause == nil {
		err := h.on(ctx, 0, do)
		if cause = endless(err); cause == nil {
			return err
		}
		if h.paths[0] == nil {
			h.cause = cause
		}
	}
	return because(h.on(ctx, 1, do), cause)
}

func (h *hybridPath) on(ctx context.Context, k int, do func(path *adaptivePath) error) (err error) {
	if h.paths[k] == nil {
		if h.paths[k], err = h.bind(ctx, k); err != nil {
			return err
		}
	}
	return do(h.paths[k])
}

func (h *hybridPath) NoiseLen() int { return 0 }
func (h *hybridPath) Work() int     { return h.work }

func (h *hybridPath) Clone() Path {
	c := *h
	for k, p := range h.paths {
		if p != nil {
			c.paths[k] = p.Clone().(*adaptivePath)
		}
	}
	return &c
}

func (h *hybridPath) States(ctx context.Context, dst, theta, xi []float64) error {
	h.work = 0
	return h.either(ctx, func(path *adaptivePath) error {
		err := path.States(ctx, dst, theta, xi)
		h.work += path.Work()
		return err
	})
}

// Hold returns a Path that provides derivatives, unless there are infinitely many events.
func (h *hybridPath) Hold(ctx context.Context, theta []float64) (held Path, err error) {
	err = h.either(ctx, func(path *adaptivePath) (err error) {
		if held, err = path.Hold(ctx, theta); err == nil && path == h.paths[1] {
			held = struct{ Path }{held} // its other methods would give wrong derivatives
		}
		return err
	})
	return held, err
}
