// Package methods has the integrators other than the Adams and explicit
// Runge–Kutta methods of package probode: implicit Runge–Kutta methods of Gauss
// and Radau, for problems that conserve and for stiff ones, backward
// differentiation formulas of fixed and of variable order, and random time steps
// around any one-step method. Parse gives a method by its short name.
//
// All of them use only what package probode exports, as a method from outside would.
// Which one to choose:
//
//	not stiff                          DormandPrince on a frozen grid, Adams on a uniform one
//	stiff                              Radau{Stages: 3} on a frozen grid
//	stiff and large, or as others did  BDF{} on a frozen grid
//	conserves energy, for long times   Gauss{Stages: 2}
//	as much in every draw              RandomStep{Gauss{Stages: 1}}
//
// References: [HNW93] Hairer, Nørsett & Wanner, Solving Ordinary Differential
// Equations I; [HW96] Hairer & Wanner, Solving Ordinary Differential Equations
// II; [HLW06] Hairer, Lubich & Wanner, Geometric Numerical Integration; [C16]
// Conrad et al., Statistics and Computing 27, 1065; [AG20] Abdulle & Garegnani,
// Statistics and Computing 30, 907.
package methods
