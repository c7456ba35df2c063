package diag

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// RHat returns the rank-normalised split-R̂. It is the larger of two values of
//
//	R̂ = √( ((n−1)/n W + B/n) / W )
//
// one for the normal scores of the draws, and one for the normal scores of their
// distances from the median. Here W is the mean of the variances within half-chains,
// and B/n is the variance of the half-chains' means. It is near 1 for chains that have
// mixed; Vehtari et al. ask for less than 1.01. It is +Inf if every half-chain is
// constant but not all are equal. It is NaN for fewer than four draws per chain, and
// for draws that are not finite or all equal.
func RHat(x [][]float64) float64 {
	if !usable(x) {
		return math.NaN()
	}
	halves := split(x)
	r := rHat(normalScores(halves))

	// The median lies midway between the two middle draws lo and hi, which are equally
	// far from it. The doubled distance of each draw is computed from both lo and hi, so
	// that rounding does not give these two draws different ranks.
	sorted := slices.Concat(halves...)
	slices.Sort(sorted)
	lo, hi := sorted[len(sorted)/2-1], sorted[len(sorted)/2]
	folded := rHat(normalScores(transform(halves, func(v float64) float64 { return math.Abs((v - lo) + (v - hi)) })))
	if folded > r { // false if all distances are equal and folded is NaN
		return folded
	}
	return r
}

// rHat returns R̂ of the sequences, without transforming them.
func rHat(x [][]float64) float64 {
	means := make([]float64, len(x))
	n := float64(len(x[0]))
	var within float64
	for j, c := range x {
		means[j] = mean(c)
		for _, v := range c {
			within += (v - means[j]) * (v - means[j])
		}
	}
	within /= (n - 1) * float64(len(x))
	return math.Sqrt((n-1)/n + stat.Variance(means, nil)/within)
}

// normalScores replaces each number by Φ⁻¹((r − 3/8)/(S + 1/4)), where r is its rank among
// all S. Equal numbers share the mean of their ranks.
func normalScores(x [][]float64) [][]float64 {
	type place struct {
		v    float64
		j, k int
	}
	var all []place
	out := make([][]float64, len(x))
	for j, c := range x {
		out[j] = make([]float64, len(c))
		for k, v := range c {
			all = append(all, place{v, j, k})
		}
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(a.v, b.v) })
	size := float64(len(all))
	for first := 0; first < len(all); {
		next := first + 1
		for next < len(all) && all[next].v == all[first].v {
			next++
		}
		rank := float64(first+1+next) / 2 // the mean of first+1, …, next
		score := math.Sqrt2 * math.Erfinv(2*(rank-0.375)/(size+0.25)-1)
		for _, a := range all[first:next] {
			out[a.j][a.k] = score
		}
		first = next
	}
	return out
}
