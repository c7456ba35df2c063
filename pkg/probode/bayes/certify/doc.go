// Package certify bounds what a solver's error does to a posterior, without sampling.
//
// Run and Each compare solvers with an accurate reference at the modes of the
// posterior and return a Certificate for each: by how many posterior standard
// deviations each parameter moves, to first order, and a bound on that shift.
// LargestEnough searches for the largest step size or tolerance with which every shift
// stays below a threshold. Package assess samples the posterior instead.
package certify
