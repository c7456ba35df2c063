// Package assess answers what the error of a solver does to a posterior, and
// checks samplers.
//
// Run samples a bayes.Posterior with each of a ladder of steps, once as if the
// solver were exact and once with its error in the model, sets both against the
// reference posterior, that of an accurate solver, and judges: plan, run, weigh,
// judge, report. SBC is simulation-based calibration of a sampler.
package assess
