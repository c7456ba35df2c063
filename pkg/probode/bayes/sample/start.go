package sample

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// leastMass is the smallest share of the mass for which a mode counts.
const leastMass = 0.01

// heavy returns the modes with more than leastMass, at least one. If the highest mode
// has no Gaussian approximation, there are no masses, and heavy returns this mode only.
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
		return fmt.Sprintf("chains start around the mode of the deterministic posterior, %s (%s)", p.Format(all[0].Theta), m.Missed())
	}
	var each []string
	for _, k := range all {
		each = append(each, fmt.Sprintf("%s with %.3g of the mass", p.Format(k.Theta), k.Mass))
	}
	return fmt.Sprintf("the deterministic posterior has %d modes: %s (%s); chains start in each in proportion, and jump between them", len(all), strings.Join(each, "; "), m.Missed())
}

// begin determines the starts of the chains, and a first guess of the shape of the
// posterior for the proposals of this package.
func (j *job) begin(ctx context.Context, starts bool) error {
	p := j.p
	found, err := p.Modes, error(nil)
	if found == nil {
		found, err = modes.Find(ctx, p, modes.Settings{Seed: j.settings.Seed, Workers: j.settings.Workers})
	}
	if err != nil {
		if ctx.Err() != nil || starts {
			return err
		}
		found = &bayes.Modes{Modes: []*bayes.Mode{{}}} // the starts of the caller may work
	}
	// Chains of an accurate posterior start at its modes. If a Finisher weighs them, they
	// belong to the Setup of p.
	if _, weighs := j.sampler.(Finisher); j.sampler.Target().Distribution == Accurate && !weighs {
		if found, err = refined(ctx, p, found, j.sampler.Target().Setup, j.settings); err != nil {
			return err
		}
	}
	j.modes = found
	heavy := heavy(found)
	if j.rule == nil {
		j.rule = rule(heavy)
	}
	if !starts {
		return nil
	}
	mode := heavy[0]
	if mode.Cov == nil {
		j.notes = append(j.notes, "chains start at draws of the prior: no mode with a Gaussian shape was found")
		j.settings.Start = func(_ int, rng *rand.Rand) []float64 { return p.DrawPrior(rng) }
		return nil
	}
	j.notes = append(j.notes, describe(found, p)+", with twice the standard deviations of the Gaussian approximation there")
	factors := make([]*mat.TriDense, len(heavy))
	for i, m := range heavy {
		var chol mat.Cholesky
		if m.Shape == nil || !chol.Factorize(m.Shape) {
			continue
		}
		factors[i] = new(mat.TriDense)
		chol.LTo(factors[i])
	}
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		return err
	}
	total := max(1, j.settings.Chains)
	if j.settings.Chains == 0 {
		total = 4
	}
	j.settings.Start = func(chain int, rng *rand.Rand) []float64 {
		// Run asks for another start if the kernel cannot begin. The first random numbers are
		// the same for every sampler.
		d := len(p.Params)
		z, u, theta := make([]float64, d), make([]float64, d), make([]float64, d)
		normals(z, rng)
		// Chains are distributed in proportion to the masses: chain i starts in the mode at
		// which the cumulative mass passes (i + ½)/n.
		at, sum := 0, heavy[0].Mass
		for at < len(heavy)-1 && sum < (float64(chain)+0.5)/float64(total) {
			at++
			sum += heavy[at].Mass
		}
		if factors[at] == nil {
			at = 0
		}
		for i := range d {
			u[i] = heavy[at].U[i]
			for k := 0; k <= i; k++ {
				u[i] += 2 * factors[at].At(i, k) * z[k]
			}
		}
		e.Constrain(theta, u)
		return theta
	}
	return nil
}

// refined returns the modes of the posterior with an accurate setup. The search begins
// at the given modes, of which some may be missing or phantoms, and at a few draws of
// the prior. It returns the given modes if the search fails.
func refined(ctx context.Context, p *bayes.Posterior, found *bayes.Modes, by probode.Setup, s mcmc.Settings) (*bayes.Modes, error) {
	search := modes.Settings{Seed: s.Seed, Workers: s.Workers, Points: 60, Starts: 4}
	for _, m := range found.Modes {
		if m.Theta != nil {
			search.From = append(search.From, m.Theta)
		}
	}
	fine, err := modes.Find(ctx, p.SolvedBy(by), search)
	if err != nil {
		return found, ctx.Err()
	}
	return fine, nil
}

// rule returns the proposal of this package for a posterior with the given modes.
func rule(modes []*bayes.Mode) mcmc.Rule {
	if modes[0].Shape == nil {
		return mcmc.AdaptiveMixture{}
	}
	if len(modes) == 1 {
		return mcmc.AdaptiveMixture{Mean: modes[0].U, Cov: modes[0].Shape}
	}
	var jumps mcmc.ModeJumping
	for _, m := range modes {
		if m.Shape != nil {
			jumps.Modes = append(jumps.Modes, mcmc.GaussianMode{Mean: m.U, Cov: m.Shape, Weight: m.Mass})
		}
	}
	return jumps
}
