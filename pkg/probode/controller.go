package probode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/onset"
	"github.com/probode/probode/pkg/probode/internal/pole"
	"github.com/probode/probode/pkg/probode/internal/trigger"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/internal/yardstick"
)

// Error control. A step is tried, its local error is estimated in units of the tolerance,
// and the step is accepted if this estimate is at most one. The length of the next step
// is computed from the last two errors (a PI controller: Gustafsson 1991; Hairer &
// Wanner, Solving Ordinary Differential Equations II, IV.2).

// The reasons for which no step is short enough.
var (
	errRunsAway = ended(fmt.Sprintf("the solution runs away: it exceeds %g", TooLarge))
	errPole     = ended("the solution or its slope becomes infinite: it changes by more than the tolerance within the rounding error of t")
	errTooShort = errors.New("the steps are smaller than the rounding error of t, so the tolerance cannot be met: set a larger tolerance, or an absolute tolerance for components near zero")
)

// minStep is the length of the shortest step, in units of the rounding error of t.
const minStep = 8

// A controller performs an error-controlled run of the classical method over all
// segments.
type controller struct {
	given *Problem
	p     *Problem // given, as steppers see it
	fixed *Grid    // the events and times at which steps must end
	set   Frozen
	theta []float64
	now   *field.Window
	guard *pole.Guard

	step    *Stepper
	chooser string // the name of the method
	one     Step   // the current step
	errs    func(dst []float64, s *Step) error
	made    func(dst []float64, s *Step) error // estimates the error that is kept, if that is another one

	parts int     // in which the current step is taken
	goal  float64 // the length that step.Choose has chosen, if the step was cut much shorter
	units func(local []float64) float64
	loose bool      // steps need to be no more accurate than the tolerance: see Step.Permitted
	rough bool      // a step of the run was no more accurate
	unit  []float64 // see permitted
	yard  *yardstick.Yardstick
	sizes []float64 // of components that begin at zero, as an earlier run has learned them; may be nil
	q     float64   // order of the local error

	at                   float64 // where the current step begins
	x, next, err, memory []float64
	most                 float64 // the largest factor by which a step may grow

	watch    *trigger.Watch // of the events with a Trigger; nil if there are none
	meets    bool           // the time to be reached is that of an event
	end      float64        // of the segment
	origin   int            // grid point at which the stepper was started
	goes     int            // the point of fixed that is to be reached
	passed   int            // the point of fixed that was reached last in this segment; -1 if there is none
	ahead    []float64      // the state at the end of a step before an event was located in it
	seen     []float64      // the times at which the solution has the states in hit
	meetings []meeting      // so far

	times  []float64 // times that were reached, twice at an event
	path   []float64 // states at these times
	local  []float64 // |local error|, one row for each step and event
	orders []uint8   // one for each step and event
	hit    []float64 // states at the points of fixed
	tried  int       // steps, rejected ones included
	work   int       // the same, of all repetitions
	pause  func()    // see progress.Pausing; may be nil
}

func newController(p *Problem, m Method, f Frozen, theta []float64, fixed *Grid) (*controller, error) {
	d := p.Dim()
	c := &controller{given: p, p: p, chooser: m.String(), fixed: fixed, set: f, theta: theta, now: new(field.Window), guard: pole.New(d, p.Poles), q: float64(m.Order()) + 1, most: 5, watch: p.Triggers()}
	if len(fixed.events) > 0 || c.guard != nil {
		c.p = p.Wrapped(field.Wrap{Window: c.now, Guard: c.guard})
	}
	c.set.MaxSteps = cmp.Or(c.set.MaxSteps, 1e6)
	c.set.Max = cmp.Or(c.set.Max, math.Inf(1))
	for _, v := range []*[]float64{&c.x, &c.next, &c.err, &c.unit} {
		*v = make([]float64, d)
	}
	c.yard = yardstick.New(f.Relative, f.Absolute, d, c.p.F)
	var err error
	if c.step, err = m.Stepper(c.p, nil); err != nil {
		return nil, err
	}
	if p.jumps && c.step.Memory > 0 && c.step.Choose == nil { // Choose lowers the order at a jump
		return nil, fmt.Errorf("%v uses values from earlier steps, which mean nothing after a jump of f", m)
	}
	if c.step.Memory > 0 {
		c.memory, c.most = make([]float64, c.step.Memory), 2
	}
	if c.errs, err = localError(c.p, m, c.step); err != nil {
		return nil, err
	}
	if c.units = c.norm; c.step.Memory > 0 { // the orders of a multistep method are compared with that of size
		c.units = c.worst
	}
	if c.step.LocalError != nil && c.step.Memory == 0 {
		c.made, err = doubling(c.p, m)
	}
	return c, err
}

