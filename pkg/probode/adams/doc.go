// Package adams contains two probabilistic Adams methods: Moulton, which is implicit
// [T18, §2], and Bashforth, which is explicit [T16; T18, §2.3]. Both methods use only
// exported names of package probode, as a user's own methods do. The documentation of
// package probode gives the full references.
//
// The methods run on uniform and on nonuniform grids. The classical Runge–Kutta method is
// used for the first steps of a path, and for the first steps after an event.
//
// The files moulton.go and bashforth.go contain the code for a single step in any number
// of dimensions. In up to three dimensions, the loops in unrolled.go perform many Moulton
// steps in one call. The loops in unrolled.go and the code for single steps give bitwise
// identical results. The file unrolled.go is written by go generate.
package adams
