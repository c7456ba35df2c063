// Package methods provides integrators beside the Adams methods of package adams: explicit
// Runge–Kutta methods, implicit ones, backward differentiation formulas of fixed and
// variable order, and random time steps for any one-step method. The implicit Runge–Kutta
// methods are those of Gauss, for problems with conserved quantities, and those of Radau,
// for stiff problems.
//
// These integrators use only the exported identifiers of package probode, so you can
// write further integrators in a package of your own. The following table shows which
// integrator to choose:
//
//	stiff or not, with error control   Auto{}, which is DormandPrince and Radau in turn
//	not stiff                          DormandPrince on a frozen grid, Adams on a uniform one
//	stiff                              Radau{Stages: 3} on a frozen grid
//	large and stiff, or as in CVODE    BDF{} on a frozen grid
//	conserves energy, for long times   Gauss{Stages: 2}
//	conserves energy in every draw     RandomStep{Gauss{Stages: 1}}
//
// References: [HNW93] Hairer, Nørsett & Wanner, Solving Ordinary Differential
// Equations I; [HW96] Hairer & Wanner, Solving Ordinary Differential Equations
// II; [HLW06] Hairer, Lubich & Wanner, Geometric Numerical Integration; [C16]
// Conrad et al., Statistics and Computing 27, 1065; [AG20] Abdulle & Garegnani,
// Statistics and Computing 30, 907.
package methods
