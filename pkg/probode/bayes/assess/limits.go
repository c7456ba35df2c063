package assess

// The numbers by which verdicts are reached.
const (
	// decisive is the number of Monte Carlo standard errors from which something counts as
	// seen that is no verdict.
	decisive = 2
	// mixed and fewest are the R̂ above which, and the effective draws below which, standard
	// errors are not believed.
	mixed, fewest = 1.05, 50
	// wellMixed is the R̂ above which, and fewEach the effective draws of each chain below
	// which, a run gets a warning.
	wellMixed, fewEach = 1.01, 100
	// mostFailing is the share of failed solves above which a run gets a warning.
	mostFailing = 0.01
	// astray is the number of standard errors of the difference of two runs by which the
	// weights of one may contradict it. That happens by chance once in 16,000 times.
	astray = 4

	// listed is the mass from which a mode is listed, and minor the one from which its
	// draws and its counterpart are checked. From wrongMass on, a mode that only one of
	// two posteriors has makes them different, whatever the threshold; below rightMass it
	// moves no median and no central interval by as much as matters. Between the two there
	// is no verdict, so that the Monte Carlo error of a mass does not decide.
	listed, minor        = 1e-4, 0.01
	rightMass, wrongMass = 0.005, 0.02
	// counterpart is the least share of a mode's mass that its counterpart has.
	counterpart = 0.1
	// judgedPart is the share of the posterior from which a part is judged by itself. A
	// smaller part has too few draws; the certificate checks its mode.
	judgedPart = 0.05
	// unvisitedSize is the move of a mean or sd, in thresholds, from which a mode without
	// draws leaves both undecided.
	unvisitedSize = 0.5

	// khatLimit is the largest k̂ that is trusted for any number of draws.
	khatLimit = 0.7
	// referenceDraws is the number of draws of the reference posterior at which its own
	// error is measured.
	referenceDraws = 100
	// mostFailed is the share of the weighed draws at which the reference may fail without
	// doubt about the posterior that is left.
	mostFailed = 0.01
	// mostMissed is the share of the reference posterior that the draws behind it may
	// miss: cut off from a Gaussian one it makes the sd smaller by 2 %.
	mostMissed = 0.005

	// alphaSteps and alphaTheta are the factors by which α* may differ between neighbouring
	// steps, and between the mode and draws of the posterior. The noise grows with the
	// root of α.
	alphaSteps, alphaTheta = 2, 4
	// roughPath is the relative error of a path above which its order means nothing, and
	// smallestPath the one below which rounding takes part.
	roughPath, smallestPath = 0.1, 1e-8
)
