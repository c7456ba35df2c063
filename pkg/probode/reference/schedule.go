package reference

import (
	"fmt"
	"math"
	"runtime/debug"
	"sort"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/pole"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// A schedule contains the points of a grid, and an integration must stop at each of them.
// A schedule also contains the events between the segments of the grid, and the indices
// of the points at which states are needed.
type schedule struct {
	g      *probode.Grid
	t      []float64 // of the grid
	events []occurrence
	index  []int // grid points whose states are compared, in order
	asked  []int // the elements of index whose states were requested
}

// newSchedule returns the schedule for the grid g, which was built for the parameters
// theta. The argument `index` contains, in increasing order, the numbers of the grid
// points at which the states are needed.
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

// newIntegration sets up one of the two integrations: the looser one if the argument
// `run` is 0, or the more accurate one if it is 1.
func newIntegration(p *probode.Problem, s Settings, run int, stop *progress.Stop) *integration {
	d := p.Dim()
	e := &integration{problem: p, triggers: p.Triggers(), guard: pole.New(d, p.Poles), theta: s.Theta, set: s, second: run == 1, stop: stop, badT: math.NaN()}
	for _, v := range []*[]float64{&e.x, &e.low, &e.peak, &e.scale, &e.noise, &e.left, &e.f0, &e.before, &e.prev, &e.f, &e.at, &e.endX, &e.endF, &e.badX} {
		*v = make([]float64, d)
	}
	for k := range e.left {
		e.left[k] = math.Inf(-1)
	}
	e.p = p.Wrapped(field.Wrap{Window: &e.window, Guard: e.guard, Before: func() bool { e.evals++; return !stop.Ended() }})
	e.rule = e.newExplicit(run)
	e.rules[explicit] = e.rule
	for range e.rule.n {
		e.tab = append(e.tab, make([]float64, d))
		e.smooth = append(e.smooth, make([]float64, d))
	}
	if s.fixed == implicit {
		e.use(implicit)
	}
	return e
}

// run integrates from the first point of the schedule c to the last. If a function of the
// problem panics, run() returns the panic as an error.
func (e *integration) run(c *schedule, out []float64) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("at t = %.6g, x = %s, theta = %.4g: %w%s", e.t, text.Vector(e.x), e.theta, &probode.PanicError{Value: v, Stack: debug.Stack()}, text.Lacking(v, len(e.x), len(e.theta)))
		}
	}()
	return e.follow(c, out)
}

// follow integrates from point to point of the schedule c. For each grid point whose
// number is in c.index, the method stores the state in the argument `out`.
func (e *integration) follow(c *schedule, out []float64) error {
	e.problem.Initial(e.x, e.theta)
	if !vector.Finite(e.x) {
		return fmt.Errorf("%w: x0 is %.4g", probode.ErrStart, e.x)
	}
	for k, v := range e.x {
		e.peak[k] = math.Abs(v)
	}
	e.learn() // a component that begins with a small value
	clear(e.peak)
	e.t, e.tLow = c.t[0], 0
	if e.triggers != nil {
		if err := e.jump("the start", e.t, func(x []float64) error { return e.triggers.Begin(e.t, x, e.theta) }); err != nil {
			return err
		}
	}
	next, passed := 0, 0
	for i := 0; next < len(c.index); i++ {
		first := next
		for next < len(c.index) && c.index[next] == i {
			next++
		}
		if next == len(c.index) {
			if err := e.last(); err != nil {
				return err
			}
		}
		e.shown, e.shownAt = out[first*len(e.x):next*len(e.x)], e.t
		e.show()
		if next == len(c.index) {
			break
		}
		if i == 0 {
			e.shown = nil // an event just after the start is not one at the start
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

// begin starts a segment of the grid. The argument `passed` is the number of events
// before the segment. Within a segment, f is never evaluated at the time of an event. If
// a step begins or ends at an event, f is evaluated at the nearest time inside the
// segment.
func (e *integration) begin(c *schedule, passed int, end float64) {
	e.window.From, e.window.To, e.end = math.Inf(-1), math.Inf(1), end
	if passed > 0 && c.events[passed-1].inside {
		e.window.From = math.Nextafter(c.events[passed-1].time, math.Inf(1))
	}
	if passed < len(c.events) && c.events[passed].inside {
		e.window.To = math.Nextafter(c.events[passed].time, math.Inf(-1))
	}
	e.restart()
}
