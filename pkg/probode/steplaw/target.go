// Package steplaw computes the exact distribution of the state after one step of an
// implicit Adams method, given the states before it. Exact draws whole paths, and Law
// describes a single step.
//
// The residual r of the implicit equation has a Gaussian density, but r is not linear in
// the state, so the distribution of the state is not Gaussian. The matrices J and Γ and
// the vector μ are defined by the linearised step, as in package adams. The matrix S is
// diagonal, with S_kk = √α h^{s+1/2} if component k has noise, and S_kk = 0 otherwise.
// Write a state as
//
//	z = μ + Lζ,   L = Γ⁻¹JS,   u(z) = (JS)⁻¹ r(z),   H = JS²Jᵀ.
//
// Then the Gaussian approximation is ζ ~ N(0, I), the exact density is proportional to
// exp(−½‖u‖²) = exp(−½ rᵀH⁻¹r), and the ratio of the exact density to the approximate one
// is proportional to
//
//	exp(−Φ(ζ)),   Φ(ζ) = ½‖u‖² − ½‖ζ‖².
//
// If r were linear, u would equal ζ, and Φ would be 0, so Φ measures the effect of the
// nonlinearity of r. The preconditioned Crank–Nicolson move is reversible with respect to
// N(0, I), so it is accepted or rejected according to Φ alone [Cotter et al. 2013; T18,
// §2.4].
//
// The Crank–Nicolson move works badly if the exact distribution has heavier tails than
// the Gaussian approximation. If the exact tails are heavier, e^{−Φ} grows without bound
// far from the mean, and a chain that is far from the mean rejects almost every
// Crank–Nicolson move towards the mean. The chain therefore alternates between
// Crank–Nicolson moves and random walks. A move of the random walk is accepted or
// rejected according to ½‖u‖². Random walks also work well with heavy tails.
package steplaw

import (
	"errors"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/linalg"
)

var (
	// ErrSingularH says that H = JS²Jᵀ has no inverse: either det J = 0 up to rounding
	// error, as in a problem with a conserved quantity, or a component has no noise.
	ErrSingularH = errors.New("the matrix H has no inverse, because det J = 0 or a noise scale is 0: want adams.Moulton itself, or a problem without conserved quantities")
	// ErrImproper says that the integral of exp(−½ rᵀH⁻¹r) is infinite.
	ErrImproper = errors.New("the exact density cannot be normalised, because r(z) does not grow in some direction: try a smaller step, or adams.Moulton itself")
)

type target struct {
	p     *probode.Problem
	t     float64 // t_{i+1}
	theta []float64
	scale []float64 // the diagonal of S

	mu     []float64
	jac    *linalg.Matrix // J of the noise
	gamma  *linalg.LU     // Γ
	negJ   *linalg.LU     // factors of −J = 0 × I − J
	pivots *elimination   // of −J

	// Φ is not computed from r, because r is a small difference between large terms of
	// size z/h. The rounding errors of r could be larger than the noise of a high-order
	// method with small steps. Φ is computed from the remainder of the linearisation
	// about the point `base`. The field `fbase` is f(t_{i+1}, base) + r(μ), where r(μ) is
	// zero unless Newton's iteration ended early.
	base, fbase []float64

	z, delta []float64 // from the last call of depart
	v        []float64
}

func newTarget(p *probode.Problem) *target {
	g := &target{p: p, jac: p.Field().NewJacobian()}
	g.gamma, g.negJ, g.pivots = linalg.NewLU(g.jac), linalg.NewLU(g.jac), newElimination(g.jac)
	for _, v := range []*[]float64{&g.scale, &g.mu, &g.base, &g.fbase, &g.z, &g.delta, &g.v} {
		*v = make([]float64, p.Dim())
	}
	return g
}

const epsilon = 0x1p-52

// set leaves the Gaussian approximation valid with ErrSingularH.
func (g *target) set(s *probode.ImplicitStep, t float64, theta, scale []float64) error {
	g.t, g.theta = t, theta
	copy(g.scale, scale)
	copy(g.jac.A, s.J.A)
	copy(g.mu, s.Mean)
	if !g.gamma.Factorize(s.Inv, g.jac) {
		return probode.ErrSingular
	}
	if s.Solved {
		copy(g.base, g.mu)
		g.p.F(g.fbase, g.t, g.base, theta)
		for k, f := range g.fbase {
			// If the computed r(μ) is not larger than its rounding error, zero is used
			// instead, because r is zero at the exact μ.
			r := s.Inv*g.mu[k] - s.Known[k] - f
			if math.Abs(r) > 4*epsilon*(s.Inv*math.Abs(g.mu[k])+math.Abs(s.Known[k])+math.Abs(f)) {
				g.fbase[k] += r
			}
		}
	} else {
		copy(g.base, s.Center)
		copy(g.fbase, s.FCenter)
	}
	// If J is singular, rounding errors usually make pivots.least about 10⁻¹⁶ instead of
	// zero, or about 10⁻⁸ if J is approximated by differences. J is treated as singular
	// if pivots.least is below 10⁻¹², or below 10⁻⁶ if J is approximated by differences.
	least := 1e-12
	if g.p.FJ == nil {
		least = 1e-6
	}
	if !g.pivots.eliminate(0, g.jac) || !(g.pivots.least >= least) || !g.negJ.Factorize(0, g.jac) {
		return ErrSingularH
	}
	for _, v := range g.scale {
		if v == 0 {
			return ErrSingularH
		}
	}
	return nil
}

func (g *target) offset(dst, zeta []float64) {
	for k, v := range zeta {
		g.v[k] = g.scale[k] * v
	}
	clear(dst)
	g.jac.AddMul(dst, 1, g.v)
	g.gamma.Solve(dst)
}

func (g *target) place(dst, zeta []float64) {
	g.offset(dst, zeta)
	for k, v := range g.mu {
		dst[k] += v
	}
}

// phi returns Φ = ½‖δ‖² − ζᵀδ (see depart), or +Inf if f is not finite, with the state in
// g.z.
func (g *target) phi(zeta []float64) float64 {
	g.depart(zeta)
	var sum float64
	for k, delta := range g.delta {
		sum += delta * (delta/2 - zeta[k])
	}
	if sum-sum != 0 {
		return math.Inf(1)
	}
	return sum
}

// depart sets δ = ζ − u: r(z) = Γ(z−μ) − (f(z) − f(b) − J(z−b) − r(μ)), so that Sδ =
// J⁻¹(f(z) − f(b) − r(μ)) − (z−b).
func (g *target) depart(zeta []float64) {
	g.place(g.z, zeta)
	g.p.F(g.delta, g.t, g.z, g.theta)
	for k, v := range g.fbase {
		g.delta[k] = v - g.delta[k]
	}
	g.negJ.Solve(g.delta)
	for k, v := range g.delta {
		g.delta[k] = (v - (g.z[k] - g.base[k])) / g.scale[k]
	}
}

// rounding estimates that of u: large if f(z) is large compared with the noise.
func (g *target) rounding(z []float64) float64 {
	f := make([]float64, len(z))
	g.p.F(f, g.t, z, g.theta)
	g.negJ.Solve(f)
	most := 0.0
	for k, v := range f {
		most = max(most, epsilon*(math.Abs(v)+math.Abs(z[k]-g.base[k]))/g.scale[k])
	}
	return most
}
