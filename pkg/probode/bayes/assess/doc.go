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
// For the model at hand Report.Remedies lists what could be done, each as it was
// measured here: a smaller step or tolerance, another solver, frozen steps,
// extrapolation in h, reweighting, delayed acceptance before a finer or the
// accurate solver, noise in the model, and error variances by isotonic regression
// [Matsuda & Miyatake 2021]. The cheapest that reaches the threshold is
// recommended. The last two make a model that has room for the solver's error: they
// are never recommended where they are worse than nothing, which is often. An error
// that keeps its sign is not undone by noise of mean zero; nor by variances, which,
// where the size of the data's errors is unknown, take that for the solver's.
//
// Extrapolate takes means and standard deviations to h = 0 by the order of the
// method, as probabilistic Richardson extrapolation does [Teymur et al. 2021; Oates
// et al. 2024], and says where that order does not show. It stands beside the
// reference posterior, and in its place where that is out of reach.
package assess
