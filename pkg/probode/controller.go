package probode

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Error control. A step is tried, its local error is estimated in units of the
// tolerance, and it is accepted if that is at most one; the next step follows
// from the last two errors (a PI controller: Gustafsson 1991; Hairer & Wanner,
// Solving Ordinary Differential Equations II, IV.2).

var errTooShort = errors.New("steps that fall below the rounding of t: the tolerance cannot be met, want a larger one, absolute for components that are near zero")

// A controller makes an error-controlled classical run over all segments.
type controller struct {
	p     *Problem // as steppers see it
	fixed *Grid    // the events and times that are to be hit
	set   Frozen
	theta []float64
	now   *segment

	g    *Grid // of the steps made so far; it has no segments of its own
	step Stepper
	errs localizer
	made localizer // of the error that is kept, if it is another
	q    float64   // order of the local error

	at                         float64 // where the present step begins
	x, next, err, peak, memory []float64
	most                       float64 // by which a step may grow

	times []float64 // that were reached
	local []float64 // |local error|, a row a step and event
}

func newController(p *Problem, m Method, f Frozen, theta []float64, fixed *Grid) (*controller, error) {
	d := p.Dim()
	c := &controller{p: p, fixed: fixed, set: f, theta: theta, now: new(segment), q: float64(m.Order()) + 1, most: 5,
		g: &Grid{span: p.Span, rule: f.String()}}
	if len(fixed.events) > 0 {
		c.p = p.segmented(c.now)
	}
	if c.set.MaxSteps == 0 {
		c.set.MaxSteps = 1e6
	}
	if c.set.Max == 0 {
		c.set.Max = math.Inf(1)
	}
	for _, v := range []*[]float64{&c.x, &c.next, &c.err, &c.peak} {
		*v = make([]float64, d)
	}
	var err error
	if c.step, err = m.Stepper(c.p, c.g); err != nil {
		return nil, err
	}
	if r, ok := c.step.(Rememberer); ok {
		c.memory, c.most = make([]float64, r.Memory()), 2
	}
	if c.errs, err = newLocalizer(c.p, m, c.step); err != nil {
		return nil, err
	}
	if _, ok := c.step.(Estimator); ok && !remembers(c.step) {
		c.made, err = newDoublingLocalizer(c.p, m)
	}
	return c, err
}

func (c *controller) run(ctx context.Context) (err error) {
	c.at = c.p.Span[0]
	defer c.p.recovered(&err, &c.at, c.x, c.theta)
	c.p.Initial(c.x, c.theta)
	if !sane(c.x) {
		return fmt.Errorf("%w: x0 is %s", ErrStart, short(c.x))
	}
	c.g.t = append(c.g.t, c.p.Span[0])
	c.notice()
	h := c.set.First
	for j, seg := range c.fixed.seg {
		*c.now = seg.now
		if seg.from < seg.to && c.fixed.t[seg.from] < c.fixed.t[seg.to] {
			i := len(c.g.t) - 1
			if err := c.step.Start(i, c.x, c.theta); err != nil {
				return err
			}
			if h == 0 || j > 0 { // what was before an event says nothing of what comes
				h = c.first()
			}
			before := 1.0
			for n := seg.from + 1; n <= seg.to; n++ {
				if h, before, err = c.reach(ctx, c.fixed.t[n], h, before); err != nil {
					return err
				}
			}
		} else if seg.from < seg.to { // closed at this θ
			c.g.t = append(c.g.t, c.g.t[len(c.g.t)-1])
			c.local = append(c.local, make([]float64, len(c.x))...)
		}
		if j < len(c.fixed.events) {
			c.g.t = append(c.g.t, c.g.t[len(c.g.t)-1])
			c.local = append(c.local, make([]float64, len(c.x))...)
			if e := c.fixed.events[j]; e.inside && e.event.Jump != nil {
				e.event.Jump(c.x, e.time, c.theta)
			}
			c.notice()
		}
	}
	c.times = c.g.t
	return nil
}

