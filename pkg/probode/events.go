package probode

import (
	"fmt"

	"github.com/probode/probode/pkg/probode/internal/trigger"
)

// An Event is a moment at which the state jumps or the formula for f changes. For
// example, the state jumps at a dose, and the formula for f changes when an infusion
// begins. Every grid has a point at the time of the Event, so no step crosses the Event.
// A multistep method is restarted after the Event. Without the Event, a solver would step
// across the discontinuity.
type Event struct {
	// Name appears in messages; it may be empty.
	Name string

	// Time is the time of the event. If When is not nil, the time of the event is When(θ),
	// and Time is ignored. For example, the time of a dose with an unknown lag depends on θ.
	// When must be continuous in θ. An event outside the span is ignored.
	Time float64
	When func(theta []float64) float64

	// Knot is true if only an Input changes its formula at the event. The first step after
	// the event is then as long as those before it.
	Knot bool

	// Trigger, if not nil, takes the place of Time and When. The event happens whenever
	// Trigger passes from a value ≤ 0 to a value > 0. For example, the event with the
	// Trigger 1 − x[0] happens when x[0] falls below 1. Up to rounding, the event happens
	// when Trigger, evaluated along the numerical solution, becomes positive: see
	// Adaptive. Only Adaptive and reference.Accurate can solve a problem that has an
	// event with a Trigger. Trigger must be a continuous function of all its arguments.
	// If Trigger is positive only within a single step, the event may be missed. The
	// event is detected reliably only if Trigger has a single maximum in the step and the
	// maximum exceeds the error of the solution. To make sure that a Trigger is detected
	// even if it is positive only briefly, set an upper bound on the step length.
	Trigger func(t float64, x, theta []float64) float64

	// Priority, if not nil, matters if several Triggers become positive at the same time.
	// Their jumps are made one after the other: always that with the largest Priority at
	// the state that has been reached and, among equals, that of the event that is earlier
	// in Problem.Events. The jump of an event that becomes due by one of these jumps takes
	// its turn in the same way. Without Priority, the priority is 0.
	Priority func(t float64, x, theta []float64) float64

	// If AtStart is true and Trigger is positive at the start of the span, the event also
	// happens there. If AtStart is false, the event can happen only after Trigger has
	// been ≤ 0 at some time.
	AtStart bool

	// Jump, if not nil, receives the state just before time t in x, and overwrites it
	// with the state just after t. If Jump is nil, only f changes at the event.
	Jump func(x []float64, t float64, theta []float64)

	// JumpPullback, if not nil, propagates the gradient λ of a function back through the
	// jump. On entry, `lambda` is the gradient with respect to the state after the jump.
	// JumpPullback overwrites `lambda` with the gradient with respect to the state x
	// before the jump. JumpPullback adds the gradient with respect to θ to `dtheta`, and
	// returns the derivative with respect to t. Without JumpPullback, the gradient of a
	// function of a path requires 2(d+p) calls of Jump for each event.
	JumpPullback func(lambda, dtheta, x []float64, t float64, theta []float64) (dt float64)

	// If SeenAfter is true, an observation at the time of the event shows the state after
	// the jump. If SeenAfter is false, an observation at the time of the event shows the
	// state before the jump, as when blood is drawn before a dose is given. If the time
	// of the event is determined by a Trigger, an observation at this time always shows
	// the state after the jump. The tolerance of the solver cannot tell some times from
	// one another; an event at such a time counts as an event at the time of the
	// observation.
	SeenAfter bool
}

// at returns the time of the event for θ.
func (e *Event) at(theta []float64) float64 {
	if e.When != nil {
		return e.When(theta)
	}
	return e.Time
}

func (e *Event) title(k int) string {
	if e.Name != "" {
		return e.Name
	}
	return fmt.Sprintf("event %d", k+1)
}

// Doses returns one event for each of the given times. At each event, `amount` is added
// to the given component of the state. Components are counted from 0.
func Doses(component int, amount float64, times ...float64) []Event {
	out := make([]Event, len(times))
	for i, t := range times {
		out[i] = Event{Name: fmt.Sprintf("dose at %g", t), Time: t,
			Jump: func(x []float64, _ float64, _ []float64) { x[component] += amount }}
	}
	return out
}

// An Input is a function of time that Problem.F can use. Examples are an infusion and a
// measured forcing. The function is specified by its values at a list of times. The
// function is linear between consecutive times, and constant before the first time and
// after the last one. If Constant is true, the function is constant between consecutive
// times, and zero before Times[0]. If Slopes is not nil, the function is, between
// consecutive times, the cubic polynomial with these values and slopes: see Spline.
//
// The function or a derivative of it is discontinuous at the given times, so a Problem
// that uses an Input must include the events that Events returns.
type Input struct {
	Times, Values []float64 // increasing times, as many values
	Constant      bool      // Values[i] holds from Times[i] on
	Slopes        []float64 // derivatives at Times, or nil
}

// Infusion returns an Input whose value is `rate` between the times `start` and `end`,
// and zero at other times.
func Infusion(rate, start, end float64) *Input {
	return &Input{Times: []float64{start, end}, Values: []float64{rate, 0}, Constant: true}
}

