package problems

import "github.com/probode/probode/pkg/probode"

// FitzHughNagumo returns the FitzHugh–Nagumo model of a spiking neuron, where V is the
// voltage across the membrane and R is the recovery variable:
//
//	V′ = θ₃ (V − V³/3 + R),   R′ = −(V − θ₁ + θ₂ R)/θ₃.
//
// The parameters are θ = (0.2, 0.2, 3), the initial state is (V, R) = (−1, 1), and t ∈
// [0, 20]. The model is the running example of Teymur et al. (2018), with the parameter
// values of Ramsay et al. (2007). Other authors write −θ₂R in the second equation. The
// solution alternates between slow stretches and fast jumps. The problem is mildly stiff
// and not globally Lipschitz.
//
// Source: FitzHugh (1961), Biophysical Journal 1, 445; Nagumo, Arimoto &
// Yoshizawa (1962), Proc. IRE 50, 2061; Ramsay, Hooker, Campbell & Cao
// (2007), J. Royal Stat. Soc. B 69, 741.
func FitzHughNagumo() *probode.Problem {
	return &probode.Problem{
		Name:       "FitzHugh–Nagumo",
		F:          fitzHughNagumoF,
		FJ:         fitzHughNagumoFJ,
		Pullback:   fitzHughNagumoPullback,
		X0:         []float64{-1, 1},
		Span:       [2]float64{0, 20},
		Theta:      []float64{0.2, 0.2, 3},
		Autonomous: true,
		States:     []string{"V", "R"},
		Params:     []string{"theta1", "theta2", "theta3"},
	}
}

func fitzHughNagumoF(dst []float64, _ float64, x, theta []float64) {
	_, _, _ = dst[1], x[1], theta[2]
	v, r := x[0], x[1]
	a, b, c := theta[0], theta[1], theta[2]
	dst[0] = c * (v - v*v*v*(1./3) + r)
	dst[1] = (a - v - b*r) * (1 / c)
}

// fitzHughNagumoFJ is the innermost loop of inference: 1/c once, and a first line that
// checks the bounds of all slices.
func fitzHughNagumoFJ(f, jac []float64, _ float64, x, theta []float64) {
	_, _, _, _ = f[1], jac[3], x[1], theta[2]
	v, r := x[0], x[1]
	a, b, c := theta[0], theta[1], theta[2]
	inv := 1 / c
	f[0] = c * (v - v*v*v*(1./3) + r)
	f[1] = (a - v - b*r) * inv
	jac[0] = c - c*v*v
	jac[1] = c
	jac[2] = -inv
	jac[3] = -b * inv
}

func fitzHughNagumoPullback(dx, dtheta, lambda []float64, _ float64, x, theta []float64) float64 {
	_, _, _, _, _ = dx[1], dtheta[2], lambda[1], x[1], theta[2]
	v, r := x[0], x[1]
	a, b, c := theta[0], theta[1], theta[2]
	inv := 1 / c
	l, m := lambda[0], lambda[1]*inv
	dx[0] += l*(c-c*v*v) - m
	dx[1] += l*c - m*b
	dtheta[0] += m
	dtheta[1] -= m * r
	dtheta[2] += l*(v-v*v*v*(1./3)+r) - m*(a-v-b*r)*inv
	return 0
}
