// Package assess measures how the error of a solver changes a posterior.
//
// Run takes a list of step sizes or tolerances, called the ladder. For each step size or
// tolerance, Run draws from a bayes.Posterior twice: once as if the solver were exact,
// and once with a model that includes the solver's error. Run compares both results with
// the reference posterior, which is computed with an accurate solver, and reaches a
// verdict for each step. Package certify bounds the effect of the solver's error without
// sampling.
//
// # Gradients
//
// For some posteriors a random-walk sampler takes too long. If sample.Choose recommends a
// sampler that uses gradients, Run draws from the accurate posterior only, and reweights
// the draws for each step size or tolerance. The weighted draws represent the posterior
// computed with this step size or tolerance, and the unweighted draws represent the
// accurate posterior. A thousand effective draws are usually enough for a verdict.
// Reweighting fails if the posterior computed with a step size is too far from the
// accurate posterior, or has modes that the accurate posterior does not have. If
// reweighting fails for a step size, Run also draws from the posterior computed with this
// step size. If reweighting succeeds for a step size, Run does not try noise in the model
// or the remedies. If no sampler is fast enough for the accurate posterior, Run compares
// log likelihoods at the points that a random walk visits. This comparison gives a bound
// on the effect of the solver's error: see Bound.
//
// # Tolerances
//
// With Settings.Tolerances, the solver chooses its steps separately for every θ, as
// adaptive solvers usually do when they are used in a likelihood. Under error control,
// the log likelihood jumps where a step changes from accepted to rejected; Report.Profile
// shows these jumps. One of the remedies is to choose the steps only once, at the mode,
// which gives a smooth likelihood. With explicit methods, using such frozen steps costs
// less than choosing the steps for every θ.
//
// # Remedies
//
// Report.Remedies lists ways to reduce the effect of the solver's error. The effect and
// the cost of each remedy are measured on the given model. The remedies are a smaller
// step or tolerance, another solver, frozen steps, reweighting, noise in the model, and
// delayed acceptance. In delayed acceptance, the coarse solver screens the proposals for
// a finer or an accurate solver. The report recommends the cheapest remedy that brings
// the effect of the solver's error below the threshold. Noise in the model is recommended
// only if inference with noise has a smaller error than inference without noise at the
// same step. Noise in the model often makes the results worse, because noise with mean
// zero does not correct a systematic error.
package assess
