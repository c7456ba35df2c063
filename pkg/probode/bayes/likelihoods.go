package bayes

import (
	"math"
	"math/rand/v2"
	"reflect"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Likelihood is the distribution of one observation y given its expected value m. The
// observations are independent, given the path and θ.
type Likelihood interface {
	// Own returns the numbers, such as a standard deviation, that together with m
	// determine the distribution. Each number that Own returns is either known or a
	// parameter of the model. Every call of Own returns the same numbers.
	Own() []Value
	// LogProb returns the log density of y given m, including constants. If y is a count,
	// LogProb returns the log probability. The result is −Inf if y is impossible, or if m
	// and `own` do not define a distribution. The element own[i] is the current value of
	// Own()[i].
	LogProb(y, m float64, own []float64) float64
	// Rand returns a draw of y given m, or NaN if m and `own` do not define a
	// distribution.
	Rand(m float64, own []float64, rng *rand.Rand) float64
}

// Gaussian is the Likelihood y ~ N(m, σ²).
type Gaussian struct {
	Sigma Value // standard deviation σ > 0, not the variance
}

const logSqrt2Pi = 0.91893853320467274178032973640561763986139747363778

// Own returns σ.
func (g Gaussian) Own() []Value { return []Value{g.Sigma} }

// LogProb returns log N(y; m, σ²).
func (Gaussian) LogProb(y, m float64, own []float64) float64 {
	if !located(m, own[0]) {
		return math.Inf(-1)
	}
	r := (y - m) / own[0]
	return -0.5*r*r - math.Log(own[0]) - logSqrt2Pi
}

// Rand returns a draw from N(m, σ²). The result is NaN if σ is not positive, or if m or σ
// is not finite.
func (Gaussian) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	if !located(m, own[0]) {
		return math.NaN()
	}
	return m + own[0]*rng.NormFloat64()
}

// LogNormal is the Likelihood log y ~ N(log m, σ²). Here m is the median of y, and the
// size of the errors is proportional to m.
type LogNormal struct {
	Sigma Value // standard deviation σ > 0 of log y
}

// Own returns σ.
func (g LogNormal) Own() []Value { return []Value{g.Sigma} }

// LogProb returns the log density of y, or −Inf for m ≤ 0.
func (LogNormal) LogProb(y, m float64, own []float64) float64 {
	if !(y > 0 && m > 0 && located(m, own[0])) {
		return math.Inf(-1)
	}
	r := logRatio(y, m) / own[0]
	return -0.5*r*r - math.Log(own[0]) - math.Log(y) - logSqrt2Pi
}

// Rand returns a draw of y. The result is NaN if m or σ is not a finite number > 0.
func (LogNormal) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	if !(m > 0 && located(m, own[0])) {
		return math.NaN()
	}
	return m * math.Exp(own[0]*rng.NormFloat64())
}

// Laplace is the Likelihood with the density e^(−|y−m|/b)/(2b), for data with outliers.
type Laplace struct {
	Scale Value // b > 0; the standard deviation is √2 b
}

// Own returns b.
func (l Laplace) Own() []Value { return []Value{l.Scale} }

// LogProb returns −|y − m|/b − log 2b.
func (Laplace) LogProb(y, m float64, own []float64) float64 {
	if !located(m, own[0]) {
		return math.Inf(-1)
	}
	return -math.Log(2*own[0]) - math.Abs(y-m)/own[0]
}

// Rand returns a draw of y. The result is NaN if b is not positive, or if m or b is not
// finite.
func (Laplace) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	if !located(m, own[0]) {
		return math.NaN()
	}
	z := rng.ExpFloat64()
	if rng.Uint64()&1 == 0 {
		z = -z
	}
	return m + own[0]*z
}

// Kink returns y − m, its derivative −1 with respect to m, and the weight 1/b.
func (Laplace) Kink(y, m float64, own []float64) (r, slope, weight float64, ok bool) {
	return y - m, -1, 1 / own[0], own[0] > 0
}

// StudentT is the Likelihood (y − m)/σ ~ t_ν, for data with outliers.
type StudentT struct {
	Nu    Value // degrees of freedom ν > 0; the Gaussian distribution is the limit of large ν
	Sigma Value // scale σ > 0
}

// Own returns ν and σ.
func (s StudentT) Own() []Value { return []Value{s.Nu, s.Sigma} }

