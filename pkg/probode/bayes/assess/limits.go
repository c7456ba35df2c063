package assess

// These constants are the limits that determine verdicts.
const (
	// Warnings about α and σ are based on confidence intervals. The constant `decisive` is
	// half the width of these intervals, in Monte Carlo standard errors.
	decisive = 2
	// Standard errors are trusted for R̂ ≤ mixed and at least `fewest` effective draws.
	mixed, fewest = 1.05, 50
	// A run gets a warning for R̂ > wellMixed, or below fewEach effective draws per
	// chain.
	wellMixed, fewEach = 1.01, 100

	// Draws are not those of a posterior if the mean slope of its log density is more than
	// mostStray standard errors from zero. The standard errors are those of independent draws.
	mostStray = 8

	// A mode is listed above the mass `listed`; above `minor`, its share of the draws is
	// checked. If only one posterior has it, it matters for any threshold above
	// wrongMass, and below rightMass cannot move a median or a central interval far
	// enough. In between, a verdict could depend on the Monte Carlo error of the mass.
	listed, minor        = 1e-4, 0.01
	rightMass, wrongMass = 0.005, 0.02
	// A mode is a phantom or missed if its counterpart has less than a tenth of its mass.
	counterpart = 0.1
	// Parts with less than the share judgedPart of the mass would have too few draws. The
	// certificate checks their modes, too.
	judgedPart = 0.05
	// The errors of mean and sd are not known if a mode that was found has no draws and
	// could shift them by more than unvisitedSize times the threshold.
	unvisitedSize = 0.5

	// The error of the reference is measured at referenceDraws draws, and at most the share
	// mostFailed of the weighted draws may fail.
	referenceDraws = 100
	// mostMissed is the largest share of the mass of the reference posterior that may lie
	// in regions without draws. If a tail with 0.5 % of the mass is cut off from a
	// Gaussian distribution, the sd decreases by 2 %.
	mostMissed = 0.005

	// A given α should differ from the calibrated one by a factor of at most alphaGiven.
	// The noise is proportional to the square root of α.
	alphaGiven = 4

	// The draws are looked at up to mostLooks times, and doubled in between. Repeated
	// looks are more likely than a single one to report an effect that does not exist, so
	// each look uses the confidence level 1 − (1 − Confidence)/mostLooks [Bonferroni].
	// The candidates are not looked at before the chains of the reference posterior have
	// mixed. growth is the default budget, as a multiple of the initial number of draws.
	mostLooks, growth = 4, 16
)