// notice updates the largest size of each component.
func (c *controller) notice() {
	for k, v := range c.x {
		c.peak[k] = max(c.peak[k], math.Abs(v))
	}
}

// first returns a first step: a hundredth of the time in which the state would
// double, in units of the tolerance [HNW93, §II.4].
func (c *controller) first() float64 {
	span := c.p.Span[1] - c.p.Span[0]
	c.p.F(c.next, c.g.t[len(c.g.t)-1], c.x, c.theta)
	size, slope, top := 0., 0., maxAbs(c.peak)
	if top == 0 && len(c.set.Absolute) == 0 { // nothing says what is small
		return 1e-6 * span
	}
	for k, x := range c.x {
		unit := c.set.size(k, x, x, c.peak[k], top)
		size, slope = max(size, math.Abs(x)/unit), max(slope, math.Abs(c.next[k])/unit)
	}
	h := 1e-6 * span
	if size > 1e-5 && slope > 1e-5 {
		h = 0.01 * size / slope
	} else if slope > 1e-5 {
		h = 0.01 / slope
	}
	return min(h, span/10)
}

// reach makes steps up to time end.
func (c *controller) reach(ctx context.Context, end, h, before float64) (float64, float64, error) {
	rejected := 0
	for {
		i := len(c.g.t) - 1
		t := c.g.t[i]
		if c.at = t; t == end {
			return h, before, nil
		}
		if err := ctx.Err(); err != nil {
			return 0, 0, context.Cause(ctx)
		}
		if i >= c.set.MaxSteps {
			return 0, 0, fmt.Errorf("more than %d steps, at t = %.6g: want larger tolerances, or another method", c.set.MaxSteps, t)
		}
		h = min(h, c.set.Max)
		to, full := t+h, h
		if rest := end - t; h >= rest*(1-1e-10) {
			to = end
		} else if 2*h > rest {
			to = t + rest/2
		}
		if !(to > t+8*epsilon*math.Abs(t)) && to != end {
			return 0, 0, fmt.Errorf("at t = %.6g: %w", t, c.reason(nil, t, to))
		}
		if r, ok := c.step.(Rememberer); ok {
			r.Save(c.memory)
		}
		c.g.t = append(c.g.t, to)
		size, err := c.try(i)
		if errors.Is(err, ErrField) {
			return 0, 0, err
		}
		h = to - t
		if err != nil || !(size <= 1) {
			c.g.t = c.g.t[:i+1]
			if r, ok := c.step.(Rememberer); ok {
				r.Restore(i, c.memory)
			}
			if rejected++; err != nil || !(size < math.Inf(1)) {
				h /= 8
			} else {
				h *= min(0.8, max(0.1, 0.9*math.Pow(size, -1/c.q)))
			}
			if rejected > 200 || t+h <= t+8*epsilon*math.Abs(t) {
				return 0, 0, fmt.Errorf("at t = %.6g: %w", t, c.reason(err, t, to))
			}
			continue
		}
		if c.made != nil {
			if err := c.made(c.err, i, c.g, c.x, c.next, c.theta); err != nil {
				return 0, 0, fmt.Errorf("at t = %.6g: the error of the step: %w", t, err)
			}
		}
		copy(c.x, c.next)
		c.notice()
		for _, v := range c.err {
			c.local = append(c.local, math.Abs(v))
		}
		grow := 0.9 * math.Pow(max(size, 1e-10), -0.7/c.q) * math.Pow(before, 0.4/c.q)
		if before = max(size, 1e-4); rejected > 0 {
			grow = min(grow, 1)
		}
		rejected = 0
		h *= min(c.most, max(0.2, grow))
		if to == end || h < full { // a step that was cut short says little of the next
			h = max(h, min(full, h*c.most))
		}
	}
}

