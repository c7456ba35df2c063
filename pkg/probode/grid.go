package probode

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/probode/probode/pkg/internal/memory"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// A Grid holds the times at which a problem is solved, t₀ ≤ … ≤ t_N. Events divide the
// grid into segments. At an event two neighbouring grid points have the same time: the
// first holds the state before the event, and the second the state after it. The step
// between the two points of an event has length zero and represents the event.
//
// If event times depend on θ, the grid points move with the event times. The number of
// points in a segment and their relative positions do not depend on θ, so the numerical
// solution Z is as smooth in θ as the problem is. A Grid is made for one value of θ and
// can be used at other values; each Solver moves the points of its own copy.
type Grid struct {
	t      []float64
	h      float64 // the step of a uniform grid; 0 for any other
	rule   string  // how the steps were chosen
	span   [2]float64
	seg    []stretch
	events []*mark // between the segments, in order of time
	when   []*mark // the same in the order of Problem.Events
	moving bool

	// local holds the size of the local error for each step and component of the classical
	// path, as an N×d array. This field is set for an error-controlled run, and for a Setup
	// with ScaleLocal. The fields `tol` and `orders` are set only on grids of
	// error-controlled runs. The field `tol` is the tolerance of the run. The field `orders`
	// holds the orders that Stepper.Choose has chosen for the steps; it is nil if no orders
	// were chosen. The field `chooser` names the method that chose them, and for which alone
	// they mean something.
	local   []float64
	tol     *Tolerance
	scale   []float64 // of the components in this run: see yardstick.Yardstick
	orders  []uint8
	chooser string
}

// A stretch is the part of a grid between two events.
type stretch struct {
	from, to int            // its first and last grid point
	frac     []float64      // their relative positions, from 0 to 1
	widest   float64        // the largest difference of two neighbouring fracs
	length   float64        // at the θ for which the grid was made
	now      field.Interval // in which F may be called
}

// maxSteps is a bound on the number of steps of a grid.
const maxSteps = 1 << 30

// epsilon is the spacing of floating-point numbers at 1.
const epsilon = 0x1p-52

// NewGrid returns a grid for p with points at the ends of the span, at the events, and at
// the given times. The times of the events are computed at θ; if θ is nil, Problem.Theta
// is used.
func NewGrid(p *Problem, theta, times []float64) (*Grid, error) {
	if !vector.Finite(times) {
		return nil, fmt.Errorf("%s: the times of the grid are %s: want finite numbers", p.Title(), text.Vector(times))
	}
	times = sorted(times)
	return buildGrid(p, theta, fmt.Sprintf("%d given times", len(times)), false, func(a, b float64) []float64 {
		return between(times, a, b)
	})
}

// UniformGrid returns a grid in which each segment between events is divided into the
// smallest number of equal steps of length at most h. UniformGrid returns an error if h
// is longer than the span, or shorter than 64 times the distance between floating-point
// numbers near the ends of the span.
func UniformGrid(p *Problem, theta []float64, h float64) (*Grid, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := p.checkSteps(h); err != nil {
		return nil, err
	}
	if len(p.Events) > 0 {
		return buildGrid(p, theta, fmt.Sprintf("h ≤ %g between events", h), false, func(a, b float64) []float64 { return divide(nil, a, b, h) })
	}
	t := uniform(p.Span, h)
	n := len(t) - 1
	g := &Grid{t: t, h: (t[n] - t[0]) / float64(n), rule: fmt.Sprintf("h = %g", h), span: p.Span}
	if math.Abs(g.h-h) > 1e-9*h {
		g.rule = fmt.Sprintf("h = %.10g", g.h)
	}
	g.seg = []stretch{{from: 0, to: n, length: t[n] - t[0], now: field.Interval{From: math.Inf(-1), To: math.Inf(1)}}}
	return g, nil
}

