package certify

import "github.com/probode/probode/pkg/probode"

// A Certificate bounds, without sampling, how much a posterior changes if a Setup takes
// the place of a reference. At a mode of the reference's posterior, let m be the expected
// values of the data, G = ∂m/∂u their derivative with respect to the parameters, and δ
// the difference between the expected values of the two solvers. Let W be the Fisher
// information of the likelihood about m, which is 1/σ² for a Gaussian error:
//
//	D² = δᵀWδ,   Δu = −C GᵀWδ,   C⁻¹ = GᵀWG + precision of the prior.
//
// To first order Δu is the shift of the posterior's mode, and also of its mean. Since C
// GᵀWG C ≼ C, no parameter moves by more than D standard deviations, or √2 D if the
// likelihood has unknown parameters of its own, such as σ. If the data barely distinguish
// the effects of these parameters from those of the others, the bound is larger. The
// standard deviations are those of the Gaussian with covariance C at the mode. The
// posterior may be wider or narrower.
//
// Suppose that the log density of the data has kinks, as with Laplace errors. Then data
// close to their kinks move the posterior more than their Fisher information suggests,
// and the other data move it less. Δu then uses the mean curvature of each datum over the
// posterior in place of W. The bound then assumes the worst case, in which the solver's
// error affects those data that move the posterior most. It is about ¾ (n/p)^¼ D for n
// data values and p parameters.
//
// The solver's error in G, times the residuals of the data, also moves the mode. This
// shift averages to zero over data sets, and is included only if the data are farther
// from the model than their errors allow.
//
// Everything so far follows from computations at the mode. Away from the mode the two
// setups are compared along lines and at draws from the prior. If the difference between
// the means of the two densities is clearly larger than the bound computed at the mode,
// the difference replaces that bound.
//
// The two setups predict different distributions of the data. The total variation
// distance between these is 2Φ(D/2) − 1, and the Kullback–Leibler divergence is D²/2;
// both are exact for Gaussian errors.
//
// A Certificate bounds shifts, but not changes in width, and says nothing about modes
// other than those that were checked. Above D = ½ the shift is no longer linear, and
// nothing is certified.
type Certificate struct {
	Setup, Reference string   // how the equations were solved, in words
	Names            []string // names of all parameters, as in Theta
	Params           []string // names of the assessed parameters, as in Shift

	Method    string            // method of Setup
	StepSize  float64           // step size of Setup; zero under error control
	Tolerance probode.Tolerance // tolerance of Setup; zero for equal steps

	// Modes are the modes of the reference's posterior that were checked.
	Modes []AtMode

	Seconds float64
}

// AtMode is the part of a Certificate that concerns one mode.
type AtMode struct {
	Theta []float64 // mode of the reference's posterior, all parameters
	From  []float64 // point at which the climb to Theta began

	// Moved is the largest difference between From and Theta in any parameter, in
	// standard deviations. If it is below 5, the solver's error is assumed to have moved
	// the mode. Otherwise the reference is assumed to have no mode near From.
	Moved float64

	D     float64
	Bound float64   // upper bound on the shift of every parameter, in standard deviations
	Shift []float64 // by parameter as in Params, Setup minus reference, in units of SD
	SD    []float64 // by parameter as in Params, of the Gaussian at the mode
	TV    float64   // total variation between the predictive distributions, at most 1
	KL    float64   // Kullback–Leibler divergence between them

	// Misfit is the part of Bound that the residuals cause if the model does not explain
	// the data. It is zero if the model explains them.
	Misfit float64

	// Where is nil unless Bound comes from a comparison away from the mode. It is the
	// point at which the densities differ most. Differ is the difference between the log
	// densities at Where, Setup minus reference, each relative to its value at the mode.
	// It is −∞ if only the Setup fails there, and +∞ if only the reference fails.
	Where  []float64
	Differ float64

	// Unsolved is a point away from the mode at which neither the reference nor the Setup
	// can solve the equations, for example because the solution ceases to exist. Both
	// densities are taken to be zero there. It is nil if there is no such point.
	Unsolved []float64

	// OwnD is the reference's own error: D between the reference and a more accurate
	// solution. That solution uses a smaller tolerance than the reference (a thousandth
	// for reference.Accurate, a hundredth otherwise) or, on equal steps, a tenth of the
	// step. If many equal steps detect a pulse that the reference steps over, OwnD is at
	// least D between the reference and the solution with these steps. OwnD is NaN if the
	// more accurate solution fails.
	OwnD float64

	// Found says whether Theta is a mode. If not, the climb ended before it reached one.
	Found bool

	Err string // why nothing is known at this mode; empty if there is a result
}

const (
	// limitD is the D above which nothing is certified.
	limitD = 0.5
	// The constant vanished is a distance in standard deviations. If a climb covers this
	// distance or more, the reference is taken to have no mode where the climb began.
	vanished = 5
	// noDifference is the D below which two setups differ only by rounding errors.
	noDifference = 1e-12
	// The constants beyond and noticed are limits for a shift that is found away from the
	// mode. The shift replaces the bound if it is at least as large as the constant
	// noticed, and exceeds the bound by more than the factor given by the constant
	// beyond.
	beyond, noticed = 1.5, 0.01
	// The constant minor is a mass. Modes with this mass or less are ignored.
	minor = 0.01
)

// A verdict says whether a mode is certified, and if not, why.
type verdict int

// The verdicts, in order of decreasing gravity.
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

// The method verdict() returns the verdict on m for a threshold.
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

// Worst returns the index of the mode with the worst verdict for a threshold. Among modes
// with the same verdict it takes the one with the largest bound.
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
// standard deviations at each of the modes. This requires that at each mode the bound is
// below the threshold, D is at most ½, the reference's own D is at most a tenth of the
// threshold, and the reference has a mode where the climb began.
func (c *Certificate) Certified(threshold float64) bool {
	return len(c.Modes) > 0 && c.Modes[c.Worst(threshold)].verdict(threshold) == certified
}
