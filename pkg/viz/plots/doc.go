// Package plots turns results into figures of package viz. There is a function for each
// kind of figure:
//
//	Paths, Bands        an ensemble of solutions, with a reference
//	Traces, Ranks       chains, to see whether they can be trusted
//	Pairs, Marginals    posteriors of several runs beside each other
//	PriorPosterior      posteriors over their priors
//	Predictive          data over the predictions of the model
//	Assessment          the effect of the solver's error on a posterior
//	Calibration         ranks of simulation-based calibration
//
// You can change the title, panels and size of a figure before you show it.
package plots