// reason says why no step from t is short enough, err being what the last one
// failed with, if it did.
func (c *controller) reason(err error, t, to float64) error {
	for _, at := range [2]float64{t, to} {
		if c.p.F(c.next, at, c.x, c.theta); !finite(c.next) {
			return fmt.Errorf("%w: F is %s at t = %.17g", ErrField, short(c.next), at)
		}
	}
	if err != nil {
		return err
	}
	return errTooShort
}

// try makes step i and returns its error in units of the tolerance.
func (c *controller) try(i int) (float64, error) {
	if err := c.step.Step(c.next, i, c.x, c.theta, nil, nil); err != nil {
		return 0, err
	}
	if !sane(c.next) {
		if c.p.F(c.err, c.g.t[i], c.x, c.theta); !finite(c.err) { // no step is short enough
			return 0, fmt.Errorf("%w: F is %s, at t = %.6g, x = %s, theta = %s", ErrField, short(c.err), c.g.t[i], short(c.x), short(c.theta))
		}
		return math.Inf(1), nil
	}
	if err := c.errs(c.err, i, c.g, c.x, c.next, c.theta); err != nil {
		return 0, err
	}
	return c.set.Tolerance.worst(c.err, c.x, c.next, c.peak, (c.g.t[i+1]-c.g.t[i])/(c.p.Span[1]-c.p.Span[0])), nil
}

// worst returns the largest of the local errors of a step from x to next in
// units of the tolerance. peak holds the largest size of each component up to
// x, and part is the length of the step as a part of the span.
func (t Tolerance) worst(local, x, next, peak []float64, part float64) float64 {
	worst, top := 0., maxAbs(peak)
	if top == 0 {
		// From a state that is zero the relative error of a step need not fall
		// with its length, as that of x′ = t⁵ does not. What is small is then
		// measured against the size to which the step would lead over the span.
		top = min(maxAbs(next)/part, math.MaxFloat64)
	}
	top = max(top, maxAbs(next))
	for k, e := range local {
		if worst = max(worst, math.Abs(e)/t.size(k, x[k], next[k], peak[k], top)); e != e {
			return math.Inf(1)
		}
	}
	return worst
}

// A localizer writes the local error of step i of g from x to next to dst.
type localizer func(dst []float64, i int, g *Grid, x, next, theta []float64) error

// newLocalizer returns how the local errors of a stepper are estimated: by
// itself, or by step doubling if it knows nothing of the past.
func newLocalizer(p *Problem, m Method, step Stepper) (localizer, error) {
	if e, ok := step.(Estimator); ok {
		return func(dst []float64, i int, _ *Grid, x, next, theta []float64) error {
			return e.LocalError(dst, i, x, next, theta)
		}, nil
	}
	if remembers(step) {
		return nil, fmt.Errorf("%v estimates no local error and remembers the past, so that step doubling cannot serve: want a method with LocalError, or ScaleStep on a uniform grid", m)
	}
	return newDoublingLocalizer(p, m)
}

// newDoublingLocalizer returns the estimate by step doubling. It has the order
// of the method, where an embedded formula has a lower one: that serves to
// choose steps, but is no size for noise. On the FitzHugh–Nagumo problem Radau5's
// is fifty times too large at a tolerance of 10⁻³, and 300 times at 10⁻⁵.
func newDoublingLocalizer(p *Problem, m Method) (localizer, error) {
	d, err := newDoubling(p, m)
	if err != nil {
		return nil, err
	}
	return func(dst []float64, i int, g *Grid, x, next, theta []float64) error {
		return d.estimate(dst, g.t[i], g.t[i+1], x, next, theta)
	}, nil
}

// remembers reports whether a stepper knows something of the past.
func remembers(step Stepper) bool {
	r, ok := step.(Rememberer)
	return ok && r.Memory() > 0
}

// A doubling estimates the local error of a one-step method by two steps of
// half the length.
type doubling struct {
	g    *Grid
	step Stepper
	mid  []float64
	gain float64 // 2^q/(2^q − 1)
}

