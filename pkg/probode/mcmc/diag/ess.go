package diag

import (
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/stat"
)

// BulkESS returns the effective sample size of the normal scores of the draws in all
// chains together. The bulk ESS describes how well the draws determine the centre of the
// distribution. For a total of S draws, the bulk ESS is S/τ,
//
//	τ = 1 + 2 Σ ρₜ,  t = 1, 2, …
//
// where ρₜ is the autocorrelation at lag t, and the sum is truncated at the end of
// Geyer's initial monotone sequence. If the chains disagree, the autocorrelations ρₜ are
// larger, and the result is smaller. The result is at most S log₁₀ S, a limit that draws
// with negative autocorrelations can reach. If all draws are equal, the result is S, as
// in ArviZ. The result is NaN if the chains have fewer than four draws each, or if any
// draw is not finite.
func BulkESS(x [][]float64) float64 {
	if !usable(x) {
		return math.NaN()
	}
	return ess(rank(x, nil).scores)
}

func tailsESS(x [][]float64, sorted []float64) float64 {
	return math.Min(quantileESS(x, Quantile(sorted, 0.05)), quantileESS(x, Quantile(sorted, 0.95)))
}

func quantileESS(x [][]float64, q float64) float64 {
	return ess(split(transform(x, func(v float64) float64 {
		if v <= q {
			return 1
		}
		return 0
	})))
}

// ess does not transform the draws. If all are equal, it is their number.
func ess(x [][]float64) float64 {
	m, n := len(x), len(x[0])

	// The estimate of ρₜ is 1 − (W − meanⱼ γⱼₜ)/V. Here γⱼₜ is the autocovariance of
	// sequence j at lag t, with divisor n. W is the variance within the sequences, with
	// divisor n − 1. The total variance V is the sum of meanⱼ γⱼ₀ and the variance of the
	// means of the sequences.
	acov := autocovariance(x, min(n, block))
	means := make([]float64, m)
	for j, c := range x {
		means[j] = mean(c)
	}
	whole := acov[0] + stat.Variance(means, nil)
	if !(whole > 0) {
		return float64(m * n)
	}
	within := acov[0] * float64(n) / float64(n-1)
	rho := func(t int) float64 {
		if t == 0 {
			return 1
		}
		for t >= len(acov) {
			acov = autocovariance(x, min(n, 4*len(acov)))
		}
		return 1 - (within-acov[t])/whole
	}

	// For a reversible chain, the sums ρ₂ₖ + ρ₂ₖ₊₁ are positive and decrease with k. The
	// summation stops before the first pair (ρ₂ₖ, ρ₂ₖ₊₁) whose estimated sum is zero or
	// negative, because noise dominates the estimates at larger lags. A pair sum that
	// exceeds an earlier pair sum is replaced by the smallest earlier pair sum. Each term
	// of the sum except ρ₀ is counted twice. The first ρₜ after the last pair is counted
	// once if it is positive. This additional term improves the estimate for antithetic
	// chains, whose autocorrelations are positive at even lags and negative at odd lags.
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

const block = 1 << 16

// autocovariance averages over the sequences, and divides by the number of draws at every
// lag. It uses the Wiener–Khinchin theorem for blocks of draws, whose products with the
// draws up to `lags` later are sums of the same kind. Padding with zeros prevents
// wrap-around.
func autocovariance(x [][]float64, lags int) []float64 {
	n := len(x[0])
	b := min(n, max(lags, block))
	size := 4
	for size < b+lags {
		size *= 2
	}
	fft := fourier.NewFFT(size)
	seq := make([]float64, size)
	coeff, later := make([]complex128, size/2+1), make([]complex128, size/2+1)
	power := make([]complex128, size/2+1)
	for _, c := range x {
		m := mean(c)
		transform := func(dst []complex128, from, to int) []complex128 {
			clear(seq)
			for k, v := range c[from:to] {
				seq[k] = v - m
			}
			return fft.Coefficients(dst, seq)
		}
		for from := 0; from < n; from += b {
			to := min(from+b, n)
			draws := transform(coeff, from, to)
			with := draws // those that follow
			if to < n {
				with = transform(later, from, min(to+lags, n))
			}
			for i, z := range with {
				power[i] += z * cmplx.Conj(draws[i])
			}
		}
	}
	fft.Sequence(seq, power)
	acov := seq[:lags]
	for t := range acov {
		acov[t] /= float64(size) * float64(n) * float64(len(x))
	}
	return acov
}