// run repeats the run until the errors of no component have been compared with a size
// that the component does not have.
func (c *controller) run(ctx context.Context) error {
	const most = 10 // each repetition reduces the permitted error of a component at least a thousandfold
	c.work = 0
	clear(c.yard.Scale)
	copy(c.yard.Scale, c.sizes)
	for range most {
		err := c.once(ctx)
		c.work += c.tried
		if err != nil || !c.yard.Learn() {
			return err
		}
	}
	return nil
}

// A meeting is an event with a Trigger that happens at a point of the grid `fixed`, for
// example at the time of an observation.
type meeting struct {
	fired, point int
	smooth       bool // neither the state nor f jumps
}

func (c *controller) once(ctx context.Context) (err error) {
	c.times, c.path, c.local, c.orders = c.times[:0], c.path[:0], c.local[:0], c.orders[:0]
	c.at, c.tried, c.rough, c.pause = c.p.Span[0], 0, false, progress.Pause(ctx)
	d := c.p.Dim()
	if n := len(c.fixed.t) * d; len(c.hit) != n {
		c.hit = make([]float64, n)
	}
	c.seen, c.meetings = append(c.seen[:0], c.fixed.t...), c.meetings[:0]
	defer c.p.recovered(&err, &c.at, c.x, c.theta)
	c.p.Initial(c.x, c.theta)
	if !sane(c.x) {
		return fmt.Errorf("%w: x0 is %s", ErrStart, text.Vector(c.x))
	}
	c.yard.Begin(c.x)
	c.times, c.path = append(c.times, c.p.Span[0]), append(c.path, c.x...)
	if c.watch != nil {
		if err := c.watch.Begin(c.at, c.x, c.theta); err != nil {
			return err
		}
	}
	c.yard.Notice(c.x)
	h := 0.
	for j, seg := range c.fixed.seg {
		c.now.Interval = seg.now
		copy(row(c.hit, seg.from, d), c.x)
		if seg.from < seg.to && c.fixed.t[seg.from] < c.fixed.t[seg.to] {
			c.end = c.fixed.t[seg.to]
			if h, err = c.start(h); err != nil {
				return err
			}
			before := 1.0
			if c.passed = -1; j > 0 && c.fixed.events[j-1].inside {
				c.passed = seg.from
			}
			for n := seg.from + 1; n <= seg.to; n++ {
				c.goes, c.meets = n, n == seg.to && j < len(c.fixed.events) && c.fixed.events[j].inside
				if h, before, err = c.reach(ctx, c.fixed.t[n], h, before); err != nil {
					return err
				}
				if n == seg.to && !c.meets && c.end == c.p.Span[1] {
					if err := c.last(); err != nil {
						return err
					}
				}
				copy(row(c.hit, n, d), c.x)
				c.passed = n
			}
		} else if seg.from < seg.to { // closed at this θ
			c.skip()
			copy(row(c.hit, seg.to, d), c.x)
		}
		if j < len(c.fixed.events) {
			if e := c.fixed.events[j]; e.inside {
				if !e.event.Knot || c.step.Memory > 0 {
					h = 0 // the steps before the event say nothing about those after it
				}
				if e.event.Jump != nil {
					e.event.Jump(c.x, e.time, c.theta)
				}
				if err := c.happen(e.number); err != nil {
					return err
				}
			}
			c.skip()
			c.yard.Notice(c.x)
		}
	}
	return nil
}

// happen applies the jumps of the events whose triggers have become true at the current
// time.
func (c *controller) happen(cause int) error {
	if c.watch == nil {
		return nil
	}
	if err := c.watch.Happen(cause, c.at, c.x, c.theta); err != nil {
		return err
	}
	if !sane(c.x) {
		return fmt.Errorf("%w: after an event at t = %.6g", ErrDiverged, c.at)
	}
	return nil
}

