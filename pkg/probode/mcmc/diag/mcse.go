package diag

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// MCSEMean returns the Monte Carlo standard error of the mean of the draws:
//
//	sd / √ESS
//
// The effective sample size is that of the draws themselves, not of their ranks. The
// result has no meaning for a distribution without a finite variance. If all draws are
// equal, the result is zero. The result is NaN if the chains have fewer than four draws
// each, or if any draw is not finite.
func MCSEMean(x [][]float64) float64 {
	if !usable(x) {
		return math.NaN()
	}
	return stat.StdDev(slices.Concat(x...), nil) / math.Sqrt(ess(split(x)))
}

// MCSESD returns the Monte Carlo standard error of the standard deviation of the draws.
// Let s be the sequence of the squared deviations of the draws from their mean. By the
// delta method, the Monte Carlo standard error is
//
//	√( var(s) / ESS(s) / mean(s) ) / 2
//
// The result has no meaning for a distribution without a finite fourth moment. The result
// is NaN if the chains have fewer than four draws each, if any draw is not finite, or if
// all draws are equal.
func MCSESD(x [][]float64) float64 {
	if !usable(x) {
		return math.NaN()
	}
	center := mean(slices.Concat(x...))
	squares := transform(x, func(v float64) float64 { return (v - center) * (v - center) })
	m, v := stat.PopMeanVariance(slices.Concat(squares...), nil)
	return math.Sqrt(v/ess(split(squares))/m) / 2
}
