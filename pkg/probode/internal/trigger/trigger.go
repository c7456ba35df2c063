// Package trigger watches conditions on the state along a numerical solution, and finds
// the times at which they become true.
package trigger

import (
	"fmt"
	"math"
	"slices"
)

// A Condition is true where G is positive. When the condition becomes true, Jump changes
// the state.
type Condition struct {
	Name     string
	G        func(t float64, x, theta []float64) float64
	Jump     func(x []float64, t float64, theta []float64) // may be nil
	Priority func(t float64, x, theta []float64) float64   // see Happen; nil stands for 0
	AtStart  bool                                          // it counts as false before the start
}

// A Firing is a time at which conditions became true.
type Firing struct {
	Time  float64
	Which []int // the conditions, in the order of their jumps
	Cause int   // Crossing, Start, or the number of the event whose jump made them true
}

const (
	Crossing = -1 // the solution crossed the threshold of Which[0]
	Start    = -2 // the conditions were true at the start
)

const (
	// Intervals below `close` times the span again and again approach a limit.
	close = 1e-10
	// The run ends with an error after `repeats` such intervals in succession.
	repeats = 3
	// The run ends with an error, too, after `many` events within `dense` times the span.
	many, dense = 1000, 1e-3
	chain       = 1000 // jumps at one time
)

// Rounding is the largest difference between two times that are regarded as equal when an
// event is located, as a fraction of the times. Rounding errors of the state move the
// located time of an event by a few units in the last place.
const Rounding = 0x1p-46

// A Moment says how far two points of a solution may lie apart, in time and in each
// component of the state, without being told from one another. If a solution reaches a
// threshold exactly at the time of an observation, errors within the tolerance decide
// whether the event is located before or after the observation.
type Moment struct {
	Time  float64
	State []float64
}

// Includes reports whether the state y at the time b belongs to the same moment as the
// state x at the time a ≤ b.
func (m Moment) Includes(a float64, x []float64, b float64, y []float64) bool {
	if b-a <= Rounding*math.Abs(b) {
		return true
	}
	for k, v := range y {
		if !(math.Abs(v-x[k]) <= m.State[k]) {
			return false
		}
	}
	return b-a <= m.Time
}

// Soon reports whether a condition that is false at the state x becomes true within the
// moment m, if the state changes at the rate f. If so, Soon changes x to such a state.
func (w *Watch) Soon(t float64, x, theta, f []float64, m Moment) bool {
	h := m.Time
	for k, v := range f {
		if v-v != 0 {
			return false
		}
		if v != 0 {
			h = min(h, m.State[k]/math.Abs(v))
		}
	}
	h = max(h, Rounding*math.Abs(t))
	w.end = w.end[:0]
	for k, v := range x {
		w.end = append(w.end, v+h*f[k])
	}
	if g, err := w.excess(t, w.end, theta); err != nil || !(g > 0) {
		return false
	}
	copy(x, w.end)
	return true
}

// An EndlessError says that a condition becomes true again and again, either at the same
// time or at times that seem to approach a limit.
type EndlessError struct {
	Name string  // of the condition
	Time float64 // the time, or a time near the limit
	text string
}

func (e *EndlessError) Error() string { return e.text }

// A Watch keeps track of which of its conditions are true as a solution proceeds.
type Watch struct {
	Fired []Firing // so far

	list  []Condition
	span  float64
	on    []bool
	last  []float64 // the time at which each condition became true last
	count []int     // how often it became true shortly after the time before

	end, ahead []float64 // workspace of between
}

// New returns a Watch for the given conditions. The argument `span` is the length of the
// time span that the solutions cover.
func New(list []Condition, span float64) *Watch {
	return &Watch{list: list, span: span, on: make([]bool, len(list)), last: make([]float64, len(list)), count: make([]int, len(list))}
}

// Begin starts a solution from the state x and performs any jumps that occur at its
// start.
func (w *Watch) Begin(t float64, x, theta []float64) error {
	w.Fired = w.Fired[:0]
	for k := range w.list {
		w.last[k], w.count[k] = math.Inf(-1), 0
		g, err := w.value(k, t, x, theta)
		if err != nil {
			return err
		}
		w.on[k] = g > 0 && !w.list[k].AtStart
	}
	return w.Happen(Start, t, x, theta)
}

func (w *Watch) value(k int, t float64, x, theta []float64) (float64, error) {
	g := w.list[k].G(t, x, theta)
	if g != g {
		return g, fmt.Errorf("the trigger of %s is NaN at t = %.6g", w.list[k].Name, t)
	}
	return g, nil
}