// start starts the stepper at the last grid point, and returns the length of the first
// step: the argument `known`, unless that is zero.
func (c *controller) start(known float64) (h float64, err error) {
	c.origin, c.goal = len(c.times)-1, 0
	t := c.times[c.origin]
	c.one = Step{T: t, Index: c.origin, X: c.x, Theta: c.theta}
	c.guard.Begin(t, c.x, c.theta)
	if c.step.Start != nil {
		err = c.step.Start(&c.one)
	}
	if err != nil || t == c.end || known > 0 {
		return known, err
	}
	if k := vector.Unset(c.next, func(dst []float64) { c.p.F(dst, t, c.x, c.theta) }); k >= 0 {
		return 0, fmt.Errorf("dst[%d] is not set by F at t = %g: want every element set", k, t)
	}
	return c.first(c.end), nil
}

// jump applies the jumps of the events whose triggers have become true at the last grid
// point, and returns the length of the next step. The result `ok` is false if no trigger
// has become true.
func (c *controller) jump() (h float64, ok bool, err error) {
	c.at = c.times[len(c.times)-1]
	fired, before := len(c.watch.Fired), slices.Clone(c.x)
	if err := c.happen(trigger.Crossing); err != nil || len(c.watch.Fired) == fired {
		return 0, false, err
	}
	if c.at == c.fixed.t[c.goes] {
		c.meetings = append(c.meetings, meeting{fired, c.goes, c.smooth(before)})
	} else if n := c.passed; n >= 0 {
		t, x := c.fixed.t[n], row(c.hit, n, len(before))
		if c.rounding().Includes(t, x, c.at, before) {
			c.meetings = append(c.meetings, meeting{fired, n, c.smooth(before)})
		}
		if c.moment().Includes(t, x, c.at, before) {
			copy(x, c.x)
			c.seen[n] = c.at
		}
	}
	c.skip()
	c.yard.Notice(c.x)
	if c.at == c.end { // the grid has a place for a segment after the event
		c.skip()
	}
	h, err = c.start(0)
	return h, true, err
}

// smooth reports whether an event has changed neither the state nor f. The argument
// `before` is the state before the event. The components that a Problem.Hybrid adds to
// the state do not matter.
func (c *controller) smooth(before []float64) bool {
	const small = 1e-9
	f, g := make([]float64, len(before)), make([]float64, len(before))
	c.p.F(f, c.at, before, c.theta)
	c.p.F(g, c.at, c.x, c.theta)
	for k := range c.given.visible() {
		if !(math.Abs(c.x[k]-before[k]) <= small*max(math.Abs(before[k]), c.yard.Peak[k])) || !(math.Abs(f[k]-g[k]) <= small*max(math.Abs(f[k]), math.Abs(g[k]))) {
			return false
		}
	}
	return true
}

// last applies the jumps of events that happen, up to the tolerance, at the end of the
// span.
func (c *controller) last() error {
	if c.watch == nil {
		return nil
	}
	c.p.F(c.next, c.at, c.x, c.theta)
	if !c.watch.Soon(c.at, c.x, c.theta, c.next, c.moment()) {
		return nil
	}
	_, _, err := c.jump()
	return err
}

// moment returns how far two moments may lie apart that the tolerance cannot tell from
// one another.
func (c *controller) moment() trigger.Moment {
	return trigger.Moment{Time: c.set.Relative * (c.p.Span[1] - c.p.Span[0]), State: c.permitted()}
}

// rounding returns how far two moments may lie apart that differ only by rounding errors.
func (c *controller) rounding() trigger.Moment {
	const small = 0x1p-36
	m := trigger.Moment{Time: small * (c.p.Span[1] - c.p.Span[0])}
	for _, v := range c.yard.Peak {
		m.State = append(m.State, small*v)
	}
	return m
}

// permitted returns the permitted error of each component of the state. The next call
// overwrites the result.
func (c *controller) permitted() []float64 {
	c.yard.Permitted(c.unit, c.x)
	return c.unit
}

// restore undoes the last step.
func (c *controller) restore() {
	if c.step.Memory > 0 {
		c.step.Restore(c.memory)
	}
}

