package probode

import (
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

// branches returns p without Hybrid, and Hybrid with the span and the parameters of p.
func (p *Problem) branches() (plain, hybrid *Problem) {
	q, h := *p, *p.Hybrid
	q.Hybrid, q.jumps = nil, true
	h.Span, h.Theta, h.shown = p.Span, p.Theta, p.Dim()
	return &q, &h
}

// bindHybrid returns a Path that computes the solution of p by solving the problem
// p.Hybrid. bind must return a Path for the problem q and the tolerance t, and this Path
// must be able to solve problems with Triggers. For some values of θ there may be
// infinitely many events, as in a model of a thermostat without hysteresis. If there are
// infinitely many events, the Path ignores p.Hybrid, and provides no derivatives.
func (p *Problem) bindHybrid(t Tolerance, bind func(q *Problem, t Tolerance) (Path, error)) (Path, error) {
	plain, hybrid := p.branches()
	h := &hybridPath{d: plain.Dim(), all: hybrid.Dim(), plain: func() (Path, error) { return bind(plain, t) }}
	path, err := bind(hybrid, t.wide(hybrid.Dim()))
	switch {
	case err == nil:
		h.path = path
	case endless(err) != nil:
		h.cause = endless(err)
		if path, err = h.plain(); err != nil {
			return nil, because(err, h.cause)
		}
		h.other = path
	default:
		return nil, err
	}
	if _, ok := path.(Holdable); ok {
		return &holdableHybrid{*h}, nil
	}
	return h, nil
}

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

// A hybridPath returns only the first d components of the states of another Path.
type hybridPath struct {
	path   Path                  // nil if events follow one another without end at the θ of Bind
	cause  *trigger.EndlessError // says where they do so; nil if `path` is not nil
	d, all int
	states []float64
	plain  func() (Path, error) // binds the problem itself
	other  Path                 // bound by plain; nil if it was not needed
	work   int
}

func (h *hybridPath) NoiseLen() int { return 0 }
func (h *hybridPath) Work() int     { return h.work }

func (h *hybridPath) clone() hybridPath {
	c := *h
	c.states = nil
	for _, p := range []*Path{&c.path, &c.other} {
		if *p != nil {
			*p = (*p).Clone()
		}
	}
	return c
}

func (h *hybridPath) Clone() Path {
	c := h.clone()
	return &c
}

// wide returns a slice with space for all components of the states of h.path; the
// argument dst has space for only the first d components.
func (h *hybridPath) wide(dst []float64) []float64 {
	if n := len(dst) / h.d * h.all; len(h.states) != n {
		h.states = make([]float64, n)
	}
	return h.states
}

// The slice `from` contains states with h.all components. narrow copies the first d
// components of each state to dst.
func (h *hybridPath) narrow(dst, from []float64) {
	for n := range len(dst) / h.d {
		copy(row(dst, n, h.d), row(from, n, h.all)[:h.d])
	}
}

func (h *hybridPath) States(ctx context.Context, dst, theta, xi []float64) (err error) {
	h.work = 0
	cause := h.cause
	if h.path != nil {
		all := h.wide(dst)
		err = h.path.States(ctx, all, theta, xi)
		h.work = h.path.Work()
		if err == nil {
			h.narrow(dst, all)
		}
		if cause = endless(err); cause == nil {
			return err
		}
	}
	if h.other == nil {
		if h.other, err = h.plain(); err != nil {
			return because(err, cause)
		}
	}
	err = h.other.States(ctx, dst, theta, xi)
	h.work += h.other.Work()
	return because(err, cause)
}

// holdableHybrid is a hybridPath whose Path is Holdable.
type holdableHybrid struct{ hybridPath }

func (h *holdableHybrid) Clone() Path { return &holdableHybrid{h.clone()} }

// Hold returns a Path that provides derivatives, unless there are infinitely many events.
func (h *holdableHybrid) Hold(ctx context.Context, theta []float64) (path Path, err error) {
	cause := h.cause
	if h.path != nil {
		if path, err = h.path.(Holdable).Hold(ctx, theta); err == nil {
			return &smoothHybrid{hybridPath{path: path, d: h.d, all: h.all, plain: h.plain}}, nil
		}
		if cause = endless(err); cause == nil {
			return nil, err
		}
	}
	if path, err = h.plain(); err == nil {
		path, err = path.(Holdable).Hold(ctx, theta)
	}
	if err != nil {
		return nil, because(err, cause)
	}
	return struct{ Path }{path}, nil // its other methods would give wrong derivatives
}

// smoothHybrid is a hybridPath whose Path is a locatedPath.
type smoothHybrid struct{ hybridPath }

func (h *smoothHybrid) Clone() Path { return &smoothHybrid{h.clone()} }

// Tangents implements Tangential.
func (h *smoothHybrid) Tangents(ctx context.Context, dst, ddst, theta, dtheta, xi []float64) error {
	all, moves := h.wide(dst), make([]float64, len(ddst)/h.d*h.all)
	if err := h.path.(Tangential).Tangents(ctx, all, moves, theta, dtheta, xi); err != nil {
		return err
	}
	h.work = h.path.Work()
	h.narrow(dst, all)
	h.narrow(ddst, moves)
	return nil
}

// Gradient implements Reversible.
func (h *smoothHybrid) Gradient(ctx context.Context, g *Gradient, w, theta, xi []float64) error {
	all := make([]float64, len(w)/h.d*h.all)
	for n := range len(w) / h.d {
		copy(row(all, n, h.all), row(w, n, h.d))
	}
	return h.path.(Reversible).Gradient(ctx, g, all, theta, xi)
}