func newDoubling(p *Problem, m Method) (*doubling, error) {
	two := math.Exp2(float64(m.Order()))
	d := &doubling{g: &Grid{t: make([]float64, 3)}, mid: make([]float64, p.Dim()), gain: two / (two - 1)}
	var err error
	d.step, err = m.Stepper(p, d.g)
	return d, err
}

func (d *doubling) estimate(dst []float64, t0, t1 float64, x, next, theta []float64) error {
	mid := t0 + (t1-t0)/2
	if mid == t0 || mid == t1 { // between events an ulp apart: there is no half of such a step
		clear(dst)
		return nil
	}
	d.g.t[0], d.g.t[1], d.g.t[2] = t0, mid, t1
	if err := d.step.Start(0, x, theta); err != nil {
		return err
	}
	if err := d.step.Step(d.mid, 0, x, theta, nil, nil); err != nil {
		return err
	}
	if err := d.step.Step(dst, 1, d.mid, theta, nil, nil); err != nil {
		return err
	}
	for k, v := range dst {
		dst[k] = d.gain * (next[k] - v)
	}
	return nil
}

// localErrors returns the size of the local errors of the classical path at
// θ on the grid of s, N×d.
func (s *Solver) localErrors(theta []float64) ([]float64, error) {
	out := make([]float64, s.Steps()*s.d)
	errs, err := newLocalizer(s.inside, s.m, s.step)
	if err == nil && !remembers(s.step) {
		errs, err = newDoublingLocalizer(s.inside, s.m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.p.title(), err)
	}
	err = s.eachLocal(errs, theta, func(i int, local, _, _ []float64) {
		for k, v := range local {
			out[i*s.d+k] = math.Abs(v)
		}
	})
	return out, err
}

// Strain returns the largest local error of the classical path at θ, in units
// of the tolerance that the grid was made with. Where it is far above one the
// grid, which was made at another θ, no longer serves. It is an error if the
// grid does not come from an error-controlled run.
func (s *Solver) Strain(theta []float64) (float64, error) {
	if s.g.tol == nil {
		return 0, fmt.Errorf("%s: the grid (%v) was not made to a tolerance", s.p.title(), s.g)
	}
	errs, err := newLocalizer(s.inside, s.m, s.step)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.p.title(), err)
	}
	var worst float64
	peak := make([]float64, s.d)
	err = s.eachLocal(errs, theta, func(i int, local, x, next []float64) {
		for k, v := range x {
			peak[k] = max(peak[k], math.Abs(v))
		}
		worst = max(worst, s.g.tol.worst(local, x, next, peak, s.g.H(i)/(s.g.span[1]-s.g.span[0])))
	})
	return worst, err
}

// eachLocal hands the local error of each step of the classical path to do.
func (s *Solver) eachLocal(errs localizer, theta []float64, do func(i int, local, x, next []float64)) (err error) {
	z := make([]float64, s.PathLen())
	if err := s.Solve(z, theta, nil); err != nil {
		return err
	}
	local := make([]float64, s.d)
	at := s.p.Span[0]
	defer s.p.recovered(&err, &at, nil, theta)
	for j := range s.g.seg {
		seg := &s.g.seg[j]
		if seg.from == seg.to || s.g.t[seg.from] == s.g.t[seg.to] {
			continue
		}
		*s.now = seg.now
		if err := s.step.Start(seg.from, row(z, seg.from, s.d), theta); err != nil {
			return s.fail(seg.from, theta, row(z, seg.from, s.d), err)
		}
		for i := seg.from; i < seg.to; i++ {
			x, next := row(z, i, s.d), row(z, i+1, s.d)
			if at = s.g.t[i]; s.stop.Load() {
				return s.fail(i, theta, x, s.cause())
			}
			if err := s.step.Step(next, i, x, theta, nil, nil); err != nil {
				return s.fail(i, theta, x, err)
			}
			if err := errs(local, i, s.g, x, next, theta); err != nil {
				return s.fail(i, theta, x, err)
			}
			do(i, local, x, next)
		}
	}
	return nil
}
