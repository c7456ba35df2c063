package assess

// These constants are the limits that determine verdicts.
const (
	// decisive is half the width of the confidence intervals for warnings and notes on
	// remedies, in Monte Carlo standard errors.
	decisive = 2
	// Standard errors are trusted for R̂ ≤ mixed and at least `fewest` effective draws.
	mixed, fewest = 1.05, 50
	// A run gets a warning for R̂ > wellMixed, or below fewEach effective draws per
	// chain.
	wellMixed, fewEach = 1.01, 100
	// mostFailing is the share of failed solves above which a run gets a warning.
	mostFailing = 0.01
	// astray is the largest difference between the two estimates of an effect, by weights
	// and by runs, in standard errors of the latter. Chance alone exceeds it with
	// probability 1/16,000.
	astray = 4

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
	// There is no verdict on mean and sd if a mode without draws could shift them by more
	// than unvisitedSize times the threshold.
	unvisitedSize = 0.5

	// The error of the reference is measured at referenceDraws draws, and at most the share
	// mostFailed of the weighted draws may fail.
	referenceDraws = 100
	mostFailed     = 0.01
	// mostMissed is the largest share of the reference posterior without draws. A
	// Gaussian without a tail of 0.5 % has an sd that is 2 % smaller.
	mostMissed = 0.005

	// alphaSteps and alphaTheta are the factors by which α* should change at most from
	// step to step, and from the mode to a draw. The noise is proportional to √α.
	alphaSteps, alphaTheta = 2, 4
	// Observed orders have no meaning above the relative error roughPath, and suffer from
	// rounding below smallestPath.
	roughPath, smallestPath = 0.1, 1e-8

	// mostLooks limits the interim analyses.
	mostLooks = 4
	// growth is the default budget in multiples of the first number of draws.
	growth = 8
)
