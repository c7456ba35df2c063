// Package matching contains two methods of inference that do not solve the differential
// equation: gradient matching with Gaussian processes, and generalised smoothing. Teymur
// et al. argue against older versions of both methods [T18, §1]. The package provides
// modern versions for comparison.
//
// GaussianProcess returns a density in which the path is a Gaussian process fitted to the
// data, and the equation x′ = f is treated as additional data about this path. Smooth fits a spline x to the data with a penalty on x′ − f.
//
// References: [T18] Teymur, Lie, Sullivan & Calderhead, NeurIPS 2018; [D13] Dondelinger,
// Husmeier, Rogers & Filippone, AISTATS 2013; [W19] Wenk et al., AISTATS 2019; [Y21]
// Yang, Wong & Kou, PNAS 118, e2020397118; [R07] Ramsay, Hooker, Campbell & Cao, Journal
// of the Royal Statistical Society B 69, 741.
package matching