// LogProb returns the log density of y, with r = (y − m)/σ:
//
//	log Γ((ν+1)/2) − log Γ(ν/2) − ½ log(πν) − log σ − ½(ν+1) log(1 + r²/ν)
func (StudentT) LogProb(y, m float64, own []float64) float64 {
	nu, sigma := own[0], own[1]
	if !(located(m, sigma) && located(m, nu)) {
		return math.Inf(-1)
	}
	r := (y - m) / sigma
	return logRise(nu/2, 0.5) - logSqrt2Pi - math.Log(sigma) - 0.5*(nu+1)*math.Log1p(r*r/nu)
}

// Rand returns a draw of y. The result is NaN if ν or σ is not positive, or if m, ν or σ
// is not finite.
func (StudentT) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	if !(located(m, own[0]) && located(m, own[1])) {
		return math.NaN()
	}
	return distuv.StudentsT{Mu: m, Sigma: own[1], Nu: own[0], Src: rng}.Rand()
}

// Poisson is the Likelihood of counts with mean and variance m.
type Poisson struct{}

// Own returns nil, because m alone determines the distribution.
func (Poisson) Own() []Value { return nil }

// LogProb returns the log probability of the count y, or −Inf for m < 0.
func (Poisson) LogProb(y, m float64, _ []float64) float64 {
	switch {
	case !(y >= 0) || y != math.Trunc(y) || !(m >= 0) || math.IsInf(m, 1):
		return math.Inf(-1)
	case m == 0 && y == 0:
		return 0
	case m == 0:
		return math.Inf(-1)
	}
	return distuv.Poisson{Lambda: m}.LogProb(y)
}

// Rand returns a draw of y.
func (Poisson) Rand(m float64, _ []float64, rng *rand.Rand) float64 {
	switch {
	case !(m >= 0) || math.IsInf(m, 1):
		return math.NaN()
	case m == 0:
		return 0
	}
	return distuv.Poisson{Lambda: m, Src: rng}.Rand()
}

// NegativeBinomial is the Likelihood of counts whose variance is larger than their mean
// m,
//
//	var y = m + m²/φ,
//
// in the parametrisation that Stan calls neg_binomial_2.
type NegativeBinomial struct {
	Phi Value // φ > 0; Poisson's distribution is the limit of large φ
}

// Own returns φ.
func (n NegativeBinomial) Own() []Value { return []Value{n.Phi} }

// LogProb returns the log probability of the count y, or −Inf for m < 0:
//
//	log Γ(y+φ) − log Γ(φ) − log y! + φ log(φ/(φ+m)) + y log(m/(φ+m))
//
// The log probability is computed as for the Poisson distribution, y log m − log y! − m,
// but with −m replaced by
//
//	log Γ(y+φ) − log Γ(φ) − y log φ − (y+φ) log(1 + m/φ)
//
// so that a large φ does not cause large rounding errors.
func (NegativeBinomial) LogProb(y, m float64, own []float64) float64 {
	phi := own[0]
	switch {
	case !(y >= 0) || y != math.Trunc(y) || !(m >= 0) || !located(m, phi):
		return math.Inf(-1)
	case m == 0 && y == 0:
		return 0
	case m == 0:
		return math.Inf(-1)
	}
	c, _ := math.Lgamma(y + 1)
	return y*math.Log(m) - c + logRise(phi, y) - (y+phi)*math.Log1p(m/phi)
}

// Rand returns a draw of y. The result is NaN if m < 0 or φ ≤ 0, or if m or φ is not
// finite. Rand draws from a Poisson distribution whose mean is a draw from a gamma
// distribution.
func (NegativeBinomial) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	switch {
	case !(m >= 0) || !located(m, own[0]):
		return math.NaN()
	case m == 0:
		return 0
	}
	return Poisson{}.Rand(distuv.Gamma{Alpha: own[0], Beta: own[0] / m, Src: rng}.Rand(), nil, rng)
}

// Binomial is the Likelihood of the number of successes among n trials, each of which
// succeeds with probability m/n.
type Binomial struct {
	Trials Value // n > 0, and a whole number if it is known
}

// Own returns n.
func (b Binomial) Own() []Value { return []Value{b.Trials} }

// LogProb returns the log probability of y successes, or −Inf for m outside [0, n]:
//
//	log n! − log y! − log (n−y)! + y log(m/n) + (n−y) log(1 − m/n)
//
// If the number of trials is large, log n! and log (n−y)! nearly cancel, so their
// difference is computed directly.
func (Binomial) LogProb(y, m float64, own []float64) float64 {
	n := own[0]
	if !(y >= 0 && y <= n) || y != math.Trunc(y) || math.IsInf(n, 1) || !(m >= 0 && m <= n) {
		return math.Inf(-1)
	}
	k := min(y, n-y)
	c, _ := math.Lgamma(k + 1)
	lp := logRise(n-k+1, k) + k*math.Log(n-k+1) - c // log n!/((n−k)! k!)
	if y > 0 {
		lp += y * math.Log(m/n)
	}
	if y < n {
		lp += (n - y) * math.Log1p(-m/n)
	}
	return lp
}

