package diag

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// ParetoSmooth replaces raw importance weights with weights of finite variance, and
// returns a diagnostic of their reliability, k̂ [Vehtari et al. 2024]. Only the tail of
// the S weights is smoothed. The tail consists of all weights that are larger than the
// (M+1)-th largest weight, where
//
//	M = ⌈min(S/5, 3 √S)⌉
//
// A generalised Pareto distribution is fitted to the m weights in the tail. The quantile
// of the fitted distribution at (i − ½)/m replaces the i-th smallest weight in the tail.
// No weight becomes larger than the largest raw weight. The shape k̂ of the fitted
// distribution is the diagnostic: the weights have finite moments of orders up to 1/k̂.
// If k̂ is at most KHatLimit, the standard error of the mean of S weighted draws is
// reliable. If k̂ is larger than KHatLimit, a reliable standard error requires an
// enormous number of draws.
//
// If a chain stayed at the same position for several iterations, the draws at this
// position have equal weights. The tail is defined so that equal weights are either all
// in it or all outside it. The fit shrinks k̂ a little towards ½.
//
// The slice logw holds the logarithms of the raw weights up to a constant. An element of
// −Inf or NaN stands for a weight of zero. The smoothed log weights are in the same order
// as logw, and the smoothed weights sum to one. If M < 5, or if the tail contains 1 to 4
// weights, no weight is smoothed and k̂ is +Inf. If M ≥ 5 and the M + 1 largest weights
// are all equal, the tail is empty and k̂ is −Inf. If all weights are zero, or if any
// weight is infinite, the smoothed weights and k̂ are NaN.
func ParetoSmooth(logw []float64) (smoothed []float64, khat float64) {
	smoothed = slices.Clone(logw)
	for i, w := range smoothed {
		if math.IsNaN(w) {
			smoothed[i] = math.Inf(-1)
		}
	}
	n := len(smoothed)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(smoothed[a], smoothed[b]) })
	if n == 0 || math.IsInf(smoothed[order[n-1]], 0) {
		for i := range smoothed {
			smoothed[i] = math.NaN()
		}
		return smoothed, math.NaN()
	}
	floats.AddConst(-smoothed[order[n-1]], smoothed) // the largest is one

	khat = math.Inf(1)
	if m := int(math.Ceil(min(float64(n)/5, 3*math.Sqrt(float64(n))))); m >= 5 {
		cut := math.Exp(smoothed[order[n-m-1]])
		var tail []int
		var excess []float64
		for _, k := range order[n-m:] {
			if v := math.Exp(smoothed[k]) - cut; v > 1e-300 { // below, 1/v could overflow
				tail, excess = append(tail, k), append(excess, v)
			}
		}
		switch {
		case len(tail) >= 5:
			var sigma float64
			khat, sigma = fitPareto(excess)
			for i, k := range tail {
				// The excess q is the p-quantile of the fitted distribution, and e is
				// −log(1 − p).
				e := -math.Log1p(-(float64(i) + 0.5) / float64(len(tail)))
				q := sigma * e
				if khat != 0 {
					q = sigma * math.Expm1(khat*e) / khat
				}
				smoothed[k] = min(0, math.Log(cut+q))
			}
		case len(tail) == 0:
			khat = math.Inf(-1)
		}
	}
	floats.AddConst(-floats.LogSumExp(smoothed), smoothed)
	return smoothed, khat
}

// fitPareto fits P(X > x) = (1 + k x/σ)^(−1/k) to positive numbers in increasing order,
// by the posterior mean of b = −k/σ under the prior of Zhang and Stephens (2009) on a
// grid. As in Vehtari et al., k is the mean of this estimate and ½ with weights len(x)
// and 10.
func fitPareto(x []float64) (k, sigma float64) {
	n := float64(len(x))
	quartile := x[int(n/4+0.5)-1]
	grid := 30 + int(math.Sqrt(n))
	b, profile := make([]float64, grid), make([]float64, grid)
	shape := func(b float64) float64 {
		var sum float64
		for _, v := range x {
			sum += math.Log1p(-b * v)
		}
		return sum / n
	}
	for i := range b {
		b[i] = 1/x[len(x)-1] + (1-math.Sqrt(float64(grid)/(float64(i)+0.5)))/(3*quartile)
		k := shape(b[i])
		profile[i] = n * (math.Log(-b[i]/k) - k - 1)
	}
	total := floats.LogSumExp(profile)
	var mean float64
	for i, v := range b {
		mean += v * math.Exp(profile[i]-total)
	}
	k = shape(mean)
	sigma = -k / mean
	return (n*k + 10*0.5) / (n + 10), sigma
}
