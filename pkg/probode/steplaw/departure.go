package steplaw

import "math"

// A tally holds statistics of the standardised noise ζ = L⁻¹(Z_{i+1} − μ) in an ensemble.
// Only states from the second half of the sweeps of a chain are counted. The tally holds
// the number of these states for each step, and the sums of ζ and ζ² over these states
// for each step and component. Since ζ is of order 1, plain sums are accurate enough.
type tally struct {
	states      []int
	sum, square []float64
	refused     error // why there is no exact distribution along path 0
}

func newTally(steps, d int) *tally {
	return &tally{states: make([]int, steps), sum: make([]float64, steps*d), square: make([]float64, steps*d)}
}

// The method add() counts one state of a chain in step i.
func (t *tally) add(i int, zeta []float64) {
	t.states[i]++
	at := i * len(zeta)
	for k, v := range zeta {
		t.sum[at+k] += v
		t.square[at+k] += v * v
	}
}

// The method merge() adds the tally of other paths.
func (t *tally) merge(o *tally) {
	for i, n := range o.states {
		t.states[i] += n
	}
	for k := range t.sum {
		t.sum[k] += o.sum[k]
		t.square[k] += o.square[k]
	}
}

// For each step, the method departure() returns the difference between the exact
// distribution and its Gaussian approximation. The documentation of Draws defines this
// difference. If no chain was run for a step, the result for this step is NaN (0/0).
func (t *tally) departure() []float64 {
	out := make([]float64, len(t.states))
	d := len(t.sum) / len(t.states)
	for i, n := range t.states {
		for k := i * d; k < (i+1)*d; k++ {
			mean := t.sum[k] / float64(n)
			sd := math.Sqrt(t.square[k]/float64(n) - mean*mean)
			out[i] = max(out[i], math.Abs(mean), math.Abs(sd-1)) // NaN stays NaN
		}
	}
	return out
}