// gridThrough returns a grid with points at the given times and at the events. Each
// interval between two successive points is divided into equal steps of length at most h.
func gridThrough(p *Problem, theta, times []float64, h float64) (*Grid, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if !vector.Finite(times) {
		return nil, fmt.Errorf("%s: the times of the grid are %s: want finite numbers", p.Title(), text.Vector(times))
	}
	if err := p.checkSteps(h); err != nil {
		return nil, err
	}
	times = sorted(times)
	return buildGrid(p, theta, fmt.Sprintf("h ≤ %g, through the times", h), false, func(a, b float64) []float64 {
		var t []float64
		last := a
		for _, next := range append(between(times, a, b), b) {
			t = divide(t, last, next, h)
			if next != b {
				t = append(t, next)
			}
			last = next
		}
		return t
	})
}

func checkStep(span [2]float64, h float64) error {
	const apart = 64 // so that rounding changes the length of a step by at most 1 %
	length, largest := span[1]-span[0], max(math.Abs(span[0]), math.Abs(span[1]))
	least := apart * (math.Nextafter(largest, math.Inf(1)) - largest)
	switch {
	case !(h > 0) || math.IsInf(h, 1):
		return fmt.Errorf("the step is %g: want a finite number > 0", h)
	case h > length*(1+1e-9):
		return fmt.Errorf("the step is %g: want at most %g, the length of the span", h, length)
	case length/h > maxSteps:
		return fmt.Errorf("the step is %g: the span of %g would need %g steps, more than the limit of %d", h, length, math.Round(length/h), maxSteps)
	case h < least:
		return fmt.Errorf("the step is %g: want at least %.2g, %d times the distance between floating-point numbers near t = %g", h, least, apart, largest)
	}
	return nil
}

// checkSteps returns an error if the step size is not positive and finite, if it exceeds
// the span, or if a path with steps of this size does not fit in memory.
func (p *Problem) checkSteps(h float64) error {
	if err := checkStep(p.Span, h); err != nil {
		return fmt.Errorf("%s: %w", p.Title(), err)
	}
	n := int((p.Span[1] - p.Span[0]) / h)
	if err := memory.Check(fmt.Sprintf("a path of %d steps in %d dimensions", n, p.Dim()), n+1, p.Dim()+1); err != nil {
		return fmt.Errorf("%s: the step is %g: %w", p.Title(), h, err)
	}
	return nil
}

// divide splits the interval from a to b into the smallest number of equal steps that are
// at most h long, and appends the points between a and b to t.
func divide(t []float64, a, b, h float64) []float64 {
	n := math.Ceil((b - a) / h * (1 - 1e-9))
	for i := 1.0; i < n; i++ {
		t = append(t, a+(b-a)*i/n)
	}
	return t
}

// sorted returns the times in their order.
func sorted(times []float64) []float64 {
	if slices.IsSorted(times) {
		return times
	}
	times = slices.Clone(times)
	slices.Sort(times)
	return times
}

// between returns those of the sorted times that lie strictly between a and b. If some
// times differ only by rounding errors, only one of them is returned.
func between(times []float64, a, b float64) []float64 {
	var out []float64
	last := a
	from, _ := slices.BinarySearch(times, a)
	for _, t := range times[from:] {
		if t >= b {
			break
		}
		if near := 4 * epsilon * math.Abs(t); t > last+near && t < b-near {
			out = append(out, t)
			last = t
		}
	}
	return out
}

// uniform divides the span [t₀, t₁] into the fewest equal steps of length at most h, and
// returns the times of the grid points.
func uniform(span [2]float64, h float64) []float64 {
	length := span[1] - span[0]
	n := math.Ceil(length / h * (1 - 1e-9))
	t := make([]float64, int(n)+1)
	for i := range t {
		t[i] = span[0] + length*float64(i)/n
	}
	return t
}

