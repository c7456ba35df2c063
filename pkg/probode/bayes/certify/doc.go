// Package certify computes bounds on the effect of a solver's error on a posterior,
// without sampling.
//
// Run and Each compare setups with an accurate reference at the modes of the posterior. A
// Certificate gives the first-order shift of each parameter, in standard deviations of
// the Gaussian approximation at the mode, and a bound on that shift. Away from the modes,
// the package compares the setups with the reference along lines and at draws from the
// prior. A comparison away from the modes finds differences that a first-order analysis
// at a mode does not show. LargestEnough searches for the largest step size or tolerance
// with which every shift stays below a threshold. To measure the effect of the solver's
// error by sampling from the posterior, use package assess.
//
// Certificates are computed in compute.go.
package certify
