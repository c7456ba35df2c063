package mcmc

import (
	"cmp"
	"math"
	"math/cmplx"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// The diagnostics are those of Vehtari et al. (2021). They rest on two numbers,
// both of m sequences of n draws that are meant to have one law: R̂, which
// compares the spread between the sequences with the spread within, and the
// effective sample size, which asks how many independent draws would tell as
// much about the mean. What they are applied to makes the difference:
//
//   - each chain is cut in two halves, so that a drift shows up as a difference
//     between sequences;
//   - draws are replaced by normal scores of their ranks, so that the numbers
//     exist for any law, of infinite variance too ("bulk");
//   - draws are folded about the median for differences in scale, or replaced by
//     indicators of quantiles for the tails.
//
// Each takes x[c][k], draw k of chain c; one chain is enough. They panic if the
// chains differ in length. They return NaN for fewer than four draws a chain,
// for a draw that is NaN or infinite, and for draws that are all equal: from a
// parameter that never moved nothing can be learned about mixing.

// RHat returns the rank-normalised split-R̂. It is the larger of
//
//	R̂ = √( ((n−1)/n W + B/n) / W )
//
// for the normal scores of the draws and of their distances from the median,
// with W the mean of the variances within half-chains and B/n the variance of
// the half-chains' means. It is near 1 for chains that have mixed; Vehtari et
// al. ask for less than 1.01. It is +Inf if every half-chain is constant but not
// all are equal. It is NaN for fewer than four draws a chain, for draws that are
// not finite, or all equal.
func RHat(x [][]float64) float64 {
	if !usable(x) {
		return math.NaN()
	}
	halves := split(x)
	r := rHat(normalScores(halves))

	// The median lies midway between the two middle draws lo and hi, which so
	// are equally far from it. The distance is doubled and computed from both,
	// lest rounding give them different ranks.
	sorted := slices.Concat(halves...)
	slices.Sort(sorted)
	lo, hi := sorted[len(sorted)/2-1], sorted[len(sorted)/2]
	folded := rHat(normalScores(transform(halves, func(v float64) float64 { return math.Abs((v - lo) + (v - hi)) })))
	if folded > r { // false if all distances are equal and folded is NaN
		return folded
	}
	return r
}

// BulkESS returns the effective sample size of the normal scores of the draws,
// all chains together: how far the draws can be trusted in the middle of the
// distribution. With S draws in all it is S/τ,
//
//	τ = 1 + 2 Σ ρₜ,  t = 1, 2, …
//
// with ρₜ the autocorrelation at lag t, summed by Geyer's initial monotone
// sequence. Chains that disagree count as correlated. It is at most S log₁₀ S,
// which negative correlations can reach. It is NaN for fewer than four draws a
// chain, for draws that are not finite, or all equal.
func BulkESS(x [][]float64) float64 {
	if !usable(x) {
		return math.NaN()
	}
	return ess(normalScores(split(x)))
}

// TailESS returns the smaller of the effective sample sizes for the quantiles of
// 5 and 95 %: those of the indicators of draws up to the quantile. It is NaN for
// fewer than four draws a chain, for draws that are not finite, or all equal; and
// if so many draws sit at an end of the range that an indicator is constant.
func TailESS(x [][]float64) float64 {
	return math.Min(quantileESS(x, 0.05), quantileESS(x, 0.95))
}

// MCSEMean returns the Monte Carlo standard error of the mean of the draws,
//
//	sd / √ESS
//
// with the effective sample size of the draws themselves, not of their ranks. It
// has no meaning for a law without variance. It is NaN for fewer than four draws
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
// It has no meaning for a law without fourth moment. It is NaN for fewer than
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
// all equal; and if all draws are on one side of the quantile. It panics if p is
// not in (0, 1).
func MCSEQuantile(x [][]float64, p float64) float64 {
	if !(p > 0 && p < 1) {
		panic("mcmc: probability outside (0, 1)")
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

// quantileESS returns the effective sample size for the p-quantile.
func quantileESS(x [][]float64, p float64) float64 {
	if !usable(x) {
		return math.NaN()
	}
	sorted := slices.Concat(x...)
	slices.Sort(sorted)
	q := Quantile(sorted, p)
	return ess(split(transform(x, func(v float64) float64 {
		if v <= q {
			return 1
		}
		return 0
	})))
}

// usable tells whether anything can be said about the chains.
func usable(x [][]float64) bool {
	if len(x) == 0 || len(x[0]) < 4 {
		return false
	}
	constant := true
	for _, c := range x {
		if len(c) != len(x[0]) {
			panic("mcmc: chains of different lengths")
		}
		if !finite(c) {
			return false
		}
		for _, v := range c {
			constant = constant && v == x[0][0]
		}
	}
	return !constant
}

// finite tells whether there are numbers and all are finite.
func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return len(x) > 0
}

// split cuts each chain in two halves. Of an odd number of draws the middle one
// is left out.
func split(x [][]float64) [][]float64 {
	out := make([][]float64, 0, 2*len(x))
	for _, c := range x {
		half := len(c) / 2
		out = append(out, c[:half], c[len(c)-half:])
	}
	return out
}

// transform returns f of each element.
func transform(x [][]float64, f func(float64) float64) [][]float64 {
	out := make([][]float64, len(x))
	for j, c := range x {
		out[j] = make([]float64, len(c))
		for k, v := range c {
			out[j][k] = f(v)
		}
	}
	return out
}

// Quantile returns the p-quantile of sorted numbers, 0 ≤ p ≤ 1, by linear
// interpolation, the definition 7 of Hyndman and Fan (1996); NaN of none.
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

// normalScores replaces each number by Φ⁻¹((r − 3/8)/(S + 1/4)), with r its rank
// among all S. Equal numbers share the mean of their ranks.
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

// rHat returns R̂ of the sequences as they are.
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

// mean returns the mean of c. It is exact if all are equal, so that a constant
// sequence has variance zero and not the square of a rounding error.
func mean(c []float64) float64 {
	var sum float64
	for _, v := range c {
		sum += v - c[0]
	}
	return c[0] + sum/float64(len(c))
}

// ess returns the effective sample size of two or more sequences as they are,
// NaN if all numbers are equal.
func ess(x [][]float64) float64 {
	m, n := len(x), len(x[0])

	// ρₜ = 1 − (W − meanⱼ γⱼₜ)/V, with γⱼₜ the autocovariance of sequence j
	// without divisor correction, W the variance within, and V the estimate
	// of the whole variance, in which the spread of the means counts.
	acov := autocovariance(x)
	means := make([]float64, m)
	for j, c := range x {
		means[j] = mean(c)
	}
	whole := acov[0] + stat.Variance(means, nil)
	if !(whole > 0) {
		return math.NaN()
	}
	within := acov[0] * float64(n) / float64(n-1)
	rho := func(t int) float64 {
		if t == 0 {
			return 1
		}
		return 1 - (within-acov[t])/whole
	}

	// Sums of two successive autocorrelations, of lags 2k and 2k+1, are
	// positive and decreasing for a reversible chain. So the sum over lags
	// ends at the first pair that is not positive, where noise has taken
	// over, and no pair counts for more than the one before. Of the pair at
	// which it ends, a positive first half is still counted, once: this
	// sharpens the estimate for antithetic chains, in which the first
	// halves are positive and the second negative.
	tau := -1.0
	last := math.Inf(1)
	t := 0
	for ; ; t += 2 {
		pair := rho(t) + rho(t+1)
		if pair <= 0 || t+4 >= n {
			break
		}
		last = math.Min(last, pair)
		tau += 2 * last
	}
	tau += math.Max(rho(t), 0)

	s := float64(m * n)
	return s / math.Max(tau, 1/math.Log10(s))
}

// autocovariance returns the mean over sequences of their autocovariances at
// lags 0, 1, …, n−1, with divisor n. By the Wiener–Khinchin theorem they are the
// inverse Fourier transform of the squared modulus of the transform; padding
// with n zeros keeps the ends apart.
func autocovariance(x [][]float64) []float64 {
	n := len(x[0])
	size := 4
	for size < 2*n {
		size *= 2
	}
	fft := fourier.NewFFT(size)
	seq := make([]float64, size)
	coeff := make([]complex128, size/2+1)
	power := make([]complex128, size/2+1)
	for _, c := range x {
		clear(seq)
		m := mean(c)
		for k, v := range c {
			seq[k] = v - m
		}
		fft.Coefficients(coeff, seq)
		for i, z := range coeff {
			power[i] += z * cmplx.Conj(z)
		}
	}
	fft.Sequence(seq, power)
	acov := seq[:n]
	for t := range acov {
		acov[t] /= float64(size) * float64(n) * float64(len(x))
	}
	return acov
}