// buildGrid makes a grid. inner returns the grid points inside a segment (a, b). If the
// argument `moving` is true, the grid has places for segments that are empty at this θ,
// even if no event time depends on θ.
func buildGrid(p *Problem, theta []float64, rule string, moving bool, inner func(a, b float64) []float64) (g *Grid, err error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if theta, err = p.Parameters(theta); err != nil {
		return nil, err
	}
	at := p.Span[0]
	defer p.recovered(&err, &at, nil, theta)
	g = &Grid{rule: rule, span: p.Span, moving: moving}
	for k := range p.Events {
		e := &p.Events[k]
		if e.Trigger != nil { // it has no place, but a grid with places for its times moves
			g.moving = true
			continue
		}
		m := &mark{event: e, number: k, title: e.title(k)}
		if m.time = e.at(theta); math.IsNaN(m.time) {
			return nil, fmt.Errorf("%s: %s: its time is NaN", p.Title(), m.title)
		}
		m.inside = m.time >= p.Span[0] && m.time <= p.Span[1]
		if e.When == nil && !m.inside {
			continue
		}
		g.moving = g.moving || e.When != nil
		g.when = append(g.when, m)
	}
	g.order()
	for j := range len(g.events) + 1 {
		end := p.Span[1]
		if j < len(g.events) {
			end = g.place(j)
		}
		s := stretch{from: len(g.t), length: end - at}
		points := []float64{at}
		if end > at {
			points = append(append(points, inner(at, end)...), end)
		} else if g.moving {
			points = append(points, end) // the segment may have positive length at another θ
		}
		s.to = s.from + len(points) - 1
		if len(g.t)+len(points) > maxSteps {
			return nil, fmt.Errorf("%s: more than %d steps", p.Title(), maxSteps)
		}
		s.frac = make([]float64, len(points))
		for i, t := range points {
			if s.length > 0 {
				s.frac[i] = (t - at) / s.length
			} else if i > 0 {
				s.frac[i] = 1
			}
			if i > 0 {
				s.widest = max(s.widest, s.frac[i]-s.frac[i-1])
			}
			if g.moving && i+1 < len(points) { // as in move, so that moving back gives the same bits
				points[i] = at + s.frac[i]*s.length
			}
		}
		g.t = append(g.t, points...)
		g.seg = append(g.seg, s)
		at = end
	}
	g.close()
	return g, nil
}

// Refine returns the grid with every step cut in half.
func (g *Grid) Refine() *Grid {
	r := *g.clone()
	r.t, r.local, r.tol, r.orders, r.h = nil, nil, nil, nil, g.h/2
	r.rule = g.rule + ", halved"
	if g.h > 0 {
		r.rule = fmt.Sprintf("h = %g", r.h)
	}
	r.seg = make([]stretch, len(g.seg))
	half := func(dst, t []float64) []float64 {
		for i, v := range t {
			if dst = append(dst, v); i+1 < len(t) {
				dst = append(dst, v+(t[i+1]-v)/2)
			}
		}
		return dst
	}
	for j, s := range g.seg {
		s.frac = half(nil, s.frac)
		s.widest /= 2
		from := len(r.t)
		r.t = half(r.t, g.t[s.from:s.to+1])
		s.from, s.to = from, len(r.t)-1
		r.seg[j] = s
	}
	if g.orders != nil {
		r.orders = make([]uint8, r.Steps())
		for i, k := range g.orders {
			if n := g.Refined(i); k > 0 {
				r.orders[n], r.orders[n+1] = k, k
			}
		}
	}
	return &r
}

// Refined returns the index of grid point i in the grid that Refine returns.
func (g *Grid) Refined(i int) int {
	return 2*i - g.segment(i) // the steps of events are not cut
}

// Times returns the times t₀, …, t_N. The caller must not change the elements of the
// result.
func (g *Grid) Times() []float64 { return g.t }

// Steps returns N, the number of steps; each event counts as one step.
func (g *Grid) Steps() int { return len(g.t) - 1 }

