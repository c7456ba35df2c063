package steplaw

import "math"

// A tally holds sums of the standardised noise ζ = L⁻¹(Z_{i+1} − μ) over the states of
// the Markov chains. The states in the first half of each chain are left out. The tally
// holds the number of states for each step, and the sums of ζ and ζ² for each step and
// component. Since ζ is of order 1, plain sums are accurate enough.
type tally struct {
	states      []int
	sum, square []float64
	refused     error // why there is no exact distribution along path 0
}

func newTally(steps, d int) *tally {
	return &tally{states: make([]int, steps), sum: make([]float64, steps*d), square: make([]float64, steps*d)}
}

// add adds the state ζ of a chain to the sums of step i.
func (t *tally) add(i int, zeta []float64) {
	t.states[i]++
	at := i * len(zeta)
	for k, v := range zeta {
		t.sum[at+k] += v
		t.square[at+k] += v * v
	}
}

// merge adds the tally o to the tally t.
func (t *tally) merge(o *tally) {
	for i, n := range o.states {
		t.states[i] += n
	}
	for k := range t.sum {
		t.sum[k] += o.sum[k]
		t.square[k] += o.square[k]
	}
}

// departure computes Departure of Draws. The result is NaN (0/0) for a step without a
// Markov chain.
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
