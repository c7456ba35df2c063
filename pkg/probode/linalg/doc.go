// Package linalg stores the Jacobian J of a vector field as a dense or banded Matrix, and
// factorises Γ = cI − J with partial pivoting, as implicit steps need it: LU for real c,
// and ComplexLU for complex c.
//
// gonum has no LU factorisation of banded matrices, and its dense LU factorisation
// allocates memory and is slow for small matrices. Most models have only two or three
// dimensions. Here, only NewDense, NewBanded, NewLU and NewComplexLU allocate memory. For
// small dense matrices and real c, formulas usually replace elimination. If a dense matrix
// is mostly zeros, its factorisation skips operations on the zeros.
package linalg
