package reference

import (
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/trigger"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// An occurrence is an event together with the time at which it happens for a given θ.
type occurrence struct {
	event  *probode.Event
	time   float64
	inside bool // its time lies in the span; the grid has a place for it even if not
}

// happen applies the jump of an event to the state, and then the jumps of events whose
// triggers become positive as a result.
func (e *integration) happen(h occurrence) error {
	if !h.inside || h.event.Jump == nil {
		return nil
	}
	return e.jump("the event "+h.event.Name, h.time, func(x []float64) error {
		h.event.Jump(x, h.time, e.theta)
		if e.triggers == nil {
			return nil
		}
		return e.triggers.Happen(trigger.Start, h.time, x, e.theta)
	})
}

// jump changes the state by applying change to it.
func (e *integration) jump(what string, t float64, change func(x []float64) error) error {
	after := e.at
	copy(after, e.x)
	if err := change(after); err != nil {
		return err
	}
	if !vector.Finite(after) {
		return fmt.Errorf("the state is %.4g after %s at t = %.6g: want finite numbers", after, what, t)
	}
	for k, x := range after {
		if x != e.x[k] { // a component that the event does not change keeps its low digits
			e.x[k], e.low[k] = x, 0
		}
		e.peak[k] = max(e.peak[k], math.Abs(x))
	}
	return nil
}

// locate reports whether a trigger becomes positive in a step of length H that has
// converged in row j of the extrapolation scheme. If a trigger becomes positive, the
// method takes a shorter step instead. The shorter step also uses rows 0, …, j of the
// extrapolation scheme, and ends when a trigger first becomes positive. At the end of the
// shorter step, the method applies the jump of the event. If the event happens at the
// argument `target` up to rounding, the shorter step ends there.
func (e *integration) locate(H float64, j int, target float64) (bool, error) {
	if e.triggers == nil {
		return false, nil
	}
	after, end, whole := make([]float64, len(e.x)), e.t+(e.tLow+H), H
	state := func() []float64 {
		for k, dx := range e.tab[0] {
			after[k] = e.x[k] + (e.low[k] + dx)
		}
		return after
	}
	at, ok, err := e.triggers.Find(trigger.Step{A: e.t, B: end, X: e.x, Y: state(), Theta: e.theta, F: e.p.F, To: func(t float64) ([]float64, error) {
		if H = (t - e.t) - e.tLow; t == end {
			H = whole
		}
		for n := range j + 1 {
			if !e.row(n, H) {
				return nil, fmt.Errorf("the time of an event cannot be found, because F is not finite shortly after t = %.6g", e.t)
			}
		}
		return state(), nil
	}})
	if err == nil && !ok {
		e.triggers.Pass(end, state(), e.theta)
	}
	if !ok || err != nil {
		return false, err
	}
	if target-at <= trigger.Rounding*math.Abs(at) {
		at = target
	}
	e.advance(H)
	e.t, e.tLow = at, 0
	shown := len(e.shown) > 0 && e.moment().Includes(e.shownAt, e.shown[:len(e.x)], at, e.x)
	err = e.jump("an event", at, func(x []float64) error { return e.triggers.Happen(trigger.Crossing, at, x, e.theta) })
	if shown {
		e.show()
	}
	return true, err
}

// show stores the state as the one at the time that was reached last.
func (e *integration) show() {
	for n := 0; n < len(e.shown); n += len(e.x) {
		copy(e.shown[n:], e.x)
	}
}

// last applies the jumps of events that happen, up to the tolerance, at the last time.
func (e *integration) last() error {
	if e.triggers == nil {
		return nil
	}
	e.p.F(e.f, e.t, e.x, e.theta)
	ahead := slices.Clone(e.x)
	if !e.triggers.Soon(e.t, ahead, e.theta, e.f, e.moment()) {
		return nil
	}
	return e.jump("an event", e.t, func(x []float64) error {
		copy(x, ahead)
		return e.triggers.Happen(trigger.Crossing, e.t, x, e.theta)
	})
}

// moment returns how far two moments may lie apart that the tolerance cannot tell from
// one another.
func (e *integration) moment() trigger.Moment {
	return trigger.Moment{Time: e.set.Relative * (e.problem.Span[1] - e.problem.Span[0]), State: e.permitted()}
}
