package problems

import (
	"math"

	"github.com/probode/probode/pkg/probode"
)

// Logistic returns the equation of logistic growth with rate r and capacity K:
//
//	x′ = r x (1 − x/K),   x(t) = K / (1 + (K/x₀ − 1) e^{−rt}).
//
// The parameters are θ = (r, K) = (3, 1), the initial state is x(0) = 0.1, and t ∈ [0,
// 2]. The equation is one-dimensional and has a closed-form solution, so it is a good
// problem for studying errors.
//
// Source: Verhulst (1838), Correspondance mathématique et physique 10, 113.
func Logistic() *probode.Problem {
	return &probode.Problem{
		Name: "logistic",
		F: func(dst []float64, _ float64, x, theta []float64) {
			dst[0] = theta[0] * x[0] * (1 - x[0]/theta[1])
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			q := x[0] / theta[1]
			f[0] = theta[0] * x[0] * (1 - q)
			jac[0] = theta[0] * (1 - 2*q)
		},
		X0:         []float64{0.1},
		Span:       [2]float64{0, 2},
		Theta:      []float64{3, 1},
		Autonomous: true,
		States:     []string{"x"},
		Params:     []string{"r", "K"},
	}
}

// ProteinActivation returns a model in which a protein R is activated by an enzyme S,
// which itself degrades into D:
//
//	S′  = −k₁S − k₂ S R + k₃ RS
//	D′  = k₁S
//	R′  = −k₂ S R + k₃ RS + V P/(Kₘ + P)
//	RS′ = k₂ S R − k₃ RS − k₄ RS
//	P′  = k₄ RS − V P/(Kₘ + P).
//
// The state RS is the complex of S and R, and P is the activated form of R. The
// parameters are θ = (k₁, k₂, k₃, k₄, V, Kₘ) = (0.07, 0.6, 0.05, 0.3, 0.017, 0.3), the
// initial state is (1, 0, 1, 0, 0), and t ∈ [0, 100]. R + RS + P is conserved. The
// reaction that activates R also consumes the enzyme S, as in the paper cited below. The
// state is usually observed with noise of standard deviation 0.01 at t = 0, 1, 2, 4, 5,
// 7, 10, 15, 20, 30, 40, 50, 60, 80, 100.
//
// Source: Vyshemirsky & Girolami (2008), Bioinformatics 24, 833.
func ProteinActivation() *probode.Problem {
	return &probode.Problem{
		Name: "protein activation",
		F: func(dst []float64, _ float64, x, theta []float64) {
			_, _, _ = dst[4], x[4], theta[5]
			decay := theta[0] * x[0]
			bind := theta[1]*x[0]*x[2] - theta[2]*x[3]
			act := theta[3] * x[3]
			back := theta[4] * x[4] / (theta[5] + x[4])
			dst[0] = -decay - bind
			dst[1] = decay
			dst[2] = back - bind
			dst[3] = bind - act
			dst[4] = act - back
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			_, _, _, _ = f[4], jac[24], x[4], theta[5]
			k1, k2, k3, k4, km := theta[0], theta[1], theta[2], theta[3], theta[5]
			decay := k1 * x[0]
			bind := k2*x[0]*x[2] - k3*x[3]
			act := k4 * x[3]
			inv := 1 / (km + x[4])
			back := theta[4] * x[4] * inv
			f[0] = -decay - bind
			f[1] = decay
			f[2] = back - bind
			f[3] = bind - act
			f[4] = act - back

			bindS, bindR := k2*x[2], k2*x[0]
			backP := theta[4] * km * inv * inv
			jac[0], jac[2], jac[3] = -k1-bindS, -bindR, k3
			jac[5] = k1
			jac[10], jac[12], jac[13], jac[14] = -bindS, -bindR, k3, backP
			jac[15], jac[17], jac[18] = bindS, bindR, -k3-k4
			jac[23], jac[24] = k4, -backP
		},
		X0:         []float64{1, 0, 1, 0, 0},
		Span:       [2]float64{0, 100},
		Theta:      []float64{0.07, 0.6, 0.05, 0.3, 0.017, 0.3},
		Autonomous: true,
		States:     []string{"S", "D", "R", "RS", "P"},
		Params:     []string{"k1", "k2", "k3", "k4", "V", "Km"},
	}
}

