package diag

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"
)

// RHat returns the rank-normalised split-R̂. The result is the larger of the two values
// of
//
//	R̂ = √( ((n−1)/n W + B/n) / W )
//
// The first value is computed from the normal scores of the draws. The second value is
// computed from the normal scores of the distances between the draws and the median. W is
// the mean variance within a half-chain, and B/n is the variance of the half-chain means.
// R̂ is near 1 for chains that have mixed; Vehtari et al. recommend a limit of 1.01. R̂
// is +Inf if every half-chain is constant but the constants differ. R̂ is NaN if the
// chains have fewer than four draws each, if any draw is not finite, or if all draws are
// equal.
func RHat(x [][]float64) float64 {
	if !usable(x) {
		return math.NaN()
	}
	return rank(x, nil).rHat()
}

type rankedDraws struct {
	halves, scores [][]float64 // half-chains, and the normal scores of their draws
	sorted         []float64   // draws of the half-chains
}

// rank sorts the draws unless `sorted` has them.
func rank(x [][]float64, sorted []float64) rankedDraws {
	r := rankedDraws{halves: split(x), sorted: sorted}
	if sorted == nil || len(x[0])%2 > 0 { // the half-chains lack the middle draws
		r.sorted = slices.Concat(r.halves...)
		slices.Sort(r.sorted)
	}
	r.scores = transform(r.halves, normalScore(r.sorted))
	return r
}

// rHat changes r.scores.
func (r rankedDraws) rHat() float64 {
	plain := rHat(r.scores)

	// The median is the midpoint of lo and hi, the two middle draws, so lo and hi have
	// the same distance from the median. The code computes twice the distance of a draw v
	// as |(v − lo) + (v − hi)|. Rounding then cannot give lo and hi different ranks.
	lo, hi := r.sorted[len(r.sorted)/2-1], r.sorted[len(r.sorted)/2]
	distance := func(v float64) float64 { return math.Abs((v - lo) + (v - hi)) }
	sorted := make([]float64, len(r.sorted))
	first, last := 0, len(sorted)-1
	for k := range slices.Backward(sorted) { // the largest distance is at one of the ends
		a, b := distance(r.sorted[first]), distance(r.sorted[last])
		if sorted[k] = max(a, b); a > b {
			first++
		} else {
			last--
		}
	}
	score := normalScore(sorted)
	for j, c := range r.halves { // in the memory of scores that are no longer needed
		for k, v := range c {
			r.scores[j][k] = score(distance(v))
		}
	}
	folded := rHat(r.scores)
	if folded > plain { // false if all distances are equal and folded is NaN
		return folded
	}
	return plain
}

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

// normalScore maps a number of rank r among S to Φ⁻¹((r − 3/8)/(S + 1/4)). Equal numbers
// have their mean rank.
func normalScore(sorted []float64) func(v float64) float64 {
	size := float64(len(sorted))
	return func(v float64) float64 {
		first, _ := slices.BinarySearch(sorted, v)
		next := first + 1
		if next < len(sorted) && sorted[next] == v {
			next += sort.Search(len(sorted)-next, func(k int) bool { return sorted[next+k] > v })
		}
		rank := float64(first+1+next) / 2 // the mean of first+1, …, next
		return math.Sqrt2 * math.Erfinv(2*(rank-0.375)/(size+0.25)-1)
	}
}
