package bayes

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Cumulative is a continuous Likelihood whose distribution function is known.
type Cumulative interface {
	SlopedLikelihood
	// LogCDF returns log P(Y ≤ y) given m and `own`. If `slope` is not nil, LogCDF
	// writes to it the derivatives with respect to m and to the elements of `own`, in
	// this order.
	LogCDF(slope []float64, y, m float64, own []float64) float64
}

var _ = []Cumulative{Gaussian{}, LogNormal{}, Laplace{}, StudentT{}}

// Censored is the Likelihood of measurements with a lower limit of quantification.
// Censored.Of is the distribution of the measured quantity Y. A value of Y above Limit is
// observed as it is: y = Y. If Y is at most Limit, the value of Y is unknown. In the
// data, any number y ≤ Limit stands for the event Y ≤ Limit:
//
//	p(y | m) = p_Of(y | m)        for y > Limit
//	p(y | m) = P_Of(Y ≤ Limit)    for y ≤ Limit   [Tobin 1958]
type Censored struct {
	Of    Cumulative
	Limit float64
}

var _ SlopedLikelihood = Censored{}

// Own returns c.Of.Own().
func (c Censored) Own() []Value { return c.Of.Own() }

// LogProb returns the log density of y, or log P(Y ≤ Limit) for y ≤ Limit.
func (c Censored) LogProb(y, m float64, own []float64) float64 {
	if y > c.Limit {
		return c.Of.LogProb(y, m, own)
	}
	if lp := c.Of.LogCDF(nil, c.Limit, m, own); lp <= 0 {
		return lp
	}
	return math.Inf(-1) // m or own is invalid
}

// Slope implements SlopedLikelihood.
func (c Censored) Slope(dst []float64, y, m float64, own []float64) {
	if y > c.Limit {
		c.Of.Slope(dst, y, m, own)
		return
	}
	c.Of.LogCDF(dst, c.Limit, m, own)
}

// Rand returns the larger of Limit and a draw of Y.
func (c Censored) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	y := c.Of.Rand(m, own, rng)
	if y < c.Limit {
		return c.Limit
	}
	return y
}

// Kink implements Kinked. If y is above Limit, Kink returns the kink of the uncensored
// likelihood c.Of.
func (c Censored) Kink(y, m float64, own []float64) (r, slope, weight float64, ok bool) {
	if by, is := c.Of.(Kinked); is && y > c.Limit {
		return by.Kink(y, m, own)
	}
	return 0, 0, 0, false
}

// Describe implements Describer. The result is empty if the uncensored likelihood, c.Of,
// has no description of its own.
func (c Censored) Describe() Description {
	d, ok := description(c.Of)
	if !ok {
		return Description{}
	}
	return Description{Of: c, Own: d.Own, Y: "a finite number"}
}

// LogCDF implements Cumulative.
func (Gaussian) LogCDF(slope []float64, y, m float64, own []float64) float64 {
	if !(own[0] > 0) {
		return math.NaN()
	}
	z := (y - m) / own[0]
	lp, hazard := logPhi(z)
	if slope != nil {
		slope[0], slope[1] = -hazard/own[0], -hazard*z/own[0]
	}
	return lp
}

// LogCDF implements Cumulative.
func (LogNormal) LogCDF(slope []float64, y, m float64, own []float64) float64 {
	if !(m > 0 && own[0] > 0) {
		return math.NaN()
	}
	if !(y > 0) {
		clear(slope)
		return math.Inf(-1)
	}
	lp := Gaussian{}.LogCDF(slope, math.Log(y), math.Log(m), own)
	if slope != nil {
		slope[0] /= m
	}
	return lp
}

// logPhi returns log Φ(z) and its derivative φ/Φ.
func logPhi(z float64) (lp, slope float64) {
	if z > -30 {
		p := 0.5 * math.Erfc(-z/math.Sqrt2)
		return math.Log(p), math.Exp(-0.5*z*z-logSqrt2Pi) / p
	}
	// For z ≤ −30, the first omitted term of the asymptotic series of Mills' ratio is
	// below 2e-12.
	r := 1 / (z * z)
	series := 1 - r*(1-r*(3-r*(15-105*r)))
	return -0.5*z*z - logSqrt2Pi - math.Log(-z) + math.Log(series), -z / series
}

// LogCDF implements Cumulative.
func (Laplace) LogCDF(slope []float64, y, m float64, own []float64) float64 {
	b := own[0]
	if !(b > 0) {
		return math.NaN()
	}
	z := (y - m) / b
	lp, hazard := z-math.Ln2, 1.0
	if z > 0 {
		half := 0.5 * math.Exp(-z)
		lp, hazard = math.Log1p(-half), half/(1-half)
	}
	if slope != nil {
		slope[0], slope[1] = -hazard/b, -hazard*z/b
	}
	return lp
}

// LogCDF implements Cumulative. The derivative with respect to ν is a central difference
// with a relative error of about 10⁻⁸.
func (StudentT) LogCDF(slope []float64, y, m float64, own []float64) float64 {
	nu, sigma := own[0], own[1]
	if !(nu > 0 && sigma > 0) {
		return math.NaN()
	}
	z := (y - m) / sigma
	log := func(nu float64) float64 { return math.Log(distuv.StudentsT{Sigma: 1, Nu: nu}.CDF(z)) }
	lp := log(nu)
	if slope != nil {
		hazard := math.Exp(StudentT{}.LogProb(z, 0, []float64{nu, 1}) - lp)
		h := 6e-6 * nu
		slope[0], slope[1], slope[2] = -hazard/sigma, (log(nu+h)-log(nu-h))/(2*h), -hazard*z/sigma
	}
	return lp
}
