package bayes

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Distribution is the prior of one parameter. The distributions in
// gonum.org/v1/gonum/stat/distuv that have a Quantile method implement Distribution:
// Normal, LogNormal, Exponential, Gamma, InverseGamma, Beta, Uniform, StudentsT and
// others. You can define further distributions with the methods LogProb and Quantile.
type Distribution interface {
	// LogProb returns the log density at x, or −Inf outside the support. The density may
	// be infinite at an end of the support, as for Beta(½, ½). Chains never visit an end
	// with infinite density. Points very close to a nonzero end are rounded to the end
	// itself. Suppose that the points within a relative distance q of a nonzero end have
	// a probability of order qᵇ. The draws then lack a probability of order (1e-16)ᵇ:
	// 1e-8 for b = ½, but 2.5 % for b = 0.1.
	LogProb(x float64) float64
	// Quantile returns the number x such that a draw from the distribution is below x
	// with probability p. The argument p is in [0, 1]. The support is [Quantile(0),
	// Quantile(1)], and a draw is Quantile(u) for a uniform random number u.
	Quantile(p float64) float64
}

var _ = []Distribution{
	distuv.Normal{}, distuv.LogNormal{}, distuv.Exponential{}, distuv.Gamma{}, distuv.InverseGamma{},
	distuv.Beta{}, distuv.Uniform{}, distuv.StudentsT{}, Truncated{},
}

// Truncated is the distribution in Of, truncated to [Min, Max]:
//
//	p(x) = q(x) / (Q(Max) − Q(Min)),   Min ≤ x ≤ Max.
//
// Here q is the density of the distribution in Of, and Q is its distribution function.
type Truncated struct {
	Of interface {
		Distribution
		CDF(x float64) float64
	}
	Min, Max float64 // ±Inf for a side that is not cut off
}

// LogProb returns the log density at x.
func (d Truncated) LogProb(x float64) float64 {
	if x < d.Min || x > d.Max {
		return math.Inf(-1)
	}
	mass, _ := d.mass()
	return d.Of.LogProb(x) - math.Log(mass)
}

// mass returns Q(Max) − Q(Min), and whether the interval begins in the lower half, where
// small tail probabilities are accurate.
func (d Truncated) mass() (mass float64, exact bool) {
	d, _, _ = d.mirrored()
	a := d.Of.CDF(d.Min)
	return d.Of.CDF(d.Max) - a, a < 0.5
}

// leastMass is that in the upper half with a rounding error of about 1e-6. Normal
// distributions are exempt: see mirrored.
const leastMass = 1e-10

// mirrored reflects a normal distribution that is truncated above its mean, because its
// distribution function is accurate far out in the lower tail.
func (d Truncated) mirrored() (m Truncated, mu float64, ok bool) {
	of, ok := d.Of.(distuv.Normal)
	if !ok || !(d.Min > of.Mu) {
		return d, 0, false
	}
	return Truncated{Of: of, Min: 2*of.Mu - d.Max, Max: 2*of.Mu - d.Min}, of.Mu, true
}

// Quantile returns the quantile at p.
func (d Truncated) Quantile(p float64) float64 {
	// Return the exact ends of the support, without the rounding errors of CDF and
	// Quantile.
	switch p {
	case 0:
		return max(d.Min, d.Of.Quantile(0))
	case 1:
		return min(d.Max, d.Of.Quantile(1))
	}
	if m, mu, ok := d.mirrored(); ok {
		return min(max(2*mu-m.Quantile(1-p), d.Min), d.Max)
	}
	a, b := d.Of.CDF(d.Min), d.Of.CDF(d.Max)
	return min(max(d.Of.Quantile(a+p*(b-a)), d.Min), d.Max)
}

func (d Truncated) String() string { return fmt.Sprintf("%+v on [%g, %g]", d.Of, d.Min, d.Max) }

// Positive returns the normal distribution N(mu, sigma²) truncated to positive numbers.
// Positive(0, sigma) is the half-normal distribution.
func Positive(mu, sigma float64) Truncated {
	return Truncated{Of: distuv.Normal{Mu: mu, Sigma: sigma}, Max: math.Inf(1)}
}

// draw never uses zero, which would give the lower end of the support.
func draw(d Distribution, rng *rand.Rand) float64 {
	return d.Quantile((float64(rng.Uint64()>>11) + 0.5) / (1 << 53))
}

// A transform maps an unconstrained number u to a parameter θ in (lo, hi):
//
//	θ = u                          on (−∞, ∞)
//	θ = lo + eᵘ                    on (lo, ∞)
//	θ = hi − eᵘ                    on (−∞, hi)
//	θ = lo + (hi − lo)/(1 + e⁻ᵘ)   on (lo, hi)
//	θ = lo (hi/lo)^{1/(1 + e⁻ᵘ)}   on (lo, hi), if log is true
//
// The density of u is the density of θ times |dθ/du|. The transform with log = true is
// for priors that span several powers of ten, for example from 1e-5 to 1e3. If log were
// false, the median of a prior over many powers of ten would lie at a large negative u,
// where θ − lo is nearly exponential in u.
type transform struct {
	lo, hi float64
	log    bool
}

var identity = transform{lo: math.Inf(-1), hi: math.Inf(1)}

func (t transform) to(u float64) (theta, logJacobian float64) {
	below, above := math.IsInf(t.lo, -1), math.IsInf(t.hi, 1)
	switch {
	case below && above:
		return u, 0
	case above:
		return t.lo + math.Exp(u), u
	case below:
		return t.hi - math.Exp(u), u
	}
	// Computing with e^−|u| avoids overflow and cancellation in the tails.
	e := math.Exp(-math.Abs(u))
	share := e / (1 + e)
	if t.log {
		width := math.Log(t.hi / t.lo)
		theta = t.lo * math.Exp(width*share)
		if u >= 0 {
			theta = t.hi * math.Exp(-width*share)
		}
		return theta, math.Log(theta) + math.Log(width) - math.Abs(u) - 2*math.Log1p(e)
	}
	logJacobian = math.Log(t.hi-t.lo) - math.Abs(u) - 2*math.Log1p(e)
	if u < 0 {
		return t.lo + (t.hi-t.lo)*share, logJacobian
	}
	return t.hi - (t.hi-t.lo)*share, logJacobian
}

func (t transform) slope(u float64) float64 {
	_, log := t.to(u)
	if math.IsInf(t.lo, -1) && !math.IsInf(t.hi, 1) {
		return -math.Exp(log)
	}
	return math.Exp(log)
}

func (t transform) slopes(u float64) (slope, curve float64) {
	slope = t.slope(u)
	below, above := math.IsInf(t.lo, -1), math.IsInf(t.hi, 1)
	switch {
	case below && above:
		return slope, 0
	case below || above:
		return slope, 1
	}
	curve = -math.Tanh(u / 2)
	if t.log {
		theta, _ := t.to(u)
		curve += slope / theta
	}
	return slope, curve
}

// from returns ±Inf at the ends of the support, and NaN beyond.
func (t transform) from(theta float64) float64 {
	below, above := math.IsInf(t.lo, -1), math.IsInf(t.hi, 1)
	switch {
	case below && above:
		return theta
	case above:
		return math.Log(theta - t.lo)
	case below:
		return math.Log(t.hi - theta)
	case t.log:
		return math.Log(math.Log(theta/t.lo)) - math.Log(math.Log(t.hi/theta))
	}
	return math.Log(theta-t.lo) - math.Log(t.hi-theta)
}
