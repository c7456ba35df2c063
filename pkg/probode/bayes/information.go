package bayes

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// An Informer is a Describer whose Fisher information has a closed form. If a Likelihood
// is not an Informer, the information is estimated from draws.
type Informer interface {
	Describer
	// Information computes the Fisher information of one observation about m and the
	// numbers in `own`, and stores it in dst. The slice dst is a row-major matrix of
	// length (1 + len(own))². An element without a closed form is set to NaN. The result
	// is true if at least one element has a closed form at the given values of m and
	// `own`.
	Information(dst []float64, m float64, own []float64) bool
}

// Information computes the Fisher information, which is 1/σ² for m and 2/σ² for σ.
func (Gaussian) Information(dst []float64, _ float64, own []float64) bool {
	v := 1 / (own[0] * own[0])
	dst[0], dst[1], dst[2], dst[3] = v, 0, 0, 2*v
	return own[0] > 0
}

// Information computes the Fisher information, which is 1/(mσ)² for m and 2/σ² for σ.
func (LogNormal) Information(dst []float64, m float64, own []float64) bool {
	v := 1 / (own[0] * own[0])
	dst[0], dst[1], dst[2], dst[3] = v/(m*m), 0, 0, 2*v
	return own[0] > 0 && m > 0
}

// Information computes the Fisher information, which is 1/b² for m and for b.
func (Laplace) Information(dst []float64, _ float64, own []float64) bool {
	v := 1 / (own[0] * own[0])
	dst[0], dst[1], dst[2], dst[3] = v, 0, 0, v
	return own[0] > 0
}

// Information computes the Fisher information for m, which is 1/m.
func (Poisson) Information(dst []float64, m float64, _ []float64) bool {
	dst[0] = 1 / m
	return m > 0
}

// Information computes the Fisher information for m, which is n/(m(n−m)), and writes NaN
// for n.
func (Binomial) Information(dst []float64, m float64, own []float64) bool {
	dst[0], dst[1], dst[2], dst[3] = own[0]/(m*(own[0]-m)), math.NaN(), math.NaN(), math.NaN()
	return m > 0 && m < own[0]
}

// Let s = (ν + 1)(ν + 3), and let ψ₁ be the trigamma function. Information computes the
// Fisher information, which is (ν+1)²/(sσ²) for m, 2ν(ν+1)/(sσ²) for σ, −2/(sσ) for the
// pair (ν, σ), and
//
//	¼ (ψ₁(ν/2) − ψ₁((ν+1)/2)) − (ν+5)/(2νs)
//
// for ν [Lange, Little & Taylor 1989]. For ν ≥ 100 the element for ν is NaN, because its
// terms nearly cancel and rounding errors would dominate the result.
func (StudentT) Information(dst []float64, _ float64, own []float64) bool {
	nu, sigma := own[0], own[1]
	if !(nu > 0 && sigma > 0) {
		return false
	}
	s := (nu + 1) * (nu + 3)
	clear(dst)
	dst[0] = (nu + 1) * (nu + 1) / (s * sigma * sigma)
	if dst[4] = math.NaN(); nu < 100 {
		dst[4] = (mathext.Zeta(2, nu/2)-mathext.Zeta(2, (nu+1)/2))/4 - (nu+5)/(2*nu*s)
	}
	dst[5] = -2 / (s * sigma)
	dst[7] = dst[5]
	dst[8] = 2 * nu * (nu + 1) / (s * sigma * sigma)
	return true
}

// Information computes the Fisher information, which is φ/(m(m+φ)) for m and
//
//	Σ_{j≥0} P(y > j)/(φ + j)² − m/(φ(φ + m))
//
// for φ [Lawless 1987]. The element for φ is NaN if the sum over j would need more than
// 10⁴ terms. The element for φ is also NaN if m/(φ(φ + m)) is so close to the sum that
// rounding errors dominate the difference.
func (NegativeBinomial) Information(dst []float64, m float64, own []float64) bool {
	phi := own[0]
	if !(m > 0 && phi > 0) || math.IsInf(m, 1) {
		return false
	}
	clear(dst)
	if dst[0], dst[3] = phi/(m*(m+phi)), math.NaN(); phi >= 1e4 {
		return true
	}
	// The variable p is P(y = j), computed from P(y = j−1).
	zero := -phi * math.Log1p(m/phi)
	p := math.Exp(zero)
	above := -math.Expm1(zero) // P(y > 0); 1 − p would have few digits for a small m
	sum, terms := above/(phi*phi), 1
	for p *= phi * m / (m + phi); above > 1e-11*min(1, m); terms++ {
		if terms == 10000 || p < 1e-280 {
			return true
		}
		j := float64(terms)
		above -= p
		sum += max(above, 0) / ((phi + j) * (phi + j))
		p *= (phi + j) / (j + 1) * m / (m + phi)
	}
	if v := sum - m/(phi*(phi+m)); v > 1e-9*sum {
		dst[3] = v
	}
	return true
}
