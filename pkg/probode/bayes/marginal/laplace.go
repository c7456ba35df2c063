package marginal

import (
	"math"

	"github.com/probode/probode/pkg/probode/bayes"
)

// For errors that are not Gaussian, DALTON approximates the likelihood p(Y | Z) by
// Laplace's method [WL24]. This likelihood is the integral of p(Y | X) p(X | Z) over the
// solution X. Let m be the expected value of an observation y at the mode of the density
// p(X | Y, Z). At this mode, the log density of y has the same slope with respect to m as
// a Gaussian log density with the variance
//
//	s² = (y − m) / ∂ log p(y | m)/∂m.
//
// For Poisson, negative binomial and binomial distributions, s² is the variance of y.
// The mode is the same as in a model with Gaussian errors of variance s², and
//
//	log p(Y | Z) ≈ log p(Y | X) − Σ log N(y; m, s²) + log p_s(Y | Z).
//
// Here p_s is the likelihood of the model with Gaussian errors. The mode is found
// iteratively, by repeated passes over the data. Unlike the second derivative of log p(y
// | m), 1/s² is positive even for counts of zero and for outliers under Student's t
// distribution.

// standIn returns the standard deviation of the Gaussian errors that replace those of y.
func standIn(of bayes.SlopedLikelihood, y, m float64, own []float64) float64 {
	slopes := make([]float64, 1+len(own))
	variance := func(m float64) float64 {
		of.Slope(slopes, y, m, own)
		return (y - m) / slopes[0]
	}
	// Near m = y, the numerator and the denominator of s² are both zero up to rounding
	// errors.
	if near := max(1e-5*max(math.Abs(y), math.Abs(m)), 1e-100); math.Abs(y-m) < near {
		return math.Sqrt((variance(y-near) + variance(y+near)) / 2)
	}
	return math.Sqrt(variance(m))
}

// smooth returns nil unless Laplace's method is both needed and possible.
func smooth(x *bayes.Experiment, k int) bayes.SlopedLikelihood {
	of := x.Errors[min(k, len(x.Errors)-1)]
	switch of.(type) {
	case bayes.Gaussian, bayes.LogNormal, bayes.Kinked:
		return nil
	}
	sloped, _ := of.(bayes.SlopedLikelihood)
	return sloped
}

type expansion struct {
	x        []float64 // states; nil in the first pass, which uses predictions
	mean, sd []float64 // expected values and s
	left     int       // number of passes that may still be made
	rest     float64   // log p(Y | X) − Σ log N(y; m, s²) at the mode
}

// at returns the predicted x in the first pass.
func (e *expansion) at(n int, x []float64) []float64 {
	if e.x == nil {
		return x
	}
	return e.x[n*len(x) : (n+1)*len(x)]
}

// expand computes the sd for y, around m = y if y is impossible given m. Where the state
// is known, the sd has no effect, and 1 replaces 0.
func (e *expansion) expand(index int, likelihood bayes.SlopedLikelihood, y, m float64, own []float64, known bool) (sd float64) {
	if math.IsNaN(y) {
		y = m
	}
	if e.mean[index] = m; math.IsInf(likelihood.LogProb(y, m, own), -1) {
		m = y
	}
	if e.sd[index] = standIn(likelihood, y, m, own); known && !(e.sd[index] > 0) {
		e.sd[index] = 1
	}
	return e.sd[index]
}

// settled moves the expansion to x unless it is there, or no passes are left.
func (p *path) settled(e *expansion, x, theta []float64) bool {
	d := len(x) / len(p.x.Data.T)
	same := true
	e.rest = 0
	for n := range p.x.Data.T {
		mean, _, own := p.part.Linear(n, x[n*d:(n+1)*d], theta)
		for k, of := range p.laplace {
			y, i := p.x.Data.Y[n][k], n*len(mean)+k
			if of == nil || math.IsNaN(y) {
				continue
			}
			same = same && math.Abs(mean[k]-e.mean[i]) < 1e-9*e.sd[i]
			stand := bayes.Gaussian{}.LogProb(y, mean[k], e.sd[i:i+1])
			e.rest += of.LogProb(y, mean[k], own[k]) - stand
		}
	}
	e.x = x
	e.left--
	if !same && e.left == 0 {
		e.rest = math.NaN()
	}
	return same || e.left == 0
}
