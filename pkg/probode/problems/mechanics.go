package problems

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
)

// Kepler returns the equations of motion for a body on an elliptic orbit about the
// origin, with eccentricity e ∈ [0, 1) and period 2π:
//
//	q″ = −q/|q|³,   q(0) = (1 − e, 0),   q′(0) = (0, √((1 + e)/(1 − e))).
//
// The state is x = (q, q′), the parameter is θ = e, and t ∈ [0, 20]. The eccentricity,
// which is usually 0.6, affects only the initial state. The energy |q′|²/2 − 1/|q| =
// −1/2, the angular momentum √(1 − e²) and the direction of the ellipse are conserved,
// and Kepler's equation gives the exact solution.
//
// Source: Hairer, Lubich & Wanner, Geometric Numerical Integration, I.2.
func Kepler(e float64) *probode.Problem {
	start := func(x0, theta []float64) {
		e := theta[0]
		x0[0], x0[1] = 1-e, 0
		x0[2], x0[3] = 0, math.Sqrt((1+e)/(1-e))
	}
	theta := []float64{e}
	x0 := make([]float64, 4)
	start(x0, theta)
	return &probode.Problem{
		Name: "Kepler",
		F: func(dst []float64, _ float64, x, _ []float64) {
			r2 := x[0]*x[0] + x[1]*x[1]
			c := 1 / (r2 * math.Sqrt(r2))
			dst[0], dst[1] = x[2], x[3]
			dst[2], dst[3] = -c*x[0], -c*x[1]
		},
		FJ: func(f, jac []float64, _ float64, x, _ []float64) {
			_, _, _ = f[3], jac[15], x[3]
			inv := 1 / (x[0]*x[0] + x[1]*x[1])
			c := inv * math.Sqrt(inv)
			f[0], f[1] = x[2], x[3]
			f[2], f[3] = -c*x[0], -c*x[1]
			jac[2], jac[7] = 1, 1
			g := 3 * c * inv
			jac[8], jac[9] = g*x[0]*x[0]-c, g*x[0]*x[1]
			jac[12], jac[13] = jac[9], g*x[1]*x[1]-c
		},
		X0:         x0,
		Start:      start,
		Span:       [2]float64{0, 20},
		Theta:      theta,
		Autonomous: true,
		States:     []string{"q1", "q2", "q1'", "q2'"},
		Params:     []string{"e"},
	}
}

// HenonHeiles returns the equations of motion of a star in the potential of an
// axisymmetric galaxy:
//
//	q″ = −∇U(q),   U = (q₁² + q₂²)/2 + λ (q₁² q₂ − q₂³/3).
//
// The state is x = (q, p) with q(0) = (0.1, 0) and p(0) = (0, 0.5), the parameter is
// θ = λ = 1, and t ∈ [0, 100]. The energy H = |p|²/2 + U = 0.13 is conserved; at this
// energy, chaotic and regular orbits coexist.
//
// Source: Hénon & Heiles (1964), Astronomical Journal 69, 73.
func HenonHeiles() *probode.Problem {
	return &probode.Problem{
		Name: "Hénon–Heiles",
		F: func(dst []float64, _ float64, x, theta []float64) {
			dst[0], dst[1] = x[2], x[3]
			dst[2] = -x[0] - 2*theta[0]*x[0]*x[1]
			dst[3] = -x[1] - theta[0]*(x[0]*x[0]-x[1]*x[1])
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			_, _, _, _ = f[3], jac[15], x[3], theta[0]
			f[0], f[1] = x[2], x[3]
			f[2] = -x[0] - 2*theta[0]*x[0]*x[1]
			f[3] = -x[1] - theta[0]*(x[0]*x[0]-x[1]*x[1])
			c := 2 * theta[0]
			jac[2], jac[7] = 1, 1
			jac[8], jac[9] = -1-c*x[1], -c*x[0]
			jac[12], jac[13] = -c*x[0], -1+c*x[1]
		},
		X0:         []float64{0.1, 0, 0, 0.5},
		Span:       [2]float64{0, 100},
		Theta:      []float64{1},
		Autonomous: true,
		States:     []string{"q1", "q2", "p1", "p2"},
		Params:     []string{"lambda"},
	}
}