// locate reports whether a trigger becomes true in the step that has just been taken. If
// a trigger becomes true, locate repeats the step so that it ends at the time at which the
// first trigger becomes true. The steps are then solved up to rounding errors, because
// moments are compared up to rounding errors.
func (c *controller) locate() (bool, error) {
	end := c.one.End
	ok, err := c.find()
	if !ok || c.one.Permitted == nil {
		return ok, err
	}
	c.one.Permitted = nil
	c.to(end)
	if err := c.step.Step(&c.one); err != nil {
		return false, err
	}
	return c.find()
}

func (c *controller) find() (bool, error) {
	c.ahead = append(c.ahead[:0], c.next...)
	_, ok, err := c.watch.Find(trigger.Step{A: c.one.T, B: c.one.End, X: c.x, Y: c.next, Theta: c.theta, F: c.p.F, To: func(t float64) ([]float64, error) {
		c.to(t)
		c.restore()
		return c.next, c.step.Step(&c.one)
	}})
	if ok {
		c.restore()
	}
	return ok, err
}

// to sets the end of the current step.
func (c *controller) to(t float64) { c.one.End, c.one.H = t, t-c.one.T }

// grid returns the grid of the last run. The argument p is the problem that was solved
// or, if this problem has triggers, the result of its method located(). With triggers,
// the argument theta also contains the times of the located events.
func (c *controller) grid(p *Problem, theta []float64) (*Grid, error) {
	times := sorted(c.times)
	g, err := buildGrid(p, theta, c.set.String(), c.fixed.moving, func(a, b float64) []float64 { return between(times, a, b) })
	if err != nil {
		return nil, err
	}
	if len(c.local) != g.Steps()*len(c.x) {
		return nil, errTooShort
	}
	g.tol, g.scale = &c.set.Tolerance, slices.Clone(c.yard.Scale)
	if slices.Max(c.orders) > 0 {
		g.orders, g.chooser = slices.Clone(c.orders), c.chooser
	}
	return g, nil
}

// skip records a step of length zero, which has no local error.
func (c *controller) skip() {
	c.times, c.path = append(c.times, c.times[len(c.times)-1]), append(c.path, c.x...)
	c.local = append(c.local, make([]float64, len(c.x))...)
	c.orders = append(c.orders, 0)
}

// first returns the length of the first step. The first step takes a hundredth of the
// time in which the state would double at its present rate of change [HNW93, §II.4]. The
// norms of the state and of its derivative are computed in units of the tolerance. If f
// changes suddenly during the first step, first shortens the step. There must be no event
// between the current time and the time in the argument `end`. On entry c.next must be f.
func (c *controller) first(end float64) float64 {
	span, t := c.p.Span[1]-c.p.Span[0], c.times[len(c.times)-1]
	size, slope, top := 0., 0., vector.MaxAbs(c.yard.Peak)
	unit := c.permitted()
	for k, x := range c.x {
		size, slope = max(size, math.Abs(x)/unit[k]), max(slope, math.Abs(c.next[k])/unit[k])
	}
	h := 1e-6 * span
	switch {
	case top == 0 && len(c.set.Absolute) == 0: // there is no scale for a small value
	case size > 1e-5 && slope > 1e-5:
		h = 0.01 * size / slope
	case slope > 1e-5:
		h = 0.01 / slope
	}
	h = max(min(h, span/10), 16*epsilon*math.Abs(t)) // near zero, the state says little, and no step may be shorter
	if c.p.Autonomous {
		return h
	}
	return onset.Step(func(dst []float64, t float64) { c.p.F(dst, t, c.x, c.theta) }, t, min(h, end-t), unit)
}

