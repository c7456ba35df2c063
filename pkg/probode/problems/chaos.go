package problems

import (
	"fmt"

	"github.com/probode/probode/pkg/probode"
)

// Lorenz63 returns Lorenz's model of convection:
//
//	x′ = σ(y − x),   y′ = x(ρ − z) − y,   z′ = xy − βz.
//
// The parameters are θ = (σ, ρ, β) = (10, 28, 8/3), the initial state is (−10, −1, 40),
// and t ∈ [0, 20]. The model is chaotic: errors grow like e^{0.9t}, by a factor of 10⁸
// over the span. The spread of an ensemble shows how far ahead the solver can predict the
// state.
//
// Source: Lorenz (1963), J. Atmospheric Sciences 20, 130.
func Lorenz63() *probode.Problem {
	return &probode.Problem{
		Name: "Lorenz 63",
		F: func(dst []float64, _ float64, x, theta []float64) {
			dst[0] = theta[0] * (x[1] - x[0])
			dst[1] = x[0]*(theta[1]-x[2]) - x[1]
			dst[2] = x[0]*x[1] - theta[2]*x[2]
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			_, _, _, _ = f[2], jac[8], x[2], theta[2]
			f[0] = theta[0] * (x[1] - x[0])
			f[1] = x[0]*(theta[1]-x[2]) - x[1]
			f[2] = x[0]*x[1] - theta[2]*x[2]
			jac[0], jac[1] = -theta[0], theta[0]
			jac[3], jac[4], jac[5] = theta[1]-x[2], -1, -x[0]
			jac[6], jac[7], jac[8] = x[1], x[0], -theta[2]
		},
		X0:         []float64{-10, -1, 40},
		Span:       [2]float64{0, 20},
		Theta:      []float64{10, 28, 8. / 3},
		Autonomous: true,
		States:     []string{"x", "y", "z"},
		Params:     []string{"sigma", "rho", "beta"},
	}
}

// Lorenz96 returns Lorenz's toy model of the weather on a circle of latitude:
//
//	xᵢ′ = (x_{i+1} − x_{i−2}) x_{i−1} − xᵢ + F,   indices modulo n.
//
// The parameter is θ = F = 8, and t ∈ [0, 30]. Initially, x₁ = 8.01, and all other xᵢ are
// 8. For n ≥ 10 the model is chaotic, and errors grow in several directions. The model
// serves as a test problem in higher dimensions, usually with n = 10 or 40. Lorenz96
// panics for n < 4. The Jacobian is stored as a dense matrix, because the elements in its
// corners are not zero.
//
// Source: Lorenz (1996), Predictability: a problem partly solved, ECMWF
// Seminar on Predictability.
func Lorenz96(n int) *probode.Problem {
	if n < 4 {
		panic(fmt.Sprintf("problems: n of Lorenz96 is %d: want at least 4", n))
	}
	x0 := make([]float64, n)
	states := make([]string, n)
	for i := range x0 {
		x0[i] = 8
		states[i] = fmt.Sprintf("x%d", i+1)
	}
	x0[0] += 0.01
	return &probode.Problem{
		Name: fmt.Sprintf("Lorenz 96 (n = %d)", n),
		F: func(dst []float64, _ float64, x, theta []float64) {
			force := theta[0]
			x = x[:len(dst)]
			a, b, c := x[n-2], x[n-1], x[0] // x_{i−2}, x_{i−1}, xᵢ
			for i := range n - 1 {
				d := x[i+1]
				dst[i] = (d-a)*b - c + force
				a, b, c = b, c, d
			}
			dst[n-1] = (x[0]-a)*b - c + force
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			force := theta[0]
			x, f = x[:n], f[:n]
			m2, m1, p1 := n-2, n-1, 1 // i−2, i−1, i+1 modulo n
			for i := range n {
				a, b, d := x[m2], x[m1], x[p1]
				f[i] = (d-a)*b - x[i] + force
				row := jac[i*n : (i+1)*n]
				row[m2], row[m1], row[i], row[p1] = -b, d-a, -1, b
				m2, m1 = m1, i
				if p1++; p1 == n {
					p1 = 0
				}
			}
		},
		X0:         x0,
		Span:       [2]float64{0, 30},
		Theta:      []float64{8},
		Autonomous: true,
		States:     states,
		Params:     []string{"F"},
	}
}
