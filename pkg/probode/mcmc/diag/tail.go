package diag

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// tailIndex returns k̂ of the heavier tail, by a generalised Pareto distribution for the
// excesses of the m most extreme of S draws, m = ⌈min(S/5, 3 √(S/r))⌉, where r is the
// effective sample size divided by S [Vehtari et al. 2024]. Moments below the order 1/k
// exist: a mean needs k < 1, and a standard deviation k < 1/2. For Student's t it is 1/ν,
// and for exponential or lighter tails at most zero; for a log-normal distribution k̂ is
// too large. It is NaN for fewer than four draws in a chain or 25 in total, for equal
// draws, and for one that is not finite.
func tailIndex(x [][]float64) float64 {
	if !usable(x) {
		return math.NaN()
	}
	sorted := slices.Concat(x...)
	slices.Sort(sorted)
	return tailsIndex(sorted, BulkESS(x))
}

func tailsIndex(sorted []float64, ess float64) float64 {
	if len(sorted) < 25 {
		return math.NaN()
	}
	size := float64(len(sorted))
	share := math.Min(1, ess/size)
	m := int(math.Ceil(math.Min(size/5, 3*math.Sqrt(size/share))))
	upper := excess(sorted, m)
	least := slices.Clone(sorted[:min(m+1, len(sorted))])
	for i := range least {
		least[i] = -least[i]
	}
	slices.Reverse(least)
	lower := excess(least, m)
	worst := math.Inf(-1)
	for _, e := range [][]float64{upper, lower} {
		if len(e) < 5 {
			continue // many draws lie at an end of the range
		}
		k, _ := fitPareto(e)
		// This formula undoes the shrinkage of k̂ towards ½ in fitPareto. The shrinkage
		// is meant for importance weights.
		n := float64(len(e))
		worst = math.Max(worst, ((n+10)*k-5)/n)
	}
	if math.IsInf(worst, -1) {
		return math.NaN()
	}
	return worst
}

// excess omits zeros, and scales so that no square overflows.
func excess(sorted []float64, m int) []float64 {
	at := len(sorted) - m
	cut, unit := sorted[at-1], sorted[len(sorted)-1]/2-sorted[at-1]/2
	var out []float64
	for _, v := range sorted[at:] {
		if e := (v/2 - cut/2) / unit; e > 1e-300 {
			out = append(out, e)
		}
	}
	return out
}

// heavy is the tail index above which no reasonable number of draws gives the error of a
// standard deviation: half of the 0.7 for means, because squaring doubles the index
// [Vehtari et al. 2024].
const heavy = 0.35

// Tails are heavy only if the farthest draw has at least the share `dominant` of the sum
// of squares. For the tail index ½ its share of S draws is about 1/(E log S), with E
// standard exponential: below 0.02 in one case in 400 for S = 4000. Where a bound cuts
// off a tail, k̂ may be large although no draw is far away.
const dominant = 0.02

// HeavyTails reports whether the tails of the draws are so heavy that means and standard
// deviations do not describe the distribution well, or do not exist. The result is true
// if the farthest draw contributes at least 2 % of the variance and the tail index k̂
// exceeds a limit. The limit is 0.35 plus the 95 % quantile of the random error of k̂:
//
//	k̂ > 0.35 + 1.645 × 1.35/√m,   m = min(S/5, 3 √S).
//
// With 4000 draws, the limit for k̂ is 0.51. A Cauchy distribution gives k̂ = 0.98 ±
// 0.15. A log-normal distribution with a standard deviation of 1 on the log scale gives
// k̂ = 0.25 ± 0.10, so HeavyTails returns true in about one case in 200. Student's t
// distribution with two degrees of freedom has infinite variance and gives k̂ = 0.47 ±
// 0.12, so HeavyTails needs more than 4000 draws to recognise its tails as heavy.
func HeavyTails(x [][]float64) (heavyTailed bool, khat float64) {
	khat = tailIndex(x)
	if math.IsNaN(khat) {
		return false, khat
	}
	all := slices.Concat(x...)
	return dominated(all) && tooHeavy(khat, len(all)), khat
}

func tooHeavy(khat float64, draws int) bool {
	n := float64(draws)
	m := math.Min(n/5, 3*math.Sqrt(n))
	return khat > heavy+distuv.UnitNormal.Quantile(0.95)*(1+heavy)/math.Sqrt(m)
}

func dominated(all []float64) bool {
	mean := stat.Mean(all, nil)
	farthest := 0.0
	for _, v := range all {
		farthest = math.Max(farthest, math.Abs(v-mean))
	}
	squares := 0.0 // relative to the farthest draw, so that none overflows
	for _, v := range all {
		squares += (v - mean) / farthest * (v - mean) / farthest
	}
	return 1/squares >= dominant
}

// KHatLimit returns an upper limit for k̂, the tail index of importance weights. If k̂ is
// below KHatLimit, the standard error of the weighted mean is reliable. Let s be the
// effective sample size of the draws before weighting. The limit is [Vehtari et al. 2024]
//
//	min(1 − 1/log₁₀ s, 0.7)
//
// KHatLimit returns a negative number if s is less than 10.
func KHatLimit(s float64) float64 { return math.Min(1-1/math.Log10(math.Max(s, 1.000001)), 0.7) }
