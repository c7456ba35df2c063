// Package adams contains the probabilistic Adams methods of the paper: Moulton, which
// is implicit [T18, §2], and Bashforth, which is explicit [T16; T18, §2.3]. Both use
// only exported names of package probode, just as your own method would. The
// documentation of package probode lists the sources.
//
// The methods run on uniform and on nonuniform grids. The classical Runge–Kutta method is
// used for the first steps of a path, and for the first steps after an event.
//
// The code in moulton.go and bashforth.go takes one step in any number of dimensions. In
// up to three dimensions, the loops in unrolled.go perform whole runs of Moulton steps,
// with results that are identical to the last bit. The command go generate writes that
// file.
package adams