// LotkaVolterra returns the predator–prey model:
//
//	u′ = a u − b u v,   v′ = −c v + d u v.
//
// The parameters are θ = (a, b, c, d) = (1.5, 1, 3, 1), the initial state is (1, 1), and
// t ∈ [0, 10]. The following quantity is conserved, so all solutions are periodic:
//
//	E = d u − c ln u + b v − a ln v
//
// Source: Lotka (1925), Elements of Physical Biology; Volterra (1926), Mem. Acad. Lincei
// 2, 31. LotkaVolterra20 has other common values.
func LotkaVolterra() *probode.Problem {
	return &probode.Problem{
		Name: "Lotka–Volterra",
		F: func(dst []float64, _ float64, x, theta []float64) {
			_, _, _ = dst[1], x[1], theta[3]
			dst[0] = x[0] * (theta[0] - theta[1]*x[1])
			dst[1] = x[1] * (theta[3]*x[0] - theta[2])
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			_, _, _, _ = f[1], jac[3], x[1], theta[3]
			u, v := x[0], x[1]
			a, b := theta[0]-theta[1]*v, theta[3]*u-theta[2]
			f[0] = u * a
			f[1] = v * b
			jac[0] = a
			jac[1] = -theta[1] * u
			jac[2] = theta[3] * v
			jac[3] = b
		},
		Pullback: func(dx, dtheta, lambda []float64, _ float64, x, theta []float64) float64 {
			u, v := x[0], x[1]
			l, m := lambda[0], lambda[1]
			dx[0] += l*(theta[0]-theta[1]*v) + m*theta[3]*v
			dx[1] += m*(theta[3]*u-theta[2]) - l*theta[1]*u
			dtheta[0] += l * u
			dtheta[1] -= l * u * v
			dtheta[2] -= m * v
			dtheta[3] += m * u * v
			return 0
		},
		X0:         []float64{1, 1},
		Span:       [2]float64{0, 10},
		Theta:      []float64{1.5, 1, 3, 1},
		Autonomous: true,
		States:     []string{"prey", "predator"},
		Params:     []string{"a", "b", "c", "d"},
	}
}

// LotkaVolterra20 returns the Lotka–Volterra model with θ = (0.5, 0.05, 0.5, 0.05), the
// initial state (20, 20) and t ∈ [0, 20].
func LotkaVolterra20() *probode.Problem {
	p := LotkaVolterra()
	p.Name = "Lotka–Volterra (20, 20)"
	p.X0 = []float64{20, 20}
	p.Span = [2]float64{0, 20}
	p.Theta = []float64{0.5, 0.05, 0.5, 0.05}
	return p
}

// SIR returns the epidemic model of Kermack and McKendrick for the numbers of
// susceptible, infected and removed persons:
//
//	S′ = −β S I/N,   I′ = β S I/N − γ I,   R′ = γ I,   N = S + I + R.
//
// The parameters are θ = (β, γ) = (0.3, 0.1) per day, the initial state is (998, 1, 1),
// and t ∈ [0, 200] days. N is conserved, and so is S e^{βR/(γN)}.
//
// Source: Kermack & McKendrick (1927), Proc. Royal Society A 115, 700.
func SIR() *probode.Problem {
	return &probode.Problem{
		Name: "SIR",
		F: func(dst []float64, _ float64, x, theta []float64) {
			infect := theta[0] * x[0] * x[1] / (x[0] + x[1] + x[2])
			remove := theta[1] * x[1]
			dst[0] = -infect
			dst[1] = infect - remove
			dst[2] = remove
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			_, _, _, _ = f[2], jac[8], x[2], theta[1]
			inv := 1 / (x[0] + x[1] + x[2])
			infect := theta[0] * x[0] * x[1] * inv
			remove := theta[1] * x[1]
			f[0] = -infect
			f[1] = infect - remove
			f[2] = remove
			// dN is the derivative of the infection rate with respect to the population size N = S
			// + I + R.
			dN := -infect * inv
			dS, dI := theta[0]*x[1]*inv+dN, theta[0]*x[0]*inv+dN
			jac[0], jac[1], jac[2] = -dS, -dI, -dN
			jac[3], jac[4], jac[5] = dS, dI-theta[1], dN
			jac[7] = theta[1]
		},
		Pullback: func(dx, dtheta, lambda []float64, _ float64, x, theta []float64) float64 {
			inv := 1 / (x[0] + x[1] + x[2])
			infect, remove := lambda[1]-lambda[0], lambda[2]-lambda[1] // with respect to the two rates
			force := x[0] * x[1] * inv
			dN := -theta[0] * force * inv
			dx[0] += infect * (theta[0]*x[1]*inv + dN)
			dx[1] += infect*(theta[0]*x[0]*inv+dN) + remove*theta[1]
			dx[2] += infect * dN
			dtheta[0] += infect * force
			dtheta[1] += remove * x[1]
			return 0
		},
		X0:         []float64{998, 1, 1},
		Span:       [2]float64{0, 200},
		Theta:      []float64{0.3, 0.1},
		Autonomous: true,
		States:     []string{"S", "I", "R"},
		Params:     []string{"beta", "gamma"},
		TimeUnit:   "d",
	}
}