// Spline returns the natural cubic spline through the values at at least two increasing
// times: its first and second derivatives are continuous, and the second derivative is
// zero at both ends.
func Spline(times, values []float64) *Input {
	n := len(times)
	slopes, upper := make([]float64, n), make([]float64, n)
	// The slopes s solve s[i−1]/h[i−1] + 2(1/h[i−1] + 1/h[i]) s[i] + s[i+1]/h[i] =
	// 3(d[i−1]/h[i−1] + d[i]/h[i]), where d are the slopes of the chords. Elimination needs
	// no pivots, because the diagonal dominates.
	for i := range times {
		var below, above, right float64
		if i > 0 {
			below = 1 / (times[i] - times[i-1])
			right += 3 * below * below * (values[i] - values[i-1])
		}
		if i+1 < n {
			above = 1 / (times[i+1] - times[i])
			right += 3 * above * above * (values[i+1] - values[i])
		}
		pivot := 2 * (below + above)
		if i > 0 {
			pivot -= below * upper[i-1]
			right -= below * slopes[i-1]
		}
		upper[i], slopes[i] = above/pivot, right/pivot
	}
	for i := n - 2; i >= 0; i-- {
		slopes[i] -= upper[i] * slopes[i+1]
	}
	return &Input{Times: times, Values: values, Slopes: slopes}
}

// At returns the value of the input at time t.
func (u *Input) At(t float64) float64 { return u.Derivative(0, t) }

// Derivative returns the derivative of the given order at time t; order 0 is the value. At
// one of the times it is that from the right.
func (u *Input) Derivative(order int, t float64) float64 {
	lo, hi := 0, len(u.Times) // Times[lo−1] ≤ t < Times[hi]
	for lo < hi {
		if mid := (lo + hi) / 2; u.Times[mid] <= t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	outside := lo == 0 || lo == len(u.Times)
	switch {
	case len(u.Values) == 0 || u.Constant && lo == 0 || order > 0 && (u.Constant || outside):
		return 0
	case lo == 0:
		return u.Values[0]
	case u.Constant || outside:
		return u.Values[lo-1]
	}
	t0, t1 := u.Times[lo-1], u.Times[lo]
	a, b, h := u.Values[lo-1], u.Values[lo], t1-t0
	w := (t - t0) / h
	if u.Slopes == nil {
		switch order {
		case 0:
			return (1-w)*a + w*b
		case 1:
			return (b - a) / h
		}
		return 0
	}
	// The polynomial is a + w(c1 + w(c2 + w c3)).
	c1 := h * u.Slopes[lo-1]
	c2 := 3*(b-a) - 2*c1 - h*u.Slopes[lo]
	c3 := b - a - c1 - c2
	switch order {
	case 0:
		return a + w*(c1+w*(c2+w*c3))
	case 1:
		return (c1 + w*(2*c2+w*3*c3)) / h
	case 2:
		return (2*c2 + w*6*c3) / (h * h)
	case 3:
		return 6 * c3 / (h * h * h)
	}
	return 0
}

// Jumps reports whether u itself jumps at its times, and not only a derivative of it.
func (u *Input) Jumps() bool { return u.Constant }

// Events returns an event for each time at which u or a derivative of it is discontinuous.
func (u *Input) Events() []Event {
	out := make([]Event, len(u.Times))
	for i, t := range u.Times {
		out[i] = Event{Name: fmt.Sprintf("input at %g", t), Time: t, Knot: !u.Constant}
	}
	return out
}

// A mark is an event in a grid.
type mark struct {
	event  *Event
	number int // of the event in Problem.Events
	title  string
	time   float64
	inside bool // it happens within the span
}

// Triggers returns the events of p that have a Trigger, or nil if there are none.
func (p *Problem) Triggers() *trigger.Watch {
	var list []trigger.Condition
	for k := range p.Events {
		if e := &p.Events[k]; e.Trigger != nil {
			list = append(list, trigger.Condition{Name: e.title(k), G: e.Trigger, Jump: e.Jump, Priority: e.Priority, AtStart: e.AtStart})
		}
	}
	if list == nil {
		return nil
	}
	return trigger.New(list, p.Span[1]-p.Span[0])
}

// foreseen returns an error if the state or f jumps at a time that depends on the state,
// so that no run of a solver can choose a grid for other parameters.
func (p *Problem) foreseen() error {
	if p.Hybrid != nil {
		return fmt.Errorf("%s: f jumps at times that depend on the state: want probode.Adaptive, reference.Accurate, or equal steps of a one-step method", p.Title())
	}
	return p.timed()
}

// timed returns an error if an event of p has a Trigger.
func (p *Problem) timed() error {
	for k := range p.Events {
		if p.Events[k].Trigger != nil {
			return fmt.Errorf("%s: %s has a trigger, so its time is not known in advance: want probode.Adaptive or reference.Accurate", p.Title(), p.Events[k].title(k))
		}
	}
	return nil
}
