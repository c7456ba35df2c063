package steplaw

import "math"

// A tally has sums of ζ = L⁻¹(Z_{i+1} − μ) and ζ² over the second halves of the chains. ζ
// is of order 1, so plain sums are accurate enough.
type tally struct {
	states      []int
	sum, square []float64
	refused     error // why there is no exact distribution along path 0
}

func newTally(steps, d int) *tally {
	return &tally{states: make([]int, steps), sum: make([]float64, steps*d), square: make([]float64, steps*d)}
}

func (t *tally) add(i int, zeta []float64) {
	t.states[i]++
	at := i * len(zeta)
	for k, v := range zeta {
		t.sum[at+k] += v
		t.square[at+k] += v * v
	}
}

func (t *tally) merge(o *tally) {
	for i, n := range o.states {
		t.states[i] += n
	}
	for k := range t.sum {
		t.sum[k] += o.sum[k]
		t.square[k] += o.square[k]
	}
}

// departure is NaN for a step without a chain.
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
