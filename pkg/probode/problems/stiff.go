package problems

import "github.com/probode/probode/pkg/probode"

// VanDerPol returns van der Pol's oscillator, scaled such that the period remains of
// order one as the damping becomes strong:
//
//	y″ = μ ((1 − y²) y′ − y).
//
// The state is x = (y, y′), the parameter is θ = μ, the initial state is (2, 0), and
// t ∈ [0, 6.3]. The stiffness grows with μ: the problem is not stiff for μ = 1 and very
// stiff for μ = 10⁵. For large μ, a jump takes a time of order ln(μ)/μ. The period is
// 6.66 for μ = 1 and tends to 3 − 2 ln 2 ≈ 1.61 as μ → ∞.
//
// Source: van der Pol (1926), Philosophical Magazine 2, 978; Hairer & Wanner,
// Solving Ordinary Differential Equations II, IV.10 (VDPOL), where μ = 10⁶
// and t ∈ [0, 2].
func VanDerPol(mu float64) *probode.Problem {
	return &probode.Problem{
		Name: "van der Pol",
		F: func(dst []float64, _ float64, x, theta []float64) {
			y, v := x[0], x[1]
			dst[0] = v
			dst[1] = theta[0] * ((1-y*y)*v - y)
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			_, _, _, _ = f[1], jac[3], x[1], theta[0]
			y, v, mu := x[0], x[1], theta[0]
			d := 1 - y*y
			f[0] = v
			f[1] = mu * (d*v - y)
			jac[1] = 1
			jac[2] = -mu * (2*y*v + 1)
			jac[3] = mu * d
		},
		X0:         []float64{2, 0},
		Span:       [2]float64{0, 6.3},
		Theta:      []float64{mu},
		Autonomous: true,
		States:     []string{"y", "y'"},
		Params:     []string{"mu"},
	}
}

// Robertson returns Robertson's autocatalytic reaction:
//
//	y₁′ = −k₁y₁ + k₃y₂y₃
//	y₂′ =  k₁y₁ − k₂y₂² − k₃y₂y₃
//	y₃′ =  k₂y₂²
//
// The parameters are θ = (k₁, k₂, k₃) = (0.04, 3 × 10⁷, 10⁴), the initial state is (1, 0,
// 0), and t ∈ [0, 10⁵]. The sum y₁ + y₂ + y₃ = 1 is conserved. The time scales range from
// 10⁻⁴ to the length of the span. The component y₂ is about 10⁻⁵, so an absolute
// tolerance of 10⁻⁵ does not control the error of y₂. If the computed y₂ falls below zero
// by more than a small amount, the numerical solution diverges.
//
// Source: Robertson (1966), in Walsh (ed.), Numerical Analysis: An
// Introduction, 178; Hairer & Wanner, Solving Ordinary Differential Equations
// II, IV.10 (ROBER).
func Robertson() *probode.Problem {
	return &probode.Problem{
		Name: "Robertson",
		F: func(dst []float64, _ float64, x, theta []float64) {
			a, b, c := theta[0]*x[0], theta[1]*x[1]*x[1], theta[2]*x[1]*x[2]
			dst[0] = c - a
			dst[1] = a - b - c
			dst[2] = b
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			_, _, _, _ = f[2], jac[8], x[2], theta[2]
			a, b, c := theta[0]*x[0], theta[1]*x[1]*x[1], theta[2]*x[1]*x[2]
			f[0] = c - a
			f[1] = a - b - c
			f[2] = b
			b2, c2, c3 := 2*theta[1]*x[1], theta[2]*x[2], theta[2]*x[1]
			jac[0], jac[1], jac[2] = -theta[0], c2, c3
			jac[3], jac[4], jac[5] = theta[0], -b2-c2, -c3
			jac[7] = b2
		},
		X0:         []float64{1, 0, 0},
		Span:       [2]float64{0, 1e5},
		Theta:      []float64{0.04, 3e7, 1e4},
		Autonomous: true,
		States:     []string{"y1", "y2", "y3"},
		Params:     []string{"k1", "k2", "k3"},
	}
}

