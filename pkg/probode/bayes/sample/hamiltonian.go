package sample

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Hamiltonian updates θ and ξ together by Hamiltonian Monte Carlo. Each Hamiltonian step
// contains a rotation that preserves N(0, I), the prior of ξ (see mcmc.Hamiltonian). The
// sampler computes the gradient of the log likelihood with respect to θ and ξ by one
// backward pass through the steps of the solver.
//
// If the noise of the solver is large, θ and ξ are strongly dependent, and a chain that
// updates θ and ξ alternately mixes very slowly. The data are informative about only a
// few directions of ξ. The noise between two observation times affects the later states
// only through the state at the second observation time. If the state has d components,
// the data at one observation time are therefore informative about at most d directions
// of ξ (see shape.Informed). In all other directions, the posterior distribution of ξ is
// the same as its prior. Under the prior, the coordinates v in the informed directions
// have the distribution N(0, I). A Gaussian approximation of the posterior of (θ, v),
// found by Fisher scoring, determines the scales of the moves.
//
// The draws are correct even if the approximation is poor. In each of the following
// cases, PCNWithinGibbs replaces Hamiltonian, and a note gives the reason:
//   - No mode or no Gaussian approximation was found.
//   - The posterior has several modes.
//   - The path of the solver has no gradient with respect to ξ.
//   - The noise of the solver hardly widens the posterior of θ.
//
// Stationary distribution: p(θ, ξ | Y). Cost: in general, three to six gradients for each
// draw. If the approximation is good, most draws need only one solve, and no gradient.
// The zero value is ready for use.
type Hamiltonian struct{}

func (Hamiltonian) String() string { return "hamiltonian" }

// Algorithm draws from p(θ, ξ | Y).
func (s Hamiltonian) Algorithm() Algorithm {
	a := Algorithm{Target: Joint, BurnIn: func(int) int { return 300 }, Tuned: tunedLeap,
		Check: func(d *bayes.Density) error { return noisy(s, d) }}
	a.Prepare = func(ctx context.Context, d *bayes.Density, modes func() (*bayes.Modes, error)) (Algorithm, error) {
		g, why, err := s.approximate(ctx, d, modes)
		switch {
		case err != nil:
			return a, err
		case why != "":
			b, err := PCNWithinGibbs{}.Algorithm().Prepare(ctx, d, modes)
			b.Name = PCNWithinGibbs{}.String()
			b.Notes = append([]string{"pcn draws θ and ξ in turn, because " + why}, b.Notes...)
			return b, err
		}
		theta := make([]float64, d.Dim())
		d.Clone().Constrain(theta, g.mean[:len(theta)])
		a.Notes = []string{fmt.Sprintf("θ and ξ are moved together, with proposals from a Gaussian approximation around %s; the data are informative about %d directions of ξ", d.Posterior().Format(theta), len(g.blocks))}
		a.Kernel = func(e *bayes.Density, _ mcmc.AdaptiveMetropolis, burnIn int) mcmc.Kernel {
			k := &hamiltonian{natural: newNatural(e), gaussian: g, xi: make([]float64, e.NoiseLen()), dxi: make([]float64, e.NoiseLen())}
			k.unconstrained = &mcmc.Hamiltonian{Target: k.target, BurnIn: burnIn, Mean: g.mean, Information: g.precision(), Learned: e.Dim()}
			return k
		}
		return a, nil
	}
	return a
}

// approximate returns the Gaussian approximation of the posterior, or says why there is
// none that is of use. If the search for modes fails, that is a reason and no error, because
// the caller may have supplied the starting points.
func (Hamiltonian) approximate(ctx context.Context, d *bayes.Density, modes func() (*bayes.Modes, error)) (g *gaussian, why string, err error) {
	e, p := d.Clone(), d.Posterior()
	defer e.Bind(ctx)()
	found, err := modes()
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case err != nil:
		return nil, "no mode was found", nil
	case len(heavy(found)) > 1:
		return nil, "the posterior has several modes, and one Gaussian approximation does not describe them", nil
	}
	m := found.Highest()
	grad, xi := make([]float64, e.Dim()), make([]float64, e.NoiseLen())
	if _, err := e.Gradient(grad, make([]float64, len(xi)), m.U, xi); errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Sprintf("the solutions computed by %v have no gradient with respect to ξ", p.Setup), nil
	}
	g = findInformed(ctx, e, m.U)
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case e.Err() != nil:
		return nil, "", e.Err()
	case g == nil:
		why = "no Gaussian approximation of the posterior of θ and ξ was found"
	case m.Cov != nil && g.widens(m.Cov) < littleWider:
		why = "the solver's noise hardly widens the posterior of θ, so moves without gradients are cheaper"
	}
	return g, why, nil
}

