// Package assess answers what the error of a solver does to a posterior, and
// checks samplers.
//
// Run samples a bayes.Posterior with each of a ladder of steps, or of tolerances,
// once as if the solver were exact and once with its error in the model, sets both
// against the reference posterior, that of an accurate solver, and judges: plan,
// run, weigh, judge, report. Certify bounds the same without sampling, in
// milliseconds for each mode, and LargestEnough finds the setting that is enough.
// SBC is simulation-based calibration of a sampler.
//
// # Tolerances
//
// With Settings.Tolerances what is judged is a solver that chooses its steps again
// at every θ, as adaptive solvers inside likelihoods do. Its log likelihood jumps
// where a step is taken or rejected, which Profile shows. Steps frozen at the mode
// are smooth, cost less with explicit methods, and are among the remedies.
//
// # Remedies
//
// Report.Remedies lists what could be done about the solver's error, each with its
// effect and cost as measured on the model at hand: a smaller step or tolerance,
// another solver, frozen steps, reweighting, delayed acceptance before a finer or the
// accurate solver, and noise in the model. The cheapest that reaches the threshold is
// recommended. Noise in the model is never recommended where it is worse than
// nothing, which is often: noise of mean zero does not undo an error that keeps its
// sign.
package assess