// RigidBody returns Euler's equations for the angular velocity of a free rigid body:
//
//	y₁′ = θ₁ y₂y₃,   y₂′ = θ₂ y₁y₃,   y₃′ = θ₃ y₁y₂.
//
// The parameters are θ = (−2, 1.25, −0.5), the initial state is (1, 0, 0.9), and
// t ∈ [0, 20]. The quantities θ₂y₁² − θ₁y₂² and θ₃y₂² − θ₂y₃² are conserved. The solution
// is smooth and periodic.
//
// Source: Euler (1758); Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations
// I, II.10 (EULR) with other parameter values.
func RigidBody() *probode.Problem {
	return &probode.Problem{
		Name: "rigid body",
		F: func(dst []float64, _ float64, x, theta []float64) {
			dst[0] = theta[0] * x[1] * x[2]
			dst[1] = theta[1] * x[0] * x[2]
			dst[2] = theta[2] * x[0] * x[1]
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			_, _, _, _ = f[2], jac[8], x[2], theta[2]
			jac[1], jac[2] = theta[0]*x[2], theta[0]*x[1]
			jac[3], jac[5] = theta[1]*x[2], theta[1]*x[0]
			jac[6], jac[7] = theta[2]*x[1], theta[2]*x[0]
			f[0] = jac[1] * x[1]
			f[1] = jac[3] * x[0]
			f[2] = jac[6] * x[0]
		},
		X0:         []float64{1, 0, 0.9},
		Span:       [2]float64{0, 20},
		Theta:      []float64{-2, 1.25, -0.5},
		Autonomous: true,
		States:     []string{"y1", "y2", "y3"},
		Params:     []string{"theta1", "theta2", "theta3"},
	}
}

// RestrictedThreeBody returns the equations of motion of a massless satellite that is
// attracted by the earth and the moon. The three bodies move in one plane, and the
// satellite follows Arenstorf's periodic orbit. In coordinates that rotate with the earth
// and the moon, the earth (mass 1 − μ) is at (−μ, 0), and the moon (mass μ) is at
// (1 − μ, 0):
//
//	x″ = x + 2y′ − (1 − μ)(x + μ)/D₁ − μ (x − 1 + μ)/D₂
//	y″ = y − 2x′ − (1 − μ) y/D₁ − μ y/D₂
//	D₁ = ((x + μ)² + y²)^{3/2},   D₂ = ((x − 1 + μ)² + y²)^{3/2}
//
// The state is (x, y, x′, y′), the parameter is θ = μ = 0.012277471, and the initial
// state is (0.994, 0, 0, −2.00158510637908252). The span is one period,
// T = 17.0652165601579626. Close encounters with the moon multiply errors by up to
// 2 × 10⁶ and require adaptive steps. The Jacobi integral is conserved:
//
//	x² + y² + 2(1 − μ)/D₁^{1/3} + 2μ/D₂^{1/3} − x′² − y′²
//
// Source: Arenstorf (1963), American J. Mathematics 85, 27; Hairer, Nørsett
// & Wanner, Solving Ordinary Differential Equations I, II.0.
func RestrictedThreeBody() *probode.Problem {
	return &probode.Problem{
		Name: "restricted three-body",
		F: func(dst []float64, _ float64, x, theta []float64) {
			mu := theta[0]
			a, b, y := x[0]+mu, x[0]-1+mu, x[1]
			r1, r2 := 1/(a*a+y*y), 1/(b*b+y*y)
			c1, c2 := (1-mu)*r1*math.Sqrt(r1), mu*r2*math.Sqrt(r2)
			dst[0], dst[1] = x[2], x[3]
			dst[2] = x[0] + 2*x[3] - c1*a - c2*b
			dst[3] = y - 2*x[2] - (c1+c2)*y
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			_, _, _, _ = f[3], jac[15], x[3], theta[0]
			mu := theta[0]
			a, b, y := x[0]+mu, x[0]-1+mu, x[1]
			r1, r2 := 1/(a*a+y*y), 1/(b*b+y*y)
			c1, c2 := (1-mu)*r1*math.Sqrt(r1), mu*r2*math.Sqrt(r2)
			f[0], f[1] = x[2], x[3]
			f[2] = x[0] + 2*x[3] - c1*a - c2*b
			f[3] = y - 2*x[2] - (c1+c2)*y
			g1, g2 := 3*c1*r1, 3*c2*r2
			cross := (g1*a + g2*b) * y
			jac[2], jac[7] = 1, 1
			jac[8], jac[9], jac[11] = 1-c1-c2+g1*a*a+g2*b*b, cross, 2
			jac[12], jac[13], jac[14] = cross, 1-c1-c2+(g1+g2)*y*y, -2
		},
		X0:         []float64{0.994, 0, 0, -2.00158510637908252},
		Span:       [2]float64{0, 17.0652165601579626},
		Theta:      []float64{0.012277471},
		Autonomous: true,
		States:     []string{"x", "y", "x'", "y'"},
		Params:     []string{"mu"},
	}
}

