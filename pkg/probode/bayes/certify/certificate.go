package certify

import "github.com/probode/probode/pkg/probode"

// A Certificate gives upper bounds on how far a posterior moves if the equations are
// solved with a Setup instead of the reference. The bounds are computed without sampling.
// At a mode of the reference posterior, let m be the expected values of the data, and let
// G = ∂m/∂u be their derivatives with respect to the parameters. Let δ be the difference
// between the expected values that the Setup and the reference give. Let W be the Fisher
// information about m, which is 1/σ² for a Gaussian error:
//
//	D² = δᵀWδ,   Δu = −C GᵀWδ,   C⁻¹ = GᵀWG + precision of the prior.
//
// To first order, both the mode and the mean of the posterior move by Δu. Since C GᵀWG C
// ≼ C, every parameter moves by at most D standard deviations, or √2 D if the likelihood
// has unknown parameters of its own, such as σ. The bound is larger if the data can
// hardly distinguish the effect of a parameter of the likelihood from the effects of the
// other parameters. Shifts are measured in standard deviations of the Gaussian
// approximation with covariance C. The posterior may be wider or narrower than its
// Gaussian approximation.
//
// Suppose that the log density of the data has kinks, as with Laplace errors. Near a
// kink, the solver's error moves the posterior by more than the Fisher information
// predicts. Far from all kinks, the solver's error moves the posterior by less than the
// Fisher information predicts. Therefore the second derivative of the negative log
// density is averaged over the posterior. In the formula for Δu, the averaged second
// derivative replaces the Fisher information. The bound assumes the worst case, in which
// the solver's error affects only the data to which the posterior is most sensitive. With
// Laplace errors, the bound is about ¾ (n/p)^¼ D for n data values and p parameters.
//
// The solver's error in G also moves the mode, by an amount that is proportional to the
// residuals of the data. Averaged over data sets, the shift due to the error in G is
// zero. If the residuals are too large for the assumed measurement errors, the bound
// includes the shift due to the error in G.
//
// The quantities D and Δu are computed at the mode. Away from the mode, the two setups
// are compared along lines and at draws from the prior. If the difference between the
// means of the two densities clearly exceeds the bound at the mode, this difference
// replaces the bound.
//
// Each of the two setups predicts a distribution of the data. The total variation
// distance between the two predicted distributions is 2Φ(D/2) − 1, and the
// Kullback–Leibler divergence is D²/2. The formulas for the distance and the divergence
// are exact for Gaussian errors.
//
// A Certificate bounds the shift of the posterior, but not the change of its width. A
// Certificate applies only to the modes that were checked. If D is above ½, the shift may
// no longer be approximately linear in the solver's error, so nothing is certified.
type Certificate struct {
	Setup, Reference string   // how the equations were solved, in words
	Names            []string // names of all parameters, as in Theta
	Params           []string // names of the assessed parameters, as in Shift

	Method    string            // method of Setup
	StepSize  float64           // step size of Setup; zero under error control
	Tolerance probode.Tolerance // tolerance of Setup; zero for equal steps

	// Modes are the modes of the reference posterior that were checked.
	Modes []AtMode

	Seconds float64
}

