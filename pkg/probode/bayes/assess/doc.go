// Package assess measures how the error of a solver changes a posterior.
//
// Run takes a list of step sizes or tolerances, called the ladder. With each of them it
// samples a bayes.Posterior twice: once as if the solver were exact, and once with the
// solver's error in the model. It compares both results with the reference posterior,
// which an accurate solver defines, and reaches a verdict for each step. Package certify
// bounds the effect without sampling.
//
// # Gradients
//
// A random walk does not sample every posterior in a reasonable time. If sample.Choose
// recommends a sampler with gradients, Run draws from the accurate posterior only, and
// gives these draws weights for each step. The posterior computed with the step and the
// accurate posterior then share the draws, and a thousand effective draws are usually
// enough for a verdict. If the posterior computed with a step has modes of its own, or is
// too far from the accurate posterior for reweighting, Run samples it separately. At
// steps that share the draws of the accurate posterior, Run tries neither noise in the
// model nor remedies. If no sampler handles the accurate posterior, Run bounds the effect
// at the points that a random walk reaches: see Bound.
//
// # Tolerances
//
// With Settings.Tolerances the solver chooses its steps anew at every θ, as adaptive
// solvers inside likelihoods do. Its log likelihood jumps where a step changes from
// accepted to rejected; Report.Profile shows that. Steps frozen at the mode give a smooth
// likelihood and are among the remedies. With explicit methods they cost less than error
// control at every θ.
//
// # Remedies
//
// Report.Remedies lists what could be done about the solver's error. The effect and the
// cost of each remedy are measured on the given model. The remedies are a smaller step or
// tolerance, another solver, frozen steps, reweighting, noise in the model, and delayed
// acceptance, in which the coarse solver screens the proposals for a finer solver or for
// the accurate one. The cheapest remedy that meets the threshold is recommended. Noise in
// the model is not recommended if it gives worse results than ignoring the error. This
// often happens, because noise with mean zero does not undo an error that always has the
// same sign.
package assess