// Influenza returns the SIR model of an outbreak of influenza in a boarding school of 763
// boys. The parameters are θ = (β, γ) = (1.7, 0.5) per day, and t ∈ [0, 14] days. On the
// day before the first count, the state is (762, 1, 0). The data are the numbers of boys
// who were ill in bed on days 1, …, 14. The number on each day is an observation of the
// state I.
//
// Source: Anonymous (1978), British Medical Journal 1, 587. Grinsztajn, Semenova,
// Margossian & Riou (2021), Statistics in Medicine 40, 6209, fitted the model to the data.
func Influenza() *probode.Problem {
	p := SIR()
	p.Name = "influenza"
	p.X0 = []float64{762, 1, 0}
	p.Span = [2]float64{0, 14}
	p.Theta = []float64{1.7, 0.5}
	return p
}

// Goodwin returns Goodwin's oscillator, in which a gene is repressed by its own product:
//
//	x₁′ = a₁/(1 + a₂ x₃^r) − α x₁,   x₂′ = k x₁ − α x₂,   x₃′ = k x₂ − α x₃.
//
// The states are the messenger x₁, an enzyme x₂ and the repressor x₃. The parameters are
// θ = (r, a₁, a₂, α, k) = (10, 1, 3, 0.5, 1), the initial state is (0, 0, 0), and
// t ∈ [0, 25]. Sustained oscillations occur only if r > 8. If r is not an integer, x₃
// must stay nonnegative, because x₃^r is undefined for negative x₃.
//
// Source: Goodwin (1965), Advances in Enzyme Regulation 3, 425; used with unknown θ by
// Calderhead & Girolami (2009), Computational Statistics & Data Analysis 53, 4028.
func Goodwin() *probode.Problem {
	return &probode.Problem{
		Name: "Goodwin",
		F: func(dst []float64, _ float64, x, theta []float64) {
			alpha, k := theta[3], theta[4]
			dst[0] = theta[1]/(1+theta[2]*math.Pow(x[2], theta[0])) - alpha*x[0]
			dst[1] = k*x[0] - alpha*x[1]
			dst[2] = k*x[1] - alpha*x[2]
		},
		FJ: func(f, jac []float64, _ float64, x, theta []float64) {
			_, _, _, _ = f[2], jac[8], x[2], theta[4]
			r, a1, a2, alpha, k := theta[0], theta[1], theta[2], theta[3], theta[4]
			slope := math.Pow(x[2], r-1)
			inv := 1 / (1 + a2*slope*x[2])
			f[0] = a1*inv - alpha*x[0]
			f[1] = k*x[0] - alpha*x[1]
			f[2] = k*x[1] - alpha*x[2]
			jac[0], jac[2] = -alpha, -a1*a2*r*slope*inv*inv
			jac[3], jac[4] = k, -alpha
			jac[7], jac[8] = k, -alpha
		},
		X0:         []float64{0, 0, 0},
		Span:       [2]float64{0, 25},
		Theta:      []float64{10, 1, 3, 0.5, 1},
		Autonomous: true,
		States:     []string{"x1", "x2", "x3"},
		Params:     []string{"r", "a1", "a2", "alpha", "k"},
	}
}
