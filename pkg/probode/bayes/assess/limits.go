package assess

// These constants are the limits that determine verdicts.
const (
	// For notes on remedies and for warnings about α and σ, an interval extends
	// `decisive` Monte Carlo standard errors to either side of the estimate.
	decisive = 2
	// Standard errors are not trusted if R̂ is above the constant `mixed`, or if the
	// number of effective draws is below the constant `fewest`.
	mixed, fewest = 1.05, 50
	// A run gets a warning if R̂ is above the constant `wellMixed`, or if the number of
	// effective draws per chain is below the constant `fewEach`.
	wellMixed, fewEach = 1.01, 100
	// mostFailing is the share of failed solves above which a run gets a warning.
	mostFailing = 0.01
	// An effect is estimated twice: from weights, and from the difference between two
	// runs. The constant `astray` is the largest permitted difference between these two
	// estimates, in standard errors of the second estimate. The probability that chance
	// alone causes a larger difference is 1/16,000.
	astray = 4

	// A mode is listed if its mass is above the value of the constant `listed`. If the
	// mass of a mode is above the constant `minor`, the share of the draws in this mode
	// is checked. If a mode with a mass above wrongMass exists in only one of the two
	// posteriors, the verdict is Matters for any threshold. A mode with a mass below
	// rightMass cannot move a median or a central interval far enough to matter. If the
	// mass is between rightMass and wrongMass, there is no verdict, because a verdict
	// could depend on the Monte Carlo error of the mass.
	listed, minor        = 1e-4, 0.01
	rightMass, wrongMass = 0.005, 0.02
	// A mode counts as a phantom or as missed if the mass of its counterpart is less than
	// this fraction of the mode's own mass.
	counterpart = 0.1
	// A part of the posterior is judged separately if its share of the mass is at least
	// judgedPart. A smaller part would have too few draws, but the certificate still
	// checks its mode.
	judgedPart = 0.05
	// A mode without draws could shift a mean or an sd. If this shift could be larger
	// than unvisitedSize times the threshold, there is no verdict on the mean and the sd.
	unvisitedSize = 0.5

	// referenceDraws is the number of draws from the reference posterior at which the
	// reference's own error is measured.
	referenceDraws = 100
	// The reference is trusted only if the fraction of weighted draws at which it fails
	// is at most mostFailed.
	mostFailed = 0.01
	// mostMissed is the largest share of the mass of the reference posterior that may lie
	// in regions without draws. If a Gaussian distribution loses one tail of this mass,
	// its sd becomes 2 % smaller.
	mostMissed = 0.005

	// The values of α* at two neighbouring steps may differ by a factor of at most
	// alphaSteps. The values of α* at the mode and at a draw from the posterior may
	// differ by a factor of at most alphaTheta. The noise is proportional to the square
	// root of α.
	alphaSteps, alphaTheta = 2, 4
	// If the relative error of a solution is above roughPath, the observed order of
	// convergence has no meaning. If the relative error is below smallestPath, rounding
	// errors may distort the observed order.
	roughPath, smallestPath = 0.1, 1e-8

	// mostLooks is the largest number of interim analyses.
	mostLooks = 4
	// The constant `growth` is the default budget, as a multiple of the number of draws
	// in the first analysis.
	growth = 8
)