// Pleiades returns the equations of motion of seven stars that attract each other and
// move in a plane:
//
//	qᵢ″ = Σ_{j≠i} mⱼ (qⱼ − qᵢ)/|qⱼ − qᵢ|³,   i = 1, …, 7.
//
// The state is (x₁, …, x₇, y₁, …, y₇, x₁′, …, x₇′, y₁′, …, y₇′), so d = 28. The
// parameters θ are the masses mⱼ = j, and t ∈ [0, 3]. The initial velocities are zero
// except for those listed below. The initial state is
//
//	x = (3, 3, −1, −3, 2, −2, 2),   y = (3, −3, 2, 0, 0, −4, 4),
//	x₆′ = 1.75,   x₇′ = −1.5,   y₄′ = −1.25,   y₅′ = 1
//
// There are several close encounters. Energy, momentum and angular momentum are
// conserved.
//
// Source: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations
// I, II.10 (PLEI).
func Pleiades() *probode.Problem {
	const n, d = 7, 28
	x0 := []float64{
		3, 3, -1, -3, 2, -2, 2,
		3, -3, 2, 0, 0, -4, 4,
		0, 0, 0, 0, 0, 1.75, -1.5,
		0, 0, 0, -1.25, 1, 0, 0,
	}
	var states, params []string
	for _, name := range []string{"x%d", "y%d", "x%d'", "y%d'"} {
		for i := range n {
			states = append(states, fmt.Sprintf(name, i+1))
		}
	}
	for i := range n {
		params = append(params, fmt.Sprintf("m%d", i+1))
	}
	// The Jacobian is not computed if the argument `jac` is nil.
	rhs := func(f, jac []float64, _ float64, x, theta []float64) {
		copy(f[:2*n], x[2*n:d])
		clear(f[2*n : d])
		// attract updates the Jacobian for the attraction of body i by body j. The function
		// adds the 2×2 matrix (a, b; b, c) to ∂q″ᵢ/∂qᵢ, and stores the negative of this matrix
		// as ∂q″ᵢ/∂qⱼ.
		attract := func(i, j int, a, b, c float64) {
			xi, yi := jac[(2*n+i)*d:(2*n+i+1)*d], jac[(3*n+i)*d:(3*n+i+1)*d]
			xi[i] += a
			xi[n+i] += b
			yi[i] += b
			yi[n+i] += c
			xi[j], xi[n+j] = -a, -b
			yi[j], yi[n+j] = -b, -c
		}
		for i := range n {
			for j := range i {
				dx, dy := x[j]-x[i], x[n+j]-x[n+i]
				inv := 1 / (dx*dx + dy*dy)
				c := inv * math.Sqrt(inv)
				f[2*n+i] += theta[j] * c * dx
				f[3*n+i] += theta[j] * c * dy
				f[2*n+j] -= theta[i] * c * dx
				f[3*n+j] -= theta[i] * c * dy
				if jac != nil {
					g := 3 * c * inv
					xx, xy, yy := g*dx*dx-c, g*dx*dy, g*dy*dy-c
					attract(i, j, theta[j]*xx, theta[j]*xy, theta[j]*yy)
					attract(j, i, theta[i]*xx, theta[i]*xy, theta[i]*yy)
				}
			}
		}
		if jac != nil {
			for i := range 2 * n {
				jac[i*d+2*n+i] = 1
			}
		}
	}
	return &probode.Problem{
		Name:       "Pleiades",
		F:          func(dst []float64, t float64, x, theta []float64) { rhs(dst, nil, t, x, theta) },
		FJ:         rhs,
		X0:         x0,
		Span:       [2]float64{0, 3},
		Theta:      []float64{1, 2, 3, 4, 5, 6, 7},
		Autonomous: true,
		States:     states,
		Params:     params,
	}
}
