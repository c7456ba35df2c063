package bayes

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Cumulative is a continuous Likelihood whose distribution function is known.
type Cumulative interface {
	SlopedLikelihood
	// LogTail returns log P(Y ≤ y) given m and `own` or, if the argument `above` is true,
	// log P(Y ≥ y). If `slope` is not nil, LogTail writes to it the derivatives with
	// respect to m and to the elements of `own`, in this order.
	LogTail(slope []float64, y, m float64, own []float64, above bool) float64
}

var _ = []Cumulative{Gaussian{}, LogNormal{}, Laplace{}, StudentT{}}

// Censored is the Likelihood of measurements with limits of quantification. Censored.Of
// is the distribution of the measured quantity Y. A value of Y between the limits is
// observed as it is: y = Y. If Y is at most Limit, the value of Y is unknown. In the
// data, any number y ≤ Limit stands for the event Y ≤ Limit, and likewise above Upper:
//
//	p(y | m) = p_Of(y | m)        for Limit < y < Upper
//	p(y | m) = P_Of(Y ≤ Limit)    for y ≤ Limit   [Tobin 1958]
//	p(y | m) = P_Of(Y ≥ Upper)    for y ≥ Upper
type Censored struct {
	Of    Cumulative
	Limit float64  // −Inf: no lower limit
	Upper *float64 // nil: no upper limit; otherwise above Limit
}

// Interval is the Likelihood of measurements of which only intervals may be known. In the
// data, any number from From to To stands for the event From ≤ Y ≤ To:
//
//	p(y | m) = P_Of(From ≤ Y ≤ To)    for From ≤ y ≤ To
//	p(y | m) = p_Of(y | m)            for other y
//
// The bounds can differ between the rows (see Value.At). In a row without bounds, which
// are then NaN, the value of Y is known.
type Interval struct {
	Of       Cumulative
	From, To Value // known numbers, From < To; −Inf and +Inf are allowed
}

var _ = []SlopedLikelihood{Censored{}, Interval{}}

// Own returns c.Of.Own().
func (c Censored) Own() []Value { return c.Of.Own() }

// beyond returns the interval for which y stands, if it is beyond a limit.
func (c Censored) beyond(y float64) (from, to float64, ok bool) {
	switch {
	case c.Upper != nil && y >= *c.Upper:
		return *c.Upper, math.Inf(1), true
	case !(y > c.Limit):
		return math.Inf(-1), c.Limit, true
	}
	return 0, 0, false
}

// LogProb returns the log density of y, or the log probability of the values for which y
// stands.
func (c Censored) LogProb(y, m float64, own []float64) float64 {
	if from, to, ok := c.beyond(y); ok {
		return between(nil, c.Of, from, to, m, own)
	}
	return c.Of.LogProb(y, m, own)
}

// Slope implements SlopedLikelihood.
func (c Censored) Slope(dst []float64, y, m float64, own []float64) {
	if from, to, ok := c.beyond(y); ok {
		between(dst, c.Of, from, to, m, own)
		return
	}
	c.Of.Slope(dst, y, m, own)
}

// LogTail implements Cumulative for Y, as c.Of does.
func (c Censored) LogTail(slope []float64, y, m float64, own []float64, above bool) float64 {
	return c.Of.LogTail(slope, y, m, own, above)
}

// Rand returns a draw of Y or, if it is beyond a limit, the limit.
func (c Censored) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	y := c.Of.Rand(m, own, rng)
	switch {
	case y < c.Limit:
		return c.Limit
	case c.Upper != nil && y > *c.Upper:
		return *c.Upper
	}
	return y
}

// Kink implements Kinked. If y is between the limits, Kink returns the kink of the
// uncensored likelihood c.Of.
func (c Censored) Kink(y, m float64, own []float64) (r, slope, weight float64, ok bool) {
	if _, _, unknown := c.beyond(y); !unknown {
		if by, is := c.Of.(Kinked); is {
			return by.Kink(y, m, own)
		}
	}
	return 0, 0, 0, false
}

// Own returns i.Of.Own(), From and To.
func (i Interval) Own() []Value { return append(slices.Clip(i.Of.Own()), i.From, i.To) }

// split returns the numbers of i.Of and the bounds, and whether y stands for all numbers
// between them.
func (i Interval) split(y float64, own []float64) (of []float64, from, to float64, unknown bool) {
	n := len(own) - 2
	from, to = own[n], own[n+1]
	return own[:n], from, to, from <= y && y <= to
}

// Rand returns a draw of Y.
func (i Interval) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	return i.Of.Rand(m, own[:len(own)-2], rng)
}

// LogProb returns the log density of y, or the log probability of the values for which y
// stands.
func (i Interval) LogProb(y, m float64, own []float64) float64 {
	of, from, to, unknown := i.split(y, own)
	if unknown {
		return between(nil, i.Of, from, to, m, of)
	}
	return i.Of.LogProb(y, m, of)
}

// Slope implements SlopedLikelihood. It sets the derivatives with respect to the bounds,
// which are known, to zero.
func (i Interval) Slope(dst []float64, y, m float64, own []float64) {
	of, from, to, unknown := i.split(y, own)
	clear(dst)
	if dst = dst[:1+len(of)]; unknown {
		between(dst, i.Of, from, to, m, of)
		return
	}
	i.Of.Slope(dst, y, m, of)
}