// HIRES returns a model of the high irradiance response in photomorphogenesis. A plant's
// phytochrome has two forms: Pr absorbs red light, and Pfr absorbs far-red light. Pr and
// Pfr bind to the receptors X and X′, and E is an enzyme:
//
//	Pr′    = −k₁Pr + k₂Pfr + k₆PrX + o
//	Pfr′   =  k₁Pr − (k₂ + k₃)Pfr
//	PrX′   = −(k₁ + k₆)PrX + k₂PfrX + k₅PrX′
//	PfrX′  =  k₃Pfr + k₁PrX − (k₂ + k₄)PfrX
//	PrX′′  = −(k₁ + k₅)PrX′ + k₂PfrX′ + k₂PfrX′E
//	PfrX′′ = −k₊PfrX′·E + k₄PfrX + k₁PrX′ − k₂PfrX′ + k₋PfrX′E
//	PfrX′E′ = k₊PfrX′·E − (k₂ + k₋ + k*)PfrX′E
//	E′     = −PfrX′E′
//
// The parameters are θ = (k₁, …, k₆, k₊, k₋, k*, o) = (1.71, 0.43, 8.32, 0.69, 0.035,
// 8.32, 280, 0.69, 0.69, 0.0007), the initial state is (1, 0, …, 0, 0.0057), and
// t ∈ [0, 321.8122]. PfrX′E + E is conserved. The problem is stiff and of moderate
// dimension, d = 8.
//
// Source: Schäfer (1975), J. Mathematical Biology 2, 41; Hairer & Wanner,
// Solving Ordinary Differential Equations II, IV.10 (HIRES).
func HIRES() *probode.Problem {
	f := func(dst []float64, _ float64, x, theta []float64) {
		_, _, _ = dst[7], x[7], theta[9]
		k1, k2, k3, k4, k5, k6 := theta[0], theta[1], theta[2], theta[3], theta[4], theta[5]
		kPlus, kMinus, kStar, o := theta[6], theta[7], theta[8], theta[9]
		bind := kPlus * x[5] * x[7]
		dst[0] = -k1*x[0] + k2*x[1] + k6*x[2] + o
		dst[1] = k1*x[0] - (k2+k3)*x[1]
		dst[2] = -(k1+k6)*x[2] + k2*x[3] + k5*x[4]
		dst[3] = k3*x[1] + k1*x[2] - (k2+k4)*x[3]
		dst[4] = -(k1+k5)*x[4] + k2*x[5] + k2*x[6]
		dst[5] = -bind + k4*x[3] + k1*x[4] - k2*x[5] + kMinus*x[6]
		dst[6] = bind - (k2+kMinus+kStar)*x[6]
		dst[7] = -dst[6]
	}
	return &probode.Problem{
		Name: "HIRES",
		F:    f,
		FJ: func(dst, jac []float64, t float64, x, theta []float64) {
			f(dst, t, x, theta)
			_, _, _ = jac[63], x[7], theta[8]
			k1, k2, k3, k4, k5, k6 := theta[0], theta[1], theta[2], theta[3], theta[4], theta[5]
			kPlus, kMinus, kStar := theta[6], theta[7], theta[8]
			bind5, bind7 := kPlus*x[7], kPlus*x[5]
			jac[0], jac[1], jac[2] = -k1, k2, k6
			jac[8], jac[9] = k1, -(k2 + k3)
			jac[18], jac[19], jac[20] = -(k1 + k6), k2, k5
			jac[25], jac[26], jac[27] = k3, k1, -(k2 + k4)
			jac[36], jac[37], jac[38] = -(k1 + k5), k2, k2
			jac[43], jac[44], jac[45], jac[46], jac[47] = k4, k1, -bind5-k2, kMinus, -bind7
			jac[53], jac[54], jac[55] = bind5, -(k2 + kMinus + kStar), bind7
			jac[61], jac[62], jac[63] = -bind5, k2+kMinus+kStar, -bind7
		},
		X0:         []float64{1, 0, 0, 0, 0, 0, 0, 0.0057},
		Span:       [2]float64{0, 321.8122},
		Theta:      []float64{1.71, 0.43, 8.32, 0.69, 0.035, 8.32, 280, 0.69, 0.69, 0.0007},
		Autonomous: true,
		States:     []string{"Pr", "Pfr", "PrX", "PfrX", "PrX'", "PfrX'", "PfrX'E", "E"},
		Params:     []string{"k1", "k2", "k3", "k4", "k5", "k6", "k+", "k-", "k*", "o"},
	}
}

// Oregonator returns the Field–Noyes model of the Belousov–Zhabotinskii reaction:
//
//	y₁′ = θ₁ (y₂ + y₁ (1 − θ₂y₁ − y₂))
//	y₂′ = (y₃ − (1 + y₁) y₂) / θ₁
//	y₃′ = θ₃ (y₁ − y₃)
//
// The parameters are θ = (77.27, 8.375 × 10⁻⁶, 0.161), the initial state is (1, 2, 3),
// and t ∈ [0, 30]. The span covers one pulse of a relaxation oscillation with period 303.
// The components span five decades. Before the pulse, y₁ grows slowly from 1.
//
// Source: Field & Noyes (1974), J. Chemical Physics 60, 1877; Hairer &
// Wanner, Solving Ordinary Differential Equations II, IV.10 (OREGO), where
// t ∈ [0, 360].
func Oregonator() *probode.Problem {
	return &probode.Problem{
		Name: "Oregonator",
		F: func(dst []float64, _ float64, x, theta []float64) {
			dst[0] = theta[0] * (x[1] + x[0]*(1-theta[1]*x[0]-x[1]))
			dst[1] = (x[2] - (1+x[0])*x[1]) / theta[0]
			dst[2] = theta[2] * (x[0] - x[2])
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			_, _, _, _ = f[2], jac[8], x[2], theta[2]
			s, q, w := theta[0], theta[1], theta[2]
			inv := 1 / s
			f[0] = s * (x[1] + x[0]*(1-q*x[0]-x[1]))
			f[1] = (x[2] - (1+x[0])*x[1]) * inv
			f[2] = w * (x[0] - x[2])
			jac[0], jac[1] = s*(1-2*q*x[0]-x[1]), s*(1-x[0])
			jac[3], jac[4], jac[5] = -x[1]*inv, -(1+x[0])*inv, inv
			jac[6], jac[8] = w, -w
		},
		X0:         []float64{1, 2, 3},
		Span:       [2]float64{0, 30},
		Theta:      []float64{77.27, 8.375e-6, 0.161},
		Autonomous: true,
		States:     []string{"HBrO2", "Br-", "Ce(IV)"},
		Params:     []string{"s", "q", "w"},
	}
}
