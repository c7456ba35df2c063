package diag

import "math"

// Quantile returns the p-quantile of sorted numbers for 0 ≤ p ≤ 1, by linear
// interpolation. The method is definition 7 of Hyndman and Fan (1996). Quantile returns
// NaN if the slice is empty.
func Quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	h := p * float64(len(sorted)-1)
	k := int(h)
	if k+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[k] + (h-float64(k))*(sorted[k+1]-sorted[k])
}
