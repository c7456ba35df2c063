// Package adams has the probabilistic Adams methods of the paper: Moulton, which is
// implicit [T18, §2], and Bashforth, which is explicit [T16; T18, §2.3]. Both use
// nothing of package probode that a method of your own could not use. The sources are
// named as in the documentation of package probode.
//
// The methods run on uniform grids and on grids whose steps differ. The first steps
// of a path, and those behind an event, are taken by the classical Runge–Kutta method.
//
// A step is written once for any dimension, in moulton.go and bashforth.go. In up to
// three dimensions whole runs of Moulton steps are made by the loops of unrolled.go,
// which go generate writes and which have the same bits.
package adams