// reach takes steps until t is equal to the argument `end`.
func (c *controller) reach(ctx context.Context, end, h, before float64) (float64, float64, error) {
	const crossing, most = 100, 2e4
	rejected, left := 0, 0 // left is the number of parts of the chosen step that remain
	var full, goal float64 // the length that was chosen, and the end of the step
	for {
		i := len(c.times) - 1
		t := c.times[i]
		if c.at = t; t == end {
			return h, before, nil
		}
		if c.pause != nil {
			c.pause()
		}
		if ctx.Err() != nil {
			return 0, 0, context.Cause(ctx)
		}
		// Times at which a step must end do not count: there may be a million data.
		if most := c.set.MaxSteps + max(0, len(c.fixed.t)-2); i >= most || c.tried >= 4*most { // or too many rejected steps
			return 0, 0, fmt.Errorf("more than %d steps are needed (the last was at t = %.6g): use larger tolerances, or another method", c.set.MaxSteps, t)
		}
		if n := i / crossing; c.given.jumps && i == n*crossing && n > 0 {
			// Steps across infinitely many jumps of f soon become long, or never. What remains
			// of the span does not matter: a search for θ also looks where they begin at its end.
			if span := c.p.Span[1] - c.p.Span[0]; span/(t-c.times[i-crossing])*crossing > most {
				return 0, 0, fmt.Errorf("the last %d steps advanced from t = %.6g only to t = %.6g", crossing, c.times[i-crossing], t)
			}
		}
		if left == 0 {
			h = min(h, c.set.Max)
			full, goal = h, t+h
			if rest := end - t; h >= rest*(1-1e-10) {
				goal = end
			} else if 2*h > rest {
				goal = t + rest/2
			}
			if c.parts = max(c.set.parts, 1); goal-t <= 32*epsilon*math.Abs(t) { // too short to be cut
				c.parts = 1
			}
			left = c.parts
		}
		to := goal
		if left > 1 {
			to = t + (goal-t)/float64(left)
		}
		if !(to > t+minStep*epsilon*math.Abs(t)) && to != end {
			return 0, 0, fmt.Errorf("at t = %.6g: %w", t, c.reason(nil, t, to))
		}
		if c.step.Memory > 0 {
			c.step.Save(c.memory)
		}
		c.one = Step{T: t, Order: c.one.Order, Index: i, X: c.x, Next: c.next, Theta: c.theta}
		if c.loose {
			c.one.Permitted = c.permitted()
		}
		c.to(to)
		size, err := c.try()
		if errors.Is(err, ErrField) {
			return 0, 0, err
		}
		located := false
		if c.watch != nil && err == nil && size <= 1 {
			if located, err = c.locate(); err != nil {
				return 0, 0, fmt.Errorf("at t = %.6g: %w", t, err)
			}
			if located {
				at := c.one.End
				switch {
				case to == end && c.rounding().Includes(at, c.next, end, c.ahead):
					located = !c.meets // it happens at the end
				case i > c.origin && c.moment().Includes(t, c.x, at, c.next):
					c.times[i] = at // it happens at t
					copy(c.x, c.next)
					if h, _, err = c.jump(); err != nil {
						return 0, 0, err
					}
					before, rejected, left = 1, 0, 0
					continue
				default:
					to = at
				}
				c.to(to)
				size, err = c.try()
			}
		}
		h = float64(c.parts) * (to - t)
		if err != nil || !(size <= 1) {
			c.goal, left = 0, 0
			c.restore()
			if rejected++; err != nil || !(size < math.Inf(1)) {
				h /= 8
				if c.step.Choose != nil {
					_, c.one.Order = c.step.Choose(&c.one, math.Inf(1), c.units)
				}
			} else {
				factor := 0.9 * math.Pow(size, -1/c.q)
				if c.step.Choose != nil {
					var chosen float64
					chosen, c.one.Order = c.step.Choose(&c.one, size, c.units)
					factor = cmp.Or(chosen, factor)
				}
				h *= min(0.8, max(0.1, factor))
			}
			if rejected > 200 || t+h <= t+minStep*epsilon*math.Abs(t) {
				return 0, 0, fmt.Errorf("at t = %.6g: %w", t, c.reason(err, t, to))
			}
			continue
		}
		if c.made != nil {
			if err := c.made(c.err, &c.one); err != nil {
				return 0, 0, fmt.Errorf("at t = %.6g: the local error of the step could not be computed: %w", t, err)
			}
		}
		for _, v := range c.err {
			c.local = append(c.local, math.Abs(v))
		}
		// This product of powers is written without math.Pow, which took a fifth of the time of small problems.
		grow, most := 0.9*math.Exp((0.4*math.Log(before)-0.7*math.Log(max(size, 1e-10)))/c.q), c.most
		c.times, c.path, c.orders = append(c.times, to), append(c.path, c.next...), append(c.orders, uint8(c.one.Order))
		if left--; left == 0 && c.step.Choose != nil {
			if c.step.Memory > 0 && h < full/2 { // a step that was cut says little: return to the chosen length
				c.goal = max(c.goal, full)
			}
			if toGoal := min(2, c.goal/h); toGoal > 1+1e-10 { // h may be smaller than the goal by rounding
				grow, most = toGoal, 10
			} else {
				c.goal = 0
				var chosen float64
				if chosen, c.one.Order = c.step.Choose(&c.one, size, c.units); chosen > 0 {
					grow, most = chosen, 10
				}
			}
		}
		c.rough = c.rough || c.one.Rough
		copy(c.x, c.next)
		c.yard.Notice(c.x)
		if located {
			first, ok, err := c.jump()
			if err != nil {
				return 0, 0, err
			}
			if ok { // unless the repeated step, by rounding, ends just before the time
				h, before, rejected, left = first, 1, 0, 0
				continue
			}
		} else if c.watch != nil && !(c.meets && to == end) {
			c.watch.Pass(to, c.x, c.theta)
		}
		if left > 0 {
			continue
		}
		if before = max(size, 1e-4); rejected > 0 {
			grow = min(grow, 1)
		}
		rejected = 0
		h *= min(most, max(0.2, grow))
		if c.goal == 0 && (to == end || h < full) { // a step that was cut short says little about the next one
			h = max(h, min(full, h*c.most))
		}
	}
}