// Moving θ and ξ together is worthwhile only if noise increases the variance of some
// parameter by a factor that exceeds the constant littleWider. With backward Euler on
// FitzHugh–Nagumo, noise increases the variance of a parameter by a factor of up to 6.0
// at h = 0.05, 2.3 at h = 0.02 and 1.3 at h = 0.01. The sampler Hamiltonian generates 11,
// 2.5 and 1.1 times as many effective draws per second as PCNWithinGibbs at h = 0.05,
// 0.02 and 0.01.
const littleWider = 1.2

// mostInformed limits the number of directions of ξ in a Gaussian approximation.
const mostInformed = 90

// findInformed searches for the Gaussian approximation to the distribution of (θ, v). The
// search starts at u, the mode of the posterior without noise. The informed directions
// are computed at a point (θ, ξ), and are recomputed whenever the search has moved to
// another point. findInformed returns nil if the first search finds no approximation,
// either because the density is not smooth or because the data do not determine all
// parameters.
func findInformed(ctx context.Context, e *bayes.Density, u []float64) (found *gaussian) {
	const rounds = 3
	theta, xi := make([]float64, e.Dim()), make([]float64, e.NoiseLen())
	for range rounds {
		e.Constrain(theta, u)
		next := findGaussian(ctx, e, u, shape.Informed(e, theta, xi, mostInformed))
		if next == nil {
			return found
		}
		found = next
		u = found.mean[:len(u)]
		clear(xi)
		for k := range found.blocks {
			found.blocks[k].Add(xi, found.mean[len(u)+k])
		}
	}
	return found
}

// widens returns the largest factor by which the noise of the solver increases the
// posterior variance of a parameter. The argument `cov` is the posterior covariance
// matrix of the parameters without noise.
func (g *gaussian) widens(cov mat.Symmetric) (factor float64) {
	d := cov.SymmetricDim()
	var all mat.Dense
	if all.Inverse(g.precision()) != nil {
		return math.Inf(1)
	}
	for k := range d {
		factor = max(factor, all.At(k, k)/cov.At(k, k))
	}
	return factor
}

// precision returns the precision matrix UᵀU of the Gaussian approximation.
func (g *gaussian) precision() *mat.SymDense {
	var out mat.SymDense
	out.SymOuterK(1, mat.NewTriDense(g.u.N, mat.Upper, g.u.Data).T())
	return &out
}

// hamiltonian is the kernel of Hamiltonian. The coordinates of a chain are
// (θ, v, ζ), where ζ has as many elements as ξ. The vector ξ is obtained from ζ by
// replacing the components in the informed directions by v.
type hamiltonian struct {
	natural
	*gaussian
	xi, dxi []float64 // ξ, and the gradient with respect to it
}

// noise computes xi from the coordinates x.
func (k *hamiltonian) noise(x []float64) {
	d, n := len(k.theta), len(k.mean)
	copy(k.xi, x[n:])
	for i := range k.blocks {
		b := &k.blocks[i]
		b.Add(k.xi, x[d+i]-b.Sum(x[n:]))
	}
}

// The kernel mcmc.Hamiltonian calls target through its field Target.
func (k *hamiltonian) target(grad, x []float64) (float64, error) {
	d, n := len(k.theta), len(k.mean)
	k.noise(x)
	var logp float64
	var err error
	if grad == nil {
		logp, err = k.e.LogPosterior(x[:d], k.xi)
	} else {
		logp, err = k.e.Gradient(grad[:d], k.dxi, x[:d], k.xi)
		copy(grad[n:], k.dxi)
	}
	for i := range k.blocks {
		v, b := x[d+i], &k.blocks[i]
		logp -= v * v / 2
		if grad != nil {
			slope := b.Sum(k.dxi)
			b.Add(grad[n:], -slope)
			grad[d+i] = slope - v
		}
	}
	return logp, err
}

// Init places the chain at θ = x. Init sets v to the mean of the Gaussian approximation,
// and draws ζ from the prior of ξ.
func (k *hamiltonian) Init(x []float64, rng *rand.Rand) error {
	d, n := len(x), len(k.mean)
	y := make([]float64, n+len(k.xi))
	return k.init(x, rng, func(u []float64, rng *rand.Rand) error {
		normals(y, rng)
		copy(y, u)
		copy(y[d:n], k.mean[d:])
		return k.unconstrained.Init(y, rng)
	})
}

// Generate writes the quantities that Density.Generate computes.
func (k *hamiltonian) Generate(dst []float64) {
	x := k.unconstrained.Position()
	k.noise(x)
	logp, _ := k.e.LogPosterior(x[:len(k.theta)], k.xi) // it was solved before, so there is no error
	k.e.Generate(dst, logp, k.Position(), k.e.Expected())
}

func tunedLeap(k mcmc.Kernel) (what, value string) {
	size, turning := k.(*hamiltonian).unconstrained.(*mcmc.Hamiltonian).Leap()
	value = fmt.Sprintf("%.2g", size)
	if turning > 0 {
		value += fmt.Sprintf(", with %.0f %% rotations", 100*turning)
	}
	return "step length of the Hamiltonian moves", value
}
