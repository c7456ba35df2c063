// Package onset finds inputs that change soon after a given time, such as a short pulse
// that begins at the time of a dose. A step whose stages all lie after the pulse would
// miss the pulse.
package onset

import "math"

const (
	apart    = 4   // ratio of the times at which f is evaluated
	deepest  = 16  // number of these times; the shortest is h·apart^−deepest
	straight = 4   // excess over a change in proportion to time that counts as sudden
	effect   = 0.1 // smallest effect on the state that matters, in units of its tolerance
)

// Step returns the length of the first step of an integration that begins at t: the
// argument h or, if f changes suddenly before t + h, a shorter length. The argument f()
// writes f(t, x) to dst, where x is the initial state. The argument `unit` contains the
// permitted error of each component of the state. Step evaluates f at t, at t + h and at
// the times t + δ, where δ is h/4, h/16 and so on, down to about 2 × 10⁻¹⁰ h. Step misses
// a pulse that begins and ends between two of these times.
//
// Let c be the absolute change of a component of f from t to t + δ, and let C be the
// largest absolute change from t to any of the later times. The change is called sudden
// if c > 4 C δ/h and if c δ is larger than a tenth of the permitted error. If the change
// of any component is sudden, Step replaces h by δ, and continues the search with smaller
// values of δ.
func Step(f func(dst []float64, t float64), t, h float64, unit []float64) float64 {
	base, now, most := make([]float64, len(unit)), make([]float64, len(unit)), make([]float64, len(unit))
	change := func(delta float64) {
		f(now, t+delta)
		for k, v := range now {
			now[k] = math.Abs(v - base[k])
		}
	}
	f(base, t)
	change(h)
	copy(most, now)
	shortest, delta := h, h
	for range deepest {
		if delta /= apart; t+delta == t {
			break
		}
		change(delta)
		for k, v := range now {
			if v > straight*most[k]*delta/shortest && v*delta > effect*unit[k] {
				shortest = delta
			}
		}
		if shortest == delta {
			copy(most, now)
		} else {
			for k, v := range now {
				most[k] = max(most[k], v)
			}
		}
	}
	return shortest
}
