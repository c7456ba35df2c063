package sample

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// A mode is ignored if its share of the total mass is at most leastMass.
const leastMass = 0.01

// heavy returns the first mode, and each other mode whose Mass is above leastMass. If the
// highest mode has no Gaussian approximation, the masses are not known, and heavy()
// returns only this mode.
func heavy(m *bayes.Modes) []*bayes.Mode {
	if best := m.Highest(); best.Cov == nil {
		return []*bayes.Mode{best}
	}
	out := m.Modes[:1:1]
	for _, k := range m.Modes[1:] {
		if k.Mass > leastMass && k.Cov != nil {
			out = append(out, k)
		}
	}
	return out
}

// describe says where the chains start.
func describe(m *bayes.Modes, p *bayes.Posterior) string {
	all := heavy(m)
	if len(all) == 1 {
		return fmt.Sprintf("chains start around the mode of the deterministic posterior at %s (%s)", p.Format(all[0].Theta), m.Missed())
	}
	var each []string
	for _, k := range all {
		each = append(each, fmt.Sprintf("%s with %.3g of the mass", p.Format(k.Theta), k.Mass))
	}
	return fmt.Sprintf("the deterministic posterior has %d modes: %s (%s); the number of chains that start in a mode is roughly proportional to the mass of the mode", len(all), strings.Join(each, "; "), m.Missed())
}

// starts returns the starting points of the chains, and a note for the user. The chains
// start around the modes. If the highest mode has not even a Shape, the chains start at
// draws from the prior.
func starts(e *bayes.Density, found *bayes.Modes, chains int) (start func(chain int, rng *rand.Rand) []float64, note string) {
	p, heavy := e.Posterior(), heavy(found)
	if heavy[0].Shape == nil {
		start = func(_ int, rng *rand.Rand) []float64 { return p.DrawPrior(rng) }
		return start, "chains start at draws from the prior, because no mode with a Gaussian approximation was found"
	}
	spread, how := 2., "with twice the standard deviations of the Gaussian approximation at the mode"
	if heavy[0].Cov == nil { // the Shape is wider than the posterior
		spread, how = 1, "from its surroundings, because no mode with a Gaussian approximation was found"
	}
	factors := make([]*mat.TriDense, len(heavy))
	for i, m := range heavy {
		var chol mat.Cholesky
		if m.Shape == nil || !chol.Factorize(m.Shape) {
			continue
		}
		factors[i] = new(mat.TriDense)
		chol.LTo(factors[i])
	}
	start = func(chain int, rng *rand.Rand) []float64 {
		// If the kernel cannot start at the point that start() returns, mcmc.Run calls
		// start() again. The first random numbers from `rng` are the same for every
		// sampler.
		d := len(p.Params)
		z, u, theta := make([]float64, d), make([]float64, d), make([]float64, d)
		// The number of chains that start near a mode is roughly proportional to the mass
		// of the mode. Let n be the number of chains. Chain i starts near the first mode
		// at which the cumulative mass is at least (i + ½)/n.
		at, sum := 0, heavy[0].Mass
		for at < len(heavy)-1 && sum < (float64(chain)+0.5)/float64(chains) {
			at++
			sum += heavy[at].Mass
		}
		if factors[at] == nil {
			at = 0
		}
		normals(z, rng)
		for i := range d {
			u[i] = heavy[at].U[i]
			for k := 0; k <= i; k++ {
				u[i] += spread * factors[at].At(i, k) * z[k]
			}
		}
		e.Constrain(theta, u)
		inside(e, theta, u)
		return theta
	}
	return start, describe(found, p) + "; starting points are drawn " + how
}

// If a mode is very close to a bound of a parameter's support, rounding may set the
// parameter equal to this bound. inside moves u until every parameter lies inside its
// support.
func inside(e *bayes.Density, theta, u []float64) {
	check := make([]float64, len(u))
	for range 100 * len(u) {
		if e.Unconstrain(check, theta) == nil {
			return
		}
		// Unconstrain stops at the first coordinate that is not finite.
		k := slices.IndexFunc(check, func(v float64) bool { return v-v != 0 })
		u[k] *= 0.9
		check[k] = 0
		e.Constrain(theta, u)
	}
}

// proposal returns the default rule for a posterior with the given modes, which may be nil.
func proposal(m *bayes.Modes, burnIn int) mcmc.AdaptiveMetropolis {
	rule := mcmc.AdaptiveMetropolis{Pull: true}.Until(burnIn)
	if m == nil {
		return rule
	}
	if first := heavy(m)[0]; first.Shape != nil {
		rule.Mean, rule.Cov = first.U, first.Shape
	}
	return rule
}