// excess evaluates G at the state x for all conditions that have been false so far, and
// returns the largest value. A positive result means that one of these conditions has
// become true.
func (w *Watch) excess(t float64, x, theta []float64) (float64, error) {
	most := math.Inf(-1)
	for k := range w.list {
		if w.on[k] {
			continue
		}
		g, err := w.value(k, t, x, theta)
		if err != nil {
			return 0, err
		}
		most = max(most, g)
	}
	return most, nil
}

// A Step describes a step that a solver has taken and can repeat with another length.
type Step struct {
	A, B  float64   // its ends
	X, Y  []float64 // the states at A and B
	Theta []float64
	F     func(dst []float64, t float64, x, theta []float64) // the right-hand side
	// To repeats the step from A, but ends it at t, and returns the state at t. A call may
	// overwrite Y.
	To func(t float64) ([]float64, error)
}

// Find locates the time within a step at which a condition becomes true, and repeats the
// step so that it ends at this time. The condition is true at this time, and still false
// a few ulps earlier. If no condition becomes true, the result `ok` is false, and the
// step still ends at B.
func (w *Watch) Find(s Step) (at float64, ok bool, err error) {
	end, ok, err := w.within(s.A, s.B, s.Y, s.Theta)
	if !ok && err == nil {
		end, ok, err = w.between(s)
	}
	if !ok {
		return s.B, false, err
	}
	at, err = locate(s.A, end, func(t float64) (float64, error) {
		y, err := s.To(t)
		if err != nil {
			return 0, err
		}
		return w.excess(t, y, s.Theta)
	})
	return at, true, err
}

// within checks the end b of a step, with the state x, and the time just before: a
// condition such as x > 1 && t < 4 can become false again exactly at b.
func (w *Watch) within(a, b float64, x, theta []float64) (end float64, ok bool, err error) {
	for _, end := range []float64{b, math.Nextafter(b, a)} {
		if g, err := w.excess(end, x, theta); err != nil || g > 0 {
			return end, err == nil, err
		}
	}
	return b, false, nil
}

// between finds out when a condition that is false at both ends is true in between. If G
// rises at A and falls at B, the cubic through both predicts the maximum. The step ends
// there if it is positive, or closer to zero than to the larger value; if the condition
// is false there, the search follows the rising G.
func (w *Watch) between(s Step) (end float64, ok bool, err error) {
	const most = 12 // steps
	taken := false
	defer func() {
		if taken && !ok && err == nil {
			_, err = s.To(s.B)
		}
	}()
	w.end = append(w.end[:0], s.Y...) // To may overwrite Y
	w.ahead = append(w.ahead[:0], s.Y...)
	ahead := w.ahead
	for k := range w.list {
		if w.on[k] {
			continue
		}
		// slope returns G and its derivative along the solution.
		slope := func(t, delta float64, x []float64) (g, dg float64) {
			s.F(ahead, t, x, s.Theta)
			for i, v := range ahead {
				ahead[i] = x[i] + delta*v
			}
			g = w.list[k].G(t, x, s.Theta)
			return g, (w.list[k].G(t+delta, ahead, s.Theta) - g) / delta
		}
		const small = 1e-4 // of the step
		a, b, delta := s.A, s.B, small*(s.B-s.A)
		ga, da := slope(a, delta, s.X)
		gb, db := slope(b, -delta, w.end)
		for range most {
			if !(da > 0 && db < 0) {
				break
			}
			part, top := maximum(ga, gb, da*(b-a), db*(b-a))
			if rise := top - max(ga, gb); !(top > -rise) {
				break
			}
			t := a + part*(b-a)
			if !(a < t && t < b) {
				break
			}
			taken = true
			y, err := s.To(t)
			if err != nil {
				return 0, false, err
			}
			g, d := slope(t, delta, y)
			switch {
			case g > 0:
				return t, true, nil
			case d > 0:
				a, ga, da = t, g, d
			default:
				b, gb, db = t, g, d
			}
		}
	}
	return s.B, false, nil
}

// maximum is of the cubic on [0, 1] with values a and b, and slopes da > 0 and db < 0.
func maximum(a, b, da, db float64) (at, top float64) {
	// The derivative is da + 2 p τ + 3 q τ².
	p, q := 3*(b-a)-2*da-db, 2*(a-b)+da+db
	// The derivative is positive at 0 and negative at 1, so it has one root in between.
	root := math.Sqrt(max(p*p-3*q*da, 0))
	if p < 0 {
		at = da / (root - p)
	} else {
		at = (p + root) / (-3 * q)
	}
	return at, a + at*(da+at*(p+at*q))
}

