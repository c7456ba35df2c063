package reference

import (
	"fmt"
	"math"
	"sort"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// A course lists the points of a grid, at which an integration must stop, the events
// between the segments, and the points whose states are needed.
type course struct {
	g      *probode.Grid
	t      []float64 // of the grid
	events []happening
	index  []int // grid points whose states are compared, in order
	asked  []int // the elements of index whose states were requested
}

// A happening is an event at a given θ.
type happening struct {
	event  *probode.Event
	time   float64
	inside bool // its time lies in the span; the grid has a place for it even if not
}

// newCourse returns the course on the grid g, which was made for θ. It requests the
// states at the grid points whose numbers are in index, in increasing order.
func newCourse(p *probode.Problem, theta []float64, g *probode.Grid, index []int) *course {
	c := &course{g: g, t: g.Times(), index: index, asked: make([]int, len(index))}
	for n := range index {
		c.asked[n] = n
	}
	// Sort the events into the order of the segments of the grid.
	for k := range p.Events {
		h := happening{event: &p.Events[k], time: p.Events[k].Time}
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

// follow integrates along c and writes the states at the points in index into out.
func (e *integration) follow(c *course, out []float64) error {
	e.problem.Initial(e.x, e.theta)
	if !vector.Finite(e.x) {
		return fmt.Errorf("%w: x0 is %.4g", probode.ErrStart, e.x)
	}
	e.t, e.tLow = c.t[0], 0
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

// begin begins the segment after the given number of events. Within it, f is never
// evaluated at the time of an event: if a step begins or ends there, t is moved into
// the segment by one unit in the last place.
func (e *integration) begin(c *course, passed int, end float64) {
	e.from, e.to, e.end = math.Inf(-1), math.Inf(1), end
	if passed > 0 && c.events[passed-1].inside {
		e.from = math.Nextafter(c.events[passed-1].time, math.Inf(1))
	}
	if passed < len(c.events) && c.events[passed].inside {
		e.to = math.Nextafter(c.events[passed].time, math.Inf(-1))
	}
	e.restart()
}

// happen applies an event to the state.
func (e *integration) happen(h happening) error {
	if !h.inside || h.event.Jump == nil {
		return nil
	}
	after := e.at
	copy(after, e.x)
	h.event.Jump(after, h.time, e.theta)
	if !vector.Finite(after) {
		return fmt.Errorf("the state is %.4g after the event %s at t = %.6g: want finite numbers", after, h.event.Name, h.time)
	}
	for k, x := range after {
		if x != e.x[k] { // a component that the event does not change keeps its low digits
			e.x[k], e.low[k] = x, 0
		}
		e.peak[k] = max(e.peak[k], math.Abs(x))
	}
	return nil
}
