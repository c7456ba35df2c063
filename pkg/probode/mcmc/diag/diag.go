// Package diag measures how far the draws of Markov chains can be trusted: R̂, effective
// sample sizes, Monte Carlo standard errors, Pareto smoothed importance weights, and a
// table that summarises the draws. The draws may come from any sampler.
//
// The diagnostics are those of Vehtari et al. (2021). The two main diagnostics are
// computed from m sequences of n draws that should all have the same distribution: R̂
// compares the spread between the sequences with the spread within them. The effective
// sample size is the number of independent draws that would determine the mean equally
// well. The draws are transformed first:
//
//   - each chain is cut into two halves, so that a drift shows up as a difference
//     between sequences;
//   - draws are replaced by normal scores of their ranks, so that the numbers exist for
//     any distribution, even one with infinite variance ("bulk");
//   - draws are folded about the median, to compare scales, or replaced by indicators of
//     quantiles, for the tails.
//
// The functions take an argument x, where x[c][k] is draw k of chain c. The argument x may
// hold a single chain. The functions panic if the chains differ in length. The result is
// NaN if the chains have fewer than four draws each, or if any draw is NaN or infinite.
// Draws that are all equal contain no information about mixing, so R̂ is NaN. If all draws
// are equal, the effective sample size is the number of draws and the standard error of
// the mean is zero, as in ArviZ.
//
// # References
//
//   - Geyer, C. J. (1992). Practical Markov chain Monte Carlo. Statistical
//     Science 7(4), 473–483.
//   - Vehtari, A., Gelman, A., Simpson, D., Carpenter, B., Bürkner, P.-C.
//     (2021). Rank-normalization, folding, and localization: an improved R̂ for
//     assessing convergence of MCMC. Bayesian Analysis 16(2), 667–718.
//   - Vehtari, A., Simpson, D., Gelman, A., Yao, Y., Gabry, J. (2024). Pareto
//     smoothed importance sampling. Journal of Machine Learning Research 25(72),
//     1–58.
//   - Zhang, J., Stephens, M. A. (2009). A new and efficient estimation method for
//     the generalized Pareto distribution. Technometrics 51(3), 316–325.
package diag

import "github.com/probode/probode/pkg/probode/internal/vector"

func usable(x [][]float64) bool {
	if len(x) == 0 || len(x[0]) < 4 {
		return false
	}
	for _, c := range x {
		if len(c) != len(x[0]) {
			panic("diag: the chains have different lengths")
		}
		if !vector.Finite(c) {
			return false
		}
	}
	return true
}

// split leaves out the middle draw of an odd number.
func split(x [][]float64) [][]float64 {
	out := make([][]float64, 0, 2*len(x))
	for _, c := range x {
		half := len(c) / 2
		out = append(out, c[:half], c[len(c)-half:])
	}
	return out
}

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

// mean is exact if all elements are equal, so that their variance is zero.
func mean(c []float64) float64 {
	var sum float64
	for _, v := range c {
		sum += v - c[0]
	}
	return c[0] + sum/float64(len(c))
}
