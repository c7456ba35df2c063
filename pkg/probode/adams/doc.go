// Package adams has the probabilistic Adams methods of the paper: Moulton, which is
// implicit [T18, §2], and Bashforth, which is explicit [T16; T18, §2.3]. Both use only
// exported names of package probode, like a method of your own. The documentation of
// package probode lists the sources.
//
// The methods run on uniform grids and on grids whose steps differ. The classical
// Runge–Kutta method makes the first steps of a path, and the first steps after an
// event.
//
// A step for any dimension is in moulton.go and bashforth.go. In up to three
// dimensions, the loops of unrolled.go make whole runs of Moulton steps, with the same
// bits. go generate writes that file.
package adams
