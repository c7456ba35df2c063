package reference

import (
	"fmt"
	"math"
	"sort"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/trigger"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// A schedule contains the points of a grid, at which an integration must stop, the events
// between the segments of the grid, and the indices of the points at which states are
// needed.
type schedule struct {
	g      *probode.Grid
	t      []float64 // of the grid
	events []occurrence
	index  []int // grid points whose states are compared, in order
	asked  []int // the elements of index whose states were requested
}

// An occurrence is an event with its time for a given θ.
type occurrence struct {
	event  *probode.Event
	time   float64
	inside bool // its time lies in the span; the grid has a place for it even if not
}

// newSchedule returns the schedule for the grid g, which was made for θ. The states are
// needed at the grid points whose numbers are in the argument index, in increasing order.
func newSchedule(p *probode.Problem, theta []float64, g *probode.Grid, index []int) *schedule {
	c := &schedule{g: g, t: g.Times(), index: index, asked: make([]int, len(index))}
	for n := range index {
		c.asked[n] = n
	}
	// Sort the events into the order of the segments of the grid.
	for k := range p.Events {
		if p.Events[k].Trigger != nil {
			continue
		}
		h := occurrence{event: &p.Events[k], time: p.Events[k].Time}
		if h.event.When != nil {
			h.time = h.event.When(theta)
		}
		h.inside = h.time >= p.Span[0] && h.time <= p.Span[1]
		if h.inside || h.event.When != nil {
			c.events = append(c.events, h)
		}
	}
	sort.SliceStable(c.events, func(a, b int) bool { return c.events[a].time < c.events[b].time })
	return c
}

// The method follow() integrates over the points of the schedule c, and stores in the
// argument out the states at the grid points whose numbers are in c.index.
func (e *integration) follow(c *schedule, out []float64) error {
	e.problem.Initial(e.x, e.theta)
	if !vector.Finite(e.x) {
		return fmt.Errorf("%w: x0 is %.4g", probode.ErrStart, e.x)
	}
	e.t, e.tLow = c.t[0], 0
	if e.triggers != nil {
		if err := e.jump("the start", e.t, func(x []float64) error { return e.triggers.Begin(e.t, x, e.theta) }); err != nil {
			return err
		}
	}
	next, passed := 0, 0
	for i := 0; next < len(c.index); i++ {
		for ; next < len(c.index) && c.index[next] == i; next++ {
			copy(out[next*len(e.x):], e.x)
		}
		if next == len(c.index) {
			break
		}
		from, to := c.g.Segment(i)
		if i < from {
			if err := e.happen(c.events[passed]); err != nil {
				return err
			}
			passed++
			continue
		}
		if i == from {
			e.begin(c, passed, c.t[to])
		}
		if c.t[i+1] > c.t[i] {
			if err := e.reach(c.t[i+1], i); err != nil {
				return err
			}
		}
	}
	return nil
}

// The method begin() starts the segment that follows the given number of events. Within a
// segment, f is never evaluated at the time of an event: if a step begins or ends at this
// time, t is moved into the segment by one unit in the last place.
func (e *integration) begin(c *schedule, passed int, end float64) {
	e.from, e.to, e.end = math.Inf(-1), math.Inf(1), end
	if passed > 0 && c.events[passed-1].inside {
		e.from = math.Nextafter(c.events[passed-1].time, math.Inf(1))
	}
	if passed < len(c.events) && c.events[passed].inside {
		e.to = math.Nextafter(c.events[passed].time, math.Inf(-1))
	}
	e.restart()
}

// The method happen() applies the jump of an event to the state, and then the jumps of
// events whose triggers become positive as a result.
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

// The method jump() changes the state by applying the function change() to it.
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

// watchTriggers returns the events of p that have a Trigger, or nil if there are none.
func watchTriggers(p *probode.Problem) *trigger.Watch {
	var list []trigger.Condition
	for k := range p.Events {
		if ev := &p.Events[k]; ev.Trigger != nil {
			name := ev.Name
			if name == "" {
				name = fmt.Sprintf("event %d", k+1)
			}
			list = append(list, trigger.Condition{Name: name, G: ev.Trigger, Jump: ev.Jump, AtStart: ev.AtStart})
		}
	}
	if list == nil {
		return nil
	}
	return trigger.New(list, p.Span[1]-p.Span[0])
}

// The method locate() reports whether a trigger becomes positive in a step H that has
// converged in row j. If a trigger becomes positive, the method takes the step again with
// the same number of rows and a shorter length, so that the step ends when a trigger
// first becomes positive, and then applies the jump of the event.
func (e *integration) locate(H float64, j int) (bool, error) {
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
				return nil, fmt.Errorf("the value of F is not finite shortly after t = %.6g, where the time of an event is sought", e.t)
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
	e.advance(H)
	e.t, e.tLow = at, 0
	return true, e.jump("an event", at, func(x []float64) error { return e.triggers.Happen(trigger.Crossing, at, x, e.theta) })
}
