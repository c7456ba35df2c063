package problems

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
)

// This file contains partial differential equations, discretised by the method of
// lines. The resulting systems are stiff, may have any dimension, and have banded
// Jacobians.

// Brusselator returns the reaction–diffusion equations of the Brusselator in one
// dimension:
//
//	∂u/∂t = A + u²v − (B + 1)u + α ∂²u/∂x²,
//	∂v/∂t = Bu − u²v + α ∂²v/∂x².
//
// The domain is x ∈ [0, 1], with u = A and v = B/A at both ends. The equations are
// discretised by central differences at n inner points xᵢ = i/(n+1). The state is u₁, v₁,
// u₂, v₂, …, so that d = 2n and the Jacobian has two subdiagonals and two superdiagonals.
// The parameters are θ = (A, B, α) = (1, 3, 1/50), the initial values are u = 1 + sin 2πx
// and v = 3, and t ∈ [0, 10]. The stiffness grows like n². The solution oscillates on the
// time scale of the reaction. Brusselator panics for n < 2.
//
// Source: Hairer & Wanner, Solving Ordinary Differential Equations II,
// IV.1 and IV.10 (BRUSS).
func Brusselator(n int) *probode.Problem {
	if n < 2 {
		panic(fmt.Sprintf("problems: n of Brusselator is %d: want at least 2", n))
	}
	x0 := make([]float64, 2*n)
	states := make([]string, 2*n)
	for i := range n {
		x0[2*i] = 1 + math.Sin(2*math.Pi*float64(i+1)/float64(n+1))
		x0[2*i+1] = 3
		states[2*i] = fmt.Sprintf("u%d", i+1)
		states[2*i+1] = fmt.Sprintf("v%d", i+1)
	}
	perCell := float64(n+1) * float64(n+1) // Δx⁻²
	return &probode.Problem{
		Name: fmt.Sprintf("Brusselator (n = %d)", n),
		F: func(dst []float64, _ float64, x, theta []float64) {
			a, b, k := theta[0], theta[1], theta[2]*perCell
			uLeft, vLeft := a, b/a
			for i := 0; i < 2*n; i += 2 {
				u, v := x[i], x[i+1]
				uRight, vRight := a, b/a
				if i+3 < len(x) {
					uRight, vRight = x[i+2], x[i+3]
				}
				r := u * u * v
				dst[i] = a + r - (b+1)*u + k*(uLeft-2*u+uRight)
				dst[i+1] = b*u - r + k*(vLeft-2*v+vRight)
				uLeft, vLeft = u, v
			}
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			a, b, k := theta[0], theta[1], theta[2]*perCell
			uLeft, vLeft := a, b/a
			for i := 0; i < 2*n; i += 2 {
				u, v := x[i], x[i+1]
				uRight, vRight := a, b/a
				if i+3 < len(x) {
					uRight, vRight = x[i+2], x[i+3]
				}
				r := u * u * v
				f[i] = a + r - (b+1)*u + k*(uLeft-2*u+uRight)
				f[i+1] = b*u - r + k*(vLeft-2*v+vRight)
				uLeft, vLeft = u, v
				// The slice j holds two rows of the Jacobian, for u and v at one grid
				// point, in band storage of width 5 with the diagonal at index 2.
				// Elements of the band storage that lie outside the matrix, in the first
				// and last rows, are not read.
				j := jac[5*i : 5*i+10]
				j[0], j[2], j[3], j[4] = k, 2*u*v-(b+1)-2*k, u*u, k
				j[5], j[6], j[7], j[9] = k, b-2*u*v, -u*u-2*k, k
			}
		},
		X0:         x0,
		Span:       [2]float64{0, 10},
		Theta:      []float64{1, 3, 1. / 50},
		Band:       &probode.Bandwidth{Lower: 2, Upper: 2},
		Autonomous: true,
		States:     states,
		Params:     []string{"A", "B", "alpha"},
	}
}

// Burgers returns the viscous Burgers equation:
//
//	∂u/∂t = −∂(u²/2)/∂x + ν ∂²u/∂x².
//
// The domain is x ∈ [0, 1], with u = 0 at both ends. The equation is discretised by
// central differences at n inner points xᵢ = i/(n+1), so that d = n and the Jacobian is
// tridiagonal. The parameter is θ = ν = 0.01, the initial value is u = sin³(3πx) (1 −
// x)^{3/2}, and t ∈ [0, 1]. Fronts form and steepen until viscosity balances the
// steepening; n = 50 is enough to resolve these fronts. Burgers panics for n < 2.
//
// Source: Hairer & Wanner, Solving Ordinary Differential Equations II, IV.10 (BURGERS).
// The original initial value contains sin² instead of sin³. The original problem uses ν =
// 0.0003 and n = 500.
func Burgers(n int) *probode.Problem {
	if n < 2 {
		panic(fmt.Sprintf("problems: n of Burgers is %d: want at least 2", n))
	}
	x0 := make([]float64, n)
	states := make([]string, n)
	for i := range x0 {
		x := float64(i+1) / float64(n+1)
		s := math.Sin(3 * math.Pi * x)
		x0[i] = s * s * s * math.Pow(1-x, 1.5)
		states[i] = fmt.Sprintf("u%d", i+1)
	}
	cells := float64(n + 1) // Δx⁻¹
	return &probode.Problem{
		Name: fmt.Sprintf("Burgers (n = %d)", n),
		F: func(dst []float64, _ float64, x, theta []float64) {
			k, c := theta[0]*cells*cells, cells/4
			var left float64
			for i, u := range x {
				var right float64
				if i+1 < len(x) {
					right = x[i+1]
				}
				dst[i] = c*(left-right)*(left+right) + k*(left-2*u+right)
				left = u
			}
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			k, c := theta[0]*cells*cells, cells/4
			var left float64
			for i, u := range x {
				var right float64
				if i+1 < len(x) {
					right = x[i+1]
				}
				f[i] = c*(left-right)*(left+right) + k*(left-2*u+right)
				// Elements of the band storage that lie outside the matrix, in the first
				// and last rows, are not read.
				j := jac[3*i : 3*i+3]
				j[0], j[1], j[2] = 2*c*left+k, -2*k, k-2*c*right
				left = u
			}
		},
		X0:         x0,
		Span:       [2]float64{0, 1},
		Theta:      []float64{0.01},
		Band:       &probode.Bandwidth{Lower: 1, Upper: 1},
		Autonomous: true,
		States:     states,
		Params:     []string{"nu"},
	}
}
