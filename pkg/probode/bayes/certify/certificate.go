package certify

import "github.com/probode/probode/pkg/probode"

// A Certificate bounds what the difference between a Setup and a reference does to a
// posterior, without sampling. At a mode of the reference's posterior let δ be the
// difference between the values of the data that the two expect, and W the Fisher
// information of the likelihood on these values, 1/σ² for a Gaussian error:
//
//	D² = δᵀWδ,   Δu = −C GᵀWδ,   C⁻¹ = GᵀWG + precision of the prior.
//
// To first order Δu is the shift of the posterior's mode, and with it of its mean; G is
// the derivative of the expected values. Since C GᵀWG C ≼ C, no parameter moves by more
// than D standard deviations, or √2 D if the likelihood has unknown parameters of its
// own, such as σ. The standard deviations are those of the Gaussian with covariance C at
// the mode. The posterior may be wider or narrower.
//
// If the log density of the data has kinks, as with Laplace errors, data close to their
// kinks move the posterior more than their information says, and the others less. Δu
// then uses the curvatures expected over the posterior in place of W. The bound assumes
// that the error is at the data with the largest effect; it is about ¾ (n/p)^¼ D for n
// data and p parameters.
//
// The error of G, times the residuals of the data, also moves the mode. It is zero on
// average over data, and is included only if the data are farther from the model than
// their errors allow.
//
// All of this is known from the mode alone. Away from the mode both setups are compared
// along lines and at draws of the prior. If the means of the two densities differ there
// by more than D says, the bound is that difference.
//
// Between the distributions of data that the two predict, the total variation is
// 2Φ(D/2) − 1 and the Kullback–Leibler divergence D²/2, both exact for Gaussian errors.
//
// A Certificate bounds shifts and not widths, and says nothing about modes other than
// those that were checked. Above D = ½ the shift is no longer linear, and nothing is
// certified.
type Certificate struct {
	Setup, Reference string   // how the equations were solved, in words
	Names            []string // of all parameters, as in Theta
	Params           []string // of the assessed parameters, as in Shift

	Method    string            // of Setup
	StepSize  float64           // of Setup; zero under error control
	Tolerance probode.Tolerance // of Setup; zero for equal steps

	// Modes are the modes of the reference's posterior that were checked.
	Modes []AtMode

	Seconds float64
}

// AtMode is what a Certificate says at one mode.
type AtMode struct {
	Theta []float64 // mode of the reference's posterior, all parameters
	From  []float64 // where the climb to it began

	// Moved is the largest distance of a parameter between From and Theta, in standard
	// deviations: a few if the solver's error has moved the mode, and many if the
	// reference has no mode there.
	Moved float64

	D     float64
	Bound float64   // no parameter moves by more standard deviations
	Shift []float64 // of each of Params, coarse minus reference, in SD
	SD    []float64 // of each of Params, of the Gaussian at the mode
	TV    float64   // total variation between the predictive distributions, at most 1
	KL    float64   // Kullback–Leibler divergence between them

	// Misfit is the part of Bound that the residuals cause if the model does not explain
	// the data; zero if it does.
	Misfit float64

	// Where is nil unless the means differ away from the mode by more than D says. It is
	// the point at which the densities differ most, and Differ is the difference of the
	// log densities there, coarse minus reference, each less that at the mode: −∞ if only
	// the Setup fails, +∞ if only the reference does.
	Where  []float64
	Differ float64

	// OwnD is the reference's own error: D between it and a solution with a tolerance a
	// thousand times smaller, or a step ten times smaller, or D between it and many equal
	// steps if these see a pulse that it steps over. It is NaN if the finer solution fails.
	OwnD float64

	// Found says whether Theta is a mode. If not, the climb ended on the way to one.
	Found bool

	Err string // why nothing is known at this mode; empty otherwise
}

const (
	// limitD is the D above which nothing is certified.
	limitD = 0.5
	// vanished is the distance in standard deviations from which a mode of the
	// reference is not the mode at which the climb began.
	vanished = 5
	// noDifference is the D below which two setups differ by rounding only.
	noDifference = 1e-12
	// A shift seen away from the mode replaces the bound if it is larger by the factor
	// beyond, and at least noticed.
	beyond, noticed = 1.5, 0.01
	// minor is the mass up to which a mode is ignored.
	minor = 0.01
)

// A verdict says whether a mode is certified, and if not, why.
type verdict int

// The reasons, the gravest first.
const (
	failed    verdict = iota // nothing is known there
	unreached                // no mode was reached
	inexact                  // the reference is not accurate enough
	nonlinear                // D is above ½
	phantom                  // the reference has no mode there
	different                // the setups differ away from the mode
	above                    // the bound is above the threshold
	certified
)

// verdict returns the verdict for a threshold.
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

// Worst returns the index of the mode that decides for a threshold: the one that is not
// certified for the gravest reason, and among equals the one with the largest bound.
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

// Certified reports whether every parameter is certified to move by less than threshold
// standard deviations at each of the modes: the bound is below the threshold, D is at
// most ½, the reference's own D is at most a tenth of the threshold, and the reference
// has a mode where the climb began.
func (c *Certificate) Certified(threshold float64) bool {
	return len(c.Modes) > 0 && c.Modes[c.Worst(threshold)].verdict(threshold) == certified
}