// H returns the length of the step from t[i] to t[i+1]. On a uniform grid the result is
// the same number for all i.
func (g *Grid) H(i int) float64 {
	if g.h > 0 {
		return g.h
	}
	return g.t[i+1] - g.t[i]
}

// Uniform returns the step size, and reports whether g is a uniform grid without events.
func (g *Grid) Uniform() (h float64, ok bool) { return g.h, g.h > 0 }

// String says how the steps were chosen.
func (g *Grid) String() string { return g.rule }

// Local returns the size of the local error for each step and component of the classical
// path. The result is an N×d array in row-major order, with one row for each step. The
// classical path was computed at the θ for which the grid was made. Local returns nil for
// a grid without local errors. Only error-controlled runs and Setups with ScaleLocal
// store local errors in a grid.
func (g *Grid) Local() []float64 { return g.local }

// Order returns the order of step i, as chosen in the error-controlled run that made the
// grid: see Step.Order. In a grid that Refine has returned, both halves of a step have the
// order of the original step. Order returns 0 for an event, for a method that chooses
// nothing, and for a grid that was not made by an error-controlled run. A Solver with
// another method than that of the run also uses 0.
func (g *Grid) Order(i int) int {
	if g.orders == nil {
		return 0
	}
	return int(g.orders[i])
}

// Tolerance returns the tolerance of the error-controlled run that made the grid, or nil
// if no such run made it.
func (g *Grid) Tolerance() *Tolerance { return g.tol }

