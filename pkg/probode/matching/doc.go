// Package matching has two methods of inference that do not solve the equation: gradient
// matching with Gaussian processes, and generalised smoothing. They are modern versions
// of the methods that the paper argues against [T18, §1], and are provided for
// comparison.
//
// GaussianProcess turns a model into a posterior in which the path is a Gaussian process
// fitted to the data, and x′ = f is a second set of data about this path. Smooth fits a
// spline to the data with a penalty on x′ − f.
//
// References: [T18] Teymur, Lie, Sullivan & Calderhead, NeurIPS 2018; [D13] Dondelinger,
// Husmeier, Rogers & Filippone, AISTATS 2013; [W19] Wenk et al., AISTATS 2019; [Y21] Yang,
// Wong & Kou, PNAS 118, e2020397118; [R07] Ramsay, Hooker, Campbell & Cao, J. Royal Stat.
// Soc. B 69, 741.
package matching