// Rand returns a draw of y, or NaN if m is outside [0, n] or n is not a positive whole
// number.
func (Binomial) Rand(m float64, own []float64, rng *rand.Rand) float64 {
	n := own[0]
	if !(m >= 0 && m <= n && n > 0) || math.IsInf(n, 1) || n != math.Trunc(n) {
		return math.NaN()
	}
	return distuv.Binomial{N: n, P: m / n, Src: rng}.Rand()
}

// A Describer is a Likelihood that describes its observations and the numbers that Own
// returns. The description helps the package to find mistakes in a model and to write
// more specific reports. All likelihoods of this package are Describers.
type Describer interface {
	Likelihood
	Describe() Description
}

// A Description describes a Likelihood.
type Description struct {
	// Of is the likelihood to which the Description belongs. If a type inherits Describe
	// from an embedded likelihood, Of is the embedded likelihood. Inherited descriptions are
	// ignored, because the outer likelihood may use the numbers differently.
	Of Likelihood
	// Own describes each number that Likelihood.Own returns, in the same order.
	Own []OwnNumber
	// Y says what an observation can be, such as "a number > 0".
	Y string
}

// An OwnNumber describes one of the numbers that Likelihood.Own returns, which must be
// positive and finite unless Any is true.
type OwnNumber struct {
	Name string
	// Spread is 1 if the measurement errors increase with the described number, −1 if
	// they decrease, and 0 otherwise. If Spread is not 0, an estimate of the number can
	// absorb part of the solver's error.
	Spread float64
	Whole  bool // a known value must be a whole number
	Any    bool
}

func (g Gaussian) Describe() Description {
	return Description{g, []OwnNumber{{Name: "Sigma", Spread: 1}}, "a finite number"}
}

func (g LogNormal) Describe() Description {
	return Description{g, []OwnNumber{{Name: "Sigma", Spread: 1}}, "a number > 0"}
}

func (l Laplace) Describe() Description {
	return Description{l, []OwnNumber{{Name: "Scale", Spread: 1}}, "a finite number"}
}

func (s StudentT) Describe() Description { // a larger ν means lighter tails
	return Description{s, []OwnNumber{{Name: "Nu", Spread: -1}, {Name: "Sigma", Spread: 1}}, "a finite number"}
}

func (p Poisson) Describe() Description { return Description{Of: p, Y: "a count: 0, 1, 2, …"} }

func (n NegativeBinomial) Describe() Description { // a larger φ means a smaller variance
	return Description{n, []OwnNumber{{Name: "Phi", Spread: -1}}, "a count: 0, 1, 2, …"}
}

func (b Binomial) Describe() Description {
	return Description{b, []OwnNumber{{Name: "Trials", Whole: true}}, "a count: 0, 1, 2, … up to the number of trials"}
}

func description(l Likelihood) (d Description, ok bool) {
	if by, is := l.(Describer); is {
		d = by.Describe()
	}
	return d, d.Of != nil && reflect.TypeOf(d.Of) == reflect.TypeOf(l)
}

// located reports whether m and scale define a distribution.
func located(m, scale float64) bool {
	return scale > 0 && scale <= math.MaxFloat64 && math.Abs(m) <= math.MaxFloat64
}

// logRatio returns log(y/m) even if y/m overflows.
func logRatio(y, m float64) float64 {
	if r := y / m; r > 1e-300 && r < 1e300 {
		return math.Log(r) // accurate near y = m, where the logarithms nearly cancel
	}
	return math.Log(y) - math.Log(m)
}

// logRise returns log Γ(x+y) − log Γ(x) − y log x, x > 0, y ≥ 0, which is y(y−1)/2x +
// O(1/x²). For large x the terms nearly cancel, but in (x+y−½) log(1+y/x) − y + S(x+y) −
// S(x), S(x) = 1/12x − 1/360x³ + …, only those of order y do.
func logRise(x, y float64) float64 {
	if x < 16 {
		a, _ := math.Lgamma(x + y)
		b, _ := math.Lgamma(x)
		return a - b - y*math.Log(x)
	}
	return (x+y-0.5)*math.Log1p(y/x) - y + stirling(x+y) - stirling(x)
}

// stirling returns log Γ(x) − (x−½) log x + x − ½ log 2π for x ≥ 16, where the first
// omitted term is below 2e-16.
func stirling(x float64) float64 {
	r := 1 / (x * x)
	return (1./12 - r*(1./360-r*(1./1260-r*(1./1680-r/1188)))) / x
}