// Happen performs the jumps of all conditions that have become true at the state x, and of
// those that become true by one of these jumps. The next jump is always that with the
// largest Priority at the state that has been reached; among equals, conditions that became
// true earlier come first, and then those that are earlier in the list. If the cause is an
// event, conditions are those just after t, because G may compare the time with t; one that
// is true at t alone becomes true, too.
func (w *Watch) Happen(cause int, t float64, x, theta []float64) error {
	after := t
	if cause >= 0 {
		after = math.Nextafter(t, math.Inf(1))
	}
	var which, due []int
	for {
		for k := range w.list {
			g, err := w.value(k, after, x, theta)
			if err != nil {
				return err
			}
			brief := cause >= 0 && which == nil && w.list[k].G(t, x, theta) > 0
			if (g > 0 || brief) && !w.on[k] {
				due = append(due, k)
			}
			w.on[k] = g > 0
		}
		if len(due) == 0 {
			break
		}
		i := 0
		if len(due) > 1 {
			i = w.first(due, t, x, theta)
		}
		k := due[i]
		due, which = slices.Delete(due, i, i+1), append(which, k)
		if len(which) > chain {
			return &EndlessError{w.list[k].Name, t, fmt.Sprintf("%s: more than %d jumps at t = %.6g: use triggers that these jumps do not set off again", w.list[k].Name, chain, t)}
		}
		if jump := w.list[k].Jump; jump != nil {
			jump(x, t, theta)
		}
	}
	if len(which) == 0 {
		return nil
	}
	w.Fired = append(w.Fired, Firing{Time: t, Which: which, Cause: cause})
	return w.accumulate(which, t)
}

func (w *Watch) first(due []int, t float64, x, theta []float64) (first int) {
	most := math.Inf(-1)
	for i, k := range due {
		v := 0.0
		if priority := w.list[k].Priority; priority != nil {
			v = priority(t, x, theta)
		}
		if v > most {
			first, most = i, v
		}
	}
	return first
}

// Pass updates w at the end of a step in which no condition has become true. The update
// records which conditions have become false.
func (w *Watch) Pass(t float64, x, theta []float64) {
	for k, on := range w.on {
		w.on[k] = on && w.list[k].G(t, x, theta) > 0
	}
}

// accumulate refuses times that approach a limit, as those of a ball that bounces lower
// and lower.
func (w *Watch) accumulate(which []int, t float64) error {
	for _, k := range which {
		if t > w.last[k] && t-w.last[k] < close*w.span {
			w.count[k]++
		} else if t > w.last[k] {
			w.count[k] = 0
		}
		if w.last[k] = t; w.count[k] == repeats {
			return w.endless(k, t, close*w.span)
		}
	}
	if n := len(w.Fired); n > many && t-w.Fired[n-1-many].Time < dense*w.span {
		return w.endless(which[0], t, dense/many*w.span)
	}
	return nil
}

func (w *Watch) endless(k int, t, interval float64) error {
	return &EndlessError{w.list[k].Name, t, fmt.Sprintf("%s happens again and again at t = %.10g, at intervals below %.2g: end the solution before this time, or use a trigger that stays false after its jump", w.list[k].Name, t, interval)}
}

// locate finds where excess becomes positive between a and b, up to a few ulps. Its last
// call of excess is at the result.
func locate(a, b float64, excess func(t float64) (float64, error)) (float64, error) {
	least := 4 * 0x1p-52 * max(math.Abs(a), math.Abs(b))
	below, above := math.NaN(), math.NaN() // of the values at a and b
	at, up := b, false                     // the last time, and whether the value there was positive
	for n := 0; b-a > least && n < 200; n++ {
		t := a + (b-a)/2
		if below == below && above == above && n%4 != 0 { // regula falsi, and at times a bisection
			t = min(max(a+(b-a)*(below/(below-above)), a+least/2), b-least/2)
		}
		if !(a < t && t < b) {
			break
		}
		g, err := excess(t)
		if err != nil {
			return 0, err
		}
		same := n > 0 && up == (g > 0)
		if at, up = t, g > 0; up {
			b, above = t, g
			if same { // Illinois: the other end must move, too
				below /= 2
			}
		} else {
			a, below = t, g
			if same {
				above /= 2
			}
		}
	}
	if at != b {
		_, err := excess(b)
		return b, err
	}
	return b, nil
}