// AtMode holds the results of a Certificate for one mode.
type AtMode struct {
	Theta []float64 // mode of the reference posterior, all parameters
	From  []float64 // point at which the climb to Theta began

	// Moved is the largest difference between From and Theta, over all parameters, in
	// standard deviations. If Moved is below 5, the distance between From and Theta is
	// attributed to the solver's error. If Moved is 5 or more, the reference posterior is
	// assumed to have no mode near From.
	Moved float64

	D     float64
	Bound float64   // upper bound on the shift of every parameter, in standard deviations
	Shift []float64 // by parameter as in Params, Setup minus reference, in units of SD
	SD    []float64 // by parameter as in Params, of the Gaussian at the mode
	TV    float64   // total variation between the predictive distributions, at most 1
	KL    float64   // Kullback–Leibler divergence between them

	// Misfit is the part of Bound that comes from large residuals of the data. Misfit is
	// zero if the assumed measurement errors explain the residuals.
	Misfit float64

	// If Bound comes from a comparison away from the mode, Where is the point at which
	// the densities differ most. Otherwise Where is nil. Let Δ be the log density at the
	// point Where, minus the log density at the mode. Differ is Δ under the Setup minus Δ
	// under the reference. Differ is −∞ if only the Setup fails at Where, and +∞ if only
	// the reference fails at Where.
	Where  []float64
	Differ float64

	// Unsolved is a point away from the mode at which neither the reference nor the Setup
	// can solve the equations, for example because the solution ceases to exist. The
	// densities under the reference and under the Setup are taken to be zero at Unsolved.
	// Unsolved is nil if the comparison found no point at which both solvers fail.
	Unsolved []float64

	// OwnD measures the error of the reference itself: it is the discrepancy D between
	// the reference and a more accurate solution. To compute the more accurate solution,
	// the tolerance of reference.Accurate is divided by 1000. The tolerance of any other
	// reference is divided by 100, or its step size by 10. The reference may step over a
	// pulse of f. If a solution with many equal steps shows a pulse that the reference
	// misses, OwnD is at least the discrepancy D between this solution and the reference.
	// OwnD is NaN if the solver fails with the smaller tolerance or step size.
	OwnD float64

	// Found says whether Theta is a mode. If Found is false, the climb ended before it
	// reached a mode.
	Found bool

	Err string // why nothing is known at this mode; empty if there is a result
}

const (
	// limitD is the largest discrepancy D of a certificate.
	limitD = 0.5
	// vanished is the length of a climb, in standard deviations, from which on the
	// reference posterior is taken to have no mode near its start.
	vanished = 5
	// Setups with D < noDifference differ only by rounding.
	noDifference = 1e-12
	// A shift away from the mode replaces the bound if it is at least `noticed` and more
	// than `beyond` times the bound.
	beyond, noticed = 1.5, 0.01
	// Modes with a mass of at most `minor` are ignored.
	minor = 0.01
)

type verdict int

// The verdicts are listed in order of decreasing severity.
const (
	failed    verdict = iota // nothing is known there
	unreached                // the climb reached no mode
	inexact                  // the reference is not accurate enough
	nonlinear                // D is above ½
	phantom                  // the reference has no mode there
	different                // the setups differ away from the mode
	above                    // the bound is above the threshold
	certified
)

func (m *AtMode) verdict(threshold float64) verdict {
	switch {
	case m.Err != "":
		return failed
	case !m.Found:
		return unreached
	case !(m.OwnD <= threshold/10):
		return inexact
	case !(m.D <= limitD):
		return nonlinear
	case !(m.Moved < vanished):
		return phantom
	case !(m.Bound < threshold) && m.Where != nil:
		return different
	case !(m.Bound < threshold):
		return above
	}
	return certified
}

// Worst returns the index of the mode with the worst verdict for the given threshold.
// Among modes with the same verdict, Worst chooses the one with the largest bound.
func (c *Certificate) Worst(threshold float64) int {
	at := 0
	for i := range c.Modes {
		m, w := &c.Modes[i], &c.Modes[at]
		if a, b := m.verdict(threshold), w.verdict(threshold); a < b || a == b && m.Bound > w.Bound {
			at = i
		}
	}
	return at
}

// Certified reports whether, at each of the modes, every parameter is certified to move
// by less than the threshold. The argument `threshold` is a number of standard
// deviations. Certified requires at each mode that Bound is below the threshold, that D
// is at most ½, and that OwnD is at most a tenth of the threshold. Certified also
// requires that the reference posterior has a mode near each point at which a climb
// began.
func (c *Certificate) Certified(threshold float64) bool {
	return len(c.Modes) > 0 && c.Modes[c.Worst(threshold)].verdict(threshold) == certified
}
