// Package certify bounds what a solver's error does to a posterior, without sampling.
//
// Run and Each compare setups with an accurate reference at the modes of the posterior.
// A Certificate says by how much each parameter moves, to first order, in standard
// deviations of the Gaussian approximation at the mode, and gives a bound on that
// shift. Away from the modes it compares both setups along lines and at draws of the
// prior, to find differences that the first order does not show. LargestEnough searches
// for the largest step size or tolerance with which every shift stays below a
// threshold. Package assess samples the posterior instead.
//
// compute.go is where a certificate is computed.
package certify
