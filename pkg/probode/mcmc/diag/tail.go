package diag

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// TailIndex returns the shape k̂ of the heavier of the two tails of the draws, that
// of a generalised Pareto distribution fitted to what the ⌈min(S/5, 3 √(S/r))⌉
// largest, or smallest, of S draws exceed the rest by, with r the share of
// effective draws [Vehtari et al. 2024]. Moments of order up to 1/k exist: a mean
// wants k < 1, a standard deviation k < 1/2; it is 1/ν for Student's distribution,
// at most zero for tails that fall exponentially, and seems larger than it is for
// ones such as a log-normal distribution's.
//
// It is NaN for fewer than four draws a chain or 25 in all, and for draws that are
// not finite, or all equal.
func TailIndex(x [][]float64) float64 {
	all := slices.Concat(x...)
	if !usable(x) || len(all) < 25 {
		return math.NaN()
	}
	slices.Sort(all)
	size := float64(len(all))
	share := math.Min(1, BulkESS(x)/size)
	m := int(math.Ceil(math.Min(size/5, 3*math.Sqrt(size/share))))
	upper := excess(all, m)
	for i := range all {
		all[i] = -all[i]
	}
	slices.Reverse(all)
	lower := excess(all, m)
	worst := math.Inf(-1)
	for _, e := range [][]float64{upper, lower} {
		if len(e) < 5 {
			continue // an end of the range at which draws sit
		}
		k, _ := fitPareto(e)
		// Without the prior of the fit to weights, which draws k̂ towards ½.
		n := float64(len(e))
		worst = math.Max(worst, ((n+10)*k-5)/n)
	}
	if math.IsInf(worst, -1) {
		return math.NaN()
	}
	return worst
}

// excess returns by how much the m largest of sorted numbers exceed the one before
// them, as far as they do. They are taken in a unit that no square of them overflows.
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

// heavy is the tail index above which the error of a standard deviation of any
// reasonable number of draws is not what it says: half of the 0.7 that is the limit
// for means, as squares have twice the index [Vehtari et al. 2024].
const heavy = 0.35

// HeavyTails tells whether draws have tails so heavy that means and standard
// deviations do not describe them, as those that do not exist: that TailIndex is
// above 0.35 by more than it could be by chance in one case of twenty,
//
//	k̂ > 0.35 + 1.645 · 1.35/√m,   m = min(S/5, 3 √S).
//
// Of 4000 draws a Cauchy distribution has a k̂ of .98 ± .15 where the limit is .51,
// a log-normal one of sd 1 of the logarithm .25 ± .10 (said to have heavy tails one
// time in two hundred), and Student's with two degrees of freedom .47 ± .12: a
// variance that just does not exist takes more draws to be missed.
func HeavyTails(x [][]float64) (heavyTailed bool, khat float64) {
	khat = TailIndex(x)
	n := 0.0
	for _, c := range x {
		n += float64(len(c))
	}
	m := math.Min(n/5, 3*math.Sqrt(n))
	return khat > heavy+distuv.UnitNormal.Quantile(0.95)*(1+heavy)/math.Sqrt(m), khat
}

// KHatLimit returns the largest k̂ of importance weights with which the weighted
// mean of as many draws as are effective in s is as good as its standard error says
// [Vehtari et al. 2024]:
//
//	min(1 − 1/log₁₀ s, 0.7)
//
// below zero for fewer than ten.
func KHatLimit(s float64) float64 { return math.Min(1-1/math.Log10(math.Max(s, 1.000001)), 0.7) }
