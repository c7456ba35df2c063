// Package assess measures how the error of a solver changes a posterior.
//
// Run takes a list of step sizes or tolerances, called the ladder. For each step size or
// tolerance, Run draws from a bayes.Posterior twice: once as if the solver were exact,
// and once with a model that includes the solver's error. Run then compares the draws
// with the reference posterior, which is computed with an accurate solver. The result of
// the comparison is a verdict for each step. Package certify bounds the effect of the
// solver's error without sampling.
//
// # Gradients
//
// For some posteriors a random-walk sampler takes too long. If sample.Choose recommends a
// sampler that uses gradients, Run samples only one posterior, which is computed with an
// accurate solver. Run then computes weights for the draws: one set of weights for the
// reference posterior, and one set for each step size or tolerance. A thousand effective
// draws are usually enough for a verdict. Reweighting works only if the posterior for a
// step size is close to the reference posterior and has the same modes. If reweighting
// fails for a step size, Run also draws from the posterior computed with this step size.
// If reweighting succeeds for a step size, Run does not try noise in the model at this
// step size. Run tries no remedies if reweighting succeeds for one or more step sizes. If
// no sampler is fast enough for the reference posterior, Run compares log likelihoods at
// the points that a random walk visits. This comparison gives a bound on the effect of
// the solver's error: see Bound.
//
// # Tolerances
//
// With Settings.Tolerances, the solver chooses its steps separately for every θ, as
// adaptive solvers usually do when they are used in a likelihood. Under error control,
// the log likelihood jumps where a step changes from accepted to rejected; Report.Profile
// shows these jumps. One of the remedies is to freeze the steps: they are chosen only
// once, at the mode. Frozen steps give a smooth likelihood. With explicit methods, frozen
// steps also cost less than steps that are chosen for every θ.
//
// # Remedies
//
// Report.Remedies lists ways to reduce the effect of the solver's error. The effect and
// the cost of each remedy are measured on the given model. The remedies are a smaller
// step or tolerance, another solver, frozen steps, reweighting, noise in the model, and
// delayed acceptance. In delayed acceptance, the coarse solver screens the proposals
// before a more accurate solver is used. The report recommends the cheapest remedy that
// brings the effect of the solver's error below the threshold. Noise in the model is
// recommended only if inference with noise has a smaller error than inference without
// noise at the same step. Noise in the model often makes the results worse, because noise
// with mean zero does not correct a systematic error.
package assess
