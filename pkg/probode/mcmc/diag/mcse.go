package diag

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// MCSEMean returns the Monte Carlo standard error of the mean of the draws,
//
//	sd / √ESS
//
// with the effective sample size of the draws themselves, not of their ranks. It
// has no meaning for a distribution without variance. It is NaN for fewer than four draws
// a chain, for draws that are not finite, or all equal.
func MCSEMean(x [][]float64) float64 {
	if !usable(x) {
		return math.NaN()
	}
	return stat.StdDev(slices.Concat(x...), nil) / math.Sqrt(ess(split(x)))
}

// MCSESD returns the Monte Carlo standard error of the standard deviation of the
// draws, from that of the mean of the squared deviations s by the delta method:
//
//	√( var(s) / ESS(s) / mean(s) ) / 2
//
// It has no meaning for a distribution without fourth moment. It is NaN for fewer than
// four draws a chain, for draws that are not finite, or all equal.
func MCSESD(x [][]float64) float64 {
	if !usable(x) {
		return math.NaN()
	}
	center := mean(slices.Concat(x...))
	squares := transform(x, func(v float64) float64 { return (v - center) * (v - center) })
	m, v := stat.PopMeanVariance(slices.Concat(squares...), nil)
	return math.Sqrt(v/ess(split(squares))/m) / 2
}

// MCSEQuantile returns the Monte Carlo standard error of the p-quantile of the
// draws. Were there ESS independent draws, the probability below the quantile
// would follow the Beta(ESS p + 1, ESS (1−p) + 1) distribution; its quantiles at
// Φ(±1) are carried over to the draws, and half their distance is returned. It
// is NaN for fewer than four draws a chain, for draws that are not finite, or
// all equal. It panics if p is not in (0, 1).
func MCSEQuantile(x [][]float64, p float64) float64 {
	if !(p > 0 && p < 1) {
		panic("diag: probability outside (0, 1)")
	}
	n := quantileESS(x, p)
	if math.IsNaN(n) {
		return n
	}
	const below = 0.15865525393145705 // Φ(−1)
	sorted := slices.Concat(x...)
	slices.Sort(sorted)
	size := float64(len(sorted))
	beta := distuv.Beta{Alpha: n*p + 1, Beta: n*(1-p) + 1}
	lo := math.Floor(beta.Quantile(below)*size - 1)
	hi := math.Ceil(beta.Quantile(1-below)*size - 1)
	return (sorted[int(math.Min(hi, size-1))] - sorted[int(math.Max(lo, 0))]) / 2
}
