package assess

// The limits that determine verdicts.
const (
	// decisive is the number of Monte Carlo standard errors above which an effect counts
	// as detected, for remarks that are not verdicts.
	decisive = 2
	// mixed and fewest are the R̂ above which, and the effective draws below which,
	// standard errors are not trusted.
	mixed, fewest = 1.05, 50
	// wellMixed is the R̂ above which, and fewEach the effective draws of each chain below
	// which, a run gets a warning.
	wellMixed, fewEach = 1.01, 100
	// mostFailing is the share of failed solves above which a run gets a warning.
	mostFailing = 0.01
	// astray is the largest permitted deviation of an estimate from weights from the
	// difference of two runs, in standard errors of that difference. A larger one occurs
	// by chance once in 16,000 times.
	astray = 4

	// A mode is listed if its mass is above listed; above minor, its draws and its
	// counterpart are checked. If its mass is above wrongMass and only one of two
	// posteriors has it, they count as different for any threshold. Below rightMass it
	// cannot move a median or a central interval by as much as matters. Between the two
	// there is no verdict, so that the Monte Carlo error of a mass does not decide.
	listed, minor        = 1e-4, 0.01
	rightMass, wrongMass = 0.005, 0.02
	// counterpart is the least share of a mode's mass that its counterpart has.
	counterpart = 0.1
	// judgedPart is the share of the posterior above which a part is judged by itself. A
	// smaller part has too few draws; the certificate checks its mode.
	judgedPart = 0.05
	// unvisitedSize is the shift of a mean or sd, in units of the threshold, above which a
	// mode without draws makes both undecided.
	unvisitedSize = 0.5

	// khatLimit is the largest k̂ that is trusted for any number of draws.
	khatLimit = 0.7
	// referenceDraws is the number of draws of the reference posterior at which its own
	// error is measured.
	referenceDraws = 100
	// mostFailed is the largest share of the weighed draws at which the reference may
	// fail.
	mostFailed = 0.01
	// mostMissed is the largest share of the reference posterior that its draws may miss.
	// If this share of a Gaussian is cut off, the sd becomes smaller by 2 %.
	mostMissed = 0.005

	// alphaSteps and alphaTheta are the factors by which α* may differ between
	// neighbouring steps, and between the mode and draws of the posterior. The noise is
	// proportional to the square root of α.
	alphaSteps, alphaTheta = 2, 4
	// roughPath is the relative error of a path above which its order has no meaning, and
	// smallestPath the error below which rounding matters.
	roughPath, smallestPath = 0.1, 1e-8

	// mostLooks is the largest number of interim analyses.
	mostLooks = 4
	// growth is the budget in draws, in units of those of the first analysis, if none is
	// given.
	growth = 8
)