// Kink implements Kinked. If the value of Y is known, Kink returns the kink of i.Of.
func (i Interval) Kink(y, m float64, own []float64) (r, slope, weight float64, ok bool) {
	if of, _, _, unknown := i.split(y, own); !unknown {
		if by, is := i.Of.(Kinked); is {
			return by.Kink(y, m, of)
		}
	}
	return 0, 0, 0, false
}

// Information implements Informer. In a row without bounds it is that of i.Of.
func (i Interval) Information(dst []float64, m float64, own []float64) bool {
	of, from, to, _ := i.split(0, own)
	by, is := i.Of.(Informer)
	if _, described := description(i.Of); !is || !described || from <= to {
		return false
	}
	n := 1 + len(of)
	inner := make([]float64, n*n)
	ok := by.Information(inner, m, of)
	clear(dst)
	for k := range n {
		copy(dst[k*(n+2):], inner[k*n:(k+1)*n])
	}
	return ok
}

// between returns log P(from ≤ Y ≤ to), or −Inf if m or own is invalid. It subtracts the
// smaller one of two tails from the larger one, on the side on which they are small.
func between(slope []float64, of Cumulative, from, to, m float64, own []float64) float64 {
	var lp float64
	switch above := m < from; {
	case math.IsInf(from, -1):
		lp = of.LogTail(slope, to, m, own, false)
	case math.IsInf(to, 1):
		lp = of.LogTail(slope, from, m, own, true)
	default:
		large, small := to, from
		if above {
			large, small = small, large
		}
		var less []float64
		if slope != nil {
			less = make([]float64, len(slope))
		}
		lp = of.LogTail(slope, large, m, own, above)
		if b := of.LogTail(less, small, m, own, above); !math.IsInf(b, -1) {
			ratio := math.Exp(b - lp)
			for k := range slope {
				slope[k] = (slope[k] - ratio*less[k]) / (1 - ratio)
			}
			lp += math.Log1p(-ratio)
		}
	}
	if lp <= 0 {
		return lp
	}
	return math.Inf(-1)
}

// Describe implements Describer.
func (i Interval) Describe() Description {
	d, ok := description(i.Of)
	if !ok {
		return Description{}
	}
	own := append(slices.Clip(d.Own), OwnNumber{Name: "From", Any: true}, OwnNumber{Name: "To", Any: true})
	return Description{Of: i, Own: own, Y: d.Y}
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

// LogTail implements Cumulative.
func (Gaussian) LogTail(slope []float64, y, m float64, own []float64, above bool) float64 {
	if !(own[0] > 0) {
		return math.NaN()
	}
	sign := side(above)
	z := sign * (y - m) / own[0]
	lp, hazard := logPhi(z)
	if slope != nil {
		slope[0], slope[1] = -sign*hazard/own[0], -hazard*z/own[0]
	}
	return lp
}

// LogTail implements Cumulative.
func (LogNormal) LogTail(slope []float64, y, m float64, own []float64, above bool) float64 {
	if !(m > 0 && own[0] > 0) {
		return math.NaN()
	}
	if !(y > 0) {
		clear(slope)
		if above {
			return 0
		}
		return math.Inf(-1)
	}
	lp := Gaussian{}.LogTail(slope, math.Log(y), math.Log(m), own, above)
	if slope != nil {
		slope[0] /= m
	}
	return lp
}

// side returns the sign that mirrors a symmetric distribution for its upper tail.
func side(above bool) float64 {
	if above {
		return -1
	}
	return 1
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

// LogTail implements Cumulative.
func (Laplace) LogTail(slope []float64, y, m float64, own []float64, above bool) float64 {
	b := own[0]
	if !(b > 0) {
		return math.NaN()
	}
	sign := side(above)
	z := sign * (y - m) / b
	lp, hazard := z-math.Ln2, 1.0
	if z > 0 {
		half := 0.5 * math.Exp(-z)
		lp, hazard = math.Log1p(-half), half/(1-half)
	}
	if slope != nil {
		slope[0], slope[1] = -sign*hazard/b, -hazard*z/b
	}
	return lp
}

// LogTail implements Cumulative. The derivative with respect to ν is a central difference
// with a relative error of about 10⁻⁸.
func (StudentT) LogTail(slope []float64, y, m float64, own []float64, above bool) float64 {
	nu, sigma := own[0], own[1]
	if !(nu > 0 && sigma > 0) {
		return math.NaN()
	}
	sign := side(above)
	z := sign * (y - m) / sigma
	log := func(nu float64) float64 { return math.Log(distuv.StudentsT{Sigma: 1, Nu: nu}.CDF(z)) }
	lp := log(nu)
	if slope != nil {
		hazard := math.Exp(StudentT{}.LogProb(z, 0, []float64{nu, 1}) - lp)
		h := 6e-6 * nu
		slope[0], slope[1], slope[2] = -sign*hazard/sigma, (log(nu+h)-log(nu-h))/(2*h), -hazard*z/sigma
	}
	return lp
}
