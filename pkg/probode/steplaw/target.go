// Package steplaw has the exact distribution of a step of an implicit Adams
// method: a sampler of whole paths, which is a probode.Method, and the
// distribution of a single step for study.
//
// In derivative space the discrepancy r is penalised as a Gaussian would be,
// but r is not linear in the state, so the distribution of the state is not
// Gaussian. With J, Γ and μ those of the linearised step, and S the diagonal
// matrix of the scales of the normals, √α h^{s+1/2} for a single noise scale,
// write a state as
//
//	z = μ + Lζ,   L = Γ⁻¹JS,   u(z) = (JS)⁻¹ r(z),   H = JS²Jᵀ.
//
// Then the Gaussian approximation is ζ ~ N(0, I), the exact density is
// exp(−½‖u‖²) = exp(−½ rᵀH⁻¹r), and the one has relative to the other the
// density
//
//	exp(−Φ(ζ)),   Φ(ζ) = ½‖u‖² − ½‖ζ‖².
//
// Replacing r by its linearisation makes u = ζ and Φ = 0. So Φ holds the
// difference between r and its linearisation and nothing else, and the
// preconditioned Crank–Nicolson move, which is reversible for N(0, I), is
// accepted or rejected on that difference alone [Cotter et al. 2013; T18,
// §2.4].
//
// The move reaches badly where the distribution has heavier tails than the
// approximation: there e^{−Φ} is not bounded, and from far out every
// contraction is refused. So it takes turns with a random walk, which is
// accepted or rejected on ½‖u‖² and does not care.
package steplaw

import (
	"errors"
	"math"

	"github.com/probode/probode/pkg/probode"
)

var (
	// ErrSingularH: H = JS²Jᵀ has no inverse, because det J = 0 to within
	// rounding, as where the problem conserves something, or because a
	// component has no noise.
	ErrSingularH = errors.New("the matrix H has no inverse, since det J = 0 or a noise scale is 0, and the exact distribution needs it: use AdamsMoulton itself, which does not, or eliminate what the problem conserves")
	// ErrImproper: the integral of exp(−½ rᵀH⁻¹r) is infinite.
	ErrImproper = errors.New("the exact density cannot be normalised, r(z) does not grow along a direction: try a smaller step, or AdamsMoulton itself")
)

// A target is the exact distribution of one step in the coordinates ζ.
type target struct {
	p     *probode.Problem
	t     float64 // t_{i+1}
	theta []float64
	scale []float64 // the diagonal of S

	mu     []float64
	jac    *probode.Matrix // J of the noise
	gamma  *probode.LU     // Γ
	negJ   *probode.LU     // −J, the factors of 0·I − J
	pivots *elimination    // of −J

	// Φ is computed from the remainder of the linearisation about base, not
	// from r: r is a small difference of terms of size z/h, and its rounding
	// errors would swamp the noise of a method of high order at a small step.
	// fbase is f(t_{i+1}, base) + r(μ); the latter is zero but for a Newton
	// iteration that was ended early.
	base, fbase []float64

	z, u []float64 // of the last call of phi
	v    []float64
}

func newTarget(p *probode.Problem) *target {
	g := &target{p: p, jac: p.NewJacobian()}
	g.gamma, g.negJ, g.pivots = probode.NewLU(g.jac), probode.NewLU(g.jac), newElimination(g.jac)
	for _, v := range []*[]float64{&g.scale, &g.mu, &g.base, &g.fbase, &g.z, &g.u, &g.v} {
		*v = make([]float64, p.Dim())
	}
	return g
}

const epsilon = 0x1p-52

// set takes over a step. The error ErrSingularH leaves what belongs to the
// Gaussian approximation in order.
func (g *target) set(s *probode.ImplicitStep, theta, scale []float64) error {
	g.t, g.theta = s.T, theta
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
			// Below rounding of its terms r(μ) is taken for zero, which it is
			// for the unrounded μ.
			r := s.Inv*g.mu[k] - s.Known[k] - f
			if math.Abs(r) > 4*epsilon*(s.Inv*math.Abs(g.mu[k])+math.Abs(s.Known[k])+math.Abs(f)) {
				g.fbase[k] += r
			}
		}
	} else {
		copy(g.base, s.Center)
		copy(g.fbase, s.FCenter)
	}
	// A singular J does not give a pivot of zero but one of rounding errors.
	// They are 10⁻¹⁶ of the terms whose difference the pivot is, or 10⁻⁸ with
	// J by differences; a pivot is trusted when it is 10⁴ or 10² times that.
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

// offset sets dst to z − μ = Lζ.
func (g *target) offset(dst, zeta []float64) {
	for k, v := range zeta {
		g.v[k] = g.scale[k] * v
	}
	clear(dst)
	g.jac.AddMul(dst, 1, g.v)
	g.gamma.Solve(dst)
}

// place sets dst to z = μ + Lζ.
func (g *target) place(dst, zeta []float64) {
	g.offset(dst, zeta)
	for k, v := range g.mu {
		dst[k] += v
	}
}

// phi returns Φ(ζ), +Inf where f is not finite, and leaves the state in g.z.
//
// From r(z) = Γ(z−μ) − (f(z) − f(b) − J(z−b) − r(μ)) follows u = ζ − δ with
// Sδ = J⁻¹(f(z) − f(b) − r(μ)) − (z−b), and Φ = ½‖δ‖² − ζ·δ.
func (g *target) phi(zeta []float64) float64 {
	g.place(g.z, zeta)
	g.p.F(g.u, g.t, g.z, g.theta)
	for k, v := range g.fbase {
		g.u[k] = v - g.u[k]
	}
	g.negJ.Solve(g.u)
	var sum float64
	for k, v := range g.u {
		delta := (v - (g.z[k] - g.base[k])) / g.scale[k]
		sum += delta * (delta/2 - zeta[k])
	}
	if sum-sum != 0 {
		return math.Inf(1)
	}
	return sum
}

func square(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v * v
	}
	return sum
}