// Index returns the indices of the grid points at the given times, or of all grid points
// if the argument `times` is nil. At the time of an event, Index chooses the point after
// the event if SeenAfter is set, and the point before the event otherwise. The error
// names the first time that is not a grid point.
func (g *Grid) Index(times []float64) ([]int, error) {
	if times == nil {
		all := make([]int, len(g.t))
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	index := make([]int, len(times))
	for n, t := range times {
		i, ok := g.find(t)
		if !ok {
			return nil, fmt.Errorf("time %g is not on the grid (%v) over [%g, %g]", t, g.rule, g.t[0], g.t[len(g.t)-1])
		}
		index[n] = i
	}
	return index, nil
}

// A time is regarded as equal to grid point i if its distance from this point is at most
// the result of near(). The result of near() is 10⁻⁹ times the step length, plus four
// times the rounding error of the time.
func (g *Grid) near(i int) float64 {
	h := math.Inf(1)
	for j := max(0, i-1); j <= min(i, len(g.t)-2); j++ {
		if w := g.H(j); w > 0 {
			h = min(h, w)
		}
	}
	if math.IsInf(h, 1) {
		h = 0
	}
	return 1e-9*h + 4*epsilon*math.Abs(g.t[i])
}

// find returns the grid point at time t.
func (g *Grid) find(t float64) (int, bool) {
	i := sort.SearchFloat64s(g.t, t)
	if i == len(g.t) || i > 0 && t-g.t[i-1] < g.t[i]-t {
		i--
	}
	for i > 0 && g.t[i-1] == g.t[i] {
		i-- // the first point of an event
	}
	if !(math.Abs(g.t[i]-t) <= g.near(i)) {
		return i, false
	}
	for j, m := range g.events { // the last event at this time whose SeenAfter is set
		if m.inside && m.event.SeenAfter && g.seg[j+1].from > i && g.t[g.seg[j+1].from] == g.t[i] {
			i = g.seg[j+1].from
		}
	}
	return i, true
}

// segment returns the index of the segment that contains grid point i. If an event has
// two grid points, the first one belongs to the earlier segment.
func (g *Grid) segment(i int) int {
	return sort.Search(len(g.seg), func(j int) bool { return g.seg[j].to >= i })
}

// Segment returns the first and the last grid point of the segment that contains step i;
// a segment is the part of the grid between two events. A multistep method is started at
// the first grid point of each segment.
func (g *Grid) Segment(i int) (from, to int) {
	j := sort.Search(len(g.seg), func(j int) bool { return g.seg[j].to > i })
	return g.seg[j].from, g.seg[j].to
}

// Place returns the position of grid point i. If no event time depends on θ, the position
// of a grid point is its time. If an event time depends on θ, positions run from 0 at the
// beginning of a segment to 1 at its end. Within a segment, step lengths that are
// computed from these positions have exactly the same ratios for all θ.
func (g *Grid) Place(i int) float64 {
	if !g.moving {
		return g.t[i]
	}
	s := &g.seg[g.segment(i)]
	return s.frac[i-s.from]
}

// End returns the time at which F is evaluated to obtain f at the end of step i. The
// result is t[i+1] or, if an event takes place at t[i+1], the floating-point number just
// before t[i+1].
func (g *Grid) End(i int) float64 {
	now := g.seg[g.segment(i+1)].now
	return min(max(g.t[i+1], now.From), now.To)
}

// order sorts the events by time.
func (g *Grid) order() {
	g.events = append(g.events[:0], g.when...)
	slices.SortStableFunc(g.events, func(a, b *mark) int { return cmp.Compare(a.time, b.time) })
}

// place returns the time of the event with index j or, if this time is outside the span,
// the nearest end of the span.
func (g *Grid) place(j int) float64 {
	return min(max(g.events[j].time, g.span[0]), g.span[1])
}

// For each segment, close sets the first and the last time at which F may be called.
func (g *Grid) close() {
	for j := range g.seg {
		s := &g.seg[j]
		s.now = field.Interval{From: math.Inf(-1), To: math.Inf(1)}
		if j > 0 && g.events[j-1].inside {
			s.now.From, s.now.Left = math.Nextafter(g.t[s.from], math.Inf(1)), g.events[j-1].event.When
		}
		if j < len(g.events) && g.events[j].inside {
			s.now.To, s.now.Right = math.Nextafter(g.t[s.to], math.Inf(-1)), g.events[j].event.When
		}
	}
}

// move adapts the grid to θ. If a segment is stretched so far that its steps become too
// long, move() returns an error.
func (g *Grid) move(theta []float64) error {
	if !g.moving {
		return nil
	}
	const most = 4
	for _, m := range g.when {
		if m.event.When == nil {
			continue
		}
		if m.time = m.event.When(theta); math.IsNaN(m.time) {
			return fmt.Errorf("%s: its time is NaN", m.title)
		}
		m.inside = m.time >= g.span[0] && m.time <= g.span[1]
	}
	g.order()
	var coarsest float64 // the longest step at the θ of the grid
	for _, s := range g.seg {
		coarsest = max(coarsest, s.widest*s.length)
	}
	at := g.span[0]
	for j := range g.seg {
		s := &g.seg[j]
		end := g.span[1]
		if j < len(g.events) {
			end = g.place(j)
		}
		length := end - at
		if g.t[s.from] == at && g.t[s.to] == end {
			at = end // a segment that does not move keeps its points to the last bit
			continue
		}
		if step := s.widest * length; step > most*s.widest*s.length && step > coarsest*(1+1e-9) {
			return fmt.Errorf("%w (between t = %.6g and %.6g a step would have length %.3g instead of %.3g)", errStretched, at, end, step, s.widest*s.length)
		}
		for i, f := range s.frac {
			g.t[s.from+i] = at + f*length
		}
		g.t[s.to] = end
		at = end
	}
	g.close()
	return nil
}

// clone returns a copy of the grid. If the copy is moved to another θ, the original does
// not change.
func (g *Grid) clone() *Grid {
	if !g.moving {
		return g
	}
	c := *g
	c.t, c.seg = slices.Clone(g.t), slices.Clone(g.seg)
	c.when = make([]*mark, len(g.when))
	for k, m := range g.when {
		copied := *m
		c.when[k] = &copied
	}
	c.events = nil
	c.order()
	return &c
}
