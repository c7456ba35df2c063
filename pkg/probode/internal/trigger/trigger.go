// Package trigger watches conditions on the state along a numerical solution, and finds
// the times at which they become true.
package trigger

import (
	"fmt"
	"math"
)

// A Condition is true where G is positive. When the condition becomes true, Jump changes
// the state.
type Condition struct {
	Name    string
	G       func(t float64, x, theta []float64) float64
	Jump    func(x []float64, t float64, theta []float64) // may be nil
	AtStart bool                                          // it counts as false before the start
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
	// If a condition becomes true several times in succession, each time within this
	// fraction of the span after the last, the times are assumed to accumulate.
	close = 1e-10
	// The constant repeats is the number of successive times, each within this fraction
	// of the span after the last, at which a run ends with an error.
	repeats = 3
	// The constant chain is the largest permitted number of jumps at one time.
	chain = 1000
)

// An EndlessError says that conditions become true again and again, at times that do not
// go on.
type EndlessError struct{ text string }

func (e *EndlessError) Error() string { return e.text }

// A Watch keeps track of which of its conditions are true as a solution proceeds.
type Watch struct {
	Fired []Firing // so far

	list  []Condition
	span  float64
	on    []bool
	last  []float64 // the time at which each condition became true last
	count []int     // how often it became true shortly after the time before
}

// New returns a Watch for the given conditions along solutions that cover a time span of
// the given length.
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

// Excess considers the conditions that were false so far, and returns the largest of their
// values G at the state x. The result is positive if one of these conditions has become
// true.
func (w *Watch) Excess(t float64, x, theta []float64) (float64, error) {
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

// Within reports whether a condition that was false is true at the end of the step from a
// to b, or just before b, where x is the state at b. The first result is the time at
// which the condition is true. The method Within also examines the time just before b,
// because a condition such as x > 1 && t < 4 can become false again exactly at the end of
// the step. The result ok is false if no such condition is true at either time.
func (w *Watch) Within(a, b float64, x, theta []float64) (end float64, ok bool, err error) {
	for _, end := range []float64{b, math.Nextafter(b, a)} {
		if g, err := w.Excess(end, x, theta); err != nil || g > 0 {
			return end, err == nil, err
		}
	}
	return b, false, nil
}

// Happen performs the jumps of the conditions that are true for the state x and were
// false before, and of those that become true as a result of these jumps. The method
// Happen is called at the end of a step.
func (w *Watch) Happen(cause int, t float64, x, theta []float64) error {
	var which []int
	for first := 0; ; {
		for k := range w.list {
			g, err := w.value(k, t, x, theta)
			if err != nil {
				return err
			}
			if g > 0 && !w.on[k] {
				which = append(which, k)
			}
			w.on[k] = g > 0
		}
		if len(which) == first {
			break
		}
		if len(which) > chain {
			return &EndlessError{fmt.Sprintf("%s: more than %d jumps at t = %.6g: want a jump after which the trigger is false, or stays true", w.list[which[chain]].Name, chain, t)}
		}
		for _, k := range which[first:] {
			first++
			if jump := w.list[k].Jump; jump != nil {
				jump(x, t, theta)
			}
		}
	}
	if len(which) == 0 {
		return nil
	}
	w.Fired = append(w.Fired, Firing{Time: t, Which: which, Cause: cause})
	return w.accumulate(which, t)
}

// Pass records which conditions have become false by the end of a step in which none has
// become true.
func (w *Watch) Pass(t float64, x, theta []float64) {
	for k, on := range w.on {
		w.on[k] = on && w.list[k].G(t, x, theta) > 0
	}
}

// The method accumulate() returns an error if the times at which a condition becomes true
// seem to approach a limit, as they do for a ball that bounces lower and lower.
func (w *Watch) accumulate(which []int, t float64) error {
	for _, k := range which {
		if t > w.last[k] && t-w.last[k] < close*w.span {
			w.count[k]++
		} else if t > w.last[k] {
			w.count[k] = 0
		}
		if w.last[k] = t; w.count[k] == repeats {
			return &EndlessError{fmt.Sprintf("%s happens again and again at t = %.10g, each time after less than %.2g: want a solution that ends before this time, or a trigger that stays false after its jump", w.list[k].Name, t, close*w.span)}
		}
	}
	return nil
}

// Locate returns the time in (a, b] at which the function excess(), which is not positive
// at a and positive at b, becomes positive. The function is positive at the result, and
// it is not positive a few ulps before the result. The last call of excess() is made at
// the result.
func Locate(a, b float64, excess func(t float64) (float64, error)) (float64, error) {
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
