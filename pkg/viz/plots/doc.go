// Package plots turns results into figures of package viz, one call for each:
//
//	Paths, Bands        an ensemble of solutions, with a reference
//	Traces, Ranks       chains, to see whether they may be believed
//	Pairs, Marginals    posteriors of several runs beside each other
//	PriorPosterior      what the data have added to the prior
//	Predictive          what the model expects of the data
//	Assessment          what the solver's error does to a posterior
//	Calibration         ranks of simulation-based calibration
//
// A figure is a value, which may be changed before it is shown: its title, its
// panels, its size.
package plots
