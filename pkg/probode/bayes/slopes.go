package bayes

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// A SlopedLikelihood is a Likelihood whose LogProb has derivatives in closed form.
type SlopedLikelihood interface {
	Likelihood
	// Slope sets dst[0] to the derivative of LogProb with respect to m, and dst[1+i] to
	// the derivative with respect to own[i]. At a kink the derivative is the mean of the
	// two one-sided derivatives. LogProb must be finite at the given y, m and `own`.
	Slope(dst []float64, y, m float64, own []float64)
}

// Kinked is implemented by a Likelihood whose log density has a kink. For example, the
// log density of the Laplace distribution has a kink at m = y. The log density is −weight
// |r| plus a smooth function, and r depends only on y and m. Modes usually lie at kinks,
// where the density has no gradient. If a type embeds a likelihood that has a Kink
// method, the type must define its own Kink method.
type Kinked interface {
	Likelihood
	// Kink returns three numbers that describe the kink: r, the slope dr/dm, and the
	// weight. The result `ok` is false if the log density has no kink for the given y and
	// `own`.
	Kink(y, m float64, own []float64) (r, slope, weight float64, ok bool)
}

var _ = []SlopedLikelihood{Gaussian{}, LogNormal{}, Laplace{}, StudentT{}, Poisson{}, NegativeBinomial{}, Binomial{}}

// Slope implements SlopedLikelihood.
func (Gaussian) Slope(dst []float64, y, m float64, own []float64) {
	z := (y - m) / own[0]
	dst[0], dst[1] = z/own[0], (z*z-1)/own[0]
}

// Slope implements SlopedLikelihood.
func (LogNormal) Slope(dst []float64, y, m float64, own []float64) {
	z := logRatio(y, m) / own[0]
	dst[0], dst[1] = z/own[0]/m, (z*z-1)/own[0]
}

// Slope implements SlopedLikelihood.
func (Laplace) Slope(dst []float64, y, m float64, own []float64) {
	r := y - m
	dst[0], dst[1] = 0, (math.Abs(r)/own[0]-1)/own[0]
	if r != 0 {
		dst[0] = math.Copysign(1/own[0], r)
	}
}

// Slope implements SlopedLikelihood.
func (StudentT) Slope(dst []float64, y, m float64, own []float64) {
	nu, sigma := own[0], own[1]
	z := (y - m) / sigma
	w := (nu + 1) * z / (nu + z*z)
	dst[0], dst[2] = w/sigma, (w*z-1)/sigma
	dst[1] = (mathext.Digamma((nu+1)/2) - mathext.Digamma(nu/2) - 1/nu - math.Log1p(z*z/nu) + w*z/nu) / 2
}

// Slope implements SlopedLikelihood.
func (Poisson) Slope(dst []float64, y, m float64, _ []float64) {
	if dst[0] = -1; y > 0 {
		dst[0] = y/m - 1
	}
}

// Slope implements SlopedLikelihood.
func (NegativeBinomial) Slope(dst []float64, y, m float64, own []float64) {
	phi := own[0]
	w := (y + phi) / (m + phi)
	if dst[0] = -w; y > 0 {
		dst[0] = y/m - w
	}
	dst[1] = mathext.Digamma(y+phi) - mathext.Digamma(phi) - math.Log1p(m/phi) + 1 - w
}

// Slope implements SlopedLikelihood.
func (Binomial) Slope(dst []float64, y, m float64, own []float64) {
	n := own[0]
	dst[0], dst[1] = 0, mathext.Digamma(n+1)-mathext.Digamma(n-y+1)-y/n
	if y > 0 {
		dst[0] = y / m
	}
	if y < n {
		dst[0] -= (n - y) / (n - m)
		dst[1] += math.Log1p(-m/n) + (n-y)/(n-m)*m/n
	}
}
