package assess

// These constants are the limits that determine verdicts.
const (
	// Warnings about α and σ are based on confidence intervals, and so are the notes on
	// remedies. The constant `decisive` is half the width of these intervals, in Monte
	// Carlo standard errors.
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
	// runs. The constant `astray` is the largest permitted difference between the two
	// estimates of an effect, in standard errors of the estimate from two runs. The
	// probability that chance alone causes a larger difference is 1/16,000.
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
	// A mode of one posterior is a phantom mode or a missed mode if the corresponding
	// mode of the other posterior has less than a tenth of its mass.
	counterpart = 0.1
	// A part of the posterior is judged separately if its share of the mass is at least
	// judgedPart. A smaller part would have too few draws. The certificate checks the
	// modes of the smaller parts, too.
	judgedPart = 0.05
	// If a mode without draws could shift the mean or the sd by more than unvisitedSize
	// times the threshold, there is no verdict on the mean and the sd.
	unvisitedSize = 0.5

	// referenceDraws is the number of draws from the reference posterior at which the
	// reference's own error is measured.
	referenceDraws = 100
	// The reference is trusted only if the fraction of weighted draws at which it fails
	// is at most mostFailed.
	mostFailed = 0.01
	// mostMissed is the largest share of the mass of the reference posterior that may lie
	// in regions without draws. If a tail with 0.5 % of the mass is cut off from a
	// Gaussian distribution, the sd decreases by 2 %.
	mostMissed = 0.005

	// Between two neighbouring steps, α* should change by a factor of at most alphaSteps.
	// Between the mode and a draw from the posterior, α* should change by a factor of at
	// most alphaTheta. The noise is proportional to the square root of α.
	alphaSteps, alphaTheta = 2, 4
	// If the relative error of a solution is above roughPath, the observed order of
	// convergence has no meaning. If the relative error is below smallestPath, rounding
	// errors may distort the observed order.
	roughPath, smallestPath = 0.1, 1e-8

	// mostLooks is the largest number of interim analyses.
	mostLooks = 4
	// growth is the default budget, as a multiple of the number of draws in the first
	// analysis.
	growth = 8
)