// reason returns an error that says why even the shortest step from t fails. If the last
// step failed, the argument `err` is the error of that step; otherwise it is nil.
func (c *controller) reason(err error, t, to float64) error {
	if met := c.guard.Stuck(c.p.Span[1] - c.p.Span[0]); met != "" {
		return fmt.Errorf("%w: %s", ErrField, met)
	}
	for _, at := range [2]float64{to, t} {
		if c.p.F(c.err, at, c.x, c.theta); !vector.Finite(c.err) {
			return fmt.Errorf("%w: F is %s at t = %.17g", ErrField, text.Vector(c.err), at)
		}
	}
	switch {
	case !vector.Finite(c.next):
		return fmt.Errorf("%w beyond x = %s", ErrField, text.Vector(c.x))
	case !sane(c.next):
		return errRunsAway
	}
	for k, unit := range c.permitted() {
		if math.Abs(c.err[k])*minStep*epsilon*math.Abs(t) > unit {
			return errPole
		}
	}
	if err != nil {
		return err
	}
	return errTooShort
}

// try takes the current step and returns its error in units of the tolerance.
func (c *controller) try() (float64, error) {
	c.tried++
	if err := c.step.Step(&c.one); err != nil {
		return 0, err
	}
	if !sane(c.next) {
		if c.p.F(c.err, c.one.T, c.x, c.theta); !vector.Finite(c.err) { // no step is short enough
			return 0, fmt.Errorf("%w: F is %s, at t = %.6g, x = %s, theta = %s", ErrField, text.Vector(c.err), c.one.T, text.Vector(c.x), text.Vector(c.theta))
		}
		return math.Inf(1), nil
	}
	if err := c.errs(c.err, &c.one); err != nil {
		return 0, err
	}
	size := c.worst(c.err)
	if size <= 1 && !c.guard.Pass(c.one.End, c.next) {
		size = math.Inf(1)
	}
	return size, nil
}

// worst returns the largest local error of the current step, in units of the tolerance. If
// steps are taken in parts, worst returns that of a step of the whole length.
func (c *controller) worst(local []float64) float64 {
	size, q := c.norm(local), c.q
	if c.parts == 1 {
		return size
	}
	if c.step.Choose != nil && c.step.Memory > 0 {
		q = float64(c.one.Order) + 1
	}
	return size * math.Pow(float64(c.parts), q)
}

// norm returns the largest of the local errors, in units of the tolerance.
func (c *controller) norm(local []float64) float64 {
	h := c.one.H
	return c.yard.Worst(local, c.x, c.next, c.one.T, h, h/(c.p.Span[1]-c.p.Span[0]), c.theta)
}
